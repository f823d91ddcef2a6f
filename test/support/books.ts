// Lays the gateway's ledger beside a device's own books (bank, fiscal memory), entry by entry and to the ban.
// The books are written apart from each other and protect nobody from doubles, so whatever happened twice is seen here.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import type { BankEntry } from '../../src/virtual/books/bank.ts';
import type { FiscalDocument } from '../../src/virtual/books/fiscal-memory.ts';
import { quietLogger } from './quiet-logger.ts';

export interface LedgerRow {
  id: string;
  device_id: string;
  name: string;
  state: string;
  amount_bani: number | null;
  document_nr: string | null;
  receipt_uid: string | null;
  operation_id: string | null;
  rrn: string | null;
  settled_by: string | null;
  review_since: number | null;
  report: string | null;
  args: string;
}

/** Where a gateway keeps its ledger; read beside the running gateway, as the command line may. */
export type LedgerPlace = { dataDir: string } | { url: string };

export async function readLedger(place: LedgerPlace): Promise<LedgerRow[]> {
  const database = await openDatabase({ ...place, role: 'reader', clock: systemClock, logger: quietLogger });
  try {
    const columns = ['id', 'device_id', 'name', 'state', 'amount_bani', 'document_nr', 'operation_id', 'rrn', 'settled_by'] as const;
    return await database.queries
      .selectFrom('commands')
      .select([...columns, 'receipt_uid', 'review_since', 'report', 'args'])
      .orderBy('issued_at')
      .execute();
  } finally {
    await database.close();
  }
}

/** The core that wrote the ledger: each has numbers in a table of its own. */
export async function coreOf(place: LedgerPlace): Promise<'old' | 'new' | undefined> {
  const database = await openDatabase({ ...place, role: 'reader', clock: systemClock, logger: quietLogger });
  try {
    const [name] = await database.queries.selectFrom('names').select('value').limit(1).execute();
    const [claim] = await database.queries.selectFrom('claims').selectAll().limit(1).execute();
    if (name && claim) throw new Error('Two cores have written this database.');
    return name ? 'new' : claim && 'old';
  } finally {
    await database.close();
  }
}

function readRecords<Record>(stateDir: string, name: string): Record[] {
  const path = join(stateDir, name);
  if (!existsSync(path)) return [];
  // The last line may be torn when the device was killed while it wrote.
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record);
}

export const readBank = (stateDir: string) => readRecords<BankEntry>(stateDir, 'bank.jsonl');
export const readFiscalMemory = (stateDir: string) => readRecords<FiscalDocument>(stateDir, 'fiscal-memory.jsonl');

const bankKinds: Record<string, BankEntry['kind']> = {
  Pay: 'charge',
  Refund: 'refund',
  CancelTransaction: 'void',
  CloseDoc: 'document-closed',
  CloseDay: 'settlement',
};

interface Books {
  ledger: LedgerRow[];
  deviceId: string;
  stateDir: string;
  /** Commands that the device ran by itself (a scan) stand in its own books alone. */
  hasOwnSales?: boolean;
}

/** Every command of the device is settled, and each was done exactly as often as the ledger says. */
export function expectTerminalAgrees({ ledger, deviceId, stateDir, hasOwnSales = false }: Books): void {
  const rows = ledger.filter((row) => row.device_id === deviceId);
  const entries = readBank(stateDir).filter(({ kind }) => kind !== 'decline');
  for (const row of rows) {
    expect(['done', 'refused', 'never'], `${row.name} ${row.id} is settled`).toContain(row.state);
    const done = entries.filter(({ reference }) => reference === row.id);
    const wanted = row.state === 'done' ? [{ kind: bankKinds[row.name] ?? row.name }] : [];
    expect(done, `the bank's entries for ${row.name} ${row.id}, which is ${row.state}`).toMatchObject(wanted);
    const [entry] = done;
    if (entry && row.name === 'Pay') {
      expect({ amount: row.amount_bani, operationId: row.operation_id, rrn: row.rrn }).toEqual({
        amount: entry.amountBani,
        operationId: entry.operationId,
        rrn: entry.rrn,
      });
    }
    if (entry && row.name === 'Refund') expect(row.amount_bani).toBe(entry.amountBani);
  }
  const known = new Set(rows.map(({ id }) => id));
  if (!hasOwnSales)
    expect(
      entries.filter(({ reference }) => !known.has(reference)),
      'unknown to the ledger',
    ).toEqual([]);
}

/** What terminals had charged before the receipt was printed [D146]: the register asked no bank for it. */
function paidElsewhere({ args }: LedgerRow): number {
  const { receipt } = JSON.parse(args) as { receipt?: { Payments?: { paid?: { amount: number } }[] } };
  return (receipt?.Payments ?? []).reduce((sum, { paid }) => sum + Math.round((paid?.amount ?? 0) * 100), 0);
}

export function expectRegisterAgrees({ ledger, deviceId, stateDir, hasOwnSales = false }: Books): void {
  const rows = ledger.filter((row) => row.device_id === deviceId);
  const documents = readFiscalMemory(stateDir);
  const bank = readBank(stateDir);
  for (const row of rows) {
    expect(['done', 'refused', 'never'], `${row.name} ${row.id} is settled`).toContain(row.state);
    const printed = documents.filter(({ commandId }) => commandId === row.id);
    expect(printed.length, `documents of ${row.name} ${row.id}, which is ${row.state}`).toBe(row.state === 'done' ? 1 : 0);
    const standing = bank
      .filter(({ reference }) => reference === row.id)
      .reduce((sum, { kind, amountBani }) => sum + (kind === 'charge' ? amountBani : kind === 'void' ? -amountBani : 0), 0);
    const [document] = printed;
    expect(standing, `charged for ${row.id}`).toBe(document?.type === 'receipt' ? (document.byPayment.card ?? 0) - paidElsewhere(row) : 0);
    if (document?.type === 'receipt') expect(JSON.parse(row.report ?? '{}')).toMatchObject({ receiptId: document.receiptId });
  }
  const known = new Set(rows.map(({ id }) => id));
  if (!hasOwnSales)
    expect(
      documents.filter(({ commandId }) => !known.has(commandId)),
      'unknown to the ledger',
    ).toEqual([]);
  expect(documents.map(({ documentNumber }) => documentNumber)).toEqual(documents.map((_, index) => index + 1));
}
