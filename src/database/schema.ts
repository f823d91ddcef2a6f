// The types of the tables: one interface per table, with the columns of the migrations in the same order.
// Times are milliseconds of the database's clock, booleans are 0 or 1, JSON is text as sent.
import type { Generated } from 'kysely';

export interface Schema {
  merchants: MerchantsTable;
  api_keys: ApiKeysTable;
  audit_log: AuditLogTable;
  qr_secrets: QrSecretsTable;
  devices: DevicesTable;
  invoices: InvoicesTable;
  invoice_events: InvoiceEventsTable;
  orphan_payments: OrphanPaymentsTable;
  callbacks: CallbacksTable;
  callback_attempts: CallbackAttemptsTable;
  idempotency_keys: IdempotencyKeysTable;
  instances: InstancesTable;
  commands: CommandsTable;
  settlements: SettlementsTable;
  device_locks: DeviceLocksTable;
  claims: ClaimsTable;
  bank_operations: BankOperationsTable;
  decisions: DecisionsTable;
  command_events: CommandEventsTable;
  turns: TurnsTable;
  users: UsersTable;
  sessions: SessionsTable;
  user_links: UserLinksTable;
  notes: NotesTable;
  hour_sums: HourSumsTable;
  search_terms: SearchTermsTable;
  search_progress: SearchProgressTable;
  command_step_counts: CommandStepCountsTable;
  migration_promises: MigrationPromisesTable;
  database_facts: DatabaseFactsTable;
  receipt_payments: ReceiptPaymentsTable;
}

interface MerchantsTable {
  id: string;
  name: string;
  callback_secret: string;
  created_at: number;
  share_percent: number | null;
  earlier_callback_secrets: string | null;
}

interface ApiKeysTable {
  id: string;
  merchant_id: string;
  name: string;
  key_hash: string;
  opens_pos: number;
  opens_qr: number;
  opens_fiscal: number;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  replaced_by: string | null;
  last_used_at: number | null;
}

interface AuditLogTable {
  id: Generated<number>;
  at: number;
  actor: string;
  action: string;
  subject: string;
  detail: string;
  merchant_id: string | null;
}

interface QrSecretsTable {
  id: number;
  secret: string;
  created_at: number;
}

interface DevicesTable {
  id: string;
  merchant_id: string;
  kind: 'terminal' | 'register';
  name: string;
  bank: string | null;
  point_of_sales_code: string | null;
  secret_hash: string | null;
  pairing_hash: string | null;
  pairing_expires_at: number | null;
  journal_id: string | null;
  last_seen_at: number | null;
  last_report: string | null;
  disabled_at: number | null;
  created_at: number;
  /** When the code was exchanged for a secret; the code expires when the device connects after that. */
  pairing_used_at: number | null;
}

interface InvoicesTable {
  oid: string;
  merchant_id: string;
  qr_secret_id: number;
  state: number;
  receipt: string;
  callback_uri: string | null;
  valid_to: number | null;
  point_of_sales_code: string | null;
  preferred_device_id: string | null;
  receipt_id: string | null;
  paid_device_id: string | null;
  callback_sequence: number;
  created_at: number;
  scanned_at: number | null;
  ended_at: number | null;
  removed_at: number | null;
  content_hash: string | null;
  amount_bani: number | null;
  payment_begun_at: number | null;
}

interface InvoiceEventsTable {
  id: Generated<number>;
  oid: string;
  at: number;
  event: string;
  detail: string;
}

interface OrphanPaymentsTable {
  id: Generated<number>;
  merchant_id: string;
  oid: string;
  receipt_id: string;
  device_id: string;
  reason: string;
  at: number;
}

interface CallbacksTable {
  id: string;
  merchant_id: string;
  subject_kind: 'invoice' | 'operation';
  subject_id: string;
  sequence: number;
  url: string;
  host: string;
  state: 'pending' | 'delivered' | 'dead';
  attempts: number;
  next_attempt_at: number | null;
  leased_by: string | null;
  leased_until: number | null;
  created_at: number;
  ended_at: number | null;
  /** The trace of the work that wrote it, if traces are configured. */
  traceparent: string | null;
}

interface CallbackAttemptsTable {
  id: Generated<number>;
  callback_id: string;
  attempt: number;
  at: number;
  status: number | null;
  error: string | null;
  duration_ms: number;
  response_head: string | null;
}

interface IdempotencyKeysTable {
  merchant_id: string;
  key: string;
  request_hash: string;
  subject_kind: 'command' | 'invoice';
  subject_id: string;
  created_at: number;
}

interface InstancesTable {
  id: string;
  host: string;
  pid: number;
  embedded: string;
  started_at: number;
  heartbeat_at: number;
  stopped_at: number | null;
  version: string | null;
  clock_offset_ms: number | null;
  status: string | null;
}

interface CommandsTable {
  id: string;
  merchant_id: string;
  device_id: string;
  instance_id: string;
  name: string;
  mode: 'POS' | 'Fiscal';
  is_payment: number;
  closes_day: number;
  args: string;
  state: 'sent' | 'unknown' | 'done' | 'refused' | 'never' | 'disputed';
  amount_bani: number | null;
  document_nr: string | null;
  operation_id: string | null;
  rrn: string | null;
  target_id: string | null;
  receipt_uid: string | null;
  content_hash: string | null;
  callback_uri: string | null;
  journal_id: string | null;
  issued_at: number;
  answer_by: number;
  settled_at: number | null;
  settled_by: 'answer' | 'late-answer' | 'recall' | 'last-transaction' | 'person' | 'gateway' | null;
  outcome: string | null;
  report: string | null;
  reason: string | null;
  recalls: number;
  next_recall_at: number | null;
  review_since: number | null;
  review_reason: string | null;
  reviewed_at: number | null;
  abort_requested_at: number | null;
  document_state: 'open' | 'closed' | 'voided' | null;
  bank_day_closed_at: number | null;
  removed_at: number | null;
  request_hash: string | null;
  outcome_missed_at: number | null;
  outcome_received_at: number | null;
  abort_id: string | null;
  abort_hash: string | null;
  accepted_at: number | null;
  ended_unknown_at: number | null;
  notice_sequence: Generated<number>;
  reissued_as: string | null;
  receipt_id: string | null;
  cash_bani: number | null;
  card_bani: number | null;
  caller: string | null;
  request: string | null;
  disputed_from: 'done' | 'refused' | 'never' | null;
  contradiction: string | null;
}

interface SettlementsTable {
  settled_at: number;
  command_id: string;
  failed_merchant_id: string | null;
  failed_issued_at: number | null;
  changes_past: number | null;
}

interface DeviceLocksTable {
  device_id: string;
  command_id: string | null;
  document_id: string | null;
  decided_at: number | null;
}

interface ClaimsTable {
  merchant_id: string;
  kind: 'document' | 'receipt' | 'content';
  value: string;
  command_id: string;
  next_id: string | null;
}

interface BankOperationsTable {
  device_id: string;
  operation_id: string;
  payment_id: string;
}

interface DecisionsTable {
  command_id: string;
  device_id: string;
}

interface CommandEventsTable {
  id: Generated<number>;
  command_id: string;
  at: number;
  step: string;
  channel: string | null;
  detail: string | null;
}

interface TurnsTable {
  work: string;
  instance_id: string;
  held_until: number;
}

interface UsersTable {
  id: string;
  email: string;
  name: string;
  role: 'operator' | 'merchant' | 'viewer';
  merchant_id: string | null;
  password_hash: string | null;
  totp_secret: string | null;
  totp_pending: string | null;
  totp_last_step: number | null;
  is_sandbox: number;
  created_at: number;
  disabled_at: number | null;
}

interface SessionsTable {
  id: string;
  user_id: string;
  token_hash: string;
  earlier_hash: string | null;
  rotated_at: number;
  confirmed_at: number;
  created_at: number;
  used_at: number;
  expires_at: number;
  address: string;
  agent: string;
}

interface UserLinksTable {
  subject: string;
  user_id: string | null;
  token_hash: string;
  purpose: 'invitation' | 'reset';
  created_at: number;
  expires_at: number;
}

interface NotesTable {
  id: Generated<number>;
  merchant_id: string;
  kind: string;
  subject_id: string;
  at: number;
  actor: string;
  reason: string;
}

interface HourSumsTable {
  merchant_id: string;
  start_ms: number;
  made_at: number;
  figures: string;
}

interface SearchTermsTable {
  merchant_id: string;
  term: string;
  kind: 'command' | 'invoice';
  subject_id: string;
}

interface SearchProgressTable {
  kind: 'command' | 'invoice';
  at: number;
  id: string;
}

interface CommandStepCountsTable {
  command_id: string;
  step: string;
  count: number;
  last_at: number;
}

interface MigrationPromisesTable {
  version: number;
  oldest_program: number;
}

/** Facts about the database as a whole. */
interface DatabaseFactsTable {
  name: string;
  value: string;
}

interface ReceiptPaymentsTable {
  payment_id: string;
  print_id: string;
  amount_bani: number;
  voided_at: number | null;
}
