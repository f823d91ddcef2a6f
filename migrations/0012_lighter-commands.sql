-- runs under programs that know 11 migrations
-- What a command costs besides itself: each of its versions is entered in every index that holds it, and every statement about commands
-- opens all of them.

-- The same rows as one_open_command_per_device: there are as many as devices at most, and whoever looks through them reads all.
drop index commands_open;
-- All of them are in one_holder_per_device, as many as devices at most.
drop index commands_not_closed;
-- Lists of a merchant are of payments or of fiscal operations, by their own indexes; both are asked for what is of either kind.
drop index commands_by_merchant;

-- on PostgreSQL only

-- As a function in SQL it was read, analysed and planned anew in every statement, because it is stable and the clock is not.
create or replace function now_ms() returns bigint language plpgsql stable parallel safe
as $$ begin return floor(extract(epoch from clock_timestamp()) * 1000)::bigint; end $$;

-- The timeline decides nothing, and commands keep their rows for ever [D66]: each line looked its command up and locked it, which wrote to
-- the row of the money beside those who settle it.
alter table command_events drop constraint if exists command_events_command_id_fkey;
