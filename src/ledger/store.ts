// The ledger's SQL, one function per verb. Every settlement is a guarded update: it settles an open command once, or changes nothing.
import { sql } from 'kysely';
import { rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Database, Queries } from '../database/database.ts';
import { lockRows, nowMs } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';
import type { Bani } from '../kernel/money.ts';
import { kindOf, operationOf } from '../kernel/operations.ts';
import type { EndingOutcome, JsonObject, LedgerCommandName } from '../link/protocol.ts';
import { receivedByEnding } from './claims.ts';
import { type Command, type CommandRow, commandColumns, openOnly, toCommand } from './command.ts';
import { endDocument, lastDecisionOn } from './device-lock.ts';
import { type Extracted, isLongOver, type Settlement } from './settle-batch.ts';
import { recordReport, recordSettlement } from './settlements.ts';
import type { Follower } from './standing.ts';

export interface NewCommand {
  id: string;
  merchantId: string;
  deviceId: string;
  instanceId: string;
  name: LedgerCommandName;
  args: JsonObject;
  answerWithinMs: number;
  journalId: string | undefined;
  amountBani?: Bani | undefined;
  /** Of a receipt: the parts of its amount that are paid in cash and by card. */
  cashBani?: Bani | undefined;
  cardBani?: Bani | undefined;
  documentNr?: string | undefined;
  operationId?: string | undefined;
  rrn?: string | undefined;
  targetId?: string | undefined;
  receiptUid?: string | undefined;
  contentHash?: string | undefined;
  callbackUri?: string | undefined;
  requestHash?: string | undefined;
  /** Its caller has disconnected already. */
  isOutcomeMissed?: boolean | undefined;
  /** The caller and the request as received, for the cabinet. */
  origin?: { caller: string; request: string } | undefined;
}

/** The columns of a new row, except state and times. */
export function valuesOf(command: NewCommand) {
  return {
    id: command.id,
    merchant_id: command.merchantId,
    device_id: command.deviceId,
    instance_id: command.instanceId,
    name: command.name,
    ...kindOf(command.name),
    args: JSON.stringify(command.args),
    amount_bani: command.amountBani ?? null,
    document_nr: command.documentNr ?? null,
    operation_id: command.operationId ?? null,
    rrn: command.rrn ?? null,
    target_id: command.targetId ?? null,
    receipt_uid: command.receiptUid ?? null,
    content_hash: command.contentHash ?? null,
    callback_uri: command.callbackUri ?? null,
    request_hash: command.requestHash ?? null,
    journal_id: command.journalId ?? null,
    cash_bani: command.cashBani ?? null,
    card_bani: command.cardBani ?? null,
    caller: command.origin?.caller ?? null,
    request: command.origin?.request ?? null,
  };
}

const commandById = keptStatement((queries, { id }: { id: string }) =>
  queries.selectFrom('commands').select(commandColumns).where('id', '=', id).compile(),
);

export async function findCommand(queries: Queries, id: string): Promise<Command | undefined> {
  const [row] = await commandById(queries, { id });
  return row && toCommand(row);
}

/** Locks the command's row and reads it again: until the transaction ends, no refund, void or print of it is added or changed. */
export async function lockCommand(engine: Database['engine'], queries: Queries, id: string): Promise<Command> {
  const command = queries.selectFrom('commands').select(commandColumns).where('id', '=', id);
  return toCommand(await lockRows(engine, command).executeTakeFirstOrThrow());
}

/** The operations that refer to an approved payment, for its standing. Other commands have none. */
export async function followersOf(queries: Queries, { id, documentState }: Command): Promise<Follower[]> {
  if (documentState === null) return [];
  const rows = await queries.selectFrom('commands').select(['name', 'state', 'amount_bani']).where('target_id', '=', id).execute();
  return rows.map((row) => ({ name: row.name as Follower['name'], state: row.state, amountBani: row.amount_bani }));
}

/** The command as stored now. */
export async function latestOf(queries: Queries, command: Command): Promise<Command> {
  return (await findCommand(queries, command.id)) ?? command;
}

/** The command itself, or the one as which it was issued again. */
export async function lastIssueOf(queries: Queries, command: Command): Promise<Command> {
  return (command.reissuedAs === null ? undefined : await findCommand(queries, command.reissuedAs)) ?? command;
}

export async function findCommands(queries: Queries, ids: string[]): Promise<Command[]> {
  if (ids.length === 0) return [];
  const rows = await queries.selectFrom('commands').select(commandColumns).where('id', 'in', ids).orderBy('issued_at').execute();
  return rows.map(toCommand);
}

/** Whether an operator may decide it by now. The settling statement checks again. */
export async function mayBeDecided(queries: Queries, { id }: Command): Promise<boolean> {
  const row = await queries.selectFrom('commands').select('id').where('id', '=', id).where(isLongOver).executeTakeFirst();
  return row !== undefined;
}

/**
 * The device agrees with an operator's decision: stores the device's outcome and, if it was done, its report and its numbers. Once, by the
 * guard on `outcome`, which only devices set (after `unknown`, another outcome may follow); undefined if it was stored before. In a
 * transaction.
 */
export async function completeDecision(
  queries: Queries,
  { id }: Command,
  outcome: EndingOutcome,
  { report, operationId, rrn, receiptId }: Extracted & { report?: JsonObject | undefined },
): Promise<Command | undefined> {
  const row = await queries
    .updateTable('commands')
    // Undefined columns are not changed.
    .set({ outcome, report: report && JSON.stringify(report), operation_id: operationId, rrn, receipt_id: receiptId })
    .where('id', '=', id)
    .where('settled_by', '=', sql.lit('person'))
    .where((where) => where.or([where('outcome', 'is', null), where('outcome', '=', 'unknown')]))
    .where('removed_at', 'is', null)
    .returning(commandColumns)
    .executeTakeFirst();
  if (!row) return undefined;
  const completed = toCommand(row);
  await nameOperation(queries, completed);
  await recordReport(queries, completed);
  return completed;
}

/** An operator's decision about it waits for its device. */
export async function isUnconfirmed(queries: Queries, { id }: Command): Promise<boolean> {
  const decision = queries.selectFrom('decisions').select('command_id').where('command_id', '=', id);
  return (await decision.executeTakeFirst()) !== undefined;
}

/** The device has confirmed or contradicted an operator's decision: it is not asked again. */
export async function confirmDecision(queries: Queries, { id, deviceId }: Command): Promise<void> {
  const decidedAtMs = await lastDecisionOn(queries, deviceId);
  await queries.deleteFrom('decisions').where('command_id', '=', id).execute();
  if (decidedAtMs === undefined || (await hasWaitingDecisions(queries, deviceId))) return;
  // Not if another decision was made meanwhile.
  await queries
    .updateTable('device_locks')
    .set({ decided_at: null })
    .where('device_id', '=', deviceId)
    .where('decided_at', '=', decidedAtMs)
    .execute();
}

/** Not those about hardware that was declared lost [D279]. */
export async function hasWaitingDecisions(queries: Queries, deviceId: string): Promise<boolean> {
  const waiting = queries.selectFrom('decisions').select('command_id').where('device_id', '=', deviceId).where('lost_at', 'is', null);
  return (await waiting.limit(1).executeTakeFirst()) !== undefined;
}

/** A settled command proves to be done. Guarded by the contradicted state. */
export async function correctToDone(
  queries: Queries,
  settled: Command,
  { by, outcome, report, reason }: Settlement,
): Promise<Command | undefined> {
  const row = await queries
    .updateTable('commands')
    .set({ state: 'done', settled_at: nowMs, settled_by: by, outcome: outcome ?? null, report: report ?? null, reason: reason ?? null })
    .set({ reviewed_at: sql<number>`case when review_since is null then null else now_ms() end` })
    .where('id', '=', settled.id)
    .where('state', '=', settled.state)
    .where('removed_at', 'is', null)
    .returning(commandColumns)
    .executeTakeFirst();
  if (!row) return undefined;
  const corrected = toCommand(row);
  await recordSettlement(queries, corrected, settled);
  return corrected;
}

/** False: the document was not open. `closeId`: the CloseDoc; absent: an operator closes it by hand [D309]. Under the device's lock. */
export async function closeDocument(queries: Queries, paymentId: string, closeId?: string): Promise<boolean> {
  const row = await queries
    .updateTable('commands')
    .set({ document_state: 'closed', ...(closeId !== undefined && { outcome_received_at: receivedByEnding(sql`${closeId}`) }) })
    .where('id', '=', paymentId)
    .where('document_state', '=', sql.lit('open'))
    .returning(['id', 'device_id as deviceId'])
    .executeTakeFirst();
  if (row) await endDocument(queries, row);
  return row !== undefined;
}

/** Stores the bank's number of a payment, by which later calls find it, unless it is stored already. */
export async function nameOperation(queries: Queries, { id, name, deviceId, operationId }: Command): Promise<void> {
  if (!operationOf(name).isPayment || operationId === null) return;
  await queries
    .insertInto('bank_operations')
    .values({ device_id: deviceId, operation_id: operationId, payment_id: id })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** The API has answered 3: the outcome stays open, and Recall is due. Undefined: the command was settled meanwhile. */
export async function markUnknown(queries: Queries, id: string, recallAfterMs: number): Promise<Command | undefined> {
  const row = await queries
    .updateTable('commands')
    .set({
      state: 'unknown',
      next_recall_at: sql<number>`now_ms() + cast(${recallAfterMs} as bigint)`,
      outcome_missed_at: sql<number>`coalesce(outcome_missed_at, now_ms())`,
    })
    .where('id', '=', id)
    .where('state', '=', sql.lit('sent'))
    .returning(commandColumns)
    .executeTakeFirst();
  return row && toCommand(row);
}

const acceptedColumns = { id: 'text' } as const;
const returned = sql.raw(commandColumns.map((name) => `"commands"."${name}"`).join(', '));

/**
 * The device has accepted these commands. Returns those that were not marked as accepted yet, except commands settled as `never`: for them
 * the acceptance is a contradiction (disputes.ts). Of several ids, rows that another transaction has locked are skipped: a statement that
 * waits for one row while it has locked others would deadlock with a batch in the other order (settle-batch.ts). A single id waits for its
 * row.
 */
export async function markAccepted({ engine, queries }: Pick<Database, 'engine' | 'queries'>, ids: readonly string[]): Promise<Command[]> {
  const given = ids.map((id) => ({ id }));
  const accepted = rowsAs(engine, 'accepted', acceptedColumns, rowsText(acceptedColumns, given));
  const held = sql.raw(engine === 'sqlite' ? '' : `for update of "old"${ids.length > 1 ? ' skip locked' : ''}`);
  const { rows } = await sql<CommandRow>`update "commands" set "accepted_at" = now_ms()
    from (select "old"."id" from ${accepted} join "commands" as "old" on "old"."id" = "accepted"."id" ${held}) as "free"
    where "commands"."id" = "free"."id" and "commands"."accepted_at" is null and "commands"."state" <> 'never' returning ${returned}`.execute(
    queries,
  );
  return rows.map(toCommand);
}

/** Assigns a command to this instance; false: another one was faster. Its caller was answered or has disconnected. */
export async function takeOver(queries: Queries, command: Command, instanceId: string, nextRecallAfterMs: number): Promise<boolean> {
  const row = await queries
    .updateTable('commands')
    .set({
      instance_id: instanceId,
      recalls: sql<number>`recalls + 1`,
      outcome_missed_at: sql<number>`coalesce(outcome_missed_at, now_ms())`,
      next_recall_at: sql<number>`now_ms() + cast(${nextRecallAfterMs} as bigint)`,
    })
    .where('id', '=', command.id)
    .where('instance_id', '=', command.instanceId)
    .where('recalls', '=', command.recalls)
    .where(openOnly)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}
