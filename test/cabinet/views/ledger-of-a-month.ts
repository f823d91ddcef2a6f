// A ledger with every case: two merchants, several devices, every state, several commands in one millisecond.
import type { Insertable } from 'kysely';
import type { Queries } from '../../../src/database/database.ts';
import type { Schema } from '../../../src/database/schema.ts';
import { seedCommand, seedDevice, seedMerchant } from '../../support/fixtures.ts';
import { seededRandom } from '../../support/seeded-random.ts';

type Row = Partial<Insertable<Schema['commands']>>;

export const startMs = Date.UTC(2026, 0, 5);

export interface MonthOfWork {
  merchants: [string, string];
  terminals: string[];
  registers: string[];
  count: number;
}

const settled = (atMs: number): Row => ({ settled_at: atMs + 900, settled_by: 'answer' });

export async function fillLedger(queries: Queries, count = 240): Promise<MonthOfWork> {
  const random = seededRandom(7);
  const one = (await seedMerchant(queries, { id: random.uuid(), name: 'Casa Verde' })).id;
  const other = (await seedMerchant(queries, { id: random.uuid(), name: 'Alt Magazin' })).id;
  const terminals: string[] = [];
  const registers: string[] = [];
  for (const [index, merchantId] of [one, one, other].entries()) {
    const shop = { point_of_sales_code: `CHI-0${index}` };
    terminals.push((await seedDevice(queries, merchantId, { id: random.uuid(), name: `Casa ${index}`, bank: `bank${index}`, ...shop })).id);
    registers.push((await seedDevice(queries, merchantId, { id: random.uuid(), kind: 'register', name: `Registru ${index}`, ...shop })).id);
  }
  for (let index = 0; index < count; index += 1) {
    const place = index % 3;
    const merchantId = place === 2 ? other : one;
    // Three in a row share their millisecond.
    const atMs = startMs + Math.floor(index / 3) * 60_000;
    const isFiscal = index % 5 === 0;
    const deviceId = (isFiscal ? registers : terminals)[place] ?? '';
    const base: Row = { id: random.uuid(), issued_at: atMs, answer_by: atMs + 300_000, amount_bani: 100 + (index % 40) };
    await seedCommand(queries, merchantId, deviceId, isFiscal ? fiscalRow(base, index, atMs) : cardRow(base, index, atMs, count));
  }
  // One payment of each device of the first merchant was refunded, the first partly.
  for (const [index, deviceId] of terminals.slice(0, 2).entries()) {
    const paid = await queries
      .selectFrom('commands')
      .select(['id', 'amount_bani', 'issued_at'])
      .where('device_id', '=', deviceId)
      .where('document_state', '=', 'closed')
      .orderBy('issued_at')
      .limit(1)
      .executeTakeFirstOrThrow();
    const atMs = paid.issued_at + 30_000;
    const amount = (paid.amount_bani ?? 0) - (index === 0 ? 50 : 0);
    const refund: Row = { id: random.uuid(), name: 'Refund', state: 'done', amount_bani: amount, target_id: paid.id };
    await seedCommand(queries, one, deviceId, { ...refund, issued_at: atMs, answer_by: atMs, ...settled(atMs) });
  }
  return { merchants: [one, other], terminals, registers, count: count + 2 };
}

function fiscalRow(base: Row, index: number, atMs: number): Row {
  const print = { ...base, name: 'PrintReceipt', receipt_uid: `uid-${index}`, ...settled(atMs) };
  if (index % 2 === 0) return { ...print, state: 'done', receipt_id: `R-${index}`, report: `{"receiptId":"R-${index}"}` };
  return index % 3 === 0 ? { ...print, state: 'refused' } : { ...base, name: 'MoneyIn', state: 'done', ...settled(atMs) };
}

function cardRow(base: Row, index: number, atMs: number, count: number): Row {
  const pay: Row = { ...base, name: 'Pay', document_nr: `doc-${index}` };
  const done: Row = { ...pay, state: 'done', rrn: `rrn${index}`, operation_id: String(index % 50).padStart(6, '0'), ...settled(atMs) };
  // A device has at most one open command or document: the last row of each.
  if (index === count - 1) return { ...pay, state: 'unknown' };
  if (index === count - 2) return { ...pay, state: 'sent' };
  if (index === count - 3) return { ...done, document_state: 'open' };
  switch (index % 8) {
    case 1:
      return { ...pay, state: 'refused', ...settled(atMs) };
    case 2:
      return { ...pay, state: 'never', outcome: index % 16 === 2 ? 'busy' : 'expired', ...settled(atMs) };
    case 3:
      return { ...done, document_state: 'voided' };
    case 4:
      return { ...done, document_state: 'closed', review_since: atMs, review_reason: 'A contradiction.' };
    default:
      return { ...done, document_state: 'closed' };
  }
}
