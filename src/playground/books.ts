// The four books side by side, over the sales of the till: the banks and the fiscal memories of the devices, the gateway's ledger, and the
// outcomes that the ERP received. Each book is read from its own source and compared sale by sale, so that two errors cannot cancel out.
// Refunds are compared separately, in three books: a register of this protocol prints no receipt for a refund.
import type { BooksView } from '../cabinet/playground/view-schema.ts';
import type { Queries } from '../database/database.ts';
import { isoTime } from '../kernel/moments.ts';
import { type Bani, baniToLei } from '../kernel/money.ts';
import { operationNamed } from '../kernel/operations.ts';
import type { VirtualDevice } from '../virtual/devices/virtual-device.ts';
import { namesOf, type Sale } from './erp/sale.ts';

type BookName = 'bank' | 'ledger' | 'fiscal' | 'erp';

interface Entry {
  /** The id of the sale in that book. */
  name: string;
  amountBani: Bani;
  isRefund: boolean;
  text: string;
  atMs: number;
}

type Entries = Record<BookName, Entry[]>;

export interface BooksDeps {
  queries: Queries;
  merchantId: string;
  devices: readonly VirtualDevice[];
}

export interface BooksRequest {
  sales: readonly Sale[];
  sinceMs: number;
  underWay: number;
}

/** Clocks of the database and the devices may differ slightly from ours. */
const slackMs = 60_000;
const maxRows = 10_000;
const maxDifferences = 20;

export async function readBooks(deps: BooksDeps, { sales, sinceMs, underWay }: BooksRequest): Promise<BooksView> {
  const fromMs = sinceMs - slackMs;
  const names = new Set(sales.flatMap(namesOf));
  const ledger = await ledgerEntries(deps, fromMs, names);
  const entries: Entries = {
    bank: deps.devices.flatMap((device) => bankEntries(device, fromMs)),
    ledger: ledger.entries,
    fiscal: deps.devices.flatMap((device) => fiscalEntries(device, fromMs)),
    erp: sales.flatMap(erpEntries),
  };
  const own = Object.fromEntries(
    Object.entries(entries).map(([book, all]) => [book, all.filter(({ name }) => names.has(name))]),
  ) as Entries;
  const sums = { bank: sumsByName(own.bank), ledger: sumsByName(own.ledger), fiscal: sumsByName(own.fiscal), erp: sumsByName(own.erp) };
  const differences = sales.flatMap((sale) => differencesOf(sale, sums));
  return {
    bank: bookView(own.bank),
    ledger: { ...bookView(own.ledger), unknown: ledger.unknown },
    fiscal: bookView(own.fiscal),
    erp: bookView(own.erp),
    agree: differences.length === 0 && ledger.unknown === 0,
    underWay,
    differences: differences.slice(0, maxDifferences),
    since: new Date(sinceMs).toISOString(),
  };
}

function bankEntries({ bank }: VirtualDevice, fromMs: number): Entry[] {
  const charges = new Map<string, Entry>();
  const entries: Entry[] = [];
  for (const { kind, operationId, originalId = '', documentNr, amountBani, authCode, atMs } of bank.entriesSince(fromMs)) {
    if (kind === 'charge' && documentNr !== undefined) {
      const charge = { name: documentNr, amountBani, isRefund: false, text: authCode, atMs };
      charges.set(operationId, charge);
      entries.push(charge);
    }
    const original = charges.get(originalId);
    if (original && kind === 'refund') entries.push({ ...original, amountBani, isRefund: true, text: authCode, atMs });
    // A voided payment counts as never paid.
    if (original && kind === 'void') entries.splice(entries.indexOf(original), 1);
  }
  return entries;
}

function fiscalEntries(device: VirtualDevice, fromMs: number): Entry[] {
  return device
    .fiscalMemory()
    .documentsSince(fromMs)
    .flatMap((document) =>
      document.type === 'receipt'
        ? [{ name: document.uid, amountBani: document.totalBani, isRefund: false, text: document.receiptId, atMs: document.atMs }]
        : [],
    );
}

async function ledgerEntries(
  { queries, merchantId }: BooksDeps,
  fromMs: number,
  names: ReadonlySet<string>,
): Promise<{ entries: Entry[]; unknown: number }> {
  const commands = await queries
    .selectFrom('commands')
    .select(['name', 'state', 'document_nr', 'receipt_uid', 'amount_bani', 'card_bani', 'document_state', 'operation_id', 'issued_at'])
    .where('merchant_id', '=', merchantId)
    .where('issued_at', '>=', fromMs)
    .orderBy('issued_at', 'desc')
    .limit(maxRows)
    .execute();
  const invoices = await queries
    .selectFrom('invoices')
    .select(['oid', 'amount_bani', 'receipt_id', 'ended_at'])
    .where('merchant_id', '=', merchantId)
    .where('state', '=', 2)
    .where('created_at', '>=', fromMs)
    .orderBy('created_at', 'desc')
    .limit(maxRows)
    .execute();
  const entries: Entry[] = [];
  let unknown = 0;
  for (const row of commands.toReversed()) {
    const { isPayment, prints, effect } = operationNamed(row.name);
    const name = prints ? row.receipt_uid : row.document_nr;
    if (name === null || !names.has(name)) continue;
    if (row.state === 'sent' || row.state === 'unknown') unknown += 1;
    if (row.state !== 'done') continue;
    const entry = { name, text: row.operation_id ?? '', atMs: row.issued_at };
    if (isPayment && row.document_state !== 'voided') entries.push({ ...entry, amountBani: row.amount_bani ?? 0, isRefund: false });
    if (effect === 'refund') entries.push({ ...entry, amountBani: row.amount_bani ?? 0, isRefund: true });
    // A receipt with a card payment of the register is a charge, too.
    if (prints && (row.card_bani ?? 0) > 0) entries.push({ ...entry, amountBani: row.card_bani ?? 0, isRefund: false });
  }
  for (const { oid, amount_bani, receipt_id, ended_at } of invoices.toReversed()) {
    entries.push({ name: oid, amountBani: amount_bani ?? 0, isRefund: false, text: receipt_id ?? '', atMs: ended_at ?? 0 });
  }
  return { entries, unknown };
}

function erpEntries(sale: Sale): Entry[] {
  if (sale.paidBani === 0) return [];
  const entry = { name: sale.id, text: sale.number, atMs: sale.paidAtMs ?? 0 };
  return [
    { ...entry, amountBani: sale.paidBani, isRefund: false },
    ...[...sale.refunds.values()].map((amountBani) => ({ ...entry, amountBani, isRefund: true })),
  ];
}

function sumOf(entries: readonly Entry[]): Bani {
  return entries.reduce((sum, entry) => sum + entry.amountBani, 0);
}

function bookView(entries: readonly Entry[]): BooksView['bank'] {
  const charges = entries.filter(({ isRefund }) => !isRefund);
  const refunds = entries.filter(({ isRefund }) => isRefund);
  const last = charges.toSorted((one, other) => one.atMs - other.atMs).at(-1);
  return {
    sum: baniToLei(sumOf(charges)),
    count: charges.length,
    refunds: { sum: baniToLei(sumOf(refunds)), count: refunds.length },
    last: last && { amount: baniToLei(last.amountBani), text: last.text, at: isoTime(last.atMs) },
  };
}

/** Amounts taken and returned, by id. */
type Sums = ReadonlyMap<string, { taken: Bani; given: Bani }>;

function sumsByName(entries: readonly Entry[]): Sums {
  const sums = new Map<string, { taken: Bani; given: Bani }>();
  for (const { name, amountBani, isRefund } of entries) {
    const sum = sums.get(name) ?? { taken: 0, given: 0 };
    if (isRefund) sum.given += amountBani;
    else sum.taken += amountBani;
    sums.set(name, sum);
  }
  return sums;
}

function differencesOf(sale: Sale, books: Record<BookName, Sums>): BooksView['differences'] {
  const names = namesOf(sale);
  const of = (book: BookName, what: 'taken' | 'given') => names.reduce((sum, name) => sum + (books[book].get(name)?.[what] ?? 0), 0);
  const taken = { bank: of('bank', 'taken'), ledger: of('ledger', 'taken'), fiscal: of('fiscal', 'taken'), erp: of('erp', 'taken') };
  const given = { bank: of('bank', 'given'), ledger: of('ledger', 'given'), erp: of('erp', 'given') };
  const key = whatDiffers(taken);
  const isGivenAlike = given.bank === given.ledger && given.ledger === given.erp;
  return [
    ...(key === undefined ? [] : [{ key: `playground.difference.${key}`, params: { sale: sale.number, ...shown(taken) } }]),
    ...(isGivenAlike ? [] : [{ key: 'playground.difference.refunds', params: { sale: sale.number, ...shown(given) } }]),
  ];
}

function whatDiffers({ bank, ledger, fiscal, erp }: Record<BookName, Bani>): string | undefined {
  if (bank > ledger) return 'bankMore';
  if (bank < ledger) return 'bankLess';
  if (erp < ledger) return 'notNotified';
  if (erp > ledger) return 'toldMore';
  if (fiscal < ledger) return 'noReceipt';
  return fiscal > ledger ? 'receiptMore' : undefined;
}

function shown(sums: Record<string, Bani>): Record<string, number> {
  return Object.fromEntries(Object.entries(sums).map(([book, bani]) => [book, baniToLei(bani)]));
}
