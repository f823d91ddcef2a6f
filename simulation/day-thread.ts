// The thread's side of the pool: runs the ordered days one after the other, and reports the progress of their virtual time.
// Posted messages are delivered in order even if the thread never becomes idle again: a day whose timer crashed has
// crashed, even if it ended a moment later.
import { parentPort } from 'node:worker_threads';
import type { DayOptions, DayResult } from './run-day.ts';

export interface Order {
  seed: number;
  tradingMs: number | undefined;
  /** As in DayOptions. */
  calmAtMostMs?: number | undefined;
  /** How it is reduced (smaller-plan.ts), by name, because functions cannot be sent to a thread. */
  ways?: readonly string[] | undefined;
  /** As in DayOptions. */
  isCompared?: boolean | undefined;
}

export type Report = { kind: 'reached'; nowMs: number } | { kind: 'ended'; day: DayResult } | { kind: 'fell over'; error: string };

export function serveDays(run: (seed: number, options: DayOptions) => Promise<DayResult>): void {
  const report = (message: Report) => parentPort?.postMessage(message);
  process.on('uncaughtException', (error) => report({ kind: 'fell over', error: tellError(error) }));
  parentPort?.on('message', ({ seed, tradingMs, calmAtMostMs, ways = [], isCompared }: Order) => {
    const onMinute = (nowMs: number) => report({ kind: 'reached', nowMs });
    run(seed, { tradingMs, calmAtMostMs, ways, isCompared, onMinute }).then(
      (day) => report({ kind: 'ended', day }),
      (error: unknown) => report({ kind: 'fell over', error: tellError(error) }),
    );
  });
}

export function tellError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
