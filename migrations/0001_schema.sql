-- The whole schema. No earlier form of it is in use: a database of an older Tillgate is refused [D190].
-- Tokens that differ between the engines: int8 (a 64-bit integer), identity8 (an integer primary key that counts by itself).
-- Times are milliseconds of the database's own clock; booleans are 0 or 1; JSON is text, kept as it was sent.

create table merchants (
  id text primary key,
  name text not null check (name <> ''),
  callback_secret text not null,
  created_at int8 not null,
  -- The part of the request slots that this merchant may take, in percent [D62]; null: the setting.
  share_percent int8,
  -- Replaced signing secrets that are still valid for a while: a JSON list of { secret, endsAtMs }.
  earlier_callback_secrets text
);

create table api_keys (
  id text primary key,
  merchant_id text not null references merchants (id),
  name text not null,
  key_hash text not null unique,
  opens_pos int8 not null check (opens_pos in (0, 1)),
  opens_qr int8 not null check (opens_qr in (0, 1)),
  opens_fiscal int8 not null check (opens_fiscal in (0, 1)),
  created_at int8 not null,
  expires_at int8,
  revoked_at int8,
  replaced_by text references api_keys (id),
  -- Up to a minute late.
  last_used_at int8,
  check (opens_pos + opens_qr + opens_fiscal > 0)
);
create index api_keys_by_merchant on api_keys (merchant_id);

create table audit_log (
  id identity8,
  at int8 not null,
  actor text not null,
  action text not null,
  subject text not null,
  detail text not null,
  -- Null: only operators see the entry.
  merchant_id text
);

create index audit_log_by_age on audit_log (at);
create index audit_log_by_merchant on audit_log (merchant_id, id) where merchant_id is not null;

-- A newer one signs new QR texts; every one still verifies old ones. Numbered from 1 by the program:
-- of several gateways that start together, one makes number 1.
create table qr_secrets (
  id int8 primary key check (id > 0),
  secret text not null,
  created_at int8 not null
);

create table devices (
  id text primary key,
  merchant_id text not null references merchants (id),
  kind text not null check (kind in ('terminal', 'register')),
  name text not null check (name <> ''),
  bank text,
  point_of_sales_code text,
  secret_hash text,
  pairing_hash text unique,
  pairing_expires_at int8,
  journal_id text,
  last_seen_at int8,
  last_report text,
  disabled_at int8,
  created_at int8 not null,
  -- A pairing code that was exchanged stays valid until its device has come with the new secret, so that an interrupted pairing can be repeated [D181].
  pairing_used_at int8,
  check (kind = 'terminal' or bank is null),
  check ((pairing_hash is null) = (pairing_expires_at is null))
);
create index devices_by_merchant on devices (merchant_id);

create table invoices (
  oid text primary key,
  merchant_id text not null,
  qr_secret_id int8 not null,
  state int8 not null,
  receipt text not null,
  callback_uri text,
  valid_to int8,
  point_of_sales_code text,
  preferred_device_id text,
  receipt_id text,
  paid_device_id text,
  callback_sequence int8 not null,
  created_at int8 not null,
  scanned_at int8,
  ended_at int8,
  removed_at int8,
  -- Of a removed receipt: SHA-256 of its stored JSON.
  content_hash text,
  amount_bani int8,
  -- When the first card payment under its OID was begun [D142]: from then on it is moved under its lock, after a look at its payments.
  payment_begun_at int8,
  -- Few conditions, and no reference that would lock the merchant's row for each invoice, as of commands (D242).
  check (case when state = 2 then receipt_id is not null and paid_device_id is not null else coalesce(receipt_id, paid_device_id) is null end),
  check (state >= 0 and state <= 4 and (state < 2) = (ended_at is null) and (state <> 1 or scanned_at is not null)
    and (state <> 3 or valid_to is not null))
);
create index invoices_by_merchant on invoices (merchant_id, created_at);
-- By its end and not by its state: a scan then changes no index (D240).
create index invoices_to_expire on invoices (valid_to) where ended_at is null and valid_to is not null;
create index invoices_kept on invoices (ended_at, oid) where removed_at is null and ended_at is not null;
create index invoices_by_time on invoices (created_at, oid);
create index invoices_by_receipt_id on invoices (receipt_id, created_at) where receipt_id is not null;
create index invoices_by_amount on invoices (amount_bani, created_at) where amount_bani is not null;

create table invoice_events (
  id identity8,
  oid text not null,
  at int8 not null,
  event text not null,
  detail text not null
);
create index invoice_events_by_invoice on invoice_events (oid, id);

-- Money was taken, and the invoice could not be marked paid: the orphan board's source [D22].
create table orphan_payments (
  id identity8,
  merchant_id text not null references merchants (id),
  oid text not null references invoices (oid),
  receipt_id text not null,
  device_id text not null,
  reason text not null,
  at int8 not null,
  unique (oid, receipt_id, device_id)
);

create table callbacks (
  id text primary key,
  merchant_id text not null references merchants (id),
  subject_kind text not null check (subject_kind in ('invoice', 'operation')),
  subject_id text not null,
  sequence int8 not null check (sequence > 0),
  url text not null,
  host text not null,
  state text not null check (state in ('pending', 'delivered', 'dead')),
  attempts int8 not null check (attempts >= 0),
  next_attempt_at int8,
  leased_by text,
  leased_until int8,
  created_at int8 not null,
  ended_at int8,
  -- W3C traceparent of the trace that wrote it; only where traces are configured.
  traceparent text,
  unique (subject_id, sequence),
  check ((state = 'pending') = (next_attempt_at is not null)),
  check ((state = 'pending') = (ended_at is null)),
  check ((leased_by is null) = (leased_until is null))
);
-- By host first: the worker takes a few of each, so that the backlog of one never stands before the others.
create index callbacks_due on callbacks (host, next_attempt_at) where state = 'pending';
create index callbacks_dead on callbacks (created_at, id) where state = 'dead';
create index callbacks_by_age on callbacks (created_at, id);
create index callbacks_by_merchant on callbacks (merchant_id, created_at);
create index callbacks_pending on callbacks (created_at, id) where state = 'pending';

create table callback_attempts (
  id identity8,
  callback_id text not null references callbacks (id),
  attempt int8 not null,
  at int8 not null,
  status int8,
  error text,
  duration_ms int8 not null,
  response_head text,
  check ((status is null) or (error is null))
);
create index callback_attempts_by_callback on callback_attempts (callback_id, id);

-- Header Idempotency-Key [D13]: what a key once stood for, kept 24 hours.
create table idempotency_keys (
  merchant_id text not null references merchants (id),
  key text not null,
  request_hash text not null,
  subject_kind text not null check (subject_kind in ('command', 'invoice')),
  subject_id text not null,
  created_at int8 not null,
  primary key (merchant_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Gateway processes that share this database; a missing heartbeat means the work of that one is free to take over.
create table instances (
  id text primary key,
  host text not null,
  pid int8 not null,
  embedded text not null,
  started_at int8 not null,
  heartbeat_at int8 not null,
  stopped_at int8,
  version text,
  -- Its clock minus the database's at the last heartbeat.
  clock_offset_ms int8,
  -- JSON: connections and queues at the last heartbeat.
  status text
);

-- The ledger [D13 to D18, D31, D143]: one row per operation that moves money or writes fiscal memory.
-- sent: committed before it was published; the outcome is open. unknown: the caller was answered 3; the outcome is still open.
-- done, refused, never: settled. disputed: the device contradicts the settlement, and an operator has to resolve it.
create table commands (
  id text primary key,
  merchant_id text not null,
  device_id text not null,
  instance_id text not null,
  -- The operation, and what the catalogue (src/kernel/operations.ts) says of it where a statement or an index asks for it.
  name text not null,
  mode text not null,
  is_payment int8 not null,
  closes_day int8 not null,
  args text not null,
  state text not null,
  amount_bani int8 check (amount_bani > 0),
  document_nr text,
  operation_id text,
  rrn text,
  target_id text,
  receipt_uid text,
  content_hash text,
  callback_uri text,
  journal_id text,
  issued_at int8 not null,
  answer_by int8 not null,
  settled_at int8,
  settled_by text,
  outcome text,
  report text,
  reason text,
  recalls int8 not null,
  next_recall_at int8,
  review_since int8,
  review_reason text,
  reviewed_at int8,
  abort_requested_at int8,
  document_state text,
  bank_day_closed_at int8,
  -- Its record was removed after its time [D66]: the row stays, made small, so that no repeat of it runs.
  removed_at int8,
  -- Recognition by content [D58]: a hash of the request; since when its caller lacks the outcome; since when somebody has it.
  request_hash text,
  outcome_missed_at int8,
  outcome_received_at int8,
  -- Which request to abort a payment marked it, and its hash while its caller lacks the outcome [D18].
  abort_id text,
  abort_hash text,
  -- The device has accepted it: it cannot say later that it never began. The device ended it as unknown: an operator may decide at once [D63].
  accepted_at int8,
  ended_unknown_at int8,
  notice_sequence int8 not null default 0,
  -- The command that it was issued again as, after it expired by a wrong clock.
  reissued_as text,
  receipt_id text,
  cash_bani int8,
  card_bani int8,
  -- Who called (`key <id>` or `person <name>`), and the call without its key and with card numbers masked.
  caller text,
  request text,
  -- Of a dispute [D143]: the state that the device contradicts.
  disputed_from text,
  -- The device's last contradicting answer in short: the same answer again has no effect.
  contradiction text,
  -- Few conditions instead of many: PostgreSQL reads their texts anew for every statement that writes a row (D242).
  check (case
    when state in ('sent', 'unknown') then settled_at is null and coalesce(settled_by, document_state) is null
    when state in ('refused', 'never') then settled_at is not null and settled_by is not null and document_state is null
    when state = 'done' then settled_at is not null and settled_by is not null and (document_state is not null) = (is_payment = 1)
    else state = 'disputed' and settled_at is not null and settled_by is not null and disputed_from is not null and review_since is not null
      and reviewed_at is null and coalesce(document_state, '') <> 'open' and (document_state is null or is_payment = 1)
  end),
  check (case when review_since is null then coalesce(review_reason, '') = '' and reviewed_at is null else review_reason is not null end)
);
-- No index holds a column that a settlement changes: PostgreSQL then writes the settled row beside the old one and into no index (D240).
create index commands_by_target on commands (target_id) where target_id is not null;
create index commands_by_device on commands (device_id, issued_at);
create index commands_to_review on commands (review_since) where review_since is not null and reviewed_at is null;
-- Every attempt under a documentNr or a Receipt.Uid.
create index commands_by_document on commands (merchant_id, document_nr, issued_at) where document_nr is not null;
create index commands_by_receipt on commands (merchant_id, receipt_uid, issued_at) where receipt_uid is not null;
-- The cabinet's lists, of all merchants and of one, newest first.
create index commands_by_time on commands (mode, issued_at, id);
create index commands_by_merchant on commands (merchant_id, mode, issued_at, id);
create index commands_by_amount on commands (amount_bani, issued_at) where amount_bani is not null;
-- Closes of bank days and reports, by device.
create index commands_closes on commands (device_id, issued_at) where closes_day = 1;

-- When each command was settled, in that order: what the search and the figures have yet to read, and what may be due for removal.
create table settlements (
  settled_at int8 not null,
  command_id text not null,
  -- Of a command that was refused or never ran.
  failed_merchant_id text,
  failed_issued_at int8,
  -- It changes an hour whose figures may have been summed: settled a quarter of an hour after it was issued, or a void.
  changes_past int8,
  primary key (settled_at, command_id)
);
create index settlements_failed on settlements (failed_merchant_id, failed_issued_at) where failed_merchant_id is not null;
create index settlements_of_the_past on settlements (settled_at) where changes_past = 1;

-- The lock of each device across all gateways [D210]: one row, updated in place. Every transaction that begins or settles a command takes it
-- before any row of `commands`, so that two of them never wait for each other.
create table device_locks (
  device_id text primary key references devices (id),
  -- The open command: one at a time.
  command_id text,
  -- The approved payment whose document is open [D14]: until it is closed or voided, only its own CloseDoc or void may begin.
  document_id text,
  -- When an operator last settled something as not done that the device has not confirmed: it is asked before the same is tried again [D129].
  decided_at int8
);

-- What is taken, and by which command [D210]. document: a documentNr is charged once [D13]; receipt: a Receipt.Uid is printed once [D31];
-- content: the newest call without a name that has this content [D58]. Numbers of disputed and of removed commands stay taken.
create table claims (
  merchant_id text not null,
  kind text not null,
  value text not null,
  command_id text not null,
  -- Of a number: a disputed command, or one that was resolved as executed, that has it when the command above gives it back [D143].
  next_id text,
  primary key (merchant_id, kind, value)
);

-- Which payments a terminal's bank has given a number: several may share one, because banks begin again [D16].
create table bank_operations (
  device_id text not null,
  operation_id text not null,
  payment_id text not null,
  primary key (device_id, operation_id, payment_id)
);

-- What an operator decided and no device has confirmed: the device is asked about it.
create table decisions (
  command_id text primary key,
  device_id text not null
);
create index decisions_by_device on decisions (device_id);

-- The timeline of a command: each step, by which channel, by what it was settled. It decides nothing, and commands keep their rows for
-- ever [D66]: a foreign key would look up and lock the command for every line.
create table command_events (
  id identity8,
  command_id text not null,
  at int8 not null,
  step text not null,
  channel text,
  detail text
);
create index command_events_by_command on command_events (command_id, id);

-- Which receipt has a card payment that was made on a terminal before [D146]: a payment stands on one receipt at most. `print_id` is the
-- command of the newest attempt to print it; one that was refused, or never began, leaves the payment to the next.
create table receipt_payments (
  payment_id text primary key,
  print_id text not null,
  amount_bani int8 not null,
  voided_at int8
);
create index receipt_payments_of_print on receipt_payments (print_id);
-- A payment that was voided although its receipt may be printed: few, for an operator to look at.
create index receipt_payments_voided on receipt_payments (voided_at) where voided_at is not null;

-- Work in the background that one instance at a time does, and until when no other begins it.
create table turns (
  work text primary key,
  instance_id text not null,
  held_until int8 not null
);

-- No password yet: invited. A merchant's user belongs to that merchant; a viewer without one sees all. totp_pending: shown, not yet proven.
-- totp_last_step: each one-time code counts once, so only later ones are taken. is_sandbox: comes in without a password, where `serve` never lets it.
create table users (
  id text primary key,
  email text not null check (email <> ''),
  name text not null check (name <> ''),
  role text not null check (role in ('operator', 'merchant', 'viewer')),
  merchant_id text references merchants (id),
  password_hash text,
  totp_secret text,
  totp_pending text,
  totp_last_step int8,
  is_sandbox int8 not null check (is_sandbox in (0, 1)),
  created_at int8 not null,
  disabled_at int8,
  check (role <> 'operator' or merchant_id is null),
  check (role <> 'merchant' or merchant_id is not null)
);
-- The same e-mail may have an account in several merchants: whether an address is known elsewhere is no merchant's business [D166].
create unique index users_by_email on users (email, coalesce(merchant_id, ''));
create index users_by_merchant on users (merchant_id, email);

-- A session ends by its row's going: with its user, password or role in the same transaction, and by itself at expires_at.
-- earlier_hash: the token before the last rotation, good for a moment more for requests that were under way, and never as a confirmed one.
-- used_at: when the session was last used, to the minute; an idle one ends [D168].
create table sessions (
  id text primary key,
  user_id text not null references users (id),
  token_hash text not null unique,
  earlier_hash text,
  rotated_at int8 not null,
  confirmed_at int8 not null,
  created_at int8 not null,
  used_at int8 not null,
  expires_at int8 not null,
  address text not null,
  agent text not null
);
create index sessions_by_earlier_hash on sessions (earlier_hash) where earlier_hash is not null;
create index sessions_by_user on sessions (user_id, created_at);
create index sessions_by_end on sessions (expires_at);

-- subject: the user, or the words 'first operator', so that there is one open link for each, whatever many gateways start together.
create table user_links (
  subject text primary key,
  user_id text references users (id),
  token_hash text not null unique,
  purpose text not null check (purpose in ('invitation', 'reset')),
  created_at int8 not null,
  expires_at int8 not null
);

-- What a person has noted about something that needed attention, or about a difference of a day: with it, it is settled.
create table notes (
  id identity8,
  merchant_id text not null references merchants (id),
  kind text not null,
  subject_id text not null,
  at int8 not null,
  actor text not null,
  reason text not null,
  unique (kind, subject_id)
);

-- The figures of hours that are over, summed once [D84]: of each merchant that did something, and of all under the merchant ''.
-- An hour without a row for '' has not been summed. made_at: what was settled after it is not in it.
create table hour_sums (
  merchant_id text not null,
  start_ms int8 not null,
  made_at int8 not null,
  figures text not null,
  primary key (merchant_id, start_ms)
);
create index hour_sums_by_start on hour_sums (start_ms);

-- What a person may type to find a sale and no other index holds: authorization codes, the last digits of cards (with a star before
-- them), numbers of receipts and invoices. Filled in the background from rows that are settled; letters and digits only, in lower case.
create table search_terms (
  merchant_id text not null,
  term text not null,
  kind text not null check (kind in ('command', 'invoice')),
  subject_id text not null,
  primary key (merchant_id, term, subject_id)
);
create index search_terms_by_subject on search_terms (subject_id);
-- How far each of the two was read.
create table search_progress (
  kind text primary key,
  at int8 not null,
  id text not null
);

-- Steps of a command that may come without end (an ERP that asks again, a device that repeats its answer): the first are in
-- command_events like any other, all of them are counted here.
create table command_step_counts (
  command_id text not null references commands (id),
  step text not null,
  count int8 not null,
  last_at int8 not null,
  primary key (command_id, step)
);

-- What is true of the database as a whole: 'created by' is sandbox or serve, and the other one refuses to open it [D153].
create table database_facts (
  name text primary key,
  value text not null
);

-- From the next migration on: which programs still run on the database after it, so that an older one need not refuse what it can use [D109].
create table migration_promises (
  version int8 primary key,
  oldest_program int8 not null
);

-- on PostgreSQL only

-- Room for the next version of a row on its own page: it is updated in place twice a command.
alter table device_locks set (fillfactor = 50);
-- And for the settled version of a command beside the one that was sent.
alter table commands set (fillfactor = 50);
alter table invoices set (fillfactor = 70);

-- As a function in SQL it would be planned anew in every statement, because it is stable and the clock is not.
create or replace function now_ms() returns bigint language plpgsql stable parallel safe
as $$ begin return floor(extract(epoch from clock_timestamp()) * 1000)::bigint; end $$;
