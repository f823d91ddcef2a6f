// A command as the ledger stores it: one row, from `sent` to settled.
//
//   sent ──answer, recall──────────────▶ done | refused | never
//     └──no answer in time──▶ unknown ──late answer, recall, last transaction, person──▶ done | refused | never
//   done by a person | refused | never ──the device contradicts──▶ disputed ──person──▶ done | refused
//
// `never`: it was not executed and cannot be any more. A command that the device itself reported as done stays done [D143].
import { type Selectable, type SqlBool, sql } from 'kysely';
import type { Schema } from '../database/schema.ts';
import type { Bani } from '../kernel/money.ts';
import type { EndingOutcome, JsonObject, LedgerCommandName } from '../link/protocol.ts';

export type CommandState = 'sent' | 'unknown' | 'done' | 'refused' | 'never' | 'disputed';
export type SettledState = 'done' | 'refused' | 'never';
export type SettledBy = 'answer' | 'late-answer' | 'recall' | 'last-transaction' | 'person' | 'gateway';

export interface Command {
  id: string;
  merchantId: string;
  deviceId: string;
  instanceId: string;
  name: LedgerCommandName;
  args: JsonObject;
  state: CommandState;
  amountBani: Bani | null;
  documentNr: string | null;
  /** Of a Pay: the bank's number for it, once done. Of a command about a payment: that payment's number. */
  operationId: string | null;
  rrn: string | null;
  /** The payment that a CloseDoc, Refund or CancelTransaction is about. */
  targetId: string | null;
  receiptUid: string | null;
  contentHash: string | null;
  callbackUri: string | null;
  /** The device's journal when the command was sent; null: the device kept none, so Recall cannot settle the command. */
  journalId: string | null;
  issuedAtMs: number;
  answerByMs: number;
  settledAtMs: number | null;
  settledBy: SettledBy | null;
  /** How it ended, as the device called it. */
  outcome: EndingOutcome | null;
  /** The device's answer as received, with card numbers masked: one JSON document in a string. */
  report: string | null;
  reason: string | null;
  recalls: number;
  reviewSinceMs: number | null;
  reviewReason: string | null;
  reviewedAtMs: number | null;
  abortRequestedAtMs: number | null;
  /** Of an approved Pay: `open` locks the terminal until CloseDoc. */
  documentState: 'open' | 'closed' | 'voided' | null;
  bankDayClosedAtMs: number | null;
  /** Its record was removed after the retention time: arguments and report are gone [D66]. */
  removedAtMs: number | null;
  /** Hash of the request, for calls whose repeats are recognised by content [D58]. */
  requestHash: string | null;
  /** Since when its caller is known to lack the outcome: it was answered 3, or has disconnected. */
  outcomeMissedAtMs: number | null;
  /** A caller has the outcome: an equal request is a new one. */
  outcomeReceivedAtMs: number | null;
  /** When the device accepted the command: after that, `never` cannot be true. */
  acceptedAtMs: number | null;
  /** When the device itself reported the outcome `unknown`: it cannot execute the command any more [D63]. */
  endedUnknownAtMs: number | null;
  /** Of a dispute: the state that the device contradicts [D143]. Kept after the dispute is resolved. */
  disputedFrom: SettledState | null;
  /** The device's last contradicting answer in short: the same one again has no effect. */
  contradiction: string | null;
  /** How many completion notices were written about it [D30]. */
  noticeSequence: number;
  /** The command expired by a wrong clock and was issued again under this id: that command has the outcome. */
  reissuedAs: string | null;
}

/** The fields that identify the command in a log line. */
export function namesOf({ id, deviceId, documentNr }: Pick<Command, 'id' | 'deviceId' | 'documentNr'>): object {
  return { commandId: id, deviceId, documentNr: documentNr ?? undefined };
}

export function isOpen({ state }: Pick<Command, 'state'>): boolean {
  return state === 'sent' || state === 'unknown';
}

export function isInReview({ reviewSinceMs, reviewedAtMs }: Pick<Command, 'reviewSinceMs' | 'reviewedAtMs'>): boolean {
  return reviewSinceMs !== null && reviewedAtMs === null;
}

/** The outcome is not known for certain. */
export function isUnclear(command: Command): boolean {
  return isOpen(command) || command.state === 'disputed';
}

// States in SQL are literals: both engines use a partial index only where the statement itself shows that it applies.
export const openOnly = sql<SqlBool>`state in ('sent', 'unknown')`;
export const openOrDone = sql<SqlBool>`state in ('sent', 'unknown', 'done')`;
export const paymentsOnly = sql<SqlBool>`is_payment = 1`;
/** A dispute is on the review list until it is resolved, so the index of that list finds it. */
export const disputedOnly = sql<SqlBool>`state = 'disputed' and review_since is not null and reviewed_at is null`;

/** Columns that never change until the record is removed. */
const fixedColumns = [
  'id',
  'merchant_id',
  'device_id',
  'name',
  'args',
  'amount_bani',
  'document_nr',
  'target_id',
  'receipt_uid',
  'content_hash',
  'callback_uri',
  'request_hash',
  'journal_id',
  'issued_at',
  'answer_by',
] as const;
/** Columns that change with the command's state. */
export const changingColumns = [
  'instance_id',
  'state',
  'operation_id',
  'rrn',
  'settled_at',
  'settled_by',
  'outcome',
  'report',
  'reason',
  'recalls',
  'review_since',
  'review_reason',
  'reviewed_at',
  'abort_requested_at',
  'document_state',
  'bank_day_closed_at',
  'removed_at',
  'outcome_missed_at',
  'outcome_received_at',
  'accepted_at',
  'ended_unknown_at',
  'disputed_from',
  'contradiction',
  'notice_sequence',
  'reissued_as',
] as const;
export const commandColumns = [...fixedColumns, ...changingColumns] as const;

type Columns = Selectable<Schema['commands']>;
export type CommandRow = Pick<Columns, (typeof commandColumns)[number]>;
export type ChangingRow = Pick<Columns, (typeof changingColumns)[number]>;

/** The changing fields of a command that was just committed as `sent`; those that its insert sets are null here. */
const sentChanges = toChanges({
  instance_id: '',
  state: 'sent',
  operation_id: null,
  rrn: null,
  outcome_missed_at: null,
  recalls: 0,
  notice_sequence: 0,
  settled_at: null,
  settled_by: null,
  outcome: null,
  report: null,
  reason: null,
  review_since: null,
  review_reason: null,
  reviewed_at: null,
  abort_requested_at: null,
  document_state: null,
  bank_day_closed_at: null,
  removed_at: null,
  outcome_received_at: null,
  accepted_at: null,
  ended_unknown_at: null,
  disputed_from: null,
  contradiction: null,
  reissued_as: null,
});

export function toCommand(row: CommandRow): Command {
  return { ...toFixed(row), ...toChanges(row) };
}

type SentRow = Pick<CommandRow, (typeof fixedColumns)[number] | 'instance_id' | 'operation_id' | 'rrn' | 'outcome_missed_at'>;

/** The command that was just committed as `sent`. */
export function toSentCommand(row: SentRow): Command {
  return {
    ...sentChanges,
    ...toFixed(row),
    instanceId: row.instance_id,
    operationId: row.operation_id,
    rrn: row.rrn,
    outcomeMissedAtMs: row.outcome_missed_at,
  };
}

function toFixed(row: Pick<CommandRow, (typeof fixedColumns)[number]>) {
  return {
    id: row.id,
    merchantId: row.merchant_id,
    deviceId: row.device_id,
    name: row.name as LedgerCommandName,
    args: JSON.parse(row.args) as JsonObject,
    amountBani: row.amount_bani,
    documentNr: row.document_nr,
    targetId: row.target_id,
    receiptUid: row.receipt_uid,
    contentHash: row.content_hash,
    callbackUri: row.callback_uri,
    requestHash: row.request_hash,
    journalId: row.journal_id,
    issuedAtMs: row.issued_at,
    answerByMs: row.answer_by,
  } satisfies Partial<Command>;
}

/** The changing columns alone, for a command that is in memory. */
export function toChanges(row: ChangingRow) {
  return {
    instanceId: row.instance_id,
    state: row.state,
    operationId: row.operation_id,
    rrn: row.rrn,
    settledAtMs: row.settled_at,
    settledBy: row.settled_by,
    outcome: row.outcome as EndingOutcome | null,
    report: row.report,
    reason: row.reason,
    recalls: row.recalls,
    reviewSinceMs: row.review_since,
    reviewReason: row.review_reason,
    reviewedAtMs: row.reviewed_at,
    abortRequestedAtMs: row.abort_requested_at,
    documentState: row.document_state,
    bankDayClosedAtMs: row.bank_day_closed_at,
    removedAtMs: row.removed_at,
    outcomeMissedAtMs: row.outcome_missed_at,
    outcomeReceivedAtMs: row.outcome_received_at,
    acceptedAtMs: row.accepted_at,
    endedUnknownAtMs: row.ended_unknown_at,
    disputedFrom: row.disputed_from,
    contradiction: row.contradiction,
    noticeSequence: row.notice_sequence,
    reissuedAs: row.reissued_as,
  } satisfies Partial<Command>;
}
