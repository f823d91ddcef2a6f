-- Closes of bank days and reports, by device: a shop's days are found without walking its sales.
create index commands_closes on commands (device_id, issued_at) where name in ('CloseDay', 'Report');
