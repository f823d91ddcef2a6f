// Databases for tests: fresh, migrated, on each engine that is at hand. now_ms() follows the clock that is given, or real time plus a shift,
// on both engines, so that the same virtual-time tests run on both.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../src/database/database.ts';
import type { Engine } from '../../src/database/dialect.ts';
import { openDatabase } from '../../src/database/open.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import type { Logger } from '../../src/kernel/logger.ts';
import { systemClock } from '../../src/kernel/system.ts';

const postgresUrl = process.env['TILLGATE_TEST_POSTGRES_URL'];

export const engines: Engine[] = postgresUrl ? ['sqlite', 'postgres'] : ['sqlite'];

export interface TestDatabase extends Database {
  /** Makes now_ms() go forward, on top of the clock that was given. */
  shiftClock(ms: number): void;
}

const quiet: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

function shiftable(clock: Clock) {
  let shiftMs = 0;
  return {
    clock: {
      ...clock,
      now: () => clock.now() + shiftMs,
      elapsed: () => clock.elapsed(),
      after: (ms: number, action: () => void) => clock.after(ms, action),
    },
    shiftClock: (ms: number) => {
      shiftMs += ms;
    },
  };
}

/** A fresh, migrated database of its own. Close it at the end of the test: that removes it. */
export async function openTestDatabase(engine: Engine, clock: Clock = systemClock): Promise<TestDatabase> {
  if (engine === 'postgres') throw new Error('coming');
  const dataDir = mkdtempSync(join(tmpdir(), 'tillgate-db-'));
  const { clock: shifted, shiftClock } = shiftable(clock);
  const database = await openDatabase({ dataDir, role: 'gateway', clock: shifted, logger: quiet });
  return {
    ...database,
    shiftClock,
    async close() {
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** In this thread, microtasks only. */
export function memoryDatabase(clock: Clock): Promise<Database> {
  return openDatabase({ inMemory: true, role: 'gateway', clock, logger: quiet });
}
