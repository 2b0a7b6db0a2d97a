"""What memory already holds about the people of a conversation, for the encoder to build on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pipelines.formation.capture import SPEAKING, Captured
from pipelines.formation.proposal import (
    Background,
    KnownClaim,
    KnownCommitment,
    KnownConstraint,
    Stance,
)
from storage.clock import to_text
from storage.database import Scope, Transaction
from storage.graph import claims, state
from storage.graph.claims import Statement
from storage.graph.keys import person_key
from storage.graph.schema import Schema, environment
from storage.graph.validity import Bound, ValidTime

#: Claims, commitments and constraints that are offered to an encoder, the newest first.
OFFERED = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the space, from before the encoder runs.

    `known` maps the digests of messages that were formed before to their evidence; `suppressed` are
    digests of erased messages, which must not come back. `settled` are the keys of commitments
    out of known messages that have moved on since: closed, or changed by other messages.
    """

    background: Background
    known: dict[str, str]
    suppressed: frozenset[str]
    settled: frozenset[str]
    schema: Schema


def read(tx: Transaction, scope: Scope, captured: Sequence[Captured]) -> Reading:
    """Read what a formation of `captured` needs, on the snapshot of `tx`.

    What came of messages that are sent again is not offered as known: the encoder finds it in their
    text once more, and it is recognised when it is written. Constraints are the exception, since a
    withdrawal can only name what is known.
    """
    digests = {c.digest for c in captured}
    known = state.evidence_by_digest(tx, scope, digests)
    again = set(known.values())
    speakers = {person_key(c.utterance.speaker) for c in captured if c.role in SPEAKING}
    people = list(claims.people(tx, scope, speakers).values())
    said = claims.statements(
        tx, scope, assertions=claims.claims_by(tx, scope, people, limit=OFFERED)
    )
    promised = claims.commitments(
        tx, scope, people=people, statuses=claims.ALL_STATUSES, limit=OFFERED
    )
    return Reading(
        Background(
            claims=tuple(
                _known(s)
                for s in said
                if s.stance != "uncertain" and not (s.evidence and again.issuperset(s.evidence))
            ),
            commitments=tuple(
                KnownCommitment(id=c.id, summary=c.summary, by=c.by or "", due=c.due_at)
                for c in promised
                if c.status in claims.OPEN_STATUSES
                and not (c.evidence and again.issuperset(c.evidence))
            ),
            constraints=tuple(
                KnownConstraint(id=c.id, text=c.text, by=c.by or "")
                for c in claims.constraints(tx, scope, limit=OFFERED)
            ),
        ),
        known,
        state.suppressed(tx, scope, digests),
        frozenset(
            c.key
            for c in promised
            if c.key is not None
            and again.intersection(c.evidence)
            and (c.status not in claims.OPEN_STATUSES or not again.issuperset(c.evidence))
        ),
        environment(tx, scope),
    )


def known_claims(tx: Transaction, scope: Scope, person: str) -> tuple[KnownClaim, ...]:
    """The newest active claims by or about the person of that name; none if nobody is known."""
    people = list(claims.people(tx, scope, {person_key(person)}).values())
    ids = claims.claims_by(tx, scope, people, limit=OFFERED)
    said = claims.statements(tx, scope, assertions=ids)
    return tuple(_known(s) for s in said if s.stance != "uncertain")


def _known(said: Statement) -> KnownClaim:
    return KnownClaim(
        id=said.id,
        subject=said.subject,
        predicate=said.predicate,
        object=said.object,
        object_type=said.object_type,
        stance=_stance(said.stance),
        asserted_by=said.asserted_by,
        asserted_at=said.asserted_at,
    )


def space_items(tx: Transaction, scope: Scope) -> dict[str, list[Any]]:
    """What a whole (small) space holds, as plain JSON, oldest first.

    `claims` are the assertions that are still active, `commitments` those of any status,
    `constraints` the instructions in force. For `brainstem encode` and for tests.
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
                "predicate": s.predicate,
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
