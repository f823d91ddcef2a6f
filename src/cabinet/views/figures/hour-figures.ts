// The figures of at most an hour, by merchant: payments, attempts, declines and durations. The database sums them over the indexes by time,
// so no statement reads more than an hour of rows. Figures can be added.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { type OperationName, operationOf } from '../../../kernel/operations.ts';
import type { CommandState } from '../../../ledger/command.ts';
import { kindConditions } from '../../../ledger/standing-sql.ts';
import { moneySql } from '../money-sql.ts';
import type { Scope } from '../scope.ts';

export interface HourFigures {
  /** Payments by bank ('': terminals without one) and state. */
  cards: CardFigures[];
  /** Durations of payments by bank, in steps of `durationStepMs`. */
  durations: { bank: string; step: number; count: number }[];
  refundedBani: number;
  /** Voids and corrections that became known in this hour, by bank: what they add to the card payments [D303]. */
  changes: (Sum & { bank: string })[];
  /** Of the refunds and voids of this hour, by the quarter of an hour in which their payments were counted: a day begins at one. */
  returned: (Sum & { paidMs: number })[];
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

export const hourMs = 3_600_000;
const quarterMs = hourMs / 4;
export const durationStepMs = 200;
/** Longer durations count as this: the time-out of a payment is five minutes. */
const maxSteps = 1_800;

export function emptyHour(): HourFigures {
  const none = () => ({ count: 0, bani: 0 });
  return { cards: [], durations: [], refundedBani: 0, changes: [], returned: [], cash: none(), registerCards: none(), qr: none() };
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
    for (const row of part.changes) addTo(sum.changes, row, ({ bank }) => bank === row.bank);
    for (const row of part.returned) addTo(sum.returned, row, ({ paidMs }) => paidMs === row.paidMs);
    for (const name of ['cash', 'registerCards', 'qr'] as const) {
      sum[name].count += part[name].count;
      sum[name].bani += part[name].bani;
    }
  }
  return { ...sum, cards: [...cards.values()], durations: [...durations.values()] };
}

function addTo<Row extends Sum>(rows: Row[], row: Row, isSame: (known: Row) => boolean): void {
  const known = rows.find(isSame);
  if (!known) rows.push({ ...row });
  else {
    known.count += row.count;
    known.bani += row.bani;
  }
}

/** By merchant; merchants without operations are left out. */
export async function readFigures(queries: Queries, scope: Scope, fromMs: number, toMs: number): Promise<Map<string, HourFigures>> {
  const asked: Asked = {
    queries,
    span: (column) => sql<SqlBool>`${column} >= cast(${fromMs} as bigint) and ${column} < cast(${toMs} as bigint)`,
    own: (column) => (scope.merchantId === undefined ? sql`` : sql` and ${column} = ${scope.merchantId}`),
  };
  const found = [...(await readCards(asked)), ...(await readFiscal(asked)), ...(await readQr(asked)), ...(await readChanges(asked))];
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

/** Payments that began in this period and have no outcome yet: they are in no hour, because they count when it becomes known. */
export async function countOpen(queries: Queries, { merchantId }: Scope, fromMs: number, toMs: number): Promise<number> {
  const { entries, of } = moneySql();
  if (!entries.areDatedWhenKnown) return 0;
  const { locking, open } = of('c');
  const own = merchantId === undefined ? sql`` : sql` and c.merchant_id = ${merchantId}`;
  const { rows } = await sql<{ count: number }>`select cast(count(*) as bigint) as count from commands c where ${locking} and ${open}
    and ${kind.payment} and c.issued_at >= cast(${fromMs} as bigint) and c.issued_at < cast(${toMs} as bigint)${own}`.execute(queries);
  return rows[0]?.count ?? 0;
}

const kind = kindConditions('c');
const endedInvoices = sql<SqlBool>`i.removed_at is null and i.ended_at is not null`;

interface Asked {
  queries: Queries;
  span(column: ReturnType<typeof sql>): ReturnType<typeof sql<SqlBool>>;
  own(column: ReturnType<typeof sql>): ReturnType<typeof sql>;
}
type Part = [merchantId: string, figures: HourFigures];

async function readBanks(queries: Queries): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; bank: string }>`select id, bank from devices where bank is not null`.execute(queries);
  return new Map(rows.map(({ id, bank }) => [id, bank]));
}

async function readCards({ queries, span, own }: Asked): Promise<Part[]> {
  const bankOf = await readBanks(queries);
  const { from, at, state, done, ended, isVoided: voided } = moneySql().entries;
  const step = sql`case when ${ended} then (c.settled_at - c.issued_at) / ${sql.lit(durationStepMs)} end`;
  const isVoided = sql`case when ${voided} then 1 else 0 end`;
  const isDone = sql`case when ${done} then 1 else 0 end`;
  const { rows } = await sql<{
    merchant_id: string;
    device_id: string;
    name: OperationName;
    state: CommandState;
    settled_by: string | null;
    is_voided: number;
    is_done: number;
    step: number | null;
    count: number;
    bani: number;
    unclear_ms: number;
  }>`
    select c.merchant_id, c.device_id, c.name, ${state} as state, c.settled_by, ${isVoided} as is_voided, ${isDone} as is_done, ${step} as step,
      cast(count(*) as bigint) as count, cast(coalesce(sum(c.amount_bani), 0) as bigint) as bani,
      cast(coalesce(max(case when c.settled_by in ('recall', 'late-answer', 'last-transaction') then c.settled_at - c.issued_at end), 0) as bigint) as unclear_ms
    from ${from} where ${kind.cards} and (${kind.payment} or ${kind.refund})
      and ${span(at)}${own(sql`c.merchant_id`)}
    group by c.merchant_id, c.device_id, c.name, ${state}, c.settled_by, ${isVoided}, ${isDone}, ${step}`.execute(queries);
  return rows.map((row) => {
    if (operationOf(row.name).effect === 'refund')
      return [row.merchant_id, { ...emptyHour(), refundedBani: row.is_done === 1 ? row.bani : 0 }];
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
  const { from, at, done } = moneySql().entries;
  const { rows } = await sql<{ merchant_id: string; cash_count: number; cash: number; card_count: number; card: number }>`
    select c.merchant_id,
      cast(sum(case when c.cash_bani > 0 then 1 else 0 end) as bigint) as cash_count, cast(coalesce(sum(c.cash_bani), 0) as bigint) as cash,
      cast(sum(case when c.card_bani > 0 then 1 else 0 end) as bigint) as card_count, cast(coalesce(sum(c.card_bani), 0) as bigint) as card
    from ${from} where ${kind.fiscal} and ${kind.print} and ${done} and ${span(at)}${own(sql`c.merchant_id`)}
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

/**
 * What became known in this hour about money that was counted before: voids, and disputes that were resolved otherwise [D303]. A correction
 * has the sign of the operation: a void that was made after all is negative.
 */
async function readChanges({ queries, span, own }: Asked): Promise<Part[]> {
  const { areDatedWhenKnown, from, at, done } = moneySql().entries;
  if (!areDatedWhenKnown) return [];
  const bankOf = await readBanks(queries);
  const paid = sql`p.settled_at / ${sql.lit(quarterMs)} * ${sql.lit(quarterMs)}`;
  const { rows: returns } = await sql<Returned>`
    select c.merchant_id, c.device_id, c.name, ${paid} as paid_ms, cast(count(*) as bigint) as count, cast(sum(c.amount_bani) as bigint) as bani
    from ${from} join commands p on p.id = c.target_id where (${kind.void} or ${kind.refund}) and ${done} and ${span(at)}${own(sql`c.merchant_id`)}
    group by c.merchant_id, c.device_id, c.name, ${paid}`.execute(queries);
  const { rows: corrections } = await sql<Corrected>`
    select c.merchant_id, c.device_id, c.name, k.amount_bani as bani, c.cash_bani as cash, c.card_bani as card
    from money_corrections k join commands c on c.id = k.operation_id where ${span(sql`k.at`)}${own(sql`c.merchant_id`)}`.execute(queries);
  const bank = ({ device_id: deviceId }: { device_id: string }) => bankOf.get(deviceId) ?? '';
  return [
    ...returns.map((row): Part => {
      const isVoid = operationOf(row.name).effect === 'void';
      const changes = isVoid ? [{ bank: bank(row), count: -row.count, bani: -row.bani }] : [];
      return [row.merchant_id, { ...emptyHour(), changes, returned: [{ paidMs: row.paid_ms, count: row.count, bani: row.bani }] }];
    }),
    ...corrections.map((row): Part => [row.merchant_id, { ...emptyHour(), ...correctionOf(row, bank(row)) }]),
  ];
}

interface Returned {
  merchant_id: string;
  device_id: string;
  name: OperationName;
  paid_ms: number;
  count: number;
  bani: number;
}

interface Corrected {
  merchant_id: string;
  device_id: string;
  name: OperationName;
  bani: number;
  cash: number | null;
  card: number | null;
}

function correctionOf({ name, bani, cash, card }: Corrected, bank: string): Partial<HourFigures> {
  const { effect, isPayment, prints } = operationOf(name);
  const count = Math.sign(bani);
  if (effect === 'refund') return { refundedBani: -bani };
  if (isPayment || effect === 'void') return { changes: [{ bank, count, bani }] };
  const sumOf = (amountBani: number | null) => ({ count: amountBani ? count : 0, bani: count * (amountBani ?? 0) });
  return prints ? { cash: sumOf(cash), registerCards: sumOf(card) } : {};
}

/** An invoice paid by card on a terminal is counted as that payment; a Payd of another device took money, too [D186]. */
async function readQr({ queries, span, own }: Asked): Promise<Part[]> {
  const { rows } = await sql<{ merchant_id: string; count: number; bani: number }>`
    select i.merchant_id, cast(count(*) as bigint) as count, cast(coalesce(sum(i.amount_bani), 0) as bigint) as bani from invoices i
    where ${endedInvoices} and i.state = 2 and ${span(sql`i.ended_at`)}${own(sql`i.merchant_id`)}
      and not exists (select 1 from commands p where p.merchant_id = i.merchant_id and p.document_nr = i.oid and p.document_nr is not null
        and p.is_payment = 1 and p.device_id = i.paid_device_id and ${moneySql().of('p').done})
    group by i.merchant_id`.execute(queries);
  return rows.map(({ merchant_id, count, bani }) => [merchant_id, { ...emptyHour(), qr: { count, bani } }]);
}
