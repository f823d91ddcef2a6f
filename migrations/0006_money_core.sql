-- runs under programs that know 2 migrations
-- What the new money core stores beside the columns of today [D300]. Nothing reads it before the switch, so an older gateway may run beside it.

alter table commands add column version int8 not null default 1;
-- The device's counter at its begin [D307], and its place among the attempts under its name [D305].
alter table commands add column sequence int8;
alter table commands add column attempt int8 not null default 0;
alter table commands add column after_id text;
alter table commands add column paid text;
alter table commands add column is_by_person int8 not null default 0;
alter table commands add column is_confirmed int8 not null default 0;
alter table commands add column is_hardware_lost int8 not null default 0;
alter table commands add column is_ended_by_hand int8 not null default 0;
alter table commands add column is_stop_refused int8 not null default 0;
-- Derived, and written with what they are derived from.
alter table commands add column standing text;
alter table commands add column refunded_bani int8;
alter table commands add column print_id text;
alter table commands add column is_unconfirmed int8 not null default 0;
-- Decisions of a person about which devices are asked: few. Only a decision and its confirmation change the column, so a settlement stays
-- cheap [D240].
alter table commands add column is_to_confirm int8 not null default 0;
create index commands_to_confirm on commands (device_id) where is_to_confirm = 1;
-- What the operations under its number together mean for a person: few, and no settlement that went well changes it [D240].
alter table commands add column attention text;
create index commands_to_attend on commands (issued_at) where attention is not null;

-- The counter is the version of the row. The lists are JSON.
alter table device_locks add column sequence int8 not null default 0;
alter table device_locks add column unconfirmed text not null default '[]';
alter table device_locks add column closes text not null default '[]';
alter table device_locks add column last_payment text;
alter table device_locks add column last_sale_id text;
alter table device_locks add column head_id text;

-- Which operations a close of the day contains [D307].
create index commands_closes_in_order on commands (device_id, sequence) where closes_day = 1;

alter table invoices add column version int8 not null default 1;
alter table invoices add column is_paid_by_card int8 not null default 0;
create index invoices_paid_by_card on invoices (oid) where is_paid_by_card = 1;

alter table orphan_payments add column version int8 not null default 1;
alter table orphan_payments add column is_listed int8 not null default 1;

-- Of the first row of an operation: as what it was settled. That is its money entry, and no later change moves it [D303].
alter table settlements add column entered_as text;

-- Of the version of its subject: an orphan that is listed again has another one.
alter table notes add column version int8 not null default 1;

-- One row for each number, Receipt.Uid or content of a request; never deleted [D66]. ops: JSON, in the order of the attempts.
create table names (
  merchant_id text not null,
  value text not null,
  version int8 not null,
  attempts int8 not null,
  ops text not null,
  primary key (merchant_id, value)
);

-- Which prints name a card payment that was made on a terminal before [D146].
create table printed_payments (
  payment_id text not null,
  print_id text not null,
  amount_bani int8 not null,
  primary key (payment_id, print_id)
);
create index printed_payments_of_print on printed_payments (print_id);

-- Money entries beside those of the operations: a dispute was resolved otherwise [D303]. Rows are only added.
create table money_corrections (
  id identity8,
  operation_id text not null,
  amount_bani int8 not null,
  at int8 not null
);
create index money_corrections_by_operation on money_corrections (operation_id);
create index money_corrections_by_time on money_corrections (at);

-- on PostgreSQL only

alter table names set (fillfactor = 70);
