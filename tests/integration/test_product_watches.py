"""A caller's own subscription to a record, from arming to what arrives in the inbox."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pipelines.product.watches import cancel_record_watch, create_record_watch, record_watch
from storage.clock import now
from storage.database import Database, Scope
from storage.errors import NotFound
from storage.graph.changes import (
    ChangeSet,
    CreateAssertion,
    CreateConcept,
    EnsureProposition,
    Value,
)
from storage.graph.commit import commit
from storage.kip.errors import IdempotencyConflict
from storage.runtime import wakes
from storage.runtime.callers import RuntimeCaller, mapped
from storage.runtime.configuration import SpaceRuntime
from storage.settlement import watches


@pytest.fixture
def scope(space: str) -> Scope:
    return Scope(space)


def caller(name: str) -> RuntimeCaller:
    runtime = SpaceRuntime.model_validate(
        {"callers": [{"principal": name, "cwt_subject": name, "audience": []}]}
    )
    found = mapped(runtime, cwt_subject=name, token_digest=None)
    assert found is not None
    return found


def claim(database: Database, scope: Scope, person: str, zone: str) -> str:
    changes = (
        EnsureProposition("?t", person, "timezone", Value(zone)),
        CreateAssertion("?a", "?t", person, "stated", asserted_at=now() - timedelta(days=1)),
    )
    with database.transaction(scope) as tx:
        return commit(tx, scope, "test", ChangeSet(changes), tx_class="test").ids["?a"]


@pytest.fixture
def claimed(database: Database, scope: Scope) -> tuple[str, str]:
    """A person, and the claim of its time zone."""
    with database.transaction(scope) as tx:
        change = CreateConcept("?p", "Person", name="Bob")
        person = commit(tx, scope, "test", ChangeSet((change,)), tx_class="test").ids["?p"]
    return person, claim(database, scope, person, "+08:00")


def settle(database: Database, scope: Scope) -> None:
    told: dict[str, Any] = {}
    done = False
    while not done:
        with database.transaction(scope) as tx:
            told, done = watches.settle(tx, scope, "test", now(), told)


def inbox(database: Database, scope: Scope, who: RuntimeCaller) -> list[str]:
    with database.transaction(scope, snapshot=True) as tx:
        page = wakes.page(tx, scope, who, now(), seq=2**53)
    return [item.watch_ref for item in page.items]


def test_a_watch_on_a_record_fires_for_its_caller_alone(
    database: Database, scope: Scope, claimed: tuple[str, str]
) -> None:
    person, record = claimed
    ana, eve = caller("ana"), caller("eve")
    made = create_record_watch(database, scope, ana, "w-1", record)
    assert made.status == "armed"
    assert create_record_watch(database, scope, ana, "w-1", record) == made
    settle(database, scope)
    assert inbox(database, scope, ana) == []
    claim(database, scope, person, "+07:00")
    settle(database, scope)
    assert record_watch(database, scope, ana, "w-1").status == "fired"
    assert inbox(database, scope, ana) == [made.watch_ref]
    assert inbox(database, scope, eve) == []
    with pytest.raises(NotFound):
        record_watch(database, scope, eve, "w-1")


def test_a_cancelled_watch_is_not_armed_again(
    database: Database, scope: Scope, claimed: tuple[str, str]
) -> None:
    person, record = claimed
    ana = caller("ana")
    made = create_record_watch(database, scope, ana, "w-1", record)
    with pytest.raises(NotFound):
        cancel_record_watch(database, scope, caller("eve"), "w-1")
    gone = cancel_record_watch(database, scope, ana, "w-1")
    assert gone.status == "cancelled"
    assert cancel_record_watch(database, scope, ana, "w-1") == gone
    assert create_record_watch(database, scope, ana, "w-1", record) == gone
    other = claim(database, scope, person, "+07:00")
    with pytest.raises(IdempotencyConflict):
        create_record_watch(database, scope, ana, "w-1", other)
    settle(database, scope)
    assert inbox(database, scope, ana) == []
    assert gone.watch_ref == made.watch_ref


def test_what_was_delivered_stays_when_the_watch_is_cancelled(
    database: Database, scope: Scope, claimed: tuple[str, str]
) -> None:
    person, record = claimed
    ana = caller("ana")
    made = create_record_watch(database, scope, ana, "w-1", record)
    claim(database, scope, person, "+07:00")
    settle(database, scope)
    cancel_record_watch(database, scope, ana, "w-1")
    assert inbox(database, scope, ana) == [made.watch_ref]
