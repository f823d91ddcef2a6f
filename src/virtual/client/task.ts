// One running ledger command. Its waits end early by Abort or answerBy. `begin` is the point of no return. After a power cut none of its
// promises resolves, so the work stops where it was.
import { type Cancel, type Clock, sleep } from '../../kernel/clock.ts';
import { operationNamed } from '../../kernel/operations.ts';
import type { JsonObject } from '../../link/protocol.ts';
import type { JournalEntry } from './journal.ts';

export interface Task {
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
  /** By the device's clock, like `now`. */
  readonly answerByMs: number;
  now(): number;
  /**
   * Waits for card and PIN: `meet` gets a callback for the customer's act, and returns a function that stops waiting.
   * `aborted`: stopped by Abort. `late`: answerBy came first.
   */
  waitForCustomer<Act>(meet: (acted: (act: Act) => void) => Cancel): Promise<Act | 'aborted' | 'late'>;
  /** Writes "begun". True: the bank or the fiscal memory may be used now. False: the command was aborted, or it is too late. */
  begin(): Promise<boolean>;
  sleep(durationMs: number): Promise<void>;
}

export interface RunningTask extends Task {
  entry: JournalEntry;
  /** Stops the command if it has not begun; false if it is too late. */
  abort(): boolean;
  halt(): void;
}

export interface TaskDeps {
  clock: Clock;
  write(entry: JournalEntry): Promise<boolean>;
  isHalted(): boolean;
}

/** Never resolves: awaited after a power cut. */
const forever = new Promise<never>(() => {});

export function createTask(entry: JournalEntry, deps: TaskDeps): RunningTask {
  const { clock } = deps;
  let hasBegun = entry.state === 'begun';
  let isAborted = false;
  let stopWaiting: ((why: 'aborted') => void) | undefined;
  let stopAll = () => {};

  const task: RunningTask = {
    entry,
    id: entry.id,
    name: entry.name,
    args: entry.args,
    answerByMs: entry.answerByMs,
    now: () => clock.now(),
    waitForCustomer(meet) {
      if (deps.isHalted()) return forever;
      if (isAborted) return Promise.resolve('aborted');
      return new Promise((resolve) => {
        const end = (how: Parameters<typeof resolve>[0]) => {
          stopAll();
          stopWaiting = undefined;
          if (!deps.isHalted()) resolve(how);
        };
        // The customer first: an act exactly at the deadline is in time.
        const leave = meet(end);
        const cancelLate = clock.after(Math.max(0, entry.answerByMs - clock.now()), () => end('late'));
        stopAll = () => {
          leave();
          cancelLate();
        };
        stopWaiting = end;
      });
    },
    async begin() {
      if (deps.isHalted()) return await forever;
      if (isAborted || clock.now() > entry.answerByMs) return false;
      // From here on Abort is too late, although the write is not durable yet.
      hasBegun = true;
      task.entry = { ...task.entry, state: 'begun' };
      if (!(await deps.write(task.entry))) return await forever;
      return clock.now() <= entry.answerByMs;
    },
    async sleep(durationMs) {
      if (deps.isHalted()) return await forever;
      await sleep(clock, durationMs);
      if (deps.isHalted()) await forever;
    },
    abort() {
      const { asksForCard, prints } = operationNamed(entry.name);
      if (hasBegun || !(asksForCard || prints)) return false;
      isAborted = true;
      stopWaiting?.('aborted');
      return true;
    },
    halt() {
      stopAll();
    },
  };
  return task;
}
