// Backpressure on a device's socket: it is read at five times the device's rate limit, so that the intake can choose which messages to drop, and
// at least at 100 messages a second. TCP holds back the rest at the sender.
// A pause is shorter than a second, the shortest keep-alive, because keep-alive packets queue behind the other data.
import type { EventEmitter } from 'node:events';
import type { Clock } from '../../kernel/clock.ts';
import { TokenBucket } from '../../kernel/token-bucket.ts';

const byteShare = { burst: 8 * 1024 * 1024, perS: 1024 * 1024 };
const maxRestMs = 250;

/** `messagesPerS`: as TILLGATE_DEVICE_RATE. */
export function createPace(clock: Clock, messagesPerS = 0) {
  const packetsPerS = Math.max(100, 5 * messagesPerS);
  const packets = new TokenBucket({ clock, burst: 5 * packetsPerS, perS: packetsPerS });
  const bytes = new TokenBucket({ clock, ...byteShare });
  return {
    /** Counts what was just read; returns how long to pause, mostly 0. */
    restAfter: (packetsRead: number, bytesRead: number) =>
      Math.min(maxRestMs, Math.max(packets.overdraw(packetsRead), bytes.overdraw(bytesRead))),
  };
}

/** Pauses the reading of a socket while its pace demands it; a pause ends with the socket. */
export function paceReading(clock: Clock, socket: EventEmitter, messagesPerS: number | undefined, turn: { off(): void; on(): void }) {
  const pace = createPace(clock, messagesPerS);
  let isResting = false;
  return {
    get isResting() {
      return isResting;
    },
    /** Counts what was just read. */
    count(packets: number, bytes: number): void {
      const restMs = pace.restAfter(packets, bytes);
      if (restMs === 0 || isResting) return;
      isResting = true;
      turn.off();
      const cancel = clock.after(restMs, () => {
        isResting = false;
        socket.off('close', cancel);
        turn.on();
      });
      socket.once('close', cancel);
    },
  };
}
