// Mutation testing, room by room: Stryker changes the code in one place after the other, and a test must fail each time. Survivors are
// listed with their lines; accepted ones, with their reasons, are in scripts/mutation/accepted. Exit code 1 below the goal. Stryker is
// installed by this command, in node_modules/.cache/mutation, so that `npm ci` stays light. A second run tests only changed code.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Accepted, judgeReport, type MutationReport, summaryOf } from './mutation/summary.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const cache = join(root, 'node_modules/.cache/mutation');
const say = (line: string) => console.log(`[mutation] ${line}`);
const defaultGoal = 95;
const defaultPatienceS = 15;

/** Besides test/<room>: tests of other rooms that check the rules of this one. */
const furtherTests: Record<string, string[]> = {
  ledger: [
    'test/cards/{document,guards,one-answer,disputed-*}.test.ts',
    'test/invoices/{card-payments,payment-races,paid-beside-card,sweep}.test.ts',
    'test/fiscal/disputed-charges.test.ts',
  ],
  fiscal: ['test/ledger/{wrong-decisions,resolved-disputes}.test.ts', 'test/cards/disputed-refusals.test.ts'],
  cards: [
    'test/ledger/{repeats-by-content,disputes,resolved-disputes,wrong-decisions}.test.ts',
    'test/invoices/{card-payments,payment-races}.test.ts',
    'test/fiscal/paid-receipts.test.ts',
  ],
};

/** Tables of schemas, examples and texts: `npm run openapi:check` compares them character by character. */
const heldOtherwise = ['src/**/routes.ts', 'src/**/*-schemas.ts'];

const help = `npm run mutation -- <room or files> [options]

  npm run mutation -- src/ledger                    a room
  npm run mutation -- src/ledger/rules.ts           one file of it
  npm run mutation -- src/ledger/rules.ts:40-80     some lines of it

  --tests <glob>     tests to ask instead of the room's own; may be repeated
  --goal <percent>   exit code 1 below this share of killed ones (${defaultGoal})
  --postgres         the tests of both engines, on the server of TILLGATE_TEST_POSTGRES_URL: for what SQLite cannot tell
  --patience <s>     CPU time of the tests that are asked about one mutant, the likeliest killers first (${defaultPatienceS})
  --workers <n>      processes that run tests (1)
  --fresh            forgets what earlier runs found out
  --all              lists killed ones too, with their killers`;

function installStryker(): string {
  const source = join(root, 'scripts/mutation');
  const command = join(cache, 'node_modules/@stryker-mutator/core/bin/stryker.js');
  const same = (name: string) =>
    existsSync(join(cache, name)) && readFileSync(join(cache, name), 'utf8') === readFileSync(join(source, name), 'utf8');
  if (existsSync(command) && same('package-lock.json')) return command;
  say('installing Stryker into node_modules/.cache/mutation');
  mkdirSync(cache, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(source, name), join(cache, name));
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: cache, stdio: ['ignore', 'ignore', 'inherit'] });
  return command;
}

function roomOf(target: string): string {
  const [top, room] = relative(root, resolve(target)).split('/');
  if (top !== 'src' || room === undefined) throw new Error(`${target} is no file or room of src.`);
  return room;
}

function mutateOf(target: string): string {
  const path = relative(root, resolve(target));
  const file = path.replace(/:\d+-\d+$/u, '');
  return statSync(join(root, file)).isDirectory() ? `${path}/**/*.ts` : path;
}

async function run(
  targets: string[],
  options: { tests: string[]; patienceS: number; workers: number; isFresh: boolean; onPostgres: boolean },
): Promise<MutationReport> {
  const stryker = installStryker();
  const rooms = [...new Set(targets.map(roomOf))];
  const tests =
    options.tests.length > 0 ? options.tests : rooms.flatMap((room) => [`test/${room}/**/*.test.ts`, ...(furtherTests[room] ?? [])]);
  const incrementalFile = join(cache, `${rooms.join('-')}${options.onPostgres ? '-postgres' : ''}.json`);
  const reportFile = join(cache, `report-${rooms.join('-')}-${process.pid}.json`);
  if (options.isFresh) rmSync(incrementalFile, { force: true });
  const settings = {
    testRunner: 'tillgate',
    plugins: [join(root, 'scripts/mutation/runner.ts')],
    mutate: [...targets.map(mutateOf), ...heldOtherwise.map((pattern) => `!${pattern}`)],
    // Texts are for people: tests of each text would only repeat it.
    mutator: { excludedMutations: ['StringLiteral'] },
    ignorers: ['log-lines'],
    coverageAnalysis: 'perTest',
    ignoreStatic: true,
    // TypeScript 7 has no JavaScript API for Stryker.
    tsconfigFile: 'none.json',
    concurrency: options.workers,
    // The process ends with everything that failed tests leave behind.
    maxTestRunnerReuse: 120,
    // Endless tests are ended by their CPU time (mutation/watchdog.ts): this is real time, which is meaningless on a busy machine.
    timeoutMS: 20 * 60_000,
    dryRunTimeoutMinutes: 30,
    incremental: true,
    incrementalFile,
    reporters: ['progress-append-only', 'json'],
    jsonReporter: { fileName: reportFile },
    tempDirName: join(tmpdir(), `tillgate-mutation-${process.pid}`),
    cleanTempDir: 'always',
    ignorePatterns: ['/web', '/clients', '/bench', '/data', '/dist'],
    allowConsoleColors: false,
    disableTypeChecks: false,
  };
  const notes = mkdtempSync(join(tmpdir(), 'tillgate-mutation-notes-'));
  const settingsFile = join(cache, `settings-${process.pid}.json`);
  writeFileSync(settingsFile, JSON.stringify(settings));
  const env = {
    ...process.env,
    TILLGATE_TEST_EMBEDDED: '1',
    TILLGATE_MUTATION_TESTS: tests.join('\n'),
    TILLGATE_MUTATION_NOTES: notes,
    TILLGATE_MUTATION_PATIENCE_MS: String(options.patienceS * 1_000),
  };
  for (const name of Object.keys(env))
    if (/^TILLGATE_TEST_.*URL$/u.test(name) && !(options.onPostgres && name.includes('POSTGRES')))
      delete (env as Record<string, unknown>)[name];
  say(`${targets.join(', ')}, asked of ${tests.join(', ')}`);
  const child = spawn(process.execPath, [stryker, 'run', settingsFile], { cwd: root, env, stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const exitCode = await new Promise((done) => child.once('exit', done));
  for (const place of [settingsFile, notes]) rmSync(place, { recursive: true, force: true });
  rmSync(settings.tempDirName, { recursive: true, force: true });
  if (exitCode !== 0) throw new Error(`Stryker ended with ${String(exitCode)}.`);
  const report = JSON.parse(readFileSync(reportFile, 'utf8')) as MutationReport;
  rmSync(reportFile, { force: true });
  // It also has the results of earlier runs for other files of the room.
  const asked = targets.map((target) => relative(root, resolve(target)).replace(/:\d+-\d+$/u, ''));
  const isAsked = ([name]: [string, unknown]) => asked.some((path) => name === path || name.startsWith(`${path}/`));
  return { ...report, files: Object.fromEntries(Object.entries(report.files).filter(isAsked)) };
}

function readAccepted(rooms: readonly string[]): Accepted[] {
  return rooms.flatMap((room) => {
    const file = join(root, 'scripts/mutation/accepted', `${room}.json`);
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Accepted[]) : [];
  });
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', default: false },
    tests: { type: 'string', multiple: true, default: [] },
    goal: { type: 'string', default: String(defaultGoal) },
    patience: { type: 'string', default: String(defaultPatienceS) },
    workers: { type: 'string', default: '1' },
    fresh: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
  },
});

if (values.help || positionals.length === 0) {
  console.log(help);
  process.exit(values.help ? 0 : 2);
}
const report = await run(positionals, {
  tests: values.tests,
  patienceS: Number(values.patience),
  workers: Number(values.workers),
  isFresh: values.fresh,
  onPostgres: values.postgres,
});
const judged = judgeReport(report, readAccepted([...new Set(positionals.map(roomOf))]));
console.log(summaryOf(judged, { isWhole: values.all, goal: Number(values.goal) }));
process.exit(judged.score >= Number(values.goal) ? 0 : 1);
