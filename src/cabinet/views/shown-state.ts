// The state of an operation as people read it, and the same as SQL for the filter of a list. Both derive from its standing in the ledger; no
// other code of the cabinet reads the state columns.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { namesWhere, operationOf, takesMoneyOut } from '../../kernel/operations.ts';
import type { Command } from '../../ledger/command.ts';
import { awaitsClose, type Follower, remainderOf, standingOf } from '../../ledger/standing.ts';
import { kindConditions, standingConditions } from '../../ledger/standing-sql.ts';

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

/** Money that goes back to a customer or out of the cash drawer: lists show it with a minus. */
export const outgoingNames = namesWhere(takesMoneyOut);

export interface StateFacts extends Pick<Command, 'name' | 'state' | 'outcome' | 'documentState' | 'amountBani'> {
  /** Of a payment: the commands that refer to it. */
  followers: readonly Follower[];
  /** On the review list. */
  isInReview: boolean;
  /** Contact with the device was lost while the command runs. */
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
  /** Conditions, each with its own small index, that find the candidate rows: at most about as many as there are devices. */
  few?: readonly Condition[];
  /** All conditions of the state. */
  is: readonly Condition[];
}

const is = standingConditions('c');
const kind = kindConditions('c');
const notInReview = sql<SqlBool>`not ${is.inReview}`;
/** Of a done command: neither the command nor a refund or void of it needs a person. */
const noPerson = sql<SqlBool>`${notInReview} and not ${is.takenBackInDispute}`;
const notOpenDocument = sql<SqlBool>`coalesce(c.document_state, '') <> 'open'`;
const hadDocument = sql<SqlBool>`c.document_state is not null`;
const ofPayment = (...conditions: Condition[]) =>
  sql<SqlBool>`(${sql.join([kind.payment, is.keepsMoney, notOpenDocument, ...conditions], sql` and `)})`;

/** The conditions of the list's filter, on the alias `c`. */
export const conditionsOfState: Readonly<Record<ShownState, StateConditions>> = {
  waiting: { few: [is.locking], is: [is.openWaiting, notInReview] },
  unknown: { few: [is.locking], is: [is.openUnknown, notInReview] },
  needsPerson: { few: [is.inReview, is.takenBackInDispute], is: [sql`(${is.inReview} or (${is.done} and ${is.takenBackInDispute}))`] },
  declined: { is: [is.refused, notInReview] },
  busy: { is: [is.never, is.busy, notInReview] },
  never: { is: [is.never, sql`not ${is.busy}`, notInReview] },
  notClosed: { few: [is.lockingDocument], is: [is.documentOpen, noPerson] },
  paid: { is: [ofPayment(sql`(c.document_state is null or ${is.refundedBani} = 0)`), noPerson] },
  partlyRefunded: { is: [ofPayment(hadDocument, sql`${is.refundedBani} > 0`, sql`not ${is.refunded}`), noPerson] },
  refunded: {
    is: [sql`((${is.done} and ${kind.refund}) or ${ofPayment(hadDocument, is.refunded)})`, noPerson],
  },
  voided: { is: [sql`(${is.done} and (${is.voided} or ${kind.void}))`, noPerson] },
  done: { is: [is.done, kind.other, noPerson] },
};
