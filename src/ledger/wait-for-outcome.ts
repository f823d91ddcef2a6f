// Waiting for a command that somebody else is carrying: another call, another instance, or nobody any more.
import type { Database } from '../database/database.ts';
import type { Clock } from '../kernel/clock.ts';
import { type Command, isOpen } from './command.ts';
import { commandsTopic } from './settlement.ts';
import { findCommand } from './store.ts';

/** Another instance's word may get lost, so the row is looked at by itself too. */
const pollEveryMs = 500;

export interface Following {
  /** Never rejects. Waits until the command is settled or `untilMs` (gateway clock) has come, and returns it as it stands. */
  follow(command: Command, untilMs: number): Promise<Command>;
  stop(): void;
}

export function createFollowing({ database, clock }: { database: Database; clock: Clock }): Following {
  const listeners = new Map<string, Set<() => void>>();
  const stop = database.onWake(commandsTopic, (id) => {
    for (const listener of [...(listeners.get(id) ?? [])]) listener();
  });

  /** Resolves when the command is said to have changed, or after `timeoutMs`. */
  function changeOf(commandId: string, timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const waiting = listeners.get(commandId) ?? new Set();
      listeners.set(commandId, waiting);
      const done = () => {
        cancelTimer();
        waiting.delete(done);
        if (waiting.size === 0) listeners.delete(commandId);
        resolve();
      };
      const cancelTimer = clock.after(timeoutMs, done);
      waiting.add(done);
    });
  }

  /** The database may be away for a moment. That says nothing about the command, so whoever follows it waits on and hears 3 at worst [D59]. */
  function lookAgain(commandId: string): Promise<Command | undefined> {
    return findCommand(database.queries, commandId).catch(() => undefined);
  }

  return {
    async follow(command, untilMs) {
      let latest = command;
      const wasUnknown = command.state === 'unknown';
      while (isOpen(latest) && clock.now() < untilMs) {
        // Its own call has answered 3: so does everyone who joined it.
        if (latest.state === 'unknown' && !wasUnknown) break;
        await changeOf(latest.id, Math.min(pollEveryMs, untilMs - clock.now()));
        latest = (await lookAgain(latest.id)) ?? latest;
      }
      return latest;
    },
    stop,
  };
}
