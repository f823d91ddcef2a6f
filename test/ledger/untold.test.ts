// Which command a request without a key repeats, as the statement finds it [D58]: the newest with its content whose outcome nobody is known to
// have, for ten minutes. SQLite in memory.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { deadAfterMs } from '../../src/database/instances.ts';
import { findEqual, writeMissed, writeReceived } from '../../src/ledger/calls/content-store.ts';
import type { Content } from '../../src/ledger/claims.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedInvoice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const tenMinutesMs = 600_000;
let clock: VirtualClock;
let database: Database;
let merchantId: string;
let deviceId: string;

beforeEach(async () => {
  clock = createVirtualClock();
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
});
afterEach(() => database.close());

async function refused(overrides: object = {}): Promise<string> {
  const settled = { state: 'refused', settled_by: 'answer', settled_at: clock.now(), request_hash: 'h', name: 'Refund' } as const;
  return (await seedCommand(database.queries, merchantId, deviceId, { ...settled, ...overrides })).id;
}
const find = (more: Partial<Content> = {}) => findEqual(database.queries, { merchantId, deviceId, requestHash: 'h', ...more });
const found = async (more?: Partial<Content>) => (await find(more))?.command.id;

it('is the newest', async () => {
  await refused();
  await clock.advance(1);
  const young = await refused();
  expect(await found()).toBe(young);
});

it('is of the same merchant, device and content, and did something', async () => {
  await refused({ state: 'never' });
  expect(await found()).toBeUndefined();
  await refused();
  for (const more of [{ merchantId: 'other' }, { deviceId: 'other' }, { requestHash: 'other' }]) expect(await found(more)).toBeUndefined();
});

it('is recognised for ten minutes after its end, and after the last answer 3 about it', async () => {
  const id = await refused();
  await clock.advance(tenMinutesMs - 1);
  expect(await found()).toBe(id);
  await writeMissed(database.queries, [id], 'answered 3');
  await clock.advance(1);
  expect(await found()).toBe(id);
  await writeMissed(database.queries, [id], 'left');
  await clock.advance(tenMinutesMs - 2);
  expect(await found()).toBe(id);
  await clock.advance(1);
  expect(await found()).toBeUndefined();
});

it('is recognised while it is open, however long that takes', async () => {
  const id = await refused({ state: 'unknown', settled_by: null, settled_at: null });
  await clock.advance(24 * 3600_000);
  expect(await found()).toBe(id);
});

it('is not one whose outcome was delivered, however many were written at once', async () => {
  const ids = [await refused(), await refused()];
  await writeReceived(database.queries, [...Array.from({ length: 1_000 }, (_, at) => `no. ${at}`), ...ids]);
  expect(await found()).toBeUndefined();
});

it.each(['CloseDay', 'Report'])('is no %s after which its device did anything but close', async (name) => {
  const id = await refused({ name, state: 'done', issued_at: clock.now() });
  const later = async (more: object) => {
    await clock.advance(1);
    await refused({ request_hash: null, state: 'done', issued_at: clock.now(), ...more });
  };
  for (const closing of ['CloseDoc', 'CloseDay', 'Report']) await later({ name: closing });
  for (const state of ['refused', 'never']) await later({ name: 'MoneyIn', state });
  await later({ name: 'MoneyIn', issued_at: clock.now() - 2_000 });
  expect(await found()).toBe(id);
  await later({ name: 'MoneyIn' });
  expect(await found()).toBeUndefined();
});

it('is no close after which an invoice was paid at its device by its QR [D149]', async () => {
  const id = await refused({ name: 'CloseDay', state: 'done', issued_at: clock.now() });
  const paid = { state: 2, receipt_id: 'r', scanned_at: clock.now() } as const;
  await seedInvoice(database.queries, merchantId, { ...paid, paid_device_id: deviceId, ended_at: clock.now() });
  await clock.advance(1);
  const { id: other } = await seedDevice(database.queries, merchantId);
  await seedInvoice(database.queries, merchantId, { ...paid, paid_device_id: other, ended_at: clock.now() });
  expect(await found()).toBe(id);
  await seedInvoice(database.queries, merchantId, { ...paid, paid_device_id: deviceId, ended_at: clock.now() });
  expect(await found()).toBeUndefined();
});

it('is no close, and its device did something since: that changes nothing', async () => {
  const id = await refused({ state: 'done', issued_at: clock.now() });
  await clock.advance(1);
  await refused({ request_hash: null, state: 'done', name: 'MoneyIn', issued_at: clock.now() });
  expect(await found()).toBe(id);
});

it('includes whether its gateway is alive: not if it stopped, has no heartbeat or was removed', async () => {
  await refused({ instance_id: 'i' });
  expect((await find())?.isInstanceLiving).toBe(false);
  const instance = { id: 'i', host: 'h', pid: 1, embedded: '', started_at: clock.now(), heartbeat_at: clock.now() };
  await database.queries.insertInto('instances').values(instance).execute();
  expect((await find())?.isInstanceLiving).toBe(true);
  await clock.advance(deadAfterMs - 1);
  expect((await find())?.isInstanceLiving).toBe(true);
  await clock.advance(1);
  expect((await find())?.isInstanceLiving).toBe(false);
  await database.queries.updateTable('instances').set({ heartbeat_at: clock.now(), stopped_at: clock.now() }).execute();
  expect((await find())?.isInstanceLiving).toBe(false);
});
