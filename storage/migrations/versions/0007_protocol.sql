-- Questions that an exhaustive search at head_seq could not answer, by a keyed digest of their
-- words.
create table probe_miss (
  space_id text not null,
  query_digest bytea not null,
  head_seq bigint not null,
  missed_at timestamptz not null default now(),
  primary key (space_id, query_digest)
);
