// Two gateways on one database: what one has decided is not committed after the other has changed what it relied on. One gateway stands still
// between its decision and its commit; the other one is faster. On each engine, and each guard alone: the exploration shows that all are needed.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Commit, createCommit } from '../../src/database/commit.ts';
import type { Unit } from '../../src/database/commit-data.ts';
import { assume, type Known } from '../../src/money/assume.ts';
import type { Presence } from '../../src/money/case.ts';
import type { Event, Of } from '../../src/money/event.ts';
import { createLoad, type Load } from '../../src/money/load.ts';
import { createMemory } from '../../src/money/memory.ts';
import { decide } from '../../src/money/rules/decide.ts';
import { commitTables } from '../../src/money/tables.ts';
import { unitOf } from '../../src/money/unit.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../support/engines.ts';
import { seedDevice, seedMerchant, seedQrSecret } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const online: Presence = { kind: 'terminal', isDisabled: false, isOnline: true, journalId: 'j', features: ['CancelTransaction', 'Refund'] };
const oid = '0b0b0b0b-0000-4000-8000-000000000001';
const report = { operationId: '7', rrn: '8', amount: 1 };

describe.each(engines)('a gateway that was slower, on %s', (engine) => {
  let clock: VirtualClock;
  let database: TestDatabase;
  let load: Load;
  let commit: Commit;
  let merchantId: string;
  let deviceId: string;
  let otherDevice: string;

  beforeEach(async () => {
    clock = createVirtualClock();
    database = await openQuickDatabase(engine, clock);
    merchantId = (await seedMerchant(database.queries)).id;
    deviceId = (await seedDevice(database.queries, merchantId)).id;
    otherDevice = (await seedDevice(database.queries, merchantId)).id;
    const { id } = await seedQrSecret(database.queries);
    expect(id).toBe(1);
    load = createLoad({ database, scanGraceMs: 0, surroundings: { live: () => online } });
    commit = createCommit(database, commitTables);
  });
  afterEach(() => database.close());

  const pay = (newId: string, over: Partial<Of<'Pay'>> = {}): Of<'Pay'> => ({
    ...{ type: 'Pay', merchantId, deviceId, newId, amountBani: 100, documentNr: newId },
    ...over,
  });
  const done = (id: string): Event => ({ type: 'Report', id, outcome: 'done', source: 'answer', report, journalId: 'j' });
  const never = (id: string): Event => ({ type: 'Report', id, outcome: 'never', source: 'recall', journalId: 'j' });
  const refusedByPerson = (id: string): Event => ({ type: 'Decide', id, isDone: false, reason: 'The till says so.' });
  const about = (documentNr: string, newId: string) => ({ merchantId, deviceId, documentNr, newId, operationId: '7' });

  /** What a gateway would commit now. */
  function planned(known: Known, event: Event): Unit {
    const decided = decide(known.case, event);
    if (!decided.next) throw new Error(`${event.type} changes nothing: ${JSON.stringify(decided.answer ?? decided.needs)}`);
    return unitOf(known.case, decided, { ofOperation: { instance_id: 'gateway' } });
  }
  const loadedUnit = async (event: Event) => planned(await load(event), event);
  const assumedUnit = (event: Event) => planned(assume(event, { now: clock.now(), presence: online }) as Known, event);

  async function play(...events: Event[]): Promise<void> {
    for (const event of events) expect(await commit.add(await loadedUnit(event))).toMatchObject({ now: clock.now() });
  }

  /** The slow gateway's unit is decided, then the events of the fast one are committed. */
  async function expectTooLate(unit: Unit, ...events: Event[]): Promise<void> {
    await play(...events);
    expect(await commit.add(unit)).toBe('conflict');
  }

  /** Is accepted without the other gateway, so that the conflict shows something. */
  const expectInTime = async (unit: Unit) => expect(await commit.add(unit)).toMatchObject({ assigned: expect.any(Array) });

  it('has assumed that the device is free', async () => {
    await expectTooLate(assumedUnit(pay('a')), pay('b'));
    await play(done('b'));
    await expectTooLate(assumedUnit(pay('c')));
    await expectInTime(assumedUnit(pay('d', { deviceId: otherDevice })));
  });

  it('has assumed that nothing was begun under the number', async () => {
    const unit = assumedUnit(pay('b', { documentNr: 'n', deviceId: otherDevice }));
    await expectTooLate(unit, pay('a', { documentNr: 'n' }));
  });

  it('has assumed that the number is no invoice', async () => {
    const content = { amountBani: 100, validTo: null, callbackUri: null, receipt: '{}', qrSecretId: 1 };
    const create: Event = { type: 'Create', merchantId, newId: oid, ...content, pointOfSalesCode: null, preferredDeviceId: null };
    await expectTooLate(assumedUnit(pay('a', { documentNr: oid })), create);
  });

  it('has remembered who holds the device', async () => {
    const memory = createMemory(() => online);
    const remember = async (known: Known, event: Event) => {
      const { next } = decide(known.case, event);
      const unit = planned(known, event);
      const result = await commit.add(unit);
      if (typeof result === 'string' || !next) throw new Error(`${event.type} was not committed.`);
      memory.remember(known, next, unit, result);
    };
    await remember(assume(pay('a'), { now: clock.now(), presence: online }) as Known, pay('a'));
    await remember(memory.recall(done('a')) as Known, done('a'));
    const closeDoc: Event = { type: 'CloseDoc', ...about('a', 'c') };
    const unit = planned(memory.recall(closeDoc) as Known, closeDoc);
    await expectTooLate(unit, { type: 'CloseDoc', ...about('a', 'd') });
  });

  it('has remembered the closes of the device', async () => {
    const memory = createMemory(() => online);
    const close: Event = { type: 'Plain', merchantId, deviceId, newId: 'z', kind: 'CloseDay', args: {} };
    const known = await load(close);
    const unit = planned(known, close);
    const result = await commit.add(unit);
    const { next } = decide(known.case, close);
    if (typeof result === 'string' || !next) throw new Error('The close was not begun.');
    memory.remember(known, next, unit, result);
    const ended = planned(memory.recall({ ...done('z'), report: {} } as Event) as Known, { ...done('z'), report: {} } as Event);
    // A dispute of an earlier close has ended; what is under way on the device is the same.
    await database.queries.updateTable('device_locks').set({ closes: '[{"id":"x","sequence":1}]' }).execute();
    expect(await commit.add(ended)).toBe('conflict');
  });

  it('settles as never what was accepted meanwhile', async () => {
    await play(pay('a'));
    await expectTooLate(await loadedUnit(never('a')), { type: 'Accepted', id: 'a' });
    await play(done('a'));
  });

  it('notes the acceptance of what was settled as never meanwhile', async () => {
    await play(pay('a'));
    await expectTooLate(await loadedUnit({ type: 'Accepted', id: 'a' }), never('a'));
    const { case: c } = await load({ type: 'Outcome', id: 'a' });
    expect(c.ops['a']).toMatchObject({ state: 'never', acceptedAt: null });
  });

  const unnamed = () => pay('a', { documentNr: undefined, requestHash: 'h' });

  it('disputes what a caller has received meanwhile', async () => {
    await play(unnamed(), { type: 'Deadline', id: 'a', isContactLost: true });
    await clock.advance(60 * 60_000);
    await play(refusedByPerson('a'));
    await expectTooLate(await loadedUnit({ ...done('a'), source: 'recall' } as Event), { type: 'Delivery', id: 'a', was: 'received' });
  });

  it('notes the delivery of what was disputed meanwhile', async () => {
    await play(unnamed(), { type: 'Deadline', id: 'a', isContactLost: true });
    await clock.advance(60 * 60_000);
    await play(refusedByPerson('a'));
    const unit = await loadedUnit({ type: 'Delivery', id: 'a', was: 'received' });
    await expectTooLate(unit, { ...done('a'), source: 'recall' } as Event);
  });

  it('has read what a call relies on and does not change', async () => {
    await play(pay('a'), done('a'), { type: 'CloseDoc', ...about('a', 'c') }, { ...done('c'), report: {} } as Event);
    const refund = (newId: string): Event => ({ type: 'Refund', ...about('a', newId), rrn: '8', amountBani: 60 });
    await play(refund('r'));
    const ends: Event = { ...done('r'), report: {} } as Event;
    const unit = await loadedUnit(ends);
    // The payment is the root of its refund: whatever changes the payment excludes the end that was decided before.
    expect(unit.writes.map(({ table, key }) => `${table} ${key.join(' ')}`)).toContain('commands a');
    await play(ends);
    expect(await commit.add(unit)).toBe('conflict');
    const second: Event = { ...refund('s'), amountBani: 10 } as Event;
    const begun = await loadedUnit(second);
    expect(begun.writes.map(({ table, key }) => `${table} ${key.join(' ')}`)).toContain('commands a');
  });

  it('leads a key to something that another call has led it away from', async () => {
    const key = { key: 'k', requestHash: 'h' };
    await play(pay('a', { key }), { ...never('a'), source: 'answer' } as Event);
    const again = pay('b', { key, documentNr: 'a' });
    const unit = await loadedUnit(again);
    expect(unit.writes.find(({ table }) => table === 'idempotency_keys')?.guard).toEqual({ subject_id: 'a' });
  });

  it('finds a payment by the number that its bank gave it', async () => {
    await play(pay('a'), done('a'));
    const rows = await database.queries.selectFrom('bank_operations').selectAll().execute();
    expect(rows).toEqual([{ device_id: deviceId, operation_id: '7', payment_id: 'a' }]);
  });
});
