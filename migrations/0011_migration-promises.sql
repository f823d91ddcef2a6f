-- runs under programs that know 10 migrations
-- Which programs still run on this database after each migration from here on, so that an older one need not refuse what it can use:
-- a release's migrations only add, and the program before goes on working beside the new one and instead of it.
create table migration_promises (
  version int8 primary key,
  oldest_program int8 not null
);
