-- Queries go by indexes on text columns, since row-level security lets indexes serve leakproof
-- operators only. What an index serves for the present it must serve for the past as well.

-- What replaced a claim or corrected an evidence, as a column, so that it is found from there too.
alter table element_ver add column successor text generated always as
  (coalesce(doc ->> 'superseded_by', doc ->> 'corrected_by')) stored;
create index element_ver_successor on element_ver (space_id, successor)
  where successor is not null;

-- Names of every version; the names of the present have an index of their own.
create index element_ver_named on element_ver (space_id, name) where name is not null;
create index element_ver_did on element_ver (space_id, doing) where doing is not null;
create index element_ver_sorted on element_ver (space_id, sort) where sort is not null;

-- The few elements that a read leaves out: tuples ask this index instead of every tuple's version.
create index element_ver_hidden on element_ver (space_id, id)
  where state <> 'active' or quarantined;

create index proposition_object_id on proposition (space_id, object_id, predicate_lineage)
  where object_id is not null;
create index proposition_predicate on proposition (space_id, predicate_lineage, id);
create index evidence_class on evidence (space_id, evidence_class, id);
create index activity_class on activity (space_id, activity_class, id);
create index edge_field on edge (space_id, field_lineage);

-- A time as memory spells it, null for any other text.
create function kip_instant(given text) returns timestamptz
language plpgsql immutable strict parallel safe as $$
begin
  if given !~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$' then
    return null;
  end if;
  return given::timestamptz;
exception when others then
  return null;
end $$;

-- Refuses what goes beyond a cap, where cutting off would look like absence.
create function kip_exhausted() returns boolean
language plpgsql volatile as $$
begin
  raise exception using errcode = 'KX001', message = 'cap exceeded';
end $$;
