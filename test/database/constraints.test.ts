// No bug above the database can write an impossible row: each rule of the migrations refuses, on both engines, a row that differs
// from a good one in that rule alone.
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConstraintKind, ConstraintViolation } from '../../src/database/errors.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCallback, seedCommand, seedDevice, seedInvoice, seedKey, seedMerchant } from '../support/fixtures.ts';

describe.each(engines)('rows on %s', (engine) => {
  let database: TestDatabase;
  let merchant: string;
  let device: string;

  beforeAll(async () => {
    database = await openTestDatabase(engine);
    merchant = (await seedMerchant(database.queries)).id;
    device = (await seedDevice(database.queries, merchant)).id;
  });
  afterAll(() => database.close());

  /** Good rows stay out of the way of the unique indexes: each has a terminal of its own. */
  const command = async (overrides: Parameters<typeof seedCommand>[3] = {}) => {
    const own = await seedDevice(database.queries, merchant);
    return seedCommand(database.queries, merchant, own.id, overrides);
  };
  const key = (overrides: Parameters<typeof seedKey>[2]) => seedKey(database.queries, merchant, overrides);
  const invoice = (overrides: Parameters<typeof seedInvoice>[2]) => seedInvoice(database.queries, merchant, overrides);
  const callback = (overrides: Parameters<typeof seedCallback>[2]) => seedCallback(database.queries, merchant, overrides);
  const terminal = (overrides: Parameters<typeof seedDevice>[2]) => seedDevice(database.queries, merchant, overrides);
  const settled = { state: 'done', settled_at: 1, settled_by: 'answer', document_state: 'closed' } as const;
  const disputed = { ...settled, state: 'disputed', disputed_from: 'done', review_since: 5, review_reason: 'contradicted' } as const;
  const paid = () => ({ state: 2, receipt_id: 'r1', paid_device_id: device, ended_at: 5, scanned_at: 4 });
  // Values that the types already forbid.
  // That is the point.
  const wrong = (value: unknown) => value as any;

  const refusals: [string, ConstraintKind, () => Promise<unknown>][] = [
    ['a merchant without a name', 'check', () => seedMerchant(database.queries, { name: '' })],
    ['a key that opens nothing', 'check', () => key({ opens_pos: 0, opens_qr: 0, opens_fiscal: 0 })],
    ['a key that opens POS twice', 'check', () => key({ opens_pos: 2 })],
    ['a key that opens QR twice', 'check', () => key({ opens_qr: 2 })],
    ['a key that opens Fiscal twice', 'check', () => key({ opens_fiscal: 2 })],
    ['a key of no merchant', 'foreign key', () => seedKey(database.queries, 'nobody')],
    ['a key replaced by none', 'foreign key', () => key({ replaced_by: 'none' })],
    ['a device of an unknown kind', 'check', () => terminal({ kind: wrong('toaster') })],
    ['a device without a name', 'check', () => terminal({ name: '' })],
    ['a register with a bank', 'check', () => terminal({ kind: 'register', bank: 'bank1' })],
    ['a pairing code without an end', 'check', () => terminal({ pairing_hash: 'h1' })],
    ['an invoice in no known state', 'check', () => invoice({ state: 5, ended_at: 1 })],
    ['a paid invoice without receipt', 'check', () => invoice({ ...paid(), receipt_id: null })],
    ['a paid invoice without device', 'check', () => invoice({ ...paid(), paid_device_id: null })],
    ['a paid invoice without end', 'check', () => invoice({ ...paid(), ended_at: null })],
    ['an unpaid invoice with a receipt', 'check', () => invoice({ receipt_id: 'r1' })],
    ['an unpaid invoice with a paying device', 'check', () => invoice({ paid_device_id: device })],
    ['an open invoice with an end', 'check', () => invoice({ ended_at: 5 })],
    ['a scanned invoice without its time', 'check', () => invoice({ state: 1 })],
    ['an expired invoice without validity', 'check', () => invoice({ state: 3, ended_at: 5 })],
    ['a callback in no known state', 'check', () => callback({ state: wrong('lost') })],
    ['a callback of no known kind', 'check', () => callback({ subject_kind: wrong('news') })],
    ['a callback numbered zero', 'check', () => callback({ sequence: 0 })],
    ['a callback tried fewer than zero times', 'check', () => callback({ attempts: -1 })],
    ['a pending callback without a next attempt', 'check', () => callback({ next_attempt_at: null })],
    ['a pending callback with an end', 'check', () => callback({ ended_at: 5 })],
    ['a delivered callback that is due', 'check', () => callback({ state: 'delivered', ended_at: 5 })],
    ['a lease without an end', 'check', () => callback({ leased_by: 'me' })],
    ['a command in no known state', 'check', () => command({ state: wrong('lost') })],
    ['an amount of zero', 'check', () => command({ amount_bani: 0 })],
    ['a command in flight that is settled', 'check', () => command({ settled_at: 5, settled_by: 'answer' })],
    ['a settled command without its time', 'check', () => command({ state: 'refused' })],
    ['a settled command without its source', 'check', () => command({ state: 'refused', settled_at: 5 })],
    ['an approved payment without a document', 'check', () => command({ ...settled, document_state: null })],
    ['a refused payment with a document', 'check', () => command({ ...settled, state: 'refused' })],
    ['a document of another command than Pay', 'check', () => command({ ...settled, name: 'CloseDoc' })],
    ['a dispute without the state that it contradicts', 'check', () => command({ ...disputed, disputed_from: null })],
    ['a dispute without a review', 'check', () => command({ ...disputed, review_since: null, review_reason: null })],
    ['an open document of a disputed payment', 'check', () => command({ ...disputed, document_state: 'open' })],
    ['a review without a reason', 'check', () => command({ review_since: 5 })],
    ['a decision without a review', 'check', () => command({ reviewed_at: 5 })],
    ['a command without arguments', 'not null', () => command({ args: wrong(null) })],
    [
      'a row without its id',
      'not null',
      () => sql`insert into merchants (id, name, callback_secret, created_at) values (null, 'x', 'x', 1)`.execute(database.queries),
    ],
  ];

  it.each(refusals)('refuses %s', async (_name, kind, write) => {
    const error = await write().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ConstraintViolation);
    expect((error as ConstraintViolation).kind).toBe(kind);
  });

  it('accepts the good rows that those differ from', async () => {
    await command();
    await command(settled);
    await command(disputed);
    await command({ state: 'unknown', review_since: 5, review_reason: 'silent' });
    await invoice({});
    await invoice(paid());
    await invoice({ state: 1, scanned_at: 3 });
    await invoice({ state: 3, ended_at: 5, valid_to: 4 });
    await invoice({ state: 4, ended_at: 5 });
    await callback({ state: 'dead', next_attempt_at: null, ended_at: 5 });
    await callback({ leased_by: 'me', leased_until: 5 });
    await terminal({ pairing_hash: 'h2', pairing_expires_at: 5 });
  });

  it('lets one command have a number, and a number of another merchant be another one', async () => {
    const claim = (commandId: string, merchantId = merchant) =>
      database.queries
        .insertInto('claims')
        .values({ merchant_id: merchantId, kind: 'document', value: 'd', command_id: commandId })
        .execute();
    await claim('first');
    await expect(claim('second')).rejects.toMatchObject({ kind: 'unique' });
    await claim('second', 'another merchant');
  });

  it('refuses an amount that is no whole number of bani', async () => {
    await expect(command({ amount_bani: 10.5 })).rejects.toThrow();
  });
});
