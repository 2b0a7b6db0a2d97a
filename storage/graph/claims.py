"""Reading memory: claims with their belief, commitments, constraints, people, evidence.

Every function is a fixed number of indexed statements, however many elements are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from storage.clock import parse_text
from storage.database import Scope, Transaction, sql
from storage.graph.belief import Belief, Question
from storage.graph.schema import Schema, environment, local_name
from storage.graph.slots import beliefs
from storage.graph.state import NOW, at_seq, concepts_by_key, version
from storage.graph.validity import ValidTime

_PERSON = "kip://profiles/cognitive-memory/Person"
_COMMITMENT = "kip://profiles/cognitive-memory/Commitment"
_INSIGHT = "kip://profiles/cognitive-memory/Insight"
_COMMITTED_TO = "kip://profiles/cognitive-memory/committed_to"
_OWED_TO = "kip://profiles/cognitive-memory/owed_to"
_ABOUT = "kip://profiles/cognitive-memory/about"

#: What an open commitment's status may be.
OPEN_STATUSES = ("pending", "blocked")
ALL_STATUSES = (*OPEN_STATUSES, "fulfilled", "cancelled", "expired")


@dataclass(frozen=True, slots=True)
class Statement:
    """An assertion with its names. `status` is its lifecycle: active, retracted, superseded.

    `object` is the object's name, or the literal as text; `object_type` a concept type's local
    name, or "string"; `predicate` is a local name.
    """

    id: str
    proposition: str
    subject_id: str
    subject: str
    predicate: str
    predicate_ref: str
    object_id: str | None
    object: str
    object_type: str
    stance: str
    mode: str
    confidence: float | None
    asserted_by_id: str
    asserted_by: str
    asserted_at: datetime
    valid: ValidTime
    status: str
    evidence: tuple[str, ...]


_STATEMENT_FIELDS = tuple(field.name for field in fields(Statement))


@dataclass(frozen=True, slots=True)
class ClaimView(Statement):
    """A statement, and what is believed of its proposition at the asked moment.

    `belief` speaks of the proposition, which others may also have claimed or denied.
    """

    belief: Belief

    @property
    def stands(self) -> bool:
        """Whether the claim is active and memory believes what it says."""
        wanted = "rejected" if self.stance == "reject" else "accepted"
        return self.status == "active" and self.belief.status == wanted


@dataclass(frozen=True, slots=True)
class CommitmentView:
    """A promise, obligation or plan. `evidence` are the messages that it was taken from."""

    id: str
    key: str | None
    summary: str
    status: str
    due_at: datetime | None
    created_at: datetime | None
    by_id: str | None
    by: str | None
    owed_to: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConstraintView:
    """A standing instruction in the words of who gave it."""

    id: str
    text: str
    created_at: datetime | None
    by_id: str | None
    by: str | None
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """A record of what was said; `payload` is None once its bytes were erased."""

    id: str
    evidence_class: str
    payload: Any
    observed_at: datetime | None
    source_id: str | None
    source: str | None


def claims_for(
    tx: Transaction,
    scope: Scope,
    question: Question,
    *,
    assertions: Collection[str] = (),
    propositions: Collection[str] = (),
    schema: Schema | None = None,
    seq: int | None = None,
) -> list[ClaimView]:
    """The named assertions, and all those about the named propositions, in order of claim time.

    Retracted and superseded ones are there too, with their status. `seq` reads the state after
    that commit instead of the present.
    """
    found = statements(tx, scope, assertions=assertions, propositions=propositions, seq=seq)
    wanted = {statement.proposition for statement in found}
    believed = beliefs(tx, scope, wanted, question, schema=schema, seq=seq)
    return [
        ClaimView(
            **{name: getattr(statement, name) for name in _STATEMENT_FIELDS},
            belief=believed[statement.proposition],
        )
        for statement in found
    ]


def statements(
    tx: Transaction,
    scope: Scope,
    *,
    assertions: Collection[str] = (),
    propositions: Collection[str] = (),
    seq: int | None = None,
) -> list[Statement]:
    """As `claims_for`, without asking what is believed."""
    if not assertions and not propositions:
        return []
    rows = tx.execute(
        sql(
            f"""
            select a.id, a.proposition_id, p.subject_id, p.predicate_ref, p.object_id,
                   p.object_lit, a.stance, a.mode, a.confidence, a.asserted_by, a.asserted_at,
                   a.valid_time, v.status,
                   array(select d.target_id from edge d
                          where d.space_id = %(space)s and d.source_id = a.id
                            and d.field_lineage = 'evidence' and {at_seq("d", seq)}
                          order by d.target_id)
              from (
                select id from unnest(%(ids)s::text[]) as i(id)
                union
                select b.id from unnest(%(propositions)s::text[]) as q(id)
                  join lateral (select id from assertion b where b.space_id = %(space)s
                         and b.proposition_id = q.id offset 0) b on true
              ) w
              join lateral (select * from assertion a
                     where a.space_id = %(space)s and a.id = w.id limit 1) a on true
              join {version("v", "a.id", seq)} on true
              join lateral (select * from proposition p
                     where p.space_id = %(space)s and p.id = a.proposition_id limit 1) p on true
             where v.state in ('active', 'archived') and v.recording = 'valid'
               and not v.quarantined
             order by a.asserted_at, a.created_seq, length(a.id), a.id
            """
        ),
        {
            "space": scope.space_id,
            "ids": list(assertions),
            "propositions": list(propositions),
            "seq": seq,
        },
    ).fetchall()
    named = {element for row in rows for element in (row[2], row[4], row[9]) if element}
    names = _names(tx, scope, named, seq)
    return [_statement(row, names) for row in rows]


def _names(
    tx: Transaction, scope: Scope, ids: Collection[str], seq: int | None
) -> dict[str, tuple[str, str]]:
    """Name (else the id) and local type name of elements."""
    rows = tx.execute(
        sql(
            f"""
            select w.id, coalesce(v.name, w.id), coalesce(e.schema_ref, '')
              from unnest(%(ids)s::text[]) as w(id)
              left join {version("v", "w.id", seq)} on true
              left join lateral (select schema_ref from element e
                     where e.space_id = %(space)s and e.id = w.id limit 1) e on true
            """
        ),
        {"space": scope.space_id, "ids": sorted(ids), "seq": seq},
    )
    return {element: (name, local_name(ref)) for element, name, ref in rows}


def _statement(row: Sequence[Any], names: Mapping[str, tuple[str, str]]) -> Statement:
    element_id, proposition, subject_id, predicate_ref, object_id, literal = row[:6]
    stance, mode, confidence, actor_id, asserted_at, valid, status, evidence = row[6:]
    target = (_literal_text(literal), "string") if object_id is None else names[object_id]
    return Statement(
        element_id,
        proposition,
        subject_id,
        names[subject_id][0],
        local_name(predicate_ref),
        predicate_ref,
        object_id,
        *target,
        stance,
        mode,
        confidence,
        actor_id,
        names[actor_id][0],
        asserted_at,
        ValidTime.from_json(valid),
        status,
        tuple(evidence),
    )


def _literal_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def claims_by(
    tx: Transaction, scope: Scope, people: Collection[str], *, limit: int = 500
) -> list[str]:
    """The newest active assertions that some people made; ids, newest first.

    Archived ones are not among them: what is offered for new work is what is in force now.
    """
    if not people:
        return []
    rows = tx.execute(
        sql(
            f"""
            select a.id from unnest(%(people)s::text[]) as w(id)
              join lateral (
                select a.id, a.asserted_at from assertion a
                  join {version("v", "a.id")} on true
                 where a.space_id = %(space)s and a.asserted_by = w.id
                   and v.status = 'active' and v.state = 'active'
                 order by a.asserted_at desc limit %(limit)s
              ) a on true
             order by a.asserted_at desc, length(a.id) desc, a.id desc limit %(limit)s
            """
        ),
        {"space": scope.space_id, "people": list(people), "limit": limit},
    )
    return [element_id for (element_id,) in rows]


#: The evidence that an element `e` was made of, through the activities that made it.
_SOURCES = f"""
    array(select distinct i.target_id from edge o
            join lateral (select target_id from edge i where i.space_id = %(space)s
                   and i.source_id = o.source_id and i.field_lineage = 'inputs'
                   and {at_seq("i", None)} and i.target_id like 'E-%%' offset 0) i on true
           where o.space_id = %(space)s and o.target_id = e.id and o.field_lineage = 'outputs'
             and {at_seq("o", None)}
           order by i.target_id)
"""
#: Id and name of what an element `e` points to by the field `%(by)s`.
_POINTED = f"""
    lateral (select n.id, n.name from edge d join {version("n", "d.target_id")} on true
              where d.space_id = %(space)s and d.source_id = e.id and d.field_lineage = %(by)s
                and {at_seq("d", None)} order by n.id limit 1) by
"""


def commitments(
    tx: Transaction,
    scope: Scope,
    *,
    ids: Collection[str] | None = None,
    people: Collection[str] | None = None,
    statuses: Collection[str] = OPEN_STATUSES,
    limit: int = 500,
) -> list[CommitmentView]:
    """Commitments of some statuses, those due first first, those without a date last.

    `ids` asks for those alone; `people` for those that they made or that are owed to them.
    """
    rows = tx.execute(
        sql(
            f"""
            select e.id, e.key, v.doc->'attributes', by.id, by.name,
                   array(select n.name from edge d join {version("n", "d.target_id")} on true
                          where d.space_id = %(space)s and d.source_id = e.id
                            and d.field_lineage = %(owed)s and {at_seq("d", None)}
                          order by n.name),
                   {_SOURCES}
              from element_ver v
              join lateral (select id, key, created_seq from element e
                     where e.space_id = %(space)s and e.id = v.id and e.kind = 'C'
                       and e.type_lineage = %(type)s limit 1) e on true
              left join {_POINTED} on true
             where v.space_id = %(space)s and v.seq_to = {NOW} and v.state = 'active'
               and v.doing = any(%(statuses)s)
               and (%(ids)s::text[] is null or v.id = any(%(ids)s))
               and (%(people)s::text[] is null or exists (
                     select from edge d where d.space_id = %(space)s and d.source_id = v.id
                        and d.field_lineage in (%(by)s, %(owed)s)
                        and d.target_id = any(%(people)s) and {at_seq("d", None)}))
             order by v.doc #>> '{{attributes,due_at}}' nulls last, e.created_seq, length(e.id),
                      e.id
             limit %(limit)s
            """
        ),
        {
            "space": scope.space_id,
            "type": _COMMITMENT,
            "by": _COMMITTED_TO,
            "owed": _OWED_TO,
            "statuses": list(statuses),
            "ids": None if ids is None else list(ids),
            "people": None if people is None else list(people),
            "limit": limit,
        },
    )
    return [
        CommitmentView(
            element_id,
            key,
            attributes["summary"],
            attributes["status"],
            _time(attributes.get("due_at")),
            _time(attributes.get("created_at")),
            by_id,
            by,
            tuple(name for name in owed if name),
            tuple(evidence),
        )
        for element_id, key, attributes, by_id, by, owed, evidence in rows
    ]


def constraints(
    tx: Transaction, scope: Scope, *, ids: Collection[str] | None = None, limit: int = 500
) -> list[ConstraintView]:
    """The standing instructions in force, oldest first; `ids` asks for those alone."""
    rows = tx.execute(
        sql(
            f"""
            select e.id, v.doc->'attributes', by.id, by.name, {_SOURCES}
              from element_ver v
              join lateral (select id, created_seq from element e
                     where e.space_id = %(space)s and e.id = v.id and e.kind = 'C'
                       and e.type_lineage = %(type)s limit 1) e on true
              left join {_POINTED} on true
             where v.space_id = %(space)s and v.seq_to = {NOW} and v.state = 'active'
               and v.sort = 'constraint'
               and (%(ids)s::text[] is null or v.id = any(%(ids)s))
             order by e.created_seq, length(e.id), e.id limit %(limit)s
            """
        ),
        {
            "space": scope.space_id,
            "type": _INSIGHT,
            "by": _ABOUT,
            "ids": None if ids is None else list(ids),
            "limit": limit,
        },
    )
    return [
        ConstraintView(
            element_id,
            attributes["summary"],
            _time(attributes.get("created_at")),
            by_id,
            by,
            tuple(evidence),
        )
        for element_id, attributes, by_id, by, evidence in rows
    ]


def evidence(tx: Transaction, scope: Scope, ids: Collection[str]) -> dict[str, EvidenceView]:
    """Evidence by id, with who it came from."""
    rows = tx.execute(
        sql(
            f"""
            select e.id, e.evidence_class, e.payload->'inline', e.observed_at, by.id, by.name
              from unnest(%(ids)s::text[]) as w(id)
              join lateral (select * from evidence e
                     where e.space_id = %(space)s and e.id = w.id limit 1) e on true
              left join {_POINTED} on true
            """
        ),
        {"space": scope.space_id, "ids": list(ids), "by": "source"},
    )
    return {row[0]: EvidenceView(*row) for row in rows}


def concepts(
    tx: Transaction, scope: Scope, keys: Collection[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Concept ids by (type, key), the type by local name, lineage or ref."""
    if not keys:
        return {}
    schema = environment(tx, scope)
    lineages = {name: schema.type(name).lineage for name, _ in keys}
    found = concepts_by_key(tx, scope, [(lineages[name], key) for name, key in keys])
    return {
        (name, key): found[lineages[name], key]
        for name, key in keys
        if (lineages[name], key) in found
    }


def people(tx: Transaction, scope: Scope, keys: Collection[str]) -> dict[str, str]:
    """Person ids by key."""
    found = concepts(tx, scope, [(_PERSON, key) for key in keys])
    return {key: element_id for (_, key), element_id in found.items()}


def _time(text: Any) -> datetime | None:
    return None if not isinstance(text, str) else parse_text(text)
