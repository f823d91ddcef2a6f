// The data directory holds every secret: what Tillgate makes is for its user alone, and what is somebody else's keeps its mode.
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { temporaryDirectory } from '../support/gateway-process.ts';
import { quietLogger } from '../support/quiet-logger.ts';

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const openIn = async (dataDir: string) => {
  const warned: unknown[] = [];
  const logger = { ...quietLogger, warn: (...words: unknown[]) => void warned.push(words.at(-1)) };
  await (await openDatabase({ url: undefined, dataDir, role: 'gateway', clock: systemClock, logger })).close();
  return warned;
};

describe('the data directory', () => {
  it('is readable only by its user, and so is the database', async () => {
    const dataDir = join(temporaryDirectory(), 'a', 'data');
    expect(await openIn(dataDir)).toEqual([]);
    expect([modeOf(dataDir), modeOf(join(dataDir, 'tillgate.db'))]).toEqual(['700', '600']);
  });

  it('is closed at the next start if an earlier one had left it open', async () => {
    const dataDir = join(temporaryDirectory(), 'data');
    await openIn(dataDir);
    chmodSync(dataDir, 0o755);
    expect(await openIn(dataDir)).toEqual([]);
    expect(modeOf(dataDir)).toBe('700');
  });

  it('keeps its mode, with a warning, if it was there before Tillgate: it may be /tmp', async () => {
    const dataDir = join(temporaryDirectory(), 'shared');
    mkdirSync(dataDir);
    chmodSync(dataDir, 0o755);
    expect(await openIn(dataDir)).toEqual([expect.stringContaining('chmod 700')]);
    expect(modeOf(dataDir)).toBe('755');
  });
});
