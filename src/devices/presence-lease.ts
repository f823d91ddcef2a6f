// The lease for writing presence [D180]. It saves work but guarantees nothing: a holder that was paused past its end writes beside the next
// one for a moment, and the statement itself keeps the newer state.
// A gateway that has lost one of its channels does not receive the presence of every device: it lets the lease expire, and takes it only if
// no other gateway has taken it for the length of one more lease.

import type { Database } from '../database/database.ts';
import type { Shared } from '../database/shared-deps.ts';
import { endTurn, isTurnFree, keepTurn, takeTurn } from '../database/turn.ts';
import type { Link } from '../link/link.ts';

export const presenceRoundMs = 5_000;
const leaseMs = 3 * presenceRoundMs;

interface Deps extends Pick<Shared, 'clock' | 'instanceId'> {
  database: Pick<Database, 'queries'>;
  link: Pick<Link, 'connected'>;
}

export function createPresenceLease({ database: { queries }, clock, link, instanceId }: Deps) {
  const turn = { work: 'presence', instanceId };
  /** In clock.elapsed(), from before the statement, so that this gateway never relies on an expired lease. */
  let heldUntilMs = Number.NEGATIVE_INFINITY;
  const isHeld = () => clock.elapsed() < heldUntilMs;

  return {
    isHeld,
    /** Takes or renews the lease if it is due; true while this gateway holds it. */
    async hold(): Promise<boolean> {
      const nowMs = clock.elapsed();
      const isConnectedToAll = Object.values(link.connected()).every(Boolean);
      if (isHeld() && (!isConnectedToAll || heldUntilMs - nowMs > leaseMs - presenceRoundMs)) return true;
      const isOurs = isHeld()
        ? await keepTurn(queries, turn, leaseMs)
        : (await isTurnFree(queries, turn.work, isConnectedToAll ? 0 : leaseMs)) && (await takeTurn(queries, turn, leaseMs));
      heldUntilMs = isOurs ? nowMs + leaseMs : Number.NEGATIVE_INFINITY;
      return isOurs;
    },
    async end(): Promise<void> {
      heldUntilMs = Number.NEGATIVE_INFINITY;
      await endTurn(queries, turn);
    },
  };
}
