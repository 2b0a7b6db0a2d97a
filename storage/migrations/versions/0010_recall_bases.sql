-- What a briefing stood on: coordinates, plans and versions, never a word of memory. `detail` is
-- null once it is no longer kept; the row then still tells that there was one.
create table recall_base (
  space_id text not null,
  ref text not null,
  caller text not null,
  job_id text not null,
  snapshot_seq bigint not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  detail jsonb,
  primary key (space_id, ref)
);
create index recall_base_age on recall_base (space_id, created_at);
create index recall_base_kept on recall_base (space_id, expires_at) where detail is not null;

-- The elements behind each item of a briefing, in the versions that it was made of.
create table recall_base_element (
  space_id text not null,
  ref text not null,
  item int not null,
  position int not null,
  element_id text not null,
  version int not null,
  digest text not null,
  primary key (space_id, ref, item, position)
);
create index recall_base_element_of on recall_base_element (space_id, element_id);

create index activity_class_made on activity (space_id, activity_class, created_seq);
