"""Observing, revising and giving feedback: keys, order, scopes, and what must not come back."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from jobs import ledger
from storage import conversations
from storage.clock import to_millis
from storage.graph.changes import ChangeSet, MergeConcept, PurgePayload, Transition
from storage.graph.commit import commit
from storage.principals import anonymous
from storage.source_digests import message_digest
from tests import memory_interface
from tests.memory_interface import Caller, World

world = memory_interface.world

ORDER = {"stream_ref": "s", "event_ref": "e", "ordinal": 0}


def said(text: str, at: datetime, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": to_millis(at), **more}


def suppress(world: World, digest: str) -> None:
    with world.database.transaction(world.scope) as tx:
        tx.execute(
            "insert into source_suppression (space_id, source_digest, plan_ref, created_at)"
            " values (%s, %s, 'pln-1', now())",
            (world.sp1, digest),
        )


# --- keys -----------------------------------------------------------------------------------------


def test_the_meaning_of_a_key_is_its_operation_scope_input_and_source(world: World) -> None:
    caller = world.caller()
    s, other = caller.stage("I live in Utrecht."), caller.stage("I live in Oslo.")
    scope = {"task_ref": "t", "context_refs": ["b", "a"]}
    first = caller.do("observe", "k", source_ref=s, scope=scope)
    same: list[dict[str, Any]] = [
        {"scope": {"task_ref": "t", "context_refs": ["a", "b"]}},
        {"scope": scope, "budget": {"max_output_tokens": 7}},
        {"scope": scope, "requires": ["memory_basic"]},
    ]
    for more in same:
        assert caller.do("observe", "k", source_ref=s, **more)["receipt"] == first["receipt"]
    different: list[dict[str, Any]] = [
        {"source_ref": s},
        {"source_ref": other, "scope": scope},
        {"source_ref": s, "scope": {"task_ref": "u", "context_refs": ["a", "b"]}},
        {"source_ref": s, "scope": {"context_refs": ["a", "b", "t"]}},
    ]
    for request in different:
        refused = caller.do("observe", "k", **request)
        assert refused["status"] == "failed"
        assert refused["error"]["code"] == "IdempotencyConflict"
    assert world.jobs == 1
    # the same string under another operation is another key
    assert caller.do("revise", "k", source_ref=s)["receipt"] != first["receipt"]
    omitted = caller.do("revise", "k", source_ref=s, change_kind="unspecified")
    assert omitted["error"]["code"] == "IdempotencyConflict"


def test_two_racing_requests_are_one_intake(world: World) -> None:
    caller = world.caller()
    s = caller.stage("I live in Utrecht.")
    told: list[Any] = []
    threads = [
        threading.Thread(target=lambda: told.append(caller.do("observe", "k", source_ref=s)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len({one["receipt"]["receipt_ref"] for one in told}) == 1
    assert world.jobs == 1
    assert world.rows("select count(*) from conversation where space_id = %s") == [(1,)]


def test_what_is_accepted_is_a_receipt_a_job_and_a_record_at_once(world: World) -> None:
    caller = world.caller()
    s = caller.stage(said("I live in Utrecht.", datetime(2026, 3, 1, tzinfo=UTC)))
    told = caller.do("observe", source_ref=s)
    with world.database.transaction(world.scope) as tx:
        job = ledger.by_receipt(tx, anonymous(world.sp1), told["receipt"]["receipt_ref"])
        assert job is not None
        record = conversations.get(tx, world.scope, job.payload["conversation"], "formation")
    assert record is not None
    assert (job.operation, job.kind, record.job_id) == ("observe", "formation", job.id)
    assert record.messages[0]["content"] == "I live in Utrecht."


# --- order ----------------------------------------------------------------------------------------


def follow(caller: Caller, text: str, *receipts: str) -> str:
    order = {**ORDER, "predecessor_receipts": list(receipts)}
    return caller.stage(text, order=order)


def test_a_successor_of_a_failed_input_fails_and_forms_nothing(world: World) -> None:
    caller = world.caller()
    first = caller.stage("I live in Utrecht.")
    waiting = caller.do("observe", source_ref=first)["receipt"]["receipt_ref"]
    good = caller.do("observe", source_ref=caller.stage("I love tea."))["receipt"]["receipt_ref"]
    suppress(world, message_digest({"role": "user", "content": "I live in Utrecht."}))
    both = caller.do("observe", source_ref=follow(caller, "I live in Oslo.", waiting, good))
    assert both["status"] == "pending"
    world.work()
    failed = caller.receipt(waiting)["progress"]
    assert (failed["phase"], failed["error"]["code"]) == ("failed", "NotAuthorized")
    told = caller.receipt(both["receipt"]["receipt_ref"])["progress"]
    assert (told["phase"], told["error"]["code"]) == ("failed", "PreconditionFailed")
    assert caller.receipt(good)["progress"]["disposition"] == "formed"
    late = caller.do("observe", source_ref=follow(caller, "I live in Bonn.", good, waiting))
    assert late["status"] == "failed"
    assert late["error"]["code"] == "PreconditionFailed"
    assert late["receipt"]["operation"] == "observe"
    world.work()
    assert sorted(world.believed()) == ["user prefers tea"]


def test_a_successor_waits_and_forms_after_its_predecessors(world: World) -> None:
    caller = world.caller()
    refs = [
        caller.do("observe", source_ref=caller.stage(text))["receipt"]["receipt_ref"]
        for text in ("I live in Utrecht.", "I love tea.")
    ]
    last = caller.do("observe", source_ref=follow(caller, "I work for Acme.", *refs))
    world.work()
    seqs = [caller.receipt(r)["progress"]["resolved_seq"] for r in refs]
    view = caller.receipt(last["receipt"]["receipt_ref"])["progress"]
    assert view["disposition"] == "formed"
    assert view["resolved_seq"] > max(seqs)


# --- scopes ---------------------------------------------------------------------------------------

MANY = "I live in Utrecht. I'll send you the report by Friday. Always answer in French from now on."


def test_everything_of_a_scoped_turn_carries_its_scope(world: World) -> None:
    caller = world.caller()
    scope = {"task_ref": "task-A", "context_refs": ["work"]}
    view = caller.done("observe", source_ref=caller.stage(MANY), scope=scope)
    assert view["progress"]["disposition"] == "formed"
    assert view["progress"]["resolved_seq"] == world.head == 1
    events = dict(
        world.rows("select key, id from element where space_id = %s and key like 'memory_scope:%%'")
    )
    task, work = events["memory_scope:task-A"], events["memory_scope:work"]
    carried = {"task_ref": task, "context_refs": [work]}
    records = world.rows(
        "select id from element where space_id = %s and (kind = 'E' or schema_ref ~"
        " '/(Event|Insight|Experience|Commitment)$') and coalesce(key, '') not like"
        " 'memory_scope:%%'"
    )
    kinds = {world.element(i)["kind"] for (i,) in records}
    assert (len(records), kinds) == (4, {"evidence", "concept"})
    assert {str(world.scope_of(i)) for (i,) in records} == {str(carried)}
    contexts = world.rows("select context_refs from assertion where space_id = %s")
    assert contexts == [(sorted([task, work]),)]
    assert world.element(task)["attributes"]["event_class"] == "memory_scope"


def test_a_handle_stays_the_same_scope_and_recalls_none_of_the_other(world: World) -> None:
    caller = world.caller()
    caller.done("observe", source_ref=caller.stage("I love tea."), scope={"task_ref": "a"})
    caller.done("observe", source_ref=caller.stage("I love tea."), scope={"task_ref": "b"})
    caller.done("observe", source_ref=caller.stage("I love tea."))
    again = caller.done(
        "observe", source_ref=caller.stage("I work for Acme."), scope={"task_ref": "a"}
    )
    assert again["progress"]["disposition"] == "formed"
    sets = world.rows("select context_refs from assertion where space_id = %s order by created_seq")
    assert len({tuple(refs) for (refs,) in sets}) == 3
    assert sets[0] == sets[3]
    assert world.rows(
        "select count(*) from element where space_id = %s and key like 'memory_scope:%%'"
    ) == [(2,)]
    assert world.rows("select count(*) from evidence where space_id = %s") == [(4,)]


@pytest.mark.parametrize("became", ["archived", "tombstoned", "merged"])
def test_a_handle_is_its_scope_whatever_became_of_the_event(world: World, became: Any) -> None:
    caller = world.caller()
    for handle in ("a", "b"):
        caller.done("observe", source_ref=caller.stage("I love tea."), scope={"task_ref": handle})
    (event, other) = [
        i
        for (i,) in world.rows(
            "select id from element where space_id = %s and key like 'memory_scope:%%' order by key"
        )
    ]
    change = MergeConcept(event, other) if became == "merged" else Transition(event, became)
    with world.database.transaction(world.scope) as tx:
        commit(tx, world.scope, "x", ChangeSet((change,)), tx_class="test")
    view = caller.done("observe", source_ref=caller.stage("I love fog."), scope={"task_ref": "a"})
    assert view["progress"]["disposition"] == "formed"
    [contexts] = world.rows(
        "select context_refs from assertion where space_id = %s order by created_seq desc limit 1"
    )
    assert contexts == ([other if became == "merged" else event],)


def test_a_concept_id_is_a_scope_and_an_unknown_one_is_refused(world: World) -> None:
    caller = world.caller()
    caller.done("observe", source_ref=caller.stage("I love tea."), scope={"task_ref": "a"})
    [(event,)] = world.rows("select id from element where space_id = %s and key = 'memory_scope:a'")
    view = caller.done(
        "observe", source_ref=caller.stage("I love rain."), scope={"task_ref": event}
    )
    assert view["progress"]["disposition"] == "formed"
    sets = world.rows("select distinct context_refs from assertion where space_id = %s")
    assert sets == [([event],)]
    refused = caller.do(
        "observe", source_ref=caller.stage("I love fog."), scope={"context_refs": ["C-999"]}
    )
    assert refused["error"]["code"] == "NotFoundOrNotVisible"


def test_what_was_said_in_one_scope_is_not_corrected_from_another(world: World) -> None:
    caller = world.caller()
    caller.done("observe", source_ref=caller.stage("I live in Utrecht."), scope={"task_ref": "a"})
    caller.done("observe", source_ref=caller.stage("Sorry, I live in Oslo, not in Utrecht."))
    assert [world.status(i) for i in world.claims()] == ["active", "active"]
    caller.done(
        "observe",
        source_ref=caller.stage("Sorry, I live in Bonn, not in Utrecht."),
        scope={"task_ref": "a"},
    )
    assert [world.status(i) for i in world.claims()] == ["superseded", "active", "active"]


# --- sources --------------------------------------------------------------------------------------


def test_an_evidence_is_a_source_too(world: World) -> None:
    caller = world.caller()
    kept = caller.done("feedback", source_ref=caller.stage("I live in Utrecht."))
    [evidence] = kept["result"]["memory_refs"]
    view = caller.done("observe", source_ref=evidence)
    assert view["progress"]["disposition"] == "formed"
    assert world.rows("select count(*) from evidence where space_id = %s") == [(1,)]
    assert world.element("A-1")["evidence"] == [{"id": evidence, "role": "support"}]
    again = caller.done("observe", source_ref=evidence)
    assert again["progress"]["disposition"] == "skipped"
    assert again["warnings"]
    scoped = caller.done("observe", source_ref=evidence, scope={"task_ref": "a"})
    assert scoped["progress"]["disposition"] == "formed"
    assert len(world.claims()) == 2


@pytest.mark.parametrize("state", ["archived", "purged", "unknown"])
def test_an_evidence_that_is_not_in_force_is_no_source(world: World, state: str) -> None:
    caller = world.caller()
    caller.done("feedback", source_ref=caller.stage("I live in Utrecht."))
    change = {
        "archived": ChangeSet((Transition("E-1", "archived"),)),
        "purged": ChangeSet((PurgePayload("E-1"),)),
        "unknown": ChangeSet(),
    }[state]
    with world.database.transaction(world.scope) as tx:
        commit(tx, world.scope, "anonymous", change, tx_class="test")
    told = caller.do("observe", source_ref="E-7" if state == "unknown" else "E-1")
    assert told["error"]["code"] == "NotFoundOrNotVisible"


def test_what_was_kept_only_is_still_read_when_it_is_observed(world: World) -> None:
    caller = world.caller()
    s = caller.stage("I live in Utrecht.")
    assert caller.done("feedback", source_ref=s)["progress"]["disposition"] == "evidence_only"
    assert caller.done("observe", source_ref=s)["progress"]["disposition"] == "formed"
    again = caller.done("observe", source_ref=s)
    assert again["progress"]["disposition"] == "skipped"
    assert again["result"] == {"summary": "Nothing was written.", "memory_refs": []}


def test_a_source_remembers_every_evidence_that_it_has_become(world: World) -> None:
    caller = world.caller()
    s = caller.stage("I live in Utrecht.", "I love tea.")
    caller.done("observe", source_ref=s)
    caller.done("observe", source_ref=s, scope={"task_ref": "a"})
    caller.done("feedback", source_ref=s)
    source = caller.call("GET", f"memory/sources/{s}").json["result"]
    assert (source["state"], source["evidence_refs"]) == ("captured", ["E-1", "E-2", "E-3", "E-4"])


def test_small_talk_is_kept_as_evidence_alone(world: World) -> None:
    caller = world.caller()
    view = caller.done("observe", source_ref=caller.stage("Good morning!"))
    assert view["progress"]["disposition"] == "evidence_only"
    assert view["result"]["memory_refs"] == ["E-1"]
    assert world.rows(
        "select count(*) from element where space_id = %s and schema_ref like '%%/Event'"
    ) == [(0,)]


def test_what_was_erased_is_refused_at_the_door_and_by_formation(world: World) -> None:
    caller = world.caller()
    text = {"role": "user", "content": "I live in Utrecht."}
    s, early = caller.stage(text), caller.stage({**text, "timestamp": 1789725600000})
    accepted = caller.do("observe", source_ref=early)["receipt"]["receipt_ref"]
    suppress(world, message_digest(text))
    refused = caller.do("observe", "k", source_ref=s)
    assert refused["error"]["code"] == "NotAuthorized"
    assert refused["error"]["details"] == {"reason": "source_suppressed"}
    world.work()
    told = caller.receipt(accepted)["progress"]
    assert (told["phase"], told["error"]["code"]) == ("failed", "NotAuthorized")
    assert world.head == 0
    assert world.rows("select count(*) from evidence where space_id = %s") == [(0,)]


def test_an_erasure_between_reading_and_writing_wins(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = world.caller()
    text = {"role": "user", "content": "I live in Utrecht."}
    accepted = caller.do("observe", source_ref=caller.stage(text))["receipt"]["receipt_ref"]
    world.between = lambda: suppress(world, message_digest(text))
    world.work()
    told = caller.receipt(accepted)["progress"]
    assert (told["phase"], told["error"]["code"]) == ("failed", "NotAuthorized")
    assert world.head == 0


def test_formation_drops_what_was_erased_under_any_time(world: World) -> None:
    caller = world.caller()
    text = {"role": "user", "content": "I live in Utrecht."}
    suppress(world, message_digest(text))
    body = {"messages": [{**text, "timestamp": 1789725600000}]}
    assert caller.call("POST", "formation", body).status_code == 200
    world.work()
    assert world.rows("select count(*) from evidence where space_id = %s") == [(0,)]


def test_feedback_and_the_elements_that_it_is_about(world: World) -> None:
    caller = world.caller()
    caller.done("observe", source_ref=caller.stage("I live in Utrecht."))
    s = caller.stage("That was a good answer.")
    view = caller.done("feedback", source_ref=s, decision_ref="A-1", attempt_ref="E-1")
    assert view["progress"]["disposition"] == "evidence_only"
    # an element of another space is no element here
    other = world.caller(space=world.sp2)
    refused = other.do("feedback", source_ref=other.stage("Good."), decision_ref="A-1")
    assert refused["error"]["code"] == "NotFoundOrNotVisible"


# --- revisions without a model --------------------------------------------------------------------


def test_a_change_of_the_world_answers_old_and_new_times(world: World) -> None:
    caller = world.caller()
    spring, autumn = datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 9, 2, tzinfo=UTC)
    caller.done("observe", source_ref=caller.stage(said("I live in Beijing.", spring)))
    view = caller.done(
        "revise",
        source_ref=caller.stage(said("I moved to Shanghai on 2026-09-01.", autumn)),
        target_ref="A-1",
        change_kind="world_change",
    )
    assert view["progress"]["disposition"] == "formed"
    assert [world.status(i) for i in world.claims()] == ["active", "active"]
    # said earlier, told later: the time at which it was said counts
    late = said("I live in Beijing.", datetime(2026, 3, 1, tzinfo=UTC))
    caller.done("observe", source_ref=caller.stage(late))

    def lives(at: datetime) -> set[str]:
        found = world.believed(valid_at=at)
        return {claim for claim, status in found.items() if status == "accepted"}

    assert lives(datetime(2026, 9, 10, tzinfo=UTC)) == {"user lives_in Shanghai"}
    assert lives(datetime(2026, 8, 1, tzinfo=UTC)) == {"user lives_in Beijing"}
    assert world.rows(
        "select count(*) from element_ver where space_id = %s and status = 'superseded'"
    ) == [(0,)]


def test_a_change_at_an_unknown_time_is_a_bound(world: World) -> None:
    caller = world.caller()
    caller.done(
        "observe",
        source_ref=caller.stage(said("I live in Beijing.", datetime(2026, 4, 1, tzinfo=UTC))),
    )
    text = "I live in Shanghai. I love tea."
    view = caller.done(
        "revise",
        source_ref=caller.stage(said(text, datetime(2026, 9, 2, tzinfo=UTC))),
        target_ref="A-1",
        change_kind="world_change",
    )
    [new] = [i for i in view["result"]["memory_refs"] if i.startswith("A-")]
    assert world.element(new)["valid_time"] == {"from": {"latest": "2026-09-02T00:00:00.000Z"}}
    assert any("left out" in warning for warning in view["warnings"])
    assert len(world.claims()) == 2


def test_a_correction_without_a_model_follows_its_target(world: World) -> None:
    caller = world.caller()
    caller.done(
        "observe",
        source_ref=caller.stage(said("I live in Oslo.", datetime(2026, 4, 1, tzinfo=UTC))),
    )
    view = caller.done(
        "revise",
        source_ref=caller.stage(said("I live in Bergen.", datetime(2026, 5, 1, tzinfo=UTC))),
        target_ref="A-1",
        change_kind="correction",
    )
    assert view["progress"]["disposition"] == "formed"
    assert [world.status(i) for i in world.claims()] == ["superseded", "active"]
    assert world.element("A-2")["valid_time"] == {"from": {"latest": "2026-04-01T00:00:00.000Z"}}
    gone = caller.done(
        "revise",
        source_ref=caller.stage("I live in Rome."),
        target_ref="A-1",
        change_kind="correction",
    )
    assert gone["progress"]["error"]["code"] == "PreconditionFailed"


def test_an_unspecified_revision_supersedes_nothing(world: World) -> None:
    caller = world.caller()
    caller.done("observe", source_ref=caller.stage("I live in Oslo."))
    view = caller.done("revise", source_ref=caller.stage("Sorry, I live in Bergen, not in Oslo."))
    assert view["progress"]["disposition"] == "formed"
    assert [world.status(i) for i in world.claims()] == ["active", "active"]
    assert any("superseded" in warning for warning in view["warnings"])


@pytest.mark.parametrize(
    ("before", "after", "believed"),
    [
        ("My time zone is UTC+8.", "I said +08:00, I meant +07:00.", "user timezone +07:00"),
        ("I live in Oslo.", "No, I meant Bergen.", "user lives_in Bergen"),
        ("我住在北京。", "我其实住在上海，不是北京。", "user lives_in 上海"),
    ],
)
def test_mis_33_without_a_model(world: World, before: str, after: str, believed: str) -> None:
    caller = world.caller()
    first, second = datetime(2026, 9, 1, 9, tzinfo=UTC), datetime(2026, 9, 10, 9, tzinfo=UTC)
    caller.done("observe", source_ref=caller.stage(said(before, first)))
    view = caller.done(
        "revise",
        source_ref=caller.stage(said(after, second)),
        target_ref="A-1",
        change_kind="correction",
    )
    assert view["progress"]["disposition"] == "formed"
    assert view["warnings"] == []
    for at in (datetime(2026, 9, 5, tzinfo=UTC), datetime(2026, 9, 12, tzinfo=UTC)):
        found = world.believed(valid_at=at)
        assert [claim for claim, status in found.items() if status == "accepted"] == [believed]


def test_taking_back_is_a_correction_too(world: World) -> None:
    caller = world.caller()
    caller.done("observe", source_ref=caller.stage("I live in Oslo."))
    view = caller.done(
        "revise",
        source_ref=caller.stage("I take that back."),
        target_ref="A-1",
        change_kind="correction",
    )
    assert view["progress"]["disposition"] == "formed"
    assert world.status("A-1") == "retracted"
