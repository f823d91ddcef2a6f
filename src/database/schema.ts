// The tables, with the columns of the migrations in the same order.
// Times are milliseconds of the database's clock, booleans are 0 or 1, JSON is text as sent.
import type { Generated } from 'kysely';
import type { OperationState } from '../kernel/operation-states.ts';

export interface Schema {
  merchants: {
    id: string;
    name: string;
    callback_secret: string;
    created_at: number;
    share_percent: number | null;
    earlier_callback_secrets: string | null;
  };
  api_keys: {
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
  };
  audit_log: {
    id: Generated<number>;
    at: number;
    actor: string;
    action: string;
    subject: string;
    detail: string;
    merchant_id: string | null;
  };
  qr_secrets: {
    id: number;
    secret: string;
    created_at: number;
  };
  devices: {
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
  };
  invoices: {
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
    version: Generated<number>;
    is_paid_by_card: Generated<number>;
  };
  invoice_events: {
    id: Generated<number>;
    oid: string;
    at: number;
    event: string;
    detail: string;
  };
  orphan_payments: {
    id: Generated<number>;
    merchant_id: string;
    oid: string;
    receipt_id: string;
    device_id: string;
    reason: string;
    at: number;
    version: Generated<number>;
    is_listed: Generated<number>;
  };
  names: {
    merchant_id: string;
    value: string;
    version: number;
    attempts: number;
    ops: string;
  };
  printed_payments: {
    payment_id: string;
    print_id: string;
    amount_bani: number;
  };
  money_corrections: {
    id: Generated<number>;
    operation_id: string;
    amount_bani: number;
    at: number;
  };
  unmatched_reports: {
    id: Generated<number>;
    merchant_id: string;
    device_id: string;
    subject_kind: 'command' | 'invoice';
    subject_id: string;
    outcome: 'done' | 'unknown';
    receipt_id: string;
    rrn: string | null;
    operation_id: string | null;
    amount_bani: number | null;
    at: number;
  };
  callbacks: {
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
  };
  callback_attempts: {
    id: Generated<number>;
    callback_id: string;
    attempt: number;
    at: number;
    status: number | null;
    error: string | null;
    duration_ms: number;
    response_head: string | null;
  };
  idempotency_keys: {
    merchant_id: string;
    key: string;
    request_hash: string;
    subject_kind: 'command' | 'invoice';
    subject_id: string;
    created_at: number;
  };
  instances: {
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
  };
  commands: {
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
    version: Generated<number>;
    sequence: number | null;
    attempt: Generated<number>;
    after_id: string | null;
    paid: string | null;
    is_by_person: Generated<number>;
    is_confirmed: Generated<number>;
    is_hardware_lost: Generated<number>;
    is_ended_by_hand: Generated<number>;
    is_stop_refused: Generated<number>;
    standing: OperationState | null;
    refunded_bani: number | null;
    print_id: string | null;
    is_unconfirmed: Generated<number>;
    is_to_confirm: Generated<number>;
    attention: string | null;
  };
  settlements: {
    settled_at: number;
    command_id: string;
    failed_merchant_id: string | null;
    failed_issued_at: number | null;
    changes_past: number | null;
    entered_as: string | null;
  };
  device_locks: {
    device_id: string;
    command_id: string | null;
    document_id: string | null;
    decided_at: number | null;
    sequence: Generated<number>;
    unconfirmed: Generated<string>;
    closes: Generated<string>;
    last_payment: string | null;
    last_sale_id: string | null;
    head_id: string | null;
  };
  claims: {
    merchant_id: string;
    kind: 'document' | 'receipt' | 'content';
    value: string;
    command_id: string;
    next_id: string | null;
  };
  bank_operations: {
    device_id: string;
    operation_id: string;
    payment_id: string;
  };
  decisions: {
    command_id: string;
    device_id: string;
    lost_at: number | null;
  };
  command_events: {
    id: Generated<number>;
    command_id: string;
    at: number;
    step: string;
    channel: string | null;
    detail: string | null;
  };
  turns: {
    work: string;
    instance_id: string;
    held_until: number;
  };
  users: {
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
  };
  sessions: {
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
  };
  user_links: {
    subject: string;
    user_id: string | null;
    token_hash: string;
    purpose: 'invitation' | 'reset';
    created_at: number;
    expires_at: number;
  };
  notes: {
    id: Generated<number>;
    merchant_id: string;
    kind: string;
    subject_id: string;
    at: number;
    actor: string;
    reason: string;
    version: Generated<number>;
  };
  hour_sums: {
    merchant_id: string;
    start_ms: number;
    made_at: number;
    figures: string;
  };
  search_terms: {
    merchant_id: string;
    term: string;
    kind: 'command' | 'invoice';
    subject_id: string;
  };
  search_progress: {
    kind: string;
    at: number;
    id: string;
  };
  command_step_counts: {
    command_id: string;
    step: string;
    count: number;
    last_at: number;
  };
  migration_promises: {
    version: number;
    oldest_program: number;
  };
  /** Facts about the database as a whole. */
  database_facts: {
    name: string;
    value: string;
  };
  receipt_payments: {
    payment_id: string;
    print_id: string;
    amount_bani: number;
    voided_at: number | null;
  };
}
