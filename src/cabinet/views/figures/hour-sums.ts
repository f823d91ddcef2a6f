// The figures of hours that are over, kept in the database: nothing is added to the way of a payment; whoever first wants an hour sums it for
// all merchants and keeps it, and before kept hours are read, those are dropped that a late settlement or a void has changed since.
//
// An hour is kept from a quarter of an hour after its end. What was issued in it and settled within a quarter of an hour is in its sum; what
// was settled later, and every void, is marked where settlements are recorded.
// Summed twice, by two instances or after a crash: the same row twice. The process dies between summing and keeping: it is summed again.
// A transaction that settles while an hour is summed and commits afterwards: its time lies within `lateCommitsMs` of the sum's, and drops it.
// The process stands still between summing and keeping: others have looked past what was settled meanwhile, so such a sum is shown, not kept.
// The database's clock is set back: sums of its future are dropped, and changes are looked for from the oldest one on.
// What no index finds is a payment that is begun later than the hour of the receipt or the invoice that it belongs to: for a day the keeper
// (hour-keeper.ts) sums each hour again.
import { sql } from 'kysely';
import type { Database, Queries } from '../../../database/database.ts';
import { lateAfterMs } from '../../../ledger/settlements.ts';
import type { Scope } from '../scope.ts';
import { addUp, emptyHour, type HourFigures, readFigures, readFirstMs } from './hour-figures.ts';

export const hourMs = 3_600_000;
/** A sum that is older than this when it could be kept is not. */
const keptWithinMs = 30_000;
/** Longer than a transaction may take, and than that. */
const lateCommitsMs = 60_000 + keptWithinMs;
const everybody = '';
const maxChanges = 5_000;
const rowsPerStatement = 200;

export interface HourSums {
  /** Hour by hour from `fromMs`, the last one cut at `toMs`. */
  read(database: Reading, scope: Scope, fromMs: number, toMs: number, nowMs: number): Promise<HourFigures[]>;
}

export type Reading = Pick<Database, 'queries' | 'transaction'>;

export function createHourSums(): HourSums {
  /** Until when changes were looked for here, by the database's clock. */
  let lookedUntilMs: number | undefined;

  return {
    async read(database, scope, fromMs, toMs, nowMs) {
      lookedUntilMs = await dropChanged(database.queries, lookedUntilMs);
      const kept = await readKept(database.queries, scope, fromMs, toMs);
      const hours: HourFigures[] = [];
      for (let startMs = fromMs; startMs < toMs; startMs += hourMs) {
        const endMs = startMs + hourMs;
        const isOver = endMs <= toMs && endMs + lateAfterMs <= nowMs;
        if (!isOver) hours.push(addUp((await readFigures(database.queries, scope, startMs, Math.min(endMs, toMs))).values()));
        else hours.push(kept.get(startMs) ?? ownIn(await sumHour(database, startMs), scope));
      }
      return hours;
    },
  };
}

function ownIn(byMerchant: ReadonlyMap<string, HourFigures>, { merchantId = everybody }: Scope): HourFigures {
  return byMerchant.get(merchantId) ?? emptyHour();
}

/** Sums an hour for all and keeps it. */
export async function sumHour({ queries, transaction }: Reading, startMs: number): Promise<Map<string, HourFigures>> {
  // Before anything is read: what is settled from here on may be missing.
  const madeAtMs = await databaseNow(queries);
  const byMerchant = await readFigures(queries, { merchantId: undefined }, startMs, startMs + hourMs);
  byMerchant.set(everybody, addUp(byMerchant.values()));
  await keep(
    transaction,
    [...byMerchant].map(([merchantId, figures]) => rowOf(merchantId, startMs, madeAtMs, figures)),
  );
  return byMerchant;
}

/** Keeps those hours as empty, all at once, in which nobody had done anything yet; returns the others. */
export async function sumIdleHours({ queries, transaction }: Reading, hours: readonly number[]): Promise<number[]> {
  const madeAtMs = await databaseNow(queries);
  const firstMs = await readFirstMs(queries);
  const isIdle = (startMs: number) => startMs + hourMs <= firstMs;
  await keep(
    transaction,
    hours.filter(isIdle).map((startMs) => rowOf(everybody, startMs, madeAtMs, emptyHour())),
  );
  return hours.filter((startMs) => !isIdle(startMs));
}

function rowOf(merchantId: string, startMs: number, madeAtMs: number, figures: HourFigures) {
  return { merchant_id: merchantId, start_ms: startMs, made_at: madeAtMs, figures: JSON.stringify(figures) };
}

/** Whole hours, summed at one moment. */
async function keep(transaction: Reading['transaction'], rows: ReturnType<typeof rowOf>[]): Promise<void> {
  const [one] = rows;
  if (!one) return;
  const hours = [...new Set(rows.map(({ start_ms }) => start_ms))];
  await transaction(async (tx) => {
    if ((await databaseNow(tx)) - one.made_at > keptWithinMs) return;
    await tx.deleteFrom('hour_sums').where('start_ms', 'in', hours).execute();
    for (let first = 0; first < rows.length; first += rowsPerStatement) {
      await tx
        .insertInto('hour_sums')
        .values(rows.slice(first, first + rowsPerStatement))
        .onConflict((conflict) =>
          conflict
            .columns(['merchant_id', 'start_ms'])
            .doUpdateSet({ made_at: sql<number>`excluded.made_at`, figures: sql<string>`excluded.figures` }),
        )
        .execute();
    }
  });
}

async function readKept(queries: Queries, { merchantId }: Scope, fromMs: number, toMs: number): Promise<Map<number, HourFigures>> {
  const within = (merchant: string) =>
    queries.selectFrom('hour_sums').where('merchant_id', '=', merchant).where('start_ms', '>=', fromMs).where('start_ms', '<', toMs);
  const own = await within(merchantId ?? everybody)
    .select(['start_ms', 'figures'])
    .execute();
  const kept = new Map(own.map((row) => [row.start_ms, JSON.parse(row.figures) as HourFigures]));
  if (merchantId === undefined) return kept;
  // Summed, and nothing of this merchant in it.
  const summed = await within(everybody).select('start_ms').execute();
  return new Map(summed.map(({ start_ms }) => [start_ms, kept.get(start_ms) ?? emptyHour()]));
}

interface Changed {
  issued_at: number;
  settled_at: number;
}

/** Drops kept hours that something has changed since `sinceMs`; returns until when that was looked for. */
async function dropChanged(queries: Queries, sinceMs: number | undefined): Promise<number> {
  const nowMs = await databaseNow(queries);
  const isAnew = sinceMs === undefined || sinceMs > nowMs;
  // The clock was set back: what was kept in its future would seem newer than any change.
  if (isAnew) await queries.deleteFrom('hour_sums').where('made_at', '>', nowMs).execute();
  const fromMs = isAnew ? await oldestSum(queries) : sinceMs;
  if (fromMs === undefined) return nowMs;
  const late = sql`(select s.settled_at, c.id, c.merchant_id, c.issued_at, c.document_nr, c.target_id, c.is_payment
    from settlements s join commands c on c.id = s.command_id
    where s.changes_past = 1 and s.settled_at >= cast(${fromMs - lateCommitsMs} as bigint)) as c`;
  const { rows: changed } = await sql<Changed>`
    select c.issued_at, c.settled_at from ${late} limit ${sql.lit(maxChanges)}`.execute(queries);
  const { rows: voided } = await sql<Changed>`
    select p.issued_at, c.settled_at from ${late} join commands p on p.id = c.target_id limit ${sql.lit(maxChanges)}`.execute(queries);
  // The receipt and the invoice of a payment that was settled late were counted as sales of their own. A Uid stays as the ERP wrote it.
  const { rows: linked } = await sql<Changed>`
    select r.issued_at, c.settled_at from ${late} join commands r on r.merchant_id = c.merchant_id
      and r.receipt_uid in (c.document_nr, upper(c.document_nr)) and r.receipt_uid is not null
    where c.is_payment = 1
    union all
    select i.ended_at as issued_at, c.settled_at from ${late} join invoices i on i.oid = c.document_nr
    where c.is_payment = 1 and i.ended_at is not null limit ${sql.lit(maxChanges)}`.execute(queries);
  const all = [...changed, ...voided, ...linked];
  if ([changed, voided, linked].some(({ length }) => length >= maxChanges)) await queries.deleteFrom('hour_sums').execute();
  // By hour, with the latest settlement: one statement each.
  const latest = new Map<number, number>();
  for (const { issued_at, settled_at } of all) {
    const hour = Math.floor(issued_at / hourMs) * hourMs;
    latest.set(hour, Math.max(latest.get(hour) ?? 0, settled_at));
  }
  for (const [hour, settledAtMs] of latest) await dropHour(queries, hour, settledAtMs);
  return nowMs;
}

/** Also hours that begin at another minute, as in zones with half an hour: those that overlap. */
async function dropHour(queries: Queries, hour: number, settledAtMs: number): Promise<void> {
  await queries
    .deleteFrom('hour_sums')
    .where('start_ms', '>', hour - hourMs)
    .where('start_ms', '<', hour + hourMs)
    .where('made_at', '<=', settledAtMs + lateCommitsMs)
    .execute();
}

async function databaseNow(queries: Queries): Promise<number> {
  const { rows } = await sql<{ now: number }>`select now_ms() as now`.execute(queries);
  return rows[0]?.now ?? 0;
}

async function oldestSum(queries: Queries): Promise<number | undefined> {
  const { rows } = await sql<{ at: number | null }>`select min(made_at) as at from hour_sums`.execute(queries);
  return rows[0]?.at ?? undefined;
}
