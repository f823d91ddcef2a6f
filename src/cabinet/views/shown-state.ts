// The one word that a person reads about an operation, and the same word as SQL for the filter of a list. Both follow from its standing in
// the ledger: nothing else in the cabinet reads the columns of its state.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { namesWhere, operationOf } from '../../kernel/operations.ts';
import type { Command } from '../../ledger/command.ts';
import { awaitsClose, type Follower, remainderOf, standingOf } from '../../ledger/standing.ts';
import { standingConditions } from '../../ledger/standing-sql.ts';

export const shownStates = [
  'paid',
  'waiting',
  'unknown',
  'notClosed',
  'needsPerson',
  'declined',
  'busy',
  'refunded',
  'partlyRefunded',
  'voided',
  'never',
  'done',
] as const;
export type ShownState = (typeof shownStates)[number];

export const cardNames = namesWhere(({ mode }) => mode === 'POS');
export const fiscalNames = namesWhere(({ mode }) => mode === 'Fiscal');

/** Money that goes back to a customer, or out of the drawer: lists show it with a minus. */
export const outgoingNames = namesWhere(({ effect }) => effect === 'refund' || effect === 'void').concat('MoneyOut');

export interface StateFacts extends Pick<Command, 'name' | 'state' | 'outcome' | 'documentState' | 'amountBani'> {
  /** Of a payment: what refers to it. */
  followers: readonly Follower[];
  /** On the review list. */
  isInReview: boolean;
  /** Contact with its device was lost while it runs. */
  isOutOfContact: boolean;
}

export function shownStateOf(facts: StateFacts): ShownState {
  const standing = standingOf(facts, facts.followers);
  if (facts.isInReview || standing === 'disputed') return 'needsPerson';
  switch (standing) {
    case 'open':
      return facts.state === 'unknown' || facts.isOutOfContact ? 'unknown' : 'waiting';
    case 'refused':
      return 'declined';
    case 'never':
      return facts.outcome === 'busy' ? 'busy' : 'never';
    case 'voided':
    case 'refunded':
      return awaitsClose(facts) ? 'notClosed' : standing;
    case 'done':
    case 'closed':
      return doneStateOf(facts);
  }
}

function doneStateOf(facts: StateFacts): ShownState {
  const { isPayment, effect } = operationOf(facts.name);
  if (effect === 'refund') return 'refunded';
  if (effect === 'void') return 'voided';
  if (!isPayment) return 'done';
  if (awaitsClose(facts)) return 'notClosed';
  return remainderOf(facts, facts.followers) === undefined ? 'paid' : 'partlyRefunded';
}

type Condition = RawBuilder<SqlBool>;

export interface StateConditions {
  /** Each is held by an index of its own, and together they are what the state may be. few: as many as there are devices, at most. */
  index?: { wheres: readonly Condition[]; holds: 'few' | 'failed' };
  rest: readonly Condition[];
}

const is = standingConditions('c');
const nameIn = (names: readonly string[]) => sql<SqlBool>`c.name in (${sql.join(names.map((name) => sql.lit(name)))})`;
const payments = nameIn(namesWhere(({ isPayment }) => isPayment === true));
const refunds = nameIn(namesWhere(({ effect }) => effect === 'refund'));
const voids = nameIn(namesWhere(({ effect }) => effect === 'void'));
const others = nameIn(namesWhere(({ isPayment, effect }) => !isPayment && effect !== 'refund' && effect !== 'void'));
const notInReview = sql<SqlBool>`not ${is.inReview}`;
/** Of what was done: neither itself nor a refund or void of it. */
const noPerson = sql<SqlBool>`${notInReview} and not ${is.takenBackInDispute}`;
const notOpenDocument = sql<SqlBool>`coalesce(c.document_state, '') <> 'open'`;
const hadDocument = sql<SqlBool>`c.document_state is not null`;
const ofPayment = (...conditions: Condition[]) =>
  sql<SqlBool>`(${sql.join([payments, is.keepsMoney, notOpenDocument, ...conditions], sql` and `)})`;

/** The conditions of the list's filter, on the alias `c`. */
export const conditionsOfState: Readonly<Record<ShownState, StateConditions>> = {
  waiting: { index: { wheres: [is.open], holds: 'few' }, rest: [is.openWaiting, notInReview] },
  unknown: { index: { wheres: [is.open], holds: 'few' }, rest: [is.openUnknown, notInReview] },
  needsPerson: { index: { wheres: [is.inReview, sql`(${is.done} and ${is.takenBackInDispute})`], holds: 'few' }, rest: [] },
  declined: { index: { wheres: [is.failed], holds: 'failed' }, rest: [is.refused, notInReview] },
  busy: { index: { wheres: [is.failed], holds: 'failed' }, rest: [is.never, is.busy, notInReview] },
  never: { index: { wheres: [is.failed], holds: 'failed' }, rest: [is.never, sql`not ${is.busy}`, notInReview] },
  notClosed: { index: { wheres: [is.documentOpen], holds: 'few' }, rest: [noPerson] },
  paid: { rest: [ofPayment(sql`(c.document_state is null or ${is.refundedBani} = 0)`), noPerson] },
  partlyRefunded: { rest: [ofPayment(hadDocument, sql`${is.refundedBani} > 0`, sql`${is.refundedBani} < c.amount_bani`), noPerson] },
  refunded: { rest: [sql`((${is.done} and ${refunds}) or ${ofPayment(hadDocument, sql`${is.refundedBani} >= c.amount_bani`)})`, noPerson] },
  voided: { rest: [sql`(${is.done} and (${is.voided} or ${voids}))`, noPerson] },
  done: { rest: [is.done, others, noPerson] },
};
