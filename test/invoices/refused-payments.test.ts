// A payment that cannot be applied: money was taken, so the board says why, once, and the operator's log as well. SQLite in memory, virtual time.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { states } from '../../src/invoices/rules.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import { anybody, codeOf, eventRows, openQuietShop, orphanRows, receipt, type Shop } from './shop.ts';

let clock: VirtualClock;
let database: Database;
let shop: Shop;

beforeEach(async () => {
  ({ clock, database, shop } = await openQuietShop());
});
afterEach(() => database.close());

const create = (more: object = {}) => shop.invoices.create({ merchantId: shop.merchantId, receipt, ...more });
const pay = (qr: string, receiptId = 'F-1', deviceId = shop.deviceId) =>
  codeOf(shop.invoices.pay(qr, { receiptId, deviceId }, { ...anybody, name: 'device 7' }));
const reasons = async (oid: string) => (await orphanRows(database, oid)).map(({ reason }) => reason);
const refusals = async (oid: string) => (await eventRows(database, oid)).filter(({ event }) => event === 'payment-refused');

describe('the board says of a refused payment', () => {
  it('that the invoice was never scanned', async () => {
    const { oid, qr } = await create();
    expect([await pay(qr), await reasons(oid)]).toEqual([22, ['never-scanned']]);
  });

  it('that it had expired', async () => {
    const { oid, qr } = await create({ validTo: new Date(clock.now() + 1_000).toISOString() });
    await shop.invoices.scan(qr, anybody);
    await clock.advance(1_000);
    expect([await pay(qr), await reasons(oid)]).toEqual([22, ['expired']]);
  });

  it('that it was cancelled', async () => {
    const { oid, qr } = await create();
    await shop.cancel(oid);
    expect([await pay(qr), await reasons(oid)]).toEqual([22, ['cancelled']]);
  });

  it('that it was paid otherwise: by another receipt, or by the same one on another device', async () => {
    const { oid, qr } = await create();
    await shop.invoices.scan(qr, anybody);
    expect([await pay(qr), await pay(qr)]).toEqual([0, 0]);
    expect([await pay(qr, 'F-2'), await pay(qr, 'F-1', shop.secondDeviceId)]).toEqual([22, 22]);
    expect(await orphanRows(database, oid)).toMatchObject([
      { reason: 'paid-otherwise', receipt_id: 'F-2', device_id: shop.deviceId },
      { reason: 'paid-otherwise', receipt_id: 'F-1', device_id: shop.secondDeviceId },
    ]);
  });
});

describe('a refused payment that is named again and again', () => {
  it('is on the board, in the history and in the log once', async () => {
    const { oid, qr } = await create();
    for (let times = 0; times < 3; times += 1) expect(await pay(qr)).toBe(22);
    const payment = { receiptId: 'F-1', deviceId: shop.deviceId };
    expect(await refusals(oid)).toEqual([{ event: 'payment-refused', detail: { by: 'device 7', reason: 'never-scanned', ...payment } }]);
    expect(await reasons(oid)).toHaveLength(1);
    expect(shop.logger.lines).toEqual([
      {
        level: 'warn',
        message: 'a payment was refused: money was taken',
        fields: { oid, merchantId: shop.merchantId, deviceId: shop.deviceId, reason: 'never-scanned' },
      },
    ]);
  });

  it('and does not fit on the board is at least in the log, with its receipt', async () => {
    const { oid, qr } = await create();
    for (let at = 0; at < 100; at += 1) await pay(qr, `F-${at}`);
    shop.logger.lines.length = 0;
    expect(await pay(qr, 'one too many')).toBe(22);
    expect(shop.logger.lines).toMatchObject([
      { level: 'error', fields: { oid, reason: 'never-scanned', receiptId: 'one too many', deviceId: shop.deviceId } },
    ]);
    expect(await refusals(oid)).toHaveLength(100);
    expect((await shop.invoices.status(qr, anybody)).state).toBe(states.newItem);
  });
});
