-- The second round: columns and tables that came after the first release of the schema. One section a subject.

-- How long things are kept [D66]. A command or an invoice that is removed keeps its row, made small: the unique indexes over
-- documentNr and Receipt.Uid go on holding, so that no repeat of it can run, also not while it is being removed.
alter table commands add column removed_at int8;
alter table invoices add column removed_at int8;
-- Of the receipt that was removed: SHA-256 of its JSON as it was stored.
alter table invoices add column content_hash text;
-- What may be due for removal, the oldest first; what is removed leaves these.
create index commands_kept on commands (settled_at, id) where removed_at is null and settled_at is not null;
create index invoices_kept on invoices (ended_at, oid) where removed_at is null and ended_at is not null;
create index audit_log_by_age on audit_log (at);
-- All that was ever done under a documentNr or a Receipt.Uid, also what was refused.
create index commands_by_document on commands (merchant_id, document_nr, issued_at) where document_nr is not null;
create index commands_by_receipt on commands (merchant_id, receipt_uid, issued_at) where receipt_uid is not null;

-- Work in the background that one instance at a time does: whose turn it is, and until when nobody else begins.
create table turns (
  work text primary key,
  instance_id text not null,
  held_until int8 not null
);

-- Repeats that bring no key of their own [D58]. request_hash: what was asked, of calls that are recognised by it, otherwise null.
-- unheard_at: since when its caller is known to be without the outcome (answered 3, or gone). told_at: somebody knows the outcome.
-- Rows from before have no hash and are not recognised.
alter table commands add column request_hash text;
alter table commands add column unheard_at int8;
alter table commands add column told_at int8;
create index commands_untold on commands (merchant_id, device_id, request_hash, issued_at) where request_hash is not null and told_at is null;

-- Which of several requests to abort a payment left the mark: only that one takes it back [D18].
-- abort_hash: what the caller asked who has not heard yet how it ended.
alter table commands add column abort_id text;
alter table commands add column abort_hash text;

-- What decides about money stands in the command's own row, not in its timeline or in the delivery log, which may lose lines.
-- accepted_at: the device was heard to have taken the command on; after that it cannot say that it never began.
-- ended_unknown_at: the device itself ended it as unknown, so that a person may decide at once [D63].
-- notice_sequence: how many completion notices were written about it [D30].
alter table commands add column accepted_at int8;
alter table commands add column ended_unknown_at int8;
alter table commands add column notice_sequence int8 not null default 0;
update commands set accepted_at = (
  select min(at) from command_events
  where command_id = commands.id and (step = 'accepted' or (step = 'recalled' and detail = 'running'))
) where state in ('sent', 'unknown');
update commands set ended_unknown_at = review_since
where state in ('sent', 'unknown') and review_reason like 'The device cannot tell how the command ended%';
update commands set notice_sequence = (select coalesce(max(sequence), 0) from callbacks where subject_id = commands.id)
where callback_uri is not null;
-- Its "Unknown" was told, even if the delivery log has forgotten it since.
update commands set notice_sequence = 1 where state = 'unknown' and callback_uri is not null and notice_sequence = 0;

-- The command that this one went out as once more, after it expired by a wrong clock: who asks for the first is told of the second.
alter table commands add column reissued_as text;

-- The part of the places for requests that a merchant may take for itself, in percent [D62]; null: the setting's.
alter table merchants add column share_percent int8;
