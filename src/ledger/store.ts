// The ledger's SQL, one function a verb. Every settlement is a guarded update: it moves an open command once, or not at all.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Database, Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';
import type { Bani } from '../kernel/money.ts';
import type { EndingOutcome, JsonObject, LedgerCommandName } from '../link/protocol.ts';
import {
  type Command,
  type CommandRow,
  commandColumns,
  isOpen,
  openDocumentOnly,
  openOnly,
  type SettledBy,
  type SettledState,
  toCommand,
} from './command.ts';

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
  /** Its caller has gone already. */
  isUnheard?: boolean | undefined;
  /** Who asked, and the call as it came, for people. */
  origin?: { caller: string; request: string } | undefined;
}

/** What a new row says besides its state and its times. */
export function valuesOf(command: NewCommand) {
  return {
    id: command.id,
    merchant_id: command.merchantId,
    device_id: command.deviceId,
    instance_id: command.instanceId,
    name: command.name,
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

/** Commits `sent` and takes the device's lock in one statement; undefined when an index says that something stands in the way. */
export async function insertSent(queries: Queries, command: NewCommand): Promise<Command | undefined> {
  const row = await queries
    .insertInto('commands')
    .values({
      ...valuesOf(command),
      state: 'sent',
      recalls: 0,
      unheard_at: command.isUnheard ? nowMs : null,
      issued_at: nowMs,
      answer_by: sql<number>`now_ms() + cast(${command.answerWithinMs} as bigint)`,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(commandColumns)
    .executeTakeFirst();
  return row && toCommand(row);
}

const commandById = keptStatement((queries, { id }: { id: string }) =>
  queries.selectFrom('commands').select(commandColumns).where('id', '=', id).compile(),
);

export async function findCommand(queries: Queries, id: string): Promise<Command | undefined> {
  const [row] = await commandById(queries, { id });
  return row && toCommand(row);
}

/** How the command stands now. */
export async function latestOf(queries: Queries, command: Command): Promise<Command> {
  return (await findCommand(queries, command.id)) ?? command;
}

/** The command itself, or the one that it went out as once more. */
export async function lastIssueOf(queries: Queries, command: Command): Promise<Command> {
  return (command.reissuedAs === null ? undefined : await findCommand(queries, command.reissuedAs)) ?? command;
}

export async function findCommands(queries: Queries, ids: string[]): Promise<Command[]> {
  if (ids.length === 0) return [];
  const rows = await queries.selectFrom('commands').select(commandColumns).where('id', 'in', ids).orderBy('issued_at').execute();
  return rows.map(toCommand);
}

const holdersOfDevice = keptStatement((queries, { deviceId }: { deviceId: string }) => {
  const ofDevice = () => queries.selectFrom('commands').select(commandColumns).where('device_id', '=', deviceId);
  // One of each at most, by unique indexes; what is in flight comes before what merely awaits CloseDoc.
  return ofDevice().where(openOnly).unionAll(ofDevice().where(openDocumentOnly)).compile();
});

/** What keeps the device from serving a new command: one in flight or unresolved, or an approved payment that awaits CloseDoc [D14]. */
export async function findHolder(queries: Queries, deviceId: string): Promise<Command | undefined> {
  const rows = await holdersOfDevice(queries, { deviceId });
  const holders = rows.map(toCommand);
  return holders.find(isOpen) ?? holders[0];
}

export interface Settlement {
  state: SettledState;
  by: SettledBy;
  outcome: EndingOutcome | undefined;
  report: string | undefined;
  reason: string | undefined;
  operationId?: string | undefined;
  rrn?: string | undefined;
  receiptId?: string | undefined;
  /** Done, it opens a document. */
  opensDocument?: boolean | undefined;
  /** The device said that it has taken it on: written along. */
  wasAccepted?: boolean | undefined;
  /** It goes out once more as this command, in the same transaction. */
  reissuedAs?: string | undefined;
}

/** Whether a person may decide it by now: the statement that settles judges again. */
export async function mayBeDecided(queries: Queries, { id }: Command): Promise<boolean> {
  const row = await queries.selectFrom('commands').select('id').where('id', '=', id).where(isLongOver).executeTakeFirst();
  return row !== undefined;
}

/** Fields of a report of `done` that later calls look for. */
export type Extracted = Pick<Settlement, 'operationId' | 'rrn' | 'receiptId'>;

/** After answerBy no device begins anything; this long after it, none is still busy with it or with a clock that is a little wrong [D63]. */
export const personDecidesAfterMs = 2 * 60_000;
const isLongOver = sql<SqlBool>`answer_by <= now_ms() - ${sql.lit(personDecidesAfterMs)}`;

/**
 * Moves an open command to its settled state. Undefined, and nothing is changed, when somebody else settled it first; when it is said never
 * to have begun and its device has accepted it; and when a person decides while the device may still act on it. All by this one statement
 * and the database's clock, so that no pause and no other instance comes between looking and settling.
 */
export async function settle(queries: Queries, command: Command, settlement: Settlement): Promise<Command | undefined> {
  const row = await queries
    .updateTable('commands')
    .set({
      state: settlement.state,
      settled_at: nowMs,
      settled_by: settlement.by,
      outcome: settlement.outcome ?? null,
      report: settlement.report ?? null,
      reason: settlement.reason ?? null,
      next_recall_at: null,
      reviewed_at: sql<number | null>`case when review_since is null then null else now_ms() end`,
      ...(settlement.operationId === undefined ? {} : { operation_id: settlement.operationId }),
      ...(settlement.rrn === undefined ? {} : { rrn: settlement.rrn }),
      ...(settlement.receiptId === undefined ? {} : { receipt_id: settlement.receiptId }),
      ...(settlement.opensDocument && settlement.state === 'done' ? { document_state: 'open' as const } : {}),
      ...(settlement.reissuedAs === undefined ? {} : { reissued_as: settlement.reissuedAs }),
      ...(settlement.wasAccepted ? { accepted_at: sql<number>`coalesce(accepted_at, now_ms())` } : {}),
    })
    .where('id', '=', command.id)
    .where(openOnly)
    .$if(settlement.state === 'never', (query) => query.where('accepted_at', 'is', null))
    .$if(settlement.by === 'person', (query) => query.where((where) => where.or([where('ended_unknown_at', 'is not', null), isLongOver])))
    .returning(commandColumns)
    .executeTakeFirst();
  return row && toCommand(row);
}

/**
 * What a person decided without a word of the device, and the device agrees with now: its word and, if it was done, its report and its
 * numbers. Once, by the guard on `outcome`, which only a device says (that it cannot tell is not its last word); undefined when it was
 * written already.
 */
export async function completeDecision(
  queries: Queries,
  { id }: Command,
  outcome: EndingOutcome,
  { report, operationId, rrn, receiptId }: Extracted & { report?: JsonObject | undefined },
): Promise<Command | undefined> {
  const row = await queries
    .updateTable('commands')
    // What is undefined stays as it is.
    .set({ outcome, report: report && JSON.stringify(report), operation_id: operationId, rrn, receipt_id: receiptId })
    .where('id', '=', id)
    .where('settled_by', '=', sql.lit('person'))
    .where((where) => where.or([where('outcome', 'is', null), where('outcome', '=', 'unknown')]))
    .where('removed_at', 'is', null)
    .returning(commandColumns)
    .executeTakeFirst();
  return row && toCommand(row);
}

/** False when the document was not open. Whoever ends a document knows of the payment [D58]. */
export async function closeDocument(queries: Queries, paymentId: string): Promise<boolean> {
  const row = await queries
    .updateTable('commands')
    .set({ document_state: 'closed', told_at: sql<number>`coalesce(told_at, now_ms())` })
    .where('id', '=', paymentId)
    .where('document_state', '=', sql.lit('open'))
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** The API has answered 3: the outcome stays open, and Recall is due. Undefined when it was settled meanwhile. */
export async function markUnknown(queries: Queries, id: string, recallAfterMs: number): Promise<Command | undefined> {
  const row = await queries
    .updateTable('commands')
    .set({
      state: 'unknown',
      next_recall_at: sql<number>`now_ms() + cast(${recallAfterMs} as bigint)`,
      unheard_at: sql<number>`coalesce(unheard_at, now_ms())`,
    })
    .where('id', '=', id)
    .where('state', '=', sql.lit('sent'))
    .returning(commandColumns)
    .executeTakeFirst();
  return row && toCommand(row);
}

const heardColumns = { id: 'text' } as const;
const returned = sql.raw(commandColumns.map((name) => `"commands"."${name}"`).join(', '));

/**
 * The device has taken these commands on. Returns those of which that was not known yet. One that was settled as never begun is put on
 * the review list by the same statement. Of several, those that another transaction holds are passed over: whoever waits for one row and
 * has others would lock out a batch that comes the other way (settle-batch.ts). One alone is waited for.
 */
export async function markAccepted(
  { engine, queries }: Pick<Database, 'engine' | 'queries'>,
  ids: readonly string[],
  whyReview: string,
): Promise<Command[]> {
  const told = ids.map((id) => ({ id }));
  const heard = rowsAs(engine, 'heard', heardColumns, rowsText(heardColumns, told));
  const held = sql.raw(engine === 'sqlite' ? '' : `for update of "old"${ids.length > 1 ? ' skip locked' : ''}`);
  const ifNever = (value: RawBuilder<unknown>, column: string) =>
    sql`${sql.ref(column)} = case when "commands"."state" = 'never' then ${value} else ${sql.ref(`commands.${column}`)} end`;
  const inReviewSince = sql`coalesce(case when "commands"."reviewed_at" is null then "commands"."review_since" end, now_ms())`;
  const { rows } = await sql<CommandRow>`update "commands" set "accepted_at" = now_ms(), ${ifNever(inReviewSince, 'review_since')},
      ${ifNever(sql`cast(${whyReview} as text)`, 'review_reason')}, ${ifNever(sql`null`, 'reviewed_at')},
      ${ifNever(sql`coalesce("commands"."contradicted_at", now_ms())`, 'contradicted_at')}
    from (select "old"."id" from ${heard} join "commands" as "old" on "old"."id" = "heard"."id" ${held}) as "free"
    where "commands"."id" = "free"."id" and "commands"."accepted_at" is null returning ${returned}`.execute(queries);
  return rows.map(toCommand);
}

export interface ReviewEntry {
  /** Settled meanwhile: false then, and nothing is changed. */
  unless?: 'settled';
  /** The device itself has ended it as unknown: a person need not wait [D63]. */
  isEnded?: boolean;
  /** It was settled as not done, and the device says that it did it: its number stays taken until a person has looked [D129]. */
  wasDone?: boolean;
  /** With which word, if it has ended: then it need not be asked again. */
  said?: EndingOutcome;
}

/** Puts a command on the review list; one that is there already keeps its place but gets the newer reason. */
export async function putOnReview(
  queries: Queries,
  id: string,
  why: string,
  { unless, isEnded, wasDone, said }: ReviewEntry = {},
): Promise<boolean> {
  const row = await queries
    .updateTable('commands')
    .set({
      review_since: sql<number>`coalesce(case when reviewed_at is null then review_since end, now_ms())`,
      review_reason: why,
      reviewed_at: null,
      ...(isEnded ? { ended_unknown_at: sql<number>`coalesce(ended_unknown_at, now_ms())` } : {}),
      ...(wasDone ? { contradicted_at: sql<number>`coalesce(contradicted_at, now_ms())` } : {}),
      ...(said ? { outcome: sql<string>`coalesce(outcome, ${said})` } : {}),
    })
    .where('id', '=', id)
    .$if(unless === 'settled', (query) => query.where(openOnly))
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

const reviewOverdue = keptStatement((queries, { graceMs }: { graceMs: number }) =>
  queries
    .updateTable('commands')
    .set({ review_since: nowMs, review_reason: 'The device has not told the outcome since its time ran out.' })
    .where(openOnly)
    .where('review_since', 'is', null)
    .where('answer_by', '<', sql<number>`now_ms() - cast(${graceMs} as bigint)`)
    .returning('id')
    .compile(),
);

/** Open commands past answerBy by `graceMs` that are not on the list yet. */
export async function putOverdueOnReview(queries: Queries, graceMs: number): Promise<string[]> {
  const rows = await reviewOverdue(queries, { graceMs });
  return rows.map((row) => row.id);
}

export async function listReview(queries: Queries, limit: number, merchantId?: string): Promise<Command[]> {
  const rows = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('review_since', 'is not', null)
    .where('reviewed_at', 'is', null)
    .$if(merchantId !== undefined, (query) => query.where('merchant_id', '=', merchantId ?? ''))
    .orderBy('review_since')
    .limit(limit)
    .execute();
  return rows.map(toCommand);
}

const takenIfNotDone = sql<number | null>`case when state in ('refused', 'never') then coalesce(contradicted_at, now_ms()) end`;

/**
 * A settled command whose contradiction a person has looked at; undefined when it is open or not on the list. Only one that was not done
 * gives its number free.
 */
export async function closeReview(queries: Queries, id: string, found: 'done' | 'refused'): Promise<Command | undefined> {
  const row = await queries
    .updateTable('commands')
    .set({
      reviewed_at: nowMs,
      contradicted_at: found === 'refused' ? null : takenIfNotDone,
      // Whatever its device goes on saying, the person has seen it: it is not asked about any more.
      outcome: sql<string | null>`case when settled_by = 'person' then coalesce(outcome, 'unknown') else outcome end`,
    })
    .where('id', '=', id)
    .where('settled_at', 'is not', null)
    .where('review_since', 'is not', null)
    .where('reviewed_at', 'is', null)
    .returning(commandColumns)
    .executeTakeFirst();
  return row && toCommand(row);
}

/** Makes a command this instance's own; false when another one was faster. Its caller is answered or gone: no call carries it any more. */
export async function takeOver(queries: Queries, command: Command, instanceId: string, nextRecallAfterMs: number): Promise<boolean> {
  const row = await queries
    .updateTable('commands')
    .set({
      instance_id: instanceId,
      recalls: sql<number>`recalls + 1`,
      unheard_at: sql<number>`coalesce(unheard_at, now_ms())`,
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
