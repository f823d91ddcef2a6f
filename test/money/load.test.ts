// What a load adds to the stored rows: notes that are not written yet are facts of a call, and of no other event.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/kernel/system.ts';
import type { Event } from '../../src/money/event.ts';
import { createLoad } from '../../src/money/load.ts';
import { engines, memoryDatabase, openTestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedInvoice, seedMerchant } from '../support/fixtures.ts';

describe('a note that is not written yet', () => {
  let database: Database;
  let id: string;
  let deviceId: string;
  let merchantId: string;
  const load = async (event: Event) => {
    const surroundings = {
      live: () => ({ isOnline: true, journalId: null, features: [] }),
      overlay: (op: { receivedAt: number | null }, now: number) => void (op.receivedAt = now),
    };
    return (await createLoad({ database, scanGraceMs: 0, surroundings })(event)).case.ops[id]?.receivedAt;
  };

  beforeEach(async () => {
    database = await memoryDatabase(systemClock);
    merchantId = (await seedMerchant(database.queries)).id;
    deviceId = (await seedDevice(database.queries, merchantId)).id;
    const settled = { state: 'refused', settled_at: 1, settled_by: 'answer', request_hash: 'hash' } as const;
    id = (await seedCommand(database.queries, merchantId, deviceId, settled)).id;
  });
  afterEach(() => database.close());

  it('is a fact of a call that leads to the operation', async () => {
    await database.queries
      .insertInto('idempotency_keys')
      .values({ merchant_id: merchantId, key: 'k', request_hash: 'hash', subject_kind: 'command', subject_id: id, created_at: 1 })
      .execute();
    const call = { type: 'Pay', merchantId, deviceId, newId: 'new', amountBani: 1, key: { key: 'k', requestHash: 'hash' } } as const;
    expect(await load(call)).not.toBeNull();
  });

  it.each<[string, () => Event]>([
    ['its own event, which would write nothing otherwise', () => ({ type: 'Delivery', id, was: 'received' })],
    ['a report, whose commit is guarded by what is stored', () => ({ type: 'Report', id, outcome: 'done', source: 'late-answer' })],
  ])('is no fact of %s', async (_what, event) => {
    expect(await load(event())).toBeNull();
  });
});

describe.each(engines)('events that arrive together on %s', (engine) => {
  it('share a snapshot, and each has its own case', async () => {
    const database = await openTestDatabase(engine);
    const { id: merchantId } = await seedMerchant(database.queries);
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const ids: string[] = [];
    for (let at = 0; at < 3; at += 1) ids.push((await seedCommand(database.queries, merchantId, deviceId)).id);
    const receipt = JSON.stringify({ Number: 'n'.repeat(20_000) });
    const oids = [
      (await seedInvoice(database.queries, merchantId)).oid,
      (await seedInvoice(database.queries, merchantId, { receipt })).oid,
    ];
    let snapshots = 0;
    const counting: Database = {
      ...database,
      snapshot(work) {
        snapshots += 1;
        return database.snapshot(work);
      },
    };
    const surroundings = { live: () => ({ isOnline: true, journalId: null, features: [] }) };
    const loading = () => createLoad({ database: counting, scanGraceMs: 0, surroundings });
    const events: Event[] = [
      ...ids.map((id): Event => ({ type: 'Outcome', id })),
      ...oids.flatMap((oid): Event[] => [
        { type: 'Get', oid },
        { type: 'InvoiceStatus', oid },
      ]),
      { type: 'HardwareLost', deviceId, reason: 'lost' },
      { type: 'Outcome', id: 'nobody' },
    ];
    const alone = [];
    for (const event of events) alone.push(await loading()(event));
    expect(snapshots).toBe(events.length);
    snapshots = 0;
    const load = loading();
    const together = await Promise.all(events.map((event) => load(event)));
    // The receipt that is too long for a batch is read again.
    expect(snapshots).toBe(2);
    const timeless = (known: Awaited<ReturnType<typeof load>>[]) => known.map(({ case: c, looked }) => ({ ...c, now: 0, looked }));
    expect(timeless(together)).toEqual(timeless(alone));
    // Two of the commands lead to the third, which their device is at.
    expect(together.map(({ case: c }) => Object.keys(c.ops).length)).toEqual([2, 2, 1, 0, 0, 0, 0, 1, 0]);
    expect(together[5]?.case.invoices[oids[1] ?? '']?.receipt?.length).toBeGreaterThan(20_000);
    await database.close();
  });
});
