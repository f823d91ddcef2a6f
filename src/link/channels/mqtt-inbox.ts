// What devices publish over MQTT, told apart by topic: the topic, which the broker guards, says who is talking.
import type { ChannelListener } from '../channel.ts';
import { isDeviceId, readAnswer, readPresence } from '../messages.ts';

export interface MqttMessage {
  topic: string;
  payload: Uint8Array;
  isRetained: boolean;
}

export function deliverMqttMessage(listener: ChannelListener, gatewayId: string, message: MqttMessage): void {
  const [root, branch, deviceId, subject, replyTo, ...more] = message.topic.split('/');
  if (root !== 'tillgate' || branch !== 'devices' || !isDeviceId(deviceId) || more.length > 0)
    return listener.dropped('mqtt', 'unknown-address');
  // Nothing of ours is retained: what is, was left behind by somebody at another time.
  if (message.isRetained) return listener.dropped('mqtt', 'retained', deviceId);
  const { payload: bytes } = message;
  if (subject === 'answers' && replyTo === gatewayId) {
    const read = () => {
      const reading = readAnswer(bytes, deviceId);
      if (reading.message === undefined) listener.dropped('mqtt', reading.problem, deviceId);
      else listener.answer('mqtt', deviceId, reading.message);
    };
    listener.offer('mqtt', deviceId, { kind: 'answer', bytes, read });
  } else if (subject === 'presence' && replyTo === undefined) {
    const read = () => {
      const reading = readPresence(bytes, deviceId);
      if (reading.message === undefined) listener.dropped('mqtt', reading.problem, deviceId);
      else listener.presence('mqtt', deviceId, reading.message);
    };
    listener.offer('mqtt', deviceId, { kind: 'presence', bytes, read });
  } else {
    listener.dropped('mqtt', 'unknown-address', deviceId);
  }
}
