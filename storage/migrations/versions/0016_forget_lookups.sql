-- What rests on a claim that is forgotten, and what holds a purged concept in its contexts, were
-- looked for in every row of their tables. Both are conditions on jsonb and arrays, for which no index
-- serves behind row-level security; but few rows have such a basis or contexts at all.
create index element_ver_basis on element_ver (space_id, id)
  where seq_to = 9223372036854775807 and id like 'X-%' and doc ? 'facets';
create index assertion_in_contexts on assertion (space_id, id) where context_refs <> '{}';
