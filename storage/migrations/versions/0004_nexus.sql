-- Records tell the path that wrote (channel) from the class of the transaction, and hold changes of
-- the schema and of identities beside those of elements. Rows of before have a null channel; they
-- are read in the form of today (storage/graph/transactions.py).
alter table commit_record
  add column channel text,
  add column control jsonb;

-- What an environment is made of, as a digest: environments of one digest are one.
alter table schema_env add column digest text;

create index idem_age on idem (space_id, created_at);
