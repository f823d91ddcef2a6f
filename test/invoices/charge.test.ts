// The begin of a card payment for an invoice, and its withdrawal by the ERP [D142]: on a small database, call by call.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { cancelUnpaidInvoice, endWithout, wasPaidAt, withdrawInvoice } from '../../src/invoices/cancel.ts';
import { holdForCharge, isChargeable } from '../../src/invoices/charge.ts';
import type { InvoiceDeps } from '../../src/invoices/move.ts';
import { states } from '../../src/invoices/rules.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedInvoice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const nowMs = 1_000_000;
let database: Database;
let deps: InvoiceDeps;
let merchantId: string;
let woken: unknown[];

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock(nowMs));
  merchantId = (await seedMerchant(database.queries)).id;
  woken = [];
  const callbacks = { wake: (written: unknown) => void woken.push(written) };
  deps = { database, callbacks, random: seededRandom(1), logger: quietLogger, graceMs: 0 } as unknown as InvoiceDeps;
});

const seed = async (overrides: object = {}) => (await seedInvoice(database.queries, merchantId, overrides)).oid;
const ended = (state: number) => ({ state, ended_at: 5, ...(state === states.expired && { valid_to: 5 }) });
const row = (oid: string) => database.queries.selectFrom('invoices').selectAll().where('oid', '=', oid).executeTakeFirstOrThrow();
const hold = (oid: string, of = merchantId) => database.transaction((queries) => holdForCharge(deps, queries, oid, of));
const tooLate = { errorName: 'The_status_cannot_be_applied' };

async function payFor(oid: string): Promise<void> {
  const { id } = await seedDevice(database.queries, merchantId);
  await hold(oid);
  const paid = { state: 'done', settled_at: 1, settled_by: 'answer', document_state: 'closed', document_nr: oid } as const;
  await seedCommand(database.queries, merchantId, id, paid);
}

describe('a card payment under the OID of an invoice', () => {
  it('begins while the invoice is open, and marks it once: later moves read its payments', async () => {
    for (const state of [{}, { state: states.scanned, scanned_at: 4 }]) {
      const oid = await seed(state);
      expect(await isChargeable(deps, oid, merchantId)).toBe(true);
      await hold(oid);
      expect((await row(oid)).payment_begun_at).toBe(nowMs);
      await database.queries.updateTable('invoices').set({ payment_begun_at: 7 }).where('oid', '=', oid).execute();
      await hold(oid);
      expect((await row(oid)).payment_begun_at).toBe(7);
    }
  });

  it.each([states.expired, states.cancelled])('does not begin when it has ended as %s, and leaves no mark', async (state) => {
    const oid = await seed(ended(state));
    await expect(isChargeable(deps, oid, merchantId)).rejects.toMatchObject(tooLate);
    await expect(hold(oid)).rejects.toMatchObject(tooLate);
    expect((await row(oid)).payment_begun_at).toBeNull();
  });

  it('is none of the invoice if that is of another merchant or does not exist', async () => {
    const oid = await seed(ended(states.cancelled));
    expect(await isChargeable(deps, oid, 'another')).toBe(false);
    await hold(oid, 'another');
    await hold('none');
    expect((await row(oid)).payment_begun_at).toBeNull();
  });
});

describe('the withdrawal of an invoice', () => {
  const withdraw = (oid: string, more: object = {}) => withdrawInvoice(deps, { oid, merchantId, by: 'key k', ...more });

  it('cancels an open one, wakes its callback, and a repeat finds its state before', async () => {
    const oid = await seed({ callback_uri: 'http://erp.example/?oid=#OID#' });
    expect(await withdraw(oid)).toBe(states.newItem);
    expect((await row(oid)).state).toBe(states.cancelled);
    expect(woken).toHaveLength(1);
    const history = await database.queries.selectFrom('invoice_events').selectAll().where('oid', '=', oid).execute();
    expect(JSON.stringify(history)).toMatch(/key k.*Withdrawn by the ERP|Withdrawn by the ERP.*key k/u);
    expect(await withdraw(oid)).toBe(states.newItem);
    expect(woken).toHaveLength(1);
  });

  it('is refused once it has expired, and unknown for another merchant', async () => {
    await expect(withdraw(await seed(ended(states.expired)))).rejects.toMatchObject(tooLate);
    const oid = await seed();
    expect(await withdraw(oid, { merchantId: 'another' })).toBeUndefined();
    expect(woken).toEqual([]);
    expect((await row(oid)).state).toBe(states.newItem);
  });

  it('leaves one with a card payment to its caller', async () => {
    const oid = await seed();
    await payFor(oid);
    expect(await withdraw(oid)).toBe('held');
    expect((await row(oid)).state).toBe(states.newItem);
  });

  it('under a key of another request is refused before anything is changed', async () => {
    const [first, second] = [await seed(), await seed()];
    const idempotency = { key: 'k', requestHash: 'h' };
    expect(await withdraw(first, { idempotency })).toBe(states.newItem);
    await expect(withdraw(second, { idempotency: { key: 'k', requestHash: 'other' } })).rejects.toMatchObject(tooLate);
    expect((await row(second)).state).toBe(states.newItem);
  });
});

describe('an invoice whose payment was aborted', () => {
  const cancel = (oid: string) => database.transaction((queries) => cancelUnpaidInvoice(deps, queries, oid, merchantId, 'Aborted.'));

  it('is cancelled, and its history says why', async () => {
    const oid = await seed();
    expect(await cancel(oid)).toEqual({ isCancelled: true });
    const history = await database.queries.selectFrom('invoice_events').selectAll().where('oid', '=', oid).execute();
    expect(JSON.stringify(history)).toContain('Aborted.');
  });

  it('stays if it has ended or another payment was made for it; a documentNr that is no OID has none', async () => {
    expect(await cancel(await seed(ended(states.expired)))).toMatchObject({ isCancelled: false, refusal: tooLate });
    const oid = await seed();
    await payFor(oid);
    expect(await cancel(oid)).toMatchObject({ isCancelled: false });
    expect(await cancel('receipt 7')).toEqual({ isCancelled: false });
  });
});

it('the end of an invoice without its card payment is its state; the payment that completed it instead is listed, once', async () => {
  const [{ id: deviceId }, { id: till }] = [await seedDevice(database.queries, merchantId), await seedDevice(database.queries, merchantId)];
  const paid = await seed({ ...ended(states.paid), scanned_at: 4, receipt_id: 'r', paid_device_id: deviceId });
  const listed = () => database.queries.selectFrom('orphan_payments').select(['oid', 'receipt_id', 'device_id', 'reason']).execute();
  const endFor = (oid: string, card: object = {}) => endWithout(database.queries, oid, { merchantId, deviceId: till, ...card });
  expect(await endFor(paid, { deviceId })).toBeUndefined();
  expect(await endFor(paid, { merchantId: 'another' })).toBeUndefined();
  expect(await endFor(await seed())).toBeUndefined();
  expect(await endFor(await seed(ended(states.cancelled)))).toBe('Cancelled');
  expect(await listed()).toEqual([]);
  for (let count = 0; count < 2; count += 1) expect(await endFor(paid)).toBe('Payed by another payment');
  expect(await listed()).toEqual([{ oid: paid, receipt_id: 'r', device_id: deviceId, reason: 'paid-by-card-too' }]);
});

it('an invoice was paid at the device that its Payd named, if it is the merchant’s', async () => {
  const [{ id: deviceId }, { id: till }] = [await seedDevice(database.queries, merchantId), await seedDevice(database.queries, merchantId)];
  const paid = await seed({ ...ended(states.paid), scanned_at: 4, receipt_id: 'r', paid_device_id: deviceId });
  const wasPaid = (oid: string, card: object = {}) => wasPaidAt(database.queries, oid, { merchantId, deviceId, ...card });
  expect(await wasPaid(paid)).toBe(true);
  expect(await wasPaid(paid, { deviceId: till })).toBe(false);
  expect(await wasPaid(paid, { merchantId: 'another' })).toBe(false);
  expect(await wasPaid(await seed(ended(states.cancelled)))).toBe(false);
});
