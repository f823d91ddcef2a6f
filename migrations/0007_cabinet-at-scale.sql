-- The cabinet among millions of commands.

-- What failed, of one merchant: a shop with little to do must not walk everybody's failures.
create index commands_failed_by_merchant on commands (merchant_id, issued_at, id) where state in ('refused', 'never');

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
-- The few that can change an hour that was summed: settled long after they were issued (a quarter of an hour), and voids.
create index commands_settled_late on commands (settled_at) where settled_at - issued_at > 900000;
create index commands_voids on commands (settled_at) where name = 'CancelTransaction' and settled_at is not null;
