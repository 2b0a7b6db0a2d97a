-- Rises with all that changes what may be processed (`storage.epochs`).
alter table space add column processing_epoch bigint not null default 0;

-- A source may be refused on several accounts; withdrawing one leaves the others.
alter table source_suppression drop constraint source_suppression_pkey;
alter table source_suppression add primary key (space_id, source_digest, plan_ref);

-- An operation is its caller's own, and so is what was refused by it. Whoever migrates owns the
-- tables, and row-level security is forced upon owners, too.
alter table source_suppression no force row level security;
alter table product_request no force row level security;
update source_suppression s
   set plan_ref = 'product:' || jsonb_build_array(p.caller, p.operation_id)::text
  from product_request p
 where p.space_id = s.space_id and p.kind = 'suppress' and p.state = 'committed'
   and s.plan_ref = 'product:' || p.operation_id;
alter table source_suppression force row level security;
alter table product_request force row level security;

-- By which source of a host an evidence came, as a digest of the host's own id: so that the source
-- is known again, and refused, whatever words it comes with next time.
create table evidence_identity (
  space_id text not null,
  evidence_id text not null,
  identity_digest text not null,
  primary key (space_id, evidence_id, identity_digest)
);
