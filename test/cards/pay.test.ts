// Pay: one charge per documentNr [D13], a terminal that serves one at a time [D14], 3 that means unknown [D15].
import { describe, expect, it } from 'vitest';
import { findPaymentOf, pay } from '../../src/cards/pay.ts';
import { isNewCore } from '../support/core.ts';
import { seedInvoice } from '../support/fixtures.ts';
import { createSaleWorld } from '../support/sale-world.ts';

const key = (name: string, body = 'body') => ({ idempotency: { key: name, requestHash: body } });

describe('Pay', () => {
  it('charges the exact amount and returns the terminal’s own report', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const answer = await world.run(world.pay(terminal.id, 12.05));
    expect(answer).toMatchObject({ code: 0, report: { amount: 12.05 } });
    const [charge] = terminal.bank.charges();
    expect(charge?.entry).toMatchObject({ amountBani: 1205, rrn: answer.report?.rrn, operationId: answer.report?.operationId });
    expect(await world.lastCommand()).toMatchObject({ state: 'done', settledBy: 'answer', documentState: 'open', amountBani: 1205 });
  });

  it('lets a repeat join the payment in flight: one charge, one answer', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const first = world.pay(terminal.id, 10.64, documentNr); // slow: 20 s
    await world.clock.advance(5_000);
    const second = world.pay(terminal.id, 10.64, documentNr.toUpperCase());
    const [a, b] = await Promise.all([world.run(first), world.run(second)]);
    expect(a.code).toBe(0);
    expect(b).toEqual(a);
    expect(terminal.bank.charges()).toHaveLength(1);
    expect(world.ledgerSends()).toHaveLength(1);
  });

  it('of many at once under one documentNr charges once', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const calls = Array.from({ length: 20 }, () => world.run(world.pay(terminal.id, 10, documentNr)));
    const answers = await Promise.all(calls);
    expect(new Set(answers.map(({ code }) => code))).toEqual(new Set([0]));
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('is answered from the ledger while its document is open, then with 22', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const first = await world.run(world.pay(terminal.id, 10, documentNr));
    expect(await world.run(world.pay(terminal.id, 10, documentNr))).toEqual(first);
    const operationId = String(first.report?.operationId);
    const closed = await world.run(world.cards.closeDoc({ merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId }));
    expect(closed.code).toBe(0);
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(22);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('is 22 when its documentNr was used for another amount or terminal', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const other = await world.terminal();
    const documentNr = world.random.uuid();
    const first = world.pay(terminal.id, 10.64, documentNr);
    await world.clock.advance(1_000);
    expect((await world.run(world.pay(terminal.id, 11, documentNr), 500)).code).toBe(22);
    expect((await world.run(world.pay(other.id, 10.64, documentNr), 500)).code).toBe(22);
    expect((await world.run(first)).code).toBe(0);
    expect((await world.run(world.pay(terminal.id, 11, documentNr))).code).toBe(22);
    expect((await world.run(world.pay(other.id, 10.64, documentNr))).code).toBe(22);
    expect(other.bank.charges()).toHaveLength(0);
  });

  it('is not said to be closed when another amount was paid under its documentNr: that would be taken for paid', async () => {
    const world = await createSaleWorld();
    const [terminal, other] = [await world.terminal(), await world.terminal()];
    const documentNr = world.random.uuid();
    const { oid, report } = await world.run(world.pay(terminal.id, 10, documentNr));
    const { operationId, rrn } = (report ?? {}) as { operationId: string; rrn: string };
    const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId };
    expect((await world.run(world.cards.closeDoc(named))).code).toBe(0);
    for (const { id } of [terminal, other])
      expect(await world.run(world.pay(id, 20, documentNr))).toMatchObject({ code: 22, oid, state: undefined });
    // The same amount is paid, wherever it is asked for; and not any more once it was refunded.
    expect(await world.run(world.pay(other.id, 10, documentNr))).toMatchObject({ code: 22, state: 'Closed', report });
    expect((await world.run(world.cards.refund({ ...named, rrn, amountBani: 1_000, currency: undefined }))).code).toBe(0);
    expect(await world.run(world.pay(other.id, 10, documentNr))).toMatchObject({ code: 22, state: 'Refunded' });
    expect(other.bank.charges()).toEqual([]);
  });

  it('makes a new attempt after a refusal', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    expect(await world.run(world.pay(terminal.id, 10.61, documentNr))).toMatchObject({ code: 50, report: { amount: 10.61 } });
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
    expect((await world.commands()).map(({ state }) => state)).toEqual(['refused', 'done']);
  });

  it('answers 31 for a terminal in use, and for each part of a split payment takes its own documentNr', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const first = world.pay(terminal.id, 10.64);
    await world.clock.advance(1_000);
    expect((await world.run(world.pay(terminal.id, 5, undefined), 100)).code).toBe(31);
    expect((await world.run(world.pay(terminal.id, 5), 100)).code).toBe(31);
    const paid = await world.run(first);
    // Approved and not closed: still not free.
    expect((await world.run(world.pay(terminal.id, 5))).code).toBe(31);
    const { documentNr } = await world.lastCommand();
    const close = {
      merchantId: world.merchantId,
      deviceId: terminal.id,
      documentNr: documentNr ?? '',
      operationId: String(paid.report?.operationId),
    };
    expect((await world.run(world.cards.closeDoc(close))).code).toBe(0);
    expect((await world.run(world.pay(terminal.id, 5))).code).toBe(0);
    expect(terminal.bank.netBani()).toBe(1564);
  });

  it('answers 30 for a device that is offline, unknown, of another merchant, or disabled, and 40 for a register', async () => {
    const world = await createSaleWorld();
    const away = await world.terminal({ isAway: true });
    const foreign = await world.terminal({ merchantId: world.otherMerchantId });
    const register = await world.register();
    const disabled = await world.terminal();
    await world.database.queries.updateTable('devices').set({ disabled_at: 1 }).where('id', '=', disabled.id).execute();
    const answers = [];
    for (const id of [away.id, foreign.id, world.random.uuid(), disabled.id]) answers.push(await world.run(world.pay(id, 10)));
    expect(answers.map(({ code }) => code)).toEqual([30, 30, 30, 30]);
    // What is unknown, foreign or disabled looks the same [D11].
    expect(new Set(answers.slice(1).map(({ message }) => message)).size).toBe(1);
    expect((await world.run(world.pay(register.id, 10))).code).toBe(40);
    expect(await world.commands()).toEqual([]);
  });

  it('answers 3 after five minutes, and a repeat returns the outcome of the late answer', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const startedAt = world.clock.elapsed();
    const first = await world.run(world.pay(terminal.id, 10.65, documentNr));
    expect(first.code).toBe(3);
    expect(world.clock.elapsed() - startedAt).toBe(300_000);
    expect((await world.run(world.pay(terminal.id, 5), 100)).code).toBe(31);
    await world.clock.advance(10_000);
    expect(await world.lastCommand()).toMatchObject({ state: 'done', settledBy: 'late-answer' });
    expect(await world.run(world.pay(terminal.id, 10.65, documentNr))).toMatchObject({ code: 0, report: { amount: 10.65 } });
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('a caller that disconnects does not cancel the payment', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    void world.pay(terminal.id, 10.64, documentNr);
    await world.clock.advance(60_000);
    expect((await world.run(world.pay(terminal.id, 10.64, documentNr))).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
  });
});

describe('Idempotency-Key', () => {
  it('same key and body: the same answer, also after CloseDoc; other body: 22', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const first = await world.run(world.pay(terminal.id, 10, documentNr, key('k1')));
    const close = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: String(first.report?.operationId) };
    await world.run(world.cards.closeDoc(close));
    expect(await world.run(world.pay(terminal.id, 10, documentNr, key('k1')))).toEqual({ ...first, state: 'Closed' });
    expect((await world.run(world.pay(terminal.id, 10, documentNr, key('k1', 'other')))).code).toBe(22);
    expect((await world.run(world.cards.closeDoc({ ...close, operationId: 'nothing', ...key('k1', 'other') }))).code).toBe(22);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('of many at once without a documentNr charges once', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const pay = () => world.cards.pay({ merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1000, ...key('k1') });
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.run(pay())));
    expect(answers.map(({ code }) => code)).toEqual(Array.from({ length: 10 }, () => 0));
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('a joined request’s key belongs to the payment that it joined', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const first = world.pay(terminal.id, 10.64, documentNr);
    await world.clock.advance(1_000);
    const joined = world.pay(terminal.id, 10.64, documentNr, key('late key'));
    const [a, b] = await Promise.all([world.run(first), world.run(joined)]);
    expect(b).toEqual(a);
    const close = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: String(a.report?.operationId) };
    await world.run(world.cards.closeDoc(close));
    expect(await world.run(world.pay(terminal.id, 10.64, documentNr, key('late key')))).toEqual({ ...a, state: 'Closed' });
    expect((await world.run(world.pay(terminal.id, 7, undefined, key('late key', 'other')))).code).toBe(22);
  });

  it('stores a refusal, and nothing for a command that was not sent', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    expect((await world.run(world.pay(terminal.id, 10.61, documentNr, key('refused')))).code).toBe(50);
    expect((await world.run(world.pay(terminal.id, 10.61, documentNr, key('refused')))).code).toBe(50);
    expect(world.ledgerSends()).toHaveLength(1);
    // 31 by the device itself: the same key may try again, even with another body.
    expect((await world.run(world.pay(terminal.id, 10.72, undefined, key('busy')))).code).toBe(31);
    expect((await world.run(world.pay(terminal.id, 20, undefined, key('busy', 'other')))).code).toBe(0);
    // 30.
    const away = await world.terminal({ isAway: true });
    expect((await world.run(world.pay(away.id, 10, undefined, key('away')))).code).toBe(30);
    world.setAway(away.id, false);
    await world.clock.advance(60_000);
    expect((await world.run(world.pay(away.id, 10, undefined, key('away')))).code).toBe(0);
  });

  it('3 is looked up again each time', async () => {
    const world = await createSaleWorld();
    const terminal = await world.terminal();
    expect((await world.run(world.pay(terminal.id, 10.65, undefined, key('k')))).code).toBe(3);
    await world.clock.advance(10_000);
    expect((await world.run(world.pay(terminal.id, 10.65, undefined, key('k')))).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
  });
});

describe('Pay and invoices', () => {
  // It wraps a function of the old core; the new one assumes that the number is no OID, and its commit has a guard for that, which the
  // exploration leaves out once (exploration/guards.ts).
  it.skipIf(isNewCore)(
    'asks only once for the invoice of its documentNr: the insert of a first try, which most payments are, does it by itself',
    async () => {
      const world = await createSaleWorld();
      const terminal = await world.terminal();
      const asked: string[] = [];
      const isChargeable: typeof world.life.invoices.isChargeable = async (documentNr, merchantId) => {
        asked.push(documentNr);
        return world.life.invoices.isChargeable(documentNr, merchantId);
      };
      const { database, ledger, link, callbacks } = world.life;
      const invoices = { ...world.life.invoices, isChargeable };
      const deps = { database, ledger, link, callbacks, invoices, clock: world.clock, random: world.random, logger: world.logger };
      const charge = (documentNr: string) =>
        world.run(pay(deps, { merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1_000, documentNr }));
      const documentNr = world.random.uuid();
      const { report } = await charge(documentNr);
      expect(asked).toEqual([]);
      const closed = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: String(report?.operationId) };
      expect((await world.run(world.cards.closeDoc(closed))).code).toBe(0);
      const { oid } = await seedInvoice(database.queries, world.merchantId);
      expect((await charge(oid)).code).toBe(0);
      expect(asked).toEqual([oid]);
    },
  );

  it('without documentNr looks for no payment that has it', async () => {
    const nobody = {} as Parameters<typeof findPaymentOf>[0]['database'];
    await expect(findPaymentOf({ database: nobody }, { merchantId: 'm', documentNr: null, amountBani: 1 })).resolves.toBeUndefined();
  });
});
