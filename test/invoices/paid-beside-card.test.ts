// A Payd beside a card payment under the OID that runs: the money was taken, so the invoice is paid, and the payment of another device is
// listed in the same commit, because the customer may be charged by card, too [D186]. And calls that another one overtakes [D142].
import { beforeEach, describe, expect, it } from 'vitest';
import { listOrphans } from '../../src/cabinet/sales/orphans.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { states } from '../../src/invoices/rules.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { core } from '../support/core.ts';
import { interruptible } from '../support/interruptible.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';
import { anybody, callbackRows, codeOf, eventRows, receipt, template } from './shop.ts';

let world: SaleWorld;
let race: ReturnType<typeof interruptible>;
/** Of a gateway that another one overtakes. */
let slow: Awaited<ReturnType<SaleWorld['startLife']>>;
let card: Awaited<ReturnType<SaleWorld['terminal']>>;
let second: Awaited<ReturnType<SaleWorld['terminal']>>;
let oid: string;
let qr: string;

const waitsForCard = { timing: { customerMs: 10 * 60_000 } };

async function open() {
  world = await createSaleWorld();
  race = interruptible(world.database);
  slow = await world.startLife({ database: race.database });
  [card, second] = [await world.terminal(waitsForCard), await world.terminal(waitsForCard)];
  await world.clock.advance(60_000);
  ({ oid, qr } = await world.life.invoices.create({ merchantId: world.merchantId, receipt, callbackUri: template }));
}
beforeEach(open);

const scan = () => codeOf(world.life.invoices.scan(qr, anybody));
async function scannedAndBegun() {
  expect(await scan()).toBe(0);
  await begin(card.id);
}
const pay = (deviceId: string, receiptId = 'F-1', life = slow) => codeOf(life.invoices.pay(qr, { receiptId, deviceId }, anybody));
const customerLeft = () => ({ merchantId: world.merchantId, reason: 'customer left', actor: 'ana' });
const cancel = () => world.life.invoices.cancelInvoice({ oid, ...customerLeft() });
const withdrawal = () => {
  const named = { merchantId: world.merchantId, deviceId: world.random.uuid(), documentNr: oid, operationId: 'none' };
  return { ...named, token: '', amountBani: 1_000 };
};
/** What people see: the newest first. */
const listed = async () => (await listOrphans(world.database.queries, 200)).map(({ receiptId, reason }) => [receiptId, reason]);
const state = async () => (await world.life.invoices.status(qr, anybody)).state;

/** A payment under the OID is on this terminal; without time, so that it can begin while another call stands still. */
async function begin(deviceId: string): Promise<void> {
  void world.pay(deviceId, 10, oid);
  await stateOfPayment(deviceId, (found) => found === 'sent');
}
async function stateOfPayment(deviceId: string, isMeant: (state: string | undefined) => boolean) {
  for (let turns = 0; turns < 10_000; turns += 1) {
    const here = (await world.commands()).filter((command) => command.deviceId === deviceId);
    if (isMeant(here.at(-1)?.state)) return here.at(-1);
    await Promise.resolve();
  }
  throw new Error('The payment did not come to that state.');
}
/** What becomes of the card payment. */
async function ends(deviceId: string, outcome: 'done' | 'refused' | 'unknown', becomes: string = outcome): Promise<string> {
  const { id = '', journalId } = (await stateOfPayment(deviceId, (found) => found !== undefined)) ?? {};
  const report = { rrn: '78', operationId: '000078', amount: 10 };
  const said: AnswerMessage = { v: 1, id, device: deviceId, clock: new Date(world.clock.now()).toISOString(), outcome };
  world.sayAs(deviceId, { ...said, journalId: String(journalId), ...(outcome === 'done' ? { report } : {}) });
  await stateOfPayment(deviceId, (found) => found === becomes);
  return id;
}
const decide = (id: string, decided: 'done' | 'refused', more: object = {}) =>
  world.meanwhile(world.ledger.decide(id, { state: decided, reason: 'It is said so.', actor: 'ana', ...more }));
/** An operator has said that the first was not made; the second is on its way, and the first terminal contradicts. */
async function firstIsDisputed(): Promise<string> {
  const id = await ends(card.id, 'unknown');
  await decide(id, 'refused');
  await begin(second.id);
  await ends(card.id, 'done', 'disputed');
  return id;
}

describe('a Payd while a card payment of its invoice runs', () => {
  it('of another device is 0 and listed, once', async () => {
    await scannedAndBegun();
    expect([await pay(second.id), await pay(second.id)]).toEqual([0, 0]);
    expect([await state(), await listed()]).toEqual([states.paid, []]);
    await ends(card.id, 'done');
    expect(await pay(second.id)).toBe(0);
    expect(await listed()).toEqual([['F-1', 'paid-by-card-too']]);
    expect((await eventRows(world.database, oid)).map(({ event }) => event)).toEqual(['Scanned', 'Payed']);
  });

  it('of the terminal itself is the same payment: nothing is listed', async () => {
    await scannedAndBegun();
    expect(await pay(card.id)).toBe(0);
    await ends(card.id, 'done');
    expect([await state(), await listed()]).toEqual([states.paid, []]);
  });

  it('is listed on a full board, too: callers without a key fill it with refused payments', async () => {
    for (let count = 0; count < 100; count += 1) expect(await pay(second.id, `E-${count}`)).toBe(22);
    await scannedAndBegun();
    expect(await pay(second.id, 'E-100')).toBe(0);
    await ends(card.id, 'done');
    expect(await listed()).toContainEqual(['E-100', 'paid-by-card-too']);
    expect(await listed()).toHaveLength(101);
  });

  it('changes nothing if it cannot be listed: its device repeats it', async () => {
    await scannedAndBegun();
    const { queries } = world.database;
    await queries.schema.alterTable('orphan_payments').renameTo('away').execute();
    await expect(pay(second.id)).rejects.toThrow('orphan_payments');
    await queries.schema.alterTable('away').renameTo('orphan_payments').execute();
    expect(await state()).toBe(states.scanned);
    expect(await pay(second.id)).toBe(0);
    await ends(card.id, 'done');
    expect(await listed()).toEqual([['F-1', 'paid-by-card-too']]);
  });

  it('that loses the answer to any of its statements is one move and one callback, listed once', async () => {
    const steps = { seen: 0, lostAt: 0 };
    for (steps.lostAt = 1; steps.lostAt <= steps.seen + 1; steps.lostAt += 1) {
      if (steps.lostAt > 1) await open();
      await scannedAndBegun();
      steps.seen = 0;
      world.hook = () => {
        steps.seen += 1;
        if (steps.seen === steps.lostAt) throw databaseDown('The connection was lost.');
        return undefined;
      };
      expect([0, 2]).toContain(await pay(second.id));
      world.hook = () => undefined;
      expect(await pay(second.id)).toBe(0);
      await ends(card.id, 'done');
      expect(await listed()).toEqual([['F-1', 'paid-by-card-too']]);
      expect((await eventRows(world.database, oid)).map(({ event }) => event)).toEqual(['Scanned', 'Payed']);
      expect(await callbackRows(world.database, oid)).toHaveLength(2);
      if (steps.lostAt <= steps.seen) await world.stop();
    }
    expect(steps.lostAt).toBeGreaterThan(4);
  });

  it('sends its callback off at once', async () => {
    await scannedAndBegun();
    await world.clock.advance(1_000);
    const before = world.callbackUrls.length;
    await pay(second.id);
    await world.clock.advance(10);
    expect(world.callbackUrls.slice(before)).toEqual([expect.stringContaining('state=Payed')]);
  });

  it('of another device after the card was refused is the only payment: nothing is listed', async () => {
    await scannedAndBegun();
    await ends(card.id, 'refused');
    expect([await pay(second.id), await state(), await listed()]).toEqual([0, states.paid, []]);
  });
});

describe('a Payd of another device that finds the card payment running, when before its commit', () => {
  beforeEach(scannedAndBegun);

  it('the card is charged, is 22, and the invoice is not completed by it', async () => {
    race.beforeNextTransaction(() => ends(card.id, 'done'));
    expect(await pay(second.id)).toBe(22);
    expect([await state(), await listed()]).toEqual([states.scanned, [['F-1', 'paid-otherwise']]]);
  });

  it('that one is refused and its own device begins one, is that payment: nothing is listed', async () => {
    race.beforeNextTransaction(async () => {
      await ends(card.id, 'refused');
      await begin(second.id);
    });
    expect([await pay(second.id), await state(), await listed()]).toEqual([0, states.paid, []]);
  });

  it('another Payd has paid the invoice, is 22 and listed for that reason alone', async () => {
    race.beforeNextTransaction(() => pay(second.id, 'F-0', world.life));
    expect(await pay(second.id)).toBe(22);
    await ends(card.id, 'done');
    expect((await listed()).toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1))).toEqual([
      ['F-0', 'paid-by-card-too'],
      ['F-1', 'paid-otherwise'],
    ]);
  });
});

describe('an invoice that was paid by card', () => {
  beforeEach(scannedAndBegun);

  it('is completed by the Payd of the terminal that was paid: nothing is listed', async () => {
    await ends(card.id, 'done');
    expect([await pay(card.id), await state(), await listed()]).toEqual([0, states.paid, []]);
  });

  it('at two terminals is completed by each of them, and listed because of the other', async () => {
    const id = await firstIsDisputed();
    await ends(second.id, 'done');
    await decide(id, 'done', { closesReview: true });
    expect([await pay(card.id), await state(), await listed()]).toEqual([0, states.paid, [['F-1', 'paid-by-card-too']]]);
  });

  it('while an earlier attempt at another terminal is disputed is not completed by a third device: 22, listed', async () => {
    await firstIsDisputed();
    await ends(second.id, 'done');
    const { id: third } = await world.register();
    expect([await pay(third), await state(), await listed()]).toEqual([22, states.scanned, [['F-1', 'paid-otherwise']]]);
    expect([await pay(second.id, 'F-2'), await state()]).toEqual([0, states.paid]);
  });

  it('at the moment of a Payd elsewhere, while another attempt is disputed, is not completed by it', async () => {
    await firstIsDisputed();
    const { id: third } = await world.register();
    race.beforeNextTransaction(() => ends(second.id, 'done'));
    expect([await pay(third), await state()]).toEqual([22, states.scanned]);
  });

  it('is fetched by the ERP and by that terminal, and by no other caller [D142]', async () => {
    await ends(card.id, 'done');
    const get = (asker: object) => codeOf(slow.invoices.scan(qr, { ...anybody, ...asker }));
    const askers = [{ hasKey: true }, { deviceId: card.id }, { deviceId: second.id }, { hasKey: false }, {}];
    expect(await Promise.all(askers.map(get))).toEqual([0, 0, 22, 22, 22]);
  });

  it('no longer, because the card was refused, is fetched by every device', async () => {
    await ends(card.id, 'refused');
    expect(await codeOf(slow.invoices.scan(qr, { ...anybody, deviceId: second.id }))).toBe(0);
  });
});

describe('what was judged before', () => {
  it('a second payment began is judged again: a Get', async () => {
    await begin(card.id);
    await ends(card.id, 'refused');
    race.beforeNextTransaction(() => begin(second.id));
    expect(await codeOf(slow.invoices.scan(qr, anybody))).toBe(22);
    expect(await state()).toBe(states.newItem);
  });

  it.each<[string, () => Promise<unknown>, number]>([
    ['a cancellation', () => codeOf(slow.invoices.cancelInvoice({ oid, ...customerLeft() })), 22],
    ['a Get of the ERP', () => codeOf(slow.invoices.scan(qr, { ...anybody, hasKey: true })), 22],
    // The payment is of no terminal that could stop it.
    ['a withdrawal', async () => (await world.run(slow.cards.cancelTransaction(withdrawal()))).code, 30],
  ])('a payment began is judged again: %s', async (_what, call, code) => {
    await begin(card.id);
    await ends(card.id, 'refused');
    race.beforeNextTransaction(() => begin(second.id));
    expect(await call()).toBe(code);
    expect(await state()).toBe(states.newItem);
  });

  it('the invoice ended is judged again: a payment', async () => {
    if (core === 'new') race.afterNextLook(cancel);
    else race.beforeNextTransaction(cancel);
    const request = { merchantId: world.merchantId, deviceId: card.id, amountBani: 1_000, documentNr: oid };
    expect(await world.run(slow.cards.pay(request))).toMatchObject({ code: 22 });
    expect([await state(), world.sendsOf('Pay')]).toEqual([states.cancelled, []]);
  });
});
