"""What memory already holds about the people of a conversation, for the encoder to build on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pipelines.formation import likings
from pipelines.formation.capture import SPEAKING, Captured
from pipelines.formation.proposal import (
    Background,
    KnownClaim,
    KnownCommitment,
    KnownConstraint,
    Stance,
)
from storage.clock import to_text
from storage.database import Scope, Transaction, sql
from storage.graph import claims, state
from storage.graph.claims import Statement
from storage.graph.keys import person_key
from storage.graph.schema import Schema, environment
from storage.graph.validity import Bound, ValidTime
from storage.memory_scopes import of_elements

#: Claims, commitments and constraints that are offered to an encoder, the newest first.
OFFERED = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the space, from before the encoder runs.

    `known` maps the digests of messages that were captured before to their evidence; those in
    `interpreted` were read for claims then. `suppressed` are digests of erased messages, which must
    not come back. `settled` are the keys of commitments out of known messages that have moved on
    since: closed, or changed by other messages.
    """

    background: Background
    known: dict[str, str]
    interpreted: frozenset[str]
    suppressed: frozenset[str]
    settled: frozenset[str]
    schema: Schema


def read(
    tx: Transaction,
    scope: Scope,
    captured: Sequence[Captured],
    contexts: frozenset[str] | None = frozenset(),
    *,
    target: KnownClaim | None = None,
) -> Reading:
    """Read what a formation of `captured` in a context set needs, on the snapshot of `tx`.

    Only what belongs to that very context set is offered, with `target` in any case; None is a
    set of which nothing can be. What came of messages that are sent again is not offered as known:
    the encoder finds it in their text once more, and it is recognised when it is written.
    Constraints are the exception, since a withdrawal can only name what is known.
    """
    digests = {c.digest for c in captured if c.evidence is None}
    known = state.evidence_by_digest(tx, scope, digests)
    again = set(known.values())
    speakers = {person_key(c.utterance.speaker) for c in captured if c.role in SPEAKING}
    people = list(claims.people(tx, scope, speakers).values())
    said = _said(tx, scope, people, contexts)
    promised = claims.commitments(
        tx, scope, people=people, statuses=claims.ALL_STATUSES, limit=OFFERED
    )
    standing = claims.constraints(tx, scope, limit=OFFERED)
    here = _of_scope(tx, scope, [*(c.id for c in promised), *(c.id for c in standing)], contexts)
    offered = tuple(
        _known(s)
        for s in said
        if s.stance != "uncertain" and not (s.evidence and again.issuperset(s.evidence))
    )
    if target is not None and all(claim.id != target.id for claim in offered):
        offered = (target, *offered)
    return Reading(
        Background(
            claims=offered,
            commitments=tuple(
                KnownCommitment(id=c.id, summary=c.summary, by=c.by or "", due=c.due_at)
                for c in promised
                if c.id in here
                and c.status in claims.OPEN_STATUSES
                and not (c.evidence and again.issuperset(c.evidence))
            ),
            constraints=tuple(
                KnownConstraint(id=c.id, text=c.text, by=c.by or "")
                for c in standing
                if c.id in here
            ),
        ),
        known,
        _interpreted(tx, scope, known) | _told_of(tx, scope, captured, contexts),
        state.suppressed(tx, scope, {d for c in captured for d in c.excluded_by}),
        frozenset(
            c.key
            for c in promised
            if c.key is not None
            and again.intersection(c.evidence)
            and (c.status not in claims.OPEN_STATUSES or not again.issuperset(c.evidence))
        ),
        environment(tx, scope),
    )


def claim_of(tx: Transaction, scope: Scope, element_id: str) -> KnownClaim | None:
    """A claim that is in force, by its id; None for any other element."""
    found = claims.statements(tx, scope, assertions=[element_id])
    return next((_known(s) for s in found if s.status == "active"), None)


def _said(
    tx: Transaction, scope: Scope, people: Sequence[str], contexts: frozenset[str] | None
) -> list[Statement]:
    """What some people claim in a context set, the newest."""
    if contexts is None:
        return []
    ids = claims.claims_by(tx, scope, people, limit=OFFERED)
    rows = tx.execute(
        "select w.id from unnest(%s::text[]) as w(id) join lateral (select context_refs"
        " from assertion a where a.space_id = %s and a.id = w.id limit 1) a"
        " on a.context_refs @> %s::text[] and a.context_refs <@ %s::text[]",
        (ids, scope.space_id, sorted(contexts), sorted(contexts)),
    )
    return claims.statements(tx, scope, assertions=[element_id for (element_id,) in rows])


def _of_scope(
    tx: Transaction, scope: Scope, ids: Sequence[str], contexts: frozenset[str] | None
) -> frozenset[str]:
    """Those of some concepts whose facet gives them that very context set."""
    if contexts is None or not ids:
        return frozenset()
    sets = of_elements(tx, scope, ids)
    return frozenset(element for element, found in sets.items() if found == contexts)


def _interpreted(tx: Transaction, scope: Scope, known: Mapping[str, str]) -> frozenset[str]:
    """Digests of the evidence that a formation has read before, rather than merely kept."""
    rows = tx.execute(
        sql(
            f"""
            select w.id from unnest(%(ids)s::text[]) as w(id)
             where exists (
                select from edge d
                  join lateral (select activity_class from activity x
                         where x.space_id = %(space)s and x.id = d.source_id limit 1) x on true
                 where d.space_id = %(space)s and d.target_id = w.id
                   and d.field_lineage = 'inputs' and {state.at_seq("d", None)}
                   and x.activity_class in ('extraction', 'summarization'))
            """
        ),
        {"space": scope.space_id, "ids": sorted(known.values())},
    )
    read_before = {element_id for (element_id,) in rows}
    return frozenset(d for d, element_id in known.items() if element_id in read_before)


def _told_of(
    tx: Transaction, scope: Scope, captured: Sequence[Captured], contexts: frozenset[str] | None
) -> frozenset[str]:
    """Digests of the sources that are evidence and that an event of this context set tells of.

    Evidence may be handed over in another scope than its own, in which it is read anew.
    """
    sources = {c.evidence: c.digest for c in captured if c.evidence is not None}
    if contexts is None or not sources:
        return frozenset()
    rows = tx.execute(
        sql(
            f"""
            select distinct w.id, o.target_id from unnest(%(ids)s::text[]) as w(id)
              join edge i on i.space_id = %(space)s and i.target_id = w.id
               and i.field_lineage = 'inputs' and {state.at_seq("i", None)}
              join lateral (select activity_class from activity x
                     where x.space_id = %(space)s and x.id = i.source_id limit 1) x
                on x.activity_class = 'summarization'
              join edge o on o.space_id = %(space)s and o.source_id = i.source_id
               and o.field_lineage = 'outputs' and {state.at_seq("o", None)}
            """
        ),
        {"space": scope.space_id, "ids": sorted(sources)},
    ).fetchall()
    events = of_elements(tx, scope, {event for _, event in rows})
    return frozenset(sources[id] for id, event in rows if events.get(event) == contexts)


def known_claims(
    tx: Transaction, scope: Scope, person: str, contexts: frozenset[str] | None = frozenset()
) -> tuple[KnownClaim, ...]:
    """The newest active claims by the person of that name in a context set.

    None if nobody of that name is known.
    """
    people = list(claims.people(tx, scope, {person_key(person)}).values())
    said = _said(tx, scope, people, contexts)
    return tuple(_known(s) for s in said if s.stance != "uncertain")


def _known(said: Statement) -> KnownClaim:
    return KnownClaim(
        id=said.id,
        subject=said.subject,
        predicate=likings.told(said.predicate),
        object=said.object,
        object_type=said.object_type,
        stance=_stance(said.stance),
        asserted_by=said.asserted_by,
        asserted_at=said.asserted_at,
        stored=said.predicate,
    )


def space_items(tx: Transaction, scope: Scope) -> dict[str, list[Any]]:
    """What a whole (small) space holds, as plain JSON, oldest first.

    `claims` are the assertions that are still active, `commitments` those of any status,
    `constraints` the instructions in force. Predicates are those of encoders. For
    `brainstem encode` and for tests.
    """
    rows = tx.execute(
        "select id from assertion where space_id = %s order by created_seq, length(id), id",
        (scope.space_id,),
    ).fetchall()
    found = claims.statements(tx, scope, assertions=[element_id for (element_id,) in rows])
    order = {element_id: number for number, (element_id,) in enumerate(rows)}
    return {
        "claims": [
            {
                "subject": s.subject,
                "predicate": likings.told(s.predicate),
                "object": s.object,
                "stance": s.stance,
                "asserted_by": s.asserted_by,
                "valid_from": start_text(s.valid),
                "valid_until": until_text(s.valid),
            }
            for s in sorted(found, key=lambda s: order[s.id])
            if s.status == "active"
        ],
        "commitments": [
            {
                "summary": c.summary,
                "by": c.by,
                "due": None if c.due_at is None else to_text(c.due_at),
                "status": c.status,
            }
            for c in claims.commitments(tx, scope, statuses=claims.ALL_STATUSES, limit=10_000)
        ],
        "constraints": [c.text for c in claims.constraints(tx, scope, limit=10_000)],
    }


def start_text(valid: ValidTime) -> str | None:
    """When a claim is said to begin, as exactly as it was said; None when nothing was."""
    match valid.start:
        case Bound(earliest=datetime() as earliest):
            return to_text(earliest)[:10]
        case datetime() as exact:
            return _short(exact)
    return None


def until_text(valid: ValidTime) -> str | None:
    """The last day (or instant) of a claim that is said to end."""
    match valid.until:
        case Bound(latest=datetime() as latest):
            return to_text(latest - timedelta(milliseconds=1))[:10]
        case datetime() as exact:
            return to_text(exact - timedelta(milliseconds=1))[:10]
    return None


def _short(at: datetime) -> str:
    text = to_text(at)
    return text[:10] if text.endswith("T00:00:00.000Z") else text


def _stance(value: str) -> Stance:
    return "reject" if value == "reject" else "support"
