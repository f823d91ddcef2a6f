// The figures of one hour: what was paid, tried, declined and how long it took, by device. Summed by the database over the indexes by time,
// an hour at a time, so that no statement reads more than an hour's work; hours that have passed are remembered for a while.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../database/database.ts';
import type { Scope } from './scope.ts';

export interface HourFigures {
  cards: { deviceId: string; state: string; settledBy: string | null; isVoided: boolean; count: number; bani: number; unclearMs: number }[];
  /** Answers of payments by device, in steps of `durationStepMs`. */
  durations: { deviceId: string; step: number; count: number }[];
  refundedBani: number;
  cash: { count: number; bani: number };
  /** Cards that a register charged itself. */
  registerCards: { count: number; bani: number };
  qr: { count: number; bani: number };
  delivered: number;
}

export const durationStepMs = 200;
/** Longer ones count as this: a payment has five minutes. */
const maxSteps = 1_800;

export async function readHour(queries: Queries, scope: Scope, fromMs: number, toMs: number): Promise<HourFigures> {
  const span = (column: ReturnType<typeof sql>) =>
    sql<SqlBool>`${column} >= cast(${fromMs} as bigint) and ${column} < cast(${toMs} as bigint)`;
  const own = (column: ReturnType<typeof sql>) => (scope.merchantId === undefined ? sql`` : sql` and ${column} = ${scope.merchantId}`);
  const cardNames = sql`c.name in ('Pay', 'CloseDoc', 'CloseDay', 'Refund', 'CancelTransaction')`;
  const fiscalNames = sql`c.name in ('MoneyIn', 'MoneyOut', 'Report', 'PrintReceipt')`;
  const cards = await sql<{
    device_id: string;
    state: string;
    settled_by: string | null;
    is_voided: number;
    count: number;
    bani: number;
    unclear_ms: number;
  }>`
    select c.device_id, c.state, c.settled_by, case when c.document_state = 'voided' then 1 else 0 end as is_voided, cast(count(*) as bigint) as count,
      cast(coalesce(sum(c.amount_bani), 0) as bigint) as bani,
      cast(coalesce(max(case when c.settled_by in ('recall', 'late-answer', 'last-transaction') then c.settled_at - c.issued_at end), 0) as bigint) as unclear_ms
    from commands c where ${cardNames} and c.name = 'Pay' and ${span(sql`c.issued_at`)}${own(sql`c.merchant_id`)}
    group by c.device_id, c.state, c.settled_by, case when c.document_state = 'voided' then 1 else 0 end`.execute(queries);
  const durations = await sql<{ device_id: string; step: number; count: number }>`
    select c.device_id, (c.settled_at - c.issued_at) / ${sql.lit(durationStepMs)} as step, cast(count(*) as bigint) as count
    from commands c where ${cardNames} and c.name = 'Pay' and c.state in ('done', 'refused') and ${span(sql`c.issued_at`)}${own(sql`c.merchant_id`)}
    group by c.device_id, (c.settled_at - c.issued_at) / ${sql.lit(durationStepMs)}`.execute(queries);
  const [refunds] = (
    await sql<{ bani: number }>`
    select cast(coalesce(sum(c.amount_bani), 0) as bigint) as bani from commands c
    where ${cardNames} and c.name = 'Refund' and c.state = 'done' and ${span(sql`c.issued_at`)}${own(sql`c.merchant_id`)}`.execute(queries)
  ).rows;
  const [fiscal] = (
    await sql<{ cash_count: number; cash: number; card_count: number; card: number }>`
    select cast(coalesce(sum(case when c.cash_bani > 0 then 1 else 0 end), 0) as bigint) as cash_count, cast(coalesce(sum(c.cash_bani), 0) as bigint) as cash,
      cast(coalesce(sum(case when c.card_bani > 0 then 1 else 0 end), 0) as bigint) as card_count, cast(coalesce(sum(c.card_bani), 0) as bigint) as card
    from commands c where ${fiscalNames} and c.name = 'PrintReceipt' and c.state = 'done' and ${span(sql`c.issued_at`)}${own(sql`c.merchant_id`)}
      and (c.receipt_uid is null or not exists (select 1 from commands p where p.merchant_id = c.merchant_id and p.document_nr = lower(c.receipt_uid)
        and p.document_nr is not null and p.name = 'Pay' and p.state = 'done'))`.execute(queries)
  ).rows;
  // Paid by card on a terminal, it is a card payment and counted there.
  const [qr] = (
    await sql<{ count: number; bani: number }>`
    select cast(count(*) as bigint) as count, cast(coalesce(sum(i.amount_bani), 0) as bigint) as bani from invoices i
    where i.removed_at is null and i.ended_at is not null and i.state = 2 and ${span(sql`i.ended_at`)}${own(sql`i.merchant_id`)}
      and not exists (select 1 from commands p where p.merchant_id = i.merchant_id and p.document_nr = i.oid and p.document_nr is not null
        and p.name = 'Pay' and p.state = 'done')`.execute(queries)
  ).rows;
  const [delivered] = (
    await sql<{ count: number }>`
    select cast(count(*) as bigint) as count from callbacks k where k.state = 'delivered' and ${span(sql`k.created_at`)}${own(sql`k.merchant_id`)}`.execute(
      queries,
    )
  ).rows;
  return {
    cards: cards.rows.map((row) => ({
      deviceId: row.device_id,
      state: row.state,
      settledBy: row.settled_by,
      isVoided: row.is_voided === 1,
      count: row.count,
      bani: row.bani,
      unclearMs: row.unclear_ms,
    })),
    durations: durations.rows.map((row) => ({ deviceId: row.device_id, step: Math.min(row.step, maxSteps), count: row.count })),
    refundedBani: refunds?.bani ?? 0,
    cash: { count: fiscal?.cash_count ?? 0, bani: fiscal?.cash ?? 0 },
    registerCards: { count: fiscal?.card_count ?? 0, bani: fiscal?.card ?? 0 },
    qr: { count: qr?.count ?? 0, bani: qr?.bani ?? 0 },
    delivered: delivered?.count ?? 0,
  };
}

const hourMs = 3_600_000;
/** By then nearly everything of an hour is settled. */
const restsAfterMs = 15 * 60_000;
const rememberedForMs = 10 * 60_000;
const maxRemembered = 5_000;

export interface HourBook {
  read(queries: Queries, scope: Scope, fromMs: number, toMs: number, nowMs: number): Promise<HourFigures[]>;
}

/** Hour by hour from `fromMs`, the last one cut at `toMs`. */
export function createHourBook(): HourBook {
  const remembered = new Map<string, { untilMs: number; figures: HourFigures }>();
  return {
    async read(queries, scope, fromMs, toMs, nowMs) {
      const hours: HourFigures[] = [];
      for (let startMs = fromMs; startMs < toMs; startMs += hourMs) {
        const endMs = Math.min(startMs + hourMs, toMs);
        const name = `${scope.merchantId ?? '*'} ${startMs} ${endMs}`;
        const known = remembered.get(name);
        if (known && known.untilMs > nowMs) {
          hours.push(known.figures);
          continue;
        }
        const figures = await readHour(queries, scope, startMs, endMs);
        hours.push(figures);
        remembered.delete(name);
        if (endMs + restsAfterMs <= nowMs) remembered.set(name, { untilMs: nowMs + rememberedForMs, figures });
        const [oldest] = remembered.keys();
        if (remembered.size > maxRemembered && oldest !== undefined) remembered.delete(oldest);
      }
      return hours;
    },
  };
}
