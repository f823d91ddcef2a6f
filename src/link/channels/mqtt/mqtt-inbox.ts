// Messages of devices over MQTT, distinguished by topic. The topic proves the sender, because the broker authorises it.
import type { ChannelListener } from '../../channel.ts';
import { isDeviceId } from '../../messages.ts';
import { offerAnswer, offerPresence } from '../inbox.ts';

export interface MqttMessage {
  topic: string;
  payload: Uint8Array;
  isRetained: boolean;
}

const notHere = 'no gateway of this name takes answers here';

export function deliverMqttMessage(listener: ChannelListener, gatewayId: string, message: MqttMessage): void {
  const [root, branch, deviceId, subject, replyTo, ...more] = message.topic.split('/');
  if (root !== 'tillgate' || branch !== 'devices' || !isDeviceId(deviceId) || more.length > 0)
    return listener.dropped('mqtt', 'unknown-address');
  // This protocol retains nothing: a retained message is a leftover.
  if (message.isRetained) return listener.dropped('mqtt', 'retained', deviceId);
  const received = { channel: 'mqtt', deviceId, bytes: message.payload } as const;
  if (subject === 'answers' && replyTo === gatewayId) offerAnswer(listener, received);
  else if (subject === 'presence' && replyTo === undefined) offerPresence(listener, received);
  else listener.dropped('mqtt', 'unknown-address', deviceId, { field: `${subject}/${replyTo}`.slice(0, 100), why: notHere });
}
