// Which command a call repeats: by its key, its number, its content; and when an equal one is a new one.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { deadAfterMs } from '../../src/database/instances.ts';
import type { CommandCall } from '../../src/ledger/calls/call.ts';
import { createKeyedCalls } from '../../src/ledger/calls/keyed-calls.ts';
import { createRepeats, type Earlier } from '../../src/ledger/calls/repeats.ts';
import type { Command } from '../../src/ledger/command.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let database: Database;
let merchantId: string;
let deviceId: string;
let notes: Map<string, 'received' | 'left' | 'answered 3'>;
let keyed: Command | undefined;

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
  notes = new Map();
  keyed = undefined;
  const living = { host: 'h', pid: 1, embedded: '', started_at: 1, heartbeat_at: clock.now(), stopped_at: null };
  await database.queries
    .insertInto('instances')
    .values({ ...living, id: 'living' })
    .execute();
});

const call = (overrides: Partial<CommandCall> = {}): CommandCall => ({ merchantId, deviceId, requestHash: 'asked', ...overrides });
const command = async (overrides: object = {}) => {
  const row = { name: 'Refund', request_hash: 'asked', instance_id: 'living', ...overrides };
  return (await seedCommand(database.queries, merchantId, deviceId, row)).id;
};
const ended = { state: 'refused', settled_by: 'answer' } as const;
const done = () => ({ ...ended, settled_at: clock.now() });

/** What it repeats, and after how many milliseconds that was known. */
async function find(one = call()): Promise<{ earlier: Earlier | undefined; afterMs: number }> {
  const repeats = createRepeats({
    database,
    clock,
    outcomeDelivery: { statusOf: (id) => notes.get(id) },
    findByKey: async () => keyed,
  });
  let earlier: Earlier | undefined;
  let isOver = false;
  const from = clock.elapsed();
  void repeats.find(one).then((found) => {
    earlier = found;
    isOver = true;
  });
  await clock.settle();
  if (!isOver) await clock.runUntil(() => isOver, 60_000);
  return { earlier, afterMs: clock.elapsed() - from };
}
const repeated = async (one?: CommandCall) => {
  const { earlier, afterMs } = await find(one);
  return [earlier?.command.id, earlier?.by, afterMs];
};
const none = [undefined, undefined, 0];

describe('a call', () => {
  it('repeats the command of its key first; if that was not done, the command of its number, if any', async () => {
    const named = { id: 'named', state: 'done' } as Command;
    const findEarlier = async () => named;
    for (const state of ['sent', 'unknown', 'done', 'disputed'] as const) {
      keyed = { id: 'keyed', state } as Command;
      expect(await find(call({ findEarlier }))).toMatchObject({ earlier: { command: keyed, by: 'key' } });
    }
    for (const state of ['refused', 'never'] as const) {
      keyed = { id: 'keyed', state } as Command;
      expect(await find(call({ findEarlier }))).toMatchObject({ earlier: { command: named, by: 'number' } });
    }
    keyed = { id: 'keyed', state: 'refused' } as Command;
    expect(await find(call())).toMatchObject({ earlier: { command: keyed, by: 'key' } });
  });

  it('is recognised by its content only if it has no key and its kind allows it', async () => {
    const id = await command({ state: 'unknown' });
    expect(await repeated()).toEqual([id, 'content', 0]);
    expect(await repeated(call({ idempotency: { key: 'k', requestHash: 'h' } }))).toEqual(none);
    expect(await repeated(call({ requestHash: undefined }))).toEqual(none);
  });

  it.each([{ requestHash: 'other' }, { deviceId: 'other' }, { merchantId: 'other' }])('of %j is another one', async (overrides) => {
    await command({ state: 'unknown' });
    expect(await repeated(call(overrides))).toEqual(none);
  });
});

describe('an equal command', () => {
  it('whose caller still waits is not repeated: the device is busy', async () => {
    await command();
    expect(await repeated()).toEqual(none);
  });

  it.each(['left', 'answered 3'] as const)('whose caller has %s is one, although that is not written yet', async (note) => {
    const id = await command();
    notes.set(id, note);
    expect(await repeated()).toEqual([id, 'content', 0]);
  });

  it('whose outcome was delivered is not repeated, even if that is not written yet; nor is one that never began', async () => {
    notes.set(await command({ ...done(), outcome_missed_at: clock.now() }), 'received');
    expect(await repeated()).toEqual(none);
    await database.queries.updateTable('commands').set({ state: 'never' }).execute();
    notes.clear();
    expect(await repeated()).toEqual(none);
  });

  it.each([
    ['whose caller is written down as gone', { outcome_missed_at: 1 }],
    ['of a gateway that stopped', { instance_id: 'stopped' }],
    ['of a gateway that is silent', { instance_id: 'silent' }],
    ['of an unknown gateway', { instance_id: 'forgotten' }],
  ])('%s is one', async (_what, columns) => {
    const row = { host: 'h', pid: 1, embedded: '', started_at: 1, heartbeat_at: clock.now(), stopped_at: null };
    await database.queries
      .insertInto('instances')
      .values([
        { ...row, id: 'stopped', stopped_at: 1 },
        { ...row, id: 'silent', heartbeat_at: clock.now() - deadAfterMs },
      ])
      .execute();
    const id = await command(columns);
    expect(await repeated()).toEqual([id, 'content', 0]);
  });

  it('that has ended, and whose answer may be in transit, is waited for two seconds; then it is repeated', async () => {
    const id = await command(done());
    expect(await repeated()).toEqual([id, 'content', 2_000]);
  });

  it('whose answer was received meanwhile is not repeated', async () => {
    await command(done());
    const finding = find();
    await clock.advance(50);
    await database.queries.updateTable('commands').set({ outcome_received_at: clock.now() }).execute();
    const { earlier, afterMs } = await finding;
    expect([earlier, afterMs < 200]).toEqual([undefined, true]);
  });

  it('is recognised for ten minutes after its end, or after the last 3 about it', async () => {
    const tenMinutes = 10 * 60_000;
    const id = await command({ ...done(), outcome_missed_at: clock.now() - tenMinutes });
    await clock.advance(tenMinutes - 1);
    expect(await repeated()).toEqual([id, 'content', 0]);
    await clock.advance(1);
    expect(await repeated()).toEqual(none);
    await database.queries.updateTable('commands').set({ outcome_missed_at: clock.now() }).execute();
    expect(await repeated()).toEqual([id, 'content', 0]);
  });

  it.each([undefined, { key: 'new', requestHash: 'h' }])(
    'that is disputed lets none begin beside it, whatever its key: %j',
    async (idempotency) => {
      const id = await command({ ...done(), state: 'disputed' });
      const repeats = createRepeats({ database, clock, outcomeDelivery: { statusOf: () => undefined }, findByKey: async () => keyed });
      const finding = repeats.find(call(idempotency && { idempotency }));
      await expect(finding).rejects.toMatchObject({ errorName: 'Device_Busy', fields: { OID: id } });
      expect(await repeats.find(call({ requestHash: 'other', ...(idempotency && { idempotency }) }))).toBeUndefined();
      expect(await repeats.find(call({ requestHash: undefined }))).toBeUndefined();
    },
  );

  it('is the newest of several', async () => {
    await command({ ...done(), outcome_missed_at: 1, issued_at: 1 });
    const newest = await command({ ...done(), outcome_missed_at: 1, issued_at: 3 });
    expect(await repeated()).toEqual([newest, 'content', 0]);
  });
});

describe('an Idempotency-Key', () => {
  const idempotency = { key: 'k', requestHash: 'asked' };
  const keys = () => createKeyedCalls({ database, logger: quietLogger });

  it('belongs to one command, then to the one that it is moved to; for another request it is 22', async () => {
    const { findByKey, keepKey } = keys();
    const [first, second] = [await command({ ...done(), state: 'never' }), await command(done())];
    const stands = async () => (await findByKey({ merchantId, idempotency }))?.id;
    expect(await stands()).toBeUndefined();
    await keepKey({ merchantId, idempotency }, first);
    expect(await stands()).toBe(first);
    await keepKey({ merchantId, idempotency }, first);
    expect(await stands()).toBe(first);
    await keepKey({ merchantId, idempotency }, second);
    expect(await stands()).toBe(second);
    // Not back to the one that never was, by whoever was on his way with it.
    await keepKey({ merchantId, idempotency }, first);
    expect(await stands()).toBe(second);
    const other = { merchantId, idempotency: { key: 'k', requestHash: 'something else' } };
    await expect(findByKey(other)).rejects.toMatchObject({ errorName: 'The_status_cannot_be_applied' });
    await expect(keepKey(other, first)).rejects.toMatchObject({ errorName: 'The_status_cannot_be_applied' });
    expect(await stands()).toBe(second);
    expect(await findByKey({ merchantId: 'another', idempotency })).toBeUndefined();
  });

  it('is released by a command that never began, by no other command, and by no call without a key', async () => {
    const { findByKey, keepKey, dropKeyOfNever } = keys();
    const id = await command(done());
    await keepKey({ merchantId }, id);
    expect(await findByKey({ merchantId })).toBeUndefined();
    expect(await database.queries.selectFrom('idempotency_keys').selectAll().execute()).toEqual([]);
    await keepKey({ merchantId, idempotency }, id);
    await dropKeyOfNever({ merchantId, idempotency }, { id, state: 'refused' } as Command);
    await dropKeyOfNever({ merchantId }, { id, state: 'never' } as Command);
    await dropKeyOfNever({ merchantId, idempotency }, { id: 'another', state: 'never' } as Command);
    expect(await findByKey({ merchantId, idempotency })).toMatchObject({ id });
    await dropKeyOfNever({ merchantId, idempotency }, { id, state: 'never' } as Command);
    expect(await findByKey({ merchantId, idempotency })).toBeUndefined();
  });
});
