// The thread's side of the pool: one day after the other, as they are ordered, each telling how far its virtual time has come. What is
// posted gets out although the thread may never come to rest again, in the order in which it happened: a day whose timer fell over has
// fallen over, though it came to its end a moment later.
import { parentPort } from 'node:worker_threads';
import type { DayOptions, DayResult } from './run-day.ts';

export interface Order {
  seed: number;
  tradingMs: number | undefined;
  /** As in DayOptions. */
  calmAtMostMs?: number | undefined;
  /** How it is made smaller (smaller-plan.ts); functions do not go from thread to thread. */
  ways?: readonly string[] | undefined;
}

export type Report = { kind: 'reached'; nowMs: number } | { kind: 'ended'; day: DayResult } | { kind: 'fell over'; error: string };

export function serveDays(run: (seed: number, options: DayOptions) => Promise<DayResult>): void {
  const report = (message: Report) => parentPort?.postMessage(message);
  process.on('uncaughtException', (error) => report({ kind: 'fell over', error: tellError(error) }));
  parentPort?.on('message', ({ seed, tradingMs, calmAtMostMs, ways = [] }: Order) => {
    const onMinute = (nowMs: number) => report({ kind: 'reached', nowMs });
    run(seed, { tradingMs, calmAtMostMs, ways, onMinute }).then(
      (day) => report({ kind: 'ended', day }),
      (error: unknown) => report({ kind: 'fell over', error: tellError(error) }),
    );
  });
}

export function tellError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
