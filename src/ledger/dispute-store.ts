// The SQL of disputes [D143]: a settled command becomes disputed, and an operator resolves it. Guarded updates, as every change of a state.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import type { EndingOutcome } from '../link/protocol.ts';
import { type Command, commandColumns, disputedOnly, toCommand } from './command.ts';
import type { Extracted } from './store.ts';

export interface Contradiction extends Extracted {
  /** The device's answer in short. */
  contradiction: string;
  why: string;
  /** Undefined: the device only said that it is carrying the command out. */
  outcome: EndingOutcome | undefined;
  /** Of an answer `done`: what the device reported. */
  report?: string | undefined;
}

/**
 * Undefined, and nothing changes, when the command is open, was settled otherwise meanwhile, or has this contradiction already. A disputed
 * payment does not lock its terminal, and an equal request never inherits the outcome.
 */
export async function dispute(queries: Queries, { id, state }: Command, found: Contradiction): Promise<Command | undefined> {
  const row = await queries
    .updateTable('commands')
    .set({
      state: 'disputed',
      disputed_from: state === 'disputed' ? sql`disputed_from` : (state as 'done'),
      contradiction: found.contradiction,
      review_since: sql<number>`coalesce(case when reviewed_at is null then review_since end, now_ms())`,
      review_reason: found.why,
      reviewed_at: null,
      told_at: sql<number>`coalesce(told_at, now_ms())`,
      document_state: sql`case when document_state = 'open' then null else document_state end`,
      // What is undefined stays as it is.
      outcome: found.outcome,
      report: found.report,
      operation_id: found.operationId,
      rrn: found.rrn,
      receipt_id: found.receiptId,
      ...(found.outcome === undefined ? { accepted_at: sql<number>`coalesce(accepted_at, now_ms())` } : {}),
    })
    .where('id', '=', id)
    .where('state', '=', state)
    .where('removed_at', 'is', null)
    .where(sql<SqlBool>`coalesce(contradiction, '') <> ${found.contradiction}`)
    .returning(commandColumns)
    .executeTakeFirst();
  return row && toCommand(row);
}

export interface Resolution extends Extracted {
  state: 'done' | 'refused';
  reason: string;
  report: string | undefined;
  isPayment: boolean;
}

/** Another operation that holds the number of this command: a dispute never takes it back. */
const numberIsHeld = sql`exists (
    select 1 from commands as other
    where other.merchant_id = commands.merchant_id and other.name = commands.name and other.id <> commands.id
      and (other.document_nr = commands.document_nr or other.receipt_uid = commands.receipt_uid)
      and other.state in ('sent', 'unknown', 'done') and other.is_displaced = 0)`;
/** Something else locks the terminal by now, or was paid on it since: the document of a payment that was made before is not opened again. */
const terminalIsTaken = sql`exists (
    select 1 from commands as other
    where other.device_id = commands.device_id and other.id <> commands.id
      and (other.state in ('sent', 'unknown') or other.document_state = 'open' or (other.name = commands.name and other.state = 'done' and other.issued_at > commands.issued_at)))`;

/**
 * An operator resolves a dispute as executed (done) or not executed (refused); undefined when it is not disputed. What cannot be undone stays:
 * a number that another operation holds by now, a terminal that something else locks.
 */
export async function resolve(queries: Queries, id: string, resolution: Resolution): Promise<Command | undefined> {
  const isDone = resolution.state === 'done';
  const document = sql<
    'open' | 'closed' | 'voided'
  >`case when document_state is not null then document_state when ${terminalIsTaken} then 'closed' else 'open' end`;
  const row = await queries
    .updateTable('commands')
    .set({
      state: resolution.state,
      settled_at: nowMs,
      settled_by: 'person',
      reason: resolution.reason,
      reviewed_at: nowMs,
      // The device need not be asked again about what an operator has resolved.
      outcome: sql<string>`coalesce(outcome, 'unknown')`,
      report: resolution.report,
      operation_id: resolution.operationId,
      rrn: resolution.rrn,
      document_state: isDone && resolution.isPayment ? document : null,
      is_displaced: isDone ? sql<number>`case when ${numberIsHeld} then 1 else 0 end` : 0,
    })
    .where('id', '=', id)
    .where(disputedOnly)
    .returning(commandColumns)
    .executeTakeFirst();
  return row && toCommand(row);
}
