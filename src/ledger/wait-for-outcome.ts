// Waiting for a command that somebody else is carrying: another call, another instance, or nobody any more.
// Always holds: one look at the row at a time and command, however many wait for it [D62]; whoever has left waits no longer;
// nobody waits beyond his time, and nobody is told anything but how the row stands.
import type { Database } from '../database/database.ts';
import type { Recipient } from '../http/recipient.ts';
import type { Cancel, Clock } from '../kernel/clock.ts';
import { type Command, isOpen } from './command.ts';
import { commandsTopic } from './settlement.ts';
import { findCommand } from './store.ts';

/** Another instance's word may get lost, so the row is looked at by itself too. */
const pollEveryMs = 500;

export type Waiting = Pick<Recipient, 'onLeft'>;

export interface Following {
  /**
   * Never rejects. Waits until the command is settled, `untilMs` (gateway clock) has come or he who waits has left,
   * and returns it as it stands.
   */
  follow(command: Command, untilMs: number, waiting?: Waiting): Promise<Command>;
  /** How many wait for it here. */
  followersOf(commandId: string): number;
  stop(): void;
}

interface Watch {
  followers: Set<Follower>;
  isLooking: boolean;
  /** Something happened while the row was being read: what was read may be older. */
  mustLookAgain: boolean;
  cancelPoll: Cancel;
}

/** Told of every look; undefined: the row could not be read. */
type Follower = (latest: Command | undefined) => void;

export function createFollowing({ database, clock }: { database: Database; clock: Clock }): Following {
  const watches = new Map<string, Watch>();
  const stop = database.onWake(commandsTopic, (id) => look(id));

  /** The database may be away for a moment. That says nothing about the command, so whoever follows it waits on and hears 3 at worst [D59]. */
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
      for (const tell of [...watch.followers]) tell(latest);
      if (watches.get(commandId) !== watch) return;
      if (watch.mustLookAgain) {
        watch.mustLookAgain = false;
        look(commandId);
      } else {
        watch.cancelPoll = clock.after(pollEveryMs, () => look(commandId));
      }
    });
  }

  function join(commandId: string, follower: Follower): void {
    let watch = watches.get(commandId);
    if (!watch) {
      const cancelPoll = clock.after(pollEveryMs, () => look(commandId));
      watch = { followers: new Set(), isLooking: false, mustLookAgain: false, cancelPoll };
      watches.set(commandId, watch);
    }
    watch.followers.add(follower);
  }

  function leave(commandId: string, follower: Follower): void {
    const watch = watches.get(commandId);
    if (!watch?.followers.delete(follower) || watch.followers.size > 0) return;
    watch.cancelPoll();
    watches.delete(commandId);
  }

  return {
    follow(command, untilMs, waiting) {
      // Its own call has answered 3: so does everyone who joined it.
      const isDone = (latest: Command) => !isOpen(latest) || (latest.state === 'unknown' && command.state !== 'unknown');
      if (isDone(command) || clock.now() >= untilMs) return Promise.resolve(command);
      return new Promise((resolve) => {
        let latest = command;
        const end = () => {
          cancelTimer();
          leave(command.id, follower);
          resolve(latest);
        };
        const follower: Follower = (seen) => {
          latest = seen ?? latest;
          if (isDone(latest) || clock.now() >= untilMs) end();
        };
        // The time is over: one last look, which ends the wait.
        const cancelTimer = clock.after(untilMs - clock.now(), () => look(command.id));
        join(command.id, follower);
        waiting?.onLeft(end);
      });
    },
    followersOf: (commandId) => watches.get(commandId)?.followers.size ?? 0,
    stop,
  };
}
