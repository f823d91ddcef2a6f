// The mark that an abort leaves on its payment [D18, D19]: it goes when the terminal refuses, before a caller is answered 22; and 0 is
// only said when the invoice is cancelled, too.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deviceAccessTopic } from '../../src/access/merchant-device.ts';
import { confirmAbort, markAbortRequested, withdrawAbort } from '../../src/cards/abort-store.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { findCommand } from '../../src/ledger/store.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { isNewCore } from '../support/core.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../support/engines.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { seedCommand, seedDevice, seedInvoice, seedMerchant } from '../support/fixtures.ts';
import { settle } from '../support/ledger-statements.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

const [newItem, cancelled] = [0, 4];
const declined = 10.61;

describe('an abort', () => {
  let world: SaleWorld;

  beforeEach(async () => {
    world = await createSaleWorld();
  });

  /** A payment of an invoice whose bank takes that long, and which the bank is being asked about right now. */
  async function askedBank(bankMs: number, lei = declined) {
    const terminal = await world.terminal({ timing: { customerMs: 100, bankMs } });
    const { oid } = await seedInvoice(world.database.queries, world.merchantId);
    const paying = world.pay(terminal.id, lei, oid);
    await world.clock.advance(1_000);
    const abort = (extras: object = {}) => {
      const asked = { merchantId: world.merchantId, deviceId: terminal.id, documentNr: oid, operationId: 'none', token: 'none' };
      return world.cards.cancelTransaction({ ...asked, amountBani: Math.round(lei * 100), ...extras });
    };
    const invoice = async () =>
      (await world.database.queries.selectFrom('invoices').select('state').where('oid', '=', oid).executeTakeFirstOrThrow()).state;
    return { terminal, paying, abort, invoice };
  }

  it('that was answered 22 cancels nothing when the bank declines afterwards, and stays 22 under its key', async () => {
    const { paying, abort, invoice } = await askedBank(10_000);
    const key = { idempotency: { key: 'k', requestHash: 'h' } };
    expect((await world.run(abort(key))).code).toBe(22);
    expect((await world.lastCommand()).abortRequestedAtMs).toBeNull();
    expect((await world.run(paying)).code).toBe(50);
    expect(await invoice()).toBe(newItem);
    expect((await world.run(abort(key))).code).toBe(22);
  });

  it('that was refused, while the payment ended as not made a moment later, is 0, and the invoice is cancelled', async () => {
    const { paying, abort, invoice } = await askedBank(2_000);
    expect((await world.run(abort())).code).toBe(0);
    expect(await invoice()).toBe(cancelled);
    expect((await world.run(paying)).code).toBe(50);
  });

  it('that is refused keeps the request of another abort that is still unanswered', async () => {
    const { paying, abort, invoice } = await askedBank(10_000);
    let answers = 0;
    world.onAnswer = (answer) => {
      const isOfAbort = world.sendsOf('Abort').some(({ id }) => id === answer.id);
      answers += isOfAbort ? 1 : 0;
      return isOfAbort && answers > 1 ? undefined : answer;
    };
    const first = world.told(abort());
    await world.clock.advance(1);
    const second = world.told(abort());
    expect((await world.run(paying)).code).toBe(50);
    await world.clock.advance(1_000);
    expect((await first).code).toBe(22);
    // With the new core the second request joins the first one, which has ended for good [D315].
    expect((await second).code).toBe(isNewCore ? 22 : 0);
    expect(await invoice()).toBe(isNewCore ? newItem : cancelled);
  });

  it('whose gateway died before the terminal answered keeps its mark: no caller was answered otherwise', async () => {
    const { abort, invoice } = await askedBank(10_000);
    void world.told(abort());
    world.onAnswer = () => undefined;
    await world.clock.advance(5);
    await world.crash();
    world.onAnswer = (answer) => answer;
    await world.restart();
    await world.clock.advance(60_000);
    expect((await world.lastCommand()).state).toBe('refused');
    expect(await invoice()).toBe(cancelled);
  });

  /** A payment whose terminal refuses to stop it, expires by a wrong clock and goes out once more, while an abort waits. */
  async function abortedWhileItExpires() {
    const terminal = await world.terminal();
    await world.clock.advance(1_000);
    terminal.setFaults({ clockSkewMs: 60_000 });
    const { oid } = await seedInvoice(world.database.queries, world.merchantId);
    let expired: AnswerMessage | undefined;
    world.onAnswer = (answer) => {
      if (answer.outcome !== 'expired') return answer;
      expired = answer;
      return undefined;
    };
    const paying = world.pay(terminal.id, 10, oid);
    await world.clock.advance(500);
    const asked = { merchantId: world.merchantId, deviceId: terminal.id, documentNr: oid, operationId: 'none', token: 'none' };
    const aborting = world.told(world.cards.cancelTransaction({ ...asked, amountBani: 1000 }));
    await world.clock.advance(500);
    if (!expired) throw new Error('The payment did not expire.');
    world.sayAs(terminal.id, expired);
    return { terminal, oid, paying, aborting };
  }

  it('of a payment that expires by a wrong clock after the terminal refused to stop it ends with it, or continues with the second copy', async () => {
    const { terminal, oid, paying, aborting } = await abortedWhileItExpires();
    const paid = await world.run(paying);
    await world.clock.advance(60_000);
    // Not 0 about the first, while the second is charged.
    expect(await aborting).toMatchObject({ code: 0, oid: paid.oid });
    // The new core issues nothing again [D301].
    expect(paid.code).toBe(isNewCore ? 30 : 50);
    expect(await world.commands()).toHaveLength(isNewCore ? 1 : 2);
    expect(terminal.bank.charges()).toHaveLength(0);
    const { state } = await world.database.queries.selectFrom('invoices').select('state').where('oid', '=', oid).executeTakeFirstOrThrow();
    expect(state).toBe(cancelled);
  });

  // The new core sends no second copy [D301].
  it.skipIf(isNewCore)(
    'that continues with the second copy of the payment is 3, not 2, when the database fails there: an Abort was sent',
    async () => {
      const { terminal, paying, aborting } = await abortedWhileItExpires();
      world.hook = ({ sql }) => {
        if (sql.includes('"abort_requested_at" =')) throw databaseDown('The connection to the database was lost.');
        return undefined;
      };
      const paid = await world.run(paying);
      await world.clock.advance(60_000);
      expect(await aborting).toMatchObject({ code: 3, oid: paid.oid });
      // Whatever was said, the ledger and the bank tell the same.
      expect(terminal.bank.charges()).toHaveLength(paid.code === 0 ? 1 : 0);
    },
  );

  it('that could not be started, because too many calls wait, is 41 and leaves no mark: a later refusal by the bank cancels nothing', async () => {
    const full = () => Promise.reject(new GatewayError('Too_Many_Requests', 'The gateway is waiting for too many answers.'));
    const busy = await world.startLife({ database: world.database, alterLink: (link) => ({ ...link, ask: full }) });
    const { terminal, paying, invoice } = await askedBank(10_000);
    const { documentNr } = await world.lastCommand();
    const asked = {
      merchantId: world.merchantId,
      deviceId: terminal.id,
      documentNr: String(documentNr),
      operationId: 'none',
      token: 'none',
    };
    expect((await world.run(busy.cards.cancelTransaction({ ...asked, amountBani: 1061 }))).code).toBe(41);
    expect((await world.lastCommand()).abortRequestedAtMs).toBeNull();
    expect((await world.run(paying)).code).toBe(50);
    expect(await invoice()).toBe(newItem);
  });

  it('is 3 while the outcome is unknown, and names the call that returns it', async () => {
    const { terminal, paying, abort } = await askedBank(10_000, 10);
    world.setAway(terminal.id, true);
    expect((await world.run(paying)).code).toBe(3);
    const { id, state } = await world.lastCommand();
    expect(state).toBe('unknown');
    const told = await world.run(abort());
    expect(told).toMatchObject({ code: 3, oid: id });
    expect(told.message).toContain('GET Device/Operation/Status');
  });

  it('that was answered 3, or whose caller disconnected, is answered with its outcome when it is asked for again [D58]', async () => {
    const { terminal, paying, abort, invoice } = await askedBank(10_000);
    world.setAway(terminal.id, true);
    expect((await world.run(abort({ hashRequest: () => 'abort' }))).code).toBe(3);
    world.setAway(terminal.id, false);
    expect((await world.run(paying)).code).toBe(50);
    expect(await invoice()).toBe(cancelled);
    await world.database.queries.updateTable('devices').set({ disabled_at: 1 }).execute();
    world.database.wake(deviceAccessTopic);
    const caller = createFakeRecipient();
    const { id } = await world.lastCommand();
    // The new core answers by the state of the payment, however often it is asked [D302].
    const repeated = { code: 0, isRepeated: !isNewCore, oid: id };
    expect(await world.run(abort({ hashRequest: () => 'abort', recipient: caller }))).toMatchObject(repeated);
    caller.leave();
    expect(await world.run(abort({ hashRequest: () => 'abort' }))).toMatchObject(repeated);
    // No payment is left to stop, and the invoice is withdrawn already [D142].
    const withdrawn = { code: 0, isRepeated: false, oid: isNewCore ? id : undefined };
    expect(await world.run(abort({ hashRequest: () => 'abort' }))).toMatchObject(withdrawn);
  });
});

it('an abort that came too late for an approved payment gets that answer again under its key', async () => {
  const world = await createSaleWorld();
  const terminal = await world.terminal({ timing: { customerMs: 100, bankMs: 2_000 } });
  const documentNr = world.random.uuid();
  const paying = world.pay(terminal.id, 10, documentNr);
  await world.clock.advance(1_000);
  const asked = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: 'none', token: '', amountBani: 1_000 };
  const abort = () => world.run(world.cards.cancelTransaction({ ...asked, idempotency: { key: 'k', requestHash: 'h' } }));
  const first = await abort();
  // The payment was approved before the terminal's refusal of the Abort counted: the new core answers by its state [D302].
  const sentence = isNewCore ? 'approved in the meantime' : 'too late';
  expect(first).toMatchObject({ code: 22, message: expect.stringContaining(sentence) as string });
  expect((await world.run(paying)).code).toBe(0);
  expect(await abort()).toEqual(first);
});

it('an abort that came too late for a payment that was refunded since answers with the State that a query answers', async () => {
  const world = await createSaleWorld();
  const terminal = await world.terminal({ timing: { customerMs: 100, bankMs: 2_000 } });
  const documentNr = world.random.uuid();
  const paying = world.pay(terminal.id, 10, documentNr);
  await world.clock.advance(1_000);
  const call = { merchantId: world.merchantId, deviceId: terminal.id, documentNr };
  const asked = { ...call, operationId: 'none', token: '', amountBani: 1_000 };
  const abort = () => world.run(world.cards.cancelTransaction({ ...asked, idempotency: { key: 'k', requestHash: 'h' } }));
  expect(await abort()).toMatchObject({ code: 22, state: 'Done' });
  const { report } = await world.run(paying);
  const named = { ...call, operationId: String(report?.['operationId']) };
  expect((await world.run(world.cards.closeDoc(named))).code).toBe(0);
  const refund = world.cards.refund({ ...named, rrn: String(report?.['rrn']), amountBani: 1_000, currency: undefined });
  expect((await world.run(refund)).code).toBe(0);
  expect(await abort()).toMatchObject({ code: 22, state: 'Refunded' });
});

describe('the abort of a payment that is the second attempt of its document', () => {
  let world: SaleWorld;

  beforeEach(async () => {
    world = await createSaleWorld();
  });

  /** A first try whose abort nobody heard the end of, and a second one that waits for its card. */
  async function triedTwice(first: object) {
    const terminal = await world.terminal({ timing: { customerMs: 5_000 } });
    const documentNr = world.random.uuid();
    const abort = (extras: object) => {
      const asked = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: 'none', token: '' };
      return world.cards.cancelTransaction({ ...asked, amountBani: 1_000, ...extras });
    };
    const paying = world.pay(terminal.id, 10, documentNr);
    await world.clock.advance(1_000);
    const leaving = createFakeRecipient();
    const aborting = world.told(abort({ ...first, recipient: leaving }));
    leaving.leave();
    expect((await world.run(paying)).code).toBe(50);
    await aborting;
    const again = world.pay(terminal.id, 10, documentNr);
    await world.clock.advance(1_000);
    const [before, now] = await world.commands();
    return { terminal, abort, again, before, now };
  }

  it('stops that one, though the answer to the same request about the first attempt was not delivered: not 0 while it is charged', async () => {
    const { terminal, abort, again, now } = await triedTwice({ hashRequest: () => 'abort' });
    expect(await world.run(abort({ hashRequest: () => 'abort' }))).toMatchObject({ code: 0, oid: now?.id, isRepeated: false });
    expect((await world.run(again)).code).toBe(50);
    expect(world.sendsOf('Abort')).toHaveLength(2);
    expect(terminal.bank.charges()).toHaveLength(0);
  });

  it('under the key of the first one’s abort continues, and the answer names it: that key belongs to the first', async () => {
    const key = { idempotency: { key: 'cancel', requestHash: 'abort' } };
    const { terminal, abort, again, before, now } = await triedTwice(key);
    const told = await world.run(abort(key));
    if (isNewCore) {
      // The key names the request, which stopped the first; the other attempt is named beside it [D302, D315].
      expect(told).toMatchObject({ code: 0, oid: before?.id, state: 'Refused' });
    } else {
      expect(told).toMatchObject({ code: 22, oid: now?.id, state: 'Open' });
      expect(told.message).toContain('new Idempotency-Key');
    }
    expect((await world.run(again)).code).toBe(0);
    // Made since: still no word of "stopped" under that key.
    if (!isNewCore) expect(await world.run(abort(key))).toMatchObject({ code: 22, oid: now?.id, state: 'Done' });
    expect(terminal.bank.charges()).toHaveLength(1);
    expect(before?.state).toBe('refused');
  });

  it('under the key of the first one’s abort is answered with that outcome once the second has also ended as not made', async () => {
    const key = { idempotency: { key: 'cancel', requestHash: 'abort' } };
    const { abort, again, before } = await triedTwice(key);
    expect((await world.run(abort({ hashRequest: () => 'other' }))).code).toBe(0);
    expect((await world.run(again)).code).toBe(50);
    expect(await world.run(abort(key))).toMatchObject({ code: 0, oid: before?.id });
  });
});

describe.each(engines)('the mark on %s', (engine) => {
  let database: TestDatabase;
  let id: string;

  beforeEach(async () => {
    database = await openQuickDatabase(engine);
    const merchant = await seedMerchant(database.queries);
    const device = await seedDevice(database.queries, merchant.id);
    id = (await seedCommand(database.queries, merchant.id, device.id)).id;
  });
  afterEach(() => database.close());

  const isMarked = async () => (await findCommand(database.queries, id))?.abortRequestedAtMs != null;

  it('is removed by the request that set it, and by no other', async () => {
    const { queries } = database;
    expect(await markAbortRequested(queries, id, 'first', undefined)).toBe(true);
    expect(await markAbortRequested(queries, id, 'second', undefined)).toBe(true);
    await withdrawAbort(queries, id, 'first');
    expect(await isMarked()).toBe(true);
    await withdrawAbort(queries, id, 'second');
    expect(await isMarked()).toBe(false);
  });

  it('stays as it was when the payment was settled, and is restored once by the abort that is answered 0', async () => {
    const { queries } = database;
    const refused = { state: 'refused', by: 'answer', outcome: 'refused', report: undefined, reason: undefined } as const;
    const payment = await findCommand(queries, id);
    if (!payment) throw new Error('The payment is missing.');
    await markAbortRequested(queries, id, 'first', undefined);
    await withdrawAbort(queries, id, 'first');
    expect(await confirmAbort(queries, id)).toBeUndefined();
    await settle(database, payment, refused);
    expect(await markAbortRequested(queries, id, 'late', undefined)).toBe(false);
    expect((await confirmAbort(queries, id))?.id).toBe(id);
    expect(await confirmAbort(queries, id)).toBeUndefined();
    await withdrawAbort(queries, id, 'first');
    expect(await isMarked()).toBe(true);
  });
});
