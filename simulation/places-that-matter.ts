// Every place in the database where money, keys, documents, invoices or callbacks could be lost: each is interrupted in every way,
// and a long run in which one of them was never hit fails. Places are named as statement-places.ts names them. The two cores write in
// different statements [D300]; the lists of the old one go with it.
import { isNewCore } from '../test/support/core.ts';

const ofOldCore: readonly string[] = [
  // A command: its first commit, the device's reports, its outcome, its delivery, its gateway.
  'insert commands',
  'commit commands',
  'commit commands + idempotency_keys',
  'update commands (accepted_at, id)',
  // Its device's lock and its numbers, inside a transaction.
  'update device_locks (command_id)',
  'update device_locks (command_id, document_id)',
  'insert claims',
  'update commands (settled_at, state)',
  'update commands (state, settled_at)',
  'update commands (state, next_recall_at)',
  'update commands (instance_id, recalls)',
  'update commands (outcome_received_at)',
  'update commands (outcome_missed_at)',
  'update commands (review_since, review_reason)',
  'insert command_events',
  'insert command_step_counts',
  // Its Idempotency-Key.
  'insert idempotency_keys',
  'update idempotency_keys (subject_id)',
  'delete idempotency_keys',
  // Its document, its day, its abort.
  'update commands (document_state, outcome_received_at)',
  'update commands (bank_day_closed_at)',
  'update commands (abort_requested_at, abort_id)',
  'update commands (abort_hash)',
  'update commands (abort_requested_at)',
  // Notices and callbacks.
  'update commands (notice_sequence)',
  'insert callbacks',
  'commit callbacks + commands',
  'update callbacks (leased_by, leased_until)',
  'update callbacks (state, attempts)',
  'insert callback_attempts',
  'commit callback_attempts + callbacks',
  // Invoices.
  'insert invoices',
  'commit idempotency_keys + invoices',
  'update invoices (state, callback_sequence)',
  'insert invoice_events',
  'commit callbacks + invoice_events + invoices',
  'insert orphan_payments',
  'commit invoice_events + orphan_payments',
  'commit callbacks + commands + invoice_events + invoices',
  // Card payments of invoices.
  'update invoices (payment_begun_at)',
  'commit commands + invoices',
  'commit commands + idempotency_keys + invoices',
  // Live gateways, and the journals of devices.
  'insert instances',
  'update instances (stopped_at)',
  'update devices (last_seen_at, journal_id)',
];

const ofNewCore: readonly string[] = [
  // The begin of an operation: with its key, and with the payment or the invoice that it is about.
  'unit insert commands',
  'unit insert commands + idempotency_keys',
  'unit insert commands + update commands (version)',
  'unit insert commands + update commands (version) + idempotency_keys',
  'unit insert commands + invoices',
  'unit insert commands + idempotency_keys + invoices',
  // What its device reports, its deadline, a dispute and its resolution: with the notice, the invoice, its history and its callback.
  'unit update commands (version, state)',
  'unit update commands (version, state) + callbacks',
  'unit update commands (version, state) + invoices',
  'unit update commands (version, state) + callbacks + invoice_events + invoices',
  'unit update commands (version, review_since)',
  // What is written late: its acceptance, its delivery, the question to its device, its timeline.
  'unit update commands (accepted_at)',
  'unit update commands (outcome_missed_at)',
  'unit update commands (outcome_received_at)',
  'update commands (instance_id, recalls)',
  'insert command_events',
  'insert command_step_counts',
  // A key that leads to an earlier operation, or is over.
  'unit idempotency_keys',
  'delete idempotency_keys',
  // An invoice that is scanned, paid or withdrawn, or that expires.
  'unit callbacks + invoice_events + invoices',
  'unit callbacks + idempotency_keys + invoice_events + invoices',
  // Callbacks.
  'update callbacks (leased_by, leased_until)',
  'update callbacks (state, attempts)',
  'insert callback_attempts',
  'commit callback_attempts + callbacks',
  // A new invoice, without a key and with one; money that its invoice did not accept. Its moves stand above.
  'unit invoices',
  'unit idempotency_keys + invoices',
  'unit invoice_events + invoices + orphan_payments',
  // Live gateways, and the journals of devices.
  'insert instances',
  'update instances (stopped_at)',
  'update devices (last_seen_at, journal_id)',
];

export const placesThatMatter = isNewCore ? ofNewCore : ofOldCore;

/** Rare places: some of them are armed when the day begins, so that every one is hit. */
const rareOfOldCore: readonly string[] = [
  'insert command_step_counts',
  'update commands (state, next_recall_at)',
  'update commands (outcome_missed_at)',
  'update commands (bank_day_closed_at)',
  'update commands (abort_requested_at, abort_id)',
  'update commands (abort_hash)',
  'update idempotency_keys (subject_id)',
  'delete idempotency_keys',
  'insert orphan_payments',
  'commit invoice_events + orphan_payments',
  'commit callbacks + commands + invoice_events + invoices',
  'update invoices (payment_begun_at)',
  'commit commands + invoices',
  'commit commands + idempotency_keys + invoices',
  'update instances (stopped_at)',
];

const rareOfNewCore: readonly string[] = [
  'unit insert commands + update commands (version)',
  'unit insert commands + update commands (version) + idempotency_keys',
  'unit insert commands + invoices',
  'unit insert commands + idempotency_keys + invoices',
  'unit update commands (version, state) + invoices',
  'unit update commands (version, review_since)',
  'unit update commands (outcome_missed_at)',
  'unit update commands (outcome_received_at)',
  'unit idempotency_keys',
  'unit callbacks + invoice_events + invoices',
  'unit callbacks + idempotency_keys + invoice_events + invoices',
  'delete idempotency_keys',
  'unit invoice_events + invoices + orphan_payments',
  'update instances (stopped_at)',
];

export const rarePlaces = isNewCore ? rareOfNewCore : rareOfOldCore;

/** Places that a day may not reach: one fault is armed at each of them from the morning on, in addition to all others. */
export const rarestPlaces: readonly string[] = isNewCore
  ? [
      'unit insert commands + idempotency_keys + invoices',
      'unit update commands (version, state) + callbacks + invoice_events + invoices',
      'unit update commands (version, review_since)',
      'unit idempotency_keys',
    ]
  : ['update commands (abort_hash)', 'update commands (abort_requested_at)', 'commit callbacks + commands + invoice_events + invoices'];

/** Guarded against elapsed time or a concurrent call: only a freeze tests that, so some are armed every day. */
export const racedPlaces: readonly string[] = isNewCore
  ? [
      'unit insert commands',
      'unit insert commands + idempotency_keys',
      'unit insert commands + update commands (version)',
      'unit update commands (version, state)',
    ]
  : ['insert commands', 'commit commands', 'commit commands + idempotency_keys', 'update commands (state, next_recall_at)'];

/** Written outside the path of payments: merchants, secrets, audit and closed reviews, when the shop opens or by people. */
export const placesBeside: readonly RegExp[] = [
  /^delete instances$/,
  /audit_log/,
  /qr_secrets/,
  /merchants/,
  /^insert devices$/,
  /^update commands \(reviewed_at\)$/,
  // When the device is asked next about a person's decision.
  /^update commands \(instance_id, next_recall_at\)$/,
  // The device confirms a person's decision: if that is lost, it is asked again.
  /^update commands \(outcome(, \w+)?\)$/,
  // In one transaction with the row of a command that has a place of its own.
  /^(insert|delete) (decisions|settlements)$/,
  // In one transaction with the audit entry of the person who declares hardware lost; repeated by that person.
  /^update decisions \(lost_at\)$/,
  // Leases of background work.
  /^(insert|update) turns\b/,
  /^insert bank_operations$/,
  /^delete claims$/,
  /^update (claims|receipt_payments) /,
  /^update device_locks \((document_id|decided_at)\)$/,
  /^update commands \(state, disputed_from\)$/,
  // In one transaction with the resolution of a dispute.
  /^update commands \(document_state(, bank_day_closed_at)?\)$/,
  /^insert device_locks$/,
  /\(\)$/,
  // By people, in the new core: they see whether it was written, and repeat it.
  /^unit update commands \(version, (is_ended_by_hand|is_hardware_lost)\)$/,
  // The device confirms a person's decision, or reports its own end again: if that is lost, it is asked again.
  /^unit update commands \(version, (outcome|operation_id|receipt_id|is_confirmed|report|contradiction|reason)\)$/,
];
