-- What is true of the database as a whole: 'created by' is sandbox or serve, and the other one refuses to open it [D153].
create table database_facts (
  name text primary key,
  value text not null
);
insert into database_facts (name, value) select 'created by', 'sandbox' where exists (select 1 from users where is_sandbox = 1);
