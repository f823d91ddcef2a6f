// Reads an invoice and, in the same commit, tries the move that most likely follows [D121]: a Get scans and a Payd pays in one round trip,
// in a batch with others. If the invoice did not move (it was scanned before, the move is refused, its limit has passed), it was only read,
// and the call continues as after a plain read (move.ts).
//
// The move is speculative, and the update checks all its conditions: the guards of any move (move-batch.ts), the caller's merchant, the
// paying device, and the CallbackURI from which the callback was prepared. If one fails, nothing moves.
// No batch has one invoice twice: the second request waits for the commit of the first, and then finds the invoice moved.
// If the process dies before the commit, nothing of the batch is written and no call was answered. After the commit, every invoice that
//   could move has moved, with its history and its callback [D26]; a repeat finds that and gets the same answer.
// If the answer of the commit is lost, every call is repeated and reads first (unclear-commit.ts).
// If one row is invalid, or its invoice is locked by another transaction, none is moved, and each is retried alone.
import { type RawBuilder, sql } from 'kysely';
import { type BatchRow, batchRows, type LockWait, type RowsText, rowsText } from '../database/batch-rows.ts';
import type { Database, Queries } from '../database/database.ts';
import { createGroup, type Group } from '../database/group.ts';
import { keptQuery, keptStatement } from '../database/kept-statement.ts';
import {
  aboutToMove,
  type Move,
  type MoveGroupDeps,
  moveColumns,
  movedNames,
  moving,
  toMoveRow,
  wakeFor,
  writingOf,
} from './move-batch.ts';
import { type Found, type FoundRow, look, toFound } from './read-batch.ts';

export interface Step {
  /** The caller's merchant; undefined: any merchant's invoice, because every holder of the QR may ask [D10]. */
  merchantId: string | undefined;
  wantsReceipt: boolean;
  move: Move;
  /** The expected CallbackURI of the invoice, from which the callback was prepared. */
  callbackUri: string | null;
}

export interface Looked {
  /** The invoice before the move. */
  found: Found | undefined;
  isMoved: boolean;
}

export type StepGroup = Group<Step, Looked>;

export function createStepGroup(deps: MoveGroupDeps): StepGroup {
  const { database, graceMs } = deps;
  const lookAndMove = database.engine === 'sqlite' ? inOneGo(database, graceMs) : inOneStatement(database.queries, graceMs);
  async function commit(steps: readonly Step[], waits: LockWait): Promise<Looked[]> {
    const looked = await lookAndMove(steps, waits);
    wakeFor(
      deps.callbacks,
      steps.map(({ move }) => move),
      looked.map(({ isMoved }) => isMoved),
    );
    return looked;
  }
  return createGroup<Step, Looked>({
    soon: database.soon,
    namesOf: ({ move }) => [move.oid],
    together: (steps) => commit(steps, 'short'),
    alone: async (step) => (await commit([step], 'statement'))[0] as Looked,
  });
}

const columns = { ...moveColumns, at: 'int8', within: 'text', wants_receipt: 'int8', believed_uri: 'text' } as const;
const asked = sql`(select "at", "oid", "within" as "merchant_id", "paid_device_id" as "device_id", "wants_receipt" from`;

/** The further conditions of a move that no read precedes. */
const asExpected = sql`and ("new"."within" is null or "new"."within" = "invoices"."merchant_id")
      and "invoices"."callback_uri" is not distinct from "new"."believed_uri"
      and ("new"."paid_device_id" is null or exists (
        select 1 from "devices" where "devices"."id" = "new"."paid_device_id" and "devices"."merchant_id" = "invoices"."merchant_id"
          and "devices"."disabled_at" is null
      ))`;

type LookAndMove = (steps: readonly Step[], waits: LockWait) => Promise<Looked[]>;

/** In the order of the steps. */
function inOrderOf<Row extends FoundRow>(steps: readonly Step[], found: readonly Row[], isMoved: (row: Row) => boolean): Looked[] {
  const looked: Looked[] = steps.map(() => ({ found: undefined, isMoved: false }));
  for (const row of found) looked[row.at] = { found: toFound(row), isMoved: isMoved(row) };
  return looked;
}

/** On PostgreSQL. */
function inOneStatement(queries: Queries, graceMs: number): LookAndMove {
  const statement = keptStatement((by, { rows }: { rows: RowsText<typeof columns> }, waits: LockWait) => {
    const moved = moving(sql`"new"`, graceMs, sql`, "new"."at", ${movedNames}`, asExpected);
    const { events, callbacks } = writingOf(sql`"moved"`);
    const from = sql`${asked} "new") as "asked" left join "moved" on "moved"."at" = "asked"."at"`;
    const seen = look(from, graceMs, 'short receipts', isMovedColumn);
    const given = batchRows('postgres', 'new', columns, rows, waits);
    return sql<FoundRow & { is_moved: number }>`with "new" as materialized (select "new".* from ${given}),
      "moved" as (${moved}), "history" as (${events}), "sent" as (${callbacks}) ${seen}`.compile(by);
  });
  return async (steps, waits) => {
    const found = await statement(queries, { rows: rowsText(columns, steps.map(toRow)) }, waits);
    return inOrderOf(steps, found, ({ is_moved }) => is_moved === 1);
  };
}

/** On SQLite, no other write comes between these statements, so history and callback match the update that follows them. */
function inOneGo(database: Database, graceMs: number): LookAndMove {
  const kept = (build: (rows: RawBuilder<unknown>) => RawBuilder<unknown>) =>
    keptQuery((by, { rows }: { rows: RowsText<typeof columns> }, waits: LockWait) =>
      build(batchRows('sqlite', 'new', columns, rows, waits)).compile(by),
    );
  const reading = kept((rows) => look(sql`${asked} ${rows}) as "asked"`, graceMs, 'short receipts'));
  const addingEvents = kept((rows) => writingOf(aboutToMove(rows, graceMs, asExpected)).events);
  const addingCallbacks = kept((rows) => writingOf(aboutToMove(rows, graceMs, asExpected)).callbacks);
  const updating = kept((rows) => moving(rows, graceMs, sql``, asExpected));
  return async (steps, waits) => {
    const rows = rowsText(columns, steps.map(toRow));
    const hasCallback = steps.some(({ move }) => move.callback !== undefined);
    const statements = [reading, addingEvents, ...(hasCallback ? [addingCallbacks] : []), updating];
    const results = await database.inOneGo(statements.map((bind) => bind(database.queries, { rows }, waits)));
    const moved = new Set(results.at(-1)?.map((row) => row['oid']));
    return inOrderOf(steps, (results[0] ?? []) as unknown as FoundRow[], ({ oid }) => moved.has(oid));
  };
}

const isMovedColumn = sql`, "moved"."at" is not null as "is_moved"`;

function toRow({ merchantId, wantsReceipt, move, callbackUri }: Step, at: number): BatchRow<typeof columns> {
  return { ...toMoveRow(move), at, within: merchantId ?? null, wants_receipt: wantsReceipt ? 1 : 0, believed_uri: callbackUri };
}
