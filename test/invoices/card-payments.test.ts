// Payments and invoices check each other [D142], through the HTTP API, in real time, on both engines. An invoice is paid by card when the
// documentNr of a Pay is its OID.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Queries } from '../../src/database/database.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { type CabinetWorld, createCabinetWorld } from '../cabinet/views/cabinet-world.ts';
import { isNewCore } from '../support/core.ts';
import { decidedAtOnce } from '../support/disputes-in.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCommand, seedKey } from '../support/fixtures.ts';
import { until } from '../support/until.ts';

const [newItem, scanned, payed, expired, cancelled] = [0, 1, 2, 3, 4];
const minuteMs = 60_000;
const receipt = { Items: [{ Name: 'Coffee', Quantity: 1, Price: 10 }] };
type Answer = Record<string, unknown> & { errorCode: number; errorMessage?: string };

describe.each(engines)('an invoice and card payments on %s', (engine) => {
  let database: TestDatabase;
  let world: CabinetWorld;
  let terminal: Awaited<ReturnType<CabinetWorld['terminal']>>;

  beforeEach(async () => {
    database = await openQuickDatabase(engine);
    world = await createCabinetWorld({ database, clock: systemClock });
    terminal = await addTerminal(10);
  });
  afterEach(async () => {
    await world.close();
    await database.close();
  });

  async function addTerminal(customerMs: number, bankMs = 5) {
    const added = await world.terminal({ hasMagic: false, timing: { customerMs, bankMs } });
    await until(() => world.life.link.presence.of(added.id) !== undefined);
    return added;
  }

  async function post(path: string, payload: object, headers: Record<string, string> = {}): Promise<Answer> {
    return (
      await world.server.app.inject({ method: 'POST', url: path, payload: { APIKey: world.key, ...payload }, headers })
    ).json<Answer>();
  }
  async function get(path: string, query: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> {
    return (await world.server.app.inject({ method: 'GET', url: path, query, headers })).json<Answer>();
  }
  async function inCabinet(method: 'GET' | 'POST', path: string): Promise<Answer> {
    const headers = { authorization: 'Bearer canary-admin-token-of-the-cabinet' };
    const body = method === 'POST' ? { payload: {} } : {};
    return (await world.server.app.inject({ method, url: `/cabinet/api${path}`, headers, ...body })).json<Answer>();
  }

  async function create(extra: object = {}): Promise<{ oid: string; qr: string }> {
    const { OID, QR } = await post('/Invoice/Create', { Receipt: receipt, CallbackURI: 'http://erp.example/?s=#State#', ...extra });
    return { oid: String(OID), qr: String(QR) };
  }
  const inAMinute = () => ({ ValidTo: new Date(Date.now() + minuteMs).toISOString() });
  const pay = (documentNr: string, deviceId = terminal.id, headers = {}) =>
    post('/Device/payment/Pay', { DeviceID: deviceId, amount: 10, documentNr }, headers);
  const withdraw = (documentNr: string, extra: object = {}, headers = {}) => {
    const body = { DeviceID: terminal.id, documentNr, operationId: 'none', token: '', amount: 10, ...extra };
    return post('/Device/payment/CancelTransaction', body, headers);
  };
  const scanByKey = (qr: string) => get('/Invoice/Get', { QR: qr, APIKey: world.key });
  const scanByAnybody = (qr: string) => get('/Invoice/Get', { QR: qr });
  const payd = (qr: string, receiptId = 'F-1', deviceId = terminal.id) =>
    get('/Invoice/Payd', { QR: qr, ReceiptID: receiptId, DeviceID: deviceId, APIKey: world.key });
  const stateOf = async (qr: string) => (await get('/Invoice/Status', { QR: qr }))['Status'];
  const cancelInCabinet = (oid: string) => inCabinet('POST', `/invoices/${oid}/cancel`);
  const callbacksOf = async (oid: string) => {
    const rows = await database.queries.selectFrom('callbacks').select('url').where('subject_id', '=', oid).orderBy('sequence').execute();
    return rows.map(({ url }) => new URL(url).searchParams.get('s'));
  };
  async function credentialOf(deviceId: string): Promise<Record<string, string>> {
    const { secret } = await world.devices.newSecret('test', deviceId);
    return { authorization: `Basic ${Buffer.from(`${deviceId}:${secret}`).toString('base64')}` };
  }
  async function approved(oid: string, deviceId = terminal.id): Promise<Record<string, unknown>> {
    const answer = await pay(oid, deviceId);
    expect(answer).toMatchObject({ errorCode: 0 });
    return JSON.parse(String(answer['report'])) as Record<string, unknown>;
  }
  /** A payment that waits for the card until the test ends. */
  async function running(oid: string) {
    const slow = await addTerminal(60_000);
    const answer = pay(oid, slow.id);
    await until(async () => (await world.commands()).some(({ documentNr }) => documentNr === oid));
    return { slow, answer };
  }
  /** An operator has said that it was not made, and the terminal says that it was. */
  async function disputed(oid: string): Promise<void> {
    const decided = await decidedAtOnce(world, terminal.id, () => pay(oid), 'refused');
    await decided.contradict();
  }

  describe('a Pay under its OID', () => {
    it.each(['Payed', 'Expired', 'Cancelled'])('is 22 and charges nothing when it is %s', async (state) => {
      const { oid, qr } = await create(state === 'Expired' ? inAMinute() : {});
      if (state === 'Payed') for (const call of [scanByKey, payd]) expect(await call(qr)).toMatchObject({ errorCode: 0 });
      if (state === 'Cancelled') expect(await cancelInCabinet(oid)).toMatchObject({ errorCode: 0 });
      // Nobody has noticed yet.
      if (state === 'Expired') database.shiftClock(2 * minuteMs);
      const answer = await pay(oid);
      expect(answer).toMatchObject({ errorCode: 22 });
      expect(answer.errorMessage).toContain(state);
      expect(await pay(oid, terminal.id, { 'idempotency-key': 'k' })).toMatchObject({ errorCode: 22 });
      expect(await world.commands()).toEqual([]);
      expect(terminal.bank.charges()).toEqual([]);
    });

    it('repeated after the invoice was paid gets the answer of the first', async () => {
      const { oid, qr } = await create();
      const first = await pay(oid);
      for (const call of [scanByKey, payd]) expect(await call(qr)).toMatchObject({ errorCode: 0 });
      expect(await stateOf(qr)).toBe(payed);
      expect(await pay(oid)).toEqual(first);
      expect(terminal.bank.charges()).toHaveLength(1);
    });

    it('charges once, also under a key, for an unpaid one, and for another merchant’s OID', async () => {
      const [{ oid }, second] = [await create(), await create()];
      await approved(oid);
      expect(await pay(oid)).toMatchObject({ errorCode: 0 });
      expect(terminal.bank.charges()).toHaveLength(1);
      const free = await addTerminal(10);
      expect(await pay(second.oid, free.id, { 'idempotency-key': 'k' })).toMatchObject({ errorCode: 0 });
      expect(await pay(second.oid, free.id, { 'idempotency-key': 'k' })).toMatchObject({ errorCode: 0 });
      expect(free.bank.charges()).toHaveLength(1);

      const { oid: foreign } = await create();
      await database.queries
        .updateTable('invoices')
        .set({ merchant_id: world.otherMerchantId, state: 4, ended_at: Date.now() })
        .where('oid', '=', foreign)
        .execute();
      expect(await pay(foreign, (await addTerminal(10)).id)).toMatchObject({ errorCode: 0 });
    });

    it('is 22 after the bank’s no once the invoice was cancelled since', async () => {
      const { oid, qr } = await create();
      const strict = await world.terminal({ timing: { customerMs: 10, bankMs: 5 } });
      await until(() => world.life.link.presence.of(strict.id) !== undefined);
      const payOf = (amount: number) => post('/Device/payment/Pay', { DeviceID: strict.id, amount, documentNr: oid });
      const declined = 10.61;
      expect(await payOf(declined)).toMatchObject({ errorCode: 50 });
      expect(await scanByAnybody(qr)).toMatchObject({ errorCode: 0 });
      expect(await cancelInCabinet(oid)).toMatchObject({ errorCode: 0 });
      expect(await payOf(10)).toMatchObject({ errorCode: 22 });
      expect(strict.bank.charges()).toEqual([]);
      expect(await callbacksOf(oid)).toEqual(['Scanned', 'Cancelled']);
    });
  });

  describe('Get', () => {
    it('is 22 to all callers while a payment is open', async () => {
      const { oid, qr } = await create();
      const { slow } = await running(oid);
      const own = await credentialOf(slow.id);
      for (const answer of [await scanByKey(qr), await scanByAnybody(qr), await get('/Invoice/Get', { QR: qr }, own)])
        expect(answer).toMatchObject({ errorCode: 22 });
      expect(await stateOf(qr)).toBe(newItem);
    });

    it('is 22 to all callers while a payment is disputed, also of a Scanned one', async () => {
      const { oid, qr } = await create();
      expect(await scanByAnybody(qr)).toMatchObject({ errorCode: 0 });
      await disputed(oid);
      expect(await scanByKey(qr)).toMatchObject({ errorCode: 22 });
      expect(await scanByAnybody(qr)).toMatchObject({ errorCode: 22 });
      expect(await stateOf(qr)).toBe(scanned);
    });

    it('is for the paid device and the ERP’s key alone once it is done; the ERP completes it with Payd', async () => {
      const { oid, qr } = await create();
      await approved(oid);
      const other = await addTerminal(10);
      expect(await scanByAnybody(qr)).toMatchObject({ errorCode: 22 });
      expect(await get('/Invoice/Get', { QR: qr }, await credentialOf(other.id))).toMatchObject({ errorCode: 22 });
      expect(await stateOf(qr)).toBe(newItem);
      expect(await get('/Invoice/Get', { QR: qr }, await credentialOf(terminal.id))).toMatchObject({ errorCode: 0, Status: scanned });
      expect(await scanByKey(qr)).toMatchObject({ errorCode: 0, Status: scanned });
      expect(await scanByAnybody(qr)).toMatchObject({ errorCode: 22 });
      expect(await payd(qr)).toMatchObject({ errorCode: 0 });
      expect(await payd(qr)).toMatchObject({ errorCode: 0 });
      expect(await stateOf(qr)).toBe(payed);
      expect(await callbacksOf(oid)).toEqual(['Scanned', 'Payed']);
    });
  });

  describe('a Payd of another device', () => {
    it('after the card payment is a second one: it is 22, and on the orphan board', async () => {
      const { oid, qr } = await create();
      const other = await addTerminal(10);
      const credential = await credentialOf(other.id);
      expect(await get('/Invoice/Get', { QR: qr }, credential)).toMatchObject({ errorCode: 0 });
      await approved(oid);
      const query = { QR: qr, ReceiptID: 'F-2', DeviceID: other.id };
      expect(await get('/Invoice/Payd', query, credential)).toMatchObject({ errorCode: 22 });
      expect(await database.queries.selectFrom('orphan_payments').select('receipt_id').execute()).toEqual([{ receipt_id: 'F-2' }]);
      expect(await stateOf(qr)).toBe(scanned);
      expect(await get('/Invoice/Payd', { ...query, DeviceID: terminal.id }, await credentialOf(terminal.id))).toMatchObject({
        errorCode: 0,
      });
      expect(await stateOf(qr)).toBe(payed);
    });
  });

  describe('cancelling in the cabinet', () => {
    const stages = ['open', 'done', 'disputed'] as const;
    it.each(stages)('is 22 while a payment is %s', async (stage) => {
      const { oid, qr } = await create();
      if (stage === 'open') await running(oid);
      if (stage === 'done') await approved(oid);
      if (stage === 'disputed') await disputed(oid);
      const answer = await cancelInCabinet(oid);
      expect(answer).toMatchObject({ errorCode: 22 });
      expect(answer.errorMessage).toContain('stop or void');
      expect(await stateOf(qr)).toBe(newItem);
      const { steps } = (await inCabinet('GET', `/invoices/${oid}`)) as unknown as { steps: object[] };
      // The new core gives the sentence of the refused call.
      const key = isNewCore ? (expect.any(String) as string) : 'whyNot.invoice.payment';
      expect(steps).toMatchObject([{ action: 'cancel', isAllowed: false, whyNot: { key } }]);
    });

    it('is done by the void of its payment', async () => {
      const { oid, qr } = await create();
      const { operationId, token } = await approved(oid);
      expect(await withdraw(oid, { operationId, token })).toMatchObject({ errorCode: 0 });
      expect(await stateOf(qr)).toBe(cancelled);
      expect(await callbacksOf(oid)).toEqual(['Cancelled']);
    });

    it('is done by a void made while its payment was disputed, once that is resolved as executed', async () => {
      const { oid, qr } = await create();
      terminal = await addTerminal(10, 800);
      const { id, contradict, operationId, token } = await decidedAtOnce(world, terminal.id, () => pay(oid), 'done');
      const voiding = withdraw(oid, { operationId, token });
      await until(() => world.sendsOf('CancelTransaction').length > 0);
      await contradict();
      expect(await voiding).toMatchObject({ errorCode: 0 });
      expect(await stateOf(qr)).toBe(newItem);
      await world.life.ledger.decide(id, { state: 'done', reason: 'In the list.', actor: 'ana', closesReview: true });
      expect(await stateOf(qr)).toBe(cancelled);
      expect(await callbacksOf(oid)).toEqual(['Cancelled']);
    });
  });

  describe('its validity limit', () => {
    it('does not end one that was paid by card: it is completed later, and listed until then', async () => {
      const { oid, qr } = await create(inAMinute());
      await approved(oid);
      // The new core lists it five minutes after the payment: its ERP may just be completing it.
      database.shiftClock((isNewCore ? 6 : 2) * minuteMs);
      expect(await world.life.invoices.expireOverdue()).toBe(0);
      expect(await stateOf(qr)).toBe(newItem);
      const listed = async () => ((await inCabinet('GET', '/attention')) as unknown as { items: { kind: string; oid?: string }[] }).items;
      expect((await listed()).filter(({ kind }) => kind === 'paidByCard')).toMatchObject([{ oid, amount: 10 }]);
      expect(await scanByKey(qr)).toMatchObject({ errorCode: 0 });
      expect(await payd(qr)).toMatchObject({ errorCode: 0 });
      expect((await listed()).filter(({ kind }) => kind === 'paidByCard')).toEqual([]);
    });

    it('ends one whose payment was not made, and waits for one that is open', async () => {
      const { oid, qr } = await create(inAMinute());
      const { slow, answer } = await running(oid);
      database.shiftClock(2 * minuteMs);
      expect(await world.life.invoices.expireOverdue()).toBe(0);
      expect(await stateOf(qr)).toBe(newItem);
      const { id, journalId } = await world.lastCommand();
      const said = { v: 1, id, device: slow.id, clock: new Date().toISOString(), journalId: String(journalId) } as const;
      world.sayAs(slow.id, { ...said, outcome: 'refused' });
      expect(await answer).toMatchObject({ errorCode: 50 });
      expect(await world.life.invoices.expireOverdue()).toBe(1);
      expect(await stateOf(qr)).toBe(expired);
      expect(await callbacksOf(oid)).toEqual(['Expired']);
    });
  });

  // Locks of the old core; paid-beside-card.test.ts has calls that another gateway overtakes, for both.
  describe.runIf(!isNewCore)('a call that waits for its lock', () => {
    /** Begins while the transaction holds the invoice, and ends after its commit. */
    async function meanwhile(within: (queries: Queries) => Promise<unknown>, call: () => Promise<Answer>): Promise<Answer> {
      const [isHeld, isWaiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const holding = database.transaction(async (queries) => {
        await within(queries);
        isHeld.resolve();
        await isWaiting.promise;
      });
      await isHeld.promise;
      const answer = call();
      setTimeout(isWaiting.resolve, 50);
      await holding;
      return answer;
    }
    const begin = (oid: string) => async (queries: Queries) => {
      await world.life.invoices.holdForCharge(queries, oid, world.merchantId);
      await seedCommand(queries, world.merchantId, terminal.id, { id: world.random.uuid(), document_nr: oid });
    };

    it.each(['Get', 'cancel', 'withdraw', 'Get without a key'])('to %s it sees the payment that began', async (what) => {
      const { oid, qr } = await create();
      const calls: Record<string, () => Promise<Answer>> = {
        Get: () => scanByKey(qr),
        cancel: () => cancelInCabinet(oid),
        // The payment is of no terminal that could stop it.
        withdraw: () => withdraw(oid, { DeviceID: world.random.uuid() }),
        'Get without a key': () => scanByAnybody(qr),
      };
      const answer = await meanwhile(begin(oid), () => calls[what]?.() ?? Promise.reject(new Error(what)));
      expect(answer.errorCode).toBe(what === 'withdraw' ? 30 : 22);
      expect([await stateOf(qr), await callbacksOf(oid)]).toEqual([newItem, []]);
    });

    it('to let it expire sees the payment that began', async () => {
      const { oid, qr } = await create(inAMinute());
      const answer = await meanwhile(begin(oid), async () => {
        database.shiftClock(2 * minuteMs);
        return get('/Invoice/Status', { QR: qr });
      });
      expect(answer).toMatchObject({ errorCode: 0, Status: newItem });
      expect(await world.life.invoices.expireOverdue()).toBe(0);
    });

    it('to pay it by card sees that it was cancelled', async () => {
      const { oid } = await create();
      const cancel = (queries: Queries) => world.life.invoices.cancelUnpaidInvoice(queries, oid, world.merchantId, 'test');
      expect(await meanwhile(cancel, () => pay(oid))).toMatchObject({ errorCode: 22 });
      expect(terminal.bank.charges()).toEqual([]);
    });
  });

  describe('CancelTransaction with its OID', () => {
    it('withdraws it: 0, a callback, no more Get, and the same again', async () => {
      const { oid, qr } = await create();
      expect(await withdraw(oid)).toMatchObject({ errorCode: 0, PreviousStatus: newItem });
      expect(await scanByKey(qr)).toMatchObject({ errorCode: 22 });
      expect(await stateOf(qr)).toBe(cancelled);
      expect(await withdraw(oid)).toMatchObject({ errorCode: 0, PreviousStatus: newItem });
      expect(await callbacksOf(oid)).toEqual(['Cancelled']);
      expect(await world.commands()).toEqual([]);
    });

    it('says what it was before, under an Idempotency-Key too', async () => {
      const { oid, qr } = await create();
      await scanByAnybody(qr);
      const key = { 'idempotency-key': 'withdraw-1' };
      expect(await withdraw(oid, {}, key)).toMatchObject({ errorCode: 0, PreviousStatus: scanned });
      expect(await withdraw(oid, {}, key)).toMatchObject({ errorCode: 0, PreviousStatus: scanned });
      expect(await withdraw((await create()).oid, {}, key)).toMatchObject({ errorCode: 22 });
    });

    it('asks for no device, and is content with a key for QR alone', async () => {
      const [first, second, third] = [await create(), await create(), await create()];
      const noDevice = { DeviceID: world.random.uuid() };
      expect(await withdraw(first.oid.toUpperCase(), noDevice)).toMatchObject({ errorCode: 0, PreviousStatus: newItem });
      const { key } = await seedKey(database.queries, world.merchantId, { opens_pos: 0, opens_fiscal: 0 });
      expect(await withdraw(second.oid, { ...noDevice, APIKey: key })).toMatchObject({ errorCode: 0, PreviousStatus: newItem });
      expect(await withdraw(world.random.uuid(), { APIKey: key })).toMatchObject({ errorCode: 11 });
      await running(third.oid);
      expect(await withdraw(third.oid, { APIKey: key })).toMatchObject({ errorCode: 22 });
      const { key: fiscal } = await seedKey(database.queries, world.merchantId, { opens_pos: 0, opens_qr: 0 });
      expect(await withdraw(second.oid, { APIKey: fiscal })).toMatchObject({ errorCode: 11 });
    });

    it('is 22 once it was paid or has expired, and 20 for another merchant’s', async () => {
      const [{ oid, qr }, late, foreign] = [await create(), await create(inAMinute()), await create()];
      for (const call of [scanByKey, payd]) expect(await call(qr)).toMatchObject({ errorCode: 0 });
      expect(await withdraw(oid)).toMatchObject({ errorCode: 22 });
      database.shiftClock(2 * minuteMs);
      expect(await withdraw(late.oid)).toMatchObject({ errorCode: 22 });
      await database.queries.updateTable('invoices').set({ merchant_id: world.otherMerchantId }).where('oid', '=', foreign.oid).execute();
      expect(await withdraw(foreign.oid)).toMatchObject({ errorCode: 20 });
      expect(await stateOf(foreign.qr)).toBe(newItem);
    });

    it('stops the payment that is on the terminal, which cancels the invoice; one that was approved stays', async () => {
      const { oid, qr } = await create();
      const { slow, answer } = await running(oid);
      await until(() => world.sendsOf('Pay').length > 0);
      expect(await withdraw(oid, { DeviceID: slow.id })).toMatchObject({ errorCode: 0 });
      expect(await answer).toMatchObject({ errorCode: 50 });
      expect(await stateOf(qr)).toBe(cancelled);
      // There is no payment any more, and the invoice is withdrawn already.
      expect(await withdraw(oid)).toMatchObject({ errorCode: 0, PreviousStatus: newItem });

      const paid = await create();
      await approved(paid.oid);
      expect((await withdraw(paid.oid)).errorCode).not.toBe(0);
      expect(await stateOf(paid.qr)).toBe(newItem);
    });
  });
});
