// How fast a socket of ours is read: five times as many messages as a device may send, so that the intake can choose among them, and at least 100 a
// second. Of a device that sends more the network holds the rest back at its source.
// A pause is short: the packets that keep a connection alive lie behind the others, and no keep-alive is shorter than a second.
import type { Clock } from '../../kernel/clock.ts';
import { TokenBucket } from '../../kernel/token-bucket.ts';

export interface Pace {
  /** What was just read; returns how long to rest before more is read, mostly 0. */
  restAfter(packets: number, bytes: number): number;
}

const byteShare = { burst: 8 * 1024 * 1024, perS: 1024 * 1024 };
const maxRestMs = 250;

/** `messagesPerS`: as TILLGATE_DEVICE_RATE. */
export function createPace(clock: Clock, messagesPerS = 0): Pace {
  const packetsPerS = Math.max(100, 5 * messagesPerS);
  const packets = new TokenBucket({ clock, burst: 5 * packetsPerS, perS: packetsPerS });
  const bytes = new TokenBucket({ clock, ...byteShare });
  return {
    restAfter: (packetsRead, bytesRead) => Math.min(maxRestMs, Math.max(packets.overdraw(packetsRead), bytes.overdraw(bytesRead))),
  };
}
