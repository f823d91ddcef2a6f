// The conditions about money that lists, figures and Attention select by, whichever core runs (money-sql.ts).
import type { RawBuilder, SqlBool } from 'kysely';
import type { OperationState } from '../../kernel/operation-states.ts';
import type { OpState } from '../../money/case.ts';

export type Condition = RawBuilder<SqlBool>;

/** Of an operation, by the alias of its row in the statement. */
export interface OperationSql {
  /** `State` as every answer gives it. */
  standing: RawBuilder<OperationState>;
  /** Of a payment: the sum of its refunds. */
  refundedBani: RawBuilder<number>;
  open: Condition;
  /** Open, found by the locks of the devices: those are few, and no index of `commands` covers the state [D240]. */
  locking: Condition;
  lockingDocument: Condition;
  /** Its outcome is not known: the deadline has passed, or contact with its device is lost while it runs. */
  openUnknown: Condition;
  openWaiting: Condition;
  /** Executed, also if it was voided or refunded since. */
  done: Condition;
  /** Done, and the money is still with the shop. */
  keepsMoney: Condition;
  voided: Condition;
  refunded: Condition;
  /** Of an approved payment: its terminal accepts no other payment until CloseDoc. */
  documentOpen: Condition;
  openOrDone: Condition;
  refused: Condition;
  never: Condition;
  failed: Condition;
  ended: Condition;
  busy: Condition;
  inReview: Condition;
  /** Done, and one of its refunds or voids is disputed: it is not known whether the shop has the money. */
  takenBackInDispute: Condition;
  /** A few operations, found by the review list, with all of those. */
  mayBeTakenBack: Condition;
}

/** The money of an hour: operations `c` by the time at which they count. */
export interface EntriesSql {
  from: RawBuilder<unknown>;
  at: RawBuilder<number>;
  state: RawBuilder<OpState>;
  done: Condition;
  ended: Condition;
  /** Voided since: it no longer counts in its own hour. */
  isVoided: Condition;
  /** Voids and corrections count in the hour in which they became known [D303]. */
  areDatedWhenKnown: boolean;
}

export interface MoneySql {
  of(row: string): OperationSql;
  /** A command to a device; a request to stop one has a row of its own [D315], and no list shows it. */
  isCommand(row: string): Condition;
  entries: EntriesSql;
  /** Which print names which payment. */
  receiptPayments: RawBuilder<{ payment_id: string; print_id: string; amount_bani: number }>;
  /** Of a row `o` of orphan_payments. */
  orphan: { isListed: Condition; reason: RawBuilder<string> };
  /** Of a row of invoices: unpaid, although the shop has the money of a card payment [D142]. `since`: when a person has to look at it. */
  paidByCard: { is: Condition; sinceMs: RawBuilder<number> };
  /** What the operations under one number mean together is stored with them. */
  hasAttention: boolean;
  /** The operations of a device are ordered by its counter [D307]; otherwise by their time. */
  hasSequence: boolean;
}
