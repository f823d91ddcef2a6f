-- runs under programs that know 15 migrations
-- Which receipt has a card payment that was made on a terminal before [D146]: a payment stands on one receipt at most. `print_id` is the
-- command of the newest try to print it; one that was refused, or never began, leaves the payment to the next.
create table receipt_payments (
  payment_id text primary key,
  print_id text not null,
  amount_bani int8 not null,
  voided_at int8
);
create index receipt_payments_of_print on receipt_payments (print_id);
-- A payment that was voided although its receipt may be printed: few, for a person to look at.
create index receipt_payments_voided on receipt_payments (voided_at) where voided_at is not null;
