// Waiting for the outcome of a command that another call or another instance is executing, or that no call executes any more.
// Invariants: one read of a command's row at a time, however many calls wait for it [D62]; a wait ends when its caller disconnects;
// no call waits beyond its deadline, whatever the wall clock shows, and then gets the command as stored.
import type { Database } from '../../database/database.ts';
import type { Recipient } from '../../http/recipient.ts';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import { type Command, isOpen } from '../command.ts';
import { commandsTopic } from '../settling/state-change.ts';
import { findCommand } from '../store.ts';

/** The wake-up of another instance may get lost, so the row is also polled. */
const pollEveryMs = 500;

export type WaitingCaller = Pick<Recipient, 'onLeft'>;

export interface OutcomeWaits {
  /**
   * Never rejects. Waits until the command is settled, `forMs` have passed or the caller has disconnected, and returns the command as last
   * read.
   */
  waitFor(command: Command, forMs: number, caller?: WaitingCaller): Promise<Command>;
  /** How many calls wait for it on this instance. */
  countOf(commandId: string): number;
  stop(): void;
}

interface Watch {
  waiters: Set<Waiter>;
  isLooking: boolean;
  /** A wake-up came while the row was being read, so the result may be stale. */
  mustLookAgain: boolean;
  cancelPoll: Cancel;
}

/** Called after every read; undefined: the row could not be read. */
type Waiter = (latest: Command | undefined) => void;

export function createOutcomeWaits({ database, clock }: { database: Database; clock: Clock }): OutcomeWaits {
  const watches = new Map<string, Watch>();
  const stop = database.onWake(commandsTopic, (id) => look(id));

  /** The database may be down for a moment. The command may still succeed, so the caller keeps waiting and is answered 3 at worst [D59]. */
  function read(commandId: string): Promise<Command | undefined> {
    return findCommand(database.queries, commandId).catch(() => undefined);
  }

  function look(commandId: string): void {
    const watch = watches.get(commandId);
    if (!watch) return;
    if (watch.isLooking) {
      watch.mustLookAgain = true;
      return;
    }
    watch.cancelPoll();
    watch.isLooking = true;
    void read(commandId).then((latest) => {
      watch.isLooking = false;
      for (const notify of [...watch.waiters]) notify(latest);
      if (watches.get(commandId) !== watch) return;
      if (watch.mustLookAgain) {
        watch.mustLookAgain = false;
        look(commandId);
      } else {
        watch.cancelPoll = clock.after(pollEveryMs, () => look(commandId));
      }
    });
  }

  function join(commandId: string, waiter: Waiter): void {
    let watch = watches.get(commandId);
    if (!watch) {
      const cancelPoll = clock.after(pollEveryMs, () => look(commandId));
      watch = { waiters: new Set(), isLooking: false, mustLookAgain: false, cancelPoll };
      watches.set(commandId, watch);
    }
    watch.waiters.add(waiter);
  }

  function leave(commandId: string, waiter: Waiter): void {
    const watch = watches.get(commandId);
    if (!watch?.waiters.delete(waiter) || watch.waiters.size > 0) return;
    watch.cancelPoll();
    watches.delete(commandId);
  }

  return {
    waitFor(command, forMs, caller) {
      // The call that executed it was answered 3: so are those that joined it.
      const isDone = (latest: Command) => !isOpen(latest) || (latest.state === 'unknown' && command.state !== 'unknown');
      if (isDone(command)) return Promise.resolve(command);
      return new Promise((resolve) => {
        let latest = command;
        let isOver = false;
        const end = () => {
          cancelTimer();
          leave(command.id, waiter);
          resolve(latest);
        };
        const waiter: Waiter = (seen) => {
          latest = seen ?? latest;
          if (isDone(latest) || isOver) end();
        };
        // At the deadline the row is read once more, which ends the wait.
        const cancelTimer = clock.after(forMs, () => {
          isOver = true;
          look(command.id);
        });
        join(command.id, waiter);
        caller?.onLeft(end);
      });
    },
    countOf: (commandId) => watches.get(commandId)?.waiters.size ?? 0,
    stop,
  };
}
