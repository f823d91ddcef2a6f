// What the link hears is written: at most once a minute a device, a new journal at once.
import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { databaseDown } from '../../src/database/errors.ts';
import { createPresenceKeeper } from '../../src/devices/presence-keeper.ts';
import { engines, openTestDatabase } from '../support/engines.ts';
import { seedDevice, seedMerchant } from '../support/fixtures.ts';
import { recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { createFakeLink, snapshot } from './fake-link.ts';

describe.each(engines)('presence on %s', (engine) => {
  async function setUp() {
    const clock = createVirtualClock();
    const database = await openTestDatabase(engine, clock);
    onTestFinished(() => database.close());
    const link = createFakeLink();
    const logger = recordingLogger();
    const keeper = createPresenceKeeper({ database, clock, logger, link });
    onTestFinished(() => keeper.stop());
    keeper.start();
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
    await expect.poll(read).toMatchObject({ journal_id: 'j1', last_report: '{"online":true,"battery":80,"pan":"411111******1111"}' });
    expect(Math.abs(((await read()).last_seen_at ?? 0) - clock.now())).toBeLessThan(1_000);
  });

  it('writes heartbeats once a minute, and a change of journal without waiting', async () => {
    const { clock, link, id, read, hear } = await setUp();
    link.seen(id, snapshot({ lastSeenAtMs: clock.now(), journalId: 'j1' }));
    await expect.poll(async () => (await read()).journal_id).toBe('j1');
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

  it('has one write of a device under way, however often its journal changes, and the newest is written in the end', async () => {
    const { clock, database, link, id, read } = await setUp();
    const other = (await seedDevice(database.queries, (await seedMerchant(database.queries)).id)).id;
    const update = vi.spyOn(database.queries, 'updateTable');
    for (let count = 0; count < 1_000; count += 1) {
      const said = snapshot({ lastSeenAtMs: clock.now(), journalId: `j${count}` });
      link.snapshots.set(id, said);
      link.seen(id, said);
    }
    link.seen(other, snapshot({ lastSeenAtMs: clock.now(), journalId: 'mine' }));
    expect(update).toHaveBeenCalledTimes(2);
    await expect.poll(async () => (await read()).journal_id).toBe('j0');
    await clock.advance(5_000);
    await expect.poll(async () => (await read()).journal_id).toBe('j999');
    update.mockRestore();
  });

  it('writes what is left when it stops', async () => {
    const { clock, link, keeper, id, read, hear } = await setUp();
    link.seen(id, snapshot({ lastSeenAtMs: clock.now() }));
    await expect.poll(async () => (await read()).last_seen_at).not.toBe(null);
    const before = (await read()).last_seen_at;
    await clock.advance(10_000);
    hear();
    await keeper.stop();
    expect((await read()).last_seen_at).toBeGreaterThan(before ?? 0);
  });

  it('does not wait once for every device when the database is down at the stop', async () => {
    const { clock, database, link, logger, keeper } = await setUp();
    for (let count = 0; count < 5; count += 1) link.snapshots.set(randomUUID(), snapshot({ lastSeenAtMs: clock.now() }));
    const down = vi.spyOn(database.queries, 'updateTable').mockImplementation(() => {
      throw databaseDown('The database cannot be reached.');
    });
    await keeper.stop();
    down.mockRestore();
    expect(logger.lines).toHaveLength(1);
  });

  it('survives a database that refuses, and tries again', async () => {
    const { clock, database, link, logger, id, read } = await setUp();
    await database.queries.schema.alterTable('devices').renameColumn('last_report', 'hidden').execute();
    link.seen(id, snapshot({ lastSeenAtMs: clock.now(), journalId: 'j1', report: { battery: 1 } }));
    await expect.poll(() => logger.lines.length).toBe(1);
    await database.queries.schema.alterTable('devices').renameColumn('hidden', 'last_report').execute();
    await clock.advance(5_000);
    await expect.poll(async () => (await read()).journal_id).toBe('j1');
  });
});
