// The standing of operations as SQL conditions, for lists and sums that read many rows: the same rules as standing.ts, and a test compares
// the two over every state. States are literals: both engines use a partial index only where the statement itself shows that it applies.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { movesCardMoney, namesWhere, takesMoneyBack } from '../kernel/operations.ts';

type Condition = RawBuilder<SqlBool>;

const literals = (values: readonly string[]) => sql.join(values.map((value) => sql.lit(value)));

/** Steps after which the gateway does not know what the device is doing, until one of `deviceSpokeSteps` follows. */
export const contactLostSteps = ['channel-lost', 'send-unclear', 'unknown', 'asked last transaction'] as const;
export const deviceSpokeSteps = ['accepted', 'answered', 'recalled', 'settled', 'decided'] as const;

/** Conditions on the kind of operation, from the catalogue. `row`: the alias of `commands` in the statement. */
export function kindConditions(row: string) {
  const column = (name: string) => sql.ref(`${row}.${name}`);
  const named = (is: Parameters<typeof namesWhere>[0]) => sql<SqlBool>`${column('name')} in (${literals(namesWhere(is))})`;
  return {
    cards: sql<SqlBool>`${column('mode')} = 'POS'`,
    fiscal: sql<SqlBool>`${column('mode')} = 'Fiscal'`,
    payment: sql<SqlBool>`${column('is_payment')} = 1`,
    closesDay: sql<SqlBool>`${column('closes_day')} = 1`,
    refund: named(({ effect }) => effect === 'refund'),
    void: named(({ effect }) => effect === 'void'),
    print: named(({ prints }) => prints === true),
    /** Neither a payment nor a refund or void. */
    other: named((operation) => !movesCardMoney(operation)),
  };
}

const refunds = namesWhere(({ effect }) => effect === 'refund');
const takingBack = namesWhere(takesMoneyBack);

/** Payments whose refund or void is disputed: few, because a dispute is on the review list, which has an index. */
const disputedPayments = sql`(select back.target_id from commands back where back.review_since is not null and back.reviewed_at is null
  and back.state = 'disputed' and back.target_id is not null and back.name in (${literals(takingBack)}))`;

/** `row`: the alias of `commands` in the statement. */
export function standingConditions(row: string) {
  const column = (name: string) => sql.ref(`${row}.${name}`);
  const state = column('state');
  const done = sql<SqlBool>`${state} = 'done'`;
  const is = (condition: Condition) => condition;
  const refundedBani = sql<number>`(select cast(coalesce(sum(back.amount_bani), 0) as bigint) from commands back
      where back.target_id = ${column('id')} and back.state = 'done' and back.name in (${literals(refunds)}))`;
  return {
    open: is(sql`${state} in ('sent', 'unknown')`),
    /** Open commands, found by the device locks: those are few, and no index of `commands` covers the state [D240]. */
    locking: is(sql`${column('id')} in (select lock.command_id from device_locks lock where lock.command_id is not null)`),
    lockingDocument: is(sql`${column('id')} in (select lock.document_id from device_locks lock where lock.document_id is not null)`),
    /** Its outcome is not known: the deadline has passed, or contact with its device is lost while it runs. */
    openUnknown: is(sql`(${state} = 'unknown' or (${state} = 'sent' and ${contactLost(row)}))`),
    openWaiting: is(sql`(${state} = 'sent' and not ${contactLost(row)})`),
    done,
    /** Done, and the money is still with the shop. */
    keepsMoney: is(sql`(${done} and coalesce(${column('document_state')}, '') <> 'voided')`),
    voided: is(sql`${column('document_state')} = 'voided'`),
    /** Of an approved payment: its terminal accepts no other payment until CloseDoc. */
    documentOpen: is(sql`${column('document_state')} = 'open'`),
    openOrDone: is(sql`${state} in ('sent', 'unknown', 'done')`),
    refused: is(sql`${state} = 'refused'`),
    never: is(sql`${state} = 'never'`),
    failed: is(sql`${state} in ('refused', 'never')`),
    ended: is(sql`${state} in ('done', 'refused')`),
    busy: is(sql`coalesce(${column('outcome')}, '') = 'busy'`),
    inReview: is(sql`(${column('review_since')} is not null and ${column('reviewed_at')} is null)`),
    /** Of a payment: one of its refunds or voids is disputed, so the shop may not have the money any more. */
    takenBackInDispute: is(sql`${column('id')} in ${disputedPayments}`),
    refundedBani,
    /** Of a payment: its refunds have returned the whole amount. */
    refunded: is(sql`(${refundedBani} > 0 and ${refundedBani} >= ${column('amount_bani')})`),
  };
}

/** From the timeline: the channel was lost, and the device has sent nothing since. */
export function contactLost(row: string): Condition {
  const id = sql.ref(`${row}.id`);
  return sql<SqlBool>`exists (select 1 from command_events lost where lost.command_id = ${id} and lost.step in (${literals(contactLostSteps)})
    and not exists (select 1 from command_events later where later.command_id = ${id} and later.id > lost.id and later.step in (${literals(deviceSpokeSteps)})))`;
}
