// What goes after its time, what stays, by whom, and what a crash in the middle leaves [D66].
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { createRemoval } from '../../src/removal/removal.ts';
import { emptyPlace, engines, openTestDatabase, type TestDatabase, untilIdle } from '../support/engines.ts';
import { recordSeeded, seedCallback, seedDevice, seedMerchant, sha256 } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { dayMs, everything, halfRemoved, nothing, removeNow, seedOldCommand, seedOldInvoice, smallOnes } from './old-things.ts';

describe.each(engines)('removal on %s', (engine) => {
  let clock: VirtualClock;
  let database: TestDatabase;
  let merchantId: string;
  let deviceId: string;

  beforeEach(async () => {
    const opened: { database?: TestDatabase } = {};
    clock = createVirtualClock(2_000 * dayMs, { settle: async () => opened.database && (await untilIdle(opened.database)) });
    database = await openTestDatabase(engine, clock);
    opened.database = database;
    merchantId = (await seedMerchant(database.queries)).id;
    deviceId = (await seedDevice(database.queries, merchantId)).id;
  });
  afterEach(() => database.close());

  const command = (overrides: Parameters<typeof seedOldCommand>[2] = {}, daysOld = 401) =>
    seedOldCommand(database, { merchantId, deviceId, nowMs: clock.now(), daysOld }, overrides);
  const invoice = (overrides: Parameters<typeof seedOldInvoice>[2] = {}, daysOld = 401) =>
    seedOldInvoice(database, { merchantId, nowMs: clock.now(), daysOld }, overrides);
  const smallInvoices = async () =>
    (await database.queries.selectFrom('invoices').select('oid').where('removed_at', 'is not', null).execute()).map(({ oid }) => oid);
  const anotherDevice = async () => (await seedDevice(database.queries, merchantId)).id;

  it('reduces an old command to its names, its amount and its outcome', async () => {
    const documentNr = 'd-1';
    const id = await command({
      document_nr: documentNr,
      operation_id: '000017',
      rrn: '9',
      content_hash: 'h',
      callback_uri: 'http://erp/',
      bank_day_closed_at: 5,
      caller: 'key 1',
      request: '{}',
    });
    await removeNow(database, clock);
    const row = await database.queries.selectFrom('commands').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(row).toMatchObject({
      merchant_id: merchantId,
      device_id: deviceId,
      name: 'Pay',
      state: 'done',
      amount_bani: 1000,
      document_nr: documentNr,
      operation_id: '000017',
      rrn: '9',
      content_hash: 'h',
      document_state: 'closed',
      bank_day_closed_at: 5,
      args: '{}',
      report: null,
      reason: null,
      callback_uri: null,
      caller: null,
      request: null,
    });
    expect(row.removed_at).not.toBeNull();
    expect(await database.queries.selectFrom('command_events').select('id').execute()).toEqual([]);
  });

  it('leaves of a report whether it was a Z: the day of the next one begins there', async () => {
    const ids = [await command({ name: 'Report', args: '{"fiscal":true}' }), await command({ name: 'Report', args: '{"fiscal":false}' })];
    await removeNow(database, clock);
    const rows = await database.queries
      .selectFrom('commands')
      .select(['id', 'args', 'report'])
      .where('removed_at', 'is not', null)
      .execute();
    expect(new Map(rows.map(({ id, args, report }) => [id, [args, report]]))).toEqual(
      new Map([
        [ids[0], ['{"fiscal":true}', null]],
        [ids[1], ['{"fiscal":false}', null]],
      ]),
    );
  });

  it('forgets every text of a command that is not a name, also one in a column that is newer than this test', async () => {
    const names = [
      'id',
      'merchant_id',
      'device_id',
      'instance_id',
      'name',
      'mode',
      'state',
      'document_nr',
      'operation_id',
      'rrn',
      'target_id',
      'reissued_as',
    ];
    const more = [
      'receipt_uid',
      'receipt_id',
      'content_hash',
      'request_hash',
      'settled_by',
      'outcome',
      'document_state',
      'disputed_from',
      'abort_id',
      'abort_hash',
      'reissued_as',
      // Ids and the standing, which answers about a tombstone need on the new core [D300].
      'after_id',
      'attention',
      'paid',
      'print_id',
      'standing',
    ];
    const id = await command({ review_since: 1, review_reason: 'why', reviewed_at: 2 });
    const row = await database.queries.selectFrom('commands').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    const texts = (await database.queries.introspection.getTables())
      .flatMap((table) => (table.name === 'commands' ? table.columns : []))
      .filter((column) => column.dataType.toLowerCase() === 'text' && ![...names, ...more].includes(column.name))
      .map((column) => column.name);
    expect(texts).toContain('report');
    const filled = Object.fromEntries(texts.map((name) => [name, '{"kept":"no"}']));
    await database.queries.updateTable('commands').set(filled).where('id', '=', id).execute();
    await removeNow(database, clock);
    const small = await database.queries.selectFrom('commands').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(Object.keys(small)).toEqual(Object.keys(row));
    expect(JSON.stringify(small)).not.toContain('kept');
  });

  it('leaves what is younger, and everything when nothing is set', async () => {
    const old = await command();
    await command({}, 399);
    await invoice();
    await removeNow(database, clock, nothing);
    expect(await smallOnes(database)).toEqual([]);
    await removeNow(database, clock, { ...nothing, commandsDays: 400 });
    expect(await smallOnes(database)).toEqual([old]);
    expect(await smallInvoices()).toEqual([]);
    expect(await halfRemoved(database)).toEqual([]);
  });

  it('never takes what is open, unknown, under review, of an open document or with a callback to be sent', async () => {
    const open = { state: 'sent', settled_at: null, settled_by: null, document_state: null } as const;
    await command(open);
    await command({ ...open, state: 'unknown', device_id: await anotherDevice() });
    await command({ review_since: 1, review_reason: 'a contradiction' });
    await command({ document_state: 'open', device_id: await anotherDevice() });
    const notified = await command({ name: 'MoneyIn' });
    const { id: callbackId } = await seedCallback(database.queries, merchantId, { subject_kind: 'operation', subject_id: notified });
    await removeNow(database, clock);
    expect(await smallOnes(database)).toEqual([]);

    // The callback arrived: then the operation goes too.
    await database.queries
      .updateTable('callbacks')
      .set({ state: 'delivered', next_attempt_at: null, ended_at: 1 })
      .where('id', '=', callbackId)
      .execute();
    await removeNow(database, clock);
    expect(await smallOnes(database)).toEqual([notified]);
  });

  it('takes one that a person has looked at', async () => {
    const seen = await command({ review_since: 1, review_reason: 'a contradiction', reviewed_at: 2 });
    await removeNow(database, clock);
    expect(await smallOnes(database)).toEqual([seen]);
  });

  it('keeps a payment while its refund is kept, and takes it after that', async () => {
    const payment = await command();
    const refund = await command({ name: 'Refund', target_id: payment }, 399);
    await removeNow(database, clock);
    expect(await smallOnes(database)).toEqual([]);
    await database.queries
      .updateTable('commands')
      .set({ settled_at: clock.now() - 500 * dayMs })
      .where('id', '=', refund)
      .execute();
    await recordSeeded(database.queries);
    await removeNow(database, clock);
    await removeNow(database, clock);
    expect(await smallOnes(database)).toEqual([payment, refund].toSorted());
  });

  it('keeps what was tried for an invoice that can still be paid', async () => {
    const oid = await invoice({ state: 0, ended_at: null });
    const refused = await command({ state: 'refused', document_nr: oid });
    await removeNow(database, clock);
    expect(await smallOnes(database)).toEqual([]);
    // Of another merchant the same number means nothing.
    const other = await seedMerchant(database.queries);
    await database.queries.updateTable('invoices').set({ merchant_id: other.id }).where('oid', '=', oid).execute();
    const stranger = await command({ state: 'refused', document_nr: await invoice({ state: 0, ended_at: null, oid: randomUUID() }) });
    await database.queries.updateTable('commands').set({ merchant_id: other.id }).where('id', '=', stranger).execute();
    await removeNow(database, clock);
    expect(await smallOnes(database)).toEqual([refused, stranger].toSorted());
  });

  it('takes what was tried for an invoice once that has ended', async () => {
    const oid = await invoice({ state: 0, ended_at: null });
    const refused = await command({ state: 'refused', document_nr: oid });
    await database.queries.updateTable('invoices').set({ state: 4, ended_at: clock.now() }).where('oid', '=', oid).execute();
    await removeNow(database, clock);
    expect(await smallOnes(database)).toEqual([refused]);
  });

  it('makes an old invoice small: state, payment and the names of its receipt stay', async () => {
    const receipt = '{"Number":"A-1","Uid":"u-1","Items":[{"Name":"Bread","Quantity":1,"Price":12.5}]}';
    const oid = await invoice({
      state: 2,
      receipt,
      receipt_id: 'R-1',
      paid_device_id: deviceId,
      callback_uri: 'http://erp/',
      point_of_sales_code: 'x',
    });
    await removeNow(database, clock);
    const row = await database.queries.selectFrom('invoices').selectAll().where('oid', '=', oid).executeTakeFirstOrThrow();
    expect(row).toMatchObject({ merchant_id: merchantId, state: 2, receipt_id: 'R-1', paid_device_id: deviceId });
    expect(row).toMatchObject({
      receipt: '{"Number":"A-1","Uid":"u-1"}',
      content_hash: sha256(receipt),
      callback_uri: null,
      point_of_sales_code: null,
    });
    expect(row.removed_at).not.toBeNull();
    expect(await database.queries.selectFrom('invoice_events').select('id').execute()).toEqual([]);
  });

  it('keeps an invoice that is open, young, waits for its callback, has an orphan or a kept payment', async () => {
    await invoice({ state: 0, ended_at: null });
    await invoice({}, 399);
    await seedCallback(database.queries, merchantId, { subject_id: await invoice() });
    const orphaned = await invoice();
    await database.queries
      .insertInto('orphan_payments')
      .values({ merchant_id: merchantId, oid: orphaned, receipt_id: 'R', device_id: deviceId, reason: 'expired', at: 1 })
      .execute();
    const paid = await invoice();
    const payment = await command({ document_nr: paid }, 399);
    await removeNow(database, clock);
    expect(await smallInvoices()).toEqual([]);

    // Another merchant's number that looks the same is nothing to this invoice.
    const other = await seedMerchant(database.queries);
    await database.queries.updateTable('commands').set({ merchant_id: other.id }).where('id', '=', payment).execute();
    await removeNow(database, clock);
    expect(await smallInvoices()).toEqual([paid]);
  });

  it('removes old audit entries, and leaves the others', async () => {
    const entry = (subject: string, daysOld: number) => ({
      at: clock.now() - daysOld * dayMs,
      actor: 'a',
      action: 'b',
      subject,
      detail: '{}',
    });
    const old = Array.from({ length: 120 }, (_, count) => entry(`old ${count}`, 401 + (count % 7)));
    await database.queries
      .insertInto('audit_log')
      .values([...old, entry('young', 399)])
      .execute();
    await removeNow(database, clock);
    const left = await database.queries.selectFrom('audit_log').select('subject').execute();
    expect(left).toEqual([{ subject: 'young' }]);
  });

  it('reads on past any number of things that must stay', async () => {
    const kept = await Promise.all(Array.from({ length: 120 }, () => command({ review_since: 1, review_reason: 'why' }, 500)));
    const last = await command();
    await removeNow(database, clock);
    expect(kept).toHaveLength(120);
    expect(await smallOnes(database)).toEqual([last]);
  });

  it('is the turn of one instance; when that one dies, of another within two minutes', async () => {
    const old = await command();
    const options = { database, clock, logger: quietLogger, keeping: everything };
    // Another instance took the turn a moment ago, and is not heard of again.
    await database.queries
      .insertInto('turns')
      .values({ work: 'removal', instance_id: 'dead', held_until: clock.now() + 60_000 })
      .execute();
    const removal = createRemoval({ ...options, instanceId: 'living' });
    removal.start();
    await clock.advance(59_000);
    expect(await smallOnes(database)).toEqual([]);
    await clock.advance(61_000);
    expect(await smallOnes(database)).toEqual([old]);

    // Done for now: what comes after waits for the next round, whoever does it.
    const next = await command();
    const other = createRemoval({ ...options, instanceId: 'other' });
    other.start();
    await clock.advance(30 * 60_000);
    expect(await smallOnes(database)).toEqual([old]);
    await clock.advance(32 * 60_000);
    expect(await smallOnes(database)).toEqual([old, next].toSorted());
    await Promise.all([removal.stop(), other.stop()]);
  });

  it('is left to the other when the turn was lost between two pages', async () => {
    for (let count = 0; count < 60; count += 1) await command({ name: 'MoneyIn' });
    const removal = createRemoval({ database, clock, logger: quietLogger, instanceId: 'slow', keeping: everything });
    removal.start();
    await clock.runUntil(async () => (await smallOnes(database)).length === 50, 120_000);
    await database.queries
      .updateTable('turns')
      .set({ instance_id: 'other', held_until: clock.now() + 3_600_000 })
      .execute();
    await clock.advance(60_000);
    expect(await smallOnes(database)).toHaveLength(50);
    await removal.stop();
  });

  it('removes nothing while the clock of the database is apart from that of the machine', async () => {
    const young = await command({}, 399);
    database.shiftClock(2 * dayMs);
    const logger = await removeNow(database, clock);
    expect(await smallOnes(database)).toEqual([]);
    expect(logger.lines.map(({ level }) => level)).toEqual(['error']);
    await clock.advance(2 * dayMs);
    database.shiftClock(-2 * dayMs);
    await removeNow(database, clock);
    expect(await smallOnes(database)).toEqual([young]);
  });

  it('goes on after the database was away', async () => {
    const old = await command();
    let isAway = true;
    const shaky = {
      ...database,
      transaction: ((work) => (isAway ? Promise.reject(new Error('away')) : database.transaction(work))) as TestDatabase['transaction'],
    };
    const removal = createRemoval({ database: shaky, clock, logger: quietLogger, instanceId: 'one', keeping: everything });
    removal.start();
    await clock.advance(61_000);
    expect(await smallOnes(database)).toEqual([]);
    isAway = false;
    await clock.advance(62 * 60_000);
    expect(await smallOnes(database)).toEqual([old]);
    await removal.stop();
  });
});

describe.each(engines)('kill -9 in the middle of removal on %s', (engine) => {
  it('leaves every command whole or small, and the next one finishes', async () => {
    const place = await emptyPlace(engine);
    const open = () => openDatabase({ ...place.options, role: 'gateway', clock: systemClock, logger: quietLogger });
    const before = await open();
    const { id: merchantId } = await seedMerchant(before.queries);
    const { id: deviceId } = await seedDevice(before.queries, merchantId);
    const shop = { merchantId, deviceId, nowMs: Date.now() };
    await before.transaction(async (queries) => {
      for (let count = 0; count < 180; count += 1) await seedOldCommand({ queries }, shop, { name: 'MoneyIn' });
    });
    await before.close();

    let small = 0;
    // In the middle of a page, at the end of one, and in the next one.
    for (const [killAt, when] of [
      [20, 'after the commit'],
      [50, 'after the commit'],
      [70, 'before the commit'],
    ] as const) {
      const script = fileURLToPath(new URL('./removing-child.ts', import.meta.url));
      const child = spawn(process.execPath, [script, JSON.stringify({ place: place.options, killAt, when })], { stdio: 'inherit' });
      expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
      const after = await open();
      expect(await halfRemoved(after)).toEqual([]);
      small += when === 'after the commit' ? killAt : killAt - 1;
      expect(await smallOnes(after)).toHaveLength(small);
      // The turn of the dead one has run out.
      await after.queries.updateTable('turns').set({ held_until: 0 }).execute();
      await after.close();
    }

    const last = await open();
    const clock = createVirtualClock(Date.now(), { settle: () => untilIdle(last) });
    await removeNow(last, clock);
    expect(await smallOnes(last)).toHaveLength(180);
    expect(await halfRemoved(last)).toEqual([]);
    await last.close();
    await place.remove();
  }, 60_000);
});
