-- The runtime inbox (seed 003 section 4.6). None of these tables holds words of memory: what was
-- asked, answered or measured is Evidence, and is erased there; here are ids, times and digests.

-- A wake: something that fired and waits for a decision. The commit that fires a Watch records it;
-- an answered clarification opens another one, whose parent is the wake that asked.
create table runtime_wake (
  space_id text not null,
  id text not null,
  wake_ref text not null,
  fire_ref text not null,
  parent_id text,
  created_seq bigint not null,
  primary key (space_id, id)
);
create index runtime_wake_order on runtime_wake (space_id, created_seq, id);
create index runtime_wake_fire on runtime_wake (space_id, fire_ref);

create function runtime_wake_recorded() returns trigger language plpgsql as $$
declare ref text := 'wakes/' || new.space_id || '/' || new.id;
begin
  insert into runtime_wake (space_id, id, wake_ref, fire_ref, created_seq)
  values (new.space_id, 'sha256:' || encode(sha256(convert_to(ref, 'UTF8')), 'hex'), ref, new.id,
          new.created_seq)
  on conflict do nothing;
  return null;
end $$;
create trigger runtime_wake_recorded after insert on activity
  for each row when (new.activity_class = 'watch_fire') execute function runtime_wake_recorded();

-- whoever migrates owns the table, and row-level security is forced upon owners, too
alter table activity no force row level security;
insert into runtime_wake (space_id, id, wake_ref, fire_ref, created_seq)
select x.space_id, 'sha256:' || encode(sha256(convert_to(r.ref, 'UTF8')), 'hex'), r.ref, x.id,
       x.created_seq
  from activity x cross join lateral (select 'wakes/' || x.space_id || '/' || x.id as ref) r
 where x.activity_class = 'watch_fire';
alter table activity force row level security;

-- What a gate decided about a wake; the decision itself is the DecisionRecord of the Activity, and
-- why is Evidence. The last four are of an ask: what was asked (Evidence), whom, until when, and
-- the receipt of the answer.
create table runtime_gate (
  space_id text not null,
  gate_ref text not null,
  wake_id text not null,
  number bigint not null generated always as identity,
  decided_at timestamptz not null,
  rationale_ref text,
  question_ref text,
  recipient text,
  deadline timestamptz,
  answered_by text,
  primary key (space_id, gate_ref)
);
create index runtime_gate_wake on runtime_gate (space_id, wake_id, number);

-- An attempt that was sent on its way. `author` is the runtime that recorded it.
create table runtime_dispatch (
  space_id text not null,
  id text not null,
  attempt_ref text not null,
  gate_ref text not null,
  kind text not null,
  request_digest text not null,
  author text not null,
  control_domain text not null,
  dispatched_at timestamptz not null,
  delivered_at timestamptz,
  reconciled_at timestamptz,
  outcome_ref text,
  outcome_status text,
  primary key (space_id, id),
  unique (space_id, attempt_ref)
);
create index runtime_dispatch_gate on runtime_dispatch (space_id, gate_ref);

create table runtime_response (
  space_id text not null,
  receipt_id text not null,
  wake_id text not null,
  principal text not null,
  event_key text not null,
  body_digest text not null,
  kind text not null,
  status text not null,
  evidence_ref text not null,
  activity_ref text not null,
  created_at timestamptz not null,
  primary key (space_id, receipt_id),
  unique (space_id, principal, event_key)
);

create table runtime_outcome (
  space_id text not null,
  receipt_id text not null,
  observer text not null,
  event_key text not null,
  body_digest text not null,
  attempt_ref text not null,
  contract_digest text not null,
  received_at timestamptz not null,
  observed_at timestamptz not null,
  status text not null,
  native_committed boolean not null,
  terminal boolean not null,
  outcome_status text not null,
  outcome_ref text,
  observation_ref text,
  correction_of text,
  reason text,
  safety_pending boolean not null,
  primary key (space_id, receipt_id),
  unique (space_id, observer, event_key)
);

-- The same event with another body: refused, and kept by its digest.
create table runtime_conflict (
  space_id text not null,
  number bigint not null generated always as identity,
  inbox text not null check (inbox in ('response', 'outcome')),
  principal text not null,
  event_key text not null,
  body_digest text not null,
  at timestamptz not null,
  primary key (space_id, number)
);

-- Changes that a product host prepared for one of its callers (seed 003 section 9.1). The request
-- is immutable; its words go when it ends, and digests and ids stay.
create table product_request (
  space_id text not null,
  caller text not null,
  operation_id text not null,
  kind text not null,
  record_id text not null,
  revision text not null,
  request jsonb,
  request_digest text not null,
  preview jsonb,
  preview_digest text not null,
  state text not null check (state in ('prepared', 'committed', 'discarded', 'voided')),
  result jsonb,
  touched text[] not null default '{}',
  prepared_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  primary key (space_id, caller, operation_id)
);
create index product_request_touched on product_request using gin (touched);

-- Watches on one record, each its caller's own. The row outlives the Watch, so that a subscription
-- that was cancelled is never granted anew.
create table product_watch (
  space_id text not null,
  caller text not null,
  operation_id text not null,
  request_digest text not null,
  watch_ref text not null,
  record_id text not null,
  cancelled_at timestamptz,
  created_at timestamptz not null,
  primary key (space_id, caller, operation_id)
);
