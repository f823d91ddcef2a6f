// Waiting for the outcome of a command that another call or another instance is carrying, or that no call carries any more.
// Always holds: one look at a command's row at a time, however many wait for it [D62]; a caller who has left waits no longer;
// none waits beyond its time, and the answer is how the row stands.
import type { Database } from '../../database/database.ts';
import type { Recipient } from '../../http/recipient.ts';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import { type Command, isOpen } from '../command.ts';
import { commandsTopic } from '../settling/state-change.ts';
import { findCommand } from '../store.ts';

/** The wake-up of another instance may get lost, so the row is looked at without one too. */
const pollEveryMs = 500;

export type WaitingCaller = Pick<Recipient, 'onLeft'>;

export interface OutcomeWaits {
  /**
   * Never rejects. Waits until the command is settled, `untilMs` (gateway clock) has come or the caller has left, and returns it as it
   * stands.
   */
  waitFor(command: Command, untilMs: number, caller?: WaitingCaller): Promise<Command>;
  /** How many wait for it here. */
  countOf(commandId: string): number;
  stop(): void;
}

interface Watch {
  waiters: Set<Waiter>;
  isLooking: boolean;
  /** Something happened while the row was being read: what was read may be older. */
  mustLookAgain: boolean;
  cancelPoll: Cancel;
}

/** Called with every look; undefined: the row could not be read. */
type Waiter = (latest: Command | undefined) => void;

export function createOutcomeWaits({ database, clock }: { database: Database; clock: Clock }): OutcomeWaits {
  const watches = new Map<string, Watch>();
  const stop = database.onWake(commandsTopic, (id) => look(id));

  /** The database may be away for a moment. That says nothing about the command, so the caller waits on and is answered 3 at worst [D59]. */
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
      for (const tell of [...watch.waiters]) tell(latest);
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
    waitFor(command, untilMs, caller) {
      // The call that carried it was answered 3: so are those that joined it.
      const isDone = (latest: Command) => !isOpen(latest) || (latest.state === 'unknown' && command.state !== 'unknown');
      if (isDone(command) || clock.now() >= untilMs) return Promise.resolve(command);
      return new Promise((resolve) => {
        let latest = command;
        const end = () => {
          cancelTimer();
          leave(command.id, waiter);
          resolve(latest);
        };
        const waiter: Waiter = (seen) => {
          latest = seen ?? latest;
          if (isDone(latest) || clock.now() >= untilMs) end();
        };
        // The time is over: one last look, which ends the wait.
        const cancelTimer = clock.after(untilMs - clock.now(), () => look(command.id));
        join(command.id, waiter);
        caller?.onLeft(end);
      });
    },
    countOf: (commandId) => watches.get(commandId)?.waiters.size ?? 0,
    stop,
  };
}
