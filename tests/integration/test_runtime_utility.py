"""Witnesses of what memory contributed: what is accepted, what is kept, what is refused (4.6)."""

from __future__ import annotations

from typing import Any

import pytest

from storage.clock import now
from storage.database import database as process_database
from storage.graph.changes import ChangeSet, CreateEvidence
from storage.graph.commit import commit
from storage.runtime import attempts
from tests.integration import test_runtime_outcomes as outcomes
from tests.integration.test_runtime_outcomes import METHOD, OTHER, World, material

world = outcomes.world


def witness(world: World, attempt: str, **changed: Any) -> dict[str, Any]:
    with process_database().transaction(world.scope) as tx:
        found = attempts.find(tx, world.scope, attempt)
    assert found is not None
    return {
        "format": "anda-brain:single-contribution-v1",
        "contract_digest": METHOD,
        "sampling_unit": "order-7",
        "attempt_ref": attempt,
        "decision_ref": found.gate_ref,
        "recall_receipt": {
            "id": "rcl-0",
            "digest": OTHER,
            "scope": {"space_id": world.space, "space_instance": world.instance},
        },
        "target": {"id": "C-1", "version": 1, "content_digest": OTHER},
        "effect": 0.6,
        "lower_bound": 0.4,
        "upper_bound": 0.8,
        "confidence": 0.99,
        "isolated_contribution": True,
        **changed,
    }


def evidence(world: World, author: str) -> str:
    """A witness that somebody wrote as evidence."""
    made = CreateEvidence("?e", "artifact", {"effect": 1}, observed_at=now())
    with process_database().transaction(world.scope) as tx:
        return commit(tx, world.scope, author, ChangeSet((made,)), tx_class="test").ids["?e"]


def test_a_witness_is_kept_with_the_measurement_and_changes_nothing_else(world: World) -> None:
    attempt = world.act()
    before = world.head()
    told = witness(world, attempt)
    body = world.body(attempt, utility={"witness": told})
    receipt = world.send(body).json()["result"]
    assert (receipt["status"], receipt["learning_eligible"]) == ("recorded", False)
    assert world.head() == before + 1
    kind, facets, payload = material(world, receipt)
    assert kind == "outcome"
    assert payload["utility"] == {"witness": told}
    assert payload["measured"] == body["observation"]["payload"]
    (record,) = facets.values()
    assert "utility" not in record
    assert world.send(body).json()["result"] == receipt
    # the witness is part of what the event says
    other = {**told, "effect": 0.7}
    assert world.send({**body, "utility": {"witness": other}}).status_code == 409
    assert world.send({**body, "utility": None}).status_code == 409


@pytest.mark.parametrize(
    "changed",
    [
        {"format": "anda-brain:single-contribution-v2"},
        {"contract_digest": "sha256:x"},
        {"sampling_unit": ""},
        {"sampling_unit": "é" * 129},
        {"target": {"id": "S-1", "version": 1, "content_digest": OTHER}},
        {"target": {"id": "C-1", "version": "1", "content_digest": OTHER}},
        {"effect": 1.01, "upper_bound": 1},
        {"lower_bound": -1.01},
        {"upper_bound": 2},
        {"lower_bound": 0.7},
        {"upper_bound": 0.5},
        {"confidence": 1},
        {"confidence": -0.1},
        {"isolated_contribution": "yes"},
        {"score": 3},
        {"recall_receipt": {"id": "rcl-0", "digest": OTHER}},
    ],
)
def test_a_witness_out_of_bounds_is_refused(world: World, changed: dict[str, Any]) -> None:
    attempt, before = world.wakes[0], world.head()
    told = {**witness_of_none(world), **changed}
    answer = world.send(world.body(attempt, utility={"witness": told}))
    assert answer.status_code == 400
    assert answer.json()["data"]["code"] == "invalid_input"
    assert world.head() == before


def witness_of_none(world: World) -> dict[str, Any]:
    """A witness in shape, of an attempt that there is not."""
    return {
        "format": "anda-brain:single-contribution-v1",
        "contract_digest": METHOD,
        "sampling_unit": "order-7",
        "attempt_ref": "X-1",
        "decision_ref": "X-1",
        "recall_receipt": {
            "id": "rcl-0",
            "digest": OTHER,
            "scope": {"space_id": world.space, "space_instance": world.instance},
        },
        "target": {"id": "C-1", "version": 1, "content_digest": OTHER},
        "effect": 0.6,
        "lower_bound": 0.6,
        "upper_bound": 0.6,
        "confidence": 0,
        "isolated_contribution": False,
    }


@pytest.mark.parametrize("utility", [{}, {"witness_ref": "C-1"}, {"score": 1}, []])
def test_what_is_no_witness_at_all_is_refused(world: World, utility: Any) -> None:
    assert world.send(world.body(world.wakes[0], utility=utility)).status_code == 400


def test_a_witness_comes_along_or_is_referred_to_and_never_both(world: World) -> None:
    both = {"witness": witness_of_none(world), "witness_ref": "E-1"}
    assert world.send(world.body(world.wakes[0], utility=both)).status_code == 400


def test_a_witness_of_another_attempt_or_place_is_refused(world: World) -> None:
    attempt, other = world.act(), world.act()
    elsewhere = witness(world, attempt)["recall_receipt"]
    elsewhere["scope"]["space_instance"] = OTHER
    for told in (
        witness(world, other),
        witness(world, attempt, decision_ref=other),
        witness(world, attempt, recall_receipt=elsewhere),
    ):
        body = world.body(attempt, utility={"witness": told})
        assert world.send(body).status_code == 409, told
    assert world.item(attempt)["state"] == "running"


def test_a_witness_that_is_referred_to_is_the_observers_own_since_the_attempt(
    world: World,
) -> None:
    before = evidence(world, "user:gauge")
    attempt = world.act()
    foreign = evidence(world, "user:ana")
    acting = evidence(world, "runtime:dispatcher")
    for ref in (before, foreign, acting, "E-999999", attempt.replace("X", "E")):
        body = world.body(attempt, utility={"witness_ref": ref})
        assert world.send(body).status_code == 409, ref
    own = evidence(world, "user:gauge")
    receipt = world.send(world.body(attempt, utility={"witness_ref": own})).json()["result"]
    assert material(world, receipt)[2]["utility"] == {"witness_ref": own}


def test_a_witness_opens_no_door(world: World) -> None:
    attempt = world.act(author="gauge")
    body = world.body(attempt, utility={"witness": witness(world, attempt)})
    for caller in ("bot", "stranger", "ana", "gauge reads", "gauge"):
        assert world.send(body, caller).status_code == 403, caller


def test_a_witness_of_a_measurement_that_came_too_late_is_kept_with_it(world: World) -> None:
    attempt = world.act()
    told = witness(world, attempt)
    receipt = world.send(outcomes.late(world, attempt, utility={"witness": told})).json()["result"]
    assert receipt["status"] == "late"
    assert material(world, receipt)[2]["utility"] == {"witness": told}
