// The test command: provides the servers, runs Vitest with the arguments given, stops everything.
// Exit code: Vitest's. The last line is always `N passed, N failed`, so that a CI can count.
// A full run in which a few files fail runs these once more, one after the other and alone, and counts the second
// results; these files are listed [D132].
// `--embedded`: no servers at all; files named *.server.test.ts are omitted. `--long`: the long runs, which are omitted otherwise, and the
// random searches with more rounds [D261].
// A full run begins with the files that need no server, while servers are installed and the program is packed [D260]. It ends with the files
// whose shop can run on the new core, on that [D300]; they are not run a second time.
// If a server cannot be installed, its tests are omitted and counted; with TILLGATE_TEST_ALL_SERVERS=yes that is a failure.
// TILLGATE_TEST_SHARD=1/3 runs the first third of the files, for CI jobs in parallel.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packProgram } from '../test/support/packed-program.ts';
import {
  afterSecondTry,
  countLine,
  failedTests,
  onNewCore,
  readReport,
  secondTry,
  slowest,
  type TestReport,
  together,
} from './test-report.ts';
import { type LeftOut, leftOutLine, leftOutWithout, longerTests, longTests, type Part, type Selection } from './test-selection.ts';
import { provideServers, type RunningServers, ServersMissing, serverVariables } from './test-servers.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const say = (line: string) => console.log(`[test] ${line}`);
const memoryPlace = '/dev/shm';
const memoryNeededBytes = 8 * 2 ** 30;
const isEmbedded = process.argv[2] === '--embedded';
const isLong = process.argv[2] === '--long';
const shard = process.env['TILLGATE_TEST_SHARD'];
const vitestArgs = process.argv.slice(isEmbedded || isLong ? 3 : 2);
// Files that are named are run, long or not.
const selection: Selection = isLong ? 'long' : vitestArgs.length > 0 ? 'all' : 'short';

/** Parts have their servers and their program at different times. */
const isWhole = isLong || vitestArgs.length > 0;

let isPrepared = false;
let servers: RunningServers | undefined;
let vitest: ChildProcess | undefined;
let leftOut: LeftOut[] = [];
let interruptedBy: NodeJS.Signals | undefined;

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interruptedBy = signal;
    vitest?.kill('SIGTERM');
    // Servers still starting are ended by their own exit hook.
    if (!isPrepared) process.exit(128 + constants.signals[signal]);
  });
}

interface VitestRun {
  variables?: Record<string, string>;
  part?: Part;
  args?: readonly string[];
}

let runs = 0;

async function runVitest({ variables, part, args = [] }: VitestRun): Promise<{ exitCode: number; report: TestReport }> {
  runs += 1;
  const reportFile = join(directory, `report-${runs}.json`);
  const env: NodeJS.ProcessEnv = { ...process.env, ...variables, TILLGATE_TEST_REPORT: reportFile, TILLGATE_TEST_SELECTION: selection };
  if (part) env['TILLGATE_TEST_PART'] = part;
  if (isEmbedded) {
    for (const name of serverVariables) delete env[name];
    env['TILLGATE_TEST_EMBEDDED'] = '1';
  }
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts/test-report.ts')}`];
  const without = leftOut.map(({ path }) => `--exclude=${path}`);
  const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, ...without, ...args], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  vitest = child;
  const exitCode = await new Promise<number>((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });
  const read = readReport(reportFile);
  // A part that failed without a failed test, for example because it died, must not be excused by a second try of the other part.
  const isUnexplained = exitCode !== 0 && failedTests(read).length + read.strayErrors === 0;
  return { exitCode, report: isUnexplained ? { ...read, strayErrors: 1 } : read };
}

async function startServers(): Promise<void> {
  if (!isEmbedded) servers = await provideServers(say, { mayBeAbsent: process.env['TILLGATE_TEST_ALL_SERVERS'] !== 'yes' });
}

/**
 * A full run starts some hundred gateways: as packed for users, each needs two thirds of the processor time of one from the sources [D247].
 * Named files run on the sources, because the lines of a stack trace are theirs.
 */
async function programVariables(): Promise<Record<string, string>> {
  if (vitestArgs.length > 0 || process.env['TILLGATE_TEST_PROGRAM']) return {};
  return { TILLGATE_TEST_PROGRAM: (await packProgram()).program };
}

/**
 * In memory if there is space and programs may run: a database test waits mostly for the disk, when its database is removed.
 * Like any temporary directory it is open to others: servers that do not run as root need to reach their own below it.
 */
function makeDirectory(): string {
  try {
    const { bavail, bsize } = statfsSync(memoryPlace);
    if (bavail * bsize < memoryNeededBytes) return mkdtempSync(join(tmpdir(), 'tillgate-test-'));
    const directory = removedAtTheEnd(mkdtempSync(join(memoryPlace, 'tillgate-test-')));
    const program = join(directory, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    execFileSync(program);
    return directory;
  } catch {
    return mkdtempSync(join(tmpdir(), 'tillgate-test-'));
  }
}

function removedAtTheEnd(directory: string): string {
  process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }));
  return directory;
}

const directory = removedAtTheEnd(makeDirectory());
chmodSync(directory, 0o1777);
process.env['TMPDIR'] = directory;
// Code that one test process or its threads have compiled need not be compiled by the next four hundred.
process.env['NODE_COMPILE_CACHE'] ??= join(directory, 'compiled');
let report: TestReport = { files: [], strayErrors: 0 };
let exitCode = 1;
let problem: string | undefined;
try {
  const shardArgs = shard ? [`--shard=${shard}`] : [];
  const beginning = isWhole ? undefined : runVitest({ part: 'beginning', args: shardArgs });
  const [program] = await Promise.all([programVariables(), startServers()]);
  isPrepared = true;
  const first = await beginning;
  if (servers && servers.absent.length > 0) leftOut = leftOutWithout(root, servers.absent);
  const variables = { ...servers?.variables, ...program };
  const args = [...(isLong ? [...longTests, ...longerTests] : []), ...shardArgs, ...vitestArgs];
  const rest = interruptedBy ? undefined : await runVitest({ variables, args, ...(isWhole ? {} : { part: 'rest' }) });
  report = [first, rest].reduce((sum, part) => (part ? together(sum, part.report) : sum), report);
  exitCode = first?.exitCode || (rest?.exitCode ?? 1);
  // Named files are not retried: their failures should show.
  const filesAgain = exitCode === 0 || vitestArgs.length > 0 || interruptedBy ? [] : secondTry(report);
  if (filesAgain.length > 0) {
    const firstFailed = failedTests(report);
    say(`${firstFailed.length} failed; their files once more, with nothing beside them: ${filesAgain.join(', ')}`);
    const again = await runVitest({ variables, args: ['--maxWorkers=1', ...filesAgain] });
    exitCode = again.exitCode;
    report = afterSecondTry(report, again.report);
    const stillFailed = new Set(failedTests(report));
    for (const name of firstFailed) if (!stillFailed.has(name)) say(`failed beside the others, passed alone: ${name}`);
    if (stillFailed.size > 0) exitCode = 1;
  }
  if (!isWhole && !isEmbedded && !interruptedBy) {
    say('the files whose shop can run on the new core once more, on that');
    const last = await runVitest({ variables: { ...variables, TILLGATE_TEST_CORE: 'new' }, part: 'new core', args: shardArgs });
    report = together(report, onNewCore(last.report));
    exitCode ||= last.exitCode;
  }
} catch (error) {
  problem = error instanceof ServersMissing ? error.message : String(error instanceof Error ? error.stack : error);
} finally {
  vitest?.kill('SIGTERM');
  await servers?.stop();
}
if (problem) console.error(problem);
for (const line of slowest(report)) say(line);
if (servers && servers.absent.length > 0) say(leftOutLine(servers.absent, leftOut, servers.whyAbsent));
if (interruptedBy) exitCode = 128 + constants.signals[interruptedBy];
console.log(countLine(report, exitCode !== 0));
process.exit(exitCode);
