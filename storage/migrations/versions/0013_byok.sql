-- The model that a space brings itself, sealed: without the installation's key it says nothing.
create table space_byok (
  space_id text primary key,
  sealed text not null,
  updated_at timestamptz not null default now()
);
