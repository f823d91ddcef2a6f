// A device's share of the gateway [D62]: its messages are counted here before they are parsed.
//
//   within its budget                                        read at once
//   presence over the budget                                 only the newest of each channel is kept, and read when a token is available
//   an answer over the budget that a call waits for          read, from a second budget of the same size: a flood drops no ending answer
//   any other answer over the budget                         dropped; the outcome is left to Recall, which the device must answer
//
// A dropped message costs no parsing, no look-up and no write, only a count. A message that is large, or contains many values, counts as
// several small ones.
// Money is not at risk: a message that is dropped here, or lost with the process, is like one lost on the wire.
import type { Cancel, Clock } from '../kernel/clock.ts';
import { measureShape } from '../kernel/json-shape.ts';
import { TokenBucket } from '../kernel/token-bucket.ts';
import type { ChannelName, OfferedMessage } from './channel.ts';
import { maxMessageValues } from './protocol.ts';

/** A message costs one token, and one more for each of these. */
const bytesPerToken = 64 * 1024;
const valuesPerToken = 500;
const maxDevices = 20_000;
const idFields = /"id"\s*:\s*"([0-9a-fA-F-]{36})"/g;

export interface IntakeDeps {
  clock: Clock;
  /** Sustained messages a second, with a burst of five times as many. Presence: a twentieth of the rate, with a burst of `messagesPerS`. */
  messagesPerS: number;
  /** Whether a call waits for this device's answer to this command. */
  isAwaited(id: string, deviceId: string): boolean;
  onDropped(channel: ChannelName, deviceId: string, bytes: number): void;
}

export type Intake = ReturnType<typeof createIntake>;

interface HeldMessage extends OfferedMessage {
  cost: number;
}

interface Share {
  answers: TokenBucket;
  awaited: TokenBucket;
  presences: TokenBucket;
  /** The newest presence of each channel, while it waits for a token. */
  held: Map<ChannelName, HeldMessage>;
  cancelRelease: Cancel;
}

export function createIntake({ clock, messagesPerS, isAwaited, onDropped }: IntakeDeps) {
  // Bounded: an evicted device just starts with a full budget again.
  const shares = new Map<string, Share>();

  function shareOf(deviceId: string): Share {
    let share = shares.get(deviceId);
    if (share === undefined) {
      share = {
        answers: new TokenBucket({ clock, burst: messagesPerS * 5, perS: messagesPerS }),
        awaited: new TokenBucket({ clock, burst: messagesPerS * 5, perS: messagesPerS }),
        presences: new TokenBucket({ clock, burst: messagesPerS, perS: messagesPerS / 20 }),
        held: new Map(),
        cancelRelease: () => {},
      };
      if (shares.size >= maxDevices) for (const oldest of shares.keys().take(1)) forget(oldest);
    } else shares.delete(deviceId);
    shares.set(deviceId, share);
    return share;
  }

  function forget(deviceId: string): void {
    shares.get(deviceId)?.cancelRelease();
    shares.delete(deviceId);
  }

  /** In tokens. A message with fewer bytes than the free number of values needs no count of values. */
  function costOf({ bytes }: OfferedMessage): number {
    const values = bytes.byteLength < valuesPerToken ? 0 : measureShape(bytes, { maxValues: maxMessageValues }).values;
    return 1 + Math.floor(bytes.byteLength / bytesPerToken) + Math.floor(values / valuesPerToken);
  }

  /** A linear search, much cheaper than parsing. If it misses an unusual spelling of an id, Recall asks the device. */
  function mayBeAwaited(deviceId: string, bytes: Uint8Array): boolean {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    return text.matchAll(idFields).some(([, id = '']) => isAwaited(id.toLowerCase(), deviceId));
  }

  function hold(share: Share, channel: ChannelName, deviceId: string, message: HeldMessage): void {
    const before = share.held.get(channel);
    if (before) onDropped(channel, deviceId, before.bytes.byteLength);
    if (share.held.size === 0) releaseLater(share, message.cost);
    share.held.set(channel, message);
  }

  function releaseLater(share: Share, cost: number): void {
    share.cancelRelease = clock.after(share.presences.waitMs(cost), () => {
      for (const [channel, message] of share.held) {
        if (!share.presences.take(message.cost)) return releaseLater(share, message.cost);
        share.held.delete(channel);
        message.read();
      }
    });
  }

  function mayRead(share: Share, deviceId: string, { bytes }: OfferedMessage, cost: number): boolean {
    return share.answers.take(cost) || (mayBeAwaited(deviceId, bytes) && share.awaited.take(cost));
  }

  /** The device's connection on this channel ended: held presence is outdated. */
  function gone(channel: ChannelName, deviceId: string): void {
    const share = shares.get(deviceId);
    const held = share?.held.get(channel);
    if (share === undefined || held === undefined) return;
    share.held.delete(channel);
    onDropped(channel, deviceId, held.bytes.byteLength);
    if (share.held.size === 0) share.cancelRelease();
  }

  return {
    offer(channel: ChannelName, deviceId: string, message: OfferedMessage): void {
      const share = shareOf(deviceId);
      const cost = costOf(message);
      if (message.kind === 'answer') {
        if (mayRead(share, deviceId, message, cost)) message.read();
        else onDropped(channel, deviceId, message.bytes.byteLength);
      } else if (share.held.size === 0 && share.presences.take(cost)) message.read();
      else hold(share, channel, deviceId, { ...message, cost });
    },

    gone,

    /** As `gone`, for all devices: our own connection ended. */
    down(channel: ChannelName): void {
      for (const deviceId of shares.keys()) gone(channel, deviceId);
    },

    stop(): void {
      for (const { cancelRelease } of shares.values()) cancelRelease();
      shares.clear();
    },
  };
}
