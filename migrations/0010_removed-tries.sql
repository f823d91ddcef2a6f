-- A new command asks whether an earlier try under its number was removed [D66]: among few, or none.
create index commands_removed_documents on commands (merchant_id, document_nr) where removed_at is not null and document_nr is not null;
create index commands_removed_receipts on commands (merchant_id, receipt_uid) where removed_at is not null and receipt_uid is not null;
