-- The people of the cabinet: who they are, their sessions, and the one-time links by which they come in [D71 to D77].

-- No password yet: invited. A merchant's user belongs to that merchant; a viewer without one sees all. totp_pending: shown, not yet proven.
-- totp_last_step: each one-time code counts once, so only later ones are taken. is_sandbox: comes in without a password, where `serve` never lets it.
create table users (
  id text primary key,
  email text not null unique check (email <> ''),
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
create index users_by_merchant on users (merchant_id, email);

-- A session ends by its row's going: with its user, password or role in the same transaction, and by itself at expires_at.
-- earlier_hash: the token before the last rotation, good for a moment more for requests that were under way, and never as a confirmed one.
create table sessions (
  id text primary key,
  user_id text not null references users (id),
  token_hash text not null unique,
  earlier_hash text,
  rotated_at int8 not null,
  confirmed_at int8 not null,
  created_at int8 not null,
  expires_at int8 not null,
  address text not null,
  agent text not null
);
create index sessions_by_earlier_hash on sessions (earlier_hash) where earlier_hash is not null;
create index sessions_by_user on sessions (user_id, created_at);
create index sessions_by_end on sessions (expires_at);

-- subject: the user, or the words 'first operator', so that there is one open link for each, whatever many gateways start together.
create table user_links (
  subject text primary key,
  user_id text references users (id),
  token_hash text not null unique,
  purpose text not null check (purpose in ('invitation', 'reset')),
  created_at int8 not null,
  expires_at int8 not null
);

-- Whose log an entry is in: entries from before, and those about no merchant, are seen by operators only.
alter table audit_log add column merchant_id text;
create index audit_log_by_merchant on audit_log (merchant_id, id) where merchant_id is not null;

-- Signing secrets that were replaced and are still good for a while: a JSON list of { secret, endsAtMs }.
alter table merchants add column earlier_callback_secrets text;
