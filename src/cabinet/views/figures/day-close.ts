// Reads a shop's day: its closes, which of them belong together, and the operations of exactly their periods.
// A device executes one command at a time, so a close contains exactly the commands that it began between the previous close and this one: by
// the device's counter [D307], which the old core does not have, so that there their times decide.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { namesWhere, type OperationName, operationOf } from '../../../kernel/operations.ts';
import { isInReview } from '../../../ledger/command.ts';
import { kindConditions } from '../../../ledger/standing-sql.ts';
import { readPrints } from '../lists/receipts-of-payments.ts';
import { moneySql } from '../money-sql.ts';
import type { Scope } from '../scope.ts';
import { type DayOperation, type DaySource, paymentsOf } from './day-compare.ts';
import { type CloseKind, closesAfterMs, closesBeforeMs, daysOf, longestDayMs, longRuns, type ShopBooks } from './shop-days.ts';

export interface ShopDevice {
  id: string;
  name: string;
  kind: 'terminal' | 'register';
  bank: string | null;
}

export interface ShopClose {
  id: string;
  kind: CloseKind;
  deviceId: string;
  atMs: number;
  number?: string | undefined;
}

export interface Shop {
  merchantId: string;
  merchantName: string;
  code: string;
  devices: ShopDevice[];
  /** Newest first. */
  closes: ShopClose[];
}

const maxShops = 500;
const closesPerDevice = 14;
const devicesPerStatement = 500;
/** Before and after a chosen close, in the days that decide which closes belong to its day. */
const closesAround = 500;
const maxRows = 2_000;
const maxOperations = 40_000;
/** Of a shop, in the days around a close. */
const maxTimes = 100_000;

interface CloseRow {
  id: string;
  name: OperationName;
  device_id: string;
  merchant_id: string;
  issued_at: number;
  sequence: number | null;
  report: string | null;
}

/** Operations that move money: all but closes of documents and of days. */
const inTheBooks = namesWhere(({ effect, closesDay }) => effect !== 'close' && !closesDay);
/** CloseDay, and a Z report: an X report closes nothing. */
const isCloseOf = (row: string) =>
  sql<SqlBool>`${kindConditions(row).closesDay} and ${moneySql().of(row).done} and (${kindConditions(row).cards} or ${sql.ref(row)}.args = '{"fiscal":true}')`;
const isClose = () => isCloseOf('c');

/** The one before, on the same device. */
async function closeBefore(queries: Queries, { device_id, issued_at, sequence }: CloseRow): Promise<CloseRow | undefined> {
  const { hasSequence } = moneySql();
  const isBefore = hasSequence ? sql`c.sequence < cast(${sequence} as bigint)` : sql`c.issued_at < cast(${issued_at} as bigint)`;
  const { rows } = await sql<CloseRow>`
    select c.id, c.name, c.device_id, c.merchant_id, c.issued_at, c.sequence, c.report from commands c
    where c.device_id = ${device_id} and ${isClose()} and ${isBefore} order by ${hasSequence ? sql`c.sequence` : sql`c.issued_at`} desc limit 1`.execute(
    queries,
  );
  return rows[0];
}

/** The last fourteen closes of each device, newest first, for many devices in one statement, by the index of closes. */
async function lastClosesOf(queries: Queries, deviceIds: string[]): Promise<Map<string, CloseRow[]>> {
  const closes = new Map<string, CloseRow[]>();
  for (let first = 0; first < deviceIds.length; first += devicesPerStatement) {
    const { rows } = await sql<CloseRow>`
      with f as materialized (select d.id, coalesce((select x.issued_at from commands x where x.device_id = d.id and ${isCloseOf('x')}
          order by x.issued_at desc limit 1 offset ${sql.lit(closesPerDevice - 1)}), 0) as since
        from devices d where d.id in (${sql.join(deviceIds.slice(first, first + devicesPerStatement))}))
      select c.id, c.name, c.device_id, c.merchant_id, c.issued_at, c.sequence, c.report from f join commands c on c.device_id = f.id
      where ${isClose()} and c.issued_at >= f.since
      order by c.issued_at desc`.execute(queries);
    for (const row of rows) {
      const own = closes.get(row.device_id);
      if (own) own.push(row);
      else closes.set(row.device_id, [row]);
    }
  }
  return closes;
}

export async function readShops(queries: Queries, scope: Scope): Promise<Shop[]> {
  const rows = await queries
    .selectFrom('devices as d')
    .innerJoin('merchants as m', 'm.id', 'd.merchant_id')
    .select([
      'd.id',
      'd.name',
      'd.kind',
      'd.bank',
      'd.point_of_sales_code as code',
      'd.merchant_id as merchantId',
      'm.name as merchantName',
    ])
    .where('d.point_of_sales_code', 'is not', null)
    .$if(scope.merchantId !== undefined, (query) => query.where('d.merchant_id', '=', scope.merchantId ?? ''))
    .orderBy('m.name')
    .orderBy('d.point_of_sales_code')
    .orderBy('d.name')
    .limit(maxShops * 4)
    .execute();
  const closes = await lastClosesOf(
    queries,
    rows.map(({ id }) => id),
  );
  const shops = new Map<string, Shop>();
  for (const { code, merchantId, merchantName, ...device } of rows) {
    const key = `${merchantId} ${code}`;
    const shop = shops.get(key) ?? { merchantId, merchantName, code: code ?? '', devices: [], closes: [] };
    if (shops.size >= maxShops && !shops.has(key)) break;
    shops.set(key, shop);
    shop.devices.push(device);
    shop.closes.push(...(closes.get(device.id) ?? []).map(shownClose));
  }
  for (const shop of shops.values()) shop.closes.sort((one, other) => other.atMs - one.atMs);
  return [...shops.values()];
}

function closeKind({ name }: CloseRow): CloseKind {
  return operationOf(name).mode === 'POS' ? 'bank' : 'z';
}

function shownClose(row: CloseRow): ShopClose {
  return {
    id: row.id,
    kind: closeKind(row),
    deviceId: row.device_id,
    atMs: row.issued_at,
    number: numberOf(row),
  };
}

function numberOf({ report }: CloseRow): string | undefined {
  const { number } = reportOf(report);
  return typeof number === 'string' || typeof number === 'number' ? String(number) : undefined;
}

function reportOf(report: string | null): Record<string, unknown> {
  return report === null ? {} : (JSON.parse(report) as Record<string, unknown>);
}

export interface ShopDay {
  merchantId: string;
  shop: string | null;
  sources: DaySource[];
}

/** The day of a close: the closes of the shop that belong to it [D297]. Undefined: no such close, or of another merchant. */
export async function readShopDay(queries: Queries, scope: Scope, closeId: string): Promise<ShopDay | undefined> {
  const { rows } = await sql<CloseRow & { code: string | null }>`
    select c.id, c.name, c.device_id, c.merchant_id, c.issued_at, c.sequence, c.report, d.point_of_sales_code as code
    from commands c join devices d on d.id = c.device_id where c.id = ${closeId} and ${isClose()}`.execute(queries);
  const [chosen] = rows;
  if (!chosen || (scope.merchantId !== undefined && scope.merchantId !== chosen.merchant_id)) return undefined;
  const devices = await queries
    .selectFrom('devices')
    .select(['id', 'name', 'kind'])
    .where('merchant_id', '=', chosen.merchant_id)
    .where(chosen.code === null ? sql<SqlBool>`id = ${chosen.device_id}` : sql<SqlBool>`point_of_sales_code = ${chosen.code}`)
    .orderBy('name')
    .limit(devicesPerStatement)
    .execute();
  const closes = await closesOfSameDay(queries, chosen, devices);
  const sources: DaySource[] = [];
  for (const device of devices) {
    for (const close of closes.filter(({ device_id }) => device_id === device.id)) {
      const left = maxOperations - sources.reduce((sum, { operations }) => sum + operations.length, 0);
      sources.push(await readSource(queries, device, close, left));
    }
  }
  return { merchantId: chosen.merchant_id, shop: chosen.code, sources };
}

const paymentsPerStatement = 500;

/** Documents and ids of a day's payments whose receipt was printed, on any register and in any period. */
export async function readPrinted(queries: Queries, { merchantId, sources }: ShopDay): Promise<Set<string>> {
  const payments = paymentsOf(sources);
  const printed = new Set<string>();
  for (let first = 0; first < payments.length; first += paymentsPerStatement) {
    const some = payments.slice(first, first + paymentsPerStatement);
    for (const { document, paymentId, isPrinted } of await readPrints(queries, merchantId, some)) {
      if (isPrinted) printed.add(paymentId ?? document);
    }
  }
  return printed;
}

/** The closes of the shop that are one day with the given one, oldest first [D297]. */
async function closesOfSameDay(
  queries: Queries,
  chosen: CloseRow,
  devices: { id: string; kind: ShopDevice['kind'] }[],
): Promise<CloseRow[]> {
  const { issued_at: atMs } = chosen;
  const ids = sql.join(devices.map(({ id }) => id));
  const closesOfShop = sql`from commands c where c.device_id in (${ids}) and ${isClose()}`;
  const around = (afterMs: number, beforeMs: number, order: 'asc' | 'desc') =>
    sql<CloseRow>`select c.id, c.name, c.device_id, c.merchant_id, c.issued_at, c.sequence, c.report ${closesOfShop}
      and c.issued_at > cast(${afterMs} as bigint) and c.issued_at <= cast(${beforeMs} as bigint)
      order by c.issued_at ${sql.raw(order)}, c.id ${sql.raw(order)} limit ${sql.lit(closesAround)}`.execute(queries);
  const before = await around(atMs - closesBeforeMs, atMs, 'desc');
  const after = await around(atMs, atMs + closesAfterMs, 'asc');
  const later = await sql`select 1 ${closesOfShop} and c.issued_at > cast(${atMs + closesAfterMs} as bigint) limit 1`.execute(queries);
  const books = {
    closes: [...before.rows.reverse(), ...after.rows].map((row) => ({ ...shownClose(row), row })),
    kinds: new Set(devices.map(({ kind }): CloseKind => (kind === 'terminal' ? 'bank' : 'z'))),
    isOpen: later.rows.length === 0,
  };
  const days = daysOf(books, await readOperationTimes(queries, books, ids));
  return days.find((day) => day.some(({ id }) => id === chosen.id))?.map(({ row }) => row) ?? [chosen];
}

/** By device; only if there is a choice where to separate two days. */
async function readOperationTimes(queries: Queries, books: ShopBooks, deviceIds: RawBuilder<unknown>): Promise<Map<string, number[]>> {
  const { closes } = books;
  const runs = longRuns(books).filter(({ from, to }) => to > from + 1);
  const [first, last] = [closes[runs[0]?.from ?? closes.length], closes[(runs.at(-1)?.to ?? 0) - 1]];
  if (!first || !last) return new Map();
  const { rows } = await sql<{ device_id: string; issued_at: number }>`
    select c.device_id, c.issued_at from commands c where c.device_id in (${deviceIds})
    and c.issued_at > cast(${first.atMs - longestDayMs} as bigint) and c.issued_at < cast(${last.atMs} as bigint)
    and ${moneySql().of('c').done} and c.name in (${sql.join(inTheBooks)}) order by c.issued_at limit ${sql.lit(maxTimes)}`.execute(
    queries,
  );
  const times = new Map<string, number[]>();
  for (const { device_id, issued_at } of rows) {
    const own = times.get(device_id);
    if (own) own.push(issued_at);
    else times.set(device_id, [issued_at]);
  }
  return times;
}

async function readSource(queries: Queries, device: { id: string; name: string }, close: CloseRow, most: number): Promise<DaySource> {
  const before = await closeBefore(queries, close);
  const operations: DayOperation[] = [];
  for (let last: Place | undefined = before; operations.length < most; ) {
    const rows: (DayOperation & Place)[] = await readOperations(queries, { deviceId: device.id, before, after: last, close });
    operations.push(...rows);
    last = rows.at(-1);
    if (rows.length < maxRows || last === undefined) break;
  }
  return {
    commandId: close.id,
    kind: closeKind(close),
    deviceId: device.id,
    deviceName: device.name,
    number: numberOf(close),
    fromMs: before?.issued_at ?? 0,
    toMs: close.issued_at,
    report: reportOf(close.report),
    operations,
  };
}

/** The database's clock may have been set: rows are found by their time, within so much. */
const maxClockStepMs = 24 * 3_600_000;

interface Place {
  issued_at: number;
  sequence: number | null;
}

interface PeriodWanted {
  deviceId: string;
  /** The close before; undefined: there is none. */
  before: Place | undefined;
  /** What was read last. */
  after: Place | undefined;
  close: Place;
}

/** A device executes one command at a time, so no two have the same time, or the same number. */
function periodOf({ before, after, close }: PeriodWanted) {
  const within = (fromMs: number, toMs: number) =>
    sql<SqlBool>`commands.issued_at > cast(${fromMs} as bigint) and commands.issued_at < cast(${toMs} as bigint)`;
  if (!moneySql().hasSequence) return { is: within(after?.issued_at ?? 0, close.issued_at), order: sql`commands.issued_at` };
  const window = within((before?.issued_at ?? 0) - maxClockStepMs, close.issued_at + maxClockStepMs);
  const [from, to] = [after?.sequence ?? 0, close.sequence ?? 0];
  const is = sql<SqlBool>`${window} and commands.sequence > cast(${from} as bigint) and commands.sequence < cast(${to} as bigint)`;
  return { is, order: sql`commands.sequence` };
}

async function readOperations(queries: Queries, period: PeriodWanted): Promise<(DayOperation & Place)[]> {
  const { is, order } = periodOf(period);
  const rows = await queries
    .selectFrom('commands')
    .select(['id', 'name', 'amount_bani', 'cash_bani', 'card_bani', 'document_nr', 'receipt_uid', 'target_id', 'issued_at', 'settled_by'])
    .select(['review_since', 'reviewed_at', 'sequence'])
    .where('device_id', '=', period.deviceId)
    .where(is)
    .where(moneySql().of('commands').done)
    .where('name', 'in', inTheBooks)
    .orderBy(order)
    .limit(maxRows)
    .execute();
  const paid = await paymentsOnReceipts(
    queries,
    rows.flatMap(({ id, name }) => (operationOf(name as OperationName).prints ? [id] : [])),
  );
  return rows.map((row) => ({
    id: row.id,
    name: row.name as OperationName,
    paid: paid.get(row.id)?.map(({ payment_id, amount_bani }) => ({ paymentId: payment_id, amountBani: amount_bani })) ?? [],
    amountBani: row.amount_bani ?? 0,
    cashBani: row.cash_bani ?? 0,
    cardBani: row.card_bani ?? 0,
    documentNr: row.document_nr,
    receiptUid: row.receipt_uid,
    targetId: row.target_id,
    issuedAtMs: row.issued_at,
    settledBy: row.settled_by,
    isInReview: isInReview({ reviewSinceMs: row.review_since, reviewedAtMs: row.reviewed_at }),
    issued_at: row.issued_at,
    sequence: row.sequence,
  }));
}

async function paymentsOnReceipts(
  queries: Queries,
  printIds: string[],
): Promise<Map<string, { payment_id: string; amount_bani: number }[]>> {
  if (printIds.length === 0) return new Map();
  const rows = await queries.selectFrom(moneySql().receiptPayments.as('r')).selectAll().where('r.print_id', 'in', printIds).execute();
  return Map.groupBy(rows, ({ print_id }) => print_id);
}
