// The insert of commands [D210]: each row as `sent`, with its device's lock, its numbers and its Idempotency-Key in one commit. Calls
// without locks or a guard of their own share a statement; the others execute the same one inside their transaction (first-commit.ts).
//
// A row that cannot be inserted (its device is locked, its number or key is claimed [D120], its documentNr is the OID of an invoice, the
// device has not confirmed a decision [D129]) is skipped without affecting the others: its own call looks up the reason. Nothing is
// published before the statement has returned.
//
// If the process dies before the commit, no row exists and nothing was sent. After the commit, all rows are `sent` and nothing was
//   published: Recall gets the answer `never`.
// If the answer of the commit is lost, every call of the batch is answered 2, reads its own row back for a minute, and settles it as
//   `never` (late-commits.ts).
// If two gateways claim one number or key at the same moment, both see it free and one whole insert fails. It is retried together, which
//   skips the row that lost; if that fails too, each row is retried alone. The index rejects a number only after the other's commit, so the
//   retried rows were certainly not written.
// If two batches need the same devices or numbers: devices are locked in the order of their ids, and a batch that waits too long for
//   another's number gives up, writes nothing, and its rows are retried one by one.
// If the process pauses or the batch waits: startBy was fixed before, so each copy is checked against it before it is sent.
import { type RawBuilder, sql } from 'kysely';
import { type ClaimsText, claimAll, claimsText, isUnused, type KeyClaim } from '../access/idempotency.ts';
import { type BatchRow, batchRows, type LockWait, listed, onRows, type RowsText, rowsText } from '../database/batch-rows.ts';
import type { Database, Queries } from '../database/database.ts';
import type { Engine } from '../database/dialect.ts';
import { ConstraintViolation } from '../database/errors.ts';
import { createGroup, type Group } from '../database/group.ts';
import { keptQuery } from '../database/kept-statement.ts';
import { type Home, runInOneGo } from '../database/one-go.ts';
import { contentValue, isOutcomeUndelivered, type Numbers } from './claims.ts';
import { type Command, type CommandRow, toSentCommand } from './command.ts';
import type { Beside } from './device-lock.ts';
import { type NewCommand, valuesOf } from './store.ts';

export interface InsertedCommand extends NewCommand {
  /** Claimed with the insert. */
  claims?: Numbers | undefined;
  /** The open document that its device may have; absent: none. */
  beside?: Beside | undefined;
  /** Insert only if its documentNr is no invoice's OID: the payment of an invoice begins under the invoice's lock [D142]. */
  isOfNoInvoice?: boolean | undefined;
  /** The device was asked about all decisions of operators up to this time [D129]; undefined: it was not asked. */
  confirmedUntilMs?: number | undefined;
  /** Insert only if this key is unused; the insert assigns it to this command. */
  idempotency?: { key: string; requestHash: string } | undefined;
}

const columns = {
  id: 'text',
  merchant_id: 'text',
  device_id: 'text',
  instance_id: 'text',
  name: 'text',
  mode: 'text',
  is_payment: 'int8',
  closes_day: 'int8',
  args: 'text',
  amount_bani: 'int8',
  document_nr: 'text',
  operation_id: 'text',
  rrn: 'text',
  target_id: 'text',
  receipt_uid: 'text',
  content_hash: 'text',
  callback_uri: 'text',
  request_hash: 'text',
  journal_id: 'text',
  cash_bani: 'int8',
  card_bani: 'int8',
  caller: 'text',
  request: 'text',
} as const;
const given = {
  ...columns,
  answer_within: 'int8',
  is_outcome_missed: 'int8',
  takes_document: 'text',
  takes_receipt: 'text',
  takes_key: 'text',
  beside: 'text',
  of_no_invoice: 'text',
  confirmed_until: 'int8',
} as const;
type GivenText = RowsText<typeof given>;
const names = listed(columns);
const foundTarget = `case when "given"."beside" = 'the document it names' then "locked"."document_id" else "given"."target_id" end`;
const values = listed(columns, (name) => (name === 'target_id' ? foundTarget : `"given"."${name}"`));
/** The columns that the database computes; all others are as given. */
const returned = sql.raw('"id", "target_id", "issued_at", "answer_by", "outcome_missed_at"');
type Written = Pick<CommandRow, 'id' | 'target_id' | 'issued_at' | 'answer_by' | 'outcome_missed_at'>;

/** Undefined: the row was skipped, and nothing was written. */
export type InsertGroup = Group<InsertedCommand, Command | undefined>;

export function createInsertGroup(database: Home & Pick<Database, 'soon'>): InsertGroup {
  return createGroup<InsertedCommand, Command | undefined>({
    soon: database.soon,
    namesOf: ({ id, deviceId, merchantId, documentNr, receiptUid, targetId, idempotency }) => [
      `device ${deviceId}`,
      `command ${id}`,
      ...(documentNr === undefined ? [] : [`document ${merchantId} ${documentNr}`]),
      ...(receiptUid === undefined ? [] : [`receipt ${merchantId} ${receiptUid}`]),
      ...(targetId === undefined ? [] : [`command ${targetId}`]),
      ...(idempotency === undefined ? [] : [`key ${merchantId} ${idempotency.key}`]),
    ],
    sizeOf: ({ args, origin }) => JSON.stringify(args).length + (origin?.request.length ?? 0),
    together: (commands) => insertTogether(database, commands),
    alone: async (command) => (await insertAll(database, [command], 'statement').catch(noneIfTaken))[0],
  });
}

/** Retried once if a number or key was claimed in between: now the statement sees it and skips that command. */
async function insertTogether(database: Home, commands: readonly InsertedCommand[]): Promise<(Command | undefined)[]> {
  const insert = () => insertAll(database, commands, 'short');
  return insert().catch((error: unknown) => {
    if (isTaken(error)) return insert();
    throw error;
  });
}

/** In the caller's transaction. If another gateway claims the number at this moment, the error ends the transaction. */
export async function insertWithin(engine: Engine, queries: Queries, command: InsertedCommand): Promise<Command | undefined> {
  return (await insertAll({ engine, queries }, [command], 'statement'))[0];
}

/** Another gateway claimed its number or key after the statement had seen it free. */
export function isTaken(error: unknown): boolean {
  return error instanceof ConstraintViolation && error.kind === 'unique';
}

function noneIfTaken(error: unknown): [] {
  if (isTaken(error)) return [];
  throw error;
}

/** In the order of the commands; undefined for skipped ones. */
async function insertAll(home: Home, commands: readonly InsertedCommand[], waits: LockWait): Promise<(Command | undefined)[]> {
  const rows = commands.map(toRow);
  const written = await write[home.engine](home, rowsText(given, rows), commands, waits);
  const byId = new Map(written.map((row) => [row.id, row]));
  return rows.map((row) => {
    const known = byId.get(row.id);
    return known && toSentCommand(Object.assign(row, known));
  });
}

type Write = (home: Home, rows: GivenText, commands: readonly InsertedCommand[], waits: LockWait) => Promise<Written[]>;

const write: Record<Engine, Write> = {
  /** One statement. */
  async postgres({ queries }, rows, commands, waits) {
    const keys = claimsText(commands.flatMap(keyOf));
    const shape = [waits, ...needsOf(commands)].join();
    const { rows: written } = await queries.executeQuery<Written>(onPostgres(queries, { rows, keys }, shape));
    return written;
  },
  /** SQLite writes one table per statement: several statements in one round trip, or inside the transaction. */
  async sqlite(home, rows, commands) {
    const { queries } = home;
    const needs = needsOf(commands);
    const claims = (['document', 'receipt', 'contents'] as const).filter((need) => needs.includes(need));
    const statements = [
      onSqlite.lock(queries, { rows }, needs.join()),
      onSqlite.insert(queries, { rows }),
      ...claims.map((kind) => onSqlite.claim(queries, { rows }, kind)),
      ...(needs.includes('keys') ? [onSqlite.keys(queries, { keys: claimsText(commands.flatMap(keyOf)) })] : []),
    ];
    const [, written = []] = await runInOneGo(home, statements);
    return written as unknown as Written[];
  },
};

const onPostgres = keptQuery((queries, { rows, keys }: { rows: GivenText; keys: ClaimsText }, shape: string) => {
  const [waits, ...needs] = shape.split(',') as [LockWait, ...Need[]];
  const ofRows = sql`"given" join "locked" on "locked"."id" = "given"."id"`;
  const ofLocked = sql`(select "locked"."id" from "locked" offset 0)`;
  return sql<Written>`with "given" as materialized (select * from ${batchRows('postgres', 'rows', given, rows, waits)}),
    "locked" as (${locking(needs)} returning "given"."id", "lock"."document_id")
    ${needs.includes('document') ? sql`, "documents" as (${numbering('document', ofRows)})` : sql``}
    ${needs.includes('receipt') ? sql`, "receipts" as (${numbering('receipt', ofRows)})` : sql``}
    ${needs.includes('contents') ? sql`, "contents" as (${naming(ofRows)})` : sql``}
    ${needs.includes('keys') ? sql`, "keys" as (${claimAll('postgres', keys, ofLocked)})` : sql``}
    ${inserting(ofRows)}`.compile(queries);
});

/** The first statement accepted a row if the row has its device's lock; a key is written if its command exists. */
const onSqlite = {
  lock: keptQuery((queries, { rows }: { rows: GivenText }, needs: string) =>
    onRows('given', given, rows, locking(needs.split(',') as Need[])).compile(queries),
  ),
  claim: keptQuery((queries, { rows }: { rows: GivenText }, kind: 'document' | 'receipt' | 'contents') =>
    onRows('given', given, rows, kind === 'contents' ? naming(lockedRows) : numbering(kind, lockedRows)).compile(queries),
  ),
  insert: keptQuery((queries, { rows }: { rows: GivenText }) => onRows('given', given, rows, inserting(lockedRows)).compile(queries)),
  keys: keptQuery((queries, { keys }: { keys: ClaimsText }) => {
    const written = sql`(select "commands"."id" from "commands" where "commands"."id" = "subject_id")`;
    return claimAll('sqlite', keys, written).compile(queries);
  }),
};

const lockedRows = sql`"given" join "device_locks" as "locked" on "locked"."device_id" = "given"."device_id" and "locked"."command_id" = "given"."id"`;

/** All conditions of the insert. After a wait for the lock, PostgreSQL evaluates the conditions on the locked row again. */
function locking(needs: readonly Need[]): RawBuilder<unknown> {
  const conditions = [
    sql`"lock"."device_id" = "given"."device_id"`,
    sql`"lock"."command_id" is null`,
    isFitDocument(needs.includes('named document')),
    sql`coalesce("lock"."decided_at", 0) <= "given"."confirmed_until"`,
    ...(needs.includes('document') ? [isFree('document')] : []),
    ...(needs.includes('receipt') ? [isFree('receipt')] : []),
    ...(needs.includes('contents') ? [isBesideNoDispute] : []),
    ...(needs.includes('no invoice') ? [isOfNoInvoice] : []),
    ...(needs.includes('keys') ? [sql`("given"."takes_key" is null or ${isUnused('given.merchant_id', 'given.takes_key')})`] : []),
  ];
  return sql`update "device_locks" as "lock" set "command_id" = "given"."id" from "given" where ${sql.join(conditions, sql` and `)}`;
}

/** `coalesce` hides merchant and number from the planner: even a plan made while the table is small finds the payment by its id. */
function isFitDocument(isNamedBySome: boolean): RawBuilder<unknown> {
  const isNamed = sql`when 'the document it names' then exists (
          select 1 from "commands" as "paid" where "paid"."id" = "lock"."document_id"
            and "paid"."operation_id" = "given"."operation_id" and coalesce("paid"."document_nr", '') = "given"."document_nr"
            and coalesce("paid"."merchant_id", '') = "given"."merchant_id" limit 1 offset 0
        )`;
  return sql`case "given"."beside"
        when 'its document' then "lock"."document_id" is null or "lock"."document_id" = "given"."target_id"
        when 'its open document' then coalesce("lock"."document_id", '') = "given"."target_id"
        ${isNamedBySome ? isNamed : sql``}
        else "lock"."document_id" is null
      end`;
}

const isOfNoInvoice = sql`("given"."of_no_invoice" is null or not exists (
        select 1 from "invoices" where "invoices"."oid" = "given"."of_no_invoice"
          and coalesce("invoices"."merchant_id", '') = "given"."merchant_id" limit 1 offset 0
      ))`;

/**
 * No equal request is disputed [D143]: this one may be its repeat, also under another key, unless it only closes a day [D250]. A close
 * without a key is refused before, under the device's lock (first-commit.ts).
 */
const isBesideNoDispute = sql`("given"."request_hash" is null or "given"."closes_day" = 1 or not exists (
        select 1 from "claims" join "commands" as "equal" on "equal"."id" = "claims"."command_id" and "equal"."state" = 'disputed'
        where "claims"."merchant_id" = "given"."merchant_id" and "claims"."kind" = 'content'
          and "claims"."value" = ${contentValue(sql`"given"."device_id"`, sql`"given"."request_hash"`)} limit 1 offset 0
      ))`;

/** The limit keeps PostgreSQL from turning it into a join: a plan made while the table is small would scan it for ever. */
function isFree(kind: keyof Numbers): RawBuilder<unknown> {
  const number = sql.ref(`given.takes_${kind}`);
  return sql`(${number} is null or not exists (
        select 1 from "claims" where "claims"."merchant_id" = "given"."merchant_id" and "claims"."kind" = ${sql.lit(kind)}
          and "claims"."value" = ${number} limit 1 offset 0
      ))`;
}

/** In a fixed order, so that two gateways do not deadlock. */
function numbering(kind: keyof Numbers, rows: RawBuilder<unknown>): RawBuilder<unknown> {
  const number = sql.ref(`given.takes_${kind}`);
  return sql`insert into "claims" ("merchant_id", "kind", "value", "command_id")
    select "given"."merchant_id", ${sql.lit(kind)}, ${number}, "given"."id" from ${rows} where ${number} is not null order by 1, 3`;
}

/**
 * The next call with the same content finds this command [D58], or an earlier one under another key as long as its caller lacks the
 * outcome. A call without a key has searched for that one before, and replaces it in its own transaction (first-commit.ts); issued again,
 * it replaces itself, because it is `never` by then.
 */
function naming(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`insert into "claims" ("merchant_id", "kind", "value", "command_id")
    select "given"."merchant_id", 'content', ${contentValue(sql`"given"."device_id"`, sql`"given"."request_hash"`)}, "given"."id"
    from ${rows} where "given"."request_hash" is not null
    on conflict ("merchant_id", "kind", "value") do update set "command_id" = "excluded"."command_id"
      where not exists (select 1 from "commands" as "equal" where "equal"."id" = "claims"."command_id" and ${isOutcomeUndelivered})`;
}

function inserting(rows: RawBuilder<unknown>): RawBuilder<Written> {
  return sql<Written>`insert into "commands" (${names}, "state", "recalls", "issued_at", "answer_by", "outcome_missed_at")
    select ${values}, 'sent', 0, now_ms(), now_ms() + "given"."answer_within", case when "given"."is_outcome_missed" = 1 then now_ms() end
    from ${rows} where 1 = 1
    returning ${returned}`;
}

function keyOf({ id, merchantId, idempotency }: InsertedCommand): KeyClaim[] {
  return idempotency === undefined ? [] : [{ merchantId, ...idempotency, subjectKind: 'command', subjectId: id }];
}

/** Optional parts of the statement, included only if a row of the batch needs them. */
type Need = 'document' | 'receipt' | 'contents' | 'keys' | 'no invoice' | 'named document';

function needsOf(commands: readonly InsertedCommand[]): Need[] {
  const needed: Record<Need, boolean> = {
    document: commands.some(({ claims }) => claims?.document !== undefined),
    receipt: commands.some(({ claims }) => claims?.receipt !== undefined),
    contents: commands.some(({ requestHash }) => requestHash !== undefined),
    keys: commands.some(({ idempotency }) => idempotency !== undefined),
    'no invoice': commands.some(({ isOfNoInvoice: isNone }) => isNone),
    'named document': commands.some(({ beside }) => beside === 'the document it names'),
  };
  return (Object.keys(needed) as Need[]).filter((need) => needed[need]);
}

function toRow(command: InsertedCommand) {
  return {
    ...valuesOf(command),
    answer_within: command.answerWithinMs,
    is_outcome_missed: command.isOutcomeMissed ? 1 : 0,
    takes_document: command.claims?.document ?? null,
    takes_receipt: command.claims?.receipt ?? null,
    takes_key: command.idempotency?.key ?? null,
    beside: command.beside ?? null,
    of_no_invoice: command.isOfNoInvoice ? (command.documentNr ?? null) : null,
    confirmed_until: command.confirmedUntilMs ?? 0,
  } satisfies BatchRow<typeof given>;
}
