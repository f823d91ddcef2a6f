// npm run planted-bugs: runs the simulated days on the unchanged code, which must hold; then plants each bug in a copy of the project, runs
// the simulation on it until it breaks a guarantee, and if it does not, the tests that should find it. Prints the table, the bugs that cost
// money first; fails if one of those is not caught by the simulation, or any by nothing. The table is written bug by bug, so that the
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

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '100' },
    'other-days': { type: 'string' },
    'trading-minutes': { type: 'string', default: '20' },
    workers: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run planted-bugs -- [--only TEXT] [--days N] [--other-days N] [--trading-minutes N] [--workers N] [--write]
  --only TEXT          bugs whose name has this text in it (all)
  --days N             shop-days to catch each in (100)
  --other-days N       the same for bugs without a double charge, lost money or a locked device (as --days)
  --trading-minutes N  how long the shop of such a day is open (20)
  --workers N          bugs that are tried at once (1)
  --write              puts the verdicts into the table of docs/planted-bugs.md`);
  process.exit(0);
}
const root = fileURLToPath(new URL('..', import.meta.url));
const copied = [
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

function runNode(args: string[], cwd: string): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, maxBuffer: 2 ** 28 }, (error, stdout, stderr) =>
      resolve({ isSuccess: !error, stdout, stderr }),
    );
  });
}

async function simulate(copy: string, days: string): Promise<Pick<Verdict, 'day' | 'sentence'>> {
  const options = ['--days', days, '--trading-minutes', values['trading-minutes'], '--stop-at-first', '--no-shrink', '--short'];
  const { stdout, stderr, isSuccess } = await runNode(['--max-semi-space-size=64', 'simulation/main.ts', ...options], copy);
  if (isSuccess) return {};
  // A crash before a day has ended is caught as well: such code would never reach a shop.
  const day = Number(/^(\d+) shop-days in/m.exec(stdout)?.[1] ?? 1);
  const sentence = /promises:\n {2}\S+ (.*)/.exec(stdout)?.[1] ?? /^\w*Error.*$/m.exec(stderr)?.[0];
  if (sentence === undefined) throw new Error(`The simulation failed without a word about why:\n${stdout.slice(-2_000)}\n${stderr}`);
  return { day, sentence };
}

async function test(copy: string, tests: readonly string[]): Promise<string | undefined> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  // No server is provided here.
  const { isSuccess } = await runNode([vitest, 'run', '--maxWorkers=1', '--exclude=test/**/*.server.test.ts', ...tests], copy);
  return isSuccess ? undefined : tests.join(', ');
}

/** A day that breaks without any bug would count every bug as caught. */
async function checkDays(): Promise<void> {
  const copy = copyOf();
  try {
    const days = String(Math.max(Number(values.days), Number(otherDays)));
    const { day, sentence } = await simulate(copy, days);
    if (day !== undefined) throw new Error(`Day ${day} breaks without any planted bug: ${sentence}`);
    console.log(`${days} days hold without any planted bug.\n`);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

const sound = new Map<string, Promise<void>>();

/** Tests that fail without any bug prove nothing. */
function checkSound(tests: readonly string[]): Promise<void> {
  const names = tests.join();
  const checked = sound.get(names) ?? checkTests(tests);
  sound.set(names, checked);
  return checked;
}

async function checkTests(tests: readonly string[]): Promise<void> {
  const copy = copyOf();
  try {
    if ((await test(copy, tests)) !== undefined) throw new Error(`${tests.join(', ')} fails without any planted bug.`);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

async function judge(bug: PlantedBug): Promise<Verdict> {
  const copy = copyOf(bug);
  try {
    const found = await simulate(copy, costsMoney(bug) ? values.days : otherDays);
    if (found.day !== undefined || !bug.tests) return { bug, ...found };
    const tests = await test(copy, bug.tests);
    if (tests === undefined) return { bug };
    await checkSound(bug.tests);
    return { bug, tests };
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** The commit of the copies. */
function commit(): string {
  const git = (...words: string[]) => spawnSync('git', words, { cwd: root, encoding: 'utf8' }).stdout.trim();
  const isChanged = git('status', '--porcelain', '--', 'src', 'simulation', 'migrations') !== '';
  return `${git('rev-parse', '--short', 'HEAD')}${isChanged ? ' and changes that are not in it' : ''}`;
}

const chosen = plantedBugs
  .filter(({ name }) => name.includes(values.only))
  .sort((one, other) => Number(costsMoney(other)) - Number(costsMoney(one)));
const run = {
  day: new Date(systemClock.now()).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' }),
  commit: commit(),
  days: { money: values.days, others: otherDays, minutes: values['trading-minutes'] },
};
const verdicts: Verdict[] = [];
await checkDays();
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
const byTests = verdicts.filter(({ tests }) => tests !== undefined).length;
console.log(
  `\n${chosen.length} bugs: ${bySimulation} caught by the simulation, ${byTests} by tests, ${chosen.length - bySimulation - byTests} by nothing`,
);
const missed = verdicts.filter(({ bug, day, tests }) => day === undefined && (costsMoney(bug) || tests === undefined));
for (const { bug } of missed) console.log(`not caught as it should be (${bug.harm}): ${bug.name}`);
process.exitCode = missed.length === 0 ? 0 : 1;
