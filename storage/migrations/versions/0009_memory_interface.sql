-- Sources that a caller has handed over and not (or not yet) had formed. `given_observed_at` is what
-- the caller said; `observed_at` what holds. An erased one keeps its row, without its messages.
create table staged_source (
  space_id text not null,
  ref text not null,
  caller text not null,
  idem_key text not null,
  idem_digest text not null,
  kind text not null check (kind in ('message', 'tool_trace', 'artifact')),
  messages jsonb,
  message_digests text[] not null,
  source_digest text not null,
  given_observed_at timestamptz,
  observed_at timestamptz not null,
  source_order jsonb,
  captured_at timestamptz not null,
  state text not null default 'staged' check (state in ('staged', 'captured', 'erased')),
  evidence_refs text[] not null default '{}',
  primary key (space_id, ref),
  unique (space_id, caller, idem_key),
  check ((state = 'erased') = (messages is null))
);
create index staged_source_digest on staged_source (space_id, source_digest);
