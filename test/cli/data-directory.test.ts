// The data directory before anything else touches it: usable, full of reasons, or silent; and never a program that hangs with it.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { probeDataDirectory, probeFile, refuseUnusableDirectory } from '../../src/cli/data-directory.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { patienceMs, runProgram, serveSettings, temporaryDirectory } from '../support/gateway-process.ts';

/** Whoever opens a pipe that nobody reads waits for ever, as at a share whose server is gone. */
function hangingDirectory(): string {
  const directory = temporaryDirectory();
  execFileSync('mkfifo', [join(directory, probeFile)]);
  return directory;
}

it('is made for its user alone, and tells how much room there is', async () => {
  const directory = join(temporaryDirectory(), 'a', 'data');
  expect(await probeDataDirectory(directory, systemClock)).toEqual({ freeBytes: expect.any(Number) });
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  expect(readdirSync(directory)).toEqual([]);
});

it('says what to do about one that cannot be used', async () => {
  const file = join(temporaryDirectory(), 'file');
  writeFileSync(file, '');
  await expect(refuseUnusableDirectory(file, systemClock)).rejects.toThrow(/^TILLGATE_DATA_DIR: .*file exists already/);
  await expect(refuseUnusableDirectory(join(file, 'below'), systemClock)).rejects.toThrow(/below is not a valid path/);
});

it('waits no longer than its bound for one that hangs', async () => {
  const directory = hangingDirectory();
  expect(await probeDataDirectory(directory, systemClock, { withinMs: 300 })).toEqual({
    sentence: expect.stringMatching(/does not answer within 0\.3 s.*hangs/),
  });
});

it('lets serve end with that sentence', { timeout: 2 * patienceMs }, async () => {
  const directory = hangingDirectory();
  const refused = await runProgram(['serve', '--json'], await serveSettings({ TILLGATE_DATA_DIR: directory }));
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(JSON.parse(refused.err)).toEqual({ error: expect.stringContaining(`${directory} does not answer`) });
  expect(existsSync(join(directory, 'tillgate.db'))).toBe(false);
});
