// How fast a socket of ours is read. Who sends more than his share is read with pauses, so that the network holds the rest back at its source.
// A pause is short: the packets that keep a connection alive lie behind the others, and no keep-alive is shorter than a second.
import type { Clock } from '../../kernel/clock.ts';

export interface Pace {
  /** What was just read; returns how long to rest before more is read, mostly 0. */
  restAfter(packets: number, bytes: number): number;
}

const packetShare = { burst: 500, perS: 100 };
const byteShare = { burst: 8 * 1024 * 1024, perS: 1024 * 1024 };
const maxRestMs = 250;

export function createPace(clock: Clock): Pace {
  const overdrawnByPackets = createAccount(clock, packetShare);
  const overdrawnByBytes = createAccount(clock, byteShare);
  return {
    restAfter: (packets, bytes) => Math.min(maxRestMs, Math.max(overdrawnByPackets(packets), overdrawnByBytes(bytes))),
  };
}

/** What was read cannot be given back, so the account is overdrawn; returns for how many ms it is. */
function createAccount(clock: Clock, { burst, perS }: { burst: number; perS: number }): (spent: number) => number {
  let owed = 0;
  let atMs = clock.elapsed();
  return (spent) => {
    const nowMs = clock.elapsed();
    // Bounded, so that whoever stops is soon read at full speed again.
    owed = Math.min(2 * burst, Math.max(0, owed - ((nowMs - atMs) / 1000) * perS) + spent);
    atMs = nowMs;
    return Math.max(0, Math.ceil(((owed - burst) / perS) * 1000));
  };
}
