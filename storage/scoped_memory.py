"""What a recall within a scope may see (seed 003 section 3, contract memory-interface section 10).

A record has a set of contexts: those of its MemoryScope facet, and those that an assertion was made
in. It is admitted when that set is part of the request's; one without contexts always is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.clock import parse_text
from storage.database import Scope, Transaction, sql
from storage.graph.belief_identity import identity_of
from storage.graph.schema import lineage_of
from storage.graph.state import NOW, at_seq, version

_FACET = "kip://profiles/cognitive-memory/MemoryScope"
_PROFILE = "kip://profiles/cognitive-memory/"
#: Statuses of a commitment that is still to be kept.
OPEN = ("pending", "blocked")


@dataclass(frozen=True, slots=True)
class Record:
    """A concept with its attributes, and the messages that it was taken from."""

    id: str
    type: str
    version: int
    name: str | None
    attributes: dict[str, Any]
    evidence: tuple[str, ...]

    def text(self, *names: str) -> str:
        """The first of some attributes that says something, else the name."""
        for name in names:
            value = self.attributes.get(name)
            if isinstance(value, str) and value.strip():
                return value.strip()
        return self.name or self.id

    def moment(self, name: str) -> datetime | None:
        """An attribute that is a time."""
        value = self.attributes.get(name)
        return parse_text(value) if isinstance(value, str) else None


def admitted(
    tx: Transaction, scope: Scope, ids: Collection[str], contexts: frozenset[str], seq: int | None
) -> set[str]:
    """Which of some elements a request with these contexts may see.

    Elements that are erased, tombstoned or unknown at that state are not among them.
    """
    if not ids:
        return set()
    rows = tx.execute(
        sql(
            f"""
            select w.id, v.doc -> 'facets', a.context_refs
              from unnest(%(ids)s::text[]) as w(id)
              join {version("v", "w.id", seq)} on v.state in ('active', 'archived', 'merged')
              left join lateral (select context_refs from assertion a
                     where a.space_id = %(space)s and a.id = w.id limit 1) a
                     on w.id like 'A-%%'
            """
        ),
        {"space": scope.space_id, "ids": sorted(ids), "seq": seq},
    )
    sets = {id: _of_facets(facets).union(refs or ()) for id, facets, refs in rows}
    named = {one for found in sets.values() for one in found}
    if not named:
        return set(sets)
    identity = identity_of(tx, scope, named, seq)
    return {id for id, found in sets.items() if identity.all_of(found) <= contexts}


def contexts_of(
    tx: Transaction, scope: Scope, handles: Collection[str], seq: int | None
) -> frozenset[str]:
    """The contexts of a request as what they are merged into."""
    return identity_of(tx, scope, handles, seq).all_of(handles) if handles else frozenset()


def _of_facets(facets: Any) -> set[str]:
    found: set[str] = set()
    for ref, value in (facets or {}).items():
        if lineage_of(ref) == _FACET and isinstance(value, dict):
            found.update(_id(one) for one in value.get("context_refs") or ())
            if value.get("task_ref"):
                found.add(_id(value["task_ref"]))
    return found


def _id(reference: Any) -> str:
    return str(reference["id"]) if isinstance(reference, dict) else str(reference)


def rules(tx: Transaction, scope: Scope, seq: int | None, limit: int) -> list[Record]:
    """Standing instructions (Insights of class `constraint`) in force, oldest first."""
    return _records(tx, scope, seq, limit, "Insight", "sort", ("constraint",))


def promises(tx: Transaction, scope: Scope, seq: int | None, limit: int) -> list[Record]:
    """Commitments that are pending or blocked, oldest first."""
    return _records(tx, scope, seq, limit, "Commitment", "doing", OPEN)


def some(
    tx: Transaction, scope: Scope, types: Sequence[str], seq: int | None, ids: Collection[str]
) -> list[Record]:
    """Those of some concepts that are of these types and active, in the order of `ids`."""
    found = {
        record.id: record
        for record in _read(
            tx,
            scope,
            seq,
            "unnest(%(ids)s::text[]) as w(id)",
            {"ids": list(ids), "types": [_PROFILE + name for name in types], "limit": len(ids)},
        )
    }
    return [found[id] for id in dict.fromkeys(ids) if id in found]


def of_types(
    tx: Transaction, scope: Scope, types: Sequence[str], seq: int | None, limit: int
) -> list[Record]:
    """Up to `limit` active concepts of these types; fewer may be told where many are not active.

    What they were made of is left out: one conversation can have a thousand messages.
    """
    source = """
        unnest(%(types)s::text[]) as t(lineage)
        cross join lateral (select id from element e where e.space_id = %(space)s and e.kind = 'C'
               and e.type_lineage = t.lineage limit 2 * %(limit)s) w"""
    lineages = [_PROFILE + name for name in types]
    return _read(tx, scope, seq, source, {"types": lineages, "limit": limit}, evidence=False)


def _records(
    tx: Transaction,
    scope: Scope,
    seq: int | None,
    limit: int,
    type_: str,
    column: str,
    values: Sequence[str],
) -> list[Record]:
    """Concepts of a type by what its version says of itself; there is an index for the present."""
    source = f"""
        (select id from element_ver v where v.space_id = %(space)s and v.seq_to = {NOW}
            and v.{column} = any(%(values)s) offset 0) w"""
    if seq is not None:
        source = """
        (select id from element e where e.space_id = %(space)s and e.kind = 'C'
            and e.type_lineage = any(%(types)s) offset 0) w"""
    given = {"types": [_PROFILE + type_], "values": list(values), "limit": limit}
    return _read(tx, scope, seq, source, given, where=f"v.{column} = any(%(values)s)")


def _read(
    tx: Transaction,
    scope: Scope,
    seq: int | None,
    source: str,
    given: dict[str, Any],
    *,
    where: str = "true",
    evidence: bool = True,
) -> list[Record]:
    made_of = f"""
        array(select distinct i.target_id from edge o
                join lateral (select target_id from edge i
                       where i.space_id = %(space)s and i.source_id = o.source_id
                         and i.field_lineage = 'inputs' and {at_seq("i", seq)}
                         and i.target_id like 'E-%%' offset 0) i on true
               where o.space_id = %(space)s and o.target_id = e.id
                 and o.field_lineage = 'outputs' and {at_seq("o", seq)}
               order by i.target_id)"""
    rows = tx.execute(
        sql(
            f"""
            select e.id, e.type_lineage, v.version, v.name, v.doc -> 'attributes',
                   {made_of if evidence else "'{}'::text[]"}
              from {source}
              join lateral (select id, type_lineage, created_seq from element e
                     where e.space_id = %(space)s and e.id = w.id and e.kind = 'C'
                       and e.type_lineage = any(%(types)s) limit 1) e on true
              join {version("v", "e.id", seq)} on v.state = 'active' and {where}
             order by e.created_seq, length(e.id), e.id limit %(limit)s
            """
        ),
        {"space": scope.space_id, "seq": seq, **given},
    )
    return [
        Record(id, lineage.rpartition("/")[2], number, name, attributes or {}, tuple(cited))
        for id, lineage, number, name, attributes, cited in rows
    ]


def claims_at(
    tx: Transaction, scope: Scope, propositions: Collection[str], seq: int | None
) -> list[str]:
    """The propositions of the slots that some propositions lie in, whatever their value."""
    rows = tx.execute(
        sql(
            f"""
            select distinct r.id from unnest(%(ids)s::text[]) as w(id)
              join lateral (select subject_id, predicate_lineage from proposition p
                     where p.space_id = %(space)s and p.id = w.id limit 1) p on true
              join lateral (select id from proposition r where r.space_id = %(space)s
                     and r.subject_id = p.subject_id
                     and r.predicate_lineage = p.predicate_lineage offset 0) r on true
              join {version("v", "r.id", seq)} on v.state = 'active'
            """
        ),
        {"space": scope.space_id, "ids": sorted(propositions), "seq": seq},
    )
    return [id for (id,) in rows]


def about(tx: Transaction, scope: Scope, element: str, limit: int) -> list[str]:
    """Assertions about an element: about what it says, or about it as subject or object."""
    rows = tx.execute(
        """
        select a.id from (
            select id from proposition where space_id = %(space)s and id = %(id)s
            union select id from proposition where space_id = %(space)s and subject_id = %(id)s
            union select id from proposition where space_id = %(space)s
               and object_key = 'e:' || %(id)s
            union select proposition_id from assertion where space_id = %(space)s and id = %(id)s
            union select a.proposition_id from edge d
              join lateral (select proposition_id from assertion a where a.space_id = %(space)s
                     and a.id = d.source_id limit 1) a on true
             where d.space_id = %(space)s and d.target_id = %(id)s and d.field_lineage = 'evidence'
          ) p
          cross join lateral (select id from assertion a where a.space_id = %(space)s
                 and a.proposition_id = p.id offset 0) a
         order by length(a.id) desc, a.id desc limit %(limit)s
        """,
        {"space": scope.space_id, "id": element, "limit": limit},
    )
    return [id for (id,) in rows]


def expose(
    tx: Transaction, scope: Scope, elements: Collection[str], seq: int, at: datetime
) -> None:
    """Note that elements were told of, which strengthens nothing (KIP specification 66.8)."""
    tx.execute(
        "insert into exposure (space_id, element_id, what, snapshot_seq, at)"
        " select %s, w.id, 'retrieved', %s, %s from unnest(%s::text[]) as w(id)",
        (scope.space_id, seq, at, sorted(elements)),
    )


def erased_since(tx: Transaction, scope: Scope, elements: Collection[str], seq: int) -> bool:
    """Whether any element, or the payload of one, was erased after a sequence.

    Holds the space still until the transaction ends, so that no erasure slips in after the look.
    """
    tx.execute("select from space where space_id = %s for share", (scope.space_id,))
    row = tx.execute(
        """
        select exists (
          select from unnest(%(ids)s::text[]) as w(id)
            join lateral (select purged_seq from element e where e.space_id = %(space)s
                   and e.id = w.id limit 1) e on true
            left join lateral (select payload from evidence n where n.space_id = %(space)s
                   and n.id = w.id limit 1) n on true
            left join lateral (select seq_from from element_ver v where v.space_id = %(space)s
                   and v.id = w.id and v.seq_to = 9223372036854775807 limit 1) v on true
           where e.purged_seq > %(seq)s
              or (n.payload ->> 'mode' = 'purged' and v.seq_from > %(seq)s))
        """,
        {"space": scope.space_id, "ids": sorted(elements), "seq": seq},
    ).fetchone()
    assert row is not None
    return bool(row[0])
