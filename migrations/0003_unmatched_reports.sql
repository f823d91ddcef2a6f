-- runs under programs that know 2 migrations
-- What a device reported about money, and no row of the ledger or of the invoices has (D295).

create table unmatched_reports (
  id identity8,
  merchant_id text not null references merchants (id),
  device_id text not null,
  subject_kind text not null check (subject_kind in ('command', 'invoice')),
  -- The id of the command, or the OID in the invoice's QR.
  subject_id text not null,
  outcome text not null check (outcome in ('done', 'unknown')),
  -- Of an invoice, which may be paid several times; empty for a command.
  receipt_id text not null,
  rrn text,
  operation_id text,
  amount_bani int8,
  at int8 not null,
  unique (merchant_id, device_id, subject_id, receipt_id)
);
