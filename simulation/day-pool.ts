// Days on threads: each thread takes the next seed when it has finished one, so that a long day delays no other. A day that crashes, or
// never ends, is a broken day like any other: its seed is reported, its thread is replaced, and the series continues.
import { Worker } from 'node:worker_threads';
import type { Clock } from '../src/kernel/clock.ts';
import { momentOf } from './chronicle.ts';
import { type Order, type Report, tellError } from './day-thread.ts';
import { watchDay } from './day-watch.ts';
import type { DayResult } from './run-day.ts';

export interface Series {
  seeds: readonly number[];
  workers: number;
  tradingMs: number | undefined;
  isCompared?: boolean | undefined;
  /** The real one. */
  clock: Clock;
  /** What the threads run. */
  script?: URL;
}

const realDays = new URL('./real-days.ts', import.meta.url);
const unknownTime = '--:--';

/** `ended` returns whether that is enough. */
export async function runDays({ seeds, workers, tradingMs, isCompared, clock, script }: Series, ended: (day: DayResult) => boolean) {
  const waiting = [...seeds];
  let isEnough = false;
  const next = () => (isEnough ? undefined : waiting.shift());
  await Promise.all(Array.from({ length: Math.min(workers, seeds.length) }, () => keepBusy()));

  async function keepBusy(): Promise<void> {
    const workplace = openWorkplace({ clock, script });
    for (let seed = next(); seed !== undefined; seed = next()) {
      const day = await workplace.run({ seed, tradingMs, isCompared });
      isEnough ||= ended(day);
    }
    await workplace.close();
  }
}

export interface Workplace {
  /** One day at a time. Never rejects. */
  run(order: Order): Promise<DayResult>;
  close(): Promise<void>;
}

/** Starts a thread with the first day, and a new one after a day that did not end. */
export function openWorkplace({ clock, script = realDays }: { clock: Clock; script?: URL | undefined }): Workplace {
  let thread: Thread | undefined;
  return {
    async run(order) {
      if (thread?.isGone()) thread = undefined;
      thread ??= startThread(script);
      const day = await dayOn(thread, order, clock);
      if (day.hasEnded) return day;
      // Not awaited: it may be stuck in an endless computation.
      void thread.terminate();
      thread = undefined;
      return day;
    },
    async close() {
      await thread?.terminate();
    },
  };
}

interface Thread {
  /** Until the next order, `onReport` gets its reports. */
  order(order: Order, onReport: (report: Report) => void): void;
  /** It crashed or exited after its day had ended, and would not answer. */
  isGone(): boolean;
  terminate(): Promise<unknown>;
}

function startThread(script: URL): Thread {
  const worker = new Worker(script);
  let onReport: (report: Report) => void = () => {};
  worker.on('message', (report: Report) => onReport(report));
  worker.on('error', (error) => onReport({ kind: 'fell over', error: tellError(error) }));
  let isGone = false;
  worker.on('exit', () => {
    isGone = true;
    onReport({ kind: 'fell over', error: 'its thread is gone' });
  });
  return {
    isGone: () => isGone,
    order(order, listener) {
      onReport = listener;
      worker.postMessage(order);
    },
    terminate: () => worker.terminate(),
  };
}

function dayOn(thread: Thread, order: Order, clock: Clock): Promise<DayResult> {
  return new Promise((resolve) => {
    const over = (day: DayResult) => {
      watch.end();
      resolve(day);
    };
    const broken = (at: string, what: string) => over(brokenDay(order.seed, `${at} ${what}`));
    const watch = watchDay({
      clock,
      onStuck: (reachedMs) =>
        broken(reachedMs === undefined ? unknownTime : momentOf(reachedMs), 'the day never ends: its time stands still'),
    });
    thread.order(order, (report) => {
      if (report.kind === 'reached') watch.reached(report.nowMs);
      else if (report.kind === 'ended') over(report.day);
      else broken(unknownTime, `the day fell over: ${report.error}`);
    });
  });
}

/** It has no history, and cannot be made smaller. */
function brokenDay(seed: number, violation: string): DayResult {
  return { seed, violations: [violation], history: [], traceHash: '', hasEnded: false, figures: {}, hits: {}, passed: {}, shapes: [] };
}
