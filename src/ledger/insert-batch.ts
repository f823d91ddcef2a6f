// First commits of many commands in one statement: each row as `sent`, which is its device's lock, with its Idempotency-Key if it has one.
// A call that needs locks or a guard of its own keeps its own transaction (first-commit.ts); all others come here and share a commit with
// whoever comes along.
//
// What stands in a row's way (an index, an attempt under the same number that was removed or is disputed, a document that is no longer open, an
// invoice that it would pay, a used key [D120]) leaves that row out and touches no other: its own call looks why. Nothing is published
// before the statement has returned.
//
// The process dies before the commit: no row is there, nothing was sent. After it: all are `sent` and nothing was published; Recall is
//   answered `never`. There is no state between, since it is one statement.
// The commit's answer is lost: every call of the batch is told 2 and reads its own row back for a minute, and ends it (late-commits.ts).
// One row is bad, or is held by another transaction: none is written, and each is tried by itself.
// Another gateway takes a key between the look at it and the claim: none is written, and all go together once more, where the key is seen
//   to be used and its command is left out; if that fails as well (a second key), each is tried by itself. The index refuses a key only after
//   the other's commit, so what is tried again was certainly not written: dead between the two, nothing is there; paused, the time to begin
//   was fixed before either; an answer that is lost is that of the second, and read back like any.
// A row and its key are in one commit, so neither is ever there without the other; a row that Recall or the late look ends as `never`
//   leaves its key to the next attempt, which finds it used and goes the long way.
// The process pauses, or the batch waits: the time to begin was fixed before, so each copy is judged by it when it is to go out.
import { type RawBuilder, sql } from 'kysely';
import { type ClaimsText, claimAll, claimsText, isUnused, type KeyClaim } from '../access/idempotency.ts';
import { type BatchRow, batchRows, listed, type RowsText, rowsText, type Waits } from '../database/batch-rows.ts';
import type { Database } from '../database/database.ts';
import { type Engine, forEachEngine } from '../database/dialect.ts';
import { ConstraintViolation } from '../database/errors.ts';
import { createGroup, type Group } from '../database/group.ts';
import { keptStatement } from '../database/kept-statement.ts';
import { type Command, type CommandRow, newlySent, toCommand } from './command.ts';
import { type NewCommand, valuesOf } from './store.ts';

export interface InsertedTogether extends NewCommand {
  /** Its target is the approved payment with its documentNr and operationId, if the document of that is open: found by the statement. */
  findsTarget?: boolean | undefined;
  /** Only while the document of its target is open: then nothing else can be what this call repeats. */
  needsOpenTarget?: boolean | undefined;
  /** Only if nothing under its number was removed: whoever looked before knows better, since a later try may be there [D66]. */
  isFirstTry?: boolean | undefined;
  /** Only if its documentNr is no invoice's OID: what pays an invoice is begun under that one's lock [D142]. */
  isOfNoInvoice?: boolean | undefined;
  /** What a person settled until then has been asked about [D129]; undefined: nothing has. */
  heardUntilMs?: number | undefined;
  /** Only if nothing stands under this key; then it stands for this command. */
  idempotency?: { key: string; requestHash: string } | undefined;
}

const columns = {
  id: 'text',
  merchant_id: 'text',
  device_id: 'text',
  instance_id: 'text',
  name: 'text',
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
  is_unheard: 'int8',
  found_in: 'text',
  needs_open_target: 'int8',
  is_first_try: 'int8',
  of_no_invoice: 'text',
  heard_until: 'int8',
  unused_key: 'text',
} as const;
type GivenText = RowsText<typeof given>;
const names = listed(columns);
const values = listed(columns, (name) => (name === 'target_id' ? '"new"."found_id"' : `"new"."${name}"`));
const allGiven = listed(given, (name) => `"given"."${name}"`);
/** What the database alone knows of a row that it has written: all else is as it was given. */
const returned = sql.raw('"id", "target_id", "issued_at", "answer_by", "unheard_at"');
type Written = Pick<CommandRow, 'id' | 'target_id' | 'issued_at' | 'answer_by' | 'unheard_at'>;

/** Undefined: something stands in its way, and nothing was written. */
export type InsertGroup = Group<InsertedTogether, Command | undefined>;

type Home = Pick<Database, 'engine' | 'queries' | 'transaction'>;

export function createInsertGroup(database: Home & Pick<Database, 'soon'>): InsertGroup {
  return createGroup<InsertedTogether, Command | undefined>({
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
    alone: async (command) => (await insertAll(database, [command], 'as long as a statement may').catch(unlessUsed(command)))[0],
  });
}

async function insertTogether(database: Home, commands: readonly InsertedTogether[]): Promise<(Command | undefined)[]> {
  const insert = () => insertAll(database, commands, 'shortly');
  return await insert().catch((error: unknown) => {
    if (isKeyTaken(error, commands)) return insert();
    throw error;
  });
}

/** In the order of the commands; undefined for those that were left out. */
async function insertAll(database: Home, commands: readonly InsertedTogether[], waits: Waits): Promise<(Command | undefined)[]> {
  const claims = commands.flatMap(claimOf);
  const rows = commands.map(toRow);
  const text = rowsText(given, rows);
  const { engine, queries } = database;
  const written = await (claims.length === 0
    ? insertion[engine](queries, { rows: text }, waits)
    : insertAndClaim(database, text, claims, waits));
  const byId = new Map(written.map((row) => [row.id, row]));
  return rows.map((row) => {
    const known = byId.get(row.id);
    return known && toCommand({ ...newlySent, ...row, ...known });
  });
}

const insertion = forEachEngine((engine) =>
  keptStatement((queries, { rows }: { rows: GivenText }, waits: Waits) => inserting(engine, rows, waits).compile(queries)),
);

const insertionWithKeys = keptStatement((queries, { rows, claims }: { rows: GivenText; claims: ClaimsText }, waits: Waits) => {
  const claiming = claimAll('postgres', claims, sql`(select "inserted"."id" from "inserted" offset 0)`);
  return sql<Written>`with "inserted" as (${inserting('postgres', rows, waits)}), "claimed" as (${claiming})
    select ${returned} from "inserted"`.compile(queries);
});

/** One statement on PostgreSQL; SQLite cannot write two tables in one, and takes a transaction. */
function insertAndClaim(
  { engine, queries, transaction }: Home,
  rows: GivenText,
  claims: readonly KeyClaim[],
  waits: Waits,
): Promise<Written[]> {
  if (engine === 'postgres') return insertionWithKeys(queries, { rows, claims: claimsText(claims) }, waits);
  return transaction(async (within) => {
    const written = await insertion.sqlite(within, { rows }, waits);
    const ids = new Set(written.map(({ id }) => id));
    const won = claims.filter(({ subjectId }) => ids.has(subjectId));
    if (won.length > 0) await claimAll('sqlite', claimsText(won)).execute(within);
    return written;
  });
}

function claimOf({ id, merchantId, idempotency }: InsertedTogether): KeyClaim[] {
  return idempotency === undefined ? [] : [{ merchantId, ...idempotency, subjectKind: 'command', subjectId: id }];
}

/** Another gateway took a key after the statement had seen it unused: nothing else that it writes can be there twice. */
function isKeyTaken(error: unknown, commands: readonly InsertedTogether[]): boolean {
  return error instanceof ConstraintViolation && error.kind === 'unique' && commands.some(({ idempotency }) => idempotency !== undefined);
}

function unlessUsed(command: InsertedTogether): (error: unknown) => [] {
  return (error) => {
    if (isKeyTaken(error, [command])) return [];
    throw error;
  };
}

function inserting(engine: Engine, commands: GivenText, waits: Waits): RawBuilder<Written> {
  const rows = batchRows(engine, 'given', given, commands, waits);
  // The index waits for a CloseDoc that is just being settled and then lets the next one in, while this statement would go on seeing its
  // document open: so the document is read under its lock, as it stands after that wait.
  const held = sql.raw(engine === 'postgres' ? 'for share' : '');
  // Or else PostgreSQL would look for the payment wherever its id is used.
  const apart = sql.raw(engine === 'postgres' ? 'offset 0' : '');
  return sql<Written>`insert into "commands" (${names}, "state", "recalls", "issued_at", "answer_by", "unheard_at")
    select ${values}, 'sent', 0, now_ms(), now_ms() + "new"."answer_within", case when "new"."is_unheard" = 1 then now_ms() end
    from (select ${allGiven}, case when "given"."found_in" is null then "given"."target_id" else ${openPayment(held)} end as "found_id"
      from ${rows} ${apart}) as "new"
    where ${isUnspent('document_nr')} and ${isUncharged} and ${isUnspent('receipt_uid')} and ${isHeardOut}
      and ("new"."found_in" is null or "new"."found_id" is not null)
      and ("new"."needs_open_target" = 0
        or (select "target"."document_state" from "commands" as "target" where "target"."id" = "new"."target_id" ${held}) = 'open')
      and ("new"."of_no_invoice" is null or not exists (
        select 1 from "invoices" where "invoices"."oid" = "new"."of_no_invoice" and "invoices"."merchant_id" = "new"."merchant_id"
          limit 1 offset 0
      ))
      and ("new"."unused_key" is null or ${isUnused('new.merchant_id', 'new.unused_key')})
    on conflict do nothing
    returning ${returned}`;
}

/**
 * There is one at most [D13]: the one that holds the terminal, and by the index of holders it is found. The merchant and the document are
 * written so that PostgreSQL, planning while the table is small, takes no index by which it would walk through all that the merchant ever
 * did; and 'open' is written out, or else it would walk through all that the terminal ever did.
 */
function openPayment(held: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select "paid"."id" from "commands" as "paid"
        where "paid"."device_id" = "given"."device_id" and "paid"."operation_id" = "given"."operation_id" and "paid"."name" = 'Pay'
          and "paid"."state" = 'done' and "paid"."document_state" = 'open' and "paid"."removed_at" is null
          and coalesce("paid"."merchant_id", '') = "given"."merchant_id"
          and coalesce("paid"."document_nr", '') = "given"."document_nr"
        ${held})`;
}

/**
 * No attempt under the number is disputed [D143] or, unless somebody has looked, removed. With a limit, so that PostgreSQL makes no join of
 * it: planned while the table is small, that would read all of it for ever.
 */
function isUnspent(number: 'document_nr' | 'receipt_uid'): RawBuilder<unknown> {
  const isTry = sql.raw(`"tried"."${number}" = "new"."${number}"`);
  return sql`not exists (
        select 1 from "commands" as "tried"
        where "tried"."merchant_id" = "new"."merchant_id" and ${isTry}
          and ("tried"."removed_at" is not null or "tried"."state" = 'disputed')
          and ("new"."is_first_try" = 1 or ("tried"."state" = 'disputed' and "tried"."name" = "new"."name")) limit 1 offset 0
      )`;
}

/** No register charged a card for the receipt of the same number [D146]. A UUID as documentNr is in lower case, a Receipt.Uid as it was sent. */
const isUncharged = sql`("new"."name" <> 'Pay' or not exists (
        select 1 from "commands" as "printed"
        where "printed"."merchant_id" = "new"."merchant_id" and "printed"."receipt_uid" in ("new"."document_nr", upper("new"."document_nr"))
          and "printed"."state" in ('sent', 'unknown', 'done') and "printed"."card_bani" > 0 limit 1 offset 0
      ))`;

/**
 * Nothing that a person settled as not done is tried again before its device was asked (tried-before.ts), whoever has looked for what; and
 * none that is open as this statement sees it: it may be settled so while the index waits for it, which would let this one in unasked.
 */
const isHeardOut = sql`not exists (
        select 1 from "commands" as "decided"
        where "decided"."device_id" = "new"."device_id" and "decided"."settled_by" = 'person' and "decided"."outcome" is null
          and "decided"."state" = 'refused' and "decided"."settled_at" > "new"."heard_until"
          and (("decided"."name" = "new"."name"
              and ("decided"."document_nr" = "new"."document_nr" or "decided"."receipt_uid" = "new"."receipt_uid"))
            or "decided"."target_id" = "new"."found_id") limit 1 offset 0
      ) and not exists (
        select 1 from "commands" as "open"
        where "open"."device_id" = "new"."device_id" and "open"."state" in ('sent', 'unknown') and "open"."name" = "new"."name"
          and ("open"."document_nr" = "new"."document_nr" or "open"."receipt_uid" = "new"."receipt_uid") limit 1 offset 0
      )`;

function toRow(command: InsertedTogether) {
  return {
    ...valuesOf(command),
    answer_within: command.answerWithinMs,
    is_unheard: command.isUnheard ? 1 : 0,
    found_in: command.findsTarget ? 'open' : null,
    needs_open_target: command.needsOpenTarget ? 1 : 0,
    is_first_try: command.isFirstTry ? 1 : 0,
    of_no_invoice: command.isOfNoInvoice ? (command.documentNr ?? null) : null,
    heard_until: command.heardUntilMs ?? 0,
    unused_key: command.idempotency?.key ?? null,
  } satisfies BatchRow<typeof given>;
}
