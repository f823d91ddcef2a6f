// A repeat of something that was removed never runs, also not in the moment of its removal [D66].
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { checkRefund, checkVoid } from '../../src/cards/rules.ts';
import { lockUndisputed } from '../../src/cards/store.ts';
import type { Queries } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import { insertWithin } from '../../src/ledger/insert-batch.ts';
import { removableCommands } from '../../src/removal/commands.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { recordSeeded, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { insertSent } from '../support/ledger-statements.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';
import { until } from '../support/until.ts';
import { dayMs, everything, removeNow, seedOldCommand, smallOnes } from './old-things.ts';

let world: SaleWorld;

beforeEach(async () => {
  world = await createSaleWorld();
});

const removeOld = () => removeNow(world.database, world.clock, everything, 'one', world.life.removals);

/** All commands so far happened 401 days earlier. */
async function yearsBefore(): Promise<void> {
  await world.clock.advance(1_000);
  const earlier = (column: 'issued_at' | 'settled_at') => world.database.queries.dynamic.ref(column);
  await world.database.queries
    .updateTable('commands')
    .set((row) => ({
      issued_at: row(earlier('issued_at'), '-', 401 * dayMs) as never,
      settled_at: row(earlier('settled_at'), '-', 401 * dayMs) as never,
    }))
    .execute();
  await recordSeeded(world.database.queries);
}

/** And they are removed; what followed them goes with them. */
async function yearsLater(): Promise<void> {
  await yearsBefore();
  // Once for what refers to others, once for those.
  for (let round = 0; round < 2; round += 1) await removeOld();
  expect(await smallOnes(world.database)).toHaveLength((await world.commands()).length);
}

const receipt = (lei: number, Uid = 'u-1') => ({
  Uid,
  Items: [{ Name: 'Bread', Quantity: 1, Price: lei }],
  Payments: [{ PaymentCode: lei === 10 ? 0 : 1, Amount: lei }],
});

describe('after the removal', () => {
  it('a Pay under the documentNr is 22 and charges nothing, whatever its amount and terminal', async () => {
    const terminal = await world.terminal();
    const other = await world.terminal();
    const documentNr = world.random.uuid();
    const { report } = await world.run(world.pay(terminal.id, 10, documentNr));
    const closing = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: String(report?.operationId) };
    expect((await world.run(world.cards.closeDoc(closing))).code).toBe(0);
    await yearsLater();
    const sent = world.ledgerSends().length;
    expect(await world.run(world.pay(terminal.id, 10, documentNr))).toMatchObject({ code: 22 });
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(22);
    expect((await world.run(world.pay(terminal.id, 11, documentNr))).code).toBe(22);
    expect((await world.run(world.pay(other.id, 10, documentNr))).code).toBe(22);
    expect(world.ledgerSends()).toHaveLength(sent);
    expect(terminal.bank.charges()).toHaveLength(1);
    // The terminal and other documents are as free as ever.
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(0);
  });

  it('a Pay under the documentNr of a refused one is 22, and nothing is sent', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    expect((await world.run(world.pay(terminal.id, 10.61, documentNr))).code).toBe(50);
    await yearsLater();
    const again = await world.run(world.pay(terminal.id, 10.61, documentNr));
    expect(again).toMatchObject({ code: 22, message: expect.stringContaining('it is not tried again under this number') });
    expect(world.sendsOf('Pay')).toHaveLength(1);
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(0);
  });

  it('a number that was retried lately is not old: what was refused then is a new attempt', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const other = await world.terminal();
    // .61: the bank of each declines it once.
    expect((await world.run(world.pay(terminal.id, 10.61, documentNr))).code).toBe(50);
    await yearsBefore();
    expect((await world.run(world.pay(other.id, 10.61, documentNr))).code).toBe(50);
    await removeOld();
    expect(await smallOnes(world.database)).toHaveLength(1);
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(0);
  });

  it('CloseDoc, Refund and CancelTransaction of the payment are 22, also with the terminal away, and reach no terminal', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const { report } = await world.run(world.pay(terminal.id, 10, documentNr));
    const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: String(report?.operationId) };
    expect((await world.run(world.cards.closeDoc(named))).code).toBe(0);
    await yearsLater();
    const sent = world.ledgerSends().length;
    const refund = () => world.cards.refund({ ...named, rrn: String(report?.rrn), amountBani: 100, currency: 'MDL' });
    const cancel = () => world.cards.cancelTransaction({ ...named, token: 't', amountBani: 1_000 });
    for (const isAway of [false, true]) {
      world.setAway(terminal.id, isAway);
      await world.clock.advance(120_000);
      for (const call of [() => world.cards.closeDoc(named), refund, cancel])
        expect(await world.run(call())).toMatchObject({ code: 22, message: expect.stringContaining('removed') });
    }
    expect(world.ledgerSends()).toHaveLength(sent);
  });

  it('a refund or void that was planned before the removal is refused under the lock', async () => {
    const payment = {
      id: 'p',
      state: 'done',
      documentState: 'closed',
      amountBani: 1_000,
      bankDayClosedAtMs: null,
      removedAtMs: 1,
    } as Command;
    for (const check of [checkRefund, checkVoid]) {
      expect(() => check(payment, [], 1_000)).toThrow(expect.objectContaining({ errorName: 'The_status_cannot_be_applied' }));
      expect(() => check({ ...payment, removedAtMs: null }, [], 1_000)).not.toThrow();
    }
  });

  it('a payment that is removed still keeps its operationId from a newer one without a documentNr', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    world.onAnswer = (answer) =>
      answer.report?.['rrn'] === undefined ? answer : { ...answer, report: { ...answer.report, operationId: '000001' } };
    const paid = await world.run(world.pay(terminal.id, 10, documentNr));
    const closing = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: '000001' };
    expect((await world.run(world.cards.closeDoc(closing))).code).toBe(0);
    await yearsLater();
    const unnamed = { merchantId: world.merchantId, deviceId: terminal.id, amountBani: 500, documentNr: undefined };
    expect((await world.run(world.cards.pay(unnamed))).code).toBe(0);
    const old = String(paid.report?.['rrn']);
    // Bank numbers restarted: the old name, with the old documentNr, means the old payment and never the new one.
    const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: '000001' };
    const refund = world.cards.refund({ ...named, rrn: old, amountBani: 100, currency: 'MDL' });
    expect((await world.run(refund)).code).toBe(22);
  });

  it('a receipt under its Uid is 22 on every register, printed or refused, whatever its content', async () => {
    const register = await world.register();
    const other = await world.register();
    const print = (deviceId: string, value: object) =>
      world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId, receipt: value });
    expect((await world.run(print(register.id, receipt(10)))).code).toBe(0);
    expect((await world.run(print(register.id, receipt(10.81, 'u-2')))).code).toBe(50);
    await yearsLater();
    for (const deviceId of [register.id, other.id]) {
      expect(await world.run(print(deviceId, receipt(10)))).toMatchObject({ code: 22, report: undefined });
      expect((await world.run(print(deviceId, receipt(10)))).code).toBe(22);
      expect((await world.run(print(deviceId, receipt(11)))).code).toBe(22);
      expect((await world.run(print(deviceId, receipt(10.81, 'u-2')))).code).toBe(22);
    }
    expect(world.sendsOf('PrintReceipt')).toHaveLength(2);
    expect((await world.run(print(register.id, receipt(10, 'u-3')))).code).toBe(0);
  });

  it('an answer that contradicts what was settled still comes before a person', async () => {
    const terminal = await world.terminal();
    await world.run(world.pay(terminal.id, 10.61, world.random.uuid()));
    const { id } = await world.lastCommand('Pay');
    await yearsLater();
    const journalId = (
      await world.database.queries.selectFrom('devices').select('journal_id').where('id', '=', terminal.id).executeTakeFirst()
    )?.journal_id;
    world.sayAs(terminal.id, {
      v: 1,
      id,
      at: new Date(world.clock.now()).toISOString(),
      outcome: 'done',
      journalId: journalId ?? undefined,
      report: { rrn: '1', operationId: '1', amount: 10.61 },
    } as never);
    await world.clock.advance(5_000);
    expect((await world.ledger.listReview(10)).map((command) => command.id)).toEqual([id]);
  });
});

describe.each(engines)('in the moment of the removal on %s', (engine) => {
  async function open() {
    const database = await openTestDatabase(engine);
    const { id: merchantId } = await seedMerchant(database.queries);
    const devices: string[] = [];
    for (let count = 0; count < 8; count += 1) devices.push((await seedDevice(database.queries, merchantId)).id);
    return { database, merchantId, devices, nowMs: Date.now() };
  }

  const fresh = (merchantId: string, deviceId: string, id: string) =>
    ({ id, merchantId, deviceId, instanceId: 'i', args: {}, answerWithinMs: 1_000, journalId: undefined }) as const;

  it('the index admits no repeat before, during or after the removal', async () => {
    const { database, merchantId, devices, nowMs } = await open();
    for (let round = 0; round < 12; round += 1) {
      const documentNr = `d-${round}`;
      const receiptUid = `u-${round}`;
      const deviceId = devices[0] ?? '';
      const payment = await seedOldCommand(database, { merchantId, deviceId, nowMs }, { document_nr: documentNr });
      const print = await seedOldCommand(database, { merchantId, deviceId, nowMs }, { name: 'PrintReceipt', receipt_uid: receiptUid });
      const repeats = devices.slice(1).map((device, at) => {
        const base = fresh(merchantId, device, `${round}-${at}`);
        return at % 2 === 0
          ? insertSent(database, { ...base, name: 'Pay', documentNr, amountBani: 1_000 })
          : insertSent(database, { ...base, name: 'PrintReceipt', receiptUid });
      });
      const removals = [payment, print].map((id) => removableCommands.remove(database, id));
      // Either order, as the engine has it.
      expect(await Promise.all(round % 2 === 0 ? [...repeats, ...removals] : [...removals, ...repeats])).toEqual(
        round % 2 === 0 ? [...repeats.map(() => undefined), true, true] : [true, true, ...repeats.map(() => undefined)],
      );
    }
    const running = await database.queries.selectFrom('commands').select('id').where('state', '=', 'sent').execute();
    expect(running).toEqual([]);
    await database.close();
  });

  it('a refund that is being written keeps its payment', async () => {
    const { database, merchantId, devices, nowMs } = await open();
    const deviceId = devices[0] ?? '';
    const payment = await seedOldCommand(database, { merchantId, deviceId, nowMs });
    const events: string[] = [];
    const removal: { begin?: () => void } = {};
    const removing = new Promise<void>((resolve) => {
      removal.begin = resolve;
    }).then(async () => {
      const isRemoved = await removableCommands.remove(database, payment);
      events.push('looked');
      return isRemoved;
    });
    // As cards/refund.ts: the payment's row is locked, looked at, and the refund inserted, in one transaction.
    await database.transaction(async (queries) => {
      await lockUndisputed(database, queries, payment);
      removal.begin?.();
      await untilWaiting(database, queries);
      await insertWithin(database.engine, queries, {
        ...fresh(merchantId, deviceId, 'refund'),
        name: 'Refund',
        targetId: payment,
        amountBani: 1,
      });
      events.push('refunded');
    });
    expect(await removing).toBe(false);
    expect(events).toEqual(['refunded', 'looked']);
    expect(await smallOnes(database)).toEqual([]);
    await database.close();
  });
});

/** The removal has begun and waits: for this transaction's row on PostgreSQL, for the one connection on SQLite. */
async function untilWaiting(database: TestDatabase, queries: Queries): Promise<void> {
  if (database.engine === 'sqlite') return until(() => database.load().waiting > 0);
  await until(async () => {
    const { rows } = await sql`
      select 1 from pg_locks where not granted and transactionid = pg_current_xact_id_if_assigned()::xid`.execute(queries);
    return rows.length > 0;
  });
}
