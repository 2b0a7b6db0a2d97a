"""Records of commits: receipts, envelopes, outcomes by key; and what they are good for: replay."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import spaces
from storage.canonical import digest
from storage.clock import to_text
from storage.database import Database, Scope, Transaction
from storage.graph import outcomes, transactions
from storage.graph.changes import (
    Change,
    ChangeSet,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    DefineSymbol,
    EnsureProposition,
    MergeConcept,
    Purge,
    PurgePayload,
    SetRetention,
    Transition,
    UpdateConcept,
    UpsertConcept,
)
from storage.graph.commit import Commit, commit, lock
from storage.kip.errors import IdempotencyConflict, KipError

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
Write = Callable[..., Commit]
Ask = Callable[..., Any]


@pytest.fixture
def write(database: Database, space: str) -> Write:
    """Commit some changes to the test's space."""

    def run(*changes: Change, at: datetime = AT, **named: Any) -> Commit:
        with database.transaction(Scope(space)) as tx:
            given = ChangeSet(changes)
            return commit(tx, Scope(space), "tester", given, tx_class="kml", at=at, **named)

    return run


@pytest.fixture
def ask(database: Database, space: str) -> Ask:
    """Run a reading function on the test's space."""

    def run(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        with database.transaction(Scope(space), snapshot=True) as tx:
            return function(tx, Scope(space), *arguments, **named)

    return run


def person(handle: str, name: str) -> UpsertConcept:
    return UpsertConcept(handle, type="Person", key=f"person:{name.lower()}", initial_name=name)


def claim(handle: str) -> tuple[Change, ...]:
    return (
        person("?a", "Ada"),
        person("?b", "Ben"),
        EnsureProposition("?p", "?a", "knows", "?b"),
        CreateAssertion(handle, "?p", "?a", "stated"),
    )


def test_an_element_has_the_chronology_of_its_envelopes(write: Write, ask: Ask, space: str) -> None:
    made = write(*claim("?s"))
    s, p = made.ids["?s"], made.ids["?p"]
    write(person("?c", "Carl"))
    write(Transition(s, "retracted"), at=AT + timedelta(hours=1))
    first, second = [r.envelope() for r in ask(transactions.between, limit=10, element=s)]
    assert first == {
        "kip": "2.0",
        "space_id": f"kip:space:{space}",
        "space_seq": 1,
        "tx_id": made.tx_id,
        "committed_at": "2026-03-01T09:00:00.000Z",
        "transaction_class": "cognitive",
        "schema_environment_version": 1,
        "changes": [
            {
                "op": "create",
                "kind": "assertion",
                "id": s,
                "new_version": 1,
                "refs": {"proposition": p},
            }
        ],
        "extensions": {"anda/transition": {"snapshot_seq": 0, "status": "committed"}},
    }
    assert second["changes"] == [
        {
            "op": "lifecycle",
            "kind": "assertion",
            "id": s,
            "old_version": 1,
            "new_version": 2,
            "state": {"from": "active", "to": "retracted"},
            "refs": {"proposition": p},
            "touched": ["fields.retracted_at", "fields.status"],
        }
    ]
    whole = ask(transactions.by_seq, 1).envelope()["changes"]
    assert [entry["kind"] for entry in whole] == ["concept", "concept", "proposition", "assertion"]
    assert whole[2]["refs"]["subject"] == made.ids["?a"]
    assert [r.seq for r in ask(transactions.between, after=1, through=2, limit=10)] == [2]
    assert [r.seq for r in ask(transactions.between, after=1, limit=1)] == [2]
    assert ask(transactions.between, after=99, limit=10) == []
    assert ask(transactions.seq_at, AT - timedelta(1)) == 0
    assert ask(transactions.seq_at, AT) == 2
    assert ask(transactions.knows, s)
    assert not ask(transactions.knows, "A-99")


def test_a_receipt_is_covered_by_its_digest(write: Write, ask: Ask, space: str) -> None:
    made = write(person("?a", "Ada"), request_digest="sha256:1")
    found = ask(transactions.by_tx, made.tx_id)
    assert found == made.record
    receipt = found.receipt()
    assert receipt["receipt_digest"] == digest(
        {name: value for name, value in receipt.items() if name != "receipt_digest"}
    )
    assert {k: receipt[k] for k in ("status", "space_seq", "snapshot_seq", "request_digest")} == {
        "status": "committed",
        "space_seq": 1,
        "snapshot_seq": 0,
        "request_digest": "sha256:1",
    }
    assert receipt["origin"] == {"principal_id": "tester", "channel": "kml"}
    assert receipt["semantic_plan_digest"].startswith("sha256:")
    other = write(person("?b", "Ben"))
    assert other.record is not None
    assert other.record.plan_digest != found.plan_digest
    assert ask(transactions.by_tx, "txn-0") is None
    assert write(person("?a", "Ada")).record is None


def test_control_changes_are_in_the_stream(write: Write, ask: Ask) -> None:
    write(DefineSymbol("concept_type", "Drink", {"description": "A drink."}))
    ids = write(person("?a", "Ada"), person("?b", "Ben")).ids
    write(MergeConcept(ids["?a"], ids["?b"]))
    defined, _, merged = [r.envelope() for r in ask(transactions.between, limit=10)]
    assert (defined["transaction_class"], defined["changes"]) == ("schema", [])
    assert defined["control_changes"] == [{"kind": "schema", "version": "2"}]
    assert merged["control_changes"] == [{"kind": "identity", "version": "2"}]


def test_a_key_has_one_outcome(write: Write, database: Database, space: str, ask: Ask) -> None:
    made = write(person("?a", "Ada"))
    scope = Scope(space)
    with database.transaction(scope) as tx:
        lock(tx, scope)
        assert outcomes.find(tx, scope, "p", "kip", "k", "sha256:1") is None
        outcomes.keep(
            tx, scope, "p", "kip", "k", "sha256:1", {"answer": 1}, tx_id=made.tx_id, at=AT
        )
        outcomes.keep(tx, scope, "p", "kip", "quiet", "sha256:2", {}, tx_id=None, at=AT)
    found = ask(outcomes.find, "p", "kip", "k", "sha256:1")
    assert (found.outcome, found.tx_id) == ({"answer": 1}, made.tx_id)
    assert ask(outcomes.find, "p", "kip", "k").outcome == {"answer": 1}
    for other in (("q", "kip", "k"), ("p", "brain", "k"), ("p", "kip", "l")):
        assert ask(outcomes.find, *other) is None
    with pytest.raises(IdempotencyConflict):
        ask(outcomes.find, "p", "kip", "k", "sha256:3")
    assert ask(transactions.by_idempotency_key, "p", "kip", "k").seq == 1
    assert ask(transactions.by_idempotency_key, "p", "kip", "quiet") is None
    assert timedelta(hours=24) <= outcomes.RETENTION
    with database.transaction(scope) as tx:
        assert outcomes.forget(tx, scope, AT) == 0
        assert outcomes.forget(tx, scope, AT + timedelta(seconds=1)) == 2


def test_records_of_the_earlier_form_read_like_those_of_today(
    write: Write, database: Database, space: str, ask: Ask
) -> None:
    made = write(*claim("?s"))
    s, a = made.ids["?s"], made.ids["?a"]
    write(Transition(s, "retracted"))
    write(UpdateConcept(a, name="Ada L.", attributes={"x": 1}))
    today = [r.envelope() for r in ask(transactions.between, limit=10)]
    ref = "kip://profiles/cognitive-memory@2.0.0/Person"
    old = {
        1: [
            {"op": "create", "kind": "C", "id": id, "old_version": 0, "new_version": 1,
             "schema_ref": ref, "state": {"from": None, "to": "active"},
             "planes": {"attributes": 1, "structural": 1, "retention": 1}}
            for id in (a, made.ids["?b"])
        ] + [
            {"op": "create", "kind": "P", "id": made.ids["?p"], "old_version": 0, "new_version": 1,
             "schema_ref": "kip://domains/general@1.0.0/knows",
             "state": {"from": None, "to": "active"}},
            {"op": "create", "kind": "A", "id": s, "old_version": 0, "new_version": 1,
             "state": {"from": None, "to": "active"}},
        ],
        2: [{"op": "lifecycle", "kind": "A", "id": s, "old_version": 1, "new_version": 2,
             "state": {"from": "active", "to": "retracted"}, "touched": ["status"]}],
        3: [{"op": "update", "kind": "C", "id": a, "old_version": 1, "new_version": 2,
             "schema_ref": ref, "touched": ["attributes.x", "name"], "planes": {"attributes": 2}}],
    }  # fmt: skip
    with database.transaction(Scope(space)) as tx:
        for seq, changes in old.items():
            tx.execute(
                "update commit_record set tx_class = 'formation', channel = null, changes = %s"
                " where space_id = %s and space_seq = %s",
                (json.dumps(changes), space, seq),
            )
    read = ask(transactions.between, limit=10)
    assert [(r.channel, r.tx_class) for r in read] == [("formation", "cognitive")] * 3
    for was, now in zip([r.envelope() for r in read], today, strict=True):
        for entry in (*was["changes"], *now["changes"]):
            if "touched" in entry:
                entry["touched"] = [p for p in entry["touched"] if p != "fields.retracted_at"]
        assert was == now


# replay: from the stream alone, which element is at which version and in which state


class Replayed:
    """What a follower of the stream knows."""

    def __init__(self) -> None:
        self.seq = 0
        self.elements: dict[str, tuple[int, str]] = {}

    def apply(self, envelope: dict[str, Any]) -> None:
        assert envelope["space_seq"] == self.seq + 1
        self.seq += 1
        ids = [entry["id"] for entry in envelope["changes"]]
        assert len(ids) == len(set(ids))
        for entry in envelope["changes"]:
            first = "pending" if entry["kind"] == "activity" else "active"
            version, state = self.elements.get(entry["id"], (0, first))
            assert entry.get("old_version", 0) == version
            assert entry["new_version"] == version + 1
            if entry["op"] == "create":
                assert version == 0
            if "state" in entry:
                assert entry["state"]["from"] == state
                state = entry["state"]["to"]
            self.elements[entry["id"]] = (version + 1, state)


def held(tx: Transaction, scope: Scope, seq: int) -> dict[str, tuple[int, str]]:
    """What the tables say of a sequence: the status of claims, evidence, activities, or a state."""
    rows = tx.execute(
        "select id, version, case when state = 'active' then coalesce(status, state) else state end"
        " from element_ver where space_id = %(space)s and seq_from <= %(seq)s and %(seq)s < seq_to",
        {"space": scope.space_id, "seq": seq},
    )
    return {id: (version, state) for id, version, state in rows}


_NAMES = st.sampled_from(["Ada", "Ben", "Cleo", "Dan"])
_ACTS = st.one_of(
    st.tuples(st.just("person"), _NAMES),
    st.tuples(st.just("rename"), _NAMES, st.sampled_from("xyz")),
    st.tuples(st.just("claim"), _NAMES, _NAMES),
    st.tuples(st.just("hear"), st.sampled_from("xyz")),
    st.tuples(st.just("work"), st.sampled_from(["pending", "completed"])),
    st.tuples(st.just("finish"), st.integers(1, 3)),
    st.tuples(st.sampled_from(["retract", "correct", "archive", "payload"]), st.integers(1, 6)),
    st.tuples(st.just("keep"), _NAMES, st.booleans()),
    st.tuples(st.just("merge"), _NAMES, _NAMES),
    st.tuples(
        st.just("purge"),
        _NAMES,
        st.sampled_from(["deny_if_referenced", "tombstone_reference", "authorized_cascade"]),
    ),
)


def changes_of(act: tuple[Any, ...]) -> tuple[Change, ...]:
    match act:
        case ("person", name):
            return (person("?x", name),)
        case ("rename", name, new):
            return (
                UpsertConcept("?x", type="Person", key=f"person:{name.lower()}", name=new),
                UpdateConcept("?x", attributes={"note": new}),
            )
        case ("claim", one, other):
            return (
                (
                    person("?x", one),
                    person("?y", other),
                    EnsureProposition("?p", "?x", "knows", "?y"),
                    CreateAssertion("?s", "?p", "?x", "stated"),
                )
                if one != other
                else (
                    person("?x", one),
                    EnsureProposition("?p", "?x", "knows", "?x"),
                )
            )
        case ("hear", what):
            return (CreateEvidence("?e", "message", what),)
        case ("work", status):
            return (person("?x", "Ada"), CreateActivity("?w", "extraction", status))
        case ("finish", number):
            return (Transition(f"X-{number}", "failed"),)
        case ("retract", number):
            return (Transition(f"A-{number}", "retracted"),)
        case ("correct", number):
            return (
                CreateEvidence("?e", "message", "better"),
                Transition(f"E-{number}", "corrected", by="?e"),
            )
        case ("archive", number):
            return (Transition(f"C-{number}", "archived"),)
        case ("payload", number):
            return (PurgePayload(f"E-{number}"),)
        case ("keep", name, hold):
            return (person("?x", name), SetRetention("?x", {"legal_hold": hold}))
        case ("merge", one, other):
            return (person("?x", one), person("?y", other), MergeConcept("?x", "?y"))
    _, name, policy = act
    return (Purge(f"C-{1 + ord(name[0]) - ord('A')}", policy),)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(acts=st.lists(_ACTS, min_size=1, max_size=14))
def test_the_stream_rebuilds_every_state(database: Database, acts: list[tuple[Any, ...]]) -> None:
    scope = Scope(f"replay_{digest(acts)[7:27]}")
    with database.transaction(scope) as tx:
        spaces.delete(tx, scope)
        spaces.create(tx, scope, owner="anonymous")
    told = Replayed()
    known: dict[int, dict[str, tuple[int, str]]] = {0: {}}
    writes: Counter[str] = Counter()
    try:
        for act in acts:
            try:
                with database.transaction(scope) as tx:
                    made = commit(tx, scope, "t", ChangeSet(changes_of(act)), tx_class="kml", at=AT)
            except KipError:
                continue
            writes.update(change.id for change in made.changes)
            with database.transaction(scope, snapshot=True) as tx:
                for record in transactions.between(tx, scope, after=told.seq, limit=10):
                    told.apply(record.envelope())
                assert told.seq == made.head_seq
                assert held(tx, scope, told.seq) == told.elements
                known[told.seq] = dict(told.elements)
        with database.transaction(scope, snapshot=True) as tx:
            erased = {i for i, (_, state) in told.elements.items() if state == "purged"}
            for seq, elements in known.items():
                # what was erased since is gone from the past, too
                then = {
                    i: v for i, v in elements.items() if i not in erased or v == told.elements[i]
                }
                assert held(tx, scope, seq) == then
        assert {i: version for i, (version, _) in told.elements.items()} == dict(writes)
    finally:
        with database.transaction(scope) as tx:
            spaces.delete(tx, scope)


def test_eight_writers_in_four_spaces_lose_nothing(database: Database) -> None:
    scopes = [Scope(f"writers_{n}_{to_text(AT)[:4]}") for n in range(4)]
    for scope in scopes:
        with database.transaction(scope) as tx:
            spaces.delete(tx, scope)
            spaces.create(tx, scope, owner="anonymous")
            made = commit(
                tx,
                scope,
                "t",
                ChangeSet((CreateConcept("?c", "Topic", key="counter", attributes={"n": 0}),)),
                tx_class="kml",
            )
            assert made.ids["?c"] == "C-1"
    errors: list[BaseException] = []
    keys = 6

    def work(number: int) -> None:
        """Count up in two spaces, every step under a key that a second writer sends, too."""
        try:
            for turn in range(keys):
                for scope in (scopes[number % 4], scopes[(number + 1) % 4]):
                    request = {"writer": number // 2, "turn": turn}
                    key = f"{number // 2}-{turn}"
                    with database.transaction(scope) as tx:
                        lock(tx, scope)
                        if outcomes.find(tx, scope, "p", "kip", key, digest(request)):
                            continue
                        row = tx.execute(
                            "select (doc #>> '{attributes,n}')::int from element_ver"
                            " where space_id = %s and id = 'C-1' and seq_to > 1000000",
                            (scope.space_id,),
                        ).fetchone()
                        assert row is not None
                        change = UpdateConcept("C-1", attributes={"n": row[0] + 1})
                        made = commit(tx, scope, "p", ChangeSet((change,)), tx_class="kml")
                        outcomes.keep(
                            tx,
                            scope,
                            "p",
                            "kip",
                            key,
                            digest(request),
                            {"seq": made.seq},
                            tx_id=made.tx_id,
                            at=AT,
                        )
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for scope in scopes:
        with database.transaction(scope) as tx:
            kept = tx.execute(
                "select count(*) from idem where space_id = %s", (scope.space_id,)
            ).fetchone()
            versions = tx.execute(
                "select seq_from, version, (doc #>> '{attributes,n}')::int from element_ver"
                " where space_id = %s order by 1",
                (scope.space_id,),
            ).fetchall()
            seqs = [r.seq for r in transactions.between(tx, scope, limit=1000)]
            assert kept is not None
            assert seqs == list(range(1, kept[0] + 2))
            assert versions == [(n + 1, n + 1, n) for n in range(kept[0] + 1)]
            spaces.delete(tx, scope)
