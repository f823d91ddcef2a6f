-- What the cabinet shows: how lists and searches find their rows among millions, and what was asked and by whom.

-- The id that a register gave the receipt, so that somebody with the paper in his hand finds the sale.
alter table commands add column receipt_id text;
-- Of a receipt: what its total is made of. The total itself is the command's amount.
alter table commands add column cash_bani int8;
alter table commands add column card_bani int8;
-- Who asked for it: `key <id>` or `person <name>`; and the call as it came, without its key and with card numbers masked.
alter table commands add column caller text;
alter table commands add column request text;

-- What an invoice comes to, so that lists and sums need not read receipts.
alter table invoices add column amount_bani int8;

-- Lists of payments and of fiscal operations, of all merchants and of one, newest first.
create index card_commands_by_time on commands (issued_at, id) where name in ('Pay', 'CloseDoc', 'CloseDay', 'Refund', 'CancelTransaction');
create index fiscal_commands_by_time on commands (issued_at, id) where name in ('MoneyIn', 'MoneyOut', 'Report', 'PrintReceipt');
create index card_commands_by_merchant on commands (merchant_id, issued_at, id) where name in ('Pay', 'CloseDoc', 'CloseDay', 'Refund', 'CancelTransaction');
create index fiscal_commands_by_merchant on commands (merchant_id, issued_at, id) where name in ('MoneyIn', 'MoneyOut', 'Report', 'PrintReceipt');
-- The few that went another way than most.
create index commands_failed on commands (issued_at, id) where state in ('refused', 'never');
create index commands_not_closed on commands (issued_at, id) where document_state = 'open';
-- What people type. Documents and Receipt.Uids have indexes of their own, operation ids one by device.
create index commands_by_rrn on commands (rrn, issued_at) where rrn is not null;
create index commands_by_receipt_id on commands (receipt_id, issued_at) where receipt_id is not null;
create index commands_by_amount on commands (amount_bani, issued_at) where amount_bani is not null;

create index invoices_by_time on invoices (created_at, oid);
create index invoices_by_receipt_id on invoices (receipt_id, created_at) where receipt_id is not null;
create index invoices_by_amount on invoices (amount_bani, created_at) where amount_bani is not null;
create index callbacks_pending on callbacks (created_at, id) where state = 'pending';

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
