-- runs under programs that know 14 migrations
-- When the first card payment under the OID of an invoice was begun [D142]. An invoice without one is moved as before, many in one
-- statement; with one, its payments are looked at under the invoice's lock first.
alter table invoices add column payment_begun_at int8;
update invoices set payment_begun_at = created_at
  where state in (0, 1) and exists (
    select 1 from commands
    where commands.merchant_id = invoices.merchant_id and commands.document_nr = invoices.oid and commands.name = 'Pay'
  );
