// A Payd beside a card payment under the OID that runs: the money was taken, so the invoice is paid, and the payment of another device is
// listed in the same commit, because the customer may be charged by card, too [D186].
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { states } from '../../src/invoices/rules.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { anybody, codeOf, eventRows, interruptible, ofOldCore, openShop, orphanRows, receipt, type Shop, template } from './shop.ts';

let database: Database;
let race: ReturnType<typeof interruptible>;
let shop: Shop;
let oid: string;
let qr: string;

beforeEach(async () => {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  race = interruptible(database);
  shop = await openShop(race.database, { clock });
  await shop.invoices.start();
  await shop.invoices.stop();
  ({ oid, qr } = await shop.invoices.create({ merchantId: shop.merchantId, receipt, callbackUri: template }));
  await shop.invoices.scan(qr, anybody);
  await database.transaction((queries) => ofOldCore(shop).holdForCharge(queries, oid, shop.merchantId));
  await seedCommand(database.queries, shop.merchantId, shop.deviceId, { document_nr: oid });
});
afterEach(() => database.close());

const pay = (deviceId: string, receiptId = 'F-1') => codeOf(shop.invoices.pay(qr, { receiptId, deviceId }, anybody));
const reasons = async () => (await orphanRows(database, oid)).map(({ receipt_id, reason }) => [receipt_id, reason]);
/** What becomes of the card payment. */
const cardPayment = (become: object) =>
  database.queries
    .updateTable('commands')
    .set({ settled_at: 1, settled_by: 'answer', ...become })
    .execute();
const state = async () => (await shop.invoices.status(qr, anybody)).state;

describe('a Payd while a card payment of its invoice runs', () => {
  it('of another device is 0 and listed, once', async () => {
    expect([await pay(shop.secondDeviceId), await pay(shop.secondDeviceId)]).toEqual([0, 0]);
    expect(await state()).toBe(states.paid);
    expect(await orphanRows(database, oid)).toEqual([
      { merchant_id: shop.merchantId, receipt_id: 'F-1', device_id: shop.secondDeviceId, reason: 'paid-by-card-too' },
    ]);
    expect((await eventRows(database, oid)).map(({ event }) => event)).toEqual(['Scanned', 'Payed']);
    expect(shop.logger.lines).toEqual([]);
  });

  it('of the terminal itself is the same payment: nothing is listed', async () => {
    expect(await pay(shop.deviceId)).toBe(0);
    expect([await state(), await orphanRows(database, oid)]).toEqual([states.paid, []]);
  });

  it('is listed on a full board, too: callers without a key fill it with refused payments', async () => {
    const orphan = { merchant_id: shop.merchantId, oid, device_id: shop.secondDeviceId, reason: 'never-scanned', at: 1 };
    const hundred = Array.from({ length: 100 }, (_, at) => ({ ...orphan, receipt_id: `E-${at}` }));
    await database.queries.insertInto('orphan_payments').values(hundred).execute();
    expect(await pay(shop.secondDeviceId)).toBe(0);
    expect((await reasons()).at(-1)).toEqual(['F-1', 'paid-by-card-too']);
    expect(shop.logger.lines).toEqual([]);
  });

  it('changes nothing if it cannot be listed: its device repeats it', async () => {
    const { queries } = database;
    await queries.schema.alterTable('orphan_payments').renameTo('away').execute();
    await expect(pay(shop.secondDeviceId)).rejects.toThrow('orphan_payments');
    expect(await state()).toBe(states.scanned);
    await queries.schema.alterTable('away').renameTo('orphan_payments').execute();
    expect(await pay(shop.secondDeviceId)).toBe(0);
    expect(await orphanRows(database, oid)).toHaveLength(1);
  });

  it('sends its callback off at once', async () => {
    const before = shop.woken().length;
    await pay(shop.secondDeviceId);
    expect(shop.woken().slice(before)).toEqual(['erp.example']);
  });

  it('of another device after the card was refused is the only payment: nothing is listed', async () => {
    await cardPayment({ state: 'refused' });
    expect([await pay(shop.secondDeviceId), await state(), await reasons()]).toEqual([0, states.paid, []]);
  });
});

describe('a Payd of another device that finds the card payment running, when before its commit', () => {
  it('the card is charged, is 22, and the invoice is not completed by it', async () => {
    race.beforeNextTransaction(() => cardPayment({ state: 'done', document_state: 'closed' }));
    expect(await pay(shop.secondDeviceId)).toBe(22);
    expect([await state(), await reasons()]).toEqual([states.scanned, [['F-1', 'paid-otherwise']]]);
  });

  it('that one is refused and its own device begins one, is that payment: nothing is listed', async () => {
    race.beforeNextTransaction(async () => {
      await cardPayment({ state: 'refused' });
      await database.queries.deleteFrom('claims').execute();
      await seedCommand(database.queries, shop.merchantId, shop.secondDeviceId, { document_nr: oid });
    });
    expect([await pay(shop.secondDeviceId), await state(), await reasons()]).toEqual([0, states.paid, []]);
  });

  it('another Payd has paid the invoice, is 22 and listed for that reason alone', async () => {
    race.beforeNextTransaction(() => pay(shop.secondDeviceId, 'F-0'));
    expect(await pay(shop.secondDeviceId)).toBe(22);
    expect(await reasons()).toEqual([
      ['F-0', 'paid-by-card-too'],
      ['F-1', 'paid-otherwise'],
    ]);
  });
});

describe('an invoice that was paid by card', () => {
  const disputed = {
    state: 'disputed',
    settled_by: 'person',
    disputed_from: 'refused',
    review_since: 1,
    review_reason: 'It did it.',
  } as const;
  const done = { state: 'done', settled_at: 1, settled_by: 'answer', document_state: 'closed' } as const;

  it('is completed by the Payd of the terminal that was paid: nothing is listed', async () => {
    await cardPayment(done);
    expect([await pay(shop.deviceId), await state(), await reasons()]).toEqual([0, states.paid, []]);
  });

  it('at two terminals is completed by each of them, and listed because of the other', async () => {
    await cardPayment(done);
    await seedCommand(database.queries, shop.merchantId, shop.secondDeviceId, { ...done, document_nr: oid });
    expect([await pay(shop.deviceId), await state(), await reasons()]).toEqual([0, states.paid, [['F-1', 'paid-by-card-too']]]);
  });

  it('while an earlier attempt at another terminal is disputed is not completed by a third device: 22, listed', async () => {
    await cardPayment(disputed);
    await seedCommand(database.queries, shop.merchantId, shop.secondDeviceId, { ...done, document_nr: oid });
    const { id: third } = await seedDevice(database.queries, shop.merchantId);
    expect([await pay(third), await state(), await reasons()]).toEqual([22, states.scanned, [['F-1', 'paid-otherwise']]]);
    expect([await pay(shop.secondDeviceId, 'F-2'), await state()]).toEqual([0, states.paid]);
  });

  it('at the moment of a Payd elsewhere, while another attempt is disputed, is not completed by it', async () => {
    await cardPayment(disputed);
    const { id } = await seedCommand(database.queries, shop.merchantId, shop.secondDeviceId, { document_nr: oid });
    const { id: third } = await seedDevice(database.queries, shop.merchantId);
    race.beforeNextTransaction(() => database.queries.updateTable('commands').set(done).where('id', '=', id).execute());
    expect([await pay(third), await state()]).toEqual([22, states.scanned]);
  });

  it('is fetched by the ERP and by that terminal, and by no other caller [D142]', async () => {
    await cardPayment(done);
    const get = (asker: object) => codeOf(shop.invoices.scan(qr, { ...anybody, ...asker }));
    const askers = [{ hasKey: true }, { deviceId: shop.deviceId }, { deviceId: shop.secondDeviceId }, { hasKey: false }, {}];
    expect(await Promise.all(askers.map(get))).toEqual([0, 0, 22, 22, 22]);
  });

  it('no longer, because the card was refused, is fetched by every device', async () => {
    await cardPayment({ state: 'refused' });
    expect(await codeOf(shop.invoices.scan(qr, { ...anybody, deviceId: shop.secondDeviceId }))).toBe(0);
  });
});
