// Who a session's cookie stands for, cached for seconds, and the event streams that end with it.
// A change is felt here at once, on other instances by a wake-up, and five seconds later even if that got lost.
import type { Database } from '../../database/database.ts';
import type { Role, Viewer } from '../../http/viewer.ts';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { hashSecret } from '../secrets.ts';
import { createShortLivedCache } from '../short-lived-cache.ts';
import { findSession, livingSessions, touchSession } from './sessions.ts';

const wakeTopic = 'sessions';
const knownForMs = 5_000;
const unknownForMs = 2_000;
const memoryCapacity = 10_000;
/** Ids in one question to the database. */
const batch = 500;

export interface SessionKeeper {
  /** `isInUse`: a person uses it, which keeps the session alive. */
  find(token: string, isInUse?: boolean): Promise<Viewer | undefined>;
  /** Calls once when the session has ended, by whatever: at once if it has already. */
  onSessionEnded(sessionId: string, ended: () => void): Cancel;
  /** After the commit of any change to sessions or users. */
  changed(): void;
  stop(): void;
}

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** The sandbox's own user comes in only there. */
  isSandbox: boolean;
  /** A session that was not used for this long has ended. */
  sessionIdleMs: number;
  /** Operators can do nothing before they have one-time codes. */
  requiresTotp: boolean;
}

interface Known {
  viewer: Viewer;
  isUseOld: boolean;
}

/**
 * What the audit log calls a person. Names can be alike; e-mails cannot within a merchant or among operators. A merchant's user may have an
 * operator's e-mail but is never called an operator: no name holds < or >.
 */
export function actorNamed(user: { name: string; email: string; role: Role }): string {
  return `${user.name} <${user.email}>${user.role === 'operator' ? ', operator' : ''}`;
}

export function createSessionKeeper({ database, clock, logger, isSandbox, sessionIdleMs, requiresTotp }: Deps): SessionKeeper {
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
      // The sandbox has no password to ask for.
      confirmedUntilMs: found.isSandbox ? Number.POSITIVE_INFINITY : clock.elapsed() + found.confirmedForMs,
      needsTotp: requiresTotp && found.role === 'operator' && !found.hasTotp && !found.isSandbox,
    };
    return { value: { viewer, isUseOld: found.isUseOld }, validForMs: Math.min(knownForMs, found.leftMs) };
  });

  const watchers = new Map<string, Set<() => void>>();
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
      const ids = [...watchers.keys()];
      try {
        for (let at = 0; at < ids.length; at += batch) await endMissing(ids.slice(at, at + batch));
      } catch (error) {
        logger.warn({ err: error }, 'living sessions could not be looked up; trying again');
      }
    }
    isLooking = false;
    lookLater();
  }

  async function endMissing(ids: string[]): Promise<void> {
    const living = await livingSessions(database.queries, ids, sessionIdleMs);
    for (const id of ids) {
      if (living.has(id)) continue;
      const actions = watchers.get(id) ?? [];
      watchers.delete(id);
      for (const ended of actions) ended();
    }
  }

  function lookAgain(): void {
    known.forget();
    if (watchers.size > 0) void look();
  }
  const stopListening = database.onWake(wakeTopic, lookAgain);

  return {
    async find(token, isInUse = true) {
      const found = /^[\w-]{43}$/.test(token) ? await known.get(hashSecret(token)) : undefined;
      if (found?.isUseOld === true && isInUse) {
        found.isUseOld = false;
        // The answer does not wait for it; if it fails, the next look-up tries again.
        touchSession(database.queries, found.viewer.sessionId ?? '').catch((error: unknown) =>
          logger.warn({ err: error }, 'the use of a session could not be written down; trying again'),
        );
      }
      return found?.viewer;
    },
    onSessionEnded(sessionId, ended) {
      const actions = watchers.get(sessionId) ?? new Set();
      watchers.set(sessionId, actions);
      actions.add(ended);
      // It may have ended between its judgement and now.
      void look();
      return () => {
        actions.delete(ended);
        if (actions.size === 0 && watchers.get(sessionId) === actions) watchers.delete(sessionId);
      };
    },
    changed() {
      database.wake(wakeTopic);
    },
    stop() {
      isStopped = true;
      cancelLook();
      stopListening();
    },
  };
}
