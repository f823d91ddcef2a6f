// Waiting for the end of an operation that another call or another gateway is executing, or that no call executes any more.
// Invariants: one read of a row at a time, however many calls wait for it [D62]; a wait ends when its caller disconnects, and never later
// than its deadline, whatever the wall clock shows.

import type { Database } from '../database/database.ts';
import { keptStatement } from '../database/kept-statement.ts';
import type { Recipient } from '../http/recipient.ts';
import type { Cancel, Clock } from '../kernel/clock.ts';
import type { Id, OpState } from './case.ts';
import { commandsTopic } from './follow-up.ts';
import { isOpen } from './rules/facts.ts';

/** The wake-up of another instance may get lost, so the row is also polled. */
const pollEveryMs = 500;

export interface Waits {
  /** Never rejects: the state as last read. `from`: the state that is known; another open one ends the wait, too. */
  waitFor(id: Id, from: OpState, forMs: number, caller?: Pick<Recipient, 'onLeft'>): Promise<OpState>;
  /** How many calls wait for it on this instance. */
  countOf(id: Id): number;
  stop(): void;
}

interface Watch {
  waiters: Set<(state: OpState | undefined) => void>;
  isLooking: boolean;
  /** A wake-up came while the row was being read, so the result may be stale. */
  mustLookAgain: boolean;
  cancelPoll: Cancel;
}

const stateOf = keptStatement((queries, { id }: { id: string }) =>
  queries.selectFrom('commands').select('state').where('id', '=', id).compile(),
);

export function createWaits({ database, clock }: { database: Database; clock: Clock }): Waits {
  const watches = new Map<Id, Watch>();
  const stop = database.onWake(commandsTopic, (id) => look(id));

  /** If the database is down for a moment, the operation may still end: the caller keeps waiting, and is answered 3 at worst [D59]. */
  const read = (id: Id): Promise<OpState | undefined> =>
    stateOf(database.queries, { id }).then(
      ([row]) => row?.state,
      () => undefined,
    );

  function look(id: Id): void {
    const watch = watches.get(id);
    if (!watch) return;
    if (watch.isLooking) {
      watch.mustLookAgain = true;
      return;
    }
    watch.cancelPoll();
    watch.isLooking = true;
    void read(id).then((state) => {
      watch.isLooking = false;
      for (const notify of [...watch.waiters]) notify(state);
      if (watches.get(id) !== watch) return;
      if (watch.mustLookAgain) {
        watch.mustLookAgain = false;
        look(id);
      } else watch.cancelPoll = clock.after(pollEveryMs, () => look(id));
    });
  }

  function join(id: Id, waiter: (state: OpState | undefined) => void): void {
    let watch = watches.get(id);
    if (!watch) {
      watch = { waiters: new Set(), isLooking: false, mustLookAgain: false, cancelPoll: clock.after(pollEveryMs, () => look(id)) };
      watches.set(id, watch);
    }
    watch.waiters.add(waiter);
  }

  function leave(id: Id, waiter: (state: OpState | undefined) => void): void {
    const watch = watches.get(id);
    if (!watch?.waiters.delete(waiter) || watch.waiters.size > 0) return;
    watch.cancelPoll();
    watches.delete(id);
  }

  return {
    waitFor(id, from, forMs, caller) {
      // The call that executed it was answered 3: so are those that joined it.
      const isDone = (state: OpState) => !isOpen({ state }) || (state === 'unknown' && from !== 'unknown');
      if (isDone(from)) return Promise.resolve(from);
      return new Promise((resolve) => {
        let latest = from;
        let isOver = false;
        const end = () => {
          cancelTimer();
          leave(id, waiter);
          resolve(latest);
        };
        const waiter = (state: OpState | undefined) => {
          latest = state ?? latest;
          if (isDone(latest) || isOver) end();
        };
        // At the deadline the row is read once more, which ends the wait.
        const cancelTimer = clock.after(forMs, () => {
          isOver = true;
          look(id);
        });
        join(id, waiter);
        caller?.onLeft(end);
      });
    },
    countOf: (id) => watches.get(id)?.waiters.size ?? 0,
    stop,
  };
}
