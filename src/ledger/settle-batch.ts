// The settlement of commands [D210]: a guarded update settles an open command once, or changes nothing. The same statement writes the
// effects: the device's lock, the document that is opened or closed, the released numbers, the time of the settlement. If a slice or an
// operator writes further rows, the statement runs inside their transaction (state-change.ts); all other settlements share one statement.
//
// If the process dies before the commit, every command of the batch and its document are still open, and Recall asks again. After the
//   commit, all are settled, and repeated answers change nothing.
// If the answer of the commit is lost, every caller keeps its outcome and commits it again (late-commits.ts); a row settled by then agrees.
// If one row is invalid or locked by another transaction, none is settled, and each is retried alone.
// If another gateway settled a row, or the row is to become `never` and was accepted meanwhile, it is missing in the result. The others are
//   settled, and its own call reads the row.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { type BatchRow, batchRows, type LockWait, onRows, type RowsText, rowsText } from '../database/batch-rows.ts';
import type { Database, Queries } from '../database/database.ts';
import type { Engine } from '../database/dialect.ts';
import { createGroup, type Group } from '../database/group.ts';
import { keptQuery } from '../database/kept-statement.ts';
import { type Home, runInOneGo } from '../database/one-go.ts';
import { operationOf } from '../kernel/operations.ts';
import type { EndingOutcome } from '../link/protocol.ts';
import { numbersOf, receivedByEnding } from './claims.ts';
import { type ChangingRow, type Command, changingColumns, type SettledBy, type SettledState, toChanges } from './command.ts';
import { isVoid, recording } from './settlements.ts';

export interface Settlement {
  state: SettledState;
  by: SettledBy;
  outcome: EndingOutcome | undefined;
  report: string | undefined;
  reason: string | undefined;
  operationId?: string | undefined;
  rrn?: string | undefined;
  receiptId?: string | undefined;
  /** The device has accepted the command: stored with the settlement. */
  wasAccepted?: boolean | undefined;
  /** It is issued again under this id, in the same transaction. */
  reissuedAs?: string | undefined;
}

/** Fields of a report of `done` that later calls search by. */
export type Extracted = Pick<Settlement, 'operationId' | 'rrn' | 'receiptId'>;

export interface SettledCommand {
  command: Command;
  settlement: Settlement;
}

/** No device begins a command after answerBy; this long after it, none is still busy with it, even with a clock slightly off [D63]. */
export const personDecidesAfterMs = 2 * 60_000;
export const isLongOver = sql<SqlBool>`"commands"."answer_by" <= now_ms() - ${sql.lit(personDecidesAfterMs)}`;

const given = {
  id: 'text',
  merchant_id: 'text',
  device_id: 'text',
  target_id: 'text',
  state: 'text',
  settled_by: 'text',
  outcome: 'text',
  report: 'text',
  reason: 'text',
  operation_id: 'text',
  rrn: 'text',
  receipt_id: 'text',
  opens_document: 'int8',
  ends_document: 'int8',
  voids: 'int8',
  closes: 'text',
  was_accepted: 'int8',
  reissued_as: 'text',
  document: 'text',
  receipt: 'text',
} as const;
type GivenText = RowsText<typeof given>;
/** The caller has all other columns, which do not change. */
const changed = ['id', ...changingColumns] as const;
const returned = sql.raw(changed.map((name) => `"commands"."${name}"`).join(', '));
const returnedNames = sql.raw(changed.map((name) => `"${name}"`).join(', '));
type Settled = ChangingRow & { id: string };

/** Undefined: it was not open, or this settlement is not allowed; nothing was changed. */
export type SettleGroup = Group<SettledCommand, Command | undefined>;

export function createSettleGroup(database: Database): SettleGroup {
  return createGroup<SettledCommand, Command | undefined>({
    soon: database.soon,
    namesOf: ({ command: { id, deviceId, targetId } }) => [
      `device ${deviceId}`,
      `command ${id}`,
      ...(targetId === null ? [] : [`command ${targetId}`]),
    ],
    sizeOf: ({ settlement }) => settlement.report?.length ?? 0,
    together: (rows) => settleAll(database, rows, 'short'),
    alone: async (row) => (await settleAll(database, [row], 'statement'))[0],
  });
}

/**
 * In the caller's transaction. Undefined, and nothing is changed: another gateway settled it first; it is to become `never` although its
 * device has accepted it; or an operator decides while the device may still execute it. The statement itself checks this by the database's
 * clock, so that no pause and no other instance comes between check and settlement.
 */
export async function settleWithin(engine: Engine, queries: Queries, settled: SettledCommand): Promise<Command | undefined> {
  return (await settleAll({ engine, queries }, [settled], 'statement'))[0];
}

/** In the order of the rows. */
async function settleAll(home: Home, settled: readonly SettledCommand[], waits: LockWait): Promise<(Command | undefined)[]> {
  const rows = settled.map(toRow);
  const found = await write[home.engine](home, rowsText(given, rows), stepsOf(rows), waits);
  const byId = new Map(found.map((row) => [row.id, row]));
  return settled.map(({ command }) => {
    const row = byId.get(command.id);
    return row && { ...command, ...toChanges(row) };
  });
}

type Row = BatchRow<typeof given>;
/** Optional parts of the statement, included only if a row of the batch needs them. */
type Step = 'close' | 'pass on' | 'release' | 'number' | 'decide';

function stepsOf(rows: readonly Row[]): Step[] {
  const needed: Record<Step, boolean> = {
    close: rows.some((row) => row.closes !== null),
    'pass on': rows.some(givesBack),
    release: rows.some(givesBack),
    number: rows.some((row) => row.opens_document === 1),
    decide: rows.some((row) => row.settled_by === 'person'),
  };
  return (Object.keys(needed) as Step[]).filter((step) => needed[step]);
}

/** Every number is a `document`: a receipt's Uid is the number of its card charge, too [D146]. */
function givesBack({ state, document }: Row): boolean {
  return state !== 'done' && document !== null;
}

type Write = (home: Home, rows: GivenText, steps: readonly Step[], waits: LockWait) => Promise<Settled[]>;

const write: Record<Engine, Write> = {
  /** One statement. */
  async postgres({ queries }, rows, steps, waits) {
    const { rows: settled } = await queries.executeQuery<Settled>(onPostgres(queries, { rows }, [waits, ...steps].join()));
    return settled;
  },
  /** SQLite writes one table per statement: several statements in one round trip, or inside the transaction. */
  async sqlite(home, rows, steps) {
    const statements = (['settle', 'record', ...steps, 'free'] as const).map((step) => onSqlite(home.queries, { rows }, step));
    const [settled = []] = await runInOneGo(home, statements);
    return settled as unknown as Settled[];
  },
};

const onPostgres = keptQuery((queries, { rows }: { rows: GivenText }, shape: string) => {
  const [waits, ...steps] = shape.split(',') as [LockWait, ...Step[]];
  const settledRows = sql`"new" join "settled" on "settled"."id" = "new"."id"`;
  const further = steps.map((step) => sql`, ${sql.raw(`"${step}"`)} as (${stepStatements[step](settledRows)})`);
  // Lock order, as everywhere: the device's lock before the row of the command.
  return sql<Settled>`with "new" as materialized (select * from ${batchRows('postgres', 'rows', given, rows, waits)}),
    "held" as materialized (select "held"."device_id" from "new" join "device_locks" as "held" on "held"."device_id" = "new"."device_id" for update of "held"),
    "settled" as (${settling(sql`"new" left join "held" on "held"."device_id" = "new"."device_id"`)} returning ${returned}, "commands"."issued_at"),
    "record" as (${recording(settledRows)})${sql.join(further, sql``)}, "free" as (${freeing(settledRows)})
    select ${returnedNames} from "settled"`.compile(queries);
});

/** The first statement settled a row if the row is settled now and still has its device's lock, which the last statement releases. */
const onSqlite = keptQuery((queries, { rows }: { rows: GivenText }, step: Step | 'settle' | 'record' | 'free') => {
  const onNew = (statement: RawBuilder<unknown>) => onRows('new', given, rows, statement).compile(queries);
  if (step === 'settle') return onNew(sql`${settling(sql`"new"`)} returning ${returned}`);
  const settledRows = sql`"new" join "device_locks" as "held" on "held"."device_id" = "new"."device_id" and "held"."command_id" = "new"."id"
      join "commands" as "settled" on "settled"."id" = "new"."id" and "settled"."state" = "new"."state"`;
  const statement = step === 'record' ? recording : step === 'free' ? freeing : stepStatements[step];
  return onNew(statement(settledRows));
});

function settling(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`update "commands" set "settled_at" = now_ms(), "state" = "new"."state", "settled_by" = "new"."settled_by",
      "outcome" = "new"."outcome", "report" = "new"."report", "reason" = "new"."reason", "next_recall_at" = null,
      "reviewed_at" = case when "commands"."review_since" is null then null else now_ms() end,
      "operation_id" = coalesce("new"."operation_id", "commands"."operation_id"),
      "rrn" = coalesce("new"."rrn", "commands"."rrn"),
      "receipt_id" = coalesce("new"."receipt_id", "commands"."receipt_id"),
      "document_state" = case when "new"."opens_document" = 1 then 'open' when "new"."ends_document" = 1 then 'closed'
        else "commands"."document_state" end,
      "reissued_as" = coalesce("new"."reissued_as", "commands"."reissued_as"),
      "accepted_at" = case when "new"."was_accepted" = 1 then coalesce("commands"."accepted_at", now_ms()) else "commands"."accepted_at" end
    from ${rows}
    where "commands"."id" = "new"."id" and "commands"."state" in ('sent', 'unknown')
      and ("new"."state" <> 'never' or "commands"."accepted_at" is null)
      and ("new"."settled_by" <> 'person' or "commands"."ended_unknown_at" is not null or ${isLongOver})`;
}

/** Always later than the last decision, even if the clock was set back. */
const nextDecision = sql`case when now_ms() > coalesce("device_locks"."decided_at", 0) then now_ms() else "device_locks"."decided_at" + 1 end`;

function freeing(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`update "device_locks" set "command_id" = null,
      "document_id" = case
        when "new"."opens_document" = 1 then "new"."id"
        when "new"."closes" = 'open' and "device_locks"."document_id" = "new"."target_id" then null
        else "device_locks"."document_id" end,
      "decided_at" = case when "new"."settled_by" = 'person' and "new"."state" = 'refused' then ${nextDecision} else "device_locks"."decided_at" end
    from ${rows}
    where "device_locks"."device_id" = "new"."device_id" and "device_locks"."command_id" = "new"."id"`;
}

const stepStatements: Record<Step, (rows: RawBuilder<unknown>) => RawBuilder<unknown>> = {
  close: (rows) => sql`update "commands" set "document_state" = 'closed', "outcome_received_at" = ${receivedByEnding(sql`"new"."id"`)}
    from ${rows}
    where "commands"."id" = "new"."target_id" and "commands"."document_state" = "new"."closes"`,
  'pass on': (rows) =>
    sql`update "claims" set "command_id" = "next_id", "next_id" = null where "next_id" is not null and ${isGivenBack(rows)}`,
  // Not "is null": while the table is small, PostgreSQL would estimate two such rows and plan a scan.
  release: (rows) => sql`delete from "claims" where coalesce("next_id", '') <= '' and ${isGivenBack(rows)}`,
  number: (rows) => sql`insert into "bank_operations" ("device_id", "operation_id", "payment_id")
    select "new"."device_id", "new"."operation_id", "new"."id" from ${rows}
    where "new"."opens_document" = 1 and "new"."operation_id" is not null`,
  decide: (rows) => sql`insert into "decisions" ("command_id", "device_id")
    select "new"."id", "new"."device_id" from ${rows} where "new"."settled_by" = 'person'`,
};

function isGivenBack(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`("merchant_id", "kind", "value", "command_id") in (
      select "new"."merchant_id", 'document', "new"."document", "new"."id" from ${rows} where "new"."state" <> 'done'
      union all select "new"."merchant_id", 'receipt', "new"."receipt", "new"."id" from ${rows} where "new"."state" <> 'done')`;
}

function toRow({ command, settlement }: SettledCommand): Row {
  const { state, by, outcome, report, reason, operationId, rrn, receiptId, wasAccepted, reissuedAs } = settlement;
  const { isPayment, effect } = operationOf(command.name);
  const isDone = state === 'done';
  // No call could close the document of a payment whose number an operator does not know: it ends with the decision [D308].
  const isWithoutNumbers = by === 'person' && operationId === undefined && command.operationId === null;
  return {
    id: command.id,
    merchant_id: command.merchantId,
    device_id: command.deviceId,
    target_id: command.targetId,
    state,
    settled_by: by,
    outcome: outcome ?? null,
    report: report ?? null,
    reason: reason ?? null,
    operation_id: operationId ?? null,
    rrn: rrn ?? null,
    receipt_id: receiptId ?? null,
    opens_document: isPayment && isDone && !isWithoutNumbers ? 1 : 0,
    ends_document: isPayment && isDone && isWithoutNumbers ? 1 : 0,
    voids: isVoid(command),
    // The state that its document must have. As a literal in the statement, PostgreSQL would plan a scan while the table is small.
    closes: effect === 'close' && isDone ? 'open' : null,
    was_accepted: wasAccepted ? 1 : 0,
    reissued_as: reissuedAs ?? null,
    ...numbersOf(command),
  };
}
