// What an operation means now, as the new core has stored it [D300]: columns alone. Whatever follows from several rows was decided by the rules
// (src/money/rules/derive.ts) and written with the change.
import { type SqlBool, sql } from 'kysely';
import type { OperationState } from '../../kernel/operation-states.ts';
import { contactLost } from '../../ledger/standing-sql.ts';
import type { OpState } from '../../money/case.ts';
import type { Condition, MoneySql, OperationSql } from './money-conditions.ts';

function operationSql(row: string): OperationSql {
  const column = (name: string) => sql.ref(`${row}.${name}`);
  const [state, standing, document] = [column('state'), column('standing'), column('document_state')];
  const is = (condition: Condition) => condition;
  const inReview = is(sql`(${column('review_since')} is not null and ${column('reviewed_at')} is null)`);
  return {
    standing: sql<OperationState>`${standing}`,
    refundedBani: sql<number>`coalesce(${column('refunded_bani')}, 0)`,
    open: is(sql`${standing} = 'Open'`),
    locking: is(sql`${column('id')} in (select lock.command_id from device_locks lock where lock.command_id is not null)`),
    lockingDocument: is(sql`${column('id')} in (select lock.document_id from device_locks lock where lock.document_id is not null)`),
    openUnknown: is(sql`(${state} = 'unknown' or (${state} = 'sent' and ${contactLost(row)}))`),
    openWaiting: is(sql`(${state} = 'sent' and not ${contactLost(row)})`),
    done: is(sql`${state} = 'done'`),
    keepsMoney: is(sql`(${state} = 'done' and coalesce(${document}, '') <> 'voided')`),
    voided: is(sql`${document} = 'voided'`),
    refunded: is(sql`${standing} = 'Refunded'`),
    documentOpen: is(sql`${document} = 'open'`),
    openOrDone: is(sql`${state} in ('sent', 'unknown', 'done')`),
    refused: is(sql`${state} = 'refused'`),
    never: is(sql`${state} = 'never'`),
    failed: is(sql`${state} in ('refused', 'never')`),
    ended: is(sql`${state} in ('done', 'refused')`),
    busy: is(sql`coalesce(${column('outcome')}, '') = 'busy'`),
    inReview,
    takenBackInDispute: is(sql`(${state} = 'done' and ${standing} = 'Disputed')`),
    mayBeTakenBack: is(sql`${column('id')} in (select back.target_id from commands back
      where back.review_since is not null and back.reviewed_at is null and back.target_id is not null)`),
  };
}

/** Its ERP completes an invoice soon after the card payment. */
const completeWithinMs = 5 * 60_000;
const cardPaidAt = sql<number>`coalesce((select max(p.settled_at) from commands p where p.merchant_id = invoices.merchant_id
  and p.document_nr = invoices.oid and p.document_nr is not null and p.is_payment = 1 and p.state = 'done'), invoices.created_at)`;

export const storedMoneySql: MoneySql = {
  of: operationSql,
  isCommand: (row) => sql<SqlBool>`${sql.ref(`${row}.mode`)} <> 'Abort'`,
  entries: {
    // An entry is the first settlement of its operation; later reports have rows of their own.
    from: sql`settlements s join commands c on c.id = s.command_id and s.entered_as is not null`,
    at: sql<number>`s.settled_at`,
    state: sql<OpState>`s.entered_as`,
    done: sql<SqlBool>`s.entered_as = 'done'`,
    ended: sql<SqlBool>`s.entered_as in ('done', 'refused')`,
    isVoided: sql<SqlBool>`false`,
    areDatedWhenKnown: true,
  },
  receiptPayments: sql`printed_payments`,
  orphan: { isListed: sql<SqlBool>`o.is_listed = 1`, reason: sql<string>`o.reason` },
  paidByCard: {
    is: sql<SqlBool>`(invoices.is_paid_by_card = 1 and ${cardPaidAt} <= (select now_ms()) - ${sql.lit(completeWithinMs)})`,
    sinceMs: cardPaidAt,
  },
  hasAttention: true,
  hasSequence: true,
};
