// Pages of the cabinet read apart from payments: however many are read at once, a payment's statement waits for none of them.
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { nowMs } from '../../src/database/dialect.ts';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { quietLogger } from '../support/quiet-logger.ts';

let database: TestDatabase;

afterEach(async () => {
  await database?.close();
});

/** Long enough for a payment. */
const slow = {
  sqlite: sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000) select count(*) as count from n`,
  postgres: sql`select pg_sleep(0.1)`,
};
const newMerchant = (id: string) =>
  database.queries.insertInto('merchants').values({ id, name: id, callback_secret: '', created_at: nowMs }).execute();

describe.each(engines)('pages on %s', (engine) => {
  it('delay no statement of a payment', async () => {
    database = await openTestDatabase(engine);
    // More than there are connections, and twice.
    const pages = Array.from({ length: 24 }, () => slow[engine].execute(database.pages));
    let read = 0;
    for (const page of pages) void page.then(() => (read += 1));
    await newMerchant('1');
    await database.transaction((queries) => queries.updateTable('merchants').set({ name: 'paid' }).where('id', '=', '1').execute());
    expect(read).toBeLessThan(pages.length);
    await Promise.all(pages);
  });

  it('see every commit', async () => {
    database = await openTestDatabase(engine);
    for (let count = 1; count <= 20; count += 1) {
      await newMerchant(String(count));
      const rows = await database.pages.selectFrom('merchants').select('id').execute();
      expect(rows).toHaveLength(count);
    }
  });

  it('are read many at once, and each fails alone', async () => {
    database = await openTestDatabase(engine);
    const page = (fails: boolean) => sql`select ${sql.raw(fails ? 'nothing' : '1')} as n`.execute(database.pages);
    const results = await Promise.allSettled(Array.from({ length: 30 }, (_, index) => page(index % 3 === 0)));
    expect(results.map(({ status }) => status)).toEqual(results.map((_, index) => (index % 3 === 0 ? 'rejected' : 'fulfilled')));
    expect((await page(false)).rows).toEqual([{ n: 1 }]);
  });
});

describe('pages on sqlite', () => {
  it('cannot write', async () => {
    database = await openTestDatabase('sqlite');
    await expect(database.pages.deleteFrom('merchants').execute()).rejects.toThrow('read');
  });

  it('of another process are read many at once', async () => {
    database = await openTestDatabase('sqlite');
    const reader = await openDatabase({ ...database.place, role: 'reader', clock: systemClock, logger: quietLogger });
    try {
      const read = Array.from({ length: 5 }, () => reader.pages.selectFrom('merchants').select('id').execute());
      expect(await Promise.all(read)).toEqual([[], [], [], [], []]);
    } finally {
      await reader.close();
    }
  });
});
