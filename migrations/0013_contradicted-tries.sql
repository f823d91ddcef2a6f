-- runs under programs that know 12 migrations
-- A device may say that it did what was settled as not done: by a person, who was wrong, or as one that never began. A number under which
-- that happened is not tried again until a person has looked [D129]. Both kinds of tries that take their number with them are asked for
-- by every new command, and stand in one index: among few, or none.
alter table commands add column contradicted_at int8;
-- What is settled and on the review list is there for a contradiction.
update commands set contradicted_at = review_since
  where review_since is not null and reviewed_at is null and state in ('refused', 'never');
drop index commands_removed_documents;
drop index commands_removed_receipts;
create index commands_spent_documents on commands (merchant_id, document_nr)
  where (removed_at is not null or contradicted_at is not null) and document_nr is not null;
create index commands_spent_receipts on commands (merchant_id, receipt_uid)
  where (removed_at is not null or contradicted_at is not null) and receipt_uid is not null;
-- What a person decided and no device has spoken about: asked for when the device is back.
create index commands_decided on commands (device_id) where settled_by = 'person' and outcome is null;
