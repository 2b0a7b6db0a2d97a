"""How much of memory a briefing reads, by the rows that its statements give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipelines.briefing.asked import Asked
from pipelines.briefing.reading import Found, read
from pipelines.recall import questions
from pipelines.recall.evidence import Query
from storage.clock import now
from storage.database import Database
from storage.graph.changes import (
    Change,
    Citation,
    CreateAssertion,
    CreateEvidence,
    EnsureProposition,
    Link,
    UpsertConcept,
    Value,
)
from storage.graph.keys import person_key
from storage.kip.snapshot import open_snapshot
from storage.search.fusion import Weights
from tests.integration.memory_recall_world import AT, World


class Counting:
    """A transaction that counts the rows of its statements."""

    def __init__(self, tx: Any) -> None:
        self.tx = tx
        self.rows = 0

    def execute(self, query: Any, parameters: Any = None) -> Any:
        found = self.tx.execute(query, parameters)
        self.rows += max(0, found.rowcount)
        return found


def told(world: World, first: int, last: int) -> None:
    """Claims of people who all share their first name, each with its message."""
    changes: list[Change] = []
    for number in range(first, last):
        name, who, said, slot = f"Kim Ode{number}", f"?s{number}", f"?e{number}", f"?p{number}"
        changes += [
            UpsertConcept(who, type="Person", key=person_key(name), initial_name=name),
            CreateEvidence(
                said,
                "user_statement",
                {"role": "user", "content": f"My time zone is number {number}."},
                media_type="application/json",
                observed_at=AT,
                links=(Link("source", who),),
            ),
            EnsureProposition(slot, who, "timezone", Value(f"zone {number}")),
            CreateAssertion(
                f"?a{number}", slot, who, "stated", asserted_at=AT, citations=(Citation(said),)
            ),
        ]
    world.write(*changes)


def briefed(world: World, question: str) -> tuple[Found, int]:
    """What is found for a question, and how many rows that took."""
    asked = Asked.of("tester", {"query": question})
    with world.database.transaction(world.scope, snapshot=True) as tx:
        counting: Any = Counting(tx)
        snapshot = replace(open_snapshot(tx, world.scope), tx=counting)
        found = read(snapshot, asked, Query(questions.read(question)), Weights(), now())
    return found, counting.rows


def test_a_briefing_reads_no_more_when_more_people_share_a_name(
    database: Database, space: str
) -> None:
    world = World(database, space)
    told(world, 0, 100)
    question = "What is the time zone of Kim Ode7?"
    found, few = briefed(world, question)
    told(world, 100, 300)
    again, many = briefed(world, question)
    for one in (found, again):
        assert "zone 7" in " ".join(point.text for point in one.ranked if point.role == "fact")
    # six rows a claim or message, for rank and scope; another twelve if its belief were read
    assert many - few < 9 * 200
