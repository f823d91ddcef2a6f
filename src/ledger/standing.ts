// The standing of an operation: what it means now, from its row and from the operations that refer to it. The only place that reads these
// columns together: answers, repeats, Operation/Status, notices, the cabinet and the day close all start from it [D140].
import type { Bani } from '../kernel/money.ts';
import type { OperationState } from '../kernel/operation-states.ts';
import { type OperationName, operationOf, takesMoneyBack } from '../kernel/operations.ts';
import type { Command } from './command.ts';

export const standings = ['open', 'done', 'closed', 'voided', 'refunded', 'refused', 'never', 'disputed'] as const;
export type Standing = (typeof standings)[number];

/** `State` in every answer about an operation. */
export const stateNames: Readonly<Record<Standing, OperationState>> = {
  open: 'Open',
  done: 'Done',
  closed: 'Closed',
  voided: 'Voided',
  refunded: 'Refunded',
  refused: 'Refused',
  never: 'Never',
  disputed: 'Disputed',
};

type Facts = Pick<Command, 'state' | 'documentState' | 'amountBani'>;

/** An operation that refers to a payment: its refund, its void, the close of its document. */
export interface Follower {
  name: OperationName;
  state: Command['state'];
  amountBani: Bani | null;
}

/** `followers`: of a payment, the operations that refer to it; empty for other operations. */
export function standingOf(command: Facts, followers: readonly Follower[] = []): Standing {
  switch (command.state) {
    case 'sent':
    case 'unknown':
      return 'open';
    case 'refused':
    case 'never':
    case 'disputed':
      return command.state;
    case 'done':
      return standingWhenDone(command, followers);
  }
}

function standingWhenDone({ documentState, amountBani }: Facts, followers: readonly Follower[]): Standing {
  // While a refund or void is disputed, it is not known whether the shop has the money.
  if (followers.some((follower) => follower.state === 'disputed' && takesMoneyBack(operationOf(follower.name)))) return 'disputed';
  if (documentState === 'voided') return 'voided';
  const refundedBani = refundedBaniOf(followers);
  if (refundedBani > 0 && refundedBani >= (amountBani ?? 0)) return 'refunded';
  return documentState === 'closed' ? 'closed' : 'done';
}

/** It was executed, also if it was voided or refunded since. */
export function wasDone({ state }: Pick<Facts, 'state'>): boolean {
  return state === 'done';
}

/** It was executed, or its device reports so against the settlement. */
export function mayBeDone({ state }: Pick<Facts, 'state'>): boolean {
  return state === 'done' || state === 'disputed';
}

/** The shop has the money: done, and not voided. */
export function keepsMoney({ state, documentState }: Pick<Facts, 'state' | 'documentState'>): boolean {
  return state === 'done' && documentState !== 'voided';
}

/** An approved payment whose terminal waits for CloseDoc. */
export function awaitsClose({ documentState }: Pick<Facts, 'documentState'>): boolean {
  return documentState === 'open';
}

export function isDocumentClosed({ documentState }: Pick<Facts, 'documentState'>): boolean {
  return documentState === 'closed';
}

/** The sum of the refunds that were certainly made. */
export function refundedBaniOf(followers: readonly Follower[]): Bani {
  return refundedOf(followers, wasDone);
}

/** The amount of a payment minus its refunds; undefined: none was made. */
export function remainderOf({ state, documentState, amountBani }: Facts, followers: readonly Follower[]): Bani | undefined {
  const refundedBani = refundedBaniOf(followers);
  return state === 'done' && documentState !== null && refundedBani > 0 ? (amountBani ?? 0) - refundedBani : undefined;
}

/** The sum of refunds that were or may be made: open ones count, so that parallel refunds never exceed the payment [D17]. */
export function committedRefundsOf(followers: readonly Follower[]): Bani {
  return refundedOf(followers, mayHaveHappened);
}

function refundedOf(followers: readonly Follower[], counts: (follower: Follower) => boolean): Bani {
  const refunds = followers.filter((follower) => operationOf(follower.name).effect === 'refund' && counts(follower));
  return refunds.reduce((sum, { amountBani }) => sum + (amountBani ?? 0), 0);
}

/** Of a payment: a refund of it was made, or may have been. */
export function mayBeRefunded(followers: readonly Follower[]): boolean {
  return followers.some((follower) => operationOf(follower.name).effect === 'refund' && mayHaveHappened(follower));
}

/** It is open, done or disputed. */
export function mayHaveHappened({ state }: Pick<Facts, 'state'>): boolean {
  return state !== 'refused' && state !== 'never';
}
