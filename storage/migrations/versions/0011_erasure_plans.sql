-- Who said what, whenever and in whichever record: copies of one message have one fingerprint.
-- Null for what is no message.
create function message_fingerprint(message jsonb) returns text
language sql immutable parallel safe as $$
  select case when jsonb_typeof(message) = 'object' and message ? 'content'
                   and message -> 'content' <> '""' then
    encode(sha256(convert_to(jsonb_build_array(
      coalesce(message ->> 'role', 'user'),
      coalesce(message ->> 'name', message ->> 'role', 'user'),
      message -> 'content')::text, 'UTF8')), 'hex') end
$$;

alter table evidence add column fingerprint text
  generated always as (message_fingerprint(payload -> 'inline')) stored;
create index evidence_fingerprint on evidence (space_id, fingerprint)
  where fingerprint is not null;

-- What is to be erased, how far that is, and what was looked at afterwards. No content: `traces`
-- holds ids and digests by which copies are known. `erased_seq` is the commit that erased, `readers`
-- the jobs (id to fence) that ran then and may have read before.
create table erasure_plan (
  space_id text not null,
  ref text not null,
  caller text not null,
  job_id text not null,
  receipt_ref text not null,
  scope text not null check (scope in ('payload_only', 'semantic')),
  target_ref text not null,
  basis_seq bigint not null,
  erased_seq bigint,
  status text not null default 'pending'
    check (status in ('pending', 'partial', 'blocked', 'completed')),
  source_refs text[] not null default '{}',
  targets jsonb not null default '[]',
  host_surfaces jsonb not null default '[]',
  external_exports text[] not null default '{}',
  receipts text[] not null default '{}',
  traces jsonb not null default '{}',
  open_points jsonb not null default '[]',
  orphans text[] not null default '{}',
  readers jsonb not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (space_id, ref)
);
