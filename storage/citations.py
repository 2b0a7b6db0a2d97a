"""Elements in a few words, for who only wants to know what was found (`MemoryCitation`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from storage.clock import to_text
from storage.database import Scope, Transaction, sql
from storage.graph.state import at_seq, version
from storage.graph.symbols import local_name

_CITED = sql(
    f"""
    select w.id, coalesce(e.schema_ref, p.predicate_ref, v.evidence_class, x.activity_class),
           n.name, a.confidence, coalesce(s.name, s.id), e.created_at
      from unnest(%(ids)s::text[]) with ordinality as w(id, place)
      join lateral (select * from element e
             where e.space_id = %(space)s and e.id = w.id and e.purged_seq is null limit 1) e
        on true
      join {version("n", "w.id")} on true
      left join lateral (select * from assertion a
             where a.space_id = %(space)s and a.id = w.id limit 1) a on e.kind = 'A'
      left join lateral (select * from proposition p where p.space_id = %(space)s
             and p.id = coalesce(a.proposition_id, w.id) limit 1) p on e.kind in ('P', 'A')
      left join lateral (select * from evidence v
             where v.space_id = %(space)s and v.id = w.id limit 1) v on e.kind = 'E'
      left join lateral (select * from activity x
             where x.space_id = %(space)s and x.id = w.id limit 1) x on e.kind = 'X'
      left join lateral (select d.target_id from edge d
             where d.space_id = %(space)s and d.source_id = w.id and d.field_lineage = 'source'
               and {at_seq("d", None)}
             order by d.position, d.target_id limit 1) d on e.kind = 'E'
      left join {version("s", "coalesce(a.asserted_by, d.target_id)")} on true
     order by w.place
    """
)


def cite(tx: Transaction, scope: Scope, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The elements in the order of `ids`; unknown and erased ones are left out.

    `type` is the local name of a concept's type or of what a claim says, or the class of a piece
    of evidence or an activity. `source` is who claimed or said it. Members without a value are
    left out.
    """
    rows = tx.execute(_CITED, {"space": scope.space_id, "ids": list(ids)})
    return [
        {
            name: value
            for name, value in (
                ("entity", entity),
                ("type", local_name(ref) if ref else None),
                ("name", name),
                ("confidence", confidence),
                ("source", source),
                ("created_at", to_text(created)),
            )
            if value is not None
        }
        for entity, ref, name, confidence, source, created in rows
    ]
