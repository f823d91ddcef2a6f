// Checks that the data directory can be used: creates it if absent (a read-only check uses its nearest parent), writes and syncs a file, and
// reads the free space. A hanging disk or network share blocks every process that accesses it, and no timer helps. So a child process does
// it, and is abandoned if it does not answer. Invariant: this ends within the bound.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '../kernel/clock.ts';
import { StartRefused } from '../kernel/start-refused.ts';
import { systemSentence } from '../kernel/system-errors.ts';

export type DataDirectory = { freeBytes: number } | { sentence: string };

/** A fixed name, so that a file left behind by a power cut is overwritten. */
export const probeFile = 'tillgate.probe';
const answerWithinMs = 10_000;

/** Runs in the child process; its only input is the directory. */
const script = `
  const { closeSync, existsSync, fsyncSync, mkdirSync, openSync, statfsSync, unlinkSync, writeSync } = require('node:fs');
  const { dirname, join } = require('node:path');
  const [named, file, isMade] = process.argv.slice(1);
  let directory = named;
  let answer;
  try {
    if (isMade === 'true') mkdirSync(directory, { recursive: true, mode: 0o700 });
    while (!existsSync(directory)) directory = dirname(directory);
    const path = join(directory, file);
    const handle = openSync(path, 'w', 0o600);
    writeSync(handle, 'x');
    fsyncSync(handle);
    closeSync(handle);
    unlinkSync(path);
    const { bavail, bsize } = statfsSync(directory);
    answer = { freeBytes: bavail * bsize };
  } catch ({ message, code, path, syscall }) {
    answer = { failed: { message, code, path, syscall } };
  }
  process.stdout.write(JSON.stringify(answer));
`;

/** Throws StartRefused when the directory cannot be used, or does not answer. */
export async function refuseUnusableDirectory(directory: string, clock: Clock): Promise<void> {
  const found = await probeDataDirectory(directory, clock);
  if ('sentence' in found) throw new StartRefused(found.sentence);
}

export async function probeDataDirectory(
  directory: string,
  clock: Clock,
  { isMade = true, withinMs = answerWithinMs }: { isMade?: boolean; withinMs?: number } = {},
): Promise<DataDirectory> {
  const child = spawn(process.execPath, ['--eval', script, directory, probeFile, String(isMade)], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {},
  });
  const text = await new Promise<string | undefined>((resolve) => {
    const cancel = clock.after(withinMs, () => resolve(undefined));
    readAll(child)
      .then(resolve, () => resolve(''))
      .finally(cancel);
  });
  if (text === undefined) {
    // A process that waits for its disk may ignore even this signal; do not wait for it.
    child.kill('SIGKILL');
    child.stdout?.destroy();
    child.unref();
    return {
      sentence: `The data directory ${directory} does not answer within ${withinMs / 1000} s: its disk or network share hangs. Repair it, or set TILLGATE_DATA_DIR to a local disk.`,
    };
  }
  return judge(directory, text);
}

function readAll(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
    });
    child.once('error', reject);
    child.once('close', () => resolve(text));
  });
}

function judge(directory: string, text: string): DataDirectory {
  const unknown = { sentence: `The data directory ${directory} could not be checked.` };
  if (text === '') return unknown;
  const answer = JSON.parse(text) as { freeBytes: number; failed?: { message: string } };
  if (!answer.failed) return { freeBytes: answer.freeBytes };
  const { message, ...facts } = answer.failed;
  const sentence = systemSentence(Object.assign(new Error(message), facts));
  return { sentence: `TILLGATE_DATA_DIR: ${sentence ?? message}` };
}
