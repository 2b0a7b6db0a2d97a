"""What was believed is what a space believed that knew no more: histories, replayed."""

from __future__ import annotations

import random
import uuid
from contextlib import suppress
from typing import Any

import pytest

from storage import spaces
from storage.database import Database
from storage.graph.changes import (
    Change,
    CreateEvidence,
    MergeConcept,
    Transition,
    Value,
)
from storage.graph.errors import KipError
from storage.graph.validity import UNSTATED, Bound, ValidTime
from storage.kip.query.beliefs import BeliefTarget
from tests.integration.test_kip_belief import World, day

PEOPLE = ("?ann", "?bea", "?cid")
PLACES = ("?rome", "?oslo", "?lima")
STEPS = 14


def new_world(database: Database) -> World:
    space = f"test_{uuid.uuid4().hex[:16]}"
    with database.transaction(spaces.scope_of(space)) as tx:
        spaces.create(tx, spaces.scope_of(space), owner="anonymous")
    world = World(database, space)
    world.concepts(**{one[1:]: "Person" for one in PEOPLE}, **{one[1:]: "Place" for one in PLACES})
    world.write(
        *(CreateEvidence(f"?e{n}", "message", f"m{n}", content_digest=f"d{n}") for n in range(4))
    )
    return world


def step(world: World, dice: random.Random, number: int) -> list[Change]:
    """Some changes; the same dice roll the same for every space."""
    claims = sorted(name for name in world.ids if name.startswith("?say"))
    kind = dice.choice(["claim"] * 8 + ["retract", "correct", "merge", "supersede"])
    if kind == "retract" and claims:
        return [Transition(world.ids[dice.choice(claims)], "retracted")]
    if kind == "correct":
        old = world.ids[f"?e{dice.randrange(4)}"]
        new = CreateEvidence(f"?n{number}", "message", "better", content_digest=f"n{number}")
        return [new, Transition(old, "corrected", by=f"?n{number}")]
    if kind == "merge":
        pair = dice.sample(PEOPLE, 2) if dice.random() < 0.6 else dice.sample(PLACES, 2)
        return [MergeConcept(world.ids[pair[0]], world.ids[pair[1]])]
    subject, by = dice.choice(PEOPLE[:2]), dice.choice(PEOPLE)
    predicate = dice.choice(["lives_in", "timezone", "speaks"])
    value: str | Value = dice.choice(PLACES)
    if predicate != "lives_in":
        value = Value(dice.choice(["+01:00", "+02:00"]))
    first, last = sorted(dice.sample(range(60), 2))
    valid = dice.choice(
        [UNSTATED, UNSTATED, ValidTime(day(first)), ValidTime(Bound(day(first), day(last)))]
    )
    made = world.claim(
        f"?say{number}",
        subject,
        predicate,
        value,
        by,
        mode=dice.choice(["stated", "stated", "stated", "observed", "inferred"]),
        stance=dice.choice(["support", "support", "support", "reject", "uncertain"]),
        at=dice.randrange(60),
        valid=valid,
        contexts=dice.choice([(), (), (), (dice.choice(PEOPLE),)]),
        evidence=dice.choice([(), (f"?e{dice.randrange(4)}",)]),
    )
    if kind == "supersede" and claims:
        return [*made, Transition(world.ids[dice.choice(claims)], "superseded", by=f"?say{number}")]
    return made


def lived(database: Database, seed: int, steps: int) -> tuple[World, list[int]]:
    """A world after some steps, and the sequence after each; refused steps change nothing."""
    world, dice, seqs = new_world(database), random.Random(seed), []
    for number in range(steps):
        changes = step(world, dice, number)
        # what the graph refuses (a cycle of merges, a retraction twice) is no step at all
        with suppress(KipError):
            world.write(*changes)
        seqs.append(world.seq)
    return world, seqs


def beliefs(world: World, seq: int | None, policy: str) -> list[Any]:
    people = [world.ids[one] for one in PEOPLE]
    contexts: list[Any] = [{"id": people[0]}]
    targets = [
        *(BeliefTarget.of_slot(one, "lives_in") for one in people),
        *(BeliefTarget.of_slot(one, "timezone") for one in people),
        *(BeliefTarget.of_candidates(one, "speaks") for one in people),
        *(BeliefTarget.of_tuple(one, "lives_in", world.ids["?rome"]) for one in people),
    ]
    return [
        without_place(found)
        for when in (5, 30, 70)
        for found in world.ask(
            *targets,
            when=when,
            seq=seq,
            policy=policy,
            context_refs=contexts,
            explanation="ledger",
        )
    ]


def without_place(value: Any, *more: str) -> Any:
    """A document without what names the space."""
    left_out = ("space_id", "authorization_view", *more)
    if isinstance(value, dict):
        return {k: without_place(v, *more) for k, v in value.items() if k not in left_out}
    return [without_place(one, *more) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(3))
def test_as_of_a_sequence_equals_a_space_that_got_no_further(
    database: Database, services: object, seed: int
) -> None:
    whole, seqs = lived(database, seed, STEPS)
    assert len(set(seqs)) > STEPS // 2
    for steps in (5, 10):
        young, reached = lived(database, seed, steps)
        assert reached == seqs[:steps]
        for policy in ("kip:memory-default", "kip:structural"):
            then = beliefs(whole, seqs[steps - 1], policy)
            assert then == beliefs(young, None, policy)
            assert then == beliefs(young, seqs[steps - 1], policy)


def test_what_concerns_another_slot_changes_nothing(database: Database, services: object) -> None:
    world, _ = lived(database, 3, STEPS)
    before = beliefs(world, None, "kip:memory-default")
    world.concepts(eve="Person")
    world.write(
        *world.claim("?z1", "?eve", "lives_in", "?rome", "?ann", at=7, evidence=["?e1"]),
        *world.claim("?z2", "?eve", "timezone", Value("+01:00"), "?eve", at=9),
        *world.claim("?z3", "?ann", "knows", "?eve", "?ann", at=9),
    )
    after = beliefs(world, None, "kip:memory-default")
    assert without_place(after, "snapshot_seq") == without_place(before, "snapshot_seq")
