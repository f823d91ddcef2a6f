-- runs under programs that know 2 migrations
-- Hardware that was declared lost (D279): nothing waits for it any more, but if it comes back it is asked what it executed.
alter table decisions add column lost_at int8;
