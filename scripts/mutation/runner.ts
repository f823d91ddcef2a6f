// Stryker's test runner for this project: one process with all modules loaded runs the tests that reach a mutant, the likeliest killer
// first, and stops at the first failure. A failure by real time alone, or by an uncaught error in an event, must occur twice: a
// slow machine kills no mutant, and neither do remains of the previous one. Unhandled rejections are not failures here.

import { appendFileSync, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve as resolvePath } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Tests from './tests.ts';
import { startWatchdog } from './watchdog.ts';

type GatheredTest = Tests.GatheredTest;

interface Coverage {
  static: Record<string, number>;
  perTest: Record<string, Record<string, number>>;
}

/** The state that the mutated code reads and writes. */
interface StrykerState {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  mutantCoverage?: Coverage | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
}

interface MutantRun {
  activeMutant: { id: string; fileName?: string; location?: { start: { line: number } }; replacement?: string };
  testFilter?: string[];
  hitLimit?: number;
  mutantActivation: 'static' | 'runtime';
}

const state: StrykerState = ((globalThis as Record<string, unknown>)['__stryker__'] ??= {});
const testsUrl = new URL('tests.ts', import.meta.url).href;
/** CPU time of a test that is used at all, and of all tests of one mutant: a mutant that is not killed by then has survived. */
const patienceMs = { test: 3_000, mutant: Number(process.env['TILLGATE_MUTATION_PATIENCE_MS']) };

const notes = process.env['TILLGATE_MUTATION_NOTES'] ?? tmpdir();
const watchdog = startWatchdog(notes);
const spentFile = join(notes, 'spent.json');

// The parent process is gone.
process.on('disconnect', () => process.exit());
// A running test gets it (tests.ts); after a test it does not count.
process.on('uncaughtException', () => {});

/** CPU time after which a test counts as endless. */
const leastMs = 4_000;
const timesLonger = 6;

/** Idle time after which a test counts as waiting for ever. */
const leastIdleMs = Number(process.env['TILLGATE_MUTATION_IDLE_MS'] ?? 3_000);
const timesIdler = 2;

interface Spent {
  cpuMs: number;
  idleMs: number;
}

registerHooks({
  resolve(specifier, context, next) {
    const isOfTest = specifier === 'vitest' && context.parentURL !== testsUrl && !context.parentURL?.includes('/node_modules/');
    return isOfTest ? { url: testsUrl, shortCircuit: true } : next(specifier, context);
  },
  // A kept statement would be built without the mutant, or with an earlier one: here none is kept.
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith('/src/database/kept-statement.ts')) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString('utf8');
    const keepsNone = source.replace(/maxShapes = \d+;/u, 'maxShapes = 0;');
    if (keepsNone === source) throw new Error('maxShapes no longer defines how many statements are kept.');
    return { ...loaded, source: keepsNone };
  },
});

class Runner {
  #tests = new Map<string, GatheredTest>();
  #module: typeof Tests | undefined;
  /** Of each test in the dry run, also if that was run by the process before this one. */
  #spent = new Map<string, Spent>();
  readonly #kills = new Map<string, number>();

  capabilities() {
    return { reloadEnvironment: false };
  }

  async #load(): Promise<typeof Tests> {
    if (this.#module) return this.#module;
    this.#module = (await import(testsUrl)) as typeof Tests;
    const patterns = (process.env['TILLGATE_MUTATION_TESTS'] ?? '').split('\n');
    if (existsSync(spentFile)) this.#spent = new Map(JSON.parse(readFileSync(spentFile, 'utf8')) as [string, Spent][]);
    // Modules are loaded once for all tests: a test that reloads them cannot run here.
    const canRun = (name: string) => !name.endsWith('.server.test.ts') && !readFileSync(name, 'utf8').includes('vi.resetModules');
    const names = globSync(patterns).filter(canRun);
    this.#tests = await this.#module.gather(names.toSorted().map((name) => ({ name, url: pathToFileURL(resolvePath(name)).href })));
    return this.#module;
  }

  async #fails(test: GatheredTest, mayIdleMs?: number): Promise<string | undefined> {
    const module = await this.#load();
    try {
      await module.runTest(test, mayIdleMs);
      return undefined;
    } catch (error) {
      if (!(error instanceof module.Doubtful)) return String(error instanceof Error ? error.stack : error);
    }
    try {
      await module.runTest(test, mayIdleMs);
      return undefined;
    } catch (error) {
      return String(error);
    }
  }

  async dryRun() {
    state.activeMutant = undefined;
    state.mutantCoverage = { static: {}, perTest: {} };
    const module = await this.#load();
    const tests = [];
    for (const test of this.#tests.values()) {
      state.currentTestId = test.id;
      const from = performance.now();
      const cpu = process.cpuUsage();
      const idle = module.idleMs();
      const failure = await this.#fails(test);
      const used = process.cpuUsage(cpu);
      const timeSpentMs = performance.now() - from;
      const cpuMs = (used.user + used.system) / 1_000;
      this.#spent.set(test.id, { cpuMs, idleMs: module.idleMs() - idle });
      if (cpuMs > patienceMs.test) delete state.mutantCoverage.perTest[test.id];
      const outcome = failure === undefined ? { status: 0 } : { status: 1, failureMessage: failure };
      tests.push({ id: test.id, name: test.id, fileName: resolvePath(test.file), timeSpentMs, ...outcome });
    }
    state.currentTestId = undefined;
    writeFileSync(spentFile, JSON.stringify([...this.#spent]));
    await module.leaveAll(leastIdleMs);
    const mutantCoverage = state.mutantCoverage;
    state.mutantCoverage = undefined;
    return { status: 'complete', tests, mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation }: MutantRun) {
    if (watchdog.hasEnded(activeMutant.id)) return { status: 'timeout', reason: 'a test did not end' };
    Object.assign(state, { hitCount: hitLimit === undefined ? undefined : 0, hitLimit, mutantCoverage: undefined });
    if (mutantActivation === 'static') state.activeMutant = activeMutant.id;
    const module = await this.#load();
    state.activeMutant = activeMutant.id;
    const chosen = testFilter ? testFilter.flatMap((id) => this.#tests.get(id) ?? []) : [...this.#tests.values()];
    const cost = ({ id }: GatheredTest) => (this.#spent.get(id)?.cpuMs ?? 100) / (1 + (this.#kills.get(id) ?? 0));
    const cpu = process.cpuUsage();
    let nrOfTests = 0;
    for (const test of chosen.toSorted((one, other) => cost(one) - cost(other))) {
      const { user, system } = process.cpuUsage(cpu);
      if ((user + system) / 1_000 > patienceMs.mutant) break;
      nrOfTests += 1;
      const spent = this.#spent.get(test.id) ?? { cpuMs: 0, idleMs: 0 };
      watchdog.allow(leastMs + timesLonger * spent.cpuMs, activeMutant.id);
      const failureMessage = await this.#fails(test, leastIdleMs + timesIdler * spent.idleMs);
      watchdog.rest();
      if ((state.hitCount ?? 0) > (hitLimit ?? Number.POSITIVE_INFINITY)) return { status: 'timeout', reason: 'hit limit reached' };
      if (failureMessage === undefined) continue;
      this.#kills.set(test.id, (this.#kills.get(test.id) ?? 0) + 1);
      await this.#calmDown(module);
      return { status: 'killed', killedBy: [test.id], failureMessage, nrOfTests };
    }
    await this.#calmDown(module);
    // To follow a long run.
    const { fileName, location, replacement } = activeMutant;
    appendFileSync(
      join(notes, 'survivors'),
      `${JSON.stringify({ fileName, line: location && location.start.line + 1, replacement, nrOfTests })}\n`,
    );
    return { status: 'survived', nrOfTests };
  }

  async #calmDown(module: typeof Tests): Promise<void> {
    await module.leaveAll(leastIdleMs);
    state.activeMutant = undefined;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

interface CodeNode {
  type: string;
  name?: string;
  object?: CodeNode;
  property?: CodeNode;
  callee?: CodeNode;
  expression?: CodeNode;
}

/** Log lines are for people, like every text: `logger.warn(...)`, `deps.logger.warn(...)`, `this.#logger.warn(...)`. */
function shouldIgnore({ node: found }: { node: CodeNode }): string | undefined {
  const node = found.type === 'ExpressionStatement' && found.expression ? found.expression : found;
  const target = node.type === 'CallExpression' && node.callee?.type === 'MemberExpression' ? node.callee.object : undefined;
  const name = target?.type === 'MemberExpression' ? target.property?.name : target?.name;
  return name === 'logger' ? 'a line of the log' : undefined;
}

export const strykerPlugins = [
  { kind: 'TestRunner', name: 'tillgate', injectableClass: Runner },
  { kind: 'Ignore', name: 'log-lines', value: { shouldIgnore } },
];
