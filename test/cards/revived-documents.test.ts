// A CloseDoc or void proves not to have been made [D143]: what becomes of the payment's document, and what an operator reads about it.
import { beforeEach, describe, expect, it } from 'vitest';
import { cardKinds } from '../../src/cards/card-kinds.ts';
import type { CardsDeps } from '../../src/cards/cards-deps.ts';
import { reviveDocument } from '../../src/cards/store.ts';
import type { Database } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import { findHolder } from '../../src/ledger/device-lock.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let database: Database;
let merchantId: string;
let deviceId: string;

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock(1_000_000));
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
});

type Overrides = NonNullable<Parameters<typeof seedCommand>[3]>;
const done = { state: 'done', settled_at: 1_000, settled_by: 'answer' } as const;
const seed = async (overrides: Overrides) => (await seedCommand(database.queries, merchantId, deviceId, overrides)).id;
const payment = (document_state: 'open' | 'closed' | 'voided', overrides: Overrides = {}) =>
  seed({ ...done, issued_at: 1_000, document_state, ...overrides });
const disputed = { state: 'disputed', settled_at: 1_000, settled_by: 'answer', disputed_from: 'done' } as const;
const revive = (id: string, from: 'closed' | 'voided') => reviveDocument(database.engine, database.queries, id, from);
const find = async (id: string) => (await findCommand(database.queries, id)) as Command;
const isLocked = async () => (await findHolder(database.queries, deviceId)) !== undefined;
/** A payment on the same terminal after it. */
const laterPayment = () => seed({ ...done, issued_at: 2_000, document_state: 'closed' });

describe('the document of a payment', () => {
  it.each(['closed', 'voided'] as const)('that was %s is open again, and locks its terminal', async (from) => {
    const id = await payment(from);
    expect(await revive(id, from)).toBe('open');
    expect(await find(id)).toMatchObject({ documentState: 'open', bankDayClosedAtMs: null });
    expect(await isLocked()).toBe(true);
  });

  it('that was voided is closed if the terminal was used since', async () => {
    const id = await payment('voided');
    await laterPayment();
    expect(await revive(id, 'voided')).toBe('closed');
    expect(await find(id)).toMatchObject({ documentState: 'closed' });
    expect(await isLocked()).toBe(false);
  });

  it('that was voided before its day was closed belongs to that day', async () => {
    const id = await payment('voided');
    await seed({ ...done, name: 'CloseDay', amount_bani: null, issued_at: 2_000, settled_at: 2_500 });
    expect(await revive(id, 'voided')).toBe('closed');
    expect(await find(id)).toMatchObject({ documentState: 'closed', bankDayClosedAtMs: 2_500 });
  });

  it('stays closed, which is no change, if the terminal was used since', async () => {
    const id = await payment('closed');
    await laterPayment();
    expect(await revive(id, 'closed')).toBeUndefined();
    expect(await find(id)).toMatchObject({ documentState: 'closed' });
  });

  it('is left as it is if it was not ended in this way, or the payment is gone', async () => {
    const id = await payment('open');
    expect(await revive(id, 'voided')).toBeUndefined();
    expect(await find(id)).toMatchObject({ documentState: 'open' });
    expect(await revive('00000000-0000-4000-8000-000000000000', 'voided')).toBeUndefined();
  });

  it('of a disputed payment locks no terminal: its own resolution opens it', async () => {
    const id = await payment('voided', disputed);
    expect(await revive(id, 'voided')).toBeNull();
    expect(await find(id)).toMatchObject({ documentState: null });
    expect(await isLocked()).toBe(false);
  });

  it('of a disputed payment whose void was made meanwhile is voided, and belongs to no bank day', async () => {
    const id = await payment('closed', disputed);
    await seed({ ...done, name: 'CancelTransaction', target_id: id, issued_at: 1_500 });
    await seed({ ...done, name: 'CloseDay', amount_bani: null, issued_at: 2_000, settled_at: 2_500 });
    expect(await revive(id, 'closed')).toBe('voided');
    expect(await find(id)).toMatchObject({ documentState: 'voided', bankDayClosedAtMs: null });
  });

  it('of a disputed payment is closed, too, if the terminal was used since', async () => {
    const id = await payment('voided', disputed);
    await laterPayment();
    expect(await revive(id, 'voided')).toBe('closed');
  });
});

describe('a receipt with the payment', () => {
  const onReceipt = async (id: string) => {
    await database.queries
      .insertInto('receipt_payments')
      .values({ payment_id: id, print_id: 'p', amount_bani: 1_000, voided_at: 7 })
      .execute();
    return async () => (await database.queries.selectFrom('receipt_payments').select('voided_at').executeTakeFirstOrThrow()).voided_at;
  };

  it('needs no operator any more when the void was not made', async () => {
    const id = await payment('voided');
    const voidedAt = await onReceipt(id);
    await revive(id, 'voided');
    expect(await voidedAt()).toBeNull();
  });

  it('still needs one when only the CloseDoc was not made', async () => {
    const id = await payment('closed');
    const voidedAt = await onReceipt(id);
    expect(await revive(id, 'closed')).toBe('open');
    expect(await voidedAt()).toBe(7);
  });
});

describe('the timeline lists what could not be undone', () => {
  const reversed = async (name: 'CloseDoc' | 'CancelTransaction', targetId: string) => {
    const invoices = { endWithout: async () => undefined };
    const kinds = cardKinds({ database, invoices, callbacks: { wake() {} } } as unknown as CardsDeps);
    return kinds[name]?.onReversed?.(database.queries, { targetId, disputedFrom: 'done' } as Command);
  };
  const staysClosed = 'The terminal has begun other operations since: the document of the payment stays closed.';

  it.each([
    ['CloseDoc', 'closed', {}],
    ['CloseDoc', 'closed', disputed],
    ['CancelTransaction', 'voided', {}],
    ['CancelTransaction', 'voided', disputed],
  ] as const)('of a %s: nothing when its document is open again, or its payment is disputed (%s, %o)', async (name, from, overrides) => {
    expect(await reversed(name, await payment(from, overrides))).toBeUndefined();
  });

  it.each([
    ['CloseDoc', 'closed'],
    ['CancelTransaction', 'voided'],
  ] as const)('of a %s: the document, when the terminal was used since', async (name, from) => {
    const id = await payment(from);
    await laterPayment();
    expect(await reversed(name, id)).toBe(staysClosed);
  });

  it('of a void: nothing when the document had been closed by a CloseDoc before', async () => {
    const id = await payment('voided');
    await seed({ ...done, name: 'CloseDoc', amount_bani: null, target_id: id, issued_at: 1_500 });
    expect(await reversed('CancelTransaction', id)).toBeUndefined();
    expect(await find(id)).toMatchObject({ documentState: 'closed' });
  });
});
