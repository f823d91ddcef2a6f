// The SQL of disputes [D143]: a settled command becomes disputed, and an operator resolves it. Guarded updates, as every change of a state.
import { type SqlBool, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import type { EndingOutcome } from '../link/protocol.ts';
import { claimDisputedContent, passContentOn, reclaimNumbers, releaseNumbers } from './claims.ts';
import { type Command, commandColumns, disputedOnly, toCommand } from './command.ts';
import { dayClosedAfter, documentNow, endDocument, endsDocument, lockDevice, openDocument } from './device-lock.ts';
import type { Extracted } from './settle-batch.ts';
import { recordReport, recordSettlement } from './settlements.ts';
import { confirmDecision, nameOperation } from './store.ts';

export interface Contradiction extends Extracted {
  /** The device's answer in short. */
  contradiction: string;
  why: string;
  /** Undefined: the device only reported that it is executing the command. */
  outcome: EndingOutcome | undefined;
  /** Of an answer `done`: what the device reported. */
  report?: string | undefined;
  /** Otherwise the journal under whose id the command was sent is still asked about an operator's decision [D304]. */
  isFromOwnJournal: boolean;
}

/**
 * Undefined, and nothing changes, if the command is open, was settled otherwise meanwhile, or has this contradiction already. The
 * document of a disputed payment, or of one whose void or CloseDoc is disputed, does not lock its terminal. The command keeps its number,
 * but takes it from no other command. An equal request finds it, and gets no outcome until an operator has resolved the dispute. In a
 * transaction.
 */
export async function dispute(
  engine: Database['engine'],
  queries: Queries,
  settled: Command,
  found: Contradiction,
): Promise<Command | undefined> {
  const { id, state } = settled;
  await lockDevice(engine, queries, settled.deviceId);
  const row = await queries
    .updateTable('commands')
    .set({
      state: 'disputed',
      disputed_from: state === 'disputed' ? sql`disputed_from` : (state as 'done'),
      contradiction: found.contradiction,
      review_since: sql<number>`coalesce(case when reviewed_at is null then review_since end, now_ms())`,
      review_reason: found.why,
      reviewed_at: null,
      // What its caller has received is not its outcome: after the dispute, the same request finds it again.
      outcome_received_at: null,
      document_state: sql`case when document_state = 'open' then null else document_state end`,
      // Undefined columns are not changed.
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
  if (!row) return undefined;
  const command = toCommand(row);
  // The document stays open, because its payment stays done; a resolution as not executed locks the terminal again.
  if (command.targetId !== null && endsDocument(command)) await endDocument(queries, { ...command, id: command.targetId });
  await endDocument(queries, command);
  await reclaimNumbers(queries, command);
  await claimDisputedContent(queries, command);
  if (found.isFromOwnJournal) await confirmDecision(queries, command);
  await nameOperation(queries, command);
  // Once: a device may contradict itself without end.
  if (state !== 'disputed') await recordReport(queries, command);
  return command;
}

export interface Resolution extends Extracted {
  state: 'done' | 'refused';
  reason: string;
  /** Undefined: unchanged. Null: the report that an operator gave in place of the device is deleted. */
  report: string | null | undefined;
  isPayment: boolean;
}

export interface Resolved {
  command: Command;
  /** Another operation has its number now, and keeps it. */
  isDisplaced: boolean;
}

/**
 * An operator resolves a dispute as executed (done) or not executed (refused). Undefined: the command is not disputed, or its device has
 * reported something else since it was read. Some effects cannot be undone: a number that another operation has now, a terminal that
 * another command locks. In a transaction.
 */
export async function resolve(
  engine: Database['engine'],
  queries: Queries,
  disputed: Command,
  resolution: Resolution,
): Promise<Resolved | undefined> {
  const isDone = resolution.state === 'done';
  const lock = await lockDevice(engine, queries, disputed.deviceId);
  const isPaid = isDone && resolution.isPayment;
  const bankDayClosedAtMs = disputed.bankDayClosedAtMs ?? (isPaid ? await dayClosedAfter(queries, disputed) : null);
  const document = isPaid ? await documentNow(queries, lock, { ...disputed, bankDayClosedAtMs }) : null;
  // Without its number no call could close it [D308].
  const hasNumber = resolution.operationId !== undefined || disputed.operationId !== null;
  const newDocument = document === 'open' && !hasNumber ? 'closed' : document;
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
      document_state: newDocument && sql`coalesce(document_state, ${newDocument})`,
      ...(newDocument === 'closed' && { bank_day_closed_at: bankDayClosedAtMs }),
    })
    .where('id', '=', disputed.id)
    .where(disputedOnly)
    .where(sql<SqlBool>`coalesce(contradiction, '') = ${disputed.contradiction ?? ''}`)
    .returning(commandColumns)
    .executeTakeFirst();
  if (!row) return undefined;
  const command = toCommand(row);
  await recordSettlement(queries, command, disputed);
  if (command.documentState === 'open') await openDocument(queries, command);
  await passContentOn(queries, command);
  if (!isDone) await releaseNumbers(queries, command);
  else await nameOperation(queries, command);
  return { command, isDisplaced: isDone && !(await reclaimNumbers(queries, command)) };
}
