// Moves many invoices in one commit, each by its own guarded update: it has the expected state and time condition, and changes nothing if
// either no longer holds. The move, its entry in the invoice's history and its callback are written together or not at all [D26].
//
// No batch moves one invoice twice: the second move waits for the commit of the first, and then its guard no longer holds.
// If the process dies before the commit, no invoice of the batch has changed, no call was answered, and the device repeats its call. After
//   the commit, all have moved, with history and callback; a repeat finds that and gets the same answer.
// If the answer of the commit is lost, every call is repeated (unclear-commit.ts), which finds the written move.
// If one row is invalid, or its invoice is locked by another transaction, none is moved, and each is retried alone.
// If the process pauses before the commit: the database checks the time condition when the statement runs, not when the invoice was read.
// If a card payment was begun under the OID [D142], the invoice's own row is marked, so the update sees it, also after a wait for the row.
//   Such an invoice is moved only under its lock, after its payments were read.
import { type RawBuilder, sql } from 'kysely';
import type { Addressee, OutboxRow } from '../callbacks/outbox.ts';
import { type BatchRow, batchRows, type LockWait, listed, rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Database, Queries } from '../database/database.ts';
import { createGroup, type Group } from '../database/group.ts';
import { stateNames, states, type Transition } from './rules.ts';
import { timeIsUp } from './store.ts';

export interface Payment {
  receiptId: string;
  deviceId: string;
}

export interface Move {
  oid: string;
  transition: Transition;
  /** Card payments under the OID, read under the invoice's lock: one is standing, or all are over. Absent: none was ever begun. */
  payments?: 'standing' | 'over' | undefined;
  /** For the invoice's history. */
  detail: object;
  payment: Payment | undefined;
  /** Undefined: the invoice has no CallbackURI, or one that can no longer be read [D122]. */
  callback: OutboxRow | undefined;
  /** Why there is no callback although the invoice has a CallbackURI; logged after the move. */
  unreadable?: { merchantId: string; err: unknown };
}

/** True: it has moved. False: its guard did not hold, and nothing was written. */
export type MoveGroup = Group<Move, boolean>;

export interface MoveGroupDeps {
  database: Database;
  graceMs: number;
  /** Called after each commit that wrote callbacks. */
  callbacks: { wake(written: readonly Addressee[]): void };
}

export function createMoveGroup({ database, graceMs, callbacks }: MoveGroupDeps): MoveGroup {
  async function commit(moves: readonly Move[], waits: LockWait): Promise<boolean[]> {
    const { engine, queries, transaction } = database;
    const moved =
      engine === 'postgres'
        ? await moveInvoices(engine, queries, graceMs, moves, waits)
        : await transaction((within) => moveInvoices(engine, within, graceMs, moves, waits));
    wakeFor(callbacks, moves, moved);
    return moved;
  }
  return createGroup<Move, boolean>({
    soon: database.soon,
    namesOf: ({ oid }) => [oid],
    together: (moves) => commit(moves, 'short'),
    alone: async (move) => (await commit([move], 'statement'))[0] ?? false,
  });
}

/** After the commit. */
export function wakeFor(callbacks: MoveGroupDeps['callbacks'], moves: readonly Move[], moved: readonly boolean[]): void {
  const written = moves.flatMap(({ callback }, at) => (moved[at] && callback ? [callback] : []));
  if (written.length > 0) callbacks.wake(written);
}

const given = {
  oid: 'text',
  from_state: 'int8',
  to_state: 'int8',
  /** Null: a standing payment makes the limit irrelevant. */
  is_time_up: 'int8',
  may_have_payments: 'int8',
  receipt_id: 'text',
  paid_device_id: 'text',
} as const;
const changes = {
  event: 'text',
  detail: 'text',
  merchant_id: 'text',
  callback_id: 'text',
  url: 'text',
  host: 'text',
  traceparent: 'text',
} as const;
const written = { oid: 'text', ...changes } as const;
export const moveColumns = { ...given, ...written } as const;
const withSequence = { ...written, sequence: 'int8' } as const;
/** The columns of moved rows for history and callback. */
export const movedNames = listed(changes, (name) => `"new"."${name}"`);

/**
 * Results in the order of the moves, each of another invoice. One statement on PostgreSQL; on SQLite, several in the caller's transaction.
 */
export async function moveInvoices(
  engine: Database['engine'],
  queries: Queries,
  graceMs: number,
  moves: readonly Move[],
  waits: LockWait,
): Promise<boolean[]> {
  if (engine === 'postgres') {
    const moved = moving(
      batchRows(engine, 'new', moveColumns, rowsText(moveColumns, moves.map(toMoveRow)), waits),
      graceMs,
      sql`, ${movedNames}`,
    );
    const { events, callbacks } = writingOf(sql`"moved"`);
    const { rows } = await sql<{ oid: string }>`with "moved" as (${moved}),
      "history" as (${events}), "sent" as (${callbacks})
      select "oid" from "moved"`.execute(queries);
    return inOrder(moves, rows);
  }
  const { rows } = await moving(batchRows(engine, 'new', given, rowsText(given, moves.map(toGiven)), waits), graceMs, sql``).execute(
    queries,
  );
  if (rows.length > 0) {
    const sequences = new Map(rows.map(({ oid, sequence }) => [oid, sequence]));
    const ofMoved = moves.flatMap((move) => {
      const sequence = sequences.get(move.oid);
      return sequence === undefined ? [] : [{ ...toWritten(move), sequence }];
    });
    const { events, callbacks } = writingOf(rowsAs(engine, 'moved', withSequence, rowsText(withSequence, ofMoved)));
    await events.execute(queries);
    if (ofMoved.some(({ callback_id }) => callback_id !== null)) await callbacks.execute(queries);
  }
  return inOrder(moves, rows);
}

function inOrder(moves: readonly Move[], rows: readonly { oid: string }[]): boolean[] {
  const moved = new Set(rows.map(({ oid }) => oid));
  return moves.map(({ oid }) => moved.has(oid));
}

/** `rows`: a table named "new"; `besides`: further conditions. */
export function moving(
  rows: RawBuilder<unknown>,
  graceMs: number,
  alsoReturned: RawBuilder<unknown>,
  besides: RawBuilder<unknown> = sql``,
): RawBuilder<{ oid: string; sequence: number }> {
  return sql`update "invoices" set "state" = "new"."to_state", "callback_sequence" = "invoices"."callback_sequence" + 1,
      "scanned_at" = case when "new"."to_state" = ${sql.lit(states.scanned)} then now_ms() else "invoices"."scanned_at" end,
      "ended_at" = case when "new"."to_state" = ${sql.lit(states.scanned)} then "invoices"."ended_at" else now_ms() end,
      "receipt_id" = "new"."receipt_id", "paid_device_id" = "new"."paid_device_id"
    from ${rows}
    where ${guards(graceMs)} ${besides}
    returning "invoices"."oid", "invoices"."callback_sequence" as "sequence" ${alsoReturned}`;
}

function guards(graceMs: number): RawBuilder<unknown> {
  return sql`"invoices"."oid" = "new"."oid" and "invoices"."state" = "new"."from_state"
      and ("invoices"."payment_begun_at" is null or "new"."may_have_payments" = 1)
      and ("new"."is_time_up" is null or ${timeIsUp(graceMs)} = ("new"."is_time_up" = 1))`;
}

/** The rows that the next statement will move, for SQLite, which cannot use an update as a table; a table named "moved". */
export function aboutToMove(rows: RawBuilder<unknown>, graceMs: number, besides: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select "new"."oid", "invoices"."callback_sequence" + 1 as "sequence", ${movedNames}
    from ${rows} join "invoices" on ${guards(graceMs)} ${besides}) as "moved"`;
}

/** The inserts of history and callbacks. `moved`: a table with an OID, a sequence and `changes`. */
export function writingOf(moved: RawBuilder<unknown>): { events: RawBuilder<unknown>; callbacks: RawBuilder<unknown> } {
  return { events: insertEvents(moved), callbacks: insertCallbacks(moved) };
}

function insertEvents(moved: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`insert into "invoice_events" ("oid", "at", "event", "detail")
    select "oid", now_ms(), "event", "detail" from ${moved}`;
}

function insertCallbacks(moved: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`insert into "callbacks" ("id", "merchant_id", "subject_kind", "subject_id", "sequence", "url", "host", "state", "attempts",
      "next_attempt_at", "created_at", "traceparent")
    select "callback_id", "merchant_id", 'invoice', "oid", "sequence", "url", "host", 'pending', 0, now_ms(), now_ms(), "traceparent"
    from ${moved} where "callback_id" is not null`;
}

export function toMoveRow(move: Move): BatchRow<typeof moveColumns> {
  return { ...toGiven(move), ...toWritten(move) };
}

function toGiven({ oid, transition, payment, payments }: Move): BatchRow<typeof given> {
  const { from, to, condition } = transition;
  if (condition === 'same-payment') throw new Error('A move cannot depend on an earlier payment.');
  if ((to === states.paid) !== (payment !== undefined)) throw new Error('A move to paid needs a payment, and no other move has one.');
  return {
    oid,
    from_state: from,
    to_state: to,
    is_time_up: payments === 'standing' ? null : condition === 'time-is-up' ? 1 : 0,
    may_have_payments: payments === undefined ? 0 : 1,
    receipt_id: payment?.receiptId ?? null,
    paid_device_id: payment?.deviceId ?? null,
  };
}

function toWritten({ oid, transition, detail, payment, callback }: Move): BatchRow<typeof written> {
  return {
    oid,
    event: stateNames[transition.to],
    detail: JSON.stringify({ ...detail, ...payment }),
    merchant_id: callback?.merchantId ?? null,
    callback_id: callback?.id ?? null,
    url: callback?.url ?? null,
    host: callback?.host ?? null,
    traceparent: callback?.traceparent ?? null,
  };
}
