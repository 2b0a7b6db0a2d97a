"""What a space holds right now, read under its lock: elements by id, key, digest or tuple."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.canonical import canonical_json, digest_bytes
from storage.database import Scope, Transaction, sql
from storage.graph.validity import ValidTime

#: `seq_to` of what is current.
NOW = 9223372036854775807
#: Object keys longer than this are hashed; a btree row holds some 2.7 kB.
_LONG_KEY = 1000


@dataclass(frozen=True, slots=True)
class StoredProposition:
    """The tuple of a proposition."""

    subject: str
    predicate_ref: str
    predicate_lineage: str
    object_id: str | None
    object_lit: Any
    object_key: str


@dataclass(frozen=True, slots=True)
class StoredAssertion:
    """What an assertion says; its lifecycle is in the element's version."""

    proposition: str
    actor: str
    stance: str
    mode: str
    asserted_at: datetime
    valid: ValidTime
    contexts: frozenset[str]


@dataclass(frozen=True, slots=True)
class StoredEvidence:
    """What is kept of an evidence whatever becomes of its payload."""

    evidence_class: str
    content_digest: str | None
    purged: bool


@dataclass(frozen=True, slots=True)
class Stored:
    """An element in its current version."""

    id: str
    kind: str
    schema_ref: str | None
    type_lineage: str | None
    key: str | None
    version: int
    state: str
    status: str | None
    planes: dict[str, Any]
    name: str | None
    doc: dict[str, Any]
    proposition: StoredProposition | None = None
    assertion: StoredAssertion | None = None
    activity_class: str | None = None
    evidence: StoredEvidence | None = None


def at_seq(alias: str, seq: int | None) -> str:
    """The condition that a row is current (`seq` None) or was so at `%(seq)s`."""
    if seq is None:
        return f"{alias}.seq_to = {NOW}"
    return f"{alias}.seq_from <= %(seq)s and %(seq)s < {alias}.seq_to"


def version(alias: str, element: str, seq: int | None = None) -> str:
    """A lateral lookup of an element's version, current or at `%(seq)s`, in space `%(space)s`.

    Lookups of the graph are laterals with a limit, so that each is one index probe whatever the
    planner believes about a space (a young one has no statistics, and tenants differ by orders).
    """
    return (
        f"lateral (select * from element_ver {alias} where {alias}.space_id = %(space)s"
        f" and {alias}.id = {element} and {at_seq(alias, seq)} limit 1) {alias}"
    )


def object_key(object_id: str | None, literal: Any) -> str:
    """The identity of a proposition's object: an element, or a literal by its canonical JSON."""
    if object_id is not None:
        return f"e:{object_id}"
    text = canonical_json(literal)
    return f"l:{text}" if len(text) <= _LONG_KEY else f"h:{digest_bytes(text.encode())}"


def load(tx: Transaction, scope: Scope, ids: Collection[str]) -> dict[str, Stored]:
    """Elements by id, with what their kind adds; purged and unknown ids are left out."""
    if not ids:
        return {}
    rows = tx.execute(
        sql(
            f"""
            select e.id, e.kind::text, e.schema_ref, e.type_lineage, e.key,
                   v.version, v.state, v.status, v.planes, v.name, v.doc,
                   p.subject_id, p.predicate_ref, p.predicate_lineage, p.object_id, p.object_lit,
                   p.object_key,
                   a.proposition_id, a.asserted_by, a.stance, a.mode, a.asserted_at, a.valid_time,
                   a.context_refs, x.activity_class,
                   o.evidence_class, o.content_digest, o.payload ->> 'mode' = 'purged'
              from unnest(%(ids)s::text[]) as w(id)
              join lateral (select * from element e
                     where e.space_id = %(space)s and e.id = w.id limit 1) e on true
              join {version("v", "w.id")} on v.state <> 'purged'
              left join lateral (select * from proposition p
                     where p.space_id = %(space)s and p.id = w.id limit 1) p on e.kind = 'P'
              left join lateral (select * from assertion a
                     where a.space_id = %(space)s and a.id = w.id limit 1) a on e.kind = 'A'
              left join lateral (select * from activity x
                     where x.space_id = %(space)s and x.id = w.id limit 1) x on e.kind = 'X'
              left join lateral (select * from evidence o
                     where o.space_id = %(space)s and o.id = w.id limit 1) o on e.kind = 'E'
            """
        ),
        {"space": scope.space_id, "ids": sorted(ids)},
    )
    found = {}
    for row in rows:
        proposition = StoredProposition(*row[11:17]) if row[1] == "P" else None
        assertion = _assertion(row[17:24]) if row[1] == "A" else None
        evidence = StoredEvidence(row[25], row[26], bool(row[27])) if row[1] == "E" else None
        values = (*row[:11], proposition, assertion, row[24], evidence)
        found[row[0]] = Stored(*values)
    return found


def _assertion(row: tuple[Any, ...]) -> StoredAssertion:
    proposition, actor, stance, mode, asserted_at, valid, contexts = row
    return StoredAssertion(
        proposition,
        actor,
        stance,
        mode,
        asserted_at,
        ValidTime.from_json(valid),
        frozenset(contexts),
    )


def concepts_by_key(
    tx: Transaction, scope: Scope, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Concept ids by (type lineage, key)."""
    if not keys:
        return {}
    rows = tx.execute(
        """
        select w.lineage, w.key, e.id
          from unnest(%s::text[], %s::text[]) as w(lineage, key)
          join lateral (select id from element e where e.space_id = %s and e.kind = 'C'
                 and e.type_lineage = w.lineage and e.key = w.key limit 1) e on true
        """,
        ([lineage for lineage, _ in keys], [key for _, key in keys], scope.space_id),
    )
    return {(lineage, key): found for lineage, key, found in rows}


def concepts_by_bare_key(
    tx: Transaction, scope: Scope, keys: Sequence[str]
) -> dict[str, list[str]]:
    """Ids of the concepts of any type that have one of the keys."""
    if not keys:
        return {}
    rows = tx.execute(
        "select key, id from element where space_id = %s and kind = 'C' and key = any(%s)"
        " order by id",
        (scope.space_id, list(keys)),
    )
    found: dict[str, list[str]] = {}
    for key, element_id in rows:
        found.setdefault(key, []).append(element_id)
    return found


def by_client_key(
    tx: Transaction, scope: Scope, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], tuple[str, str]]:
    """(id, digest of what was written) by (kind, client key)."""
    if not keys:
        return {}
    rows = tx.execute(
        """
        select w.kind::text, w.key, e.id, e.client_digest
          from unnest(%s::"char"[], %s::text[]) as w(kind, key)
          join lateral (select id, client_digest from element e where e.space_id = %s
                 and e.kind = w.kind and e.client_key = w.key limit 1) e on true
        """,
        ([kind for kind, _ in keys], [key for _, key in keys], scope.space_id),
    )
    return {(kind, key): (element_id, digest) for kind, key, element_id, digest in rows}


def evidence_by_digest(tx: Transaction, scope: Scope, digests: Collection[str]) -> dict[str, str]:
    """The first evidence of each content digest that is still held."""
    if not digests:
        return {}
    rows = tx.execute(
        """
        select w.digest, e.id from unnest(%s::text[]) as w(digest)
          join lateral (select id from evidence e where e.space_id = %s
                 and e.content_digest = w.digest order by e.created_seq, e.id limit 1) e on true
        """,
        (sorted(digests), scope.space_id),
    )
    return dict(rows.fetchall())


def suppressed(tx: Transaction, scope: Scope, digests: Collection[str]) -> frozenset[str]:
    """Those of the digests whose source was erased and must not come back."""
    if not digests:
        return frozenset()
    rows = tx.execute(
        "select source_digest from source_suppression"
        " where space_id = %s and source_digest = any(%s)",
        (scope.space_id, sorted(digests)),
    )
    return frozenset(digest for (digest,) in rows)


def propositions_by_tuple(
    tx: Transaction, scope: Scope, tuples: Sequence[tuple[str, str, str]]
) -> dict[tuple[str, str, str], str]:
    """Proposition ids by (subject, predicate lineage, object key)."""
    if not tuples:
        return {}
    subjects, lineages, keys = map(list, zip(*tuples, strict=True))
    rows = tx.execute(
        """
        select w.subject, w.lineage, w.object, p.id
          from unnest(%s::text[], %s::text[], %s::text[]) as w(subject, lineage, object)
          join lateral (select id from proposition p where p.space_id = %s
                 and p.subject_id = w.subject and p.predicate_lineage = w.lineage
                 and p.object_key = w.object limit 1) p on true
        """,
        (subjects, lineages, keys, scope.space_id),
    )
    return {(subject, lineage, key): found for subject, lineage, key, found in rows}


@dataclass(frozen=True, slots=True)
class Testimony:
    """What makes two assertions the same record for `CreateAssertion.once`."""

    proposition: str
    actor: str
    stance: str
    mode: str
    valid: str
    evidence: frozenset[str]
    contexts: frozenset[str]


def assertions_like(
    tx: Transaction, scope: Scope, propositions: Collection[str]
) -> dict[Testimony, str]:
    """The assertions about some propositions, whatever their state, by what they testify."""
    if not propositions:
        return {}
    rows = tx.execute(
        sql(
            f"""
            select a.id, a.proposition_id, a.asserted_by, a.stance, a.mode, a.valid_time,
                   a.context_refs,
                   array(select d.target_id from edge d where d.space_id = %(space)s
                            and d.source_id = a.id and d.field_lineage = 'evidence'
                            and {at_seq("d", None)})
              from unnest(%(ids)s::text[]) as w(id)
              join lateral (select * from assertion a where a.space_id = %(space)s
                     and a.proposition_id = w.id offset 0) a on true
             order by a.created_seq desc, a.id desc
            """
        ),
        {"space": scope.space_id, "ids": sorted(propositions)},
    )
    return {
        Testimony(
            proposition,
            actor,
            stance,
            mode,
            canonical_json(valid),
            frozenset(evidence),
            frozenset(contexts),
        ): element_id
        for element_id, proposition, actor, stance, mode, valid, contexts, evidence in rows
    }


def merged_into(tx: Transaction, scope: Scope, ids: Collection[str]) -> set[str]:
    """The concepts that were merged into one of the elements."""
    if not ids:
        return set()
    rows = tx.execute(
        "select source_id from merge_link where space_id = %s and target_id = any(%s)",
        (scope.space_id, sorted(ids)),
    )
    return {source for (source,) in rows}


def referrers(tx: Transaction, scope: Scope, ids: Collection[str]) -> dict[str, set[str]]:
    """What refers to elements at present, by each of them.

    Propositions and the assertions about them, actors and contexts of assertions, structural
    references, merged concepts, and what was superseded or corrected by one. Contexts are looked
    for in all assertions that have any.
    """
    space = {"space": scope.space_id, "ids": sorted(ids)}
    rows = tx.execute(
        sql(
            f"""
            select w.id, r.id from unnest(%(ids)s::text[]) as w(id)
              cross join lateral (
                select id from proposition where space_id = %(space)s and subject_id = w.id
                union
                select id from proposition where space_id = %(space)s
                   and object_key = 'e:' || w.id
                union
                select id from assertion where space_id = %(space)s and proposition_id = w.id
                union
                select id from assertion where space_id = %(space)s and asserted_by = w.id
                union
                select d.source_id from edge d where d.space_id = %(space)s
                   and d.target_id = w.id and {at_seq("d", None)}
                union
                select source_id from merge_link where space_id = %(space)s and target_id = w.id
              ) r
            """
        ),
        space,
    ).fetchall()
    if any(element[0] == "C" for element in ids):
        rows += tx.execute(
            """
            select c.id, a.id from assertion a
             cross join lateral unnest(a.context_refs) as c(id)
             where a.space_id = %(space)s and a.context_refs <> '{}'
               and a.context_refs && %(ids)s and c.id = any(%(ids)s)
            """,
            space,
        ).fetchall()
    if any(element[0] in "AE" for element in ids):
        rows += tx.execute(
            sql(
                f"""
                select v.successor, v.id from element_ver v
                 where v.space_id = %(space)s and {at_seq("v", None)}
                   and v.status in ('superseded', 'corrected') and v.successor = any(%(ids)s)
                """
            ),
            space,
        ).fetchall()
    found: dict[str, set[str]] = {}
    for element, referrer in rows:
        if referrer != element:
            found.setdefault(element, set()).add(referrer)
    return found


@dataclass(frozen=True, slots=True)
class StoredEdge:
    """A current structural reference."""

    source: str
    field: str
    target: str
    role: str | None
    position: int | None


def edges_from(
    tx: Transaction, scope: Scope, sources: Collection[str], lineages: Collection[str]
) -> list[StoredEdge]:
    """The current references of some fields from some elements, in order."""
    if not sources:
        return []
    rows = tx.execute(
        sql(
            f"""
            select d.source_id, d.field_lineage, d.target_id, d.role, d.position
              from unnest(%(sources)s::text[]) as s(id), unnest(%(fields)s::text[]) as f(lineage),
                   lateral (select * from edge d where d.space_id = %(space)s
                       and d.source_id = s.id and d.field_lineage = f.lineage
                       and {at_seq("d", None)} offset 0) d
             order by d.source_id, d.field_lineage, d.position, d.target_id
            """
        ),
        {"space": scope.space_id, "sources": sorted(sources), "fields": sorted(lineages)},
    )
    return [StoredEdge(*row) for row in rows]
