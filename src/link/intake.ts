// A device's share of the gateway [D62]: its messages are counted here before they are parsed.
//
//   within its budget                                        read at once
//   presence over the budget                                 only the newest of each channel is kept and read when there is a token again
//   an answer over the budget that a call waits for          read, from a second budget of the same size: noise drops no ending
//   any other answer over the budget                         dropped; the outcome is left to Recall, which the device must answer
//
// What is dropped costs no parsing, no look-up and no write, only a count. A message that is large, or holds many values, costs as much
// as several small ones.
// Nothing here is about money: a message that is dropped, or dies with the process, is one that got lost on the wire.
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
  /** Messages a second in the long run, five times as many at once; presence: a twentieth of it, and so many at once. */
  messagesPerS: number;
  /** Does a call wait for this device's answer to this command or question? */
  isAwaited(id: string, deviceId: string): boolean;
  onDropped(channel: ChannelName, deviceId: string): void;
}

export interface Intake {
  offer(channel: ChannelName, deviceId: string, message: OfferedMessage): void;
  /** The device's connection on this channel ended: what it sent there before no longer says where it is. */
  gone(channel: ChannelName, deviceId: string): void;
  /** As `gone`, for all of them: our own connection ended. */
  down(channel: ChannelName): void;
  stop(): void;
}

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

export function createIntake({ clock, messagesPerS, isAwaited, onDropped }: IntakeDeps): Intake {
  // Bounded as well: one that was forgotten merely starts with a full budget.
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

  /** In tokens. A message of fewer bytes than values are free cannot hold so many, and need not be counted. */
  function costOf({ bytes }: OfferedMessage): number {
    const values = bytes.byteLength < valuesPerToken ? 0 : measureShape(bytes, { maxValues: maxMessageValues }).values;
    return 1 + Math.floor(bytes.byteLength / bytesPerToken) + Math.floor(values / valuesPerToken);
  }

  /** A search, not a parser: much cheaper, linear, and a device that writes an id in a way that it misses is asked by Recall. */
  function mayBeAwaited(deviceId: string, bytes: Uint8Array): boolean {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    return text.matchAll(idFields).some(([, id = '']) => isAwaited(id.toLowerCase(), deviceId));
  }

  function hold(share: Share, channel: ChannelName, deviceId: string, message: HeldMessage): void {
    if (share.held.has(channel)) onDropped(channel, deviceId);
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

  function gone(channel: ChannelName, deviceId: string): void {
    const share = shares.get(deviceId);
    if (!share?.held.delete(channel)) return;
    onDropped(channel, deviceId);
    if (share.held.size === 0) share.cancelRelease();
  }

  return {
    offer(channel, deviceId, message) {
      const share = shareOf(deviceId);
      const cost = costOf(message);
      if (message.kind === 'answer') {
        if (mayRead(share, deviceId, message, cost)) message.read();
        else onDropped(channel, deviceId);
      } else if (share.held.size === 0 && share.presences.take(cost)) message.read();
      else hold(share, channel, deviceId, { ...message, cost });
    },

    gone,

    down(channel) {
      for (const deviceId of shares.keys()) gone(channel, deviceId);
    },

    stop() {
      for (const { cancelRelease } of shares.values()) cancelRelease();
      shares.clear();
    },
  };
}
