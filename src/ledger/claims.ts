// The claims of a command [D210]: its documentNr if it charges, its Receipt.Uid if it prints, its content if it has no number [D58].
// The insert of a command claims its numbers (insert-batch.ts), and its settlement as not done releases them. A disputed command keeps its
// number, or claims it again if no other command has it; a removed one keeps it for ever [D66].
import { type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';
import type { Schema } from '../database/schema.ts';
import { personPrefix } from '../http/origin.ts';
import { operationOf } from '../kernel/operations.ts';
import { type Command, commandColumns, disputedOnly, paymentsOnly, toCommand } from './command.ts';
import { mayHaveHappened } from './standing.ts';

/** The numbers that a new command claims. */
export interface Numbers {
  document?: string | undefined;
  receipt?: string | undefined;
}

export type NumberKind = keyof Numbers;

type Named = Pick<Command, 'id' | 'merchantId' | 'name' | 'documentNr' | 'receiptUid'>;

/** The numbers that the command may have claimed. */
export function numbersOf({ name, documentNr, receiptUid }: Pick<Named, 'name' | 'documentNr' | 'receiptUid'>) {
  const charged = operationOf(name).isPayment ? documentNr : receiptUid;
  return { document: charged, receipt: receiptUid };
}

/** The number under which the operation must happen only once: a payment's documentNr, a print's Receipt.Uid. Undefined: it has none. */
export function mainNumberOf(command: Pick<Named, 'name' | 'documentNr' | 'receiptUid'>): { kind: NumberKind; number: string } | undefined {
  const kind = operationOf(command.name).isPayment ? 'document' : 'receipt';
  const number = numbersOf(command)[kind];
  return number === null ? undefined : { kind, number };
}

const claimant = keptStatement((queries, { merchantId, value }: { merchantId: string; value: string }, kind: NumberKind | 'content') =>
  queries
    .selectFrom('claims')
    .innerJoin('commands', 'commands.id', 'claims.command_id')
    .select(commandColumns.map((name) => `commands.${name}` as const))
    .where('claims.merchant_id', '=', merchantId)
    .where('claims.kind', '=', sql.lit(kind))
    .where('claims.value', '=', value)
    .compile(),
);

/** The command that has the number, in whatever state. */
export async function findClaimant(queries: Queries, merchantId: string, kind: NumberKind, number: string): Promise<Command | undefined> {
  const [row] = await claimant(queries, { merchantId, value: number }, kind);
  return row && toCommand(row);
}

/** The payment that has this documentNr, unless it certainly was not made. There is at most one [D13]. */
export async function findPaymentOfDocument(queries: Queries, merchantId: string, documentNr: string): Promise<Command | undefined> {
  const holder = await findClaimant(queries, merchantId, 'document', documentNr);
  return holder && operationOf(holder.name).isPayment && mayHaveHappened(holder) ? holder : undefined;
}

function ofNumbers(command: Named) {
  return (where: ExpressionBuilder<Schema, 'claims'>) => {
    const { document, receipt } = numbersOf(command);
    const isOf = (kind: NumberKind, value: string | null) => where.and([where('kind', '=', kind), where('value', '=', value ?? '')]);
    return where.and([where('merchant_id', '=', command.merchantId), where.or([isOf('document', document), isOf('receipt', receipt)])]);
  };
}

/**
 * Releases the numbers of the command, as its settlement as not done does. A waiting command (`next_id`) gets them. Only one can wait at a
 * time, so all others that were or may have been executed under these numbers claim them again.
 */
export async function releaseNumbers(queries: Queries, command: Named): Promise<void> {
  const { id } = command;
  const isOurs = ofNumbers(command);
  await queries.updateTable('claims').set({ next_id: null }).where(isOurs).where('next_id', '=', id).execute();
  await queries
    .updateTable('claims')
    .set((row) => ({ command_id: row.ref('next_id').$notNull(), next_id: null }))
    .where(isOurs)
    .where('command_id', '=', id)
    .where('next_id', 'is not', null)
    .execute();
  await queries.deleteFrom('claims').where(isOurs).where('command_id', '=', id).execute();
  for (const other of await findOthers(queries, command)) await reclaimNumbers(queries, other);
}

/** Disputed, or resolved as executed: few, because a number is tried again only after the try before it counted as not executed. */
async function findOthers(queries: Queries, { id, merchantId, ...named }: Named): Promise<Command[]> {
  const { document, receipt } = numbersOf(named);
  const rows = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('merchant_id', '=', merchantId)
    .where((where) =>
      where.or([where.and([where('document_nr', '=', document), paymentsOnly]), where('receipt_uid', 'in', [document, receipt])]),
    )
    .where('state', 'in', ['disputed', 'done'])
    .where('id', '!=', id)
    .orderBy('issued_at')
    .execute();
  return rows.map(toCommand);
}

/**
 * Claims the numbers that no other command has, and queues for the others (`next_id`). False: another command has the main number.
 * A register claims the documentNr only if it charges a card itself [D146].
 */
export async function reclaimNumbers(queries: Queries, command: Named): Promise<boolean> {
  const { document, receipt } = numbersOf(command);
  const isPayment = operationOf(command.name).isPayment === true;
  await reclaim(queries, command, 'document', document, isPayment ? sql<SqlBool>`1 = 1` : sql<SqlBool>`card_bani > 0`);
  await reclaim(queries, command, 'receipt', receipt, sql<SqlBool>`1 = 1`);
  const main = mainNumberOf(command);
  return main === undefined || (await findClaimant(queries, command.merchantId, main.kind, main.number))?.id === command.id;
}

async function reclaim(
  queries: Queries,
  { id }: Named,
  kind: NumberKind,
  value: string | null,
  condition: RawBuilder<SqlBool>,
): Promise<void> {
  if (value === null) return;
  await queries
    .insertInto('claims')
    .columns(['merchant_id', 'kind', 'value', 'command_id'])
    .expression((from) =>
      from
        .selectFrom('commands')
        .select(['merchant_id', sql.lit(kind).as('kind'), sql<string>`cast(${value} as text)`.as('value'), 'id'])
        .where('id', '=', id)
        .where(condition),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['merchant_id', 'kind', 'value'])
        .doUpdateSet({ next_id: sql<string>`coalesce(claims.next_id, excluded.command_id)` })
        .where('claims.command_id', '!=', id),
    )
    .execute();
}

/** A command is recognised by its content until this long after its settlement, or after the last answer 3 about it. */
export const recognisedForMs = 10 * 60_000;
/** Condition on a row `equal`: it is disputed, or no caller is known to have its outcome and a repeat may still come. */
export const isOutcomeUndelivered = sql<SqlBool>`("equal"."state" = 'disputed' or "equal"."outcome_received_at" is null and "equal"."state" <> 'never'
        and ("equal"."state" in ('sent', 'unknown') or "equal"."settled_at" > now_ms() - ${sql.lit(recognisedForMs)}
          or "equal"."outcome_missed_at" > now_ms() - ${sql.lit(recognisedForMs)}))`;

/**
 * For a payment whose document a CloseDoc or void (`endingId`) ends: its caller has the outcome, because it could not end the document
 * otherwise. A step of a person in the cabinet delivers nothing to the till [D309].
 */
export function receivedByEnding(endingId: RawBuilder<unknown>): RawBuilder<number> {
  const caller = sql`(select "ending"."caller" from "commands" as "ending" where "ending"."id" = ${endingId} limit 1)`;
  const received = sql.ref('commands.outcome_received_at');
  return sql<number>`case when coalesce(${caller}, '') like ${sql.lit(`${personPrefix}%`)} then ${received} else coalesce(${received}, now_ms()) end`;
}

export interface Content {
  merchantId: string;
  deviceId: string;
  requestHash: string;
}

/** The newest command with this content, or an older one that is disputed. */
export async function findByContent(queries: Queries, content: Content): Promise<Command | undefined> {
  const [row] = await claimant(queries, { merchantId: content.merchantId, value: contentName(content) }, 'content');
  return row && toCommand(row);
}

type WithContent = Pick<Command, 'id' | 'merchantId' | 'deviceId' | 'requestHash'>;

function contentOf({ merchantId, deviceId, requestHash }: WithContent) {
  return requestHash === null
    ? undefined
    : ({ merchant_id: merchantId, kind: 'content', value: contentName({ merchantId, deviceId, requestHash }) } as const);
}

/** The next call with this content finds this command. Under the device's lock. */
export async function claimContent(queries: Queries, command: WithContent): Promise<void> {
  const content = contentOf(command);
  if (!content) return;
  await queries
    .insertInto('claims')
    .values({ ...content, command_id: command.id })
    .onConflict((conflict) => conflict.columns(['merchant_id', 'kind', 'value']).doUpdateSet({ command_id: command.id, next_id: null }))
    .execute();
}

/** A disputed command is found before a newer one with its content, until no dispute about that content is left. Under the device's lock. */
export async function claimDisputedContent(queries: Queries, command: WithContent): Promise<void> {
  const content = contentOf(command);
  if (!content) return;
  await queries
    .insertInto('claims')
    .values({ ...content, command_id: command.id })
    .onConflict((conflict) =>
      conflict
        .columns(['merchant_id', 'kind', 'value'])
        .doUpdateSet({ command_id: command.id, next_id: sql<string>`claims.command_id` })
        // Another dispute keeps its place, and passes the content on when it is resolved.
        .where(sql<SqlBool>`not exists (select 1 from commands equal where equal.id = claims.command_id and equal.state = 'disputed')`),
    )
    .execute();
}

/**
 * After the dispute is resolved, the content leads to another dispute about it, and after the last one to the newer command again. Its
 * repeats were answered 31 until now: if its outcome is not delivered, a repeat is recognised for as long as after an answer 3.
 */
export async function passContentOn(queries: Queries, command: WithContent): Promise<void> {
  const content = contentOf(command);
  if (!content) return;
  const isOurs = (where: ExpressionBuilder<Schema, 'claims'>) => where.and({ ...content, command_id: command.id });
  const other = await findDisputedEqual(queries, command);
  if (other) {
    const newest = sql<string>`coalesce(next_id, command_id)`;
    await queries.updateTable('claims').set({ command_id: other, next_id: newest }).where(isOurs).execute();
    return;
  }
  const passed = await queries
    .updateTable('claims')
    .set((row) => ({ command_id: row.ref('next_id').$notNull(), next_id: null }))
    .where(isOurs)
    .where('next_id', 'is not', null)
    .returning('command_id')
    .executeTakeFirst();
  if (!passed) return;
  await queries
    .updateTable('commands')
    .set({ outcome_missed_at: nowMs })
    .where('id', '=', passed.command_id)
    .where('outcome_received_at', 'is', null)
    .execute();
}

/** Its id. Disputes are on the review list, whose index finds them. */
async function findDisputedEqual(queries: Queries, { id, merchantId, deviceId, requestHash }: WithContent): Promise<string | undefined> {
  const row = await queries
    .selectFrom('commands')
    .select('id')
    .where(disputedOnly)
    .where((where) => where.and({ merchant_id: merchantId, device_id: deviceId, request_hash: requestHash }))
    .where('id', '!=', id)
    .orderBy('issued_at')
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

export async function releaseContent(queries: Queries, command: WithContent): Promise<void> {
  const content = contentOf(command);
  if (!content) return;
  await queries
    .deleteFrom('claims')
    .where((where) => where.and(content))
    .where('command_id', '=', command.id)
    .execute();
}

function contentName({ deviceId, requestHash }: Content): string {
  return `${deviceId} ${requestHash}`;
}

/** `contentName` in SQL. */
export function contentValue(deviceId: RawBuilder<unknown>, requestHash: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`${deviceId} || ' ' || ${requestHash}`;
}
