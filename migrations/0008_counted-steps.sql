-- Steps of a command that may come without end (an ERP that asks again, a device that repeats its answer): the first are in
-- command_events like any other, all of them are counted here.
create table command_step_counts (
  command_id text not null references commands (id),
  step text not null,
  count int8 not null,
  last_at int8 not null,
  primary key (command_id, step)
);
