// What the link hears is written by one gateway, in batches: a device at most once a minute, a new journal within seconds.
import { randomUUID } from 'node:crypto';
import type { CompiledQuery } from 'kysely';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Queries } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { createPresenceKeeper } from '../../src/devices/presence-keeper.ts';
import { engines, openQuickDatabase, untilIdle } from '../support/engines.ts';
import { seedDevice, seedMerchant } from '../support/fixtures.ts';
import { recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { createFakeLink, snapshot } from './fake-link.ts';

describe.each(engines)('presence on %s', (engine) => {
  async function setUp() {
    let settle = async () => {};
    const clock = createVirtualClock(undefined, { settle: () => settle() });
    const database = await openQuickDatabase(engine, clock);
    settle = () => untilIdle(database);
    onTestFinished(() => database.close());
    const link = createFakeLink();
    const logger = recordingLogger();
    const keeper = createPresenceKeeper({ database, clock, logger, link, instanceId: 'first' });
    onTestFinished(() => keeper.stop());
    keeper.start();
    await clock.settle();
    const { id: merchantId } = await seedMerchant(database.queries);
    const { id } = await seedDevice(database.queries, merchantId);
    const read = () =>
      database.queries
        .selectFrom('devices')
        .select(['last_seen_at', 'journal_id', 'last_report'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
    const hear = (changes: object = {}) => link.snapshots.set(id, snapshot({ lastSeenAtMs: clock.now(), ...changes }));
    return { clock, database, link, logger, keeper, id, read, hear };
  }

  it('writes a first sighting at once, with its report but not its bookkeeping', async () => {
    const { clock, link, id, read } = await setUp();
    link.seen(
      id,
      snapshot({
        lastSeenAtMs: clock.now(),
        journalId: 'j1',
        report: { online: true, battery: 80, clock: 'x', bootId: 'y', pan: '4111111111111111' },
      }),
    );
    await clock.advance(250);
    expect(await read()).toMatchObject({ journal_id: 'j1', last_report: '{"online":true,"battery":80,"pan":"411111******1111"}' });
    expect(Math.abs(((await read()).last_seen_at ?? 0) - clock.now())).toBeLessThan(1_000);
  });

  it('writes heartbeats once a minute, and a change of journal without waiting', async () => {
    const { clock, link, id, read, hear } = await setUp();
    link.seen(id, snapshot({ lastSeenAtMs: clock.now(), journalId: 'j1' }));
    await clock.advance(250);
    const first = (await read()).last_seen_at;
    await clock.advance(30_000);
    hear({ journalId: 'j1' });
    await clock.advance(20_000);
    expect((await read()).last_seen_at).toBe(first);
    await clock.advance(15_000);
    await expect.poll(async () => (await read()).last_seen_at).not.toBe(first);

    hear({ journalId: 'j2' });
    await clock.advance(5_000);
    await expect.poll(async () => (await read()).journal_id).toBe('j2');
    hear({ journalId: undefined });
    await clock.advance(5_000);
    await expect.poll(async () => (await read()).journal_id).toBe(null);
  });

  it('writes a device whose journal changes all the time every five seconds, with the newest journal', async () => {
    const { clock, database, link, id, read } = await setUp();
    const writes = vi.spyOn(database.queries, 'executeQuery');
    for (let count = 1; count <= 1_000; count += 1) {
      link.seen(id, snapshot({ lastSeenAtMs: clock.now(), journalId: `j${count}` }));
      await clock.advance(10);
    }
    expect(writes.mock.calls.length).toBeLessThanOrEqual(3);
    await clock.advance(5_000);
    expect(await read()).toMatchObject({ journal_id: 'j1000' });
    writes.mockRestore();
  });

  it('writes a storm of returns in batches, one statement at a time and always the same text', async () => {
    const { clock, database, link } = await setUp();
    const merchantId = (await seedMerchant(database.queries)).id;
    const ids = [];
    for (let count = 0; count < 1_200; count += 1) ids.push((await seedDevice(database.queries, merchantId)).id);
    const texts: string[] = [];
    let underWay = 0;
    const writes = vi.spyOn(database.queries, 'executeQuery').mockImplementation(async function (this: Queries, query) {
      texts.push((query as CompiledQuery).sql);
      underWay += 1;
      expect(underWay).toBe(1);
      const result = await this.getExecutor().executeQuery(query as CompiledQuery);
      underWay -= 1;
      return result;
    });
    for (const each of ids) link.seen(each, snapshot({ lastSeenAtMs: clock.now() }));
    await clock.advance(1_000);
    writes.mockRestore();
    expect(texts).toHaveLength(3);
    expect(new Set(texts).size).toBe(1);
    const unseen = database.queries
      .selectFrom('devices')
      .select('id')
      .where('merchant_id', '=', merchantId)
      .where('last_seen_at', 'is', null);
    expect(await unseen.execute()).toEqual([]);
  });

  it('writes the remaining rows when it stops', async () => {
    const { clock, link, keeper, id, read, hear } = await setUp();
    link.seen(id, snapshot({ lastSeenAtMs: clock.now() }));
    await clock.advance(250);
    const before = (await read()).last_seen_at;
    await clock.advance(10_000);
    hear();
    await keeper.stop();
    expect((await read()).last_seen_at).toBeGreaterThan(before ?? 0);
  });

  it('does not wait once for every device when the database is down at the stop', async () => {
    const { clock, database, link, logger, keeper } = await setUp();
    for (let count = 0; count < 5; count += 1) link.snapshots.set(randomUUID(), snapshot({ lastSeenAtMs: clock.now() }));
    const down = vi.spyOn(database.queries, 'executeQuery').mockRejectedValue(databaseDown('The database cannot be reached.'));
    await keeper.stop();
    expect(down).toHaveBeenCalledTimes(1);
    down.mockRestore();
    expect(logger.lines).toHaveLength(1);
  });

  it('survives a database that is down, and retries at the next round', async () => {
    const { clock, database, link, logger, id, read } = await setUp();
    const down = vi.spyOn(database.queries, 'executeQuery').mockRejectedValueOnce(databaseDown('The database cannot be reached.'));
    link.seen(id, snapshot({ lastSeenAtMs: clock.now(), journalId: 'j1' }));
    await clock.advance(250);
    expect(logger.lines).toHaveLength(1);
    await clock.advance(5_000);
    expect(await read()).toMatchObject({ journal_id: 'j1' });
    down.mockRestore();
  });

  it('writes the others of a batch when the database refuses one row', async () => {
    const { clock, database, link, logger } = await setUp();
    const merchantId = (await seedMerchant(database.queries)).id;
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push((await seedDevice(database.queries, merchantId)).id);
    const [bad] = ids;
    const writes = vi.spyOn(database.queries, 'executeQuery').mockImplementation(async function (this: Queries, query) {
      if (JSON.stringify((query as CompiledQuery).parameters).includes(bad ?? '')) throw new Error('refused');
      return await this.getExecutor().executeQuery(query as CompiledQuery);
    });
    for (const each of ids) link.seen(each, snapshot({ lastSeenAtMs: clock.now() }));
    await clock.advance(250);
    writes.mockRestore();
    const unseen = database.queries
      .selectFrom('devices')
      .select('id')
      .where('merchant_id', '=', merchantId)
      .where('last_seen_at', 'is', null);
    expect(await unseen.execute()).toEqual([{ id: bad }]);
    expect(logger.lines).toMatchObject([{ fields: { deviceId: bad } }]);
  });

  describe('with a second gateway', () => {
    async function setUpTwo() {
      const one = await setUp();
      const link = createFakeLink();
      const options = { clock: one.clock, logger: one.logger, link, instanceId: 'second' };
      const keeper = createPresenceKeeper({ ...options, database: one.database });
      onTestFinished(() => keeper.stop());
      keeper.start();
      await one.clock.settle();
      const hearBoth = (changes: object = {}) => {
        const said = snapshot({ lastSeenAtMs: one.clock.now(), ...changes });
        one.link.seen(one.id, said);
        link.seen(one.id, said);
      };
      const holder = async () =>
        (await one.database.queries.selectFrom('turns').select('instance_id').where('work', '=', 'presence').executeTakeFirst())
          ?.instance_id;
      return { ...one, second: { link, keeper }, hearBoth, holder };
    }

    it('writes once, not once for each gateway', async () => {
      const { clock, database, hearBoth, holder } = await setUpTwo();
      const writes = vi.spyOn(database.queries, 'executeQuery');
      for (let minute = 0; minute < 5; minute += 1) {
        hearBoth();
        await clock.advance(60_000);
      }
      expect(writes).toHaveBeenCalledTimes(5);
      expect(await holder()).toBe('first');
      writes.mockRestore();
    });

    it('hands the lease over when the writer stops, at once', async () => {
      const { clock, keeper, hearBoth, holder, read } = await setUpTwo();
      await keeper.stop();
      hearBoth({ journalId: 'j2' });
      await clock.advance(5_250);
      expect(await holder()).toBe('second');
      expect(await read()).toMatchObject({ journal_id: 'j2' });
    });

    it('takes over from a writer that lost a channel, and rewrites no fresh row', async () => {
      const { clock, link, hearBoth, holder, read } = await setUpTwo();
      hearBoth();
      await clock.advance(250);
      const written = await read();
      link.isUp.mqtt = false;
      await clock.advance(10_000);
      hearBoth();
      await clock.advance(10_000);
      expect(await holder()).toBe('second');
      expect(await read()).toEqual(written);
    });

    it('keeps a writer that lacks a channel when no gateway has both', async () => {
      const { clock, link, second, holder, hearBoth, read } = await setUpTwo();
      link.isUp.mqtt = false;
      second.link.isUp.mqtt = false;
      await clock.advance(60_000);
      hearBoth({ journalId: 'j3' });
      await clock.advance(35_000);
      expect(await read()).toMatchObject({ journal_id: 'j3' });
      expect(await holder()).toBeDefined();
    });
  });
});
