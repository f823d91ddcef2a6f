-- runs under programs that know 16 migrations
-- A pairing code that was exchanged stays good until its device has come with the new secret, so that an interrupted pairing can be repeated [D181].
alter table devices add column pairing_used_at int8;
