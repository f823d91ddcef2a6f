-- The same e-mail may have an account in several merchants: whether an address is known elsewhere is no merchant's business [D166].
-- sessions.used_at: when the session was last used, to the minute; an idle one ends [D168].
alter table users rename to users_before;
create table users (
  id text primary key,
  email text not null check (email <> ''),
  name text not null check (name <> ''),
  role text not null check (role in ('operator', 'merchant', 'viewer')),
  merchant_id text references merchants (id),
  password_hash text,
  totp_secret text,
  totp_pending text,
  totp_last_step int8,
  is_sandbox int8 not null check (is_sandbox in (0, 1)),
  created_at int8 not null,
  disabled_at int8,
  check (role <> 'operator' or merchant_id is null),
  check (role <> 'merchant' or merchant_id is not null)
);
insert into users select id, email, name, role, merchant_id, password_hash, totp_secret, totp_pending, totp_last_step, is_sandbox,
  created_at, disabled_at from users_before;
alter table sessions rename to sessions_before;
create table sessions (
  id text primary key,
  user_id text not null references users (id),
  token_hash text not null unique,
  earlier_hash text,
  rotated_at int8 not null,
  confirmed_at int8 not null,
  created_at int8 not null,
  used_at int8 not null,
  expires_at int8 not null,
  address text not null,
  agent text not null
);
insert into sessions select id, user_id, token_hash, earlier_hash, rotated_at, confirmed_at, created_at, now_ms(), expires_at, address, agent
  from sessions_before;
alter table user_links rename to user_links_before;
create table user_links (
  subject text primary key,
  user_id text references users (id),
  token_hash text not null unique,
  purpose text not null check (purpose in ('invitation', 'reset')),
  created_at int8 not null,
  expires_at int8 not null
);
insert into user_links select subject, user_id, token_hash, purpose, created_at, expires_at from user_links_before;
drop table user_links_before;
drop table sessions_before;
drop table users_before;
create unique index users_by_email on users (email, coalesce(merchant_id, ''));
create index users_by_merchant on users (merchant_id, email);
create index sessions_by_earlier_hash on sessions (earlier_hash) where earlier_hash is not null;
create index sessions_by_user on sessions (user_id, created_at);
create index sessions_by_end on sessions (expires_at);
