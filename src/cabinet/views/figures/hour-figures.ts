// The figures of at most an hour, by merchant: payments, attempts, declines and durations. The database sums them over the indexes by time,
// so no statement reads more than an hour of rows. Figures can be added.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { type OperationName, operationOf } from '../../../kernel/operations.ts';
import type { CommandState } from '../../../ledger/command.ts';
import { wasDone } from '../../../ledger/standing.ts';
import { kindConditions, standingConditions } from '../../../ledger/standing-sql.ts';
import type { Scope } from '../scope.ts';

export interface HourFigures {
  /** Payments by bank ('': terminals without one) and state. */
  cards: CardFigures[];
  /** Durations of payments by bank, in steps of `durationStepMs`. */
  durations: { bank: string; step: number; count: number }[];
  refundedBani: number;
  cash: Sum;
  /** Cards that a register charged itself. */
  registerCards: Sum;
  qr: Sum;
}

interface CardFigures {
  bank: string;
  state: CommandState;
  settledBy: string | null;
  isVoided: boolean;
  count: number;
  bani: number;
  unclearMs: number;
}

interface Sum {
  count: number;
  bani: number;
}

export const durationStepMs = 200;
/** Longer durations count as this: the time-out of a payment is five minutes. */
const maxSteps = 1_800;

export function emptyHour(): HourFigures {
  const none = () => ({ count: 0, bani: 0 });
  return { cards: [], durations: [], refundedBani: 0, cash: none(), registerCards: none(), qr: none() };
}

/** The sum of several. */
export function addUp(parts: Iterable<HourFigures>): HourFigures {
  const sum = emptyHour();
  const cards = new Map<string, CardFigures>();
  const durations = new Map<string, HourFigures['durations'][number]>();
  for (const part of parts) {
    for (const row of part.cards) {
      const name = `${row.bank} ${row.state} ${row.settledBy} ${row.isVoided}`;
      const known = cards.get(name);
      if (!known) cards.set(name, { ...row });
      else {
        known.count += row.count;
        known.bani += row.bani;
        known.unclearMs = Math.max(known.unclearMs, row.unclearMs);
      }
    }
    for (const row of part.durations) {
      const known = durations.get(`${row.bank} ${row.step}`);
      if (known) known.count += row.count;
      else durations.set(`${row.bank} ${row.step}`, { ...row });
    }
    sum.refundedBani += part.refundedBani;
    for (const name of ['cash', 'registerCards', 'qr'] as const) {
      sum[name].count += part[name].count;
      sum[name].bani += part[name].bani;
    }
  }
  return { ...sum, cards: [...cards.values()], durations: [...durations.values()] };
}

/** By merchant; merchants without operations are left out. */
export async function readFigures(queries: Queries, scope: Scope, fromMs: number, toMs: number): Promise<Map<string, HourFigures>> {
  const asked: Asked = {
    queries,
    span: (column) => sql<SqlBool>`${column} >= cast(${fromMs} as bigint) and ${column} < cast(${toMs} as bigint)`,
    own: (column) => (scope.merchantId === undefined ? sql`` : sql` and ${column} = ${scope.merchantId}`),
  };
  const found = [...(await readCards(asked)), ...(await readFiscal(asked)), ...(await readQr(asked))];
  const parts = new Map<string, HourFigures[]>();
  for (const [merchantId, part] of found) parts.set(merchantId, [...(parts.get(merchantId) ?? []), part]);
  return new Map([...parts].map(([merchantId, own]) => [merchantId, addUp(own)]));
}

/** Time of the first summed operation: the hours before it are empty. */
export async function readFirstMs(queries: Queries): Promise<number> {
  const { rows } = await sql<{ at: number }>`
    select at from (select c.issued_at as at from commands c where ${kind.cards} order by c.issued_at limit 1) card
    union all select at from (select c.issued_at as at from commands c where ${kind.fiscal} order by c.issued_at limit 1) fiscal
    union all select at from (select i.ended_at as at from invoices i where ${endedInvoices} order by i.ended_at limit 1) qr`.execute(
    queries,
  );
  return Math.min(...rows.map(({ at }) => at));
}

const card = standingConditions('c');
const payment = standingConditions('p');
const kind = kindConditions('c');
const endedInvoices = sql<SqlBool>`i.removed_at is null and i.ended_at is not null`;

interface Asked {
  queries: Queries;
  span(column: ReturnType<typeof sql>): ReturnType<typeof sql<SqlBool>>;
  own(column: ReturnType<typeof sql>): ReturnType<typeof sql>;
}
type Part = [merchantId: string, figures: HourFigures];

async function readCards({ queries, span, own }: Asked): Promise<Part[]> {
  const { rows: banks } = await sql<{ id: string; bank: string }>`select id, bank from devices where bank is not null`.execute(queries);
  const bankOf = new Map(banks.map(({ id, bank }) => [id, bank]));
  const step = sql`case when ${card.ended} then (c.settled_at - c.issued_at) / ${sql.lit(durationStepMs)} end`;
  const isVoided = sql`case when ${card.voided} then 1 else 0 end`;
  const { rows } = await sql<{
    merchant_id: string;
    device_id: string;
    name: OperationName;
    state: CommandState;
    settled_by: string | null;
    is_voided: number;
    step: number | null;
    count: number;
    bani: number;
    unclear_ms: number;
  }>`
    select c.merchant_id, c.device_id, c.name, c.state, c.settled_by, ${isVoided} as is_voided, ${step} as step, cast(count(*) as bigint) as count,
      cast(coalesce(sum(c.amount_bani), 0) as bigint) as bani,
      cast(coalesce(max(case when c.settled_by in ('recall', 'late-answer', 'last-transaction') then c.settled_at - c.issued_at end), 0) as bigint) as unclear_ms
    from commands c where ${kind.cards} and (${kind.payment} or ${kind.refund})
      and ${span(sql`c.issued_at`)}${own(sql`c.merchant_id`)}
    group by c.merchant_id, c.device_id, c.name, c.state, c.settled_by, ${isVoided}, ${step}`.execute(queries);
  return rows.map((row) => {
    if (operationOf(row.name).effect === 'refund') return [row.merchant_id, { ...emptyHour(), refundedBani: wasDone(row) ? row.bani : 0 }];
    const bank = bankOf.get(row.device_id) ?? '';
    const { state, count, bani } = row;
    return [
      row.merchant_id,
      {
        ...emptyHour(),
        cards: [{ bank, state, settledBy: row.settled_by, isVoided: row.is_voided === 1, count, bani, unclearMs: row.unclear_ms }],
        durations: row.step === null ? [] : [{ bank, step: Math.min(row.step, maxSteps), count }],
      },
    ];
  });
}

/** Its cash, and the cards that the register charged itself: `card_bani` excludes payments that were made on a terminal [D146]. */
async function readFiscal({ queries, span, own }: Asked): Promise<Part[]> {
  const { rows } = await sql<{ merchant_id: string; cash_count: number; cash: number; card_count: number; card: number }>`
    select c.merchant_id,
      cast(sum(case when c.cash_bani > 0 then 1 else 0 end) as bigint) as cash_count, cast(coalesce(sum(c.cash_bani), 0) as bigint) as cash,
      cast(sum(case when c.card_bani > 0 then 1 else 0 end) as bigint) as card_count, cast(coalesce(sum(c.card_bani), 0) as bigint) as card
    from commands c where ${kind.fiscal} and ${kind.print} and ${card.done} and ${span(sql`c.issued_at`)}${own(sql`c.merchant_id`)}
    group by c.merchant_id`.execute(queries);
  return rows.map((row) => [
    row.merchant_id,
    {
      ...emptyHour(),
      cash: { count: row.cash_count, bani: row.cash },
      registerCards: { count: row.card_count, bani: row.card },
    },
  ]);
}

/** An invoice paid by card on a terminal is counted as that payment; a Payd of another device took money, too [D186]. */
async function readQr({ queries, span, own }: Asked): Promise<Part[]> {
  const { rows } = await sql<{ merchant_id: string; count: number; bani: number }>`
    select i.merchant_id, cast(count(*) as bigint) as count, cast(coalesce(sum(i.amount_bani), 0) as bigint) as bani from invoices i
    where ${endedInvoices} and i.state = 2 and ${span(sql`i.ended_at`)}${own(sql`i.merchant_id`)}
      and not exists (select 1 from commands p where p.merchant_id = i.merchant_id and p.document_nr = i.oid and p.document_nr is not null
        and p.is_payment = 1 and p.device_id = i.paid_device_id and ${payment.done})
    group by i.merchant_id`.execute(queries);
  return rows.map(({ merchant_id, count, bani }) => [merchant_id, { ...emptyHour(), qr: { count, bani } }]);
}
