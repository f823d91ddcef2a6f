// What a load adds to the stored rows: notes that are not written yet are facts of a call, and of no other event.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/kernel/system.ts';
import type { Event } from '../../src/money/event.ts';
import { createLoad } from '../../src/money/load.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';

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
