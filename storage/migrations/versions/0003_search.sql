-- Vectors are optional, their type is not: every server that Brainstem accepts carries pgvector.
create extension if not exists vector;

-- One row a space and kind of document: the figures that BM25 divides by. `analyser` is the version
-- that its documents' terms are of.
create table search_collection (
  space_id text not null,
  kind text not null check (kind ~ '^[a-z]+$'),
  documents bigint not null default 0 check (documents >= 0),
  length bigint not null default 0 check (length >= 0),
  analyser text not null,
  primary key (space_id, kind)
) with (fillfactor = 50);

-- One row a searchable element. `length` counts its terms with repeats. `term_ids` names its
-- postings, so that removing it needs no index by document. `embed_text` is null where it equals
-- `text`. Replacing an element makes a new row with a new id, so a vector never outlives its text.
create table search_document (
  space_id text not null,
  id bigint not null generated always as identity,
  kind text not null,
  element_id text not null,
  text text not null,
  embed_text text,
  at timestamptz,
  length int not null,
  term_ids bigint[] not null,
  primary key (space_id, kind, id),
  unique (space_id, element_id)
);

-- df: documents of the collection that hold the term. No further index: updates of df stay HOT.
create table search_term (
  space_id text not null,
  kind text not null,
  term text collate "C" not null,
  id bigint not null generated always as identity,
  df bigint not null,
  primary key (space_id, kind, term),
  unique (space_id, id)
) with (fillfactor = 70);

-- The covering key is all that a query reads: an index-only scan once vacuum has passed, so
-- vacuum passes early.
create table search_posting (
  space_id text not null,
  term_id bigint not null,
  document_id bigint not null,
  tf int not null,
  dl int not null,
  primary key (space_id, term_id, document_id) include (tf, dl)
) with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_scale_factor = 0.05);

-- What one embedder has done in one collection; vectors of different embedders never meet.
-- `vectors` is exact, so that coverage costs one row.
create table search_embedding (
  space_id text not null,
  kind text not null,
  embedder text not null,
  dim int not null check (dim between 1 and 4000),
  vectors bigint not null default 0 check (vectors >= 0),
  primary key (space_id, kind, embedder)
) with (fillfactor = 50);

create table search_vector (
  space_id text not null,
  kind text not null,
  embedder text not null,
  document_id bigint not null,
  vector halfvec not null,
  primary key (space_id, kind, document_id, embedder),
  foreign key (space_id, kind, document_id) references search_document (space_id, kind, id)
    on delete cascade
);
