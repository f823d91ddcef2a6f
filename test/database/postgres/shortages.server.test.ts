// PostgreSQL lacks space, memory or connections (class 53): counted, named, and not ready until a table can grow again. The server is made to
// say so by triggers; full-disk.server.test.ts fills a real disk.
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isDatabaseDown } from '../../../src/database/errors.ts';
import { createOutageLog } from '../../../src/database/outage-log.ts';
import { engines, openNewDatabase } from '../../support/engines.ts';
import { seedMerchant } from '../../support/fixtures.ts';
import { recordingLogger } from '../../support/quiet-logger.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

describe.runIf(engines.includes('postgres'))('a server that lacks a resource', () => {
  async function setUp() {
    const database = await openNewDatabase('postgres');
    onTestFinished(() => database.close());
    const run = (text: string) => sql.raw(text).execute(database.queries);
    const raising = (code: string) => `begin raise exception using errcode = '${code}', message = 'could not extend file'; end`;
    return {
      database,
      /** Rows of a merchant need new space, the row of the write check does not. */
      async refuseRows(code: string) {
        await run(`create function no_rows() returns trigger language plpgsql as $$ ${raising(code)} $$`);
        await run('create trigger no_rows before insert on merchants for each row execute function no_rows()');
      },
      allowRows: () => run('drop trigger no_rows on merchants'),
      async refuseGrowth() {
        await run(`create function no_growth() returns event_trigger language plpgsql as $$ ${raising('53100')} $$`);
        await run(`create event trigger no_growth on ddl_command_end when tag in ('CREATE TABLE') execute function no_growth()`);
      },
      allowGrowth: () => run('drop event trigger no_growth'),
    };
  }

  it('is not ready on a full disk, although the row of the check can be written, until there is space', async () => {
    const { database, refuseRows, refuseGrowth, allowGrowth } = await setUp();
    await refuseRows('53100');
    await refuseGrowth();
    // Without a failed statement nothing is tried.
    await database.checkWrite();
    expect(database.shortages?.()).toBe(0);

    const failed = await seedMerchant(database.queries).catch((error: unknown) => error);
    expect([isDatabaseDown(failed), (failed as Error).message]).toEqual([true, 'The disk of the database is full.']);
    for (let times = 0; times < 2; times += 1) {
      const checks = await Promise.allSettled([database.checkWrite(), database.checkWrite()]);
      expect(checks.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    }
    expect(database.shortages?.()).toBe(3);

    await allowGrowth();
    await database.checkWrite();
    await refuseGrowth().catch(() => {});
    await database.checkWrite();
    const { rows } = await sql`select 1 from pg_tables where tablename = 'tillgate_space_check'`.execute(database.queries);
    expect([rows, database.shortages?.()]).toEqual([[], 3]);
  });

  it('is an outage in the log: a line when it begins, one a minute with the cause, one when it is over', async () => {
    const { database, refuseRows, refuseGrowth, allowGrowth } = await setUp();
    await refuseRows('53100');
    await refuseGrowth();
    const clock = createVirtualClock();
    const logger = recordingLogger();
    const outages = createOutageLog({ logger, clock });
    let checks = 0;
    outages.watch(async () => {
      await database.checkWrite().finally(() => {
        checks += 1;
      });
    });
    const checked = async (count: number) => {
      while (checks < count) await clock.settle();
      await clock.settle();
    };
    const fail = async () => {
      const err = await seedMerchant(database.queries).catch((error: unknown) => error);
      outages.logger.error({ err }, 'an outcome could not be committed; the commit will be retried');
    };
    for (let times = 0; times < 5; times += 1) await fail();
    await checked(1);
    for (const [at, ms] of [30_000, 31_000].entries()) {
      await clock.advance(ms);
      await fail();
      await checked(at + 2);
    }
    await allowGrowth();
    await clock.advance(1_000);
    await checked(4);
    const seen = logger.lines.filter(({ level }) => level !== 'debug');
    const reason = 'The disk of the database is full. could not extend file';
    expect(seen.map(({ level, fields }) => [level, (fields as { reason?: string }).reason])).toEqual([
      ['error', reason],
      ['warn', reason],
      ['info', undefined],
    ]);
    outages.stop();
  });

  it('counts a lack of memory without looking for space', async () => {
    const { database, refuseRows, allowRows, refuseGrowth } = await setUp();
    await refuseRows('53200');
    await refuseGrowth();
    await expect(seedMerchant(database.queries)).rejects.toThrow('The database server has no memory left.');
    await database.checkWrite();
    await allowRows();
    await seedMerchant(database.queries);
    expect(database.shortages?.()).toBe(1);
  });
});
