// A shop whose sales of every kind are past their retention time [D66]: what is left of them, what their names are answered, and what stays. On
// both cores: in the new one the rules decide what may go.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system.ts';
import { type OperationNames, operationStatus } from '../../src/ledger/operation-status.ts';
import { removableCommands } from '../../src/removal/commands.ts';
import { removableEndedInvoices, removableOperations } from '../../src/removal/decided.ts';
import { removableInvoices } from '../../src/removal/invoices.ts';
import { isNewCore } from '../support/core.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { createSaleWorld, type SaleWorld, type Told } from '../support/sale-world.ts';
import { until } from '../support/until.ts';
import { dayMs } from './old-things.ts';

const keepDays = 400;
const timing = { customerMs: 1, bankMs: 1, printMs: 1 };
const removed = { code: 22, report: undefined, message: expect.stringContaining('record has been removed') as string };

describe.each(engines)('after the retention time on %s', (engine) => {
  let database: TestDatabase;
  let world: SaleWorld;
  let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;
  let register: Awaited<ReturnType<SaleWorld['register']>>;

  beforeEach(async () => {
    database = await openTestDatabase(engine);
    world = await createSaleWorld({ database, clock: systemClock });
    terminal = await addTerminal();
    register = await world.register({ timing });
    await isSeen(register.id);
  });
  afterEach(async () => {
    await world.stop();
    await database.close();
  });

  const isSeen = (id: string) => until(() => world.life.link.presence.of(id) !== undefined);
  async function addTerminal(customerMs = 1) {
    const added = await world.terminal({ timing: { ...timing, customerMs } });
    await isSeen(added.id);
    return added;
  }
  const on = (deviceId: string) => ({ merchantId: world.merchantId, deviceId });
  const asker = { merchantId: undefined, name: 'anybody' };
  const status = (names: OperationNames) =>
    world.told(operationStatus(world.life, { merchantId: world.merchantId, modules: new Set(['POS', 'Fiscal']), ...names }));

  async function paid(lei: number, documentNr: string = randomUUID()) {
    const { code, report, oid } = await world.told(world.pay(terminal.id, lei, documentNr));
    expect(code).toBe(0);
    const numbers = {
      documentNr,
      operationId: String(report?.['operationId']),
      rrn: String(report?.['rrn']),
      token: String(report?.['token']),
    };
    return { ...on(terminal.id), ...numbers, oid: String(oid) };
  }
  type Payment = Awaited<ReturnType<typeof paid>>;
  async function sold(lei: number): Promise<Payment> {
    const payment = await paid(lei);
    expect((await world.told(world.cards.closeDoc(payment))).code).toBe(0);
    return payment;
  }
  const refund = (payment: Payment, lei: number) => world.told(world.cards.refund({ ...payment, amountBani: lei * 100, currency: 'MDL' }));
  const cancel = (payment: Payment, lei: number) => world.told(world.cards.cancelTransaction({ ...payment, amountBani: lei * 100 }));
  const receipt = (Uid: string, lei: number, payment: object) => ({
    ...{ Number: 'A-1', Uid, Items: [{ Name: 'Bread', Quantity: 1, Price: lei }], Payments: [payment] },
  });
  const print = (value: object): Promise<Told> => world.told(world.fiscal.printReceipt({ ...on(register.id), receipt: value }));
  const create = () =>
    world.life.invoices.create({ merchantId: world.merchantId, receipt: receipt('u-7', 10, { PaymentCode: 0, Amount: 10 }) });
  const withdraw = ({ oid }: { oid: string }) =>
    world.life.invoices.cancelInvoice({ oid, merchantId: world.merchantId, reason: 'by mistake', actor: 'ana' });

  /** All that happened so far is 401 days old. */
  async function yearsPass(): Promise<void> {
    await world.life.ledger.timelineOf('');
    const { queries } = database;
    const before = (value: number) => value - 401 * dayMs;
    const beforeIf = (value: number | null) => (value === null ? null : before(value));
    for (const { id, issued_at, settled_at, reviewed_at } of await queries.selectFrom('commands').selectAll().execute()) {
      const earlier = { issued_at: before(issued_at), settled_at: beforeIf(settled_at), reviewed_at: beforeIf(reviewed_at) };
      await queries.updateTable('commands').set(earlier).where('id', '=', id).execute();
    }
    for (const { settled_at: at, command_id } of await queries.selectFrom('settlements').selectAll().execute()) {
      const row = queries.updateTable('settlements').where('command_id', '=', command_id).where('settled_at', '=', at);
      await row.set({ settled_at: before(at) }).execute();
    }
    for (const { oid, created_at, ended_at } of await queries.selectFrom('invoices').selectAll().execute()) {
      const earlier = { created_at: before(created_at), ended_at: beforeIf(ended_at) };
      await queries.updateTable('invoices').set(earlier).where('oid', '=', oid).execute();
    }
  }

  /** What others refer to goes in a later round. */
  async function removeOld(): Promise<void> {
    const { removals } = world.life;
    const kinds = removals
      ? [removableOperations(removals.operation), removableEndedInvoices(removals.invoice)]
      : [removableCommands, removableInvoices];
    for (const kind of [...kinds, ...kinds, ...kinds]) {
      const page = await kind.page(database.queries, keepDays, undefined, 500);
      const ids = page.map(({ id }) => id);
      const asked = new Set(ids.length === 0 ? [] : await kind.filter(database.queries, ids, keepDays));
      for (const { id, atMs } of page) if (asked.has(id)) await kind.remove(database, id, atMs);
    }
  }

  const whole = async () =>
    (await database.queries.selectFrom('commands').select('id').where('removed_at', 'is', null).execute()).map(({ id }) => id);
  const wholeInvoices = async () =>
    (await database.queries.selectFrom('invoices').select('oid').where('removed_at', 'is', null).execute()).map(({ oid }) => oid);
  const numbers = async () =>
    isNewCore ? await database.queries.selectFrom('names').selectAll().where('value', 'not like', '\u0001%').execute() : [];

  async function stopped(deviceId: string): Promise<string> {
    const documentNr = randomUUID();
    const paying = world.told(world.pay(deviceId, 10, documentNr));
    await until(() => world.sendsOf('Pay').some(({ args }) => args?.['documentNr'] === documentNr));
    const call = { ...on(deviceId), documentNr, operationId: 'none', token: '', amountBani: 1_000 };
    expect((await world.told(world.cards.cancelTransaction(call))).code).toBe(0);
    expect((await paying).code).toBe(50);
    return documentNr;
  }

  it('every kind of operation keeps its names alone, and none is done again', async () => {
    const slow = await addTerminal(3_000);
    const payment = await sold(10);
    expect((await refund(payment, 4)).code).toBe(0);
    const returned = await paid(10);
    expect((await cancel(returned, 10)).code).toBe(0);
    // .61: its bank declines the card once.
    const declined = randomUUID();
    expect((await world.told(world.pay(terminal.id, 10.61, declined))).code).toBe(50);
    const number = await stopped(slow.id);
    const [inCash, byCard] = [receipt(randomUUID(), 10, { PaymentCode: 0 }), receipt(randomUUID(), 6, { PaymentCode: 1 })];
    const ofPayment = { ...byCard, Payments: [{ PaymentCode: 1, documentNr: payment.documentNr }] };
    // A repeat is counted in the timeline.
    for (const value of [inCash, inCash, ofPayment]) expect((await print(value)).code).toBe(0);
    expect((await world.told(world.fiscal.cashIn({ ...on(register.id), amountBani: 500, hashRequest: () => 'in' }))).code).toBe(0);
    expect((await world.told(world.fiscal.createReport({ ...on(register.id), isFiscal: true }))).code).toBe(0);
    expect((await world.told(world.cards.closeDay(on(terminal.id)))).code).toBe(0);
    await yearsPass();
    const before = await numbers();
    await removeOld();

    expect(await whole()).toEqual([]);
    const { queries } = database;
    for (const row of await queries.selectFrom('commands').selectAll().execute()) {
      expect(row).toMatchObject({ report: null, reason: null, callback_uri: null, caller: null, request: null, receipt_id: null });
      expect(JSON.parse(row.args)).toEqual(row.name === 'Report' ? { fiscal: true } : {});
    }
    for (const table of ['command_events', 'command_step_counts', 'settlements', 'search_terms'] as const)
      expect(await queries.selectFrom(table).selectAll().execute()).toEqual([]);
    // No number goes, and none stands for less.
    const after = new Map((await numbers()).map(({ value, ops }) => [value, ops]));
    for (const { value, ops } of before) expect(JSON.parse(after.get(value) ?? '[]')).toEqual(expect.arrayContaining(JSON.parse(ops)));

    const sent = world.ledgerSends().length;
    for (const documentNr of [payment.documentNr, returned.documentNr, declined, number]) {
      expect(await world.told(world.pay(terminal.id, 10, documentNr))).toMatchObject(removed);
      expect(await world.told(world.pay(slow.id, 10.61, documentNr))).toMatchObject(removed);
      expect(await status({ documentNr })).toMatchObject(removed);
    }
    for (const { Uid } of [inCash, byCard]) {
      expect(await print(receipt(Uid, 10, { PaymentCode: 0 }))).toMatchObject(removed);
      expect(await status({ receiptUid: Uid })).toMatchObject(removed);
    }
    expect(await status({ oid: payment.oid })).toMatchObject(removed);
    for (const call of [() => refund(payment, 1), () => cancel(payment, 10), () => world.told(world.cards.closeDoc(payment))])
      expect(await call()).toMatchObject({ code: 22, message: removed.message });
    expect(await print({ ...ofPayment, Uid: randomUUID() })).toMatchObject({ code: 22 });
    expect(world.ledgerSends()).toHaveLength(sent);
  });

  it('an open document, the attempts for an open invoice and a notice to be sent stay', async () => {
    const open = await paid(10);
    const other = await addTerminal();
    const [unpaid, cancelled] = [await create(), await create()];
    expect((await world.told(world.pay(other.id, 10.61, unpaid.oid))).code).toBe(50);
    await withdraw(cancelled);
    world.callbackStatus = 500;
    const callbackUri = 'http://127.0.0.1:9/notice?s=#State#';
    expect((await world.told(world.fiscal.cashIn({ ...on(register.id), amountBani: 500, callbackUri }))).code).toBe(0);
    await yearsPass();
    await removeOld();
    expect(await whole()).toHaveLength(3);
    expect(await wholeInvoices()).toEqual([unpaid.oid]);
    // Its number is as free as ever, and the document can be closed.
    expect((await world.told(world.pay(other.id, 10.61, unpaid.oid))).code).toBe(0);
    expect((await world.told(world.cards.closeDoc(open))).code).toBe(0);
  });

  it('an invoice keeps state, payment and names; a late payment of it is an orphan, and one with an orphan stays', async () => {
    const [kept, refused] = [await create(), await create()];
    await world.life.invoices.scan(kept.qr, asker);
    await world.life.invoices.pay(kept.qr, { receiptId: 'F-1', deviceId: register.id }, asker);
    await withdraw(refused);
    const late = { receiptId: 'F-2', deviceId: register.id };
    await expect(world.life.invoices.pay(refused.qr, late, asker)).rejects.toThrow();
    await yearsPass();
    await removeOld();
    expect(await wholeInvoices()).toEqual([refused.oid]);
    const { queries } = database;
    const row = await queries.selectFrom('invoices').selectAll().where('oid', '=', kept.oid).executeTakeFirstOrThrow();
    expect(row).toMatchObject({ state: 2, receipt_id: 'F-1', receipt: '{"Number":"A-1","Uid":"u-7"}', callback_uri: null });
    expect(row.content_hash).toMatch(/^[0-9a-f]{64}$/);
    expect(await queries.selectFrom('invoice_events').select('oid').where('oid', '=', kept.oid).execute()).toEqual([]);
    expect(await world.life.invoices.status(kept.qr, asker)).toMatchObject({ state: 2, receiptId: 'F-1' });
    await world.life.invoices.pay(kept.qr, { receiptId: 'F-1', deviceId: register.id }, asker);
    await expect(world.life.invoices.pay(kept.qr, late, asker)).rejects.toThrow();
    const orphans = await queries.selectFrom('orphan_payments').select(['oid', 'receipt_id']).execute();
    expect(new Set(orphans.map(({ oid, receipt_id }) => `${oid} ${receipt_id}`))).toEqual(
      new Set([`${refused.oid} F-2`, `${kept.oid} F-2`]),
    );
  });

  it('a refund at the same moment is refused, or its payment stays', async () => {
    const { removals } = world.life;
    const remove = (id: string) => removals?.operation(id, { isCallbackPending: false }) ?? removableCommands.remove(database, id);
    for (const isRefundFirst of [true, false]) {
      const payment = await sold(10);
      const close = await world.lastCommand('CloseDoc');
      await yearsPass();
      expect(await remove(close.id)).toBe(true);
      const refunding = isRefundFirst ? refund(payment, 1) : undefined;
      const isRemoved = await remove(payment.oid);
      const { code } = await (refunding ?? refund(payment, 1));
      expect([isRemoved, code]).toEqual(isRemoved ? [true, 22] : [false, 0]);
    }
  });
});
