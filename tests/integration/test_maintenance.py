"""Maintenance settles what becomes due: Watches, promises, retention, corrections, backlogs."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pipelines.formation.alone import Alone
from pipelines.maintenance.run import NO_LEARNING, run
from storage import attention, conversations, maintenance_runs, memory_policy, pinning, spaces
from storage.clock import now, to_text
from storage.database import Database, Scope
from storage.graph import state
from storage.graph.changes import (
    ChangeSet,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    DefineSymbol,
    EnsureProposition,
    Link,
    MergeConcept,
    Purge,
    SetRetention,
    Transition,
    UpdateConcept,
    UpsertConcept,
)
from storage.graph.commit import Commit, commit
from storage.graph.transactions import between
from storage.kip.query.facets import STRENGTH_POLICY
from storage.memory_policy import MemoryPolicy
from storage.settlement import corrections, exposures, retention, tasks

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
PAST, LATER = to_text(now() - timedelta(days=1)), to_text(now() + timedelta(days=1))


class Brain:
    """A space that is written to and maintained here and now."""

    def __init__(self, database: Database, space: str) -> None:
        self.database, self.scope = database, Scope(space)

    def write(self, *changes: Any) -> Commit:
        with self.database.transaction(self.scope) as tx:
            return commit(tx, self.scope, "anonymous", ChangeSet(changes), tx_class="kml")

    def maintain(self, scope: str = "daydream", **payload: Any) -> dict[str, Any]:
        work = Alone(self.database, self.scope, {"scope": scope, **payload}, kind="maintenance")
        effect = run(work)
        with self.database.transaction(self.scope) as tx:
            return effect.apply(tx).result

    def settle(self, scope: str = "daydream") -> dict[str, Any]:
        return self.maintain(scope)["settlement"]

    def load(self, element: str) -> state.Stored:
        with self.database.transaction(self.scope) as tx:
            return state.load(tx, self.scope, [element])[element]

    def attributes(self, element: str) -> dict[str, Any]:
        return self.load(element).doc["attributes"]

    def head(self) -> int:
        return self.read(lambda tx: spaces.get(tx, self.scope).head_seq)

    def read(self, reading: Callable[[Any], Any]) -> Any:
        with self.database.transaction(self.scope) as tx:
            return reading(tx)

    def attention(self) -> list[tuple[str, str]]:
        page = self.read(lambda tx: attention.page(tx, self.scope, None, 50))
        return [(item.kind, item.ref) for item in page.items]

    def keys(self, activity_class: str) -> list[str]:
        rows = self.read(
            lambda tx: tx.execute(
                "select e.client_key from activity x join element e using (space_id, id)"
                " where x.space_id = %s and x.activity_class = %s order by x.created_seq, e.id",
                (self.scope.space_id, activity_class),
            ).fetchall()
        )
        return [key for (key,) in rows]

    def task(self, key: str) -> dict[str, Any]:
        """What a task says; nothing when there is none."""
        found = self.read(lambda tx: state.concepts_by_key(tx, self.scope, [(tasks.TYPE, key)]))
        return self.attributes(found[tasks.TYPE, key]) if found else {}


@pytest.fixture
def brain(database: Database, space: str) -> Brain:
    return Brain(database, space)


def watch(condition: Any, watch_class: str = "delta", **more: Any) -> CreateConcept:
    status = more.pop("status", "armed")
    attributes = {
        "summary": "Look at it",
        "watch_class": watch_class,
        "condition": condition,
        "status": status,
        **more,
    }
    return CreateConcept("?w", "Watch", attributes=attributes)


def promise(due_at: str | None, status: str = "pending", **more: Any) -> CreateConcept:
    attributes = {"summary": "Bring the tent", "status": status}
    if due_at is not None:
        attributes["due_at"] = due_at
    return CreateConcept("?c", "Commitment", attributes=attributes, **more)


def lives(handle: str, place: str, at: datetime = AT) -> list[Any]:
    return [
        UpsertConcept("?ada", "Person", key="person:ada", initial_name="Ada"),
        UpsertConcept(f"?{place}", "Place", key=f"place:{place}", initial_name=place.title()),
        EnsureProposition(f"?p{place}", "?ada", "lives_in", f"?{place}"),
        CreateAssertion(handle, f"?p{place}", "?ada", "stated", asserted_at=at),
    ]


# --- Watches ------------------------------------------------------------------------------------


def test_a_delta_watch_fires_once_at_the_first_change_that_it_waits_for(brain: Brain) -> None:
    place = brain.write(CreateConcept("?p", "Place", name="Berlin")).ids["?p"]
    armed = brain.write(watch({"element": place, "ops": ["update"]}))
    watched = armed.ids["?w"]
    assert brain.settle()["watches"] == count(fired=0)
    brain.write(CreateConcept("?other", "Place", name="Rome"))
    changed = brain.write(UpdateConcept(place, name="Berlin-Mitte"))
    brain.write(UpdateConcept(place, name="Berlin again"))
    assert brain.settle()["watches"] == count(fired=1)
    assert brain.attributes(watched)["status"] == "fired"
    assert brain.attributes(watched)["fired_at"]
    assert brain.keys("watch_fire") == [f"watch_fire:{watched}:1:{changed.seq}"]
    facts = next(iter(brain.load(watched).doc["facets"].values()))
    assert (facts["armed_seq"], facts["consumed_seq"], facts["matched"]) == (
        armed.seq,
        changed.seq,
        True,
    )
    assert brain.attention() == [("watch_fired", watched)]
    head = brain.head()
    assert brain.settle()["watches"] == count(fired=0)
    assert brain.head() == head


def count(**given: int) -> dict[str, int]:
    return {"fired": 0, "conflicted": 0, "disarmed": 0, "deferred": 0, **given}


def test_what_happened_before_a_watch_was_armed_does_not_fire_it(brain: Brain) -> None:
    place = brain.write(CreateConcept("?p", "Place", name="Berlin")).ids["?p"]
    made = brain.write(watch({"element": place}, status="disarmed")).ids["?w"]
    brain.write(UpdateConcept(place, name="Before"))
    brain.write(UpdateConcept(made, attributes={"status": "armed"}))
    assert brain.settle()["watches"] == count(fired=0)
    seq = brain.write(UpdateConcept(place, name="After")).seq
    assert brain.settle()["watches"] == count(fired=1)
    assert brain.keys("watch_fire") == [f"watch_fire:{made}:1:{seq}"]
    # armed again, it waits for the next change under a new arm
    brain.write(UpdateConcept(made, attributes={"status": "armed"}))
    assert brain.settle()["watches"] == count(fired=0)
    again = brain.write(UpdateConcept(place, name="Once more")).seq
    assert brain.settle()["watches"] == count(fired=1)
    assert brain.keys("watch_fire")[1:] == [f"watch_fire:{made}:2:{again}"]


def test_a_changed_condition_begins_a_new_arm(brain: Brain) -> None:
    ids = brain.write(
        CreateConcept("?a", "Place", name="A"), CreateConcept("?b", "Place", name="B")
    )
    a, b = ids.ids["?a"], ids.ids["?b"]
    made = brain.write(watch({"element": a})).ids["?w"]
    brain.write(UpdateConcept(b, name="B2"))
    brain.write(UpdateConcept(made, attributes={"condition": {"element": b}}))
    assert brain.settle()["watches"] == count(fired=0)
    seq = brain.write(UpdateConcept(b, name="B3")).seq
    assert brain.settle()["watches"] == count(fired=1)
    assert brain.keys("watch_fire") == [f"watch_fire:{made}:2:{seq}"]


@pytest.mark.parametrize(
    ("condition", "fires"),
    [
        ({"slot": {"subject": "ADA", "predicate": "lives_in"}}, True),
        ({"slot": {"subject": {"id": "ADA"}, "predicate": "lives_in"}, "ops": ["create"]}, True),
        ({"slot": {"subject": "ADA", "predicate": "works_for"}}, False),
        ({"type": "Place"}, True),
        ({"type": "Place", "ops": ["purge", "create"]}, True),
        ({"type": "Place", "ops": ["purge"]}, False),
        ({"type": "Organization"}, False),
        ({"type": "Place", "touched": ["attributes"]}, False),
        ({"type": "Place", "text": "and it is by the sea"}, True),
        ({"element": "ADA", "touched": ["fields"]}, True),
        ({"element": "ADA", "touched": ["fields.name"]}, True),
        ({"element": "ADA", "touched": ["facets.MnemonicState"]}, True),
        ({"element": "ADA", "touched": ["facets.MemoryScope"]}, False),
        ({"element": "ADA", "type": "Place"}, False),
    ],
)
def test_the_members_of_a_condition_narrow_it(brain: Brain, condition: Any, fires: bool) -> None:
    ada = brain.write(CreateConcept("?ada", "Person", key="person:ada", name="Ada")).ids["?ada"]
    condition = json.loads(json.dumps(condition).replace("ADA", ada))
    brain.write(watch(condition))
    brain.write(*lives("?a", "oslo"))
    brain.write(UpdateConcept(ada, name="Ada B.", facets={"MnemonicState": {"salience": 0.5}}))
    assert brain.settle()["watches"] == count(fired=int(fires))


@pytest.mark.parametrize(
    "condition",
    [
        "somebody moves",
        {"text": "somebody moves"},
        {"ops": ["create"]},
        {"type": "Nothing"},
        {"element": 7},
        {"type": "Place", "colour": "red"},
        {"slot": {"subject": "C-1"}},
    ],
)
def test_what_rule_cannot_decide_is_deferred(brain: Brain, condition: Any) -> None:
    made = brain.write(watch(condition)).ids["?w"]
    brain.write(*lives("?a", "oslo"))
    assert brain.settle()["watches"] == count(deferred=1)
    assert brain.attributes(made)["status"] == "armed"


def test_a_watch_follows_what_its_element_was_merged_with(brain: Brain) -> None:
    made = brain.write(
        CreateConcept("?a", "Place", name="NYC"), CreateConcept("?b", "Place", name="New York")
    ).ids
    brain.write(MergeConcept(made["?a"], made["?b"]))
    brain.write(watch({"element": made["?a"]}))
    brain.write(UpdateConcept(made["?b"], name="New York City"))
    assert brain.settle()["watches"] == count(fired=1)


def test_silence_is_concluded_from_the_whole_stream_up_to_its_time(brain: Brain) -> None:
    place = brain.write(CreateConcept("?p", "Place", name="Berlin")).ids["?p"]
    waiting = brain.write(watch({"element": place}, "silence", due_at=LATER)).ids["?w"]
    endless = brain.write(watch({"element": place}, "silence")).ids["?w"]
    assert brain.settle()["watches"] == count(deferred=1)
    assert brain.attributes(endless)["status"] == "armed"
    brain.write(UpdateConcept(endless, attributes={"status": "disarmed"}))
    brain.write(UpdateConcept(waiting, attributes={"due_at": PAST}))
    assert brain.settle()["watches"] == count(fired=1)
    assert brain.keys("watch_fire") == [f"watch_fire:{waiting}:1:silence:{PAST}"]
    facts = next(iter(brain.load(waiting).doc["facets"].values()))
    assert facts["matched"] is False


def test_a_silence_that_was_broken_and_a_delta_out_of_time_are_disarmed(brain: Brain) -> None:
    place = brain.write(CreateConcept("?p", "Place", name="Berlin")).ids["?p"]
    broken = brain.write(watch({"element": place}, "silence", due_at=LATER)).ids["?w"]
    late = brain.write(watch({"element": place}, due_at=PAST)).ids["?w"]
    brain.write(UpdateConcept(place, name="Mitte"))
    assert brain.settle()["watches"] == count(disarmed=2)
    assert brain.attributes(broken)["status"] == "disarmed"
    assert brain.attributes(late)["status"] == "expired"
    assert brain.keys("watch_fire") == []
    assert brain.attention() == []


def test_a_watch_on_another_watch_fires_in_the_same_run(brain: Brain) -> None:
    place = brain.write(CreateConcept("?p", "Place", name="Berlin")).ids["?p"]
    first = brain.write(watch({"element": place})).ids["?w"]
    second = brain.write(watch({"element": first, "touched": ["attributes.status"]})).ids["?w"]
    brain.write(UpdateConcept(place, name="Mitte"))
    assert brain.settle()["watches"] == count(fired=2)
    assert brain.attention() == [("watch_fired", first), ("watch_fired", second)]


def test_a_key_that_somebody_took_makes_a_conflict_and_hinders_no_other(brain: Brain) -> None:
    place = brain.write(CreateConcept("?p", "Place", name="Berlin")).ids["?p"]
    taken = brain.write(watch({"element": place})).ids["?w"]
    other = brain.write(watch({"element": place})).ids["?w"]
    seq = brain.head() + 2
    brain.write(
        CreateActivity("?x", "reflection", "completed", client_key=f"watch_fire:{taken}:1:{seq}")
    )
    assert brain.write(UpdateConcept(place, name="Mitte")).seq == seq
    assert brain.settle()["watches"] == count(fired=1, conflicted=1)
    assert brain.attributes(taken)["status"] == "armed"
    assert brain.attention() == [("watch_fired", other)]


# --- promises -----------------------------------------------------------------------------------


def test_a_due_promise_is_raised_once_and_stays_as_it_is(brain: Brain) -> None:
    made = brain.write(promise(PAST)).ids["?c"]
    assert brain.settle()["commitments"] == {"due": 1, "raised": 1}
    assert brain.keys("commitment_review") == [f"commitment_review:{made}:{PAST}"]
    [last] = brain.read(lambda tx: between(tx, brain.scope, after=1, limit=9))
    assert (last.principal, last.channel) == ("$system", "maintenance")
    assert brain.attributes(made) == {
        "summary": "Bring the tent",
        "status": "pending",
        "due_at": PAST,
    }
    assert brain.load(made).version == 1
    head = brain.head()
    assert brain.settle()["commitments"] == {"due": 1, "raised": 0}
    assert brain.head() == head
    # the same time written again raises nothing; another one does
    brain.write(UpdateConcept(made, attributes={"status": "blocked"}))
    assert brain.settle()["commitments"] == {"due": 1, "raised": 0}
    new = to_text(now() - timedelta(hours=1))
    brain.write(UpdateConcept(made, attributes={"due_at": new}))
    assert brain.settle()["commitments"] == {"due": 1, "raised": 1}
    assert brain.attention() == [("commitment_due", made)] * 2


@pytest.mark.parametrize("status", ["fulfilled", "cancelled", "expired"])
def test_an_ended_promise_is_never_raised(brain: Brain, status: str) -> None:
    brain.write(promise(PAST, status))
    assert brain.settle()["commitments"] == {"due": 0, "raised": 0}


@pytest.mark.parametrize("due_at", [LATER, None], ids=["later", "never"])
def test_a_promise_that_is_not_due_is_not_raised(brain: Brain, due_at: str | None) -> None:
    brain.write(promise(due_at))
    assert brain.settle()["commitments"] == {"due": 0, "raised": 0}


@pytest.mark.parametrize("way", ["watches", "condition", "derived"])
def test_a_promise_with_a_watch_is_left_to_it(brain: Brain, way: str) -> None:
    made = brain.write(promise(PAST)).ids["?c"]
    place = brain.write(CreateConcept("?p", "Place", name="Berlin")).ids["?p"]
    condition = {"element": made if way == "condition" else place, "ops": ["purge"]}
    one = watch(condition)
    if way == "watches":
        one = CreateConcept(
            "?w", "Watch", attributes=one.attributes, links=(Link("watches", made),)
        )
    changes: list[Any] = [one]
    if way == "derived":
        changes += [
            CreateActivity("?x", "reflection", "completed", inputs=(made,), outputs=("?w",))
        ]
    watching = brain.write(*changes).ids["?w"]
    assert brain.settle()["commitments"] == {"due": 0, "raised": 0}
    # a Watch that is off stands for nothing
    brain.write(UpdateConcept(watching, attributes={"status": "disarmed"}))
    assert brain.settle()["commitments"] == {"due": 1, "raised": 1}


def test_many_due_promises_are_raised_page_by_page(brain: Brain) -> None:
    made = [
        CreateConcept(
            f"?c{n}", "Commitment", attributes={"summary": "x", "status": "pending", "due_at": PAST}
        )
        for n in range(230)
    ]
    brain.write(*made)
    assert brain.settle()["commitments"] == {"due": 230, "raised": 230}
    assert len(set(brain.keys("commitment_review"))) == 230
    assert brain.settle()["commitments"] == {"due": 230, "raised": 0}


# --- retention ----------------------------------------------------------------------------------


def test_what_is_kept_no_longer_is_archived_save_what_is_held(brain: Brain) -> None:
    made = brain.write(
        *(CreateConcept(f"?t{n}", "Topic", name=f"T{n}") for n in range(5)),
        CreateEvidence("?e", "message", "x"),
        *lives("?a", "oslo"),
    ).ids
    for ref in ("?t0", "?t1", "?t2", "?e", "?a"):
        brain.write(SetRetention(made[ref], {"expires_at": PAST}))
    brain.write(SetRetention(made["?t3"], {"expires_at": LATER}))
    brain.write(SetRetention(made["?t1"], {"legal_hold": True}))
    with brain.database.transaction(brain.scope) as tx:
        pinning.pin(tx, brain.scope, "anonymous", made["?t2"], pinned=True)
    told = brain.settle()["retention"]
    assert told == {"archived": 3, "held": 2, "refused": 0, "remaining": 0}
    states = {ref: brain.load(made[ref]).state for ref in made}
    assert {ref for ref, one in states.items() if one == "archived"} == {"?t0", "?e", "?a"}
    assert brain.settle()["retention"] == {"archived": 0, "held": 2, "refused": 0, "remaining": 0}


def test_more_than_one_run_archives_is_told_as_remaining(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_PAGE", 3)
    monkeypatch.setattr(retention, "MOST", 6)
    made = brain.write(*(CreateConcept(f"?t{n}", "Topic", name=f"T{n}") for n in range(8))).ids
    brain.write(*(SetRetention(id, {"expires_at": PAST}) for id in made.values()))
    assert brain.settle()["retention"]["remaining"] == 2
    due = brain.read(
        lambda tx: tx.execute(
            "select next_due <= now() from memory_upkeep where space_id = %s",
            (brain.scope.space_id,),
        ).fetchone()
    )
    assert due == (True,)
    assert brain.settle()["retention"] == {"archived": 2, "held": 0, "refused": 0, "remaining": 0}


# --- corrections --------------------------------------------------------------------------------


def test_corrections_are_counted_once_with_what_rests_on_them(brain: Brain) -> None:
    first = brain.write(*lives("?a", "oslo")).ids["?a"]
    insight = brain.write(
        CreateConcept("?i", "Insight", attributes={"summary": "Ada likes the north."}),
        CreateActivity("?x", "reflection", "completed", inputs=(first,), outputs=("?i",)),
    ).ids["?i"]
    second = brain.write(*lives("?b", "rome"), Transition(first, "superseded", by="?b"))
    told = brain.settle()
    assert told["new_corrections"] == 1
    assert told["revised_roots"] == [
        {"id": first, "seq": second.seq, "by": second.ids["?b"], "dependents": [insight]}
    ]
    assert told["correction_scan_incomplete"] is False
    assert told["correction_scan_through_seq"] >= second.seq
    task = brain.task(f"review_derived:{first}")
    assert (task["status"], task["dependents"]) == ("pending", [insight])
    assert brain.settle()["new_corrections"] == 0


def test_a_scan_stops_inside_a_transaction_and_goes_on_there(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrections, "_PAGE", 4)
    monkeypatch.setattr(corrections, "MOST", 4)
    ids = brain.write(
        *(change for n in range(3) for change in claim(n)),
    ).ids
    brain.write(*(Transition(ids[f"?a{n}"], "superseded", by=ids[f"?b{n}"]) for n in range(3)))
    seen = []
    for _ in range(8):
        told = brain.settle()
        seen.append((told["correction_scan_through_seq"], told["new_corrections"]))
        if not told["correction_scan_incomplete"]:
            break
    assert sum(new for _, new in seen) == 3
    assert len(seen) > 3
    assert [seq for seq, _ in seen] == sorted(seq for seq, _ in seen)
    total = brain.read(
        lambda tx: tx.execute(
            "select corrections from memory_upkeep where space_id = %s", (brain.scope.space_id,)
        ).fetchone()
    )
    assert total == (3,)


def claim(n: int) -> list[Any]:
    return [
        CreateConcept(f"?s{n}", "Person", name=f"S{n}"),
        CreateConcept(f"?o{n}", "Place", name=f"O{n}"),
        EnsureProposition(f"?p{n}", f"?s{n}", "lives_in", f"?o{n}"),
        CreateAssertion(f"?a{n}", f"?p{n}", f"?s{n}", "stated", asserted_at=AT),
        CreateAssertion(
            f"?b{n}", f"?p{n}", f"?s{n}", "stated", asserted_at=AT + timedelta(minutes=1)
        ),
    ]


def test_a_scan_that_fails_moves_nothing_and_hinders_nothing(brain: Brain) -> None:
    brain.write(promise(PAST))
    brain.settle()
    before = brain.read(lambda tx: maintenance_runs.read(tx, brain.scope).corrections_seq)
    seq = brain.write(*lives("?a", "oslo")).seq
    with brain.database.transaction(brain.scope) as tx:
        kept = tx.execute(
            "select changes from commit_record where space_id = %s and space_seq = %s",
            (brain.scope.space_id, seq),
        ).fetchone()
        tx.execute(
            "update commit_record set changes = '[{\"op\": 7}]' where space_id = %s"
            " and space_seq = %s",
            (brain.scope.space_id, seq),
        )
    made = brain.write(UpsertConcept("?t", "Topic", key="topic:x", initial_name="X")).ids["?t"]
    brain.write(SetRetention(made, {"expires_at": PAST}))
    told = brain.settle()
    assert told["correction_scan_error"].startswith("internal_error")
    assert told["correction_scan_incomplete"] is True
    assert told["correction_scan_through_seq"] == before
    assert told["retention"]["archived"] == 1
    assert kept is not None
    with brain.database.transaction(brain.scope) as tx:
        tx.execute(
            "update commit_record set changes = %s where space_id = %s and space_seq = %s",
            (json.dumps(kept[0]), brain.scope.space_id, seq),
        )
    told = brain.settle()
    assert "correction_scan_error" not in told
    assert told["correction_scan_incomplete"] is False


# --- exposures, skills, strength ----------------------------------------------------------------


def test_the_exposure_log_is_told_in_batches_once(brain: Brain) -> None:
    made = brain.write(CreateConcept("?t", "Topic", name="T")).ids["?t"]
    with brain.database.transaction(brain.scope) as tx:
        for what in ("retrieved", "retrieved", "used"):
            tx.execute(
                "insert into exposure (space_id, element_id, what, snapshot_seq, at)"
                " values (%s, %s, %s, 1, now())",
                (brain.scope.space_id, made, what),
            )
    told = brain.settle()
    assert told["exposures"] == [
        {"element_id": made, "retrieved": 2, "used": 1, "last_snapshot_seq": 1}
    ]
    assert told["exposures_truncated"] is False
    assert brain.settle()["exposures"] == []


def test_a_long_log_is_told_batch_by_batch(brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposures, "_ELEMENTS", 2)
    with brain.database.transaction(brain.scope) as tx:
        for element in ("C-1", "C-2", "C-3", "C-1"):
            tx.execute(
                "insert into exposure (space_id, element_id, what, snapshot_seq, at)"
                " values (%s, %s, 'retrieved', 1, now())",
                (brain.scope.space_id, element),
            )
    first, second, third = brain.settle(), brain.settle(), brain.settle()
    assert [e["element_id"] for e in first["exposures"]] == ["C-1", "C-2"]
    assert first["exposures_truncated"] is True
    assert [e["element_id"] for e in second["exposures"]] == ["C-3", "C-1"]
    assert second["exposures_truncated"] is False
    assert third["exposures"] == []


def test_skills_say_why_none_is_judged(brain: Brain) -> None:
    assert brain.settle()["skills"] == {
        "unsupported_reason": NO_LEARNING,
        "graded": 0,
        "transitions": 0,
        "conflicted": 0,
    }


@pytest.mark.parametrize("scope", ["daydream", "quick", "full"])
def test_no_scope_writes_a_strength(brain: Brain, scope: str) -> None:
    strength = {
        "memory_strength": 0.8,
        "last_metabolized_at": "2026-01-01T00:00:00.000Z",
        "strength_policy": STRENGTH_POLICY,
    }
    made = brain.write(
        CreateConcept("?t", "Topic", name="Old", facets={"MnemonicState": strength}),
        CreateConcept("?e", "Event", attributes={"summary": "s", "started_at": PAST}),
        promise(PAST),
        watch({"type": "Topic"}, due_at=PAST),
    ).ids
    brain.write(UpdateConcept(made["?e"], attributes={"summary": "t"}))
    head = brain.head()
    brain.maintain(scope, parameters={"stale_event_threshold_days": 1, "orphan_max_count": 1})
    assert brain.load(made["?t"]).version == 1
    records = brain.read(lambda tx: between(tx, brain.scope, after=head, limit=100))
    assert records
    touched = [path for r in records for e in r.changes for path in e.get("touched", ())]
    assert touched
    assert not [path for path in touched if "strength" in path or "MnemonicState" in path]
    said = json.dumps(brain.settle())
    assert "decay" not in said
    assert "strength" not in said


# --- the state of affairs -----------------------------------------------------------------------


def event(n: int, days: int) -> CreateConcept:
    at = to_text(now() - timedelta(days=days))
    return CreateConcept(
        f"?e{n}", "Event", attributes={"summary": f"Talk {n}", "started_at": at, "ended_at": at}
    )


def test_stale_events_and_those_beyond_the_backlog_get_a_task(brain: Brain) -> None:
    made = brain.write(*(event(n, days) for n, days in enumerate((30, 20, 3, 2, 1)))).ids
    brain.write(
        CreateConcept(
            "?s", "Event", attributes={"summary": "scope", "event_class": "memory_scope"}
        ),
        CreateActivity("?x", "semantic_consolidation", "completed", inputs=(made["?e4"],)),
    )
    told = brain.maintain("quick", parameters={"unconsolidated_max_backlog": 1})
    assert told["backlog"]["unconsolidated"] == 4
    assert told["backlog"]["stale"] == 2
    assert told["backlog"]["tasks"] == 3
    for n in range(3):
        assert brain.task(f"consolidate:{made[f'?e{n}']}")["status"] == "pending"
    assert brain.task(f"consolidate:{made['?e3']}") == {}
    assert brain.maintain("quick")["backlog"]["tasks"] == 0
    # a task ends with its reason
    brain.write(
        CreateActivity("?x", "reflection", "completed", inputs=(made["?e0"],)),
        Transition(made["?e1"], "archived"),
    )
    told = brain.maintain("quick")["tasks"]
    assert (told["completed"], told["cancelled"]) == (1, 1)
    assert brain.task(f"consolidate:{made['?e0']}")["status"] == "completed"
    assert brain.task(f"consolidate:{made['?e1']}")["status"] == "cancelled"
    assert told["open"] == {"consolidate": 1}


def test_orphans_beyond_the_most_get_a_review(brain: Brain) -> None:
    made = brain.write(
        *(CreateConcept(f"?t{n}", "Topic", name=f"T{n}") for n in range(3)),
        *lives("?a", "oslo"),
        promise(LATER),
        watch({"type": "Topic", "ops": ["purge"]}),
    ).ids
    told = brain.maintain("quick", parameters={"orphan_max_count": 2})
    assert (told["backlog"]["orphans"], told["backlog"]["orphan_tasks"]) == (3, 1)
    assert brain.task(f"review_retention:{made['?t2']}")["element"] == made["?t2"]
    status = brain.read(lambda tx: maintenance_runs.read(tx, brain.scope))
    assert status.graph["orphans"] == 3
    assert status.graph["predicate_types"] == 1


def test_the_audit_counts_predicates_and_has_drafts_reviewed(brain: Brain) -> None:
    brain.write(
        *lives("?a", "oslo"),
        DefineSymbol("predicate", "plays_chess_with", {"description": "x"}),
    )
    told = brain.maintain("quick")
    assert told["schema_audit"]["predicates"] == {"lives_in": 1}
    assert told["schema_audit"]["reviews"] == 1
    ref = "kip://local/draft@0.0.0/plays_chess_with"
    task = brain.task(f"review_schema:PredicateType:{ref}")
    assert task["symbol_ref"] == ref
    assert brain.maintain("quick")["schema_audit"]["reviews"] == 0


def test_a_lease_that_has_run_out_lets_its_task_wait_again(brain: Brain) -> None:
    lease = {"owner": "w", "fencing_token": 1, "expires_at": PAST, "attempt_count": 1}
    attributes = {"summary": "s", "task_class": "review_conflict", "status": "running"}
    made = brain.write(
        CreateConcept("?s", "SleepTask", attributes=attributes, facets={"LeaseState": lease}),
        CreateConcept(
            "?r",
            "SleepTask",
            attributes=attributes,
            facets={"LeaseState": {**lease, "expires_at": LATER}},
        ),
    ).ids
    assert brain.maintain("quick")["tasks"]["released"] == 1
    assert brain.attributes(made["?s"])["status"] == "pending"
    assert not brain.load(made["?s"]).doc.get("facets")
    assert brain.attributes(made["?r"])["status"] == "running"


def test_a_daydream_leaves_the_state_of_affairs_alone(brain: Brain) -> None:
    brain.write(event(0, 30))
    told = brain.maintain("daydream")
    assert not {"backlog", "tasks", "schema_audit", "consolidation"} & told.keys()


# --- parameters, policy, due times, records -----------------------------------------------------


def test_explicit_parameters_come_before_the_policy_and_change_nothing(brain: Brain) -> None:
    with brain.database.transaction(brain.scope) as tx:
        memory_policy.write(tx, brain.scope, MemoryPolicy(stale_event_threshold_days=9))
    told = brain.maintain("quick", parameters={"orphan_max_count": 3})
    assert told["parameters"] == {
        "stale_event_threshold_days": 9,
        "unconsolidated_max_backlog": 20,
        "orphan_max_count": 3,
    }
    kept = brain.read(lambda tx: spaces.get(tx, brain.scope).settings["memory_policy"])
    assert kept == {"stale_event_threshold_days": 9}


@pytest.mark.parametrize("kind", ["promise", "watch", "retention", "outcome"])
def test_cron_looks_again_when_time_alone_lets_something_fall_due(brain: Brain, kind: str) -> None:
    soon = now() + timedelta(hours=1)
    if kind == "promise":
        brain.write(promise(to_text(soon)))
    elif kind == "watch":
        brain.write(watch({"type": "Place"}, "silence", due_at=to_text(soon)))
    elif kind == "retention":
        made = brain.write(CreateConcept("?t", "Topic", name="T")).ids["?t"]
        brain.write(SetRetention(made, {"expires_at": to_text(soon)}))
    else:
        with brain.database.transaction(brain.scope) as tx:
            tx.execute(
                "insert into idem (space_id, principal, op_class, key, request_digest, outcome,"
                " created_at) values (%s, 'p', 'c', 'k', 'd', '{}', %s)",
                (brain.scope.space_id, soon - timedelta(days=7, minutes=1)),
            )
    brain.settle()
    with brain.database.transaction(brain.scope) as tx:
        row = tx.execute(
            "select next_due from memory_upkeep where space_id = %s", (brain.scope.space_id,)
        ).fetchone()
    assert row == (soon,)
    with brain.database.ledger() as tx:
        assert brain.scope.space_id not in maintenance_runs.due(tx)
    with brain.database.transaction(brain.scope) as tx:
        tx.execute(
            "update memory_upkeep set next_due = now() where space_id = %s",
            (brain.scope.space_id,),
        )
    with brain.database.ledger() as tx:
        assert brain.scope.space_id in maintenance_runs.due(tx)


def test_outcomes_of_keyed_requests_are_forgotten_in_time(brain: Brain) -> None:
    with brain.database.transaction(brain.scope) as tx:
        for key, days in (("old", 8), ("young", 6)):
            tx.execute(
                "insert into idem (space_id, principal, op_class, key, request_digest, outcome,"
                " created_at) values (%s, 'p', 'c', %s, 'd', '{}', %s)",
                (brain.scope.space_id, key, now() - timedelta(days=days)),
            )
    brain.settle()
    rows = brain.read(
        lambda tx: tx.execute(
            "select key from idem where space_id = %s", (brain.scope.space_id,)
        ).fetchall()
    )
    assert rows == [("young",)]


def test_the_record_of_a_run_holds_its_report(brain: Brain) -> None:
    with brain.database.transaction(brain.scope) as tx:
        number = conversations.next_id(tx, brain.scope)
        conversations.create(
            tx, brain.scope, number, "maintenance", job_id="", principal="p", messages=[]
        )
    told = brain.maintain("full", conversation=number)
    record = brain.read(lambda tx: conversations.get(tx, brain.scope, number))
    assert record.status == "completed"
    assert record.artifacts[0]["settlement"] == told["settlement"]
    assert record.usage == told["usage"]


def test_a_purged_element_neither_fires_nor_breaks_anything(brain: Brain) -> None:
    made = brain.write(CreateConcept("?p", "Place", name="Berlin")).ids["?p"]
    brain.write(watch({"element": made, "ops": ["purge"]}))
    brain.write(watch({"type": "Place", "ops": ["update"]}))
    brain.write(UpdateConcept(made, name="Mitte"))
    brain.write(Purge(made, policy="tombstone_reference"))
    assert brain.settle()["watches"] == count(fired=2)
