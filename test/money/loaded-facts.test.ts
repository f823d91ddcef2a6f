// The facts that are loaded for a call: all that refers to a payment or an invoice, what a living gateway may still be waiting for, and rows of
// one state of the database, however many rounds it takes.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { createLoad } from '../../src/money/load.ts';
import { contentName } from '../../src/money/rules/facts.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedInvoice, seedMerchant } from '../support/fixtures.ts';

describe('the facts of a call', () => {
  let database: Database;
  let merchantId: string;
  let deviceId: string;
  const online = { isOnline: true, journalId: null, features: [] };
  const at = (heartbeat: number) => ({ host: 'h', pid: 1, embedded: '', started_at: 1, heartbeat_at: heartbeat, stopped_at: null });

  beforeEach(async () => {
    database = await memoryDatabase(systemClock);
    merchantId = (await seedMerchant(database.queries)).id;
    deviceId = (await seedDevice(database.queries, merchantId)).id;
  });
  afterEach(() => database.close());

  const named = async (value: string, ops: string[]) =>
    database.queries
      .insertInto('names')
      .values({ merchant_id: merchantId, value, version: 1, attempts: 1, ops: JSON.stringify(ops) })
      .execute();

  it('have whatever refers to a payment or to an invoice', async () => {
    const { queries } = database;
    const settled = { state: 'done', document_state: 'closed', settled_at: 1, settled_by: 'answer' } as const;
    const { oid } = await seedInvoice(queries, merchantId);
    const payment = (await seedCommand(queries, merchantId, deviceId, { ...settled, document_nr: oid })).id;
    await queries.deleteFrom('names').execute();
    await named(oid, [payment]);
    const of = { ...settled, document_state: null, target_id: payment };
    const refund = (await seedCommand(queries, merchantId, deviceId, { ...of, name: 'Refund' })).id;
    const print = (await seedCommand(queries, merchantId, deviceId, { ...of, name: 'PrintReceipt', target_id: null })).id;
    await queries.insertInto('printed_payments').values({ payment_id: payment, print_id: print, amount_bani: 1 }).execute();
    const orphan = {
      oid,
      merchant_id: merchantId,
      receipt_id: 'r',
      device_id: deviceId,
      at: 1,
      reason: 'expired',
      version: 1,
      is_listed: 1,
    };
    await queries.insertInto('orphan_payments').values(orphan).execute();
    const load = createLoad({ database, scanGraceMs: 0, surroundings: { live: () => online } });
    const { case: c } = await load({ type: 'CancelInvoice', merchantId, oid });
    expect(Object.keys(c.ops).toSorted()).toEqual([payment, refund, print].toSorted());
    expect(Object.keys(c.orphans)).toEqual([`${oid} r ${deviceId}`]);
    expect([...c.sales]).toEqual([payment]);
  });

  it('tell for which operations a living gateway may have a caller who waits', async () => {
    const settled = { state: 'refused', settled_at: 1, settled_by: 'answer', request_hash: 'h' } as const;
    const ids: string[] = [];
    for (const [instance, heartbeat] of [
      ['living', systemClock.now()],
      ['silent', systemClock.now() - 60_000],
      ['gone', 0],
    ] as const) {
      if (heartbeat > 0)
        await database.queries
          .insertInto('instances')
          .values({ ...at(heartbeat), id: instance })
          .execute();
      ids.push((await seedCommand(database.queries, merchantId, deviceId, { ...settled, instance_id: instance })).id);
    }
    await named(contentName(deviceId, 'h'), ids);
    const load = createLoad({ database, scanGraceMs: 0, surroundings: { live: () => online } });
    const { case: c } = await load({ type: 'Pay', merchantId, deviceId, newId: 'new', amountBani: 1, requestHash: 'h' });
    expect(Object.keys(c.ops).toSorted()).toEqual(ids.toSorted());
    expect([...c.waitedFor]).toEqual([ids[0]]);
  });

  it('are of one state, although another gateway commits between its rounds', async () => {
    const { id } = await seedCommand(database.queries, merchantId, deviceId);
    await named('n', [id]);
    let isChanged = false;
    /** Asked after the first round, which reads the name and the device. */
    const live = () => {
      if (!isChanged) {
        isChanged = true;
        void database.queries.updateTable('names').set({ version: 2 }).execute();
        void database.queries.updateTable('commands').set({ state: 'refused', settled_at: 1, settled_by: 'answer' }).execute();
      }
      return online;
    };
    const load = createLoad({ database, scanGraceMs: 0, surroundings: { live } });
    const { case: c } = await load({ type: 'Pay', merchantId, deviceId, newId: 'new', amountBani: 1, documentNr: 'n' });
    expect([Object.values(c.names)[0]?.version, c.ops[id]?.state]).toEqual([2, 'refused']);
  });
});
