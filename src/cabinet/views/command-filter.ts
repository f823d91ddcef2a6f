// Which commands a list shows: the filter as SQL conditions. Names and states are literals, because both engines use a partial
// index only where the statement itself shows that it applies.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Bani } from '../../kernel/money.ts';
import type { LedgerCommandName } from '../../link/protocol.ts';
import { cardNames, fiscalNames, type ShownState } from './shown-state.ts';

export type Mode = 'cards' | 'fiscal';

export interface CommandFilter {
  mode?: Mode | undefined;
  name?: LedgerCommandName | undefined;
  state?: ShownState | undefined;
  /** A document, rrn, operation id, Receipt.Uid, receipt number, id (or its beginning) or amount. */
  q?: string | undefined;
  deviceId?: string | undefined;
  bank?: string | undefined;
  shop?: string | undefined;
  fromMs?: number | undefined;
  toMs?: number | undefined;
  minBani?: Bani | undefined;
  maxBani?: Bani | undefined;
}

type Condition = RawBuilder<SqlBool>;

const namesIn = (names: readonly string[]) => sql<SqlBool>`c.name in (${sql.join(names.map((name) => sql.lit(name)))})`;
const conditionOfMode: Record<Mode, Condition> = { cards: namesIn(cardNames), fiscal: namesIn(fiscalNames) };
/** The same, in a form that no index knows. */
const hiddenNamesIn = (names: readonly string[]) => sql<SqlBool>`c.name || '' in (${sql.join(names.map((name) => sql.lit(name)))})`;
const hiddenConditionOfMode: Record<Mode, Condition> = { cards: hiddenNamesIn(cardNames), fiscal: hiddenNamesIn(fiscalNames) };

const inReview = sql<SqlBool>`c.review_since is not null and c.reviewed_at is null`;
const notInReview = sql<SqlBool>`(c.review_since is null or c.reviewed_at is not null)`;
/** The predicate of the index over what failed; the second half tells which of the two. */
const failed = sql<SqlBool>`c.state in ('refused', 'never')`;
const refundedBani = sql<number>`(select coalesce(sum(r.amount_bani), 0) from commands r where r.target_id = c.id and r.name = 'Refund' and r.state = 'done')`;
const payDone = sql<SqlBool>`c.name = 'Pay' and c.state = 'done'`;

const conditionsOfState: Record<ShownState, readonly Condition[]> = {
  waiting: [sql`c.state in ('sent', 'unknown')`, sql`c.state = 'sent'`, notInReview],
  unknown: [sql`c.state in ('sent', 'unknown')`, sql`c.state = 'unknown'`, notInReview],
  needsPerson: [inReview],
  declined: [failed, sql`c.state = 'refused'`, notInReview],
  busy: [failed, sql`c.state = 'never' and c.outcome = 'busy'`, notInReview],
  never: [failed, sql`c.state = 'never' and (c.outcome is null or c.outcome <> 'busy')`, notInReview],
  notClosed: [sql`c.document_state = 'open'`, notInReview, sql`${refundedBani} = 0`],
  paid: [payDone, sql`c.document_state = 'closed'`, notInReview, sql`${refundedBani} = 0`],
  voided: [sql`c.state = 'done' and (c.document_state = 'voided' or c.name = 'CancelTransaction')`, notInReview],
  refunded: [
    sql`c.state = 'done' and (c.name = 'Refund' or (c.name = 'Pay' and c.document_state <> 'voided' and ${refundedBani} >= c.amount_bani))`,
    notInReview,
  ],
  partlyRefunded: [payDone, sql`c.document_state <> 'voided'`, notInReview, sql`${refundedBani} > 0 and ${refundedBani} < c.amount_bani`],
  done: [sql`c.state = 'done' and c.name not in ('Pay', 'Refund', 'CancelTransaction')`, notInReview],
};

/** What an index can find: judged while the list is walked. */
export function walkedBy(filter: CommandFilter): Condition[] {
  return [
    ...(filter.mode === undefined ? [] : [isRare(filter.state) ? hiddenConditionOfMode[filter.mode] : conditionOfMode[filter.mode]]),
    ...(filter.fromMs === undefined ? [] : [sql<SqlBool>`c.issued_at >= cast(${filter.fromMs} as bigint)`]),
    ...(filter.toMs === undefined ? [] : [sql<SqlBool>`c.issued_at < cast(${filter.toMs} as bigint)`]),
    ...(filter.state !== undefined && isRare(filter.state) ? conditionsOfState[filter.state] : []),
  ];
}

/** States of few commands: their indexes hold no others. */
const hasOwnIndex: ReadonlySet<ShownState> = new Set<ShownState>([
  'waiting',
  'unknown',
  'needsPerson',
  'declined',
  'busy',
  'never',
  'notClosed',
]);

/** Its index finds it, and no other index may be preferred to that one: neither by merchant nor by mode. */
export function isRare(state: ShownState | undefined): boolean {
  return state !== undefined && hasOwnIndex.has(state);
}

/** As many as there are devices, at most: they are sorted. */
export function isAmongFew(state: ShownState | undefined): boolean {
  return state === 'waiting' || state === 'unknown' || state === 'needsPerson' || state === 'notClosed';
}

/** What only the row itself tells: judged on a bounded number of walked rows. */
export function sievedBy(filter: CommandFilter): Condition[] {
  return [
    ...(filter.name === undefined ? [] : [sql<SqlBool>`c.name = ${sql.lit(filter.name)}`]),
    ...(filter.state !== undefined && !isRare(filter.state) ? conditionsOfState[filter.state] : []),
    ...(filter.minBani === undefined ? [] : [sql<SqlBool>`c.amount_bani >= cast(${filter.minBani} as bigint)`]),
    ...(filter.maxBani === undefined ? [] : [sql<SqlBool>`c.amount_bani <= cast(${filter.maxBani} as bigint)`]),
  ];
}
