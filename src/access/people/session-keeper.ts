// Who a session's cookie stands for, remembered for seconds, and whoever must be told when a session ends: the event streams.
// A change is felt here at once, on other instances by a wake-up, and five seconds later even if that got lost.
import type { Database } from '../../database/database.ts';
import type { Viewer } from '../../http/viewer.ts';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { hashSecret } from '../secrets.ts';
import { createShortLivedCache } from '../short-lived-cache.ts';
import { findSession, livingSessions } from './sessions.ts';

const wakeTopic = 'sessions';
const knownForMs = 5_000;
const unknownForMs = 2_000;
const memoryCapacity = 10_000;
/** Ids in one question to the database. */
const batch = 500;

export interface SessionKeeper {
  find(token: string): Promise<Viewer | undefined>;
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
}

/** What the audit log calls a person: names can be alike, e-mails cannot. */
export function actorNamed(user: { name: string; email: string }): string {
  return `${user.name} <${user.email}>`;
}

export function createSessionKeeper({ database, clock, logger, isSandbox }: Deps): SessionKeeper {
  const viewers = createShortLivedCache<Viewer>(clock, memoryCapacity, async (tokenHash) => {
    const found = await findSession(database.queries, tokenHash);
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
    };
    return { value: viewer, validForMs: Math.min(knownForMs, found.leftMs) };
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
    const living = await livingSessions(database.queries, ids);
    for (const id of ids) {
      if (living.has(id)) continue;
      const actions = watchers.get(id) ?? [];
      watchers.delete(id);
      for (const ended of actions) ended();
    }
  }

  function heard(): void {
    viewers.forget();
    if (watchers.size > 0) void look();
  }
  const stopListening = database.onWake(wakeTopic, heard);

  return {
    async find(token) {
      return /^[\w-]{43}$/.test(token) ? viewers.get(hashSecret(token)) : undefined;
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
