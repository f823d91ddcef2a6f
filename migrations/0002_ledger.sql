-- The ledger [D13 to D18, D31]: a row for each thing that a device was told to do about money or its fiscal memory.
-- sent: committed before it was published, and nobody knows the outcome yet.
-- unknown: the API has answered 3; the outcome is still open. done, refused, never: settled, once and for all.

create table commands (
  id text primary key,
  merchant_id text not null references merchants (id),
  device_id text not null references devices (id),
  instance_id text not null,
  name text not null check (name in ('Pay', 'CloseDoc', 'CloseDay', 'Refund', 'CancelTransaction', 'MoneyIn', 'MoneyOut', 'Report', 'PrintReceipt')),
  args text not null,
  state text not null check (state in ('sent', 'unknown', 'done', 'refused', 'never')),
  amount_bani int8 check (amount_bani > 0),
  document_nr text,
  operation_id text,
  rrn text,
  target_id text references commands (id),
  receipt_uid text,
  content_hash text,
  callback_uri text,
  journal_id text,
  issued_at int8 not null,
  answer_by int8 not null,
  settled_at int8,
  settled_by text check (settled_by in ('answer', 'late-answer', 'recall', 'last-transaction', 'person', 'gateway')),
  outcome text,
  report text,
  reason text,
  recalls int8 not null check (recalls >= 0),
  next_recall_at int8,
  review_since int8,
  review_reason text,
  reviewed_at int8,
  abort_requested_at int8,
  document_state text check (document_state in ('open', 'closed', 'voided')),
  bank_day_closed_at int8,
  check ((state in ('sent', 'unknown')) = (settled_at is null)),
  check ((settled_at is null) = (settled_by is null)),
  check ((document_state is not null) = (name = 'Pay' and state = 'done')),
  check ((review_since is null) = (review_reason is null)),
  check (reviewed_at is null or review_since is not null)
);
-- One at a time: the lock of a device, across all gateways.
create unique index one_open_command_per_device on commands (device_id) where state in ('sent', 'unknown');
-- An approved payment holds the terminal until its document is closed or voided [D14]: no other command but those two may begin.
-- The index, not a look beforehand, decides: a payment may be approved between the look and the insert.
create unique index one_holder_per_device on commands (device_id)
  where document_state = 'open' or (state in ('sent', 'unknown') and name not in ('CloseDoc', 'CancelTransaction'));
-- A documentNr charges once [D13]; a Receipt.Uid prints once [D31].
create unique index one_charge_per_document on commands (merchant_id, document_nr) where name = 'Pay' and document_nr is not null and state in ('sent', 'unknown', 'done');
create unique index one_print_per_receipt on commands (merchant_id, receipt_uid) where receipt_uid is not null and state in ('sent', 'unknown', 'done');
create index commands_by_operation on commands (device_id, operation_id, issued_at) where name = 'Pay';
create index commands_by_target on commands (target_id) where target_id is not null;
create index commands_by_device on commands (device_id, issued_at);
create index commands_by_merchant on commands (merchant_id, issued_at);
create index commands_open on commands (instance_id) where state in ('sent', 'unknown');
create index commands_to_review on commands (review_since) where review_since is not null and reviewed_at is null;

-- The timeline of a command: each step, by which channel, by what it was settled.
create table command_events (
  id identity8,
  command_id text not null references commands (id),
  at int8 not null,
  step text not null,
  channel text,
  detail text
);
create index command_events_by_command on command_events (command_id, id);
