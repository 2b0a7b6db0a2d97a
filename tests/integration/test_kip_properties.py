"""What holds of any history written through the language, one writer or many at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from storage import spaces
from storage.database import Database, Scope
from storage.kip.protocol.caller import trusted
from storage.kip.protocol.execute import execute

Run = Callable[..., dict[str, Any]]

#: Writers at once, and the spaces that they share.
WRITERS, SPACES = 8, 4
#: What each of them adds, and how often.
ROUNDS = 6

COUNTER = """
    UPSERT CONCEPT ?c { MATCH {type: "Topic", key: "counter"} SET ATTRIBUTES {n: 0} }
"""
READ = 'FIND(?c.attributes.n, ?c._system.version) WHERE { ?c {type: "Topic", key: "counter"} }'
BY_ADD = 'UPDATE ?c SET ATTRIBUTES {n: ADD(?c.attributes.n, 1)} WHERE { ?c {key: "counter"} }'
BY_VERSION = """
    UPDATE ?c SET ATTRIBUTES {n: :n} WHERE { ?c {key: "counter"} } EXPECT VERSION :version
"""


@pytest.fixture
def run(database: Database, space: str) -> Run:
    """Send one command, to the test's space if no other is named."""

    def send(command: str, *, to: str = space, key: str | None = None, **values: Any) -> Any:
        request: dict[str, Any] = {"kip": "2.0", "operations": [{"command": command}]}
        if values:
            request["parameters"] = values
        if key is not None:
            request["execution"] = {"mode": "independent", "idempotency_key": key}
        return execute(request, trusted(to, "tester"), readonly=False)

    return send


def done(answer: dict[str, Any]) -> dict[str, Any]:
    """The one result of a request that must have succeeded."""
    assert answer["status"] == "succeeded", answer
    result = answer["results"][0]
    assert isinstance(result, dict)
    return result


def code(answer: dict[str, Any]) -> str:
    """The code of the one error."""
    error = answer.get("error") or answer["results"][0]["error"]
    return str(error["code"])


def at_once(tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run tasks together, all starting at the same moment."""
    ready = threading.Barrier(len(tasks))

    def start(task: Callable[[], Any]) -> Any:
        ready.wait()
        return task()

    with ThreadPoolExecutor(len(tasks)) as threads:
        return list(threads.map(start, tasks))


def several_spaces(database: Database, run: Run) -> list[str]:
    """New spaces, each with a counter at 0."""
    names = [f"counted_{id(run):x}_{number}" for number in range(SPACES)]
    for name in names:
        with database.transaction(Scope(name)) as tx:
            spaces.create(tx, Scope(name), owner="anonymous")
        done(run(COUNTER, to=name))
    return names


def history(run: Run) -> None:
    """Writes of every kind, a few without effect, a few refused."""
    done(
        run(
            """MUTATE {
              UPSERT CONCEPT ?a { MATCH {type: "Person", key: "a"} SET FIELDS {name: "Ada"} }
              UPSERT CONCEPT ?b { MATCH {type: "Person", key: "b"} SET FIELDS {name: "Ben"} }
              UPSERT CONCEPT ?t { MATCH {type: "Place", key: "t"} SET FIELDS {name: "Tartu"} }
              CREATE EVIDENCE ?e { SET FIELDS {evidence_class: "message", payload: "in Tartu",
                observed_at: "2026-03-01T09:00:00.000Z"} }
              ASSERT ?s (?a, "lives_in", ?t) {by: ?a, mode: "stated", evidence: ?e,
                at: "2026-03-01T09:00:00.000Z", key: "s"}
            }"""
        )
    )
    for number in range(5):
        for _ in range(2):  # the second time it is so already
            done(run('UPDATE ?a SET ATTRIBUTES {n: :n} WHERE { ?a {key: "a"} }', n=number))
    assert code(run('UPDATE ?a SET ATTRIBUTES {n: 9} WHERE { ?a {key: "a"} } EXPECT VERSION 1'))
    done(run('UPDATE ?a SET FACET "MnemonicState" {salience: 0.5} WHERE { ?a {key: "a"} }'))
    done(run('UPDATE ?b UNSET ATTRIBUTES {none} WHERE { ?b {key: "b"} }'))
    done(run('TRANSITION ?s TO "retracted" WHERE { ?s ASSERTION {} }'))
    done(run('SET RETENTION ?t {retention_class: "short"} WHERE { ?t {key: "t"} }'))
    done(run('TRANSITION ?b TO "archived" WHERE { ?b {key: "b"} }'))
    assert code(run('ASSERT ("C-99", "lives_in", "C-1") {by: "C-1", mode: "stated"}'))


def envelopes(run: Run) -> list[dict[str, Any]]:
    """The whole change stream, page by page."""
    found: list[dict[str, Any]] = []
    while page := done(run("CHANGES AFTER SEQ :seq LIMIT 3", seq=len(found)))["result"]:
        found += page
    return found


def versions(run: Run) -> dict[str, int]:
    """The versions of all elements, whatever their state."""
    found: dict[str, int] = {}
    for kind in ("CONCEPT", "ASSERTION", "EVIDENCE", "ACTIVITY"):
        query = f"FIND(?x.id, ?x._system.version) WHERE {{ ?x {kind} {{state: ?state}} }}"
        found.update(done(run(query))["result"])
    query = "FIND(?p.id, ?p._system.version) WHERE { ?p (?s, ?predicate, ?o) }"
    return found | dict(done(run(query))["result"])


def test_sequences_are_dense_and_what_has_no_effect_takes_none(run: Run) -> None:
    history(run)
    stream = envelopes(run)
    assert [one["space_seq"] for one in stream] == list(range(1, 11))
    latest = done(run("FIND(COUNT(?x)) WHERE { ?x {} }"))["context"]["snapshot_seq"]
    assert latest == 10
    assert len({one["tx_id"] for one in stream}) == 10


def test_a_version_counts_the_writes_of_an_element(run: Run) -> None:
    history(run)
    written: dict[str, int] = {}
    for envelope in envelopes(run):
        for change in envelope["changes"]:
            written[change["id"]] = written.get(change["id"], 0) + 1
    assert written["C-1"] == 7
    assert versions(run) == written


def test_replaying_the_change_stream_rebuilds_all_versions_and_states(run: Run) -> None:
    history(run)
    rebuilt: dict[str, int] = {}
    states: dict[str, str] = {}
    for envelope in envelopes(run):
        for change in envelope["changes"]:
            assert rebuilt.get(change["id"], 0) == change.get("old_version", 0)
            rebuilt[change["id"]] = change["new_version"]
            if "state" in change:
                assert change["state"].get("from") in (None, states.get(change["id"], "active"))
                states[change["id"]] = change["state"]["to"]
    assert rebuilt == versions(run)
    assert (states["A-1"], states["C-2"]) == ("retracted", "archived")


def test_identical_requests_under_one_key_have_one_outcome(run: Run) -> None:
    command = 'CREATE CONCEPT ?c { TYPE "Person" NAME "Once" }'
    answers = at_once([lambda: run(command, key="once") for _ in range(WRITERS)])
    receipts = {done(answer)["receipt"]["tx_id"] for answer in answers}
    assert len(receipts) == 1
    assert done(run('FIND(COUNT(?c)) WHERE { ?c {name: "Once"} }'))["result"] == [1]
    assert done(run(command, key="once"))["receipt"]["tx_id"] in receipts
    assert code(run(command.replace("Once", "Twice"), key="once")) == "IdempotencyConflict"


def test_an_outcome_without_effect_is_kept_under_its_key(run: Run) -> None:
    done(run(COUNTER))
    command = 'UPDATE ?c SET ATTRIBUTES {n: 0} WHERE { ?c {key: "counter"} }'
    answers = at_once([lambda: run(command, key="nothing") for _ in range(WRITERS)])
    assert {answer["results"][0]["status"] for answer in answers} == {"no_effect"}
    done(run('UPDATE ?c SET ATTRIBUTES {n: 5} WHERE { ?c {key: "counter"} }'))
    assert run(command, key="nothing")["results"][0]["status"] == "no_effect"
    assert done(run(READ))["result"] == [[5, 2]]


def test_no_addition_of_concurrent_writers_is_lost(database: Database, run: Run) -> None:
    names = several_spaces(database, run)

    def write(name: str) -> None:
        for _ in range(ROUNDS):
            done(run(BY_ADD, to=name))

    at_once([lambda name=name: write(name) for name in names * (WRITERS // SPACES)])  # type: ignore[misc]
    total = ROUNDS * WRITERS // SPACES
    for name in names:
        assert done(run(READ, to=name))["result"] == [[total, total + 1]]


def test_no_guarded_update_of_concurrent_writers_is_lost(database: Database, run: Run) -> None:
    names = several_spaces(database, run)

    def write(name: str) -> int:
        conflicts = written = 0
        while written < ROUNDS:
            [[n, version]] = done(run(READ, to=name))["result"]
            answer = run(BY_VERSION, to=name, n=n + 1, version=version)
            if answer["status"] == "succeeded":
                written += 1
            else:
                assert code(answer) == "VersionConflict"
                conflicts += 1
        return conflicts

    at_once([lambda name=name: write(name) for name in names * (WRITERS // SPACES)])  # type: ignore[misc]
    total = ROUNDS * WRITERS // SPACES
    for name in names:
        assert done(run(READ, to=name))["result"] == [[total, total + 1]]
