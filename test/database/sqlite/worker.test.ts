// The database file lives in another thread: a slow disk does not stall this one, and a dead thread is "database down", never a hang.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { isDatabaseDown } from '../../../src/database/errors.ts';
import { openDatabase } from '../../../src/database/open.ts';
import { emptyPlace, openTestDatabase } from '../../support/engines.ts';
import { seedMerchant } from '../../support/fixtures.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const slow = sql`with recursive c (n) as (select 1 union all select n + 1 from c where n < 3000000) select count(*) as n from c`;

async function openWithWorker() {
  let worker: Worker | undefined;
  process.once('worker', (started) => {
    worker = started;
  });
  const database = await openTestDatabase('sqlite');
  return { database, worker: worker ?? expect.fail('no worker was started') };
}

const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('it succeeded'),
    (error: unknown) => error,
  );

describe('the database thread', () => {
  it('makes a caller wait for a checkpoint once in 4,000 pages, and bounds the log', async () => {
    const { database } = await openWithWorker();
    const sizeOf = (file: string) => statSync(join(database.place.dataDir ?? '', file)).size;
    const write = (mebibytes: number) => seedMerchant(database.queries, { name: 'x'.repeat(mebibytes * 1024 * 1024) });
    await write(8);
    expect(sizeOf('tillgate.db')).toBeLessThan(4 * 1024 * 1024);
    await write(10);
    expect(sizeOf('tillgate.db')).toBeGreaterThan(16 * 1024 * 1024);
    const written = sizeOf('tillgate.db-wal');
    await write(8);
    expect(sizeOf('tillgate.db-wal')).toBe(written);
    await database.close();
  });

  it('runs statements in one go at one moment of the clock, also when they are watched', async () => {
    const clock = createVirtualClock();
    let atMs = 0;
    const ticking = { ...clock, now: () => (atMs += 1) };
    const { options, remove } = await emptyPlace('sqlite');
    const watched: string[] = [];
    const database = await openDatabase({
      ...options,
      role: 'gateway',
      clock: ticking,
      logger: quietLogger,
      watchStatement(statement, run) {
        watched.push(statement);
        return run();
      },
    });
    const read = sql<{ at: number }>`select now_ms() as "at"`.compile(database.queries);
    watched.length = 0;
    const [first, second] = await database.inOneGo([read, read]);
    expect(first).toEqual([{ at: expect.any(Number) }]);
    expect(second).toEqual(first);
    expect(watched).toEqual([`${read.sql}; ${read.sql}`]);
    await database.close();
    await remove();
  });

  it('does not stall the event loop while it works', async () => {
    const { database } = await openWithWorker();
    let isDone = false;
    const work = slow.execute(database.queries).then(() => {
      isDone = true;
    });
    let turns = 0;
    let maxMs = 0;
    const startedAt = performance.now();
    let last = startedAt;
    while (!isDone) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      turns += 1;
      maxMs = Math.max(maxMs, performance.now() - last);
      last = performance.now();
    }
    await work;
    expect(turns).toBeGreaterThan(10);
    // A share of the whole, since a busy machine stretches both.
    expect(maxMs).toBeLessThan((last - startedAt) / 2);
    await database.close();
  });

  it('fails waiting and later requests as "database down" when it dies', async () => {
    const { database, worker } = await openWithWorker();
    const waiting = [slow.execute(database.queries), seedMerchant(database.queries), database.transaction((tx) => seedMerchant(tx))].map(
      reasonOf,
    );
    await worker.terminate();
    for (const reason of await Promise.all(waiting)) expect(isDatabaseDown(reason)).toBe(true);
    for (const work of [seedMerchant(database.queries), database.transaction((tx) => seedMerchant(tx)), database.checkWrite()]) {
      expect(isDatabaseDown(await reasonOf(work))).toBe(true);
    }
    await database.close();
  });

  it('dies in the middle of a transaction without hanging it', async () => {
    const { database, worker } = await openWithWorker();
    const reason = await reasonOf(
      database.transaction(async (tx) => {
        await seedMerchant(tx);
        await worker.terminate();
        await seedMerchant(tx);
      }),
    );
    expect(isDatabaseDown(reason)).toBe(true);
    await database.close();
  });

  it('makes a ping fail after a bounded time', async () => {
    const clock = createVirtualClock(undefined, { settle: 'microtasks' });
    const database = await openTestDatabase('sqlite', clock);
    const work = slow.execute(database.queries);
    // The statement takes a few promises to reach the thread; the ping must stand behind it.
    await clock.settle();
    const ping = reasonOf(database.checkWrite());
    await clock.advance(5_000);
    expect(isDatabaseDown(await ping)).toBe(true);
    await work;
    await database.checkWrite();
    await database.close();
  });

  it('finishes accepted requests before it closes, and refuses later ones', async () => {
    const { database } = await openWithWorker();
    const writes = Array.from({ length: 20 }, () => seedMerchant(database.queries));
    await Promise.all(writes);
    await database.close();
    await expect(seedMerchant(database.queries)).rejects.toThrow();
  });

  it('keeps the file from other users of the machine', async () => {
    const { database } = await openWithWorker();
    await seedMerchant(database.queries);
    for (const name of ['tillgate.db', 'tillgate.db-wal', 'tillgate.db-shm']) {
      expect(statSync(join(database.place.dataDir ?? '', name)).mode & 0o077, name).toBe(0);
    }
    await database.close();
  });
});
