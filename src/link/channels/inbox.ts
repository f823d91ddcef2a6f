// Offers a message of an authenticated device to the listener as bytes; it is parsed only when the listener reads it.
import type { ChannelListener, ChannelName } from '../channel.ts';
import { readAnswer, readPresence } from '../messages.ts';

export interface DeviceMessage {
  channel: ChannelName;
  deviceId: string;
  bytes: Uint8Array;
}

export function offerAnswer(listener: ChannelListener, { channel, deviceId, bytes }: DeviceMessage): void {
  const read = () => {
    const reading = readAnswer(bytes, deviceId);
    if (reading.message === undefined) listener.dropped(channel, reading.problem, deviceId, reading);
    else listener.answer(channel, deviceId, reading.message);
  };
  listener.offer(channel, deviceId, { kind: 'answer', bytes, read });
}

export function offerPresence(listener: ChannelListener, { channel, deviceId, bytes }: DeviceMessage): void {
  const read = () => {
    const reading = readPresence(bytes, deviceId);
    if (reading.message === undefined) listener.dropped(channel, reading.problem, deviceId, reading);
    else listener.presence(channel, deviceId, reading.message);
  };
  listener.offer(channel, deviceId, { kind: 'presence', bytes, read });
}
