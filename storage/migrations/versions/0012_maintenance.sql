-- One row a space: how far upkeep has come, its totals and its last reports (numbers, ids and
-- times; never words of memory). `next_due` is when something falls due by time alone.
create table memory_upkeep (
  space_id text primary key,
  corrections_seq bigint not null default 0,
  corrections_entry int not null default 0,
  corrections bigint not null default 0,
  exposures_id bigint not null default 0,
  exposed bigint not null default 0,
  tested_after text not null default '',
  last_self_test_at timestamptz,
  self_tested bigint not null default 0,
  self_grounded bigint not null default 0,
  reencode_tasks bigint not null default 0,
  last_settlement jsonb,
  last_self_test jsonb,
  last_shadow jsonb,
  last_schema_audit jsonb,
  graph jsonb,
  next_due timestamptz,
  updated_at timestamptz not null default now()
) with (fillfactor = 50);
create index memory_upkeep_due on memory_upkeep (next_due) where next_due is not null;

-- The stages of a maintenance run that has not ended, so that a restart repeats none.
create table maintenance_stage (
  space_id text not null,
  job_id text not null,
  stage text not null,
  told jsonb not null,
  done boolean not null,
  primary key (space_id, job_id, stage)
);

-- How far the change stream was held against an armed Watch, by its arm.
create table watch_progress (
  space_id text not null,
  watch_id text not null,
  generation int not null,
  consumed_seq bigint not null,
  primary key (space_id, watch_id)
);

-- Claims that a self-test asked for.
create table self_test_result (
  space_id text not null,
  element_id text not null,
  tested_at timestamptz not null,
  grounded boolean not null,
  primary key (space_id, element_id)
);

-- Counters of what leaves no other trace, each over a few rows.
create table memory_metric (
  space_id text not null,
  name text not null,
  slot int not null,
  value double precision not null default 0,
  updated_at timestamptz not null default now(),
  primary key (space_id, name, slot)
) with (fillfactor = 50);

create index conversation_recalled on conversation (space_id, updated_at)
  where collection = 'recall' and final_status = 'completed';
create index element_ver_expiring on element_ver (space_id, id)
  where seq_to = 9223372036854775807 and (doc #>> '{retention,expires_at}') is not null;
