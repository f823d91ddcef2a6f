// npm run planted-bugs: runs the simulated days on the unchanged code, which must hold; then plants each bug in a copy of the project, runs
// the simulation on it until it breaks a guarantee, and if it does not, the tests that should find it. Prints the table, the bugs that cost
// money first; fails if one of those is not caught by the simulation, or any by nothing. Of a bug of the new core the tests come first, and
// the simulation, on that core, if they do not find it. The table is written bug by bug, so that the
// results of an interrupted run are kept.
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { costsMoney, type PlantedBug, plant } from '../simulation/planted/planted-bug.ts';
import { plantedBugs } from '../simulation/planted/planted-bugs.ts';
import { head, noteOf, rowOf, type Verdict, withRows } from '../simulation/planted/verdicts.ts';
import { systemClock } from '../src/kernel/system.ts';
import { coreVariables } from '../test/support/core.ts';

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '100' },
    'other-days': { type: 'string' },
    'trading-minutes': { type: 'string', default: '20' },
    workers: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    core: { type: 'string' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run planted-bugs -- [--only TEXT] [--core old|new] [--days N] [--other-days N] [--trading-minutes N] [--workers N] [--write]
  --only TEXT          bugs whose name has this text in it (all)
  --core old|new       bugs of that core (of both)
  --days N             shop-days to catch each in (100)
  --other-days N       the same for bugs without a double charge, lost money or a locked device (as --days)
  --trading-minutes N  how long the shop of such a day is open (20)
  --workers N          bugs that are tried at once (1)
  --write              puts the verdicts into the table of docs/planted-bugs.md`);
  process.exit(0);
}
const root = fileURLToPath(new URL('..', import.meta.url));
const copied = [
  'exploration',
  'src',
  'simulation',
  'test',
  'migrations',
  'scripts',
  'web',
  'openapi',
  'asyncapi',
  'docs',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
];

/** Without a bug: a sound copy. */
function copyOf(bug?: PlantedBug): string {
  const copy = mkdtempSync(join(tmpdir(), 'tillgate-planted-'));
  for (const part of copied)
    cpSync(join(root, part), join(copy, part), { recursive: true, filter: (path) => !path.includes('node_modules') });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  if (bug) plant(copy, bug);
  return copy;
}

const otherDays = values['other-days'] ?? values.days;

interface Ended {
  isSuccess: boolean;
  stdout: string;
  stderr: string;
}

const coreOf = ({ core }: Pick<PlantedBug, 'core' | 'name'>): 'old' | 'new' => core ?? 'old';

function runNode(args: string[], cwd: string, core: 'old' | 'new'): Promise<Ended> {
  const env = { ...process.env, ...coreVariables(core) };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, env, maxBuffer: 2 ** 28 }, (error, stdout, stderr) =>
      resolve({ isSuccess: !error, stdout, stderr }),
    );
  });
}

async function simulate(copy: string, days: string, core: 'old' | 'new'): Promise<Pick<Verdict, 'day' | 'sentence'>> {
  const options = ['--days', days, '--trading-minutes', values['trading-minutes'], '--stop-at-first', '--no-shrink', '--short'];
  const { stdout, stderr, isSuccess } = await runNode(['--max-semi-space-size=64', 'simulation/main.ts', ...options], copy, core);
  if (isSuccess) return {};
  // A crash before a day has ended is caught as well: such code would never reach a shop.
  const day = Number(/^(\d+) shop-days in/m.exec(stdout)?.[1] ?? 1);
  const sentence = /promises:\n {2}\S+ (.*)/.exec(stdout)?.[1] ?? /^\w*Error.*$/m.exec(stderr)?.[0];
  if (sentence === undefined) throw new Error(`The simulation failed without a word about why:\n${stdout.slice(-2_000)}\n${stderr}`);
  return { day, sentence };
}

async function test(copy: string, tests: readonly string[], core: 'old' | 'new'): Promise<string | undefined> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  // No server is provided here.
  const { isSuccess } = await runNode(
    [vitest, 'run', '--maxWorkers=1', '--bail=1', '--exclude=test/**/*.server.test.ts', ...tests],
    copy,
    core,
  );
  return isSuccess ? undefined : tests.join(', ');
}

/** A day that breaks without any bug would count every bug as caught. */
async function checkDays(core: 'old' | 'new'): Promise<void> {
  const copy = copyOf();
  try {
    const days = String(Math.max(Number(values.days), Number(otherDays)));
    const { day, sentence } = await simulate(copy, days, core);
    if (day !== undefined) throw new Error(`Day ${day} breaks without any planted bug: ${sentence}`);
    console.log(`${days} days of the ${core} core hold without any planted bug.\n`);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

const sound = new Map<string, Promise<void>>();

/** Tests that fail without any bug prove nothing. */
function checkSound(tests: readonly string[], core: 'old' | 'new'): Promise<void> {
  const names = [core, ...tests].join();
  const checked = sound.get(names) ?? checkTests(tests, core);
  sound.set(names, checked);
  return checked;
}

async function checkTests(tests: readonly string[], core: 'old' | 'new'): Promise<void> {
  const copy = copyOf();
  try {
    if ((await test(copy, tests, core)) !== undefined) throw new Error(`${tests.join(', ')} fails without any planted bug.`);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

async function judge(bug: PlantedBug): Promise<Verdict> {
  const copy = copyOf(bug);
  try {
    return coreOf(bug) === 'new' ? ((await byTests(copy, bug)) ?? (await byDays(copy, bug))) : await byDaysFirst(copy, bug);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

async function byDaysFirst(copy: string, bug: PlantedBug): Promise<Verdict> {
  const found = await byDays(copy, bug);
  return found.day === undefined ? ((await byTests(copy, bug)) ?? found) : found;
}

async function byDays(copy: string, bug: PlantedBug): Promise<Verdict> {
  const core = coreOf(bug);
  await (sound.get(core) ?? sound.set(core, checkDays(core)).get(core));
  return { bug, ...(await simulate(copy, costsMoney(bug) ? values.days : otherDays, core)) };
}

async function byTests(copy: string, bug: PlantedBug): Promise<Verdict | undefined> {
  if (!bug.tests) return undefined;
  const tests = await test(copy, bug.tests, coreOf(bug));
  if (tests === undefined) return undefined;
  await checkSound(bug.tests, coreOf(bug));
  return { bug, tests };
}

/** The commit of the copies. */
function commit(): string {
  const git = (...words: string[]) => spawnSync('git', words, { cwd: root, encoding: 'utf8' }).stdout.trim();
  const isChanged = git('status', '--porcelain', '--', 'src', 'simulation', 'migrations') !== '';
  return `${git('rev-parse', '--short', 'HEAD')}${isChanged ? ' and changes that are not in it' : ''}`;
}

const chosen = plantedBugs
  .filter((bug) => bug.name.includes(values.only) && (values.core ?? coreOf(bug)) === coreOf(bug))
  .sort((one, other) => Number(costsMoney(other)) - Number(costsMoney(one)));
const run = {
  day: new Date(systemClock.now()).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' }),
  commit: commit(),
  days: { money: values.days, others: otherDays, minutes: values['trading-minutes'] },
};
const verdicts: Verdict[] = [];
console.log(head);
const waiting = [...chosen];
async function judgeNext(): Promise<void> {
  for (let bug = waiting.shift(); bug; bug = waiting.shift()) {
    const verdict = await judge(bug);
    verdicts.push(verdict);
    console.log(rowOf(verdict));
    if (!values.write) continue;
    const page = join(root, 'docs/planted-bugs.md');
    const note = noteOf(run, plantedBugs.length, verdicts.length);
    writeFileSync(page, withRows(readFileSync(page, 'utf8'), plantedBugs, verdicts, note));
  }
}
await Promise.all(Array.from({ length: Number(values.workers) }, judgeNext));
const bySimulation = verdicts.filter(({ day }) => day !== undefined).length;
const byTheTests = verdicts.filter(({ tests }) => tests !== undefined).length;
console.log(
  `\n${chosen.length} bugs: ${bySimulation} caught by the simulation, ${byTheTests} by tests, ${chosen.length - bySimulation - byTheTests} by nothing`,
);
const missed = verdicts.filter(
  ({ bug, day, tests }) => day === undefined && ((costsMoney(bug) && coreOf(bug) === 'old') || tests === undefined),
);
for (const { bug } of missed) console.log(`not caught as it should be (${bug.harm}): ${bug.name}`);
process.exitCode = missed.length === 0 ? 0 : 1;
