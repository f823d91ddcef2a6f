// The user of a session cookie, cached for seconds, and the event streams that end with the session.
// A change takes effect at once here, and on other instances by a wake-up, or after five seconds if that was lost.
import type { Role, Viewer } from '../../http/viewer.ts';
import { ByOwner } from '../../kernel/by-owner.ts';
import type { Cancel } from '../../kernel/clock.ts';
import { hashSecret } from '../secrets.ts';
import { createShortLivedCache } from '../short-lived-cache.ts';
import type { PeopleDeps } from './people-deps.ts';
import { findSession, openSessions, touchSession } from './sessions.ts';

const wakeTopic = 'sessions';
const knownForMs = 5_000;
const unknownForMs = 2_000;
const memoryCapacity = 10_000;
/** Ids per query. */
const batch = 500;

export type SessionKeeper = ReturnType<typeof createSessionKeeper>;

type Deps = Pick<PeopleDeps, 'database' | 'clock' | 'logger' | 'isSandbox' | 'sessionIdleMs' | 'requiresTotp'>;

interface Known {
  viewer: Viewer;
  isUseOld: boolean;
}

/**
 * The actor in the audit log. Names are not unique; e-mails are unique within a merchant and among operators. A merchant's user may have an
 * operator's e-mail but is never listed as operator: no name contains < or >.
 */
export function actorNamed(user: { name: string; email: string; role: Role }): string {
  return `${user.name} <${user.email}>${user.role === 'operator' ? ', operator' : ''}`;
}

export function createSessionKeeper({ database, clock, logger, isSandbox, sessionIdleMs, requiresTotp }: Deps) {
  const known = createShortLivedCache<Known>(clock, memoryCapacity, async (tokenHash) => {
    const found = await findSession(database.queries, tokenHash, sessionIdleMs);
    if (!found || (found.isSandbox && !isSandbox)) return { value: undefined, validForMs: unknownForMs };
    const viewer: Viewer = {
      name: found.name,
      actor: actorNamed(found),
      role: found.role,
      merchantId: found.merchantId ?? undefined,
      userId: found.userId,
      sessionId: found.id,
      // The sandbox's user has no password to confirm with.
      confirmedUntilMs: found.isSandbox ? Number.POSITIVE_INFINITY : clock.elapsed() + found.confirmedForMs,
      needsTotp: requiresTotp && found.role === 'operator' && !found.hasTotp && !found.isSandbox,
    };
    return { value: { viewer, isUseOld: found.isUseOld }, validForMs: Math.min(knownForMs, found.leftMs) };
  });

  /** What to call when a session ends, by session. */
  const watchers = new ByOwner<() => void>();
  let cancelLook: Cancel = () => {};
  let isLooking = false;
  let isAskedAgain = false;
  let isStopped = false;

  function lookLater(): void {
    cancelLook();
    cancelLook = watchers.size === 0 || isStopped ? () => {} : clock.after(knownForMs, () => void look());
  }

  async function look(): Promise<void> {
    isAskedAgain = true;
    if (isLooking) return;
    isLooking = true;
    while (isAskedAgain && watchers.size > 0 && !isStopped) {
      isAskedAgain = false;
      const ids = [...watchers.owners()];
      try {
        for (let at = 0; at < ids.length; at += batch) await endMissing(ids.slice(at, at + batch));
      } catch (error) {
        logger.warn({ err: error }, 'open sessions could not be looked up; the gateway will retry');
      }
    }
    isLooking = false;
    lookLater();
  }

  async function endMissing(ids: string[]): Promise<void> {
    const living = await openSessions(database.queries, ids, sessionIdleMs);
    for (const ended of ids.flatMap((id) => (living.has(id) ? [] : [...watchers.of(id)]))) {
      watchers.delete(ended);
      ended();
    }
  }

  function lookAgain(): void {
    known.forget();
    if (watchers.size > 0) void look();
  }
  const stopListening = database.onWake(wakeTopic, lookAgain);

  return {
    /** `isInUse`: the user is active, which keeps the session alive. */
    async find(token: string, isInUse = true): Promise<Viewer | undefined> {
      const found = /^[\w-]{43}$/.test(token) ? await known.get(hashSecret(token)) : undefined;
      if (found?.isUseOld === true && isInUse) {
        found.isUseOld = false;
        // The answer does not wait for this write; if it fails, the next look-up retries.
        touchSession(database.queries, found.viewer.sessionId ?? '').catch((error: unknown) =>
          logger.warn({ err: error }, 'the use of a session could not be recorded; the gateway will retry'),
        );
      }
      return found?.viewer;
    },
    /** Calls once when the session has ended for any reason; at once if it already has. */
    onSessionEnded(sessionId: string, ended: () => void): Cancel {
      watchers.add(sessionId, ended);
      // The session may have ended since it was checked.
      void look();
      return () => void watchers.delete(ended);
    },
    /** Called after the commit of any change to sessions or users. */
    changed: () => database.wake(wakeTopic),
    stop(): void {
      isStopped = true;
      cancelLook();
      stopListening();
    },
  };
}
