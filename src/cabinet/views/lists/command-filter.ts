// Which commands a list shows: the filter as SQL conditions, apart by what an index knows and what only the row tells. Names and states are
// literals, because both engines use a partial index only where the statement itself shows that it applies.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Bani } from '../../../kernel/money.ts';
import type { LedgerCommandName } from '../../../link/protocol.ts';
import { cardNames, fiscalNames, type ShownState } from '../shown-state.ts';

export type Mode = 'cards' | 'fiscal';

export interface CommandFilter {
  mode?: Mode | undefined;
  name?: LedgerCommandName | undefined;
  /** Any of these. */
  states?: readonly ShownState[] | undefined;
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
/** The predicates of the indexes by time, and of those by merchant and time. */
export const conditionOfMode: Record<Mode, Condition> = { cards: namesIn(cardNames), fiscal: namesIn(fiscalNames) };

const inReview = sql<SqlBool>`c.review_since is not null and c.reviewed_at is null`;
const notInReview = sql<SqlBool>`(c.review_since is null or c.reviewed_at is not null)`;
/** The predicate of the index over what failed; the rest tells which of them. */
const failed = sql<SqlBool>`c.state in ('refused', 'never')`;
const open = sql<SqlBool>`c.state in ('sent', 'unknown')`;
const refundedBani = sql<number>`(select coalesce(sum(r.amount_bani), 0) from commands r where r.target_id = c.id and r.name = 'Refund' and r.state = 'done')`;
const payDone = sql<SqlBool>`c.name = 'Pay' and c.state = 'done'`;

interface StateConditions {
  /** An index holds these and no others. few: as many as there are devices, at most. */
  index?: { where: Condition; holds: 'few' | 'failed' };
  rest: readonly Condition[];
}

const conditionsOfState: Record<ShownState, StateConditions> = {
  waiting: { index: { where: open, holds: 'few' }, rest: [sql`c.state = 'sent'`, notInReview] },
  unknown: { index: { where: open, holds: 'few' }, rest: [sql`c.state = 'unknown'`, notInReview] },
  needsPerson: { index: { where: inReview, holds: 'few' }, rest: [] },
  declined: { index: { where: failed, holds: 'failed' }, rest: [sql`c.state = 'refused'`, notInReview] },
  busy: { index: { where: failed, holds: 'failed' }, rest: [sql`c.state = 'never' and c.outcome = 'busy'`, notInReview] },
  never: {
    index: { where: failed, holds: 'failed' },
    rest: [sql`c.state = 'never' and (c.outcome is null or c.outcome <> 'busy')`, notInReview],
  },
  notClosed: { index: { where: sql`c.document_state = 'open'`, holds: 'few' }, rest: [notInReview, sql`${refundedBani} = 0`] },
  paid: { rest: [payDone, sql`c.document_state = 'closed'`, notInReview, sql`${refundedBani} = 0`] },
  voided: { rest: [sql`c.state = 'done' and (c.document_state = 'voided' or c.name = 'CancelTransaction')`, notInReview] },
  refunded: {
    rest: [
      sql`c.state = 'done' and (c.name = 'Refund' or (c.name = 'Pay' and c.document_state <> 'voided' and ${refundedBani} >= c.amount_bani))`,
      notInReview,
    ],
  },
  partlyRefunded: {
    rest: [payDone, sql`c.document_state <> 'voided'`, notInReview, sql`${refundedBani} > 0 and ${refundedBani} < c.amount_bani`],
  },
  done: { rest: [sql`c.state = 'done' and c.name not in ('Pay', 'Refund', 'CancelTransaction')`, notInReview] },
};

/** The index that holds the filter's state, if one does. Several states have none in common. */
export function indexOfState({ states = [] }: CommandFilter): StateConditions['index'] {
  const [state] = states;
  return state === undefined || states.length > 1 ? undefined : conditionsOfState[state].index;
}

/** The span of time, which every index knows. */
export function spanOf(filter: CommandFilter): Condition[] {
  return [
    ...(filter.fromMs === undefined ? [] : [sql<SqlBool>`c.issued_at >= cast(${filter.fromMs} as bigint)`]),
    ...(filter.toMs === undefined ? [] : [sql<SqlBool>`c.issued_at < cast(${filter.toMs} as bigint)`]),
  ];
}

/** What only the row itself tells: judged on a bounded number of walked rows. */
export function sieveOf(filter: CommandFilter, isIn: { modeIndex: boolean; stateIndex: boolean }): Condition[] {
  const wanted = (filter.states ?? []).map((state) => conditionsOfState[state]);
  const [only] = wanted;
  const state = wanted.length === 1 ? only : undefined;
  const whole = ({ index, rest }: StateConditions) => sql<SqlBool>`(${sql.join([...(index ? [index.where] : []), ...rest], sql` and `)})`;
  return [
    ...(filter.mode === undefined || isIn.modeIndex ? [] : [conditionOfMode[filter.mode]]),
    ...(state?.index && !isIn.stateIndex ? [state.index.where] : []),
    ...(state?.rest ?? []),
    ...(wanted.length > 1 ? [sql<SqlBool>`(${sql.join(wanted.map(whole), sql` or `)})`] : []),
    ...(filter.name === undefined ? [] : [sql<SqlBool>`c.name = ${sql.lit(filter.name)}`]),
    ...(filter.minBani === undefined ? [] : [sql<SqlBool>`c.amount_bani >= cast(${filter.minBani} as bigint)`]),
    ...(filter.maxBani === undefined ? [] : [sql<SqlBool>`c.amount_bani <= cast(${filter.maxBani} as bigint)`]),
  ];
}
