// What an operation means now, computed by the old core's conditions from the operations that refer to it. It goes with that core.
import { type SqlBool, sql } from 'kysely';
import { isOpenWithLimit, isStillOrphan, orphanReason } from '../../invoices/store.ts';
import type { OperationState } from '../../kernel/operation-states.ts';
import { stateNames } from '../../ledger/standing.ts';
import { hasStandingPayment } from '../../ledger/standing-payment.ts';
import { standingConditions } from '../../ledger/standing-sql.ts';
import type { OpState } from '../../money/case.ts';
import type { MoneySql, OperationSql } from './money-conditions.ts';

function operationSql(row: string): OperationSql {
  const is = standingConditions(row);
  const state = sql.ref(`${row}.state`);
  const named = (standing: keyof typeof stateNames) => sql.lit(stateNames[standing]);
  const standing = sql<OperationState>`case when ${is.open} then ${named('open')} when ${is.refused} then ${named('refused')}
    when ${is.never} then ${named('never')} when ${state} = 'disputed' or ${is.takenBackInDispute} then ${named('disputed')}
    when ${is.voided} then ${named('voided')} when ${is.refunded} then ${named('refunded')}
    when coalesce(${sql.ref(`${row}.document_state`)}, '') = 'closed' then ${named('closed')} else ${named('done')} end`;
  const takenBackInDispute = sql<SqlBool>`(${is.done} and ${is.takenBackInDispute})`;
  return { ...is, standing, takenBackInDispute, mayBeTakenBack: is.takenBackInDispute };
}

const entry = standingConditions('c');

export const oldMoneySql: MoneySql = {
  of: operationSql,
  isCommand: () => sql<SqlBool>`true`,
  entries: {
    from: sql`commands c`,
    at: sql<number>`c.issued_at`,
    state: sql<OpState>`c.state`,
    done: entry.done,
    ended: entry.ended,
    isVoided: entry.voided,
    areDatedWhenKnown: false,
  },
  receiptPayments: sql`receipt_payments`,
  orphan: { isListed: isStillOrphan, reason: orphanReason },
  paidByCard: {
    is: sql<SqlBool>`(${isOpenWithLimit} and invoices.valid_to <= (select now_ms()) and invoices.payment_begun_at is not null
      and ${hasStandingPayment('invoices.merchant_id', 'invoices.oid', { standing: 'done' })})`,
    sinceMs: sql<number>`invoices.valid_to`,
  },
  hasAttention: false,
  hasSequence: false,
};
