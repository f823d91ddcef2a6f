// What a store may rely on, the same on both engines: all or nothing, one failing statement harms no other, and the same JavaScript values come back.
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Queries } from '../../src/database/database.ts';
import { lockRows, nowMs, skipLocked } from '../../src/database/dialect.ts';
import { ConstraintViolation } from '../../src/database/errors.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCallback, seedInvoice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const count = async (queries: Queries) => {
  const row = await queries
    .selectFrom('merchants')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  return row.n;
};

describe.each(engines)('statements and transactions on %s', (engine) => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await openTestDatabase(engine);
  });
  afterEach(() => database.close());

  it('commits all of a transaction or nothing of it', async () => {
    await database.transaction(async (tx) => {
      await seedMerchant(tx);
      await seedMerchant(tx);
    });
    const failure = new Error('changed my mind');
    await expect(
      database.transaction(async (tx) => {
        await seedMerchant(tx);
        throw failure;
      }),
    ).rejects.toBe(failure);
    expect(await count(database.queries)).toBe(2);
  });

  it('answers a hundred statements sent at once, the failing ones undoing only themselves', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, (_, n) => seedMerchant(database.queries, { id: `m${n}`, name: n % 10 === 3 ? '' : 'shop' })),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(10);
    for (const { reason } of refused) expect(reason).toBeInstanceOf(ConstraintViolation);
    expect(await count(database.queries)).toBe(90);
  });

  it('gives the number of one of a hundred racing inserts to exactly one', async () => {
    const winners = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        database.queries
          .insertInto('qr_secrets')
          .values({ id: 1, secret: `s${n}`, created_at: nowMs })
          .onConflict((conflict) => conflict.column('id').doNothing())
          .returning('secret')
          .execute(),
      ),
    );
    expect(winners.flat()).toHaveLength(1);
  });

  it('lets no other query see half of a transaction, nor add a statement to it', async () => {
    const { id } = await seedMerchant(database.queries, { name: '0' });
    const rename = (queries: Queries, name: string) => queries.updateTable('merchants').set({ name }).where('id', '=', id).execute();
    await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        await database.transaction(async (tx) => {
          await rename(tx, 'half');
          await tx.selectFrom('merchants').select('id').execute();
          await rename(tx, `${n}`);
        });
        const row = await database.queries.selectFrom('merchants').select('name').where('id', '=', id).executeTakeFirstOrThrow();
        expect(row.name).not.toBe('half');
      }),
    );
  });

  it('adds up counters that many transactions read and write under the row lock', async () => {
    const merchant = await seedMerchant(database.queries);
    const { oid } = await seedInvoice(database.queries, merchant.id);
    await Promise.all(
      Array.from({ length: 25 }, () =>
        database.transaction(async (tx) => {
          const row = await lockRows(
            engine,
            tx.selectFrom('invoices').select('callback_sequence').where('oid', '=', oid),
          ).executeTakeFirstOrThrow();
          await tx
            .updateTable('invoices')
            .set({ callback_sequence: row.callback_sequence + 1 })
            .where('oid', '=', oid)
            .execute();
        }),
      ),
    );
    const row = await database.queries.selectFrom('invoices').select('callback_sequence').where('oid', '=', oid).executeTakeFirstOrThrow();
    expect(row.callback_sequence).toBe(25);
  });

  it('hands each due row to one of several claiming transactions', async () => {
    const merchant = await seedMerchant(database.queries);
    for (let n = 0; n < 6; n += 1) await seedCallback(database.queries, merchant.id);
    const claim = () =>
      database.transaction(async (tx) => {
        const due = await skipLocked(engine, tx.selectFrom('callbacks').select('id').where('leased_by', 'is', null).limit(2)).execute();
        const ids = due.map((row) => row.id);
        if (ids.length > 0) await tx.updateTable('callbacks').set({ leased_by: 'me', leased_until: 1 }).where('id', 'in', ids).execute();
        return ids;
      });
    const claimed = (await Promise.all([claim(), claim(), claim()])).flat();
    expect(new Set(claimed).size).toBe(claimed.length);
    expect(claimed).toHaveLength(6);
  });

  it('refuses at once the outer queries inside a transaction, where they would wait forever', async () => {
    await expect(database.transaction(() => count(database.queries))).rejects.toThrow(/use its own queries/);
    await expect(database.transaction(() => database.transaction((tx) => count(tx)))).rejects.toThrow(/use its own queries/);
    expect(await count(database.queries)).toBe(0);
  });

  it('gives the same JavaScript values for the same queries', async () => {
    const { rows } = await sql`
      select cast(9007199254740991 as bigint) as big, count(*) as n, sum(x) as total, cast(1.5 as real) as fraction, 'x' || cast(${5} as integer) as joined,
             1 = 1 as yes, cast(null as text) as absent, cast(${true} as integer) as flag, cast(${'ț "\\u0000" 🙂'} as text) as words
      from (select 1 as x union all select 2) t`.execute(database.queries);
    expect(rows).toEqual([
      { big: 9007199254740991, n: 2, total: 3, fraction: 1.5, joined: 'x5', yes: 1, absent: null, flag: 1, words: 'ț "\\u0000" 🙂' },
    ]);
    expect(Object.getPrototypeOf(rows[0])).toBe(Object.prototype);
    const changed = await database.queries.updateTable('merchants').set({ name: 'x' }).executeTakeFirst();
    expect(changed.numUpdatedRows).toBe(0n);
  });

  it('refuses values that a driver would store as something else', async () => {
    for (const value of [new Date(0), { a: 1 }, [1], undefined, Number.NaN, 2 ** 53, 'a\u0000b']) {
      await expect(sql`select cast(${value} as text) as v`.execute(database.queries)).rejects.toThrow(TypeError);
    }
    await expect(sql`select cast(9007199254740993 as bigint) as v`.execute(database.queries)).rejects.toThrow();
    expect(await count(database.queries)).toBe(0);
  });

  it('reports whether it is in use, and checks a write beside or after an open transaction', async () => {
    let release = () => {};
    const opened = new Promise<void>((resolve) => {
      void database.transaction(async (tx) => {
        await count(tx);
        resolve();
        await new Promise<void>((end) => {
          release = end;
        });
      });
    });
    await opened;
    expect(database.load().busy).toBe(1);
    // A file has one writer: there the check waits for its turn.
    const checked = database.checkWrite();
    if (engine === 'postgres') await checked;
    release();
    await checked;
    await database.transaction((tx) => count(tx));
  });

  it('moves now_ms() when a test shifts the clock', async () => {
    const read = async (queries: Queries) => (await queries.selectNoFrom(nowMs.as('now')).executeTakeFirstOrThrow()).now;
    const before = await read(database.queries);
    expect(Math.abs(before - Date.now())).toBeLessThan(5_000);
    database.shiftClock(3_600_000);
    expect(await read(database.queries)).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(await database.transaction(read)).toBeGreaterThanOrEqual(before + 3_600_000);
  });

  it('follows a virtual clock on every connection', async () => {
    const clock = createVirtualClock(1_000_000);
    const virtual = await openTestDatabase(engine, clock);
    const read = async (queries: Queries) => (await queries.selectNoFrom(nowMs.as('now')).executeTakeFirstOrThrow()).now;
    expect(await read(virtual.queries)).toBe(1_000_000);
    await clock.advance(86_400_000);
    const all = await Promise.all(Array.from({ length: 10 }, () => virtual.transaction(read)));
    expect(new Set(all)).toEqual(new Set([87_400_000]));
    await virtual.close();
  });
});
