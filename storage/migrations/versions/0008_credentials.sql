-- Tokens of a space. Only a hash of the value is kept; `shown` is its beginning, for lists.
create table space_token (
  space_id text not null,
  name text not null,
  hash bytea not null,
  shown text not null,
  scope text not null check (scope in ('read', 'write', '*')),
  labels text[],
  usage bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  expires_at timestamptz,
  primary key (space_id, name),
  unique (space_id, hash)
) with (fillfactor = 70);
