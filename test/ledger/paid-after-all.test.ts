// A disputed payment that an operator resolves as executed [D143]: whether it locks its terminal again, and what it is for the day's close.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import * as disputeStore from '../../src/ledger/dispute-store.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const paidAtMs = 1_000;
const nowMs = 1_000_000;
let database: Database;
let merchantId: string;
let deviceId: string;

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock(nowMs));
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
});

const seed = async (overrides: Parameters<typeof seedCommand>[3]) =>
  (await seedCommand(database.queries, merchantId, deviceId, { issued_at: paidAtMs + 1, ...overrides })).id;
const done = { state: 'done', settled_at: 2_000, settled_by: 'answer' } as const;
const disputed = (overrides: object = {}) =>
  seed({ state: 'disputed', settled_at: 1_500, settled_by: 'person', issued_at: paidAtMs, operation_id: '7', ...overrides });

async function resolve(
  id: string,
  state: 'done' | 'refused' = 'done',
  meanwhile: (command: Command) => Promise<unknown> = async () => {},
): Promise<{ now: Command | undefined; documentOnLock: string | null }> {
  const command = (await findCommand(database.queries, id)) as Command;
  await meanwhile(command);
  const resolution = { state, reason: 'In the list.', report: undefined, isPayment: command.name === 'Pay' } as const;
  const resolved = await database.transaction((queries) => disputeStore.resolve(database.engine, queries, command, resolution));
  const lock = await database.queries.selectFrom('device_locks').select('document_id').where('device_id', '=', deviceId).executeTakeFirst();
  return { now: resolved?.command, documentOnLock: lock?.document_id ?? null };
}

describe('a payment that was made after all', () => {
  it('awaits its CloseDoc and locks its terminal, if nothing happened there since', async () => {
    const id = await disputed();
    const { now, documentOnLock } = await resolve(id);
    expect(now).toMatchObject({ state: 'done', settledBy: 'person', documentState: 'open', bankDayClosedAtMs: null });
    expect(documentOnLock).toBe(id);
  });

  it.each<[string, 'CloseDoc' | 'CancelTransaction', 'closed' | 'voided']>([
    ['CloseDoc', 'CloseDoc', 'closed'],
    ['void', 'CancelTransaction', 'voided'],
  ])('is ended by the %s that was done during the dispute, and leaves the terminal free', async (_what, name, documentState) => {
    const id = await disputed();
    await seed({ ...done, name, target_id: id });
    const { now, documentOnLock } = await resolve(id);
    expect(now).toMatchObject({ state: 'done', documentState, bankDayClosedAtMs: null });
    expect(documentOnLock).toBeNull();
  });

  it('is closed with the day that was closed after it, at that time', async () => {
    const id = await disputed();
    await seed({ ...done, name: 'CloseDay', settled_at: 3_000 });
    await seed({ ...done, name: 'CloseDay', settled_at: 9_000, issued_at: 8_000 });
    const { now, documentOnLock } = await resolve(id);
    expect(now).toMatchObject({ documentState: 'closed', bankDayClosedAtMs: 3_000 });
    expect(documentOnLock).toBeNull();
  });

  it('keeps the close of its day that is known already', async () => {
    const id = await disputed({ bank_day_closed_at: 2_500, disputed_from: 'done' });
    await seed({ ...done, name: 'CloseDay', settled_at: 3_000 });
    expect((await resolve(id)).now).toMatchObject({ documentState: 'closed', bankDayClosedAtMs: 2_500 });
  });

  it('is closed if another payment was made on its terminal since', async () => {
    const id = await disputed();
    await seed({ ...done, document_state: 'closed' });
    const { now, documentOnLock } = await resolve(id);
    expect(now).toMatchObject({ documentState: 'closed', bankDayClosedAtMs: null });
    expect(documentOnLock).toBeNull();
  });

  it.each<[string, Parameters<typeof seedCommand>[3]]>([
    ['was refused since', { ...done, state: 'refused' }],
    ['was made before', { ...done, document_state: 'closed', issued_at: paidAtMs - 1 }],
    ['is of another kind', { ...done, name: 'Refund' }],
  ])('locks its terminal also if another operation %s', async (_what, other) => {
    const id = await disputed();
    await seed(other);
    expect((await resolve(id)).documentOnLock).toBe(id);
  });

  it('is closed while another command runs on its terminal', async () => {
    const id = await disputed();
    await seed({ name: 'Refund' });
    const { now, documentOnLock } = await resolve(id);
    expect(now).toMatchObject({ documentState: 'closed' });
    expect(documentOnLock).toBeNull();
  });

  it('is closed while another document is open on its terminal, and leaves that one', async () => {
    const id = await disputed();
    const other = await seed({ ...done, document_state: 'open', issued_at: paidAtMs - 1 });
    const { now, documentOnLock } = await resolve(id);
    expect(now).toMatchObject({ documentState: 'closed' });
    expect(documentOnLock).toBe(other);
  });

  it('awaits its own CloseDoc that still runs', async () => {
    const id = await disputed();
    await seed({ name: 'CloseDoc', target_id: id });
    const { now, documentOnLock } = await resolve(id);
    expect(now).toMatchObject({ documentState: 'open' });
    expect(documentOnLock).toBe(id);
  });
});

it('a payment that was not made locks no terminal', async () => {
  const { now, documentOnLock } = await resolve(await disputed({ disputed_from: 'done' }), 'refused');
  expect(now).toMatchObject({ state: 'refused', documentState: null });
  expect(documentOnLock).toBeNull();
});

it('an operation that opens no document locks no terminal either', async () => {
  const { now, documentOnLock } = await resolve(await disputed({ name: 'MoneyOut' }));
  expect(now).toMatchObject({ state: 'done', documentState: null, bankDayClosedAtMs: null });
  expect(documentOnLock).toBeNull();
});

it('what an operator has read is not resolved if its device has said something else before the lock is had', async () => {
  const id = await disputed({ contradiction: 'accepted', outcome: null });
  const reported = {
    contradiction: 'done 8',
    outcome: 'done',
    report: '{"operationId":"8"}',
    operationId: '8',
    why: 'It is done.',
    isFromOwnJournal: true,
  } as const;
  const { now, documentOnLock } = await resolve(id, 'done', (command) =>
    database.transaction((queries) => disputeStore.dispute(database.engine, queries, command, reported)),
  );
  expect([now, documentOnLock]).toEqual([undefined, null]);
  expect(await findCommand(database.queries, id)).toMatchObject({ state: 'disputed', operationId: '8', report: reported.report });
  expect((await resolve(id)).now).toMatchObject({ state: 'done', operationId: '8', report: reported.report });
});
