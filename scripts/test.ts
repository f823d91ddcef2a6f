// The test command: provides the servers, runs Vitest with the arguments given, stops everything.
// Exit code: Vitest's. The last line is always `N passed, N failed`, so that a CI can count.
// `--embedded`: no servers at all; files named *.server.test.ts are left out.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { provideServers, type RunningServers, ServersMissing, serverVariables } from './test-servers.ts';

interface VitestReport {
  numPassedTests: number;
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const say = (line: string) => console.log(`[test] ${line}`);
const isEmbedded = process.argv[2] === '--embedded';
const vitestArgs = process.argv.slice(isEmbedded ? 3 : 2);

let servers: RunningServers | undefined;
let vitest: ChildProcess | undefined;
let interruptedBy: NodeJS.Signals | undefined;

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interruptedBy = signal;
    // Servers still starting are ended by their own exit hook.
    if (vitest) vitest.kill('SIGTERM');
    else process.exit(128 + constants.signals[signal]);
  });
}

function runVitest(variables: Record<string, string>, reportFile: string): Promise<number> {
  const env = { ...process.env, ...variables };
  if (isEmbedded) {
    for (const name of serverVariables) delete env[name];
    env['TILLGATE_TEST_EMBEDDED'] = '1';
  }
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, ...vitestArgs], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  vitest = child;
  return new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

function countLine(reportFile: string, exitCode: number): string {
  let report: VitestReport = { numPassedTests: 0, testResults: [] };
  try {
    report = JSON.parse(readFileSync(reportFile, 'utf8')) as VitestReport;
  } catch {
    // Vitest died before it could report; the exit code below makes that a failure.
  }
  // A file that could not even be loaded counts as one.
  const failures = report.testResults.map(({ status, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed').length;
    return failed === 0 && status === 'failed' ? 1 : failed;
  });
  const failed = failures.reduce((sum, count) => sum + count, 0);
  return `${report.numPassedTests} passed, ${exitCode !== 0 && failed === 0 ? 1 : failed} failed`;
}

const directory = mkdtempSync(join(tmpdir(), 'tillgate-test-'));
const reportFile = join(directory, 'report.json');
let exitCode = 1;
let problem: string | undefined;
try {
  if (!isEmbedded) servers = await provideServers(say);
  exitCode = await runVitest(servers?.variables ?? {}, reportFile);
} catch (error) {
  problem = error instanceof ServersMissing ? error.message : String(error instanceof Error ? error.stack : error);
} finally {
  await servers?.stop();
}
if (problem) console.error(problem);
if (interruptedBy) exitCode = 128 + constants.signals[interruptedBy];
console.log(countLine(reportFile, exitCode));
rmSync(directory, { recursive: true, force: true });
process.exit(exitCode);
