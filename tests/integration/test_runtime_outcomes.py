"""What observers measure: who may, what is checked, what is written, and what is kept (4.6)."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from storage import spaces
from storage.canonical import digest_bytes
from storage.clock import now, to_text
from storage.credentials import space_tokens
from storage.database import Scope
from storage.database import database as process_database
from storage.erasure import elements
from storage.errors import InvalidInput
from storage.graph import state
from storage.graph.changes import ChangeSet, CreateActivity
from storage.graph.commit import commit
from storage.runtime import attempts, audit, configuration, gates
from storage.runtime.attempts import Plan
from storage.runtime.gates import Decision
from tests.integration.test_runtime_inbox import PUBLIC, fired, token
from tests.services import Api, Services, running_api

METHOD, OTHER, OWN = (f"sha256:{letter * 64}" for letter in "abc")
SENT = f"sha256:{'d' * 64}"


@dataclass
class World:
    """A space, an API with a registered observer, and the wakes to act on."""

    api: Api
    space: str
    tokens: dict[str, str]
    wakes: list[str]
    instance: str = ""

    @property
    def scope(self) -> Scope:
        return Scope(self.space)

    def act(self, *, kind: Any = "inbox", domain: str = "brain", author: str = "dispatcher") -> str:
        """An attempt, sent."""
        with process_database().transaction(self.scope) as tx:
            gate = gates.decide(tx, self.scope, "gate", self.wakes.pop(), Decision("act"))
            pin = {"artifact_ref": "policy:one", "content_digest": OTHER}
            plan = Plan(kind, SENT, domain, "reminders", OTHER, pin)
            return attempts.dispatch(tx, self.scope, author, gate, plan)[0]

    def body(self, attempt: str, **changed: Any) -> dict[str, Any]:
        observation = {
            "kind": "measurement",
            "terminal": True,
            "outcome_status": "success",
            "magnitude": None,
            "payload": {"delivery_digest": SENT},
        }
        observation |= {k: changed.pop(k) for k in list(changed) if k in observation}
        return {
            "space_instance": self.instance,
            "attempt_ref": attempt,
            "observer_configuration_digest": METHOD,
            "event_key": f"event-{uuid.uuid4().hex}",
            "observed_at": to_text(now()),
            "metric": "delivery",
            "window": "durable_inbox_v1",
            "observation": observation,
            "correction_of": None,
            "safety_signal": None,
            **changed,
        }

    def send(self, body: dict[str, Any], caller: str = "gauge") -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.tokens[caller]}"}
        url = f"/v1/{self.space}/outcomes"
        return self.api.client.post(url, headers=headers, json=body)

    def item(self, attempt: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.tokens['ana']}"}
        path, cursor = f"/v1/{self.space}/attention?limit=50", ""
        while True:
            page = self.api.client.get(path + cursor, headers=headers).json()["result"]
            for item in page["items"]:
                if item["attempt_ref"] == attempt:
                    return dict(item)
            cursor = f"&cursor={page['next_cursor']}"
            assert not page["complete"]

    def head(self) -> int:
        with process_database().transaction(self.scope) as tx:
            return spaces.get(tx, self.scope).head_seq


@pytest.fixture(scope="module")
def world(_services: Services, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    database, space = process_database(), f"rt_{uuid.uuid4().hex[:12]}"
    scope = Scope(space)
    fired(database, scope, 60)
    with database.transaction(scope) as tx:
        value, _ = space_tokens.add(tx, scope, name="bot", token_scope="*")
        rows = tx.execute("select id from runtime_wake where space_id = %s", (space,)).fetchall()
    contract = {
        "principal": "gauge",
        "configuration_digest": METHOD,
        "control_domain": "instruments",
        "task_family": "reminders",
        "metric": "delivery",
        "window": "durable_inbox_v1",
        "lateness_seconds": 3600,
    }
    gauge = {
        "principal": "gauge",
        "cwt_subject": "gauge",
        "audience": [],
        "roles": ["record_outcome"],
    }
    meter = {**gauge, "principal": "meter", "cwt_subject": "meter"}
    config = {
        "callers": [
            {"principal": "ana", "cwt_subject": "ana", "audience": "all"},
            {
                "principal": "bot",
                "space_token_digest": digest_bytes(value.encode()),
                "audience": "all",
            },
            gauge,
            meter,
        ],
        "observers": [
            contract,
            {**contract, "principal": "ana"},
            {**contract, "principal": "meter"},
        ],
    }
    file = tmp_path_factory.mktemp("runtime") / "runtime.json"
    file.write_text(json.dumps({"format": configuration.FORMAT, "spaces": {space: config}}))
    tokens = {name: token(name, space) for name in ("ana", "gauge", "meter", "stranger")}
    tokens |= {"bot": value, "gauge reads": token("gauge", space, "read")}
    env = {"ED25519_PUBKEYS": PUBLIC, "BRAIN_RUNTIME_CONFIG": str(file)}
    with running_api(_services, env) as api:
        made = World(api, space, tokens, [wake for (wake,) in rows])
        headers = {"Authorization": f"Bearer {tokens['gauge']}"}
        status = api.client.get(f"/v1/{space}/runtime/status", headers=headers).json()["result"]
        assert status["observation_enabled"]
        assert status["observer_authenticated"]
        made.instance = status["scope"]["space_instance"]
        yield made


def test_a_measurement_is_evidence_and_an_activity_in_one_commit_and_closes_the_dispatch(
    world: World,
) -> None:
    attempt = world.act()
    assert world.item(attempt)["state"] == "running"
    before, body = world.head(), world.body(attempt)
    answer = world.send(body)
    assert answer.status_code == 200, answer.text
    told = answer.json()["result"]
    assert world.head() == before + 1
    assert told["format"] == "anda-brain:observation-receipt-v1"
    assert (told["status"], told["native_committed"], told["learning_eligible"]) == (
        "recorded",
        True,
        False,
    )
    with process_database().transaction(world.scope) as tx:
        facets = tx.execute(
            "select doc -> 'facets' from element_ver where space_id = %s and id = %s",
            (world.space, told["outcome_ref"]),
        ).fetchone()
        activity = tx.execute(
            "select x.activity_class, x.created_seq = e.created_seq, e.payload -> 'inline'"
            "  from activity x join evidence e on e.space_id = x.space_id"
            " where x.space_id = %s and x.id = %s and e.id = %s",
            (world.space, told["observation_ref"], told["outcome_ref"]),
        ).fetchone()
    assert facets is not None
    (record,) = facets[0].values()
    assert record["outcome_status"] == "success"
    assert record["attempt_ref"] == attempt
    # what was not measured is not 0
    assert "magnitude" not in record
    assert activity is not None
    assert activity[:2] == ("outcome_observation", True)
    assert activity[2]["measured"] == {"delivery_digest": SENT}
    item = world.item(attempt)
    assert (item["state"], item["reason"]) == ("completed", "success")
    assert item["delivery"]["outcome_ref"] == told["outcome_ref"]
    assert world.send(body).json()["result"] == told
    assert world.head() == before + 1


def test_only_a_signed_registered_observer_may_measure(world: World) -> None:
    attempt = world.act()
    body = world.body(attempt)
    assert world.send(body, "bot").status_code == 403
    assert world.send(body, "stranger").status_code == 403
    # mapped and under contract, but without the permission
    assert world.send(body, "ana").status_code == 403
    assert world.send(body, "gauge reads").status_code == 403
    assert world.send({**body, "observer_configuration_digest": OTHER}).status_code == 403
    assert world.item(attempt)["state"] == "running"


def test_every_check_of_the_contract_holds(world: World) -> None:
    attempt = world.act()
    with process_database().transaction(world.scope) as tx:
        loose = CreateActivity("?x", "action_attempt", "completed", now(), now())
        made = commit(tx, world.scope, "test", ChangeSet((loose,)), tx_class="test")
    before = world.head()
    ahead, behind = (to_text(now() + timedelta(seconds=s)) for s in (120, -120))
    refused: list[tuple[dict[str, Any], int]] = [
        ({"space_instance": OTHER}, 409),
        ({"attempt_ref": "X-999999"}, 404),
        # an attempt that nobody dispatched
        ({"attempt_ref": made.ids["?x"]}, 404),
        ({"metric": "reading"}, 409),
        ({"window": "ever"}, 409),
        ({"observed_at": ahead}, 400),
        # before it was sent
        ({"observed_at": behind}, 409),
        ({"payload": {"delivery_digest": OTHER}}, 409),
        ({"payload": None}, 409),
        ({"correction_of": "no such event"}, 409),
        ({"event_key": "é" * 129}, 400),
        ({"payload": "x" * 16384}, 413),
        ({"magnitude": 2}, 400),
        ({"utility": {}}, 400),
    ]
    for changed, status in refused:
        assert world.send(world.body(attempt, **changed)).status_code == status, changed
    learning = {"kind": "learning", "measurements": {}}
    answer = world.send(world.body(attempt, observation=learning))
    assert answer.status_code == 400
    assert answer.json()["data"]["code"] == "UnsupportedCapability"
    assert world.head() == before
    assert world.item(attempt)["state"] == "running"


def test_an_attempt_of_learning_is_never_graded_the_ordinary_way(world: World) -> None:
    attempt = world.act()
    with process_database().transaction(world.scope) as tx:
        record = attempts.record_of(tx, world.scope, attempt, "AttemptRecord")
        pin = {"artifact_ref": "enrollment:one", "content_digest": OTHER}
        # a baseline: it belongs to a trial although it names none
        record["assignment"] = {
            "enrollment": pin,
            "unit_id": "u-1",
            "arm": "control",
            "assigned_at": to_text(now()),
        }
        made = commit(
            tx,
            world.scope,
            "runtime:dispatcher",
            ChangeSet(
                (
                    CreateActivity(
                        "?x",
                        "action_attempt",
                        "completed",
                        now(),
                        now(),
                        facets={"AttemptRecord": record},
                    ),
                )
            ),
            tx_class="runtime",
        )
        tx.execute(
            "update runtime_dispatch set attempt_ref = %s where space_id = %s and attempt_ref = %s",
            (made.ids["?x"], world.space, attempt),
        )
    before = world.head()
    answer = world.send(world.body(made.ids["?x"]))
    assert answer.status_code == 400
    assert answer.json()["data"]["code"] == "UnsupportedCapability"
    assert world.head() == before


def test_an_attempt_that_its_runtime_did_not_record_is_refused(world: World) -> None:
    attempt = world.act()
    with process_database().transaction(world.scope) as tx:
        tx.execute(
            "update runtime_dispatch set author = 'runtime:other'"
            " where space_id = %s and attempt_ref = %s",
            (world.space, attempt),
        )
    assert world.send(world.body(attempt)).status_code == 409


def test_who_acts_does_not_grade_itself(world: World) -> None:
    assert world.send(world.body(world.act(author="gauge"))).status_code == 403
    assert world.send(world.body(world.act(domain="instruments"))).status_code == 403


def test_another_body_of_the_same_event_is_refused_and_kept(world: World) -> None:
    body = world.body(world.act())
    first = world.send(body).json()["result"]
    other = {**body, "observation": {**body["observation"], "outcome_status": "failure"}}
    assert world.send(other).status_code == 409
    with process_database().transaction(world.scope) as tx:
        kept = tx.execute(
            "select inbox, principal, body_digest from runtime_conflict"
            " where space_id = %s and event_key = %s",
            (world.space, body["event_key"]),
        ).fetchall()
    assert [row[:2] for row in kept] == [("outcome", "gauge")]
    assert kept[0][2] != first["body_digest"]


@pytest.mark.parametrize("changed", [{"terminal": False}, {"outcome_status": "unknown"}])
def test_what_is_not_final_leaves_the_dispatch_open(world: World, changed: dict[str, Any]) -> None:
    attempt = world.act()
    told = world.send(world.body(attempt, **changed)).json()["result"]
    assert told["native_committed"]
    assert world.item(attempt)["state"] == "running"


def test_a_correction_appends_and_a_safety_signal_stays_pending(world: World) -> None:
    attempt = world.act()
    first = world.body(attempt)
    earlier = world.send(first).json()["result"]
    second = world.body(
        attempt,
        outcome_status="failure",
        correction_of=first["event_key"],
        safety_signal="wrong recipient",
    )
    told = world.send(second).json()["result"]
    assert (told["status"], told["safety_pending"]) == ("corrected", True)
    assert told["outcome_ref"] != earlier["outcome_ref"]
    assert world.send(first).json()["result"] == earlier
    other = world.body(world.act(), correction_of=first["event_key"])
    assert world.send(other).status_code == 409


def late(world: World, attempt: str, **changed: Any) -> dict[str, Any]:
    """A measurement of an attempt that was sent yesterday, two hours old."""
    with process_database().transaction(world.scope) as tx:
        tx.execute(
            "update runtime_dispatch set dispatched_at = dispatched_at - interval '1 day',"
            " delivered_at = delivered_at - interval '1 day'"
            " where space_id = %s and attempt_ref = %s",
            (world.space, attempt),
        )
    return world.body(attempt, observed_at=to_text(now() - timedelta(hours=2)), **changed)


def material(world: World, receipt: dict[str, Any]) -> tuple[str, dict[str, Any], Any]:
    """The class, the facets and the payload of the evidence that an observation made."""
    with process_database().transaction(world.scope) as tx:
        (edge,) = state.edges_from(tx, world.scope, [receipt["observation_ref"]], ["outputs"])
        stored = state.load(tx, world.scope, [edge.target])[edge.target]
        row = tx.execute(
            "select evidence_class, payload -> 'inline' from evidence"
            " where space_id = %s and id = %s",
            (world.space, edge.target),
        ).fetchone()
    assert row is not None
    return row[0], stored.doc.get("facets") or {}, row[1]


def test_what_comes_too_late_is_kept_as_material_and_is_no_outcome(world: World) -> None:
    attempt = world.act()
    before = world.head()
    body = late(world, attempt, safety_signal="it burnt")
    told = world.send(body).json()["result"]
    assert (told["status"], told["native_committed"]) == ("late", False)
    assert told["outcome_ref"] is None
    assert told["safety_pending"]
    assert world.send(body).json()["result"] == told
    assert world.head() == before + 1
    assert world.item(attempt)["state"] == "running"
    kind, facets, payload = material(world, told)
    assert (kind, facets) == ("artifact", {})
    assert payload["safety_signal"] == "it burnt"
    assert payload["measured"] == {"delivery_digest": SENT}


def test_an_event_that_came_too_late_or_was_erased_can_be_corrected(world: World) -> None:
    attempt = world.act()
    first = late(world, attempt)
    assert world.send(first).json()["result"]["status"] == "late"
    second = world.body(attempt, outcome_status="failure", correction_of=first["event_key"])
    told = world.send(second).json()["result"]
    assert (told["status"], told["native_committed"]) == ("corrected", True)
    again = late(world, attempt, correction_of=second["event_key"])
    assert world.send(again).json()["result"]["status"] == "late"
    with process_database().transaction(world.scope) as tx:
        gone = (told["outcome_ref"], told["observation_ref"])
        elements.erase(tx, world.scope, "test", elements=gone, payloads=())
    third = world.body(attempt, correction_of=second["event_key"])
    told = world.send(third).json()["result"]
    assert told["status"] == "corrected"
    assert material(world, told)[2]["correction_of"] is None


def test_a_conflict_is_kept_once_however_often_it_is_sent(world: World) -> None:
    body = world.body(world.act())
    assert world.send(body).status_code == 200
    other = {**body, "metric": "delivery", "safety_signal": "another"}
    assert {world.send(other).status_code for _ in range(3)} == {409}
    assert world.send({**body, "safety_signal": "a third"}).status_code == 409
    with process_database().transaction(world.scope) as tx:
        row = tx.execute(
            "select count(*) from runtime_conflict where space_id = %s and event_key = %s",
            (world.space, body["event_key"]),
        ).fetchone()
    assert row == (2,)


def test_a_host_finds_safety_signals_that_wait_in_bounded_pages(world: World) -> None:
    def pages(limit: int, **which: Any) -> list[list[str]]:
        found, after = [], ""
        with process_database().transaction(world.scope) as tx:
            while True:
                page = audit.receipts(tx, world.scope, after=after, limit=limit, **which)
                found.append([one.event_key for one in page.items])
                if page.position is None:
                    return found
                after = page.position

    sent = [
        world.body(world.act(), safety_signal="smoke"),
        world.body(world.act()),
        late(world, world.act(), safety_signal="fire"),
    ]
    for body in sent:
        assert world.send(body).status_code == 200
    waiting = [key for page in pages(1, safety_pending=True) for key in page]
    assert waiting[-2:] == [sent[0]["event_key"], sent[2]["event_key"]]
    whole = pages(2)
    assert {len(page) for page in whole[:-1]} == {2}
    assert [key for page in whole for key in page][-3:] == [body["event_key"] for body in sent]
    with pytest.raises(InvalidInput), process_database().transaction(world.scope) as tx:
        audit.receipts(tx, world.scope, limit=51)


def test_a_verification_that_a_measurement_announces_is_kept_and_found_and_scores_nothing(
    world: World,
) -> None:
    attempt = world.act(kind="external")
    payload = {"trust_verification_ref": "E-4711"}
    told = world.send(world.body(attempt, payload=payload)).json()["result"]
    odd = world.body(world.act(kind="external"), payload={"trust_verification_ref": "E-x"})
    assert world.send(odd).status_code == 200
    assert material(world, told)[2] == {
        "measured": payload,
        "correction_of": None,
        "safety_signal": None,
    }
    with process_database().transaction(world.scope) as tx:
        found, _ = audit.announced(tx, world.scope)
        assert [(one.receipt_id, one.outcome_ref, one.verification_ref) for one in found] == [
            (told["receipt_id"], told["outcome_ref"], "E-4711")
        ]
        gone = (told["outcome_ref"], told["observation_ref"])
        elements.erase(tx, world.scope, "test", elements=gone, payloads=())
        assert audit.announced(tx, world.scope)[0] == ()


def test_a_lost_second_step_is_made_up_for_by_the_same_event(world: World) -> None:
    attempt = world.act()
    body = world.body(attempt)
    told = world.send(body).json()["result"]
    with process_database().transaction(world.scope) as tx:
        tx.execute(
            "update runtime_dispatch set reconciled_at = null, outcome_ref = null,"
            " outcome_status = null where space_id = %s and attempt_ref = %s",
            (world.space, attempt),
        )
    assert world.item(attempt)["state"] == "running"
    assert world.send(body).json()["result"] == told
    assert world.item(attempt)["state"] == "completed"


def test_the_same_event_from_many_at_once_is_one(world: World) -> None:
    body, before = world.body(world.act()), world.head()
    answers: list[httpx2.Response] = []
    threads = [threading.Thread(target=lambda: answers.append(world.send(body))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["result"]["receipt_id"] for answer in answers}) == 1
    assert world.head() == before + 1


def test_an_observation_of_another_instance_of_the_space_is_refused(world: World) -> None:
    body = world.body(world.act())
    with process_database().transaction(world.scope) as tx:
        tx.execute(
            "update space set created_at = created_at + interval '1 second' where space_id = %s",
            (world.space,),
        )
    try:
        assert world.send(body).status_code == 409
    finally:
        with process_database().transaction(world.scope) as tx:
            tx.execute(
                "update space set created_at = created_at - interval '1 second'"
                " where space_id = %s",
                (world.space,),
            )
    assert world.send(body).status_code == 200
