"""The scenarios of the Memory Interface that forget, and what its contract says beside them."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema_rs
import psycopg
import pytest

from jobs.actors import PIPELINES
from jobs.runner import Attempt, Runner
from pipelines.forget import run as forget
from pipelines.product import changes as product
from pipelines.product.records import product_record
from pipelines.work import Effect
from storage import erasure_plans
from storage.clock import now
from storage.database import Transaction
from storage.erasure import closure
from storage.graph.changes import (
    ChangeSet,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    EnsureProposition,
    Purge,
    SetRetention,
    Value,
)
from storage.graph.commit import commit
from storage.kip.errors import ResultLimitExceeded
from tests import memory_interface, providers
from tests.erasure import claim_often, where
from tests.memory_interface import Caller, World, filled, matches, scenario, with_model
from tests.providers import Answer, Provider
from tests.services import ROOT, Services

provider = providers.provider
world = memory_interface.world
keyed_world = memory_interface.keyed_world

SCHEMA = ROOT.parent / "shared" / "kip" / "schemas" / "memory-interface.schema.json"
#: Words that occur nowhere else.
WORDS = ("zibbergnash", "quoxlemire")
SAID = f"I am on UTC+7, where the {WORDS[0]} meets the {WORDS[1]}."


@pytest.fixture(autouse=True)
def _alone(clean: None) -> None:
    """No words that other tests have left."""


@pytest.fixture
def model(world: World, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """The world forms with a scripted model."""
    with_model(provider, monkeypatch)
    return provider


def claim(value: str = "+07:00", quote: str = "I am on UTC+7", message: int = 0) -> Any:
    return {
        "message": message,
        "quote": quote,
        "subject": "user",
        "predicate": "timezone",
        "object": value,
        "object_type": "string",
    }


def heard(*claims: Any, **more: Any) -> Answer:
    return Answer({"claims": list(claims), **more})


def ids(world: World, kind: str) -> list[str]:
    """The elements of a kind that the space has."""
    rows = world.rows(
        "select id from element where space_id = %s and kind = %s and purged_seq is null"
        " order by length(id), id",
        kind,
    )
    return [id for (id,) in rows]


def of_type(world: World, name: str) -> list[str]:
    """The concepts of a type that the space has."""
    rows = world.rows(
        "select id from element where space_id = %s and schema_ref like %s and purged_seq is null",
        f"%/{name}",
    )
    return [id for (id,) in rows]


def formed(caller: Caller, model: Provider, *answers: Answer, said: str = SAID) -> str:
    """Stage and observe one message; the staged source."""
    model.script(*(answers or (heard(claim()),)))
    source = caller.stage(said)
    told = caller.done("observe", source_ref=source)
    assert told["progress"]["phase"] == "available", told
    return source


def forgotten(caller: Caller, target: str, mode: str = "semantic", key: str | None = None) -> Any:
    """One forget with the work that it takes; the answer to its replay."""
    key = key or uuid.uuid4().hex
    told = caller.do("forget", key=key, target_ref=target, mode=mode)
    if told["status"] != "pending":
        return told
    caller.world.work()
    return caller.do("forget", key=key, target_ref=target, mode=mode)


def plan_of(caller: Caller, told: Any) -> Any:
    """The plan of an answer; both have the shapes that the interface's schema gives them."""
    conforms("Response", told)
    response = caller.call("GET", f"memory/plans/{told['result']['plan_ref']}")
    assert response.status_code == 200, response.text
    view = response.json["result"]
    conforms("ErasurePlan", view["plan"])
    return view


def conforms(name: str, value: Any) -> None:
    """Check a value against a definition of the interface's schema, where that is here."""
    if SCHEMA.exists():
        schema = json.loads(SCHEMA.read_text())
        schema = {**schema, "$ref": f"#/$defs/{name}"}
        schema.pop("oneOf", None)
        jsonschema_rs.Draft202012Validator(schema).validate(value)


def suppressed(world: World) -> int:
    [(count,)] = world.rows("select count(*) from source_suppression where space_id = %s")
    return int(count)


def hold(world: World, element: str, held: bool) -> None:
    with world.database.transaction(world.scope) as tx:
        change = SetRetention(element, {"legal_hold": held})
        commit(tx, world.scope, "p", ChangeSet((change,)), tx_class="test")


def test_mis_37_the_bytes_of_an_evidence_go_and_its_claim_stays(
    world: World, model: Provider, services: Services
) -> None:
    blocks = scenario("MIS-37")
    caller = world.caller()
    formed(caller, model, heard(claim(), summary=f"It was said: {SAID}"))
    [evidence] = ids(world, "E")
    before, known = world.believed(), world.element(evidence)
    assert before
    request = filled(blocks["request"][0], e=evidence)
    first = caller.ask(request)
    assert (first["status"], first["result"]["status"]) == ("pending", "pending")
    assert where(services, *WORDS)
    world.work()
    told = caller.ask(request)
    matches(blocks["response"][0], told)
    assert told["receipt"] == first["receipt"]
    kept = world.element(evidence)
    same = ("evidence_class", "content_digest", "observed_at", "source", "media_type")
    assert {name: kept[name] for name in same} == {name: known[name] for name in same}
    assert kept["payload"] == {"mode": "purged"}
    assert world.believed() == before
    assert where(services, *WORDS) == []
    assert suppressed(world) == 0
    # the same key again is the same answer; a new one is done without a new sequence
    head = world.head
    assert caller.ask(request) == told
    again = forgotten(caller, evidence, "payload_only")
    assert again["status"] == "succeeded"
    assert again["receipt"]["receipt_ref"] != told["receipt"]["receipt_ref"]
    assert world.head == head
    # and the same bytes may come again
    caller.stage(SAID)


def test_mis_37_a_staged_source_loses_its_bytes_and_the_payloads_captured_from_it(
    world: World, model: Provider, services: Services
) -> None:
    caller = world.caller()
    source = formed(caller, model)
    before = world.believed()
    told = forgotten(caller, source, "payload_only")
    assert (told["status"], told["result"]["status"]) == ("succeeded", "completed")
    assert world.believed() == before
    assert before
    assert where(services, *WORDS) == []
    staged = caller.call("GET", f"memory/sources/{source}").json["result"]
    assert staged["state"] == "erased"
    assert "messages" not in staged
    assert plan_of(caller, told)["plan"]["scope"] == "payload_only"


def test_mis_37_a_space_token_may_erase_a_payload_and_nothing_more(keyed_world: World) -> None:
    bot, ana = keyed_world.caller("bot"), keyed_world.caller("ana")
    source = bot.stage(SAID)
    told = forgotten(bot, source, "payload_only")
    assert told["status"] == "succeeded"
    # the authority is looked at first, even where the key is known
    refused = bot.do("forget", key="same", target_ref=source, mode="semantic")
    assert refused["error"]["code"] == "NotAuthorized"
    assert "receipt" not in refused
    assert forgotten(bot, source, "payload_only", key="same")["status"] == "succeeded"
    refused = bot.do("forget", key="same", target_ref=source, mode="semantic")
    assert refused["error"]["code"] == "NotAuthorized"
    for name in ("eve", "bot2"):
        refused = keyed_world.caller(name).do("forget", target_ref="E-1", mode="semantic")
        assert refused["error"]["code"] == "NotAuthorized"
    assert ana.do("forget", target_ref="E-1", mode="semantic")["error"]["code"] == (
        "NotFoundOrNotVisible"
    )
    own = ana.stage("Something of her own.")
    assert forgotten(ana, own)["status"] == "succeeded"


def test_a_claim_goes_with_its_tuple_its_assertions_their_evidence_and_summaries(
    world: World, model: Provider, services: Services
) -> None:
    caller = world.caller()
    source = formed(caller, model, heard(claim(), summary=f"It was said: {SAID}"))
    first, _ = ids(world, "A"), ids(world, "P")
    receipt = caller.call("GET", f"memory/sources/{source}").json
    told = forgotten(caller, first[0])
    assert told["status"] == "succeeded", told
    assert told["progress"]["disposition"] == "erased"
    assert told["progress"]["resolved_seq"] == world.head
    for kind in "APE":
        assert ids(world, kind) == []
    assert of_type(world, "Event") == []
    assert of_type(world, "Person")
    assert where(services, *WORDS) == []
    plan = plan_of(caller, told)
    assert plan["plan"]["status"] == "completed"
    assert {entry["state"] for entry in plan["plan"]["targets"]} == {"erased"}
    assert {entry["state"] for entry in plan["host_surfaces"]} == {"erased"}
    assert all(entry["verified_at"] for entry in plan["host_surfaces"])
    assert {entry["surface"] for entry in plan["host_surfaces"]} == {
        "staged_bytes",
        "formation_record",
        "recall_record",
        "usage_ledger",
        "probe_cache",
        "job_payload",
        "retained_basis",
    }
    assert plan["plan"]["source_event_refs"] == [source]
    assert receipt["result"]["state"] == "captured"
    # the source is refused, whenever it comes
    response = caller.call(
        "POST",
        "memory/sources",
        {
            "messages": [{"role": "user", "content": SAID, "timestamp": 1789725600000}],
            "idempotency_key": "again",
        },
    )
    assert response.status_code == 403
    # the claim is gone for whoever asks anew, and the old key replays
    anew = caller.do("forget", target_ref=first[0], mode="semantic")
    assert anew["error"]["code"] == "NotFoundOrNotVisible"
    assert "receipt" not in anew


def test_a_source_goes_with_what_its_trace_proves_and_people_stay(
    world: World, model: Provider, services: Services
) -> None:
    caller = world.caller()
    rule = f"Always greet the {WORDS[0]} first."
    promise = f"I will feed the {WORDS[1]} on Friday."
    model.script(
        heard(
            claim(),
            commitments=[{"message": 2, "quote": promise, "by": "user", "summary": promise}],
            constraints=[{"message": 1, "quote": rule, "by": "user", "text": rule}],
        )
    )
    source = caller.stage("I am on UTC+7", rule, promise)
    caller.done("observe", source_ref=source)
    assert len(ids(world, "E")) == 3
    assert of_type(world, "Insight")
    assert of_type(world, "Commitment")
    people = of_type(world, "Person")
    told = forgotten(caller, source)
    assert told["status"] == "succeeded", told
    for name in ("Event", "Insight", "Commitment"):
        assert of_type(world, name) == []
    assert of_type(world, "Person") == people
    assert [ids(world, kind) for kind in "APE"] == [[], [], []]
    assert where(services, *WORDS) == []
    assert forgotten(caller, source)["error"]["code"] == "NotFoundOrNotVisible"


def test_a_claim_of_two_sources_stays_when_one_is_forgotten(world: World, model: Provider) -> None:
    caller = world.caller()
    source = formed(caller, model)
    formed(caller, model, said="As I said, I am on UTC+7.")
    [first, second] = ids(world, "A")
    [tuple_] = ids(world, "P")
    told = forgotten(caller, source)
    assert told["status"] == "succeeded", told
    assert (ids(world, "A"), ids(world, "P")) == ([second], [tuple_])
    assert list(world.believed().values()) == ["accepted"]
    # and both go with the claim
    assert forgotten(caller, second)["status"] == "succeeded"
    assert (ids(world, "A"), ids(world, "P"), ids(world, "E")) == ([], [], [])
    assert first != second


def test_evidence_of_another_claim_stays_and_the_plan_says_so(
    world: World, model: Provider
) -> None:
    caller = world.caller()
    said = "I am on UTC+7 and I own a bicycle."
    owns = {**claim("bicycle", "I own a bicycle"), "predicate": "owns", "object_type": "Thing"}
    formed(caller, model, heard(claim(), owns), said=said)
    [evidence] = ids(world, "E")
    assert len(ids(world, "A")) == 2
    told = forgotten(caller, ids(world, "A")[0])
    assert told["status"] == "partial"
    assert told["result"]["status"] == "partial"
    assert told["progress"]["disposition"] != "erased"
    assert ids(world, "E") == [evidence]
    assert len(ids(world, "A")) == 1
    assert {"ref": evidence, "surface": "payload", "state": "unavailable"} in plan_of(caller, told)[
        "plan"
    ]["targets"]
    assert evidence in told["warnings"][0]
    # what stays is not formed into the claim once more
    refused = caller.do("observe", source_ref=evidence)
    assert refused["error"]["code"] == "NotAuthorized"


def test_a_claim_without_evidence_is_erased_and_never_called_complete(world: World) -> None:
    with world.database.transaction(world.scope) as tx:
        changes = (
            CreateConcept("?p", type="Person", key="person:x", name="X"),
            EnsureProposition("?t", "?p", "timezone", Value("+01:00")),
            CreateAssertion("?a", "?t", "?p", "stated"),
        )
        commit(tx, world.scope, "p", ChangeSet(changes), tx_class="test")
    [assertion] = ids(world, "A")
    told = forgotten(world.caller(), assertion)
    assert (told["status"], told["result"]["status"]) == ("partial", "partial")
    assert ids(world, "A") == []


def test_more_than_a_plan_may_erase_is_refused_without_effect(world: World) -> None:
    claim_often(world.database, world.scope, closure.MAX_ELEMENTS // 2)
    head, jobs = world.head, world.jobs
    told = world.caller().do("forget", key="k", target_ref="A-1", mode="semantic")
    assert told["error"]["code"] == "ResultLimitExceeded"
    assert (world.head, world.jobs, suppressed(world)) == (head, jobs, 0)
    assert world.rows("select 1 from erasure_plan where space_id = %s") == []


def test_the_deletion_of_a_product_keeps_to_its_smaller_bound(world: World) -> None:
    target = claim_often(world.database, world.scope, product.MAX_DELETED // 2)
    with world.database.transaction(world.scope) as tx:
        revision = product_record(tx, world.scope, target, now()).revision
    request = product.ChangeRequest("op-1", target, revision, "delete")
    caller = product.Caller("shop", "C-1")
    with pytest.raises(ResultLimitExceeded, match="More than 128 elements"):
        product.product_prepare(world.database, world.scope, caller, request)


def test_a_plan_of_hundreds_of_elements_is_carried_out_in_parts_and_told_within_its_bounds(
    world: World,
) -> None:
    claim_often(world.database, world.scope, 600)
    caller = world.caller()
    told = caller.do("forget", key="k", target_ref="A-1", mode="semantic")
    view = plan_of(caller, told)
    # every element, the payload of each message, and the index entry of every element
    assert view["targets_total"] == 1201 + 600 + 1201
    assert len(view["plan"]["targets"]) == 512
    assert {entry["state"] for entry in view["plan"]["targets"]} == {"pending"}
    assert (view["source_event_refs_total"], len(view["plan"]["source_event_refs"])) == (600, 128)
    world.work()
    told = caller.do("forget", key="k", target_ref="A-1", mode="semantic")
    assert told["result"]["status"] == "completed", told
    assert [ids(world, kind) for kind in "APE"] == [[], [], []]
    view = plan_of(caller, told)
    assert view["targets_total"] == 1201 + 600 + 1201
    assert {entry["state"] for entry in view["plan"]["targets"]} == {"erased"}
    assert len(view["plan"]["receipts"]) == view["receipts_total"] == 2
    assert told["progress"]["resolved_seq"] == world.head
    # the words were known by digests while they were looked for, and no longer
    [(kept,)] = world.rows("select traces ? 'words' from erasure_plan where space_id = %s")
    assert kept is False


def test_what_of_a_plan_is_not_erased_is_told_before_what_is() -> None:
    targets = [
        {"ref": f"A-{n}", "surface": "element", "state": "held" if n == 700 else "erased"}
        for n in range(1, 801)
    ]
    at = now()
    plan = erasure_plans.ErasurePlan(
        "pln", "c", "j", "r", "semantic", "A-1", 1, 2, "blocked", [], targets, [], [], [], {}, [],
        [], {}, at, at,
    )  # fmt: skip
    told = plan.as_json()
    assert told["targets_total"] == 800
    assert len(told["plan"]["targets"]) == 512
    assert told["plan"]["targets"][0] == targets[699]
    conforms("ErasurePlan", told["plan"])


def test_a_legal_hold_blocks_everything_and_a_new_key_works_once_it_is_lifted(
    world: World, model: Provider
) -> None:
    caller = world.caller()
    source = formed(caller, model)
    [evidence] = ids(world, "E")
    hold(world, evidence, True)
    head = world.head
    for target in (source, ids(world, "A")[0]):
        told = caller.do("forget", key=f"held-{target}", target_ref=target, mode="semantic")
        assert (told["status"], told["error"]["code"]) == ("failed", "LegalHoldConflict")
        assert told["result"]["status"] == "blocked"
        assert told["progress"]["phase"] == "failed"
        plan = plan_of(caller, told)["plan"]
        assert plan["status"] == "blocked"
        assert "held" in {entry["state"] for entry in plan["targets"]}
    assert (world.head, suppressed(world)) == (head, 0)
    hold(world, evidence, False)
    assert caller.do("forget", key=f"held-{source}", target_ref=source, mode="semantic")[
        "status"
    ] == ("failed")
    assert forgotten(caller, source)["status"] == "succeeded"


def test_a_hold_that_comes_after_acceptance_blocks_too_and_refuses_nothing(
    world: World, model: Provider
) -> None:
    caller = world.caller()
    source = formed(caller, model)
    first = caller.do("forget", key="k", target_ref=source, mode="semantic")
    assert first["status"] == "pending"
    assert suppressed(world) > 0
    hold(world, ids(world, "E")[0], True)
    world.work()
    told = caller.do("forget", key="k", target_ref=source, mode="semantic")
    assert (told["status"], told["result"]["status"]) == ("failed", "blocked")
    assert told["error"]["code"] == "LegalHoldConflict"
    assert ids(world, "A")
    assert suppressed(world) == 0
    view = caller.receipt(told["receipt"]["receipt_ref"])
    assert view["result"] == told["result"]


def test_a_plan_is_its_callers_and_foreign_looks_like_unknown(keyed_world: World) -> None:
    ana = keyed_world.caller("ana")
    told = forgotten(ana, ana.stage(SAID))
    plan = told["result"]["plan_ref"]
    unknown = f"pln-{uuid.UUID(int=0).hex}"
    assert ana.call("GET", f"memory/plans/{plan}").status_code == 200
    for caller in (
        keyed_world.caller("eve"),
        keyed_world.caller("bot"),
        keyed_world.caller("ana", keyed_world.sp2),
    ):
        foreign = caller.call("GET", f"memory/plans/{plan}")
        missing = caller.call("GET", f"memory/plans/{unknown}")
        assert foreign.status_code == missing.status_code == 404
        assert foreign.data == missing.data
        assert foreign.json["data"]["code"] == "NotFoundOrNotVisible"


def test_mis_05_a_receipt_outlives_its_source(world: World, model: Provider) -> None:
    caller = world.caller()
    model.script(heard(claim(), summary=SAID))
    source = caller.stage(SAID)
    request = {"key": "obs", "source_ref": source}
    first = caller.do("observe", **request)
    world.work()
    assert forgotten(caller, source)["status"] == "succeeded"
    replay = caller.do("observe", **request)
    assert replay["receipt"] == first["receipt"]
    assert replay["progress"]["disposition"] == "formed"
    assert replay["result"]["memory_refs"]
    assert SAID not in replay["result"]["summary"]
    jobs = world.jobs
    for key in ("other", "another"):
        refused = caller.do("observe", key=key, source_ref=source)
        assert refused["error"]["code"] in ("NotFoundOrNotVisible", "NotAuthorized")
    assert world.jobs == jobs


def test_a_key_means_one_request(world: World, model: Provider) -> None:
    caller = world.caller()
    source = formed(caller, model)
    told = forgotten(caller, source, "payload_only", key="k")
    other = caller.do("forget", key="k", target_ref=source, mode="semantic")
    assert other["error"]["code"] == "IdempotencyConflict"
    assert caller.do("forget", key="k", target_ref=source, mode="payload_only") == told


@pytest.mark.parametrize(
    ("target", "mode", "code"),
    [
        ("A-99", "semantic", "NotFoundOrNotVisible"),
        ("nonsense", "semantic", "NotFoundOrNotVisible"),
        (f"src-{uuid.UUID(int=0).hex}", "semantic", "NotFoundOrNotVisible"),
        ("E-99", "payload_only", "NotFoundOrNotVisible"),
        ("A-1", "payload_only", "InvalidRequestEnvelope"),
        ("C-1", "semantic", "PurgeDenied"),
        ("E-1", "semantic", "PurgeDenied"),
    ],
)
def test_what_cannot_be_forgotten_is_refused_and_binds_no_key(
    world: World, model: Provider, target: str, mode: str, code: str
) -> None:
    caller = world.caller()
    formed(caller, model)
    head, jobs = world.head, world.jobs
    told = caller.do("forget", key="k", target_ref=target, mode=mode)
    assert told["error"]["code"] == code
    assert (world.head, world.jobs) == (head, jobs)


def test_an_option_that_nothing_refers_to_any_more_stays_and_goes_by_its_own_name(
    world: World, model: Provider, services: Services
) -> None:
    caller = world.caller()
    said = f"I own a {WORDS[0]}."
    owns = {**claim(WORDS[0], said), "predicate": "owns", "object_type": "Thing"}
    source = formed(caller, model, heard(owns), said=said)
    told = forgotten(caller, source)
    assert told["status"] == "succeeded"
    left = where(services, WORDS[0])
    assert {place.partition(".")[0] for place in left} <= {
        "element",
        "element_ver",
        "search_document",
        "search_term",
    }
    [option] = of_type(world, "Thing")
    assert option in told["warnings"][0]
    assert forgotten(caller, option)["status"] == "succeeded"
    assert where(services, WORDS[0]) == []


@contextlib.contextmanager
def stubborn(services: Services) -> Iterator[None]:
    """Records of conversations whose messages come back whenever they are written."""
    with psycopg.connect(services.admin_url, autocommit=True) as conn:
        conn.execute(
            "create function stubborn() returns trigger language plpgsql as"
            " $$ begin new.messages = old.messages; return new; end $$"
        )
        conn.execute(
            "create trigger stubborn before update on conversation"
            " for each row execute function stubborn()"
        )
        try:
            yield
        finally:
            conn.execute("drop function stubborn cascade")


def test_kip2_mif_009_nothing_is_called_complete_before_everything_is(
    world: World, model: Provider, services: Services
) -> None:
    caller = world.caller()
    formed(caller, model)
    [assertion] = ids(world, "A")
    with stubborn(services):
        told = forgotten(caller, assertion)
    assert (told["status"], told["result"]["status"]) == ("partial", "partial")
    assert told["progress"]["disposition"] != "erased"
    plan = plan_of(caller, told)
    assert plan["plan"]["status"] == "partial"
    assert "pending" in {entry["state"] for entry in plan["host_surfaces"]}
    assert where(services, *WORDS) != []
    # a new key goes on where the old one had to stop
    told = forgotten(caller, assertion)
    assert (told["status"], told["result"]["status"]) == ("succeeded", "completed")
    assert where(services, *WORDS) == []
    plan = plan_of(caller, told)
    assert {entry["state"] for entry in plan["plan"]["targets"]} == {"erased"}
    assert assertion in {entry["ref"] for entry in plan["plan"]["targets"]}
    gone = caller.do("forget", target_ref=assertion, mode="semantic")
    assert gone["error"]["code"] == "NotFoundOrNotVisible"


def test_what_somebody_else_erased_meanwhile_is_cleaned_up_after(
    world: World, model: Provider, services: Services
) -> None:
    caller = world.caller()
    formed(caller, model)
    [assertion] = ids(world, "A")
    key = uuid.uuid4().hex
    told = caller.do("forget", key=key, target_ref=assertion, mode="semantic")
    assert told["status"] == "pending"
    with world.database.transaction(world.scope) as tx:
        change = Purge(assertion, policy="tombstone_reference")
        commit(tx, world.scope, "p", ChangeSet((change,)), tx_class="test")
    world.work()
    told = caller.do("forget", key=key, target_ref=assertion, mode="semantic")
    assert told["status"] == "succeeded", told
    assert [ids(world, kind) for kind in "APE"] == [[], [], []]
    assert where(services, *WORDS) == []


def test_a_claim_that_is_made_while_a_plan_waits_keeps_its_evidence(
    world: World, model: Provider
) -> None:
    caller = world.caller()
    formed(caller, model)
    [assertion], [evidence] = ids(world, "A"), ids(world, "E")
    [person, *_] = of_type(world, "Person")
    key = uuid.uuid4().hex
    caller.do("forget", key=key, target_ref=assertion, mode="semantic")
    with world.database.transaction(world.scope) as tx:
        changes = (
            EnsureProposition("?t", person, "timezone", Value("+08:00")),
            CreateAssertion("?a", "?t", person, "stated", citations=(Citation(evidence),)),
        )
        commit(tx, world.scope, "p", ChangeSet(changes), tx_class="test")
    world.work()
    told = caller.do("forget", key=key, target_ref=assertion, mode="semantic")
    assert told["status"] == "partial"
    assert ids(world, "E") == [evidence]
    assert world.element(evidence)["payload"]["inline"]["content"] == SAID
    assert assertion not in ids(world, "A")
    states = {
        (e["ref"], e["surface"]): e["state"] for e in plan_of(caller, told)["plan"]["targets"]
    }
    assert states[assertion, "element"] == "erased"
    assert states[evidence, "payload"] == "unavailable"


def test_what_needs_the_target_by_the_time_of_the_work_keeps_it(
    world: World, model: Provider
) -> None:
    caller = world.caller()
    with world.database.transaction(world.scope) as tx:
        changes: tuple[Any, ...] = (
            CreateConcept("?p", type="Person", key="person:x", name="X"),
            CreateEvidence("?e", "user_statement", SAID, content_digest="sha256:" + "0" * 64),
        )
        commit(tx, world.scope, "p", ChangeSet(changes), tx_class="test")
    key = uuid.uuid4().hex
    assert caller.do("forget", key=key, target_ref="E-1", mode="semantic")["status"] == "pending"
    assert suppressed(world) == 1
    with world.database.transaction(world.scope) as tx:
        changes = (
            EnsureProposition("?t", "C-1", "timezone", Value("+08:00")),
            CreateAssertion("?a", "?t", "C-1", "stated", citations=(Citation("E-1"),)),
        )
        commit(tx, world.scope, "p", ChangeSet(changes), tx_class="test")
    world.work()
    told = caller.do("forget", key=key, target_ref="E-1", mode="semantic")
    assert (told["status"], told["error"]["code"]) == ("failed", "PurgeDenied")
    assert plan_of(caller, told)["plan"]["status"] == "partial"
    assert ids(world, "E") == ["E-1"]
    assert suppressed(world) == 0


def test_unreferenced_evidence_and_a_named_concept_go_alone(
    world: World, model: Provider, services: Services
) -> None:
    caller = world.caller()
    with world.database.transaction(world.scope) as tx:
        changes = (
            CreateConcept(
                "?c",
                type="Experience",
                name=WORDS[1],
                attributes={"goal": WORDS[1], "outcome_status": "success"},
            ),
            CreateEvidence("?e", "user_statement", SAID),
        )
        commit(tx, world.scope, "p", ChangeSet(changes), tx_class="test")
    for target in ("E-1", "C-1"):
        told = forgotten(caller, target)
        assert told["status"] == "succeeded", told
        assert plan_of(caller, told)["plan"]["source_event_refs"] == (
            ["E-1"] if target == "E-1" else []
        )
    assert where(services, *WORDS) == []


class Between:
    """An attempt during which something happens once its first batch is committed."""

    def __init__(self, attempt: Attempt, then: Callable[[], None]) -> None:
        self._attempt, self._then = attempt, [then]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._attempt, name)

    def commit_batch(self, apply: Callable[[Transaction], Any], cursor: dict[str, Any]) -> Any:
        answer = self._attempt.commit_batch(apply, cursor)
        while self._then:
            self._then.pop()()
        return answer


def held_between(world: World, caller: Caller, target: str, held: str) -> Any:
    """Ask for a plan of several parts, with a legal hold put on an element after the first."""
    caller.do("forget", key="begun", target_ref=target, mode="semantic")

    def run(attempt: Attempt) -> Effect:
        return forget.run(Between(attempt, lambda: hold(world, held, True)))

    usual, world.runner = world.runner, Runner({**PIPELINES, "forget": run})
    world.runner.start()
    world.work()
    world.runner.stop()
    world.runner = usual
    return caller.do("forget", key="begun", target_ref=target, mode="semantic")


def test_a_hold_that_comes_between_two_parts_stops_the_plan_and_a_new_key_goes_on_from_there(
    world: World, services: Services
) -> None:
    target = claim_often(world.database, world.scope, 600, WORDS[0])
    caller = world.caller()
    stopped = held_between(world, caller, target, target)
    assert (stopped["status"], stopped["result"]["status"]) == ("failed", "blocked")
    assert stopped["error"]["code"] == "LegalHoldConflict"
    assert "nothing was erased" not in stopped["error"]["message"]
    # what is gone is gone, is told so, and is not taken in again
    left = len(ids(world, "E"))
    assert 0 < left < 600
    view = plan_of(caller, stopped)
    assert view["plan"]["targets"][0] == {"ref": target, "surface": "element", "state": "held"}
    refused = suppressed(world)
    hold(world, target, False)
    told = forgotten(caller, target)
    assert told["result"]["status"] == "completed", told
    assert [ids(world, kind) for kind in "APE"] == [[], [], []]
    assert suppressed(world) >= refused
    assert where(services, WORDS[0]) == []
    # and the new plan tells of all of it
    assert plan_of(caller, told)["targets_total"] == 1201 + 600 + 1201


def gated(world: World, claim: str) -> dict[str, str]:
    """What a gate decided on account of a claim, and what a person answered to that."""
    at = now()
    with world.database.transaction(world.scope) as tx:
        changes = (
            CreateEvidence("?why", "agent_statement", f"It was said that the {WORDS[0]} is late."),
            CreateActivity(
                "?gate", "action_gate", "completed", at, at, inputs=(claim,), outputs=("?why",)
            ),
            CreateEvidence("?answer", "user_statement", "Do as you think best."),
            CreateActivity(
                "?review",
                "human_review",
                "completed",
                at,
                at,
                inputs=("?gate", "?why"),
                outputs=("?answer",),
            ),
        )
        return dict(commit(tx, world.scope, "p", ChangeSet(changes), tx_class="test").ids)


def test_what_a_gate_made_of_a_claim_goes_with_it_and_what_a_person_answered_stays(
    world: World, model: Provider, services: Services
) -> None:
    caller = world.caller()
    formed(caller, model)
    [claim_ref], [said] = ids(world, "A"), ids(world, "E")
    made = gated(world, claim_ref)
    told = forgotten(caller, claim_ref)
    assert told["status"] == "succeeded", told
    assert ids(world, "E") == [made["?answer"]]
    erased = {entry["ref"] for entry in plan_of(caller, told)["plan"]["targets"]}
    assert {claim_ref, said, made["?why"]} <= erased
    # the record that something was decided stays, without the words
    assert made["?gate"] in ids(world, "X")
    assert where(services, *WORDS) == []


def test_what_a_gate_made_of_a_claim_stays_where_another_claim_rests_on_it(
    world: World, model: Provider
) -> None:
    caller = world.caller()
    formed(caller, model)
    [claim_ref] = ids(world, "A")
    made = gated(world, claim_ref)
    [person, *_] = of_type(world, "Person")
    with world.database.transaction(world.scope) as tx:
        changes = (
            EnsureProposition("?t", person, "timezone", Value("+08:00")),
            CreateAssertion("?a", "?t", person, "stated", citations=(Citation(made["?why"]),)),
        )
        commit(tx, world.scope, "p", ChangeSet(changes), tx_class="test")
    told = forgotten(caller, claim_ref)
    assert (told["status"], told["result"]["status"]) == ("partial", "partial")
    assert made["?why"] in ids(world, "E")
    assert {"ref": made["?why"], "surface": "payload", "state": "unavailable"} in plan_of(
        caller, told
    )["plan"]["targets"]


def test_an_insight_goes_with_the_event_that_it_was_drawn_from(
    world: World, model: Provider, services: Services
) -> None:
    caller = world.caller()
    source = formed(caller, model, heard(claim(), summary=f"It was said: {SAID}"))
    [event] = of_type(world, "Event")
    at = now()
    with world.database.transaction(world.scope) as tx:
        attributes = {"summary": f"The {WORDS[0]} matters.", "insight_class": "consolidation"}
        changes = (
            CreateConcept("?i", type="Insight", attributes=attributes),
            CreateActivity(
                "?x",
                "semantic_consolidation",
                "completed",
                at,
                at,
                inputs=(event,),
                outputs=("?i",),
            ),
        )
        commit(tx, world.scope, "p", ChangeSet(changes), tx_class="test")
    told = forgotten(caller, source)
    assert told["status"] == "succeeded", told
    assert of_type(world, "Insight") == []
    assert where(services, *WORDS) == []


def test_what_goes_with_a_claim_is_found_in_as_many_statements_whatever_it_comes_to(
    world: World,
) -> None:
    class Counting:
        """A transaction that counts what it executes."""

        def __init__(self, tx: Any) -> None:
            self.tx, self.count = tx, 0

        def execute(self, *given: Any) -> Any:
            self.count += 1
            return self.tx.execute(*given)

    counts = []
    for times in (5, 300):
        target = claim_often(world.database, world.scope, times)
        with world.database.transaction(world.scope) as tx:
            counting: Any = Counting(tx)
            found = closure.compute(counting, world.scope, "", target, "semantic")
        assert len(found.elements) >= 2 * times
        counts.append(counting.count)
    assert counts[0] == counts[1]
