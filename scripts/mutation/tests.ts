// The replacement of `vitest` for test files in a mutation run: the same functions; tests are collected once and run for every mutant.
// Vitest would reload every module for each mutant, which costs ten times as much as the tests. `expect` is Vitest's own.
// A function that is missing here fails the dry run with its name.
import { format } from 'node:util';
import { expect as vitestExpect, vi as vitestVi } from 'vitest';

// Some matchers of `expect` need the file under test.
(globalThis as Record<string, unknown>)['__vitest_worker__'] ??= { filepath: '', config: {} };

type Action = (...args: unknown[]) => unknown;

interface Suite {
  name: string;
  parent: Suite | undefined;
  before: Action[];
  after: Action[];
  beforeEach: Action[];
  afterEach: Action[];
}

export interface GatheredTest {
  id: string;
  file: string;
  suite: Suite;
  run: Action;
  timeoutMs: number;
}

const defaultTimeoutMs = 20_000;
const pollEveryMs = 5;
const lookEveryMs = 50;

/** The idle time of this process: unlike real time, it does not grow while other processes have the processor. */
export const idleMs = () => performance.eventLoopUtilization().idle;

let suite: Suite;
let file = '';
const gathered = new Map<string, GatheredTest>();

const newSuite = (name: string, parent: Suite | undefined): Suite => ({
  name,
  parent,
  before: [],
  after: [],
  beforeEach: [],
  afterEach: [],
});

/** Everything that the files describe, in their order. */
export async function gather(files: readonly { name: string; url: string }[]): Promise<Map<string, GatheredTest>> {
  for (const { name, url } of files) {
    file = name;
    suite = newSuite('', undefined);
    await import(url);
  }
  return gathered;
}

function pathOf(place: Suite): Suite[] {
  return place.parent ? [...pathOf(place.parent), place] : [place];
}

/** The first value replaces printf's %s and $name of an object, as in Vitest. */
function titleOf(title: string, values: readonly unknown[], index: number): string {
  const first = values[0];
  const named = title
    .replaceAll(/\$(\w+)/gu, (whole, name: string) =>
      typeof first === 'object' && first !== null && name in first ? String((first as Record<string, unknown>)[name]) : whole,
    )
    .replaceAll('%#', String(index));
  return named.includes('%') ? format(named, ...values.slice(0, (named.match(/%[a-z]/gu) ?? []).length)) : named;
}

/** `(title, action, timeout)` or `(title, { timeout }, action)`. */
function actionAndLimit(second: Action | { timeout?: number }, third?: Action | number): [Action, unknown] {
  return typeof second === 'function' ? [second, third] : [third as Action, second.timeout];
}

function forEach(each: (title: string, action: Action, timeoutMs?: number) => void) {
  return (cases: readonly unknown[]) => (title: string, second: Action | { timeout?: number }, third?: Action | number) => {
    const [action, limit] = actionAndLimit(second, third);
    cases.forEach((one, index) => {
      const values = Array.isArray(one) ? (one as unknown[]) : [one];
      each(titleOf(title, values, index), () => action(...values), limit as number | undefined);
    });
  };
}

function addTest(title: string, second: Action | { timeout?: number }, third?: Action | number): void {
  const [run, limit] = actionAndLimit(second, third);
  const timeoutMs = typeof limit === 'number' ? limit : defaultTimeoutMs;
  const names = [...pathOf(suite).map(({ name }) => name), title].filter((name) => name !== '');
  const base = `${file}#${names.join(' > ')}`;
  let id = base;
  for (let count = 2; gathered.has(id); count += 1) id = `${base} (${count})`;
  gathered.set(id, { id, file, suite, run, timeoutMs });
}

function addSuite(title: string, describeIt: Action): void {
  const outer = suite;
  suite = newSuite(title, outer);
  describeIt();
  suite = outer;
}

const itIf = (condition: unknown) => (condition ? addTest : () => {});
const describeIf = (condition: unknown) => (condition ? addSuite : () => {});
export const it = Object.assign(addTest, { each: forEach(addTest), runIf: itIf });
export const describe = Object.assign(addSuite, { each: forEach(addSuite), runIf: describeIf });
export const beforeAll = (action: Action) => suite.before.push(action);
export const afterAll = (action: Action) => suite.after.push(action);
export const beforeEach = (action: Action) => suite.beforeEach.push(action);
export const afterEach = (action: Action) => suite.afterEach.push(action);

/** Of the test that runs. */
let cleaners: Action[] = [];
export const onTestFinished = (action: Action) => cleaners.push(action);

/** A failure by real time, or an uncaught error: the machine may be the cause, or the mutant before this one. */
export class Doubtful extends Error {}

async function waitUntil(condition: () => unknown, { timeout = 1_000, interval = 50 } = {}): Promise<unknown> {
  const until = Date.now() + timeout;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > until) throw new Doubtful('Timed out in waitUntil!');
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}

/** `expect.poll(read).matcher(...)`, with `.not`: retried until it holds. */
function poll(read: () => unknown, { timeout = 1_000, interval = pollEveryMs } = {}) {
  const through = (isNot: boolean): unknown =>
    new Proxy(
      {},
      {
        get(_target, matcher: string) {
          if (matcher === 'not') return through(true);
          return async (...args: unknown[]) => {
            const until = Date.now() + timeout;
            for (;;) {
              try {
                const assertion = vitestExpect(await read()) as unknown as Record<string, Action> & { not: Record<string, Action> };
                return (isNot ? assertion.not : assertion)[matcher]?.(...args);
              } catch (error) {
                if (Date.now() > until) throw new Doubtful(String(error));
              }
              await new Promise((resolve) => setTimeout(resolve, interval));
            }
          };
        },
      },
    );
  return through(false);
}

export const expect: unknown = new Proxy(vitestExpect, {
  get: (target, name) => (name === 'poll' ? poll : Reflect.get(target, name)),
});

export const vi = { spyOn: vitestVi.spyOn, fn: vitestVi.fn, restoreAllMocks: () => vitestVi.restoreAllMocks(), waitUntil };

let entered: Suite[] = [];

async function enter(place: Suite[]): Promise<void> {
  const left = entered.filter((one) => !place.includes(one)).toReversed();
  entered = entered.filter((one) => place.includes(one));
  for (const one of left) for (const action of one.after.toReversed()) await action();
  for (const one of place) {
    if (entered.includes(one)) continue;
    entered.push(one);
    for (const action of one.before) await action();
  }
}

async function inTime(work: () => Promise<unknown>, timeoutMs: number, mayIdleMs = Number.POSITIVE_INFINITY): Promise<void> {
  const idleSince = idleMs();
  const until = performance.now() + timeoutMs;
  let timer: NodeJS.Timeout | undefined;
  let onUncaught = (_error: Error) => {};
  const late = new Promise<never>((_resolve, reject) => {
    onUncaught = (error) => reject(new Doubtful(`Uncaught: ${error.stack}`));
    process.on('uncaughtException', onUncaught);
    timer = setInterval(() => {
      if (performance.now() > until) reject(new Doubtful(`Test timed out in ${timeoutMs} ms.`));
      else if (idleMs() - idleSince > mayIdleMs) reject(new Doubtful(`Test waited for more than ${Math.round(mayIdleMs)} ms.`));
    }, lookEveryMs);
  });
  try {
    await Promise.race([work(), late]);
  } finally {
    clearInterval(timer);
    process.off('uncaughtException', onUncaught);
  }
}

/**
 * Ends every started suite, so that nothing of one mutant remains for the next. A suite that a mutant prevents from ending is abandoned.
 */
export async function leaveAll(mayIdleMs: number): Promise<void> {
  const place = entered;
  await inTime(() => enter([]), defaultTimeoutMs, mayIdleMs).catch(() => {});
  entered = entered.filter((one) => !place.includes(one));
}

/** Throws the failure. `mayIdleMs`: the allowed idle time of this process; it detects a promise that never settles. */
export async function runTest({ suite: own, run, timeoutMs }: GatheredTest, mayIdleMs?: number): Promise<void> {
  const place = pathOf(own);
  await inTime(
    async () => {
      await enter(place);
      cleaners = [];
      try {
        for (const one of place) {
          for (const action of one.beforeEach) {
            const cleaner = await action();
            if (typeof cleaner === 'function') cleaners.push(cleaner as Action);
          }
        }
        await run();
      } finally {
        for (const cleaner of cleaners.toReversed()) await cleaner();
        for (const one of place.toReversed()) for (const action of one.afterEach) await action();
      }
    },
    timeoutMs,
    mayIdleMs,
  );
}
