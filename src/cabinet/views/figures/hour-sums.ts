// The figures of past hours, stored in the database. A payment does no extra work: the first reader of an hour sums it for all merchants and
// stores the sum. Before stored hours are read, those that a late settlement or a void has changed since are dropped.
//
// An hour is stored from a quarter of an hour after its end. Its sum includes commands issued in it and settled within a quarter of an hour;
// later settlements, and all voids, are marked where settlements are recorded.
// Two instances sum the same hour, or one sums it again after a crash: both write the same row.
// The process dies between summing and storing: the hour is summed again.
// A transaction settles while an hour is summed and commits afterwards: its time lies within `lateCommitsMs` of the sum's, and drops the sum.
// The process stalls between summing and storing: other readers may have checked for changes in between, so this sum is shown but not stored.
// The database's clock is set back: sums dated in the future are dropped, and changes are searched from the oldest sum on.
// No index finds a payment that began after the hour of its invoice: for a day the keeper (hour-keeper.ts) sums each hour again.
import { sql } from 'kysely';
import type { Database, Queries } from '../../../database/database.ts';
import { lateAfterMs } from '../../../ledger/settlements.ts';
import type { Scope } from '../scope.ts';
import { addUp, emptyHour, type HourFigures, hourMs, readFigures, readFirstMs } from './hour-figures.ts';

/** A sum older than this is not stored. */
const keptWithinMs = 30_000;
/** Longer than a transaction may take, plus `keptWithinMs`. */
const lateCommitsMs = 60_000 + keptWithinMs;
/** Stored as the merchant of the sum over all merchants. */
const allMerchants = '';
const maxChanges = 5_000;
const rowsPerStatement = 200;

export type HourSums = ReturnType<typeof createHourSums>;

export type Reading = Pick<Database, 'queries' | 'pages' | 'transaction'>;

export function createHourSums() {
  /** Changes were checked up to this time of the database's clock. */
  let lookedUntilMs: number | undefined;

  return {
    /** Hour by hour from `fromMs`, the last one cut at `toMs`. */
    async read(database: Reading, scope: Scope, fromMs: number, toMs: number, nowMs: number): Promise<HourFigures[]> {
      lookedUntilMs = await dropChanged(database, lookedUntilMs);
      const kept = await readKept(database.pages, scope, fromMs, toMs);
      const hours: HourFigures[] = [];
      for (let startMs = fromMs; startMs < toMs; startMs += hourMs) {
        const endMs = startMs + hourMs;
        const isOver = endMs <= toMs && endMs + lateAfterMs <= nowMs;
        if (!isOver) hours.push(addUp((await readFigures(database.pages, scope, startMs, Math.min(endMs, toMs))).values()));
        else hours.push(kept.get(startMs) ?? ownIn(await sumHour(database, startMs), scope));
      }
      return hours;
    },
  };
}

function ownIn(byMerchant: ReadonlyMap<string, HourFigures>, { merchantId = allMerchants }: Scope): HourFigures {
  return byMerchant.get(merchantId) ?? emptyHour();
}

/** Sums an hour for all merchants and stores it. */
export async function sumHour({ pages, transaction }: Reading, startMs: number): Promise<Map<string, HourFigures>> {
  // Read before the figures: settlements from here on may be missing in them.
  const madeAtMs = await databaseNow(pages);
  const byMerchant = await readFigures(pages, { merchantId: undefined }, startMs, startMs + hourMs);
  byMerchant.set(allMerchants, addUp(byMerchant.values()));
  await keep(
    transaction,
    [...byMerchant].map(([merchantId, figures]) => rowOf(merchantId, startMs, madeAtMs, figures)),
  );
  return byMerchant;
}

/** Stores the hours before the first operation of all merchants as empty, in one transaction; returns the others. */
export async function sumIdleHours(
  { queries, transaction }: Pick<Reading, 'queries' | 'transaction'>,
  hours: readonly number[],
): Promise<number[]> {
  const madeAtMs = await databaseNow(queries);
  const firstMs = await readFirstMs(queries);
  const isIdle = (startMs: number) => startMs + hourMs <= firstMs;
  await keep(
    transaction,
    hours.filter(isIdle).map((startMs) => rowOf(allMerchants, startMs, madeAtMs, emptyHour())),
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
  const own = await within(merchantId ?? allMerchants)
    .select(['start_ms', 'figures'])
    .execute();
  const kept = new Map(own.map((row) => [row.start_ms, { ...emptyHour(), ...(JSON.parse(row.figures) as Partial<HourFigures>) }]));
  if (merchantId === undefined) return kept;
  // An hour that is summed for all merchants has no row for a merchant without figures.
  const summed = await within(allMerchants).select('start_ms').execute();
  return new Map(summed.map(({ start_ms }) => [start_ms, kept.get(start_ms) ?? emptyHour()]));
}

interface Changed {
  issued_at: number;
  settled_at: number;
}

/** Drops stored hours that have changed since `sinceMs`; returns the time up to which changes were checked. */
async function dropChanged({ queries, pages }: Reading, sinceMs: number | undefined): Promise<number> {
  const nowMs = await databaseNow(pages);
  const isAnew = sinceMs === undefined || sinceMs > nowMs;
  // The clock was set back: sums dated in the future would seem newer than any change.
  if (isAnew) await queries.deleteFrom('hour_sums').where('made_at', '>', nowMs).execute();
  const fromMs = isAnew ? await oldestSum(pages) : sinceMs;
  if (fromMs === undefined) return nowMs;
  const late = sql`(select s.settled_at, c.id, c.merchant_id, c.issued_at, c.document_nr, c.target_id, c.is_payment
    from settlements s join commands c on c.id = s.command_id
    where s.changes_past = 1 and s.settled_at >= cast(${fromMs - lateCommitsMs} as bigint)) as c`;
  const { rows: changed } = await sql<Changed>`
    select c.issued_at, c.settled_at from ${late} limit ${sql.lit(maxChanges)}`.execute(pages);
  const { rows: voided } = await sql<Changed>`
    select p.issued_at, c.settled_at from ${late} join commands p on p.id = c.target_id limit ${sql.lit(maxChanges)}`.execute(pages);
  // The invoice of a payment that was settled late was counted as a separate sale.
  const { rows: linked } = await sql<Changed>`
    select i.ended_at as issued_at, c.settled_at from ${late} join invoices i on i.oid = c.document_nr
    where c.is_payment = 1 and i.ended_at is not null limit ${sql.lit(maxChanges)}`.execute(pages);
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
