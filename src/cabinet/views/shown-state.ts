// The state of an operation as people read it, and the same as SQL for the filter of a list. Both follow from its standing; no other code of
// the cabinet reads the state columns.
import { type SqlBool, sql } from 'kysely';
import type { Bani } from '../../kernel/money.ts';
import type { OperationState } from '../../kernel/operation-states.ts';
import { namesWhere, operationOf, takesMoneyOut } from '../../kernel/operations.ts';
import type { Command } from '../../ledger/command.ts';
import { kindConditions } from '../../ledger/standing-sql.ts';
import type { Condition } from './money-conditions.ts';
import { moneySql } from './money-sql.ts';

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

export interface StateFacts extends Pick<Command, 'name' | 'state' | 'outcome' | 'documentState'> {
  standing: OperationState;
  /** Of a payment: the sum of its refunds. */
  refundedBani: Bani;
  /** On the review list. */
  isInReview: boolean;
  /** Contact with the device was lost while the command runs. */
  isOutOfContact: boolean;
}

export function shownStateOf(facts: StateFacts): ShownState {
  if (facts.isInReview || facts.standing === 'Disputed') return 'needsPerson';
  switch (facts.standing) {
    case 'Open':
      return facts.state === 'unknown' || facts.isOutOfContact ? 'unknown' : 'waiting';
    case 'Refused':
      return 'declined';
    case 'Never':
      return facts.outcome === 'busy' ? 'busy' : 'never';
    case 'Voided':
      return 'voided';
    case 'Refunded':
      return facts.documentState === 'open' ? 'notClosed' : 'refunded';
    case 'Done':
    case 'Closed':
      return doneStateOf(facts);
  }
}

function doneStateOf({ name, documentState, refundedBani }: StateFacts): ShownState {
  const { isPayment, effect } = operationOf(name);
  if (effect === 'refund') return 'refunded';
  if (effect === 'void') return 'voided';
  if (!isPayment) return 'done';
  if (documentState === 'open') return 'notClosed';
  return refundedBani === 0 ? 'paid' : 'partlyRefunded';
}

export interface StateConditions {
  /** Conditions, each with its own small index, that find the candidate rows: at most about as many as there are devices. */
  few?: readonly Condition[];
  /** All conditions of the state. */
  is: readonly Condition[];
}

const kind = kindConditions('c');

/** The conditions of the list's filter, on the alias `c`. */
export function conditionsOfState(state: ShownState): StateConditions {
  const is = moneySql().of('c');
  const notInReview = sql<SqlBool>`not ${is.inReview}`;
  /** Of a done command: neither the command nor a refund or void of it needs a person. */
  const noPerson = sql<SqlBool>`${notInReview} and not ${is.takenBackInDispute}`;
  const notOpenDocument = sql<SqlBool>`coalesce(c.document_state, '') <> 'open'`;
  const hadDocument = sql<SqlBool>`c.document_state is not null`;
  const ofPayment = (...conditions: Condition[]) =>
    sql<SqlBool>`(${sql.join([kind.payment, is.keepsMoney, notOpenDocument, ...conditions], sql` and `)})`;
  switch (state) {
    case 'waiting':
      return { few: [is.locking], is: [is.openWaiting, notInReview] };
    case 'unknown':
      return { few: [is.locking], is: [is.openUnknown, notInReview] };
    case 'needsPerson':
      return { few: [is.inReview, is.mayBeTakenBack], is: [sql`(${is.inReview} or ${is.takenBackInDispute})`] };
    case 'declined':
      return { is: [is.refused, notInReview] };
    case 'busy':
      return { is: [is.never, is.busy, notInReview] };
    case 'never':
      return { is: [is.never, sql`not ${is.busy}`, notInReview] };
    case 'notClosed':
      return { few: [is.lockingDocument], is: [is.documentOpen, noPerson] };
    case 'paid':
      return { is: [ofPayment(sql`(c.document_state is null or ${is.refundedBani} = 0)`), noPerson] };
    case 'partlyRefunded':
      return { is: [ofPayment(hadDocument, sql`${is.refundedBani} > 0`, sql`not ${is.refunded}`), noPerson] };
    case 'refunded':
      return { is: [sql`((${is.done} and ${kind.refund}) or ${ofPayment(hadDocument, is.refunded)})`, noPerson] };
    case 'voided':
      return { is: [sql`(${is.done} and (${is.voided} or ${kind.void}))`, noPerson] };
    case 'done':
      return { is: [is.done, kind.other, noPerson] };
  }
}
