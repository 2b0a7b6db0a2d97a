"""Belief out of the store: load whole slots in a fixed number of statements, then project them.

A slot is a subject and a predicate, of one object type where the predicate says so. Candidates are
named by their object key (`storage.graph.state.object_key`), which identifies a value within it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from storage.database import Scope, Transaction, sql
from storage.graph.belief import Belief, Claim, Question, SlotBelief, project
from storage.graph.schema import PredicateDef, Schema, environment
from storage.graph.state import at_seq, object_key, version
from storage.graph.validity import Bounds


@dataclass(frozen=True, slots=True)
class Slot:
    """A projected slot. `propositions` maps object keys to the propositions that are stored."""

    subject: str
    predicate: PredicateDef
    belief: SlotBelief
    propositions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Candidate:
    proposition: str
    subject: str
    lineage: str
    object_key: str
    object_type: str | None


def beliefs(
    tx: Transaction,
    scope: Scope,
    propositions: Collection[str],
    question: Question,
    *,
    schema: Schema | None = None,
    seq: int | None = None,
) -> dict[str, Belief]:
    """What is believed of each proposition; unknown ids are left out.

    A predicate that takes many values is projected candidate by candidate, so `slot_status` then
    speaks of the one value alone; `slot_of` sees the whole slot.
    """
    if not propositions:
        return {}
    schema = schema or environment(tx, scope)
    targets = _candidates(tx, scope, seq, ids=list(propositions))
    single = {(t.subject, t.lineage) for t in targets if _takes_one(schema.predicate(t.lineage))}
    rivals = _candidates(tx, scope, seq, slots=sorted(single)) if single else []
    everything = {c.proposition: c for c in (*targets, *rivals)}
    said = _claims(tx, scope, everything, seq)
    groups: dict[tuple[str, ...], list[_Candidate]] = defaultdict(list)
    for candidate in everything.values():
        groups[_group(candidate, schema.predicate(candidate.lineage))].append(candidate)
    wanted = set(propositions)
    found: dict[str, Belief] = {}
    for members in groups.values():
        if not any(m.proposition in wanted for m in members):
            continue
        slot = _project(tx, scope, members, said, schema.predicate(members[0].lineage), question)
        for member in members:
            if member.proposition in wanted:
                found[member.proposition] = slot.candidates[member.object_key]
    return found


def slot_of(
    tx: Transaction,
    scope: Scope,
    subject: str,
    predicate: str,
    question: Question,
    *,
    object_id: str | None = None,
    literal: Any = None,
    object_type: str | None = None,
    schema: Schema | None = None,
    seq: int | None = None,
) -> Slot:
    """The whole slot of a subject and a predicate.

    With `object_id` or `literal`, that value is a candidate even when it was never stored, and the
    slot is that of its type where the predicate divides it by type; `object_type` (a lineage)
    chooses the part without naming a value. Raises `SchemaSymbolNotFound`.
    """
    schema = schema or environment(tx, scope)
    definition = schema.predicate(predicate)
    candidates = _candidates(tx, scope, seq, slots=[(subject, definition.lineage)])
    asked: list[str] = []
    if object_id is not None:
        row = tx.execute(
            "select type_lineage from element where space_id = %s and id = %s",
            (scope.space_id, object_id),
        ).fetchone()
        object_type = row[0] if row else object_type
    if object_id is not None or literal is not None:
        asked = [object_key(object_id, literal)]
    if definition.functional_by_type and object_type is not None:
        candidates = [c for c in candidates if c.object_type == object_type]
    said = _claims(tx, scope, {c.proposition: c for c in candidates}, seq)
    belief = _project(tx, scope, candidates, said, definition, question, extra=asked)
    return Slot(subject, definition, belief, {c.object_key: c.proposition for c in candidates})


def _takes_one(predicate: PredicateDef) -> bool:
    return predicate.functional or predicate.functional_by_type


def _group(candidate: _Candidate, predicate: PredicateDef) -> tuple[str, ...]:
    """Which candidates are projected together."""
    if predicate.functional:
        return candidate.subject, candidate.lineage
    if predicate.functional_by_type:
        return candidate.subject, candidate.lineage, candidate.object_type or ""
    return candidate.subject, candidate.lineage, "", candidate.object_key


def _project(
    tx: Transaction,
    scope: Scope,
    members: Sequence[_Candidate],
    said: Mapping[str, Sequence[Claim]],
    predicate: PredicateDef,
    question: Question,
    extra: Sequence[str] = (),
) -> SlotBelief:
    claims = [claim for m in members for claim in said.get(m.proposition, ())]
    candidates = [*(m.object_key for m in members), *extra]

    def projected(claims: Sequence[Claim]) -> SlotBelief:
        return project(
            claims,
            candidates,
            question,
            functional=_takes_one(predicate),
            overlap_conflicts=predicate.temporal_conflict != "none",
        )

    slot = projected(claims)
    if any(belief.status == "contested" for belief in slot.candidates.values()):
        # which side leads depends on how many independent sources it has
        slot = projected(_by_source(tx, scope, claims))
    return slot


def _candidates(
    tx: Transaction,
    scope: Scope,
    seq: int | None,
    *,
    ids: Sequence[str] = (),
    slots: Sequence[tuple[str, str]] = (),
) -> list[_Candidate]:
    """Propositions by id, or all of some slots, with the type of their object."""
    if slots:
        wanted = "unnest(%(subjects)s::text[], %(lineages)s::text[]) as w(subject, lineage)"
        match = "p.subject_id = w.subject and p.predicate_lineage = w.lineage"
    else:
        wanted, match = "unnest(%(ids)s::text[]) as w(id)", "p.id = w.id"
    rows = tx.execute(
        sql(
            f"""
            select p.id, p.subject_id, p.predicate_lineage, p.object_key, o.type_lineage
              from {wanted}
              join lateral (select * from proposition p
                     where p.space_id = %(space)s and {match} offset 0) p on true
              left join lateral (select type_lineage from element o
                     where o.space_id = %(space)s and o.id = p.object_id limit 1) o on true
             where %(seq)s::bigint is null or p.created_seq <= %(seq)s
            """
        ),
        {
            "space": scope.space_id,
            "seq": seq,
            "ids": list(ids),
            "subjects": [subject for subject, _ in slots],
            "lineages": [lineage for _, lineage in slots],
        },
    )
    return [_Candidate(*row) for row in rows]


def _claims(
    tx: Transaction, scope: Scope, candidates: Mapping[str, _Candidate], seq: int | None
) -> dict[str, list[Claim]]:
    """The assertions that may count, by proposition.

    Left out: retracted, superseded, tombstoned, purged, quarantined and misrecorded ones. Archived
    ones still count. An inference is weak, because nothing here says that its premises still hold;
    so is a claim all of whose supporting evidence was corrected. `roots` are evidence ids.
    """
    if not candidates:
        return {}
    rows = tx.execute(
        sql(
            f"""
            select a.id, a.proposition_id, a.asserted_by, a.stance, a.mode,
                   a.from_earliest, a.from_latest, a.until_earliest, a.until_latest, a.start_key,
                   a.from_written, a.context_refs,
                   array(select d.target_id from edge d
                          where d.space_id = %(space)s and d.source_id = a.id
                            and d.field_lineage = 'evidence' and d.role = 'support'
                            and {at_seq("d", seq)})
              from unnest(%(ids)s::text[]) as p(id)
              join lateral (select * from assertion a where a.space_id = %(space)s
                     and a.proposition_id = p.id offset 0) a on true
              join {version("v", "a.id", seq)} on true
             where v.status = 'active' and v.state in ('active', 'archived')
               and v.recording = 'valid' and not v.quarantined
            """
        ),
        {"space": scope.space_id, "ids": list(candidates), "seq": seq},
    ).fetchall()
    corrected = _corrected(tx, scope, {source for row in rows for source in row[12]}, seq)
    found: dict[str, list[Claim]] = defaultdict(list)
    for element_id, proposition, actor, stance, mode, *bounds, contexts, sources in rows:
        candidate = candidates[proposition]
        found[proposition].append(
            Claim(
                id=element_id,
                proposition=candidate.object_key,
                actor=actor,
                stance=stance,
                mode=mode,
                bounds=Bounds(*bounds),
                contexts=frozenset(contexts),
                own=actor == candidate.subject,
                weak=mode == "inferred" or (bool(sources) and corrected.issuperset(sources)),
                roots=frozenset(sources),
            )
        )
    return found


def _corrected(
    tx: Transaction, scope: Scope, evidence: Collection[str], seq: int | None
) -> frozenset[str]:
    """Those of the evidence that a later record corrects; few of a space ever are."""
    if not evidence:
        return frozenset()
    rows = tx.execute(
        sql(
            f"""
            select v.id from element_ver v
             where v.space_id = %(space)s and v.status = 'corrected' and v.id = any(%(ids)s)
               and {at_seq("v", seq)}
            """
        ),
        {"space": scope.space_id, "ids": list(evidence), "seq": seq},
    )
    return frozenset(element_id for (element_id,) in rows)


def _by_source(tx: Transaction, scope: Scope, claims: Sequence[Claim]) -> list[Claim]:
    """The claims with `roots` by content, so that copies of one source count once."""
    sources = {source for claim in claims for source in claim.roots}
    rows = tx.execute(
        """
        select e.id, e.content_digest from unnest(%s::text[]) as w(id)
          join lateral (select id, content_digest from evidence e
                 where e.space_id = %s and e.id = w.id limit 1) e on true
         where e.content_digest is not null
        """,
        (sorted(sources), scope.space_id),
    )
    digests: dict[str, str] = dict(rows.fetchall())
    return [
        replace(claim, roots=frozenset(digests.get(source, source) for source in claim.roots))
        for claim in claims
    ]
