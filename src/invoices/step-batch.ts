// A look at an invoice and, in the same commit, the move that it most likely leads to [D121]: a Get scans and a Payd pays in one trip to the database,
// shared with those that come along. What has moved is found to have moved; what has not (it was scanned before, it is refused, its time is
// up) was only read, and its call goes on from there as if it had read first (move.ts).
//
// A guess is never believed: the update holds all that is asked of such a move, and moves nothing otherwise. These are the guards of any move
// (move-batch.ts), the merchant that asks, the device that pays, and the CallbackURI by which the callback was written out beforehand.
// No batch has one invoice twice: the second waits for the commit of the first, and then finds it moved.
// The process dies before the commit: nothing of the batch is there and no call was answered. After it: all that could move has, each with its
//   history and its callback [D26]; the repeat finds it so and is answered the same.
// The commit's answer is lost: every call is made once more and reads first (unclear-commit.ts).
// One row is bad, or its invoice is held by another transaction: none is moved, and each is tried by itself.
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
  /** Within which merchant it is looked for: undefined, every holder of the QR may ask [D10]. */
  merchantId: string | undefined;
  wantsReceipt: boolean;
  move: Move;
  /** What the invoice is believed to have: by it the callback was written out. */
  callbackUri: string | null;
}

export interface Looked {
  /** As it was before the move. */
  found: Found | undefined;
  isMoved: boolean;
}

export type StepGroup = Group<Step, Looked>;

export function createStepGroup(deps: MoveGroupDeps): StepGroup {
  const { database, graceMs } = deps;
  const lookAndMove = database.inOneGo ? inOneGo(database.queries, database.inOneGo, graceMs) : inOneStatement(database.queries, graceMs);
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

/** The further conditions of a move without a read before it. */
const asBelieved = sql`and ("new"."within" is null or "new"."within" = "invoices"."merchant_id")
      and "invoices"."callback_uri" is not distinct from "new"."believed_uri"
      and ("new"."paid_device_id" is null or exists (
        select 1 from "devices" where "devices"."id" = "new"."paid_device_id" and "devices"."merchant_id" = "invoices"."merchant_id"
          and "devices"."disabled_at" is null
      ))`;

type LookAndMove = (steps: readonly Step[], waits: LockWait) => Promise<Looked[]>;

/** In the order of the steps. */
function lookedAt<Row extends FoundRow>(steps: readonly Step[], found: readonly Row[], isMoved: (row: Row) => boolean): Looked[] {
  const looked: Looked[] = steps.map(() => ({ found: undefined, isMoved: false }));
  for (const row of found) looked[row.at] = { found: toFound(row), isMoved: isMoved(row) };
  return looked;
}

/** On PostgreSQL. */
function inOneStatement(queries: Queries, graceMs: number): LookAndMove {
  const statement = keptStatement((by, { rows }: { rows: RowsText<typeof columns> }, waits: LockWait) => {
    const moved = moving(sql`"new"`, graceMs, sql`, "new"."at", ${movedNames}`, asBelieved);
    const { events, callbacks } = writingOf(sql`"moved"`);
    const from = sql`${asked} "new") as "asked" left join "moved" on "moved"."at" = "asked"."at"`;
    const seen = look(from, graceMs, 'short receipts', isMovedColumn);
    const given = batchRows('postgres', 'new', columns, rows, waits);
    return sql<FoundRow & { is_moved: number }>`with "new" as materialized (select "new".* from ${given}),
      "moved" as (${moved}), "history" as (${events}), "sent" as (${callbacks}) ${seen}`.compile(by);
  });
  return async (steps, waits) => {
    const found = await statement(queries, { rows: rowsText(columns, steps.map(toRow)) }, waits);
    return lookedAt(steps, found, ({ is_moved }) => is_moved === 1);
  };
}

/** On SQLite: one moment for all of them, so what holds for the history and the callback holds for the update after them. */
function inOneGo(queries: Queries, run: NonNullable<Database['inOneGo']>, graceMs: number): LookAndMove {
  const kept = (build: (rows: RawBuilder<unknown>) => RawBuilder<unknown>) =>
    keptQuery((by, { rows }: { rows: RowsText<typeof columns> }, waits: LockWait) =>
      build(batchRows('sqlite', 'new', columns, rows, waits)).compile(by),
    );
  const seeing = kept((rows) => look(sql`${asked} ${rows}) as "asked"`, graceMs, 'short receipts'));
  const telling = kept((rows) => writingOf(aboutToMove(rows, graceMs, asBelieved)).events);
  const calling = kept((rows) => writingOf(aboutToMove(rows, graceMs, asBelieved)).callbacks);
  const updating = kept((rows) => moving(rows, graceMs, sql``, asBelieved));
  return async (steps, waits) => {
    const rows = rowsText(columns, steps.map(toRow));
    const hasCallback = steps.some(({ move }) => move.callback !== undefined);
    const statements = [seeing, telling, ...(hasCallback ? [calling] : []), updating];
    const results = await run(statements.map((bind) => bind(queries, { rows }, waits)));
    const moved = new Set(results.at(-1)?.map((row) => row['oid']));
    return lookedAt(steps, (results[0] ?? []) as unknown as FoundRow[], ({ oid }) => moved.has(oid));
  };
}

const isMovedColumn = sql`, "moved"."at" is not null as "is_moved"`;

function toRow({ merchantId, wantsReceipt, move, callbackUri }: Step, at: number): BatchRow<typeof columns> {
  return { ...toMoveRow(move), at, within: merchantId ?? null, wants_receipt: wantsReceipt ? 1 : 0, believed_uri: callbackUri };
}
