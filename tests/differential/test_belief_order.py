"""What is believed depends on what was said and when it held, never on the order of recording."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from storage import spaces
from storage.clock import to_text
from storage.database import Database, Scope
from storage.graph.changes import (
    Change,
    ChangeSet,
    CreateAssertion,
    EnsureProposition,
    UpsertConcept,
    Value,
)
from storage.graph.commit import commit
from storage.graph.validity import UNSTATED, Bound, ValidTime
from storage.kip.language.ast_kql import Find
from storage.kip.language.command import read
from storage.kip.query.find import find
from storage.kip.snapshot import open_snapshot
from tests.differential.model import frozen

DAYS = tuple(datetime(2026, 3, day, tzinfo=UTC) for day in (1, 5, 10, 20))
TIMES = (*DAYS, datetime(2026, 3, 7, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC))
PEOPLE, PLACES, DRINKS = ("ann", "bo"), ("tartu", "riga"), ("tea", "coffee")
#: predicate, its objects
SLOTS = (("lives_in", PLACES), ("prefers", (*PLACES, *DRINKS)), ("timezone", ("+01:00", "+02:00")))


@dataclass(frozen=True)
class Said:
    """One claim."""

    actor: str
    subject: str
    predicate: str
    object: str
    stance: str
    mode: str
    at: datetime
    valid: ValidTime


ends = st.none() | st.sampled_from(DAYS) | st.builds(Bound, st.just(DAYS[0]), st.sampled_from(DAYS))


@st.composite
def claims(draw: Any) -> Said:
    """A claim of one of two people about one of them."""
    predicate, objects = draw(st.sampled_from(SLOTS))
    at, start = draw(st.sampled_from(DAYS)), draw(ends)
    valid = ValidTime(start, draw(st.none() | st.just(TIMES[-1]))) if start else UNSTATED
    return Said(
        draw(st.sampled_from(PEOPLE)),
        "ann",
        predicate,
        draw(st.sampled_from(objects)),
        draw(st.sampled_from(("support", "support", "support", "reject", "uncertain"))),
        draw(st.sampled_from(("stated", "stated", "observed", "inferred", "predicted"))),
        at,
        valid,
    )


def recorded(database: Database, said: Sequence[Said], *, together: bool) -> Scope:
    """A new space in which that was said, in one commit or one after the other."""
    scope = Scope(f"order_{uuid.uuid4().hex[:16]}")
    things: list[Change] = [
        UpsertConcept(f"?{name}", type=type_name, key=name, name=name)
        for type_name, names in (("Person", PEOPLE), ("Place", PLACES), ("Topic", DRINKS))
        for name in names
    ]
    with database.transaction(scope) as tx:
        spaces.create(tx, scope, owner="tester")
        ids = commit(tx, scope, "tester", ChangeSet(tuple(things)), tx_class="test").ids
    changes: list[Change] = []
    for number, one in enumerate(said):
        end = ids.get(f"?{one.object}") or Value(one.object)
        changes += (
            EnsureProposition(f"?p{number}", ids[f"?{one.subject}"], one.predicate, end),
            CreateAssertion(
                f"?a{number}",
                f"?p{number}",
                ids[f"?{one.actor}"],
                one.mode,  # type: ignore[arg-type]
                one.stance,  # type: ignore[arg-type]
                None,
                one.at,
                one.valid,
            ),
        )
    step = len(changes) if together else 2
    for start in range(0, len(changes), step):
        with database.transaction(scope) as tx:
            some = ChangeSet(tuple(changes[start : start + step]))
            commit(tx, scope, "tester", some, tx_class="test")
    return scope


def believed(database: Database, scope: Scope, at: datetime, policy: str) -> list[Any]:
    """What is believed of every slot, without anything that names a record."""
    found: list[Any] = []
    with database.transaction(scope, snapshot=True) as tx:
        snapshot = open_snapshot(tx, scope, read_at=TIMES[-1])
        for predicate, objects in SLOTS:
            shown = "?o" if predicate == "timezone" else "?o.name"
            query = read(
                f"FIND({shown}, ?b.status, ?b.candidate_status, ?b.slot_status, ?b.leading,"
                " ?b.conflict_reasons, ?b.uncertainty.reasons, ?b.precedence.rule,"
                " ?b.basis.next_invalid_at)"
                f' WHERE {{ ?s {{key: "ann"}} ?b BELIEF (?s, "{predicate}", ?o) }}'
                f' FOR TIME "{to_text(at)}" WITH EPISTEMIC {{policy: "{policy}"}}'
            ).statement
            assert isinstance(query, Find)
            rows = find(snapshot, query, caller="tester").rows
            assert len(rows) <= len(objects)
            found.append(sorted(rows, key=lambda row: repr(frozen(row))))
    return found


def test_the_order_of_recording_changes_no_belief(database: Database) -> None:
    @settings(
        max_examples=25,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(claims(), min_size=2, max_size=7), st.data())
    def agree(said: list[Said], data: st.DataObject) -> None:
        other = data.draw(st.permutations(said), label="another order")
        here = recorded(database, said, together=False)
        there = recorded(database, other, together=data.draw(st.booleans(), label="together"))
        for policy in ("kip:memory-default", "kip:structural"):
            at = data.draw(st.sampled_from(TIMES), label="for time")
            first = believed(database, here, at, policy)
            second = believed(database, there, at, policy)
            note(f"{policy} at {at}\n{first}\n{second}")
            assert first == second

    agree()
