-- Immutable facts sit in one table a kind; whatever can change sits in element_ver, one row a
-- version with a half-open range of space sequences. "Now" is seq_to = 9223372036854775807, so
-- that the present and `AS OF SEQ s` (seq_from <= s < seq_to) are asked with the same SQL.
-- Only a purge edits old rows: it deletes the kind row and every version and edge of the element,
-- and keeps the element row as its stub.

-- One row a commit that changed state: the record and its change envelope (no values in it).
create table commit_record (
  space_id text not null,
  space_seq bigint not null,
  tx_id text not null unique,
  snapshot_seq bigint not null,
  committed_at timestamptz not null,
  tx_class text not null,
  principal text not null,
  request_digest text,
  plan_digest text,
  result_digest text,
  schema_env_version int not null,
  changes jsonb not null,
  primary key (space_id, space_seq)
);
create index commit_time on commit_record (space_id, committed_at);

-- Retained outcomes of keyed requests, committed and no_effect alike.
create table idem (
  space_id text not null,
  principal text not null,
  op_class text not null,
  key text not null,
  request_digest text not null,
  tx_id text,
  outcome jsonb not null,
  created_at timestamptz not null,
  primary key (space_id, principal, op_class, key)
);

-- Identity and immutable facts. kind: C concept, P proposition, A assertion, E evidence, X activity.
-- client_digest covers what was written under client_key, so that a retry is told from a conflict.
create table element (
  space_id text not null,
  id text not null,
  kind "char" not null check (kind in ('C', 'P', 'A', 'E', 'X')),
  schema_ref text,
  type_lineage text,
  key text,
  client_key text,
  client_digest text,
  created_seq bigint not null,
  created_at timestamptz not null,
  origin jsonb not null,
  purged_seq bigint,
  stub jsonb,
  primary key (space_id, id),
  check (client_key is null or client_digest is not null)
);
create unique index element_key on element (space_id, type_lineage, key)
  where kind = 'C' and key is not null;
create index element_key_any on element (space_id, key) where kind = 'C' and key is not null;
create unique index element_client_key on element (space_id, kind, client_key)
  where client_key is not null;
create index element_type on element (space_id, type_lineage, id) where kind = 'C';
create index element_purged on element (space_id, kind) where purged_seq is not null;

-- status: an assertion's or evidence's lifecycle, an activity's status; null for the other kinds.
-- planes: how often {attributes, structural, retention, facets: {ref}} changed.
-- doc: attributes, facets, aliases, retention, lifecycle links, times of an activity.
-- doing, sort: two attributes that are asked for by themselves, as columns, because row-level
-- security lets an index serve leakproof operators only, and none on jsonb is (no GIN on doc either).
create table element_ver (
  space_id text not null,
  id text not null,
  version int not null check (version >= 1),
  seq_from bigint not null,
  seq_to bigint not null default 9223372036854775807,
  updated_at timestamptz not null,
  tx_id text not null,
  state text not null default 'active'
    check (state in ('active', 'archived', 'tombstoned', 'merged', 'purged')),
  status text,
  recording text not null default 'valid',
  quarantined boolean not null default false,
  planes jsonb not null default '{}',
  name text,
  doc jsonb not null default '{}',
  doing text generated always as (doc #>> '{attributes,status}') stored,
  sort text generated always as (doc #>> '{attributes,insight_class}') stored,
  primary key (space_id, id, seq_from),
  check (seq_from < seq_to)
);
create unique index element_ver_now on element_ver (space_id, id)
  where seq_to = 9223372036854775807;
create index element_ver_name on element_ver (space_id, name)
  where seq_to = 9223372036854775807 and name is not null;
create index element_ver_corrected on element_ver (space_id, id) where status = 'corrected';
create index element_ver_doing on element_ver (space_id, doing)
  where seq_to = 9223372036854775807 and doing is not null;
create index element_ver_sort on element_ver (space_id, sort)
  where seq_to = 9223372036854775807 and sort is not null;

-- object_key is 'e:<id>', 'l:<canonical JSON>', or 'h:<digest>' of a literal too long for an index.
create table proposition (
  space_id text not null,
  id text not null,
  created_seq bigint not null,
  subject_id text not null,
  predicate_ref text not null,
  predicate_lineage text not null,
  object_id text,
  object_lit jsonb,
  object_key text not null,
  primary key (space_id, id),
  check ((object_id is null) <> (object_lit is null))
);
create unique index proposition_tuple
  on proposition (space_id, subject_id, predicate_lineage, object_key);
create index proposition_object on proposition (space_id, object_key, predicate_lineage);

-- valid_time as written; the columns after it are derived from it once (storage.graph.validity).
create table assertion (
  space_id text not null,
  id text not null,
  created_seq bigint not null,
  proposition_id text not null,
  asserted_by text not null,
  stance text not null check (stance in ('support', 'reject', 'uncertain')),
  mode text not null
    check (mode in ('observed', 'stated', 'inferred', 'predicted', 'hypothetical', 'imported')),
  confidence double precision check (confidence between 0 and 1),
  asserted_at timestamptz not null,
  valid_time jsonb,
  from_earliest timestamptz,
  from_latest timestamptz,
  until_earliest timestamptz,
  until_latest timestamptz,
  start_key timestamptz not null,
  from_written boolean not null default false,
  context_refs text[] not null default '{}',
  primary key (space_id, id)
);
create index assertion_proposition on assertion (space_id, proposition_id);
create index assertion_actor on assertion (space_id, asserted_by, asserted_at);

create table evidence (
  space_id text not null,
  id text not null,
  created_seq bigint not null,
  evidence_class text not null,
  payload jsonb,
  content_digest text,
  media_type text,
  observed_at timestamptz,
  primary key (space_id, id)
);
create index evidence_digest on evidence (space_id, content_digest);

create table activity (
  space_id text not null,
  id text not null,
  created_seq bigint not null,
  activity_class text not null,
  parameters_digest text,
  primary key (space_id, id)
);

-- Structural references. A core field (evidence, source, generated_by, inputs, outputs,
-- associated_actors) has its plain name in both columns; a profile's field its exact ref and lineage.
create table edge (
  space_id text not null,
  source_id text not null,
  field_ref text not null,
  field_lineage text not null,
  target_id text not null,
  seq_from bigint not null,
  seq_to bigint not null default 9223372036854775807,
  position int,
  role text,
  options jsonb,
  primary key (space_id, source_id, field_lineage, target_id, seq_from)
);
create index edge_back on edge (space_id, target_id, field_lineage, seq_from);

create table merge_link (
  space_id text not null,
  source_id text not null,
  target_id text not null,
  seq_from bigint not null,
  primary key (space_id, source_id)
);
create index merge_link_target on merge_link (space_id, target_id);

-- Packages that a space has installed beside the built-in ones (storage/graph/packages).
create table schema_package (
  space_id text not null,
  package_ref text not null,
  digest text not null,
  body jsonb not null,
  created_seq bigint not null,
  primary key (space_id, package_ref)
);
create table schema_env (
  space_id text not null,
  version int not null,
  seq_from bigint not null,
  lock jsonb not null,
  primary key (space_id, version)
);
create table draft_symbol (
  space_id text not null,
  symbol_kind text not null check (symbol_kind in ('concept_type', 'predicate')),
  name text not null,
  definition jsonb not null,
  created_seq bigint not null,
  primary key (space_id, symbol_kind, name)
);
create table lineage_map (
  space_id text not null,
  symbol_kind text not null,
  from_lineage text not null,
  to_lineage text not null,
  seq_from bigint not null,
  primary key (space_id, symbol_kind, from_lineage)
);

create table trust_record (
  space_id text not null,
  id bigint generated always as identity,
  subject jsonb not null,
  context jsonb not null,
  trust_class text not null,
  policy text not null,
  set_at timestamptz not null,
  primary key (space_id, id)
);

-- What was shown to whom: append-only, no part of memory, takes no sequence.
create table exposure (
  space_id text not null,
  id bigint generated always as identity,
  element_id text not null,
  what text not null,
  snapshot_seq bigint not null,
  at timestamptz not null,
  primary key (space_id, id)
);
create index exposure_element on exposure (space_id, element_id);

-- Digests of sources that were erased and must not come back.
create table source_suppression (
  space_id text not null,
  source_digest text not null,
  plan_ref text not null,
  created_at timestamptz not null,
  primary key (space_id, source_digest)
);

-- Young tables get their statistics early: plans made for a handful of rows do not suit a thousand.
do $$
declare t text;
begin
  foreach t in array array['element', 'element_ver', 'proposition', 'assertion', 'evidence',
                           'activity', 'edge'] loop
    execute format('alter table %I set (autovacuum_analyze_threshold = 200,'
                   ' autovacuum_analyze_scale_factor = 0.05)', t);
  end loop;
end $$;
