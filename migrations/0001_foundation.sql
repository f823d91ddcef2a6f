-- Merchants and their keys, devices in their simplest form, invoices, callbacks, idempotency keys, audit.
-- Tokens that differ between the engines: int8 (a 64-bit integer), identity8 (an integer primary key that counts by itself).
-- Times are milliseconds of the database's own clock; booleans are 0 or 1; JSON is text, kept as it was sent.

create table merchants (
  id text primary key,
  name text not null check (name <> ''),
  callback_secret text not null,
  created_at int8 not null
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
  check (opens_pos + opens_qr + opens_fiscal > 0)
);
create index api_keys_by_merchant on api_keys (merchant_id);

create table audit_log (
  id identity8,
  at int8 not null,
  actor text not null,
  action text not null,
  subject text not null,
  detail text not null
);

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
  check (kind = 'terminal' or bank is null),
  check ((pairing_hash is null) = (pairing_expires_at is null))
);
create index devices_by_merchant on devices (merchant_id);

create table invoices (
  oid text primary key,
  merchant_id text not null references merchants (id),
  qr_secret_id int8 not null references qr_secrets (id),
  state int8 not null check (state in (0, 1, 2, 3, 4)),
  receipt text not null,
  callback_uri text,
  valid_to int8,
  point_of_sales_code text,
  preferred_device_id text,
  receipt_id text,
  paid_device_id text references devices (id),
  callback_sequence int8 not null check (callback_sequence >= 0),
  created_at int8 not null,
  scanned_at int8,
  ended_at int8,
  check ((state = 2) = (receipt_id is not null)),
  check ((state = 2) = (paid_device_id is not null)),
  check ((state in (2, 3, 4)) = (ended_at is not null)),
  check (state <> 1 or scanned_at is not null),
  check (state <> 3 or valid_to is not null)
);
create index invoices_by_merchant on invoices (merchant_id, created_at);
create index invoices_to_expire on invoices (valid_to) where state in (0, 1) and valid_to is not null;

create table invoice_events (
  id identity8,
  oid text not null references invoices (oid),
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
  stopped_at int8
);
