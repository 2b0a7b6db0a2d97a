"""The scenarios of the Memory Interface that observe, revise and give feedback."""

from __future__ import annotations

import threading
import uuid
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from api.memory_interface.memory import deadline_seconds
from api.memory_interface.models import Request
from storage import staging
from storage.graph.schema import local_name
from storage.kip.errors import REGISTRY
from tests import memory_interface, providers
from tests.memory_interface import World, filled, matches, said_at, scenario, with_model
from tests.providers import Answer, Held, Provider
from tests.services import Api, wait_for
from tests.unit.api.calling import claim as claim_job
from tests.unit.api.calling import finish

provider = providers.provider
world = memory_interface.world
keyed_world = memory_interface.keyed_world

MISSING = f"rcp-{uuid.UUID(int=0).hex}"


def claim(subject: str, predicate: str, object_: str, quote: str, **more: Any) -> Any:
    told = {"message": 0, "quote": quote, "subject": subject, "predicate": predicate}
    return {**told, "object": object_, **more}


def answer(*claims: Any, **more: Any) -> Answer:
    return Answer({"claims": list(claims), **more})


UTC7 = answer(claim("user", "timezone", "+07:00", "I am on UTC+7", object_type="string"))


@pytest.fixture
def model(world: World, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """The world forms with a scripted model."""
    with_model(provider, monkeypatch)
    return provider


def observed(world: World, provider: Provider) -> tuple[str, Any]:
    """MIS-01: the staged source and the first answer; the work waits."""
    blocks = scenario("MIS-01")
    provider.script(UTC7)
    caller = world.caller()
    s1 = caller.stage_block(blocks["stage"][0])
    return s1, caller.ask(filled(blocks["request"][0], s1=s1))


def counted(world: World) -> Any:
    """How many claims, jobs and records of conversations the space has."""
    return [
        world.rows(f"select count(*) from {table} where space_id = %s")
        for table in ("assertion", "job", "conversation")
    ]


def test_mis_01_a_new_fact_the_whole_way(world: World, model: Provider) -> None:
    blocks = scenario("MIS-01")
    s1, told = observed(world, model)
    assert told["receipt"]["accepted_seq"] == world.head == 0
    # 0 is a value, too; the scenario's Space is not empty
    expected = filled(blocks["response"][0], sp1=world.sp1)
    del expected["receipt"]["accepted_seq"]
    matches(expected, told)
    world.work()
    view = world.caller().receipt(told["receipt"]["receipt_ref"])
    progress = view["progress"]
    assert (progress["phase"], progress["disposition"]) == ("available", "formed")
    accepted = told["receipt"]["accepted_seq"]
    assert accepted <= progress["resolved_seq"] == progress["available_seq"] == world.head
    [(asserted_at,)] = world.rows("select asserted_at from assertion where space_id = %s")
    at = blocks["stage"][0]["messages"][0]["timestamp"]
    assert said_at(at) == "2026-09-18T10:00:00.000Z"
    assert asserted_at == datetime(2026, 9, 18, 10, tzinfo=UTC)
    [(kind, payload)] = world.rows(
        "select evidence_class, payload -> 'inline' from evidence where space_id = %s"
    )
    assert kind == "user_statement"
    assert payload == blocks["stage"][0]["messages"][0]
    source = world.caller().call("GET", f"memory/sources/{s1}").json["result"]
    assert source["state"] == "captured"
    assert source["evidence_refs"] == ["E-1"]


def test_mis_03_malformed_requests_store_nothing(world: World) -> None:
    blocks = scenario("MIS-03")
    caller = world.caller()
    s = caller.stage("I live in Utrecht.")
    before = world.head, world.jobs
    for request in blocks["request-invalid"][0]:
        told = caller.ask(filled(request, s=s))
        matches(blocks["response"][0], told)
        assert told["warnings"] == []
        if request["operation"] in ("observe", "recall", "revise"):
            assert told["operation"] == request["operation"]
    dated = {"query": "q", "time": {"valid_at": "2026-02-30T00:00:00.000Z"}}
    wrong = caller.ask({"kip_memory": "2.0", "operation": "recall", "input": dated})
    assert wrong["error"]["code"] == "InvalidRequestEnvelope"
    elsewhere = caller.ask(
        {
            "kip_memory": "2.0",
            "operation": "observe",
            "idempotency_key": "k",
            "space": {"id": world.sp2},
            "input": {"source_ref": s},
        }
    )
    assert elsewhere["error"]["code"] == "NotFoundOrNotVisible"
    assert (world.head, world.jobs) == before
    assert caller.do("observe", "k", source_ref=s)["status"] == "pending"


def test_mis_03_nobody_is_refused_by_http(keyed_world: World) -> None:
    body = {"kip_memory": "2.0", "operation": "recall", "input": {"query": "q"}}
    response = keyed_world.caller().call("POST", "memory", body)
    assert response.status_code == 401
    assert "status" not in response.json


@pytest.mark.parametrize("gone", ["erased", "deleted"])
def test_mis_05_a_retry_after_a_restart(world: World, model: Provider, gone: str) -> None:
    blocks = scenario("MIS-05")
    s1, first = observed(world, model)
    world.work()
    with world.database.transaction(world.scope) as tx:
        if gone == "erased":
            staging.erase(tx, world.scope, [s1])
        else:
            tx.execute("delete from staged_source where space_id = %s", (world.sp1,))
    before, calls = counted(world), len(model.requests)
    known = {"s1": s1, "r1": first["receipt"]["receipt_ref"], "sp1": world.sp1}
    again = world.caller().ask(filled(blocks["request"][0], **known))
    matches(filled(blocks["response"][0], **known), again)
    assert again["receipt"] == first["receipt"]
    world.work()
    assert (counted(world), len(model.requests)) == (before, calls)
    fresh = {**filled(blocks["request"][0], **known), "idempotency_key": "obs-02"}
    refused = world.caller().ask(fresh)
    assert refused["error"]["code"] == "NotFoundOrNotVisible"
    assert "receipt" not in refused
    assert counted(world) == before


def test_mis_07_handles_belong_to_their_caller(keyed_world: World) -> None:
    world = keyed_world
    ana = world.caller("ana")
    s1 = ana.stage("I live in Utrecht.")
    r1 = ana.do("observe", "k", source_ref=s1)["receipt"]["receipt_ref"]
    order = {"stream_ref": "s", "event_ref": "e", "ordinal": 0}
    told: dict[str, list[Any]] = {}
    for who in [world.caller(n) for n in ("eve", "bot", "bot2")] + [world.caller("ana", world.sp2)]:
        for handles, source, receipt in (
            ("known", s1, r1),
            ("made up", f"src-{uuid.UUID(int=0).hex}", MISSING),
        ):
            answers = [
                who.call("GET", f"memory/sources/{source}"),
                who.call("GET", f"memory/receipts/{receipt}"),
                who.call(
                    "POST",
                    "memory/sources",
                    {
                        "messages": [{"role": "user", "content": "Hello."}],
                        "idempotency_key": "p",
                        "order": {**order, "predecessor_receipts": [receipt]},
                    },
                ),
            ]
            assert [a.status_code for a in answers] == [404, 404, 404]
            observed = who.do("observe", "k", source_ref=source)
            assert observed["error"]["code"] == "NotFoundOrNotVisible"
            told.setdefault(handles, []).append([*(a.json for a in answers), observed])
    assert told["known"] == told["made up"]
    assert all(
        b["data"]["code"] == "NotFoundOrNotVisible" for body in told["known"] for b in body[:3]
    )
    assert world.query("select count(*) from job where space_id = %s", world.sp1) == [(1,)]
    bots = world.caller("bot").stage("I live in Utrecht.")
    refused = world.caller("bot2").do("observe", source_ref=bots)
    assert refused["error"]["code"] == "NotFoundOrNotVisible"
    assert world.caller("bot").do("observe", source_ref=bots)["status"] == "pending"


def test_mis_09_an_outcome_that_nobody_can_tell_stays_so(world: World) -> None:
    caller = world.caller()
    s = caller.stage("I live in Utrecht.")
    told = caller.do("observe", "k", source_ref=s)
    ref = told["receipt"]["receipt_ref"]
    [(job_id,)] = world.rows("select id from job where space_id = %s and receipt_ref = %s", ref)
    claim_job(world.sp1, job_id)
    finish(world.sp1, job_id, error={"code": "OutcomeUnknown", "message": "Nobody can tell."})
    world.work()
    for view in (caller.receipt(ref), caller.do("observe", "k", source_ref=s)):
        assert view["receipt"] == told["receipt"]
        assert (view["progress"]["phase"], view["progress"]["error"]["code"]) == (
            "failed",
            "OutcomeUnknown",
        )
    assert caller.do("observe", "k", source_ref=s)["status"] == "failed"
    assert world.jobs == 1
    assert caller.done("observe", source_ref=s)["progress"]["disposition"] == "formed"


def test_mis_11_a_mutation_with_a_deadline(world: World, model: Provider) -> None:
    blocks = scenario("MIS-11")
    release = threading.Event()
    model.script(Held(release, UTC7))
    caller = world.caller()
    s = caller.stage("Bob here: I am on UTC+7.")
    working = threading.Thread(target=world.work)
    request = filled(blocks["request"][0], s=s)
    told: list[Any] = []
    asking = threading.Thread(target=lambda: told.append(caller.ask(request)))
    asking.start()
    wait_for(lambda: world.jobs == 1, what="the intake")
    working.start()
    asking.join(20)
    matches(blocks["response"][0], told[0])
    model.wait_for_requests(1)
    began = caller.ask(request)
    assert began["progress"]["phase"] == "recorded"
    release.set()
    working.join(20)
    replayed = caller.ask(request)
    assert replayed["status"] == "succeeded"
    assert replayed["receipt"] == told[0]["receipt"]
    other = caller.stage("I live in Utrecht.")
    assert caller.do("observe", source_ref=other)["status"] == "pending"


def test_mis_11_a_deadline_has_a_ceiling() -> None:
    def waits(**budget: int) -> float:
        told = {"kip_memory": "2.0", "operation": "observe", "budget": budget, "input": {}}
        return deadline_seconds(Request.model_validate(told))

    assert (waits(deadline_ms=3_600_000), waits(deadline_ms=200), waits()) == (120.0, 0.2, 0.0)


def test_mis_11_a_client_that_hangs_up_changes_nothing(world: World, shared_api: Api) -> None:
    s = world.caller().stage("I live in Utrecht.")
    request = filled(scenario("MIS-11")["request"][0], s=s)
    request["budget"]["deadline_ms"] = 20_000
    with pytest.raises(httpx2.TimeoutException):
        shared_api.client.post(f"/v1/{world.sp1}/memory", json=request, timeout=0.5)
    wait_for(lambda: world.jobs == 1, what="the intake")
    world.work()
    assert world.caller().ask(request)["status"] == "succeeded"


def test_mis_13_the_later_input_does_not_stand_for_the_earlier(world: World) -> None:
    caller = world.caller()
    a, b = caller.stage("I live in Utrecht."), caller.stage("I love tea.")
    first, second = (caller.do("observe", source_ref=s)["receipt"] for s in (a, b))
    assert caller.receipt(first["receipt_ref"])["progress"]["phase"] == "recorded"
    world.work()
    found = [caller.receipt(r["receipt_ref"])["progress"] for r in (first, second)]
    assert [p["phase"] for p in found] == ["available", "available"]
    assert found[0]["available_seq"] < found[1]["available_seq"]


def test_mis_15_feedback_is_not_a_grade(world: World) -> None:
    blocks = scenario("MIS-15")
    caller = world.caller()
    s = caller.stage_block(blocks["stage"][0])
    request = filled(blocks["request"][0], s=s)
    pending = caller.ask(request)
    world.work()
    matches(blocks["response"][0], caller.ask(request))
    assert pending["receipt"] == caller.ask(request)["receipt"]
    [(kind, element_id)] = world.rows("select evidence_class, id from evidence where space_id = %s")
    assert kind == "agent_statement"
    [facet] = [
        v
        for ref, v in world.element(element_id)["facets"].items()
        if local_name(ref) == "MemoryScope"
    ]
    [(event,)] = world.rows(
        "select id from element where space_id = %s and key = 'memory_scope:task-A'"
    )
    assert facet == {"task_ref": event, "context_refs": []}
    kinds = world.rows(
        "select kind::text, schema_ref from element where space_id = %s and kind in ('C', 'A', 'X')"
    )
    names = sorted(local_name(ref or "") for kind, ref in kinds)
    assert names == ["Event", "Person"]
    view = caller.done("feedback", source_ref=caller.stage("The deployment succeeded."))
    assert view["progress"]["disposition"] == "evidence_only"
    assert ("user_statement",) in world.rows(
        "select evidence_class from evidence where space_id = %s"
    )


def test_mis_15_what_cannot_be_feedback(world: World) -> None:
    caller = world.caller()
    for body in (
        {"messages": [{"role": "instrument", "content": "1.0"}], "idempotency_key": "k"},
        {
            "messages": [{"role": "user", "content": "1.0"}],
            "idempotency_key": "k",
            "evidence_class": "outcome",
        },
    ):
        assert caller.call("POST", "memory/sources", body).status_code == 400
    s = caller.stage("It went well.")
    refused = caller.do("feedback", "k", source_ref=s, decision_ref="X-999")
    assert refused["error"]["code"] == "NotFoundOrNotVisible"
    assert world.jobs == 0
    assert caller.do("feedback", "k", source_ref=s)["status"] == "pending"


def test_mis_15_feedback_about_an_evidence_makes_no_second_copy(world: World) -> None:
    caller = world.caller()
    caller.done("feedback", source_ref=caller.stage("It went well."))
    [(first,)] = world.rows("select id from evidence where space_id = %s")
    view = caller.done("feedback", source_ref=first, scope={"context_refs": ["work"]})
    assert view["progress"]["disposition"] == "evidence_only"
    [second] = view["result"]["memory_refs"]
    assert second != first
    [(payload, kind)] = world.rows(
        "select payload, evidence_class from evidence where space_id = %s and id = %s", second
    )
    assert payload == {"mode": "external", "content_ref": first}
    assert kind == "user_statement"
    assert world.scope_of(second) is not None
    assert world.scope_of(first) is None


def corrected(world: World, model: Provider) -> tuple[str, Any]:
    """MIS-33: the old claim, and the answer to its correction."""
    blocks = scenario("MIS-33")
    caller = world.caller()
    model.script(answer(claim("user", "timezone", "+08:00", "I am on UTC+8", object_type="string")))
    at = int(datetime(2026, 9, 1, 9, tzinfo=UTC).timestamp() * 1000)
    said = {"role": "user", "content": "I am on UTC+8", "timestamp": at}
    formed = caller.done("observe", source_ref=caller.stage(said))
    [old] = [ref for ref in formed["result"]["memory_refs"] if ref.startswith("A-")]
    model.script(
        answer(
            claim(
                "user",
                "timezone",
                "+07:00",
                "I meant +07:00",
                object_type="string",
                change="correction",
                replaces="+08:00",
            )
        )
    )
    s = caller.stage_block(blocks["stage"][0])
    request = filled(blocks["request"][0], s=s, a_old=old)
    request["budget"]["deadline_ms"] = 1
    caller.ask(request)
    world.work()
    return old, caller.ask(request)


def test_mis_33_a_correction_keeps_the_interval_of_what_it_corrects(
    world: World, model: Provider
) -> None:
    old, told = corrected(world, model)
    matches(scenario("MIS-33")["response"][0], told)
    shown = model.requests[-1].text.replace('\\"', '"')
    assert '"change_kind": "correction"' in shown
    assert '"target_claim"' in shown
    [new] = [r for r in told["result"]["memory_refs"] if r.startswith("A-") and r != old]
    was, is_now = world.element(old), world.element(new)
    assert was["lifecycle"]["status"] == "superseded"
    assert was["asserted_by"] == is_now["asserted_by"]
    assert was["asserted_at"] == "2026-09-01T09:00:00.000Z"
    assert is_now["asserted_at"] == "2026-09-10T09:00:00.000Z"
    assert is_now["valid_time"] == {"from": {"latest": "2026-09-01T09:00:00.000Z"}}
    wanted = {"user timezone +07:00": "accepted"}
    for at in (datetime(2026, 9, 12, tzinfo=UTC), datetime(2026, 9, 5, tzinfo=UTC)):
        found = world.believed(valid_at=at)
        assert {k: v for k, v in found.items() if v == "accepted"} == wanted
    before = world.believed(
        valid_at=datetime(2026, 9, 5, tzinfo=UTC), seq=told["progress"]["resolved_seq"] - 1
    )
    assert before == {"user timezone +08:00": "accepted"}
    assert world.rows(
        "select count(*) from activity where space_id = %s and activity_class = 'belief_revision'"
    ) == [(1,)]


def test_mis_33_nobody_corrects_anothers_claim(world: World, model: Provider) -> None:
    old, _ = corrected(world, model)
    [current] = [
        ref for (ref,) in world.rows("select id from assertion where space_id = %s") if ref != old
    ]
    model.script(
        answer(
            claim(
                "user",
                "timezone",
                "+05:00",
                "user is on +05:00",
                object_type="string",
                change="correction",
            )
        )
    )
    caller = world.caller()
    said = {"role": "user", "name": "Eve", "content": "No, user is on +05:00, not +07:00."}
    view = caller.done(
        "revise",
        source_ref=caller.stage(said),
        target_ref=current,
        change_kind="correction",
    )
    assert view["progress"]["phase"] == "available"
    assert world.element(current)["lifecycle"]["status"] == "active"


def test_mis_33_a_claim_is_corrected_in_its_own_scope(world: World, model: Provider) -> None:
    caller = world.caller()
    model.otherwise = answer(
        claim("user", "timezone", "+08:00", "I am on UTC+8", object_type="string")
    )
    scope = {"task_ref": "task-A"}
    formed = caller.done("observe", scope=scope, source_ref=caller.stage("I am on UTC+8"))
    [old] = [ref for ref in formed["result"]["memory_refs"] if ref.startswith("A-")]
    model.otherwise = UTC7
    before, calls = world.head, len(model.requests)
    refused = caller.done(
        "revise",
        source_ref=caller.stage("I meant: I am on UTC+7"),
        target_ref=old,
        change_kind="correction",
    )
    assert refused["progress"]["phase"] == "failed"
    assert refused["progress"]["error"]["code"] == "SupersessionMismatch"
    assert (world.head, len(model.requests)) == (before, calls)
    view = caller.done(
        "revise",
        scope=scope,
        source_ref=caller.stage("I meant: I am on UTC+7"),
        target_ref=old,
        change_kind="correction",
    )
    assert view["progress"]["disposition"] == "formed"
    assert world.element(old)["lifecycle"]["status"] == "superseded"


def test_mis_35_no_kind(world: World, model: Provider) -> None:
    caller = world.caller()
    model.script(answer(claim("user", "timezone", "+08:00", "I am on UTC+8", object_type="string")))
    caller.done("observe", source_ref=caller.stage("I am on UTC+8"))
    model.script(UTC7)
    view = caller.done("revise", source_ref=caller.stage("I am on UTC+7"))
    assert view["progress"]["disposition"] == "formed"
    assert any("superseded" in warning for warning in view["warnings"])
    assert world.rows(
        "select count(*) from element_ver v join assertion a on a.space_id = v.space_id"
        " and a.id = v.id where v.space_id = %s and v.status = 'active'"
    ) == [(2,)]


def test_mis_35_the_gate_refuses_to_supersede_on_a_guess(world: World, model: Provider) -> None:
    caller = world.caller()
    model.script(answer(claim("user", "timezone", "+08:00", "I am on UTC+8", object_type="string")))
    caller.done("observe", source_ref=caller.stage("I am on UTC+8"))
    before, calls = world.head, len(model.requests)
    model.otherwise = answer(
        claim(
            "user", "timezone", "+07:00", "I am on UTC+7", object_type="string", change="correction"
        )
    )
    view = caller.done(
        "revise", source_ref=caller.stage("I am on UTC+7"), change_kind="unspecified"
    )
    assert view["progress"]["phase"] == "failed"
    assert view["progress"]["error"]["code"] == "ConstraintViolation"
    assert world.head == before
    assert len(model.requests) - calls == 5


def test_mis_35_misrecorded_without_a_target(world: World, model: Provider) -> None:
    blocks = scenario("MIS-35")
    caller = world.caller()
    s = caller.stage("I never said that I live in Oslo.")
    request = filled(blocks["request"][0], s=s)
    caller.ask(request)
    world.work()
    told = caller.ask(request)
    matches(blocks["response"][0], told)
    assert told["progress"]["disposition"] == "evidence_only"
    assert world.rows("select count(*) from assertion where space_id = %s") == [(0,)]
    assert model.requests == []


@pytest.mark.parametrize("target", ["A-999", "nonsense", "C-0"])
def test_mis_35_an_unknown_target_is_refused_and_binds_no_key(
    world: World, model: Provider, target: str
) -> None:
    caller = world.caller()
    s = caller.stage("I live in Oslo.")
    refused = caller.do("revise", "k", source_ref=s, target_ref=target, change_kind="correction")
    assert refused["error"]["code"] == "NotFoundOrNotVisible"
    assert world.jobs == 0
    assert model.requests == []
    assert caller.do("revise", "k", source_ref=s)["status"] == "pending"


def test_every_code_of_a_failed_receipt_is_one_of_kip(world: World) -> None:
    caller = world.caller()
    s = caller.stage("I live in Oslo.")
    ref = caller.do("observe", source_ref=s)["receipt"]["receipt_ref"]
    with world.database.transaction(world.scope) as tx:
        staging.erase(tx, world.scope, [s])
    world.work()
    view = caller.receipt(ref)
    assert view["progress"]["error"]["code"] == "PreconditionFailed"
    assert view["progress"]["error"]["code"] in REGISTRY
