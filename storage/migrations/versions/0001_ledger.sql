-- Roles first: no login, no ownership, no bypass. The login role may act as either.
do $$
declare r text;
begin
  foreach r in array array['brainstem_app', 'brainstem_ledger'] loop
    begin
      execute format('create role %I nologin nosuperuser nobypassrls noinherit', r);
    exception when duplicate_object or unique_violation then null;
    end;
    -- the login role acts as these, and is not itself one of them: it inherits no policy
    execute format('grant %I to current_user with inherit false, set true', r);
    execute format('grant usage on schema public to %I', r);
  end loop;
end $$;

-- One row a tenant. head_seq is the last space sequence; next_no holds the element counters.
create table space (
  space_id text primary key check (space_id ~ '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$'),
  name text,
  description text,
  owner text not null,
  public boolean not null default false,
  tier int not null default 0,
  tier_updated_at timestamptz not null default now(),
  settings jsonb not null default '{}',
  head_seq bigint not null default 0,
  first_seq bigint not null default 0,
  schema_env_version int not null default 1,
  identity_version int not null default 1,
  trust_version int not null default 1,
  self_concept text,
  next_no jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
) with (fillfactor = 50);

-- A job. The row is the outbox: state 'accepted' with dispatched_at null waits to be sent.
--   accepted  -> running    a worker's claim (attempt + 1, fence + 1, lease set)
--   running   -> accepted   retry, release or expired lease (available_at set, dispatched_at null)
--   running   -> succeeded | failed | cancelled     by the holder of the fence
--   accepted  -> cancelled | failed                 by a caller, or with its predecessor
-- A terminal row never changes again, save that retention deletes it.
create table job (
  id text primary key,
  seq bigint generated always as identity,
  space_id text not null,
  kind text not null,
  queue text not null,
  lane text,
  state text not null default 'accepted'
    check (state in ('accepted', 'running', 'succeeded', 'failed', 'cancelled')),
  principal text not null,
  principal_kind text not null,
  payload jsonb not null,
  operation text not null,
  idem_key text,
  idem_digest text,
  coalesce_key text,
  coalesced_into text,
  after_id text,
  parent_id text,
  request_id text,
  receipt_ref text not null unique,
  accepted_seq bigint not null,
  attempt int not null default 0,
  released int not null default 0,
  max_attempts int not null check (max_attempts >= 1),
  deaths int not null default 0,
  fence bigint not null default 0,
  lease_owner text,
  lease_until timestamptz,
  cancel_requested_at timestamptz,
  available_at timestamptz not null default now(),
  dispatched_at timestamptz,
  accepted_at timestamptz not null default now(),
  claimed_at timestamptz,
  finished_at timestamptz,
  progress jsonb,
  cursor jsonb,
  disposition text,
  resolved_seq bigint,
  available_seq bigint,
  result jsonb,
  error jsonb,
  check ((state = 'running') = (lease_owner is not null)),
  check ((state = 'running') = (lease_until is not null)),
  check ((state in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null))
) with (fillfactor = 70);
create unique index job_idempotency on job (space_id, principal, operation, idem_key)
  where idem_key is not null;
create unique index job_lane_running on job (space_id, lane) where state = 'running' and lane is not null;
create index job_lane_open on job (space_id, lane, seq)
  where state in ('accepted', 'running') and lane is not null;
create index job_undispatched on job (space_id, queue, seq)
  where state = 'accepted' and dispatched_at is null and lane is null;
create index job_dispatched on job (space_id, queue)
  where state = 'accepted' and dispatched_at is not null;
create index job_sent on job (queue, dispatched_at) where state = 'accepted' and dispatched_at is not null;
create index job_leases on job (lease_until) where state = 'running';
create unique index job_coalesce on job (space_id, coalesce_key)
  where state = 'accepted' and coalesce_key is not null and coalesced_into is null;
create index job_coalesced on job (coalesced_into) where coalesced_into is not null;
create index job_after on job (after_id) where after_id is not null;
create index job_parent on job (parent_id) where parent_id is not null;
create index job_list on job (space_id, seq);
create index job_maintenance on job (space_id, accepted_seq) where kind = 'maintenance';
create index job_finished on job (finished_at) where finished_at is not null;

-- One row a transition; replaying a job's events gives its current state.
create table job_event (
  id bigint generated always as identity,
  space_id text not null,
  job_id text not null,
  at timestamptz not null default clock_timestamp(),
  event text not null,
  attempt int not null,
  fence bigint not null,
  worker text,
  detail jsonb,
  primary key (job_id, id)
);

-- One row an incarnation of a worker process; the id is fresh at each boot.
create table worker (
  id text primary key,
  host text not null,
  pid int not null,
  role text not null,
  queues text[] not null,
  threads int not null,
  version text not null,
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now(),
  stopped_at timestamptz
) with (fillfactor = 50);
create index worker_beat on worker (beat_at);

-- Leadership by lease rather than by session lock: a stopped process loses it when it expires.
create table leader (
  name text primary key,
  owner text not null,
  until timestamptz not null
) with (fillfactor = 50);

-- A due tick becomes the job with the idempotency key 'schedule:<id>:<due time>'.
create table schedule (
  id text primary key,
  name text not null unique,
  space_id text not null,
  cron text not null,
  timezone text not null default 'UTC',
  kind text not null,
  payload jsonb not null default '{}',
  catch_up text not null default 'once' check (catch_up in ('skip', 'once')),
  jitter_seconds int not null default 0 check (jitter_seconds between 0 and 86400),
  paused boolean not null default false,
  next_due timestamptz,
  last_due timestamptz,
  last_job text,
  created_at timestamptz not null default now()
);
create index schedule_due on schedule (next_due) where not paused;

-- What a formation, recall or maintenance run saw and said. `final_status` is written at the end;
-- until then the status is that of its job.
create sequence conversation_id;
create table conversation (
  space_id text not null,
  id bigint not null default nextval('conversation_id'),
  collection text not null check (collection in ('formation', 'recall', 'maintenance')),
  job_id text,
  principal text not null,
  thread text,
  label text,
  messages jsonb not null default '[]',
  resources jsonb not null default '[]',
  artifacts jsonb not null default '[]',
  extra jsonb not null default '{}',
  final_status text check (final_status in ('completed', 'failed', 'cancelled')),
  failed_reason text,
  usage jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (space_id, id)
);
create index conversation_list on conversation (space_id, collection, id);
create index conversation_job on conversation (job_id) where job_id is not null;

-- Model tokens by purpose, added once an attempt in the transaction that ends the attempt.
create table usage_total (
  space_id text not null,
  collection text not null,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cached_tokens bigint not null default 0,
  requests bigint not null default 0,
  primary key (space_id, collection)
);

-- Keys made by this installation (page cursors). Not tenant data, but behind the same wall.
create table secret_key (
  space_id text not null,
  purpose text not null,
  key bytea not null,
  created_at timestamptz not null default now(),
  primary key (space_id, purpose)
);

grant usage on sequence conversation_id to brainstem_app;
grant select (space_id, head_seq, updated_at) on space to brainstem_ledger;
create policy space_ledger on space for select to brainstem_ledger using (true);
-- Ending a job ends the record of its run in the same statement, also when the sweeper does it.
grant select (space_id, id, job_id, final_status), update (final_status, failed_reason, updated_at)
  on conversation to brainstem_ledger;
create policy conversation_ledger on conversation to brainstem_ledger using (true) with check (true);
