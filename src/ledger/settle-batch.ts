// Settlements of many commands in one commit, each by its own guarded update: it moves an open command once, or not at all. What a slice or a
// person writes alongside keeps its own transaction (state-change.ts); what is left is the outcome itself, and the closing of a document.
//
// The process dies before the commit: every command of the batch is still open, its document too, and Recall asks again. After it: all are
//   settled, and the same answers coming again find them so. A command that closes a document does it in the same commit, or neither.
// The commit's answer is lost: every caller keeps his outcome and commits it again (late-commits.ts); what was settled by then agrees.
// One row is bad, or is held by another transaction: none is settled, and each is tried by itself.
// Somebody else settled one of them, or it was accepted meanwhile and is said never to have begun: it is missing in what comes back, the
//   others are settled, and its own call looks at what stands there.
import { type RawBuilder, sql } from 'kysely';
import { type BatchRow, batchRows, type RowsText, rowsAs, rowsText, type Waits } from '../database/batch-rows.ts';
import type { Database } from '../database/database.ts';
import { type Engine, forEachEngine } from '../database/dialect.ts';
import { createGroup, type Group } from '../database/group.ts';
import { keptStatement } from '../database/kept-statement.ts';
import { type ChangingRow, type Command, changingColumns, toChanges } from './command.ts';
import type { Settlement } from './store.ts';

export interface SettledTogether {
  command: Command;
  /** Neither by a person nor to be issued again: those have guards of their own. */
  settlement: Omit<Settlement, 'reissuedAs'>;
  /** Done, it closes the document of its target. */
  closesDocument: boolean;
}

const given = {
  id: 'text',
  state: 'text',
  settled_by: 'text',
  outcome: 'text',
  report: 'text',
  reason: 'text',
  operation_id: 'text',
  rrn: 'text',
  receipt_id: 'text',
  opens_document: 'int8',
  was_accepted: 'int8',
} as const;
/** All else stays as the caller knows it. */
const changed = ['id', ...changingColumns] as const;
const returned = sql.raw(changed.map((name) => `"commands"."${name}"`).join(', '));
const returnedNames = sql.raw(changed.map((name) => `"${name}"`).join(', '));
type Settled = ChangingRow & { id: string };
/** Whoever ends a document knows of the payment [D58]. */
const closed = sql`"document_state" = 'closed', "told_at" = coalesce("commands"."told_at", now_ms())`;

/** Undefined: it was not open, or was accepted and is said never to have begun; nothing of it was changed. */
export type SettleGroup = Group<SettledTogether, Command | undefined>;

export function createSettleGroup(database: Database): SettleGroup {
  return createGroup<SettledTogether, Command | undefined>({
    soon: database.soon,
    namesOf: ({ command: { id, targetId } }) => [`command ${id}`, ...(targetId === null ? [] : [`command ${targetId}`])],
    sizeOf: ({ settlement }) => settlement.report?.length ?? 0,
    together: (rows) => settleAll(database, rows, 'shortly'),
    alone: async (row) => (await settleAll(database, [row], 'as long as a statement may'))[0],
  });
}

/** In the order of the rows. */
async function settleAll(database: Database, rows: readonly SettledTogether[], waits: Waits): Promise<(Command | undefined)[]> {
  const { engine, queries } = database;
  const text = rowsText(given, rows.map(toRow));
  const toClose = rows.flatMap(({ command: { id, targetId }, settlement, closesDocument }) =>
    closesDocument && settlement.state === 'done' ? [{ id, target_id: targetId, from_state: 'open' }] : [],
  );
  const found = await (toClose.length === 0
    ? settlements[engine](queries, { rows: text }, waits)
    : settleAndClose(database, text, toClose, waits));
  const byId = new Map(found.map((row) => [row.id, row]));
  return rows.map(({ command }) => {
    const row = byId.get(command.id);
    return row && { ...command, ...toChanges(row) };
  });
}

const settlements = forEachEngine((engine) =>
  keptStatement((queries, { rows }: { rows: RowsText<typeof given> }, waits: Waits) =>
    settling(batchRows(engine, 'new', given, rows, waits)).compile(queries),
  ),
);

type Closing = BatchRow<typeof closingColumns>;
type ClosingText = RowsText<typeof closingColumns>;
const closingColumns = { id: 'text', target_id: 'text', from_state: 'text' } as const;

/** The state comes with the row: written out, PostgreSQL would walk through the index of all open documents. */
function closing(engine: Engine, rows: ClosingText, condition = sql``): RawBuilder<unknown> {
  return sql`update "commands" set ${closed}
    from ${rowsAs(engine, 'closing', closingColumns, rows)}
    where "commands"."id" = "closing"."target_id" and "commands"."document_state" = "closing"."from_state" ${condition}`;
}

const settlementWithDocuments = keptStatement(
  (queries, { rows, documents }: { rows: RowsText<typeof given>; documents: ClosingText }, waits: Waits) => {
    const settled = settling(batchRows('postgres', 'new', given, rows, waits));
    const ofSettled = sql`and "closing"."id" in (select "settled"."id" from "settled" offset 0)`;
    return sql<Settled>`with "settled" as (${settled}), "closed" as (${closing('postgres', documents, ofSettled)})
    select ${returnedNames} from "settled"`.compile(queries);
  },
);
const closure = keptStatement((queries, { documents }: { documents: ClosingText }) => closing('sqlite', documents).compile(queries));

/** One statement on PostgreSQL; SQLite cannot change two sets of rows in one, and takes a transaction. */
function settleAndClose(
  { engine, queries, transaction }: Database,
  rows: RowsText<typeof given>,
  all: Closing[],
  waits: Waits,
): Promise<Settled[]> {
  if (engine === 'postgres') return settlementWithDocuments(queries, { rows, documents: rowsText(closingColumns, all) }, waits);
  return transaction(async (within) => {
    const settled = await settlements.sqlite(within, { rows }, waits);
    const ids = new Set(settled.map(({ id }) => id));
    const documents = all.filter(({ id }) => ids.has(id ?? ''));
    await closure(within, { documents: rowsText(closingColumns, documents) });
    return settled;
  });
}

/**
 * Each is found by its id: the state is written so that PostgreSQL, which mostly counts when nothing is open, does not walk through all that
 * is open, and through what was since the last vacuum, for every batch.
 */
function settling(rows: RawBuilder<unknown>): RawBuilder<Settled> {
  return sql<Settled>`update "commands" set "settled_at" = now_ms(), "state" = "new"."state", "settled_by" = "new"."settled_by",
      "outcome" = "new"."outcome", "report" = "new"."report", "reason" = "new"."reason", "next_recall_at" = null,
      "reviewed_at" = case when "commands"."review_since" is null then null else now_ms() end,
      "operation_id" = coalesce("new"."operation_id", "commands"."operation_id"),
      "rrn" = coalesce("new"."rrn", "commands"."rrn"),
      "receipt_id" = coalesce("new"."receipt_id", "commands"."receipt_id"),
      "document_state" = case when "new"."opens_document" = 1 then 'open' else "commands"."document_state" end,
      "accepted_at" = case when "new"."was_accepted" = 1 then coalesce("commands"."accepted_at", now_ms()) else "commands"."accepted_at" end
    from ${rows}
    where "commands"."id" = "new"."id" and coalesce("commands"."state", '') in ('sent', 'unknown')
      and ("new"."state" <> 'never' or "commands"."accepted_at" is null)
    returning ${returned}`;
}

function toRow({ command, settlement }: SettledTogether): BatchRow<typeof given> {
  const { state, by, outcome, report, reason, operationId, rrn, receiptId, opensDocument, wasAccepted } = settlement;
  return {
    id: command.id,
    state,
    settled_by: by,
    outcome: outcome ?? null,
    report: report ?? null,
    reason: reason ?? null,
    operation_id: operationId ?? null,
    rrn: rrn ?? null,
    receipt_id: receiptId ?? null,
    opens_document: opensDocument && state === 'done' ? 1 : 0,
    was_accepted: wasAccepted ? 1 : 0,
  };
}
