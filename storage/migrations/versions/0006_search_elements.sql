-- Spaces that were filled before every element was indexed by the commit that writes it. Their
-- maintenance jobs bring in what is missing, in the order of ids; `after` is the last id looked at,
-- and the row goes when the last element is in. Until then searches say that they are not complete.
create table search_backlog (
  space_id text not null primary key,
  after text not null default ''
);
-- whoever migrates owns the table, and row-level security is forced upon owners, too
alter table space no force row level security;
insert into search_backlog (space_id) select space_id from space where head_seq > 0;
alter table space force row level security;
