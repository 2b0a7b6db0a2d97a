"""The runtime inbox over HTTP, with real keys: pages, answers and who is let in (MIS-39)."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg import sql

from api.runtime.models import RuntimeStatus
from storage import spaces
from storage.canonical import digest, digest_bytes
from storage.clock import now, to_millis
from storage.credentials import cwt, space_tokens
from storage.database import Database, Scope
from storage.database import database as process_database
from storage.erasure import elements
from storage.graph import state
from storage.graph.changes import (
    ChangeSet,
    CreateConcept,
    CreateEvidence,
    PurgePayload,
    UpdateConcept,
)
from storage.graph.commit import commit
from storage.migrations import versions
from storage.runtime import callers, configuration, gates
from storage.runtime.gates import Ask, Decision
from storage.sealing import seal
from storage.settlement import watches
from tests.services import Api, Services, running_api

SIGNING, PUBLIC = cwt.new_key()
ASKED = "Shall I send the reminder tomorrow, or on Monday?"


@dataclass
class World:
    """A space whose Watches have fired, an API that knows its callers, and their tokens."""

    api: Api
    space: str
    other: str
    public: str
    config: Path
    tokens: dict[str, str] = field(default_factory=dict)
    watches: list[str] = field(default_factory=list)

    @property
    def scope(self) -> Scope:
        return Scope(self.space)

    def get(self, path: str, caller: str | None, space: str | None = None) -> httpx2.Response:
        return self.api.client.get(
            f"/v1/{space or self.space}{path}", headers=self._headers(caller)
        )

    def post(self, path: str, caller: str, body: dict[str, Any]) -> httpx2.Response:
        url = f"/v1/{self.space}{path}"
        return self.api.client.post(url, headers=self._headers(caller), json=body)

    def walk(self, caller: str, limit: int = 20) -> list[list[dict[str, Any]]]:
        """All pages of the inbox."""
        pages, cursor = [], ""
        while True:
            query = f"?limit={limit}" + (f"&cursor={cursor}" if cursor else "")
            page = self.get(f"/attention{query}", caller).json()["result"]
            pages.append(page["items"])
            assert page["complete"] is (page["next_cursor"] is None)
            if page["next_cursor"] is None:
                return pages
            cursor = page["next_cursor"]

    def item(self, wake: str) -> dict[str, Any]:
        return next(i for page in self.walk("ana", 50) for i in page if i["id"] == wake)

    def respond(self, wake: str, caller: str, **body: Any) -> httpx2.Response:
        return self.post(f"/attention/{wake}/responses", caller, body)

    def decide(self, wake: str, decision: Decision) -> str:
        with process_database().transaction(self.scope) as tx:
            return gates.decide(tx, self.scope, "gate", wake, decision)

    def ask(self, wake: str, recipient: str = "ana") -> str:
        ask = Ask(ASKED, recipient, now() + timedelta(hours=1))
        return self.decide(wake, Decision("ask", ask=ask))

    def _headers(self, caller: str | None) -> dict[str, str]:
        return {} if caller is None else {"Authorization": f"Bearer {self.tokens[caller]}"}


def token(subject: str, audience: str, scope: str = "*") -> str:
    return cwt.mint(
        SIGNING, subject=subject, audience=audience, scope=scope, seconds=3600, at=time.time()
    )


def fired(database: Database, scope: Scope, count: int) -> list[str]:
    """Watches on one concept, all of them fired by a change of it, as settlement does it."""
    with database.transaction(scope) as tx:
        spaces.create(tx, scope, owner="user:ana")
        made = commit(
            tx,
            scope,
            "test",
            ChangeSet((CreateConcept("?topic", "Topic", name="Rent"),)),
            tx_class="test",
        )
        topic = made.ids["?topic"]
        armed = tuple(
            CreateConcept(
                f"?w{n}",
                "Watch",
                attributes={
                    "summary": f"Rent changed ({n})",
                    "watch_class": "delta",
                    "status": "armed",
                    "condition": {"element": topic},
                },
            )
            for n in range(count)
        )
        ids = commit(tx, scope, "test", ChangeSet(armed), tx_class="test").ids
        change = UpdateConcept(topic, attributes={"amount": 900})
        commit(tx, scope, "test", ChangeSet((change,)), tx_class="test")
        told: dict[str, Any] = {}
        done = False
        while not done:
            told, done = watches.settle(tx, scope, "test", now(), told)
        assert told["fired"] == count
    return [ids[f"?w{n}"] for n in range(count)]


def configured(*callers_: dict[str, Any], observers: Any = ()) -> dict[str, Any]:
    return {"callers": list(callers_), "observers": list(observers)}


@pytest.fixture(scope="module")
def world(_services: Services, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    database = process_database()
    space, other, public = (f"rt_{uuid.uuid4().hex[:12]}" for _ in range(3))
    scope = Scope(space)
    ids = fired(database, scope, 45)
    bots: dict[str, str] = {}
    with database.transaction(scope) as tx:
        for name in ("bot", "reader"):
            kind = "*" if name == "bot" else "read"
            bots[name], _ = space_tokens.add(tx, scope, name=name, token_scope=kind)
    for name in (other, public):
        with database.transaction(Scope(name)) as tx:
            spaces.create(tx, Scope(name), owner="user:ana")
            spaces.update(tx, Scope(name), public=name == public)
    ana = {"principal": "ana", "cwt_subject": "ana", "audience": "all", "roles": ["auditor"]}
    file = tmp_path_factory.mktemp("runtime") / "runtime.json"
    file.write_text(
        json.dumps(
            {
                "format": configuration.FORMAT,
                "spaces": {
                    space: configured(
                        ana,
                        {"principal": "eve", "cwt_subject": "eve", "audience": "all"},
                        {
                            "principal": "bot",
                            "space_token_digest": digest_bytes(bots["bot"].encode()),
                            "audience": [ids[0]],
                        },
                    ),
                    other: configured(ana),
                    public: configured(ana),
                },
            }
        )
    )
    env = {"ED25519_PUBKEYS": PUBLIC, "BRAIN_RUNTIME_CONFIG": str(file)}
    with running_api(_services, env) as api:
        made = World(api, space, other, public, file, dict(bots), ids)
        made.tokens |= {name: token(name, "*") for name in ("ana", "eve", "stranger")}
        made.tokens["ana reads"] = token("ana", space, "read")
        yield made


def test_mis_39_three_pages_cover_45_wakes_once_each_and_claim_nothing(world: World) -> None:
    pages = world.walk("ana")
    assert [len(page) for page in pages] == [20, 20, 5]
    assert {item["watch_ref"] for page in pages for item in page} == set(world.watches)
    assert len({item["id"] for page in pages for item in page}) == 45
    assert world.walk("ana") == pages == world.walk("eve")
    first = pages[0][0]
    assert first["state"] == "pending"
    assert first["summary"].startswith("Rent changed")
    assert first["fire_activity_ref"].startswith("X-")
    assert digest_bytes(first["wake_ref"].encode()) == f"sha256:{first['id']}"


def test_mis_39_a_caller_sees_its_audience_and_no_hint_of_more(world: World) -> None:
    answer = world.get("/attention?limit=20", "bot").json()["result"]
    assert [item["watch_ref"] for item in answer["items"]] == [world.watches[0]]
    assert (answer["complete"], answer["next_cursor"]) == (True, None)
    status = world.get("/runtime/status", "bot").json()["result"]
    assert (status["visible_items"], status["inventory_complete"]) == (1, True)


def test_mis_39_only_mapped_credentials_are_let_in(world: World) -> None:
    assert world.get("/attention", None).status_code == 401
    assert world.get("/attention", None, world.public).status_code == 401
    assert world.get("/runtime/status", None, world.public).status_code == 401
    for caller in ("stranger", "reader"):
        assert world.get("/attention", caller).status_code == 403
        assert world.get("/runtime/status", caller).status_code == 403
    wake = world.walk("ana")[0][0]["id"]
    statement = {"kind": "agent_statement", "event_key": "k", "statement": "done"}
    assert world.respond(wake, "ana reads", **statement).status_code == 403
    assert world.respond(wake, "reader", **statement).status_code == 403


def test_mis_39_a_token_minted_anew_under_the_same_name_inherits_nothing(world: World) -> None:
    old = world.tokens["bot"]
    with process_database().transaction(world.scope) as tx:
        space_tokens.revoke(tx, world.scope, name="bot")
        world.tokens["bot again"], _ = space_tokens.add(
            tx, world.scope, name="bot", token_scope="*"
        )
    try:
        assert world.get("/attention", "bot again").status_code == 403
        assert world.get("/attention", "bot").status_code == 401
    finally:
        with process_database().transaction(world.scope) as tx:
            space_tokens.revoke(tx, world.scope, name="bot")
            tx.execute(
                "insert into space_token (space_id, name, hash, shown, scope)"
                " values (%s, 'bot', sha256(convert_to(%s, 'UTF8')), 'ST', '*')",
                (world.space, old),
            )


def test_mis_39_a_cursor_is_good_for_its_caller_space_configuration_and_five_minutes(
    world: World, services: Services, tmp_path: Path
) -> None:
    cursor = world.get("/attention?limit=20", "ana").json()["result"]["next_cursor"]
    runtime = configuration.of_space(world.config, world.space)
    assert runtime is not None
    with process_database().transaction(world.scope) as tx:
        space = spaces.get(tx, world.scope)
    bound = ["attention", world.space, callers.instance_of(space), runtime.digest, "ana"]
    at, last = to_millis(now()), [space.head_seq, 1, ""]
    fresh, old = seal(bound, [at + 9_000, *last]), seal(bound, [at - 1, *last])
    flipped = cursor[:30] + ("A" if cursor[30] != "A" else "B") + cursor[31:]
    assert world.get(f"/attention?cursor={fresh}", "ana").status_code == 200
    refused = [
        world.get(f"/attention?cursor={cursor}", "eve"),
        world.get(f"/attention?cursor={cursor}", "bot"),
        world.get(f"/attention?cursor={cursor}", "ana", world.other),
        world.get(f"/attention?cursor={old}", "ana"),
        world.get(f"/attention?cursor={flipped}", "ana"),
        world.get("/attention?cursor=nonsense", "ana"),
    ]
    changed = json.loads(world.config.read_text())
    changed["spaces"][world.space]["callers"].pop()
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(changed))
    env = {"ED25519_PUBKEYS": PUBLIC, "BRAIN_RUNTIME_CONFIG": str(file)}
    with running_api(services, env) as api:
        headers = {"Authorization": f"Bearer {world.tokens['ana']}"}
        path = f"/v1/{world.space}/attention"
        assert api.client.get(path, headers=headers).status_code == 200
        refused.append(api.client.get(f"{path}?cursor={cursor}", headers=headers))
    assert {answer.status_code for answer in refused} == {400}
    assert len({answer.content for answer in refused}) == 1
    assert refused[0].json()["data"]["code"] == "CursorInvalid"


def test_wakes_of_before_are_brought_in_by_the_migration(world: World, services: Services) -> None:
    rows = "select * from runtime_wake where space_id = %s order by id"
    text = Path(versions.__path__[0], "0014_runtime.sql").read_text()
    begin = text.index("alter table activity no force")
    end = text.index("alter table activity force") + len("alter table activity force row level")
    with psycopg.connect(services.admin_url) as conn:
        before = conn.execute(rows, (world.space,)).fetchall()
        conn.execute("delete from runtime_wake")
        conn.execute(text[begin:end] + " security")  # type: ignore[call-overload]
        assert conn.execute(rows, (world.space,)).fetchall() == before
        conn.rollback()
    assert len(before) >= 45


def test_a_page_is_never_larger_than_its_limits(world: World) -> None:
    assert world.get("/attention?limit=51", "ana").status_code == 400
    assert world.get("/attention?limit=0", "ana").status_code == 400
    answer = world.get("/attention?limit=50", "ana")
    assert len(answer.content) <= 256 * 1024


def test_mis_39_evidence_that_is_purged_between_pages_masks_what_rested_on_it(world: World) -> None:
    wake = world.walk("ana")[1][9]["id"]
    with process_database().transaction(world.scope) as tx:
        said = CreateEvidence("?said", "user_statement", {"content": "the rent is late"})
        made = commit(tx, world.scope, "test", ChangeSet((said,)), tx_class="test")
        evidence = made.ids["?said"]
    decision = Decision("defer", rationale="the rent is late", used_refs=(evidence,))
    gate = world.decide(wake, decision)
    page = world.get("/attention?limit=20", "ana").json()["result"]
    before = world.item(wake)
    assert before["decision"]["rationale"] == "the rent is late"
    assert (before["decision_ref"], before["reason"]) == (gate, "deferred")
    with process_database().transaction(world.scope) as tx:
        commit(tx, world.scope, "test", ChangeSet((PurgePayload(evidence),)), tx_class="test")
    second = world.get(f"/attention?limit=20&cursor={page['next_cursor']}", "ana")
    masked = second.json()["result"]["items"][9]
    assert masked["id"] == wake
    assert (masked["decision"], masked["reason"]) == (None, "evidence_unavailable")
    assert "late" not in second.text


def test_mis_39_a_clarification_answers_what_was_asked_once_and_opens_a_new_decision(
    world: World,
) -> None:
    wake = world.walk("bot")[0][0]["id"]
    gate = world.ask(wake)
    item = world.item(wake)
    assert (item["state"], item["decision_ref"]) == ("blocked", gate)
    assert item["clarification"]["question"] == ASKED
    assert item["clarification"]["recipient"] == "ana"
    body = {"kind": "clarification", "event_key": "answer-42", "answer": "tomorrow"}
    # bot sees the wake, and was not asked
    assert world.respond(wake, "bot", **body).status_code == 403
    assert world.item(wake)["state"] == "blocked"
    receipt = world.respond(wake, "ana", **body)
    assert receipt.status_code == 200
    told = receipt.json()["result"]
    assert told["status"] == "gate_opened"
    assert world.respond(wake, "ana", **body).json()["result"] == told
    other = world.respond(wake, "ana", **{**body, "answer": "on Monday"})
    assert other.status_code == 409
    with process_database().transaction(world.scope) as tx:
        kept = tx.execute(
            "select principal, body_digest from runtime_conflict"
            " where space_id = %s and event_key = 'answer-42'",
            (world.space,),
        ).fetchall()
        said = tx.execute(
            "select payload -> 'inline' from evidence where space_id = %s and id = %s",
            (world.space, told["evidence_ref"]),
        ).fetchone()
    expected = {"wake": f"sha256:{wake}", "kind": "clarification", "text": "on Monday", "by": "ana"}
    assert kept == [("ana", digest(expected))]
    assert said is not None
    assert said[0]["content"] == "tomorrow"
    assert world.item(wake)["state"] == "completed"
    children = [i for page in world.walk("ana", 50) for i in page if i["parent_id"] == wake]
    assert [(child["state"], child["decision"]) for child in children] == [("pending", None)]
    again = {**body, "event_key": "answer-43"}
    assert world.respond(wake, "ana", **again).status_code == 409


def test_mis_39_an_answer_without_an_ask_or_after_the_deadline_is_refused(world: World) -> None:
    seen = {i["id"] for i in world.walk("bot")[0]}
    quiet, late = [i["id"] for i in world.walk("ana")[0] if i["id"] not in seen][:2]
    body = {"kind": "clarification", "event_key": "late-1", "answer": "tomorrow"}
    assert world.respond(quiet, "ana", **body).status_code == 409
    gate = world.ask(late)
    with process_database().transaction(world.scope) as tx:
        tx.execute(
            "update runtime_gate set deadline = now() - interval '1 second'"
            " where space_id = %s and gate_ref = %s",
            (world.space, gate),
        )
        before = spaces.get(tx, world.scope).head_seq
    assert world.respond(late, "ana", **body).status_code == 409
    with process_database().transaction(world.scope) as tx:
        assert spaces.get(tx, world.scope).head_seq == before
    item = world.item(late)
    assert (item["state"], item["reason"]) == ("pending", "clarification_expired")
    # foreign and unknown wakes are the same
    unseen = world.respond(late, "bot", **body)
    unknown = world.respond(f"sha256:{'0' * 64}", "bot", **body)
    assert (unseen.status_code, unseen.content) == (404, unknown.content)


def test_mis_39_a_statement_is_evidence_and_an_activity_and_no_outcome(world: World) -> None:
    wake = world.walk("bot")[0][0]["id"]
    body = {"kind": "agent_statement", "event_key": "s-1", "statement": "I sent it."}
    receipt = world.respond(wake, "bot", **body).json()["result"]
    assert receipt["status"] == "recorded"
    with process_database().transaction(world.scope) as tx:
        row = tx.execute(
            "select e.evidence_class, x.activity_class, v.doc -> 'facets', n.origin"
            "  from evidence e join edge d on d.space_id = e.space_id and d.target_id = e.id"
            "   and d.field_lineage = 'outputs'"
            "  join activity x on x.space_id = d.space_id and x.id = d.source_id"
            "  join element_ver v on v.space_id = e.space_id and v.id = e.id"
            "  join element n on n.space_id = e.space_id and n.id = e.id"
            " where e.space_id = %s and e.id = %s",
            (world.space, receipt["evidence_ref"]),
        ).fetchone()
    assert row is not None
    assert row[:2] == ("agent_statement", "reflection")
    assert not row[2]
    assert row[3] == {"principal_id": "runtime:bot", "channel": "runtime"}


def test_words_that_are_erased_are_nowhere_in_the_inbox(world: World, services: Services) -> None:
    wake = world.walk("bot")[0][0]["id"]
    body = {"kind": "agent_statement", "event_key": "s-2", "statement": "the zyxqua is paid"}
    receipt = world.respond(wake, "bot", **body).json()["result"]
    assert "evidence" in tables_with(services, "zyxqua")
    with process_database().transaction(world.scope) as tx:
        elements.erase(tx, world.scope, "test", elements=(), payloads=(receipt["evidence_ref"],))
    assert tables_with(services, "zyxqua") == []
    assert world.respond(wake, "bot", **body).json()["result"] == receipt


def test_what_a_gate_says_is_evidence_and_can_be_erased_as_such(
    world: World, services: Services
) -> None:
    wake = next(i["id"] for i in world.walk("ana")[1] if i["decision_ref"] is None)
    ask = Ask("Is the qwynt really late?", "ana", now() + timedelta(hours=1))
    gate = world.decide(wake, Decision("ask", "They said the qwynt is late.", ask=ask))
    assert world.item(wake)["decision"]["rationale"] == "They said the qwynt is late."
    assert set(tables_with(services, "qwynt")).isdisjoint({"element_ver", "runtime_gate"})
    with process_database().transaction(world.scope) as tx:
        said = [edge.target for edge in state.edges_from(tx, world.scope, {gate}, ["outputs"])]
        assert len(said) == 2
        elements.erase(tx, world.scope, "test", elements=said, payloads=())
    assert tables_with(services, "qwynt") == []
    item = world.item(wake)
    assert (item["decision"], item["reason"]) == (None, "evidence_unavailable")
    assert item["clarification"]["question"] is None
    body = {"kind": "clarification", "event_key": "erased", "answer": "yes"}
    assert world.respond(wake, "ana", **body).status_code == 409


def tables_with(services: Services, word: str) -> list[str]:
    """The tables that hold a word anywhere."""
    with psycopg.connect(services.admin_url) as conn:
        names = conn.execute(
            "select relname from pg_class where relkind = 'r'"
            " and relnamespace = 'public'::regnamespace"
        ).fetchall()
        return [
            name
            for (name,) in names
            if conn.execute(
                sql.SQL("select from {} t where t::text ilike %s limit 1").format(
                    sql.Identifier(name)
                ),
                (f"%{word}%",),
            ).fetchone()
            is not None
        ]


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "agent_statement", "event_key": "é" * 129, "statement": "x"},
        {"kind": "agent_statement", "event_key": "", "statement": "x"},
        {"kind": "agent_statement", "event_key": "k", "statement": " "},
        {"kind": "agent_statement", "event_key": "k", "answer": "x"},
        {"kind": "outcome", "event_key": "k", "statement": "x"},
    ],
)
def test_a_response_of_another_shape_is_refused(world: World, body: dict[str, Any]) -> None:
    assert world.respond(f"sha256:{'0' * 64}", "ana", **body).status_code == 400


def test_the_status_says_what_is_open_and_what_is_not(world: World) -> None:
    status = world.get("/runtime/status", "ana").json()["result"]
    assert (status["supported"], status["configured"]) == (True, True)
    assert status["attention_enabled"]
    assert not status["actions_enabled"]
    assert not status["observation_enabled"]
    assert "no_action_gate" in status["blocked_reasons"]
    assert status["learning"]["blocked_reasons"] == ["no_learning_controller"]
    assert status["scope"]["space_instance"].startswith("sha256:")


def test_the_status_tells_of_runtimes_that_are_not_installed_in_their_whole_shape(
    world: World,
) -> None:
    off = dict.fromkeys(("configured", "automatic", "running"), False)
    learning = dict.fromkeys(
        (
            "compiled",
            "registered",
            "registration_enabled",
            "bindings_ready",
            "automatic_allowed",
            "running",
        ),
        False,
    )
    expected = {
        "utility": {
            **off,
            **dict.fromkeys(("apply", "calibrated", "ranking"), False),
            "reason": "utility_runtime_not_installed",
        },
        "learning": {
            **learning,
            "automation": dict.fromkeys(("trials", "reviews", "archive", "safety"), False),
            "blocked_reasons": ["no_learning_controller"],
            "capacity": None,
            "last_pass": None,
        },
        "semantic_attention": {
            **off,
            "pin": None,
            "reason": "semantic_evaluator_not_installed",
            "last_pass": None,
        },
        "trust": {
            **off,
            **dict.fromkeys(
                ("apply", "automatic_apply", "calibrated", "governor_authorized"), False
            ),
            "reason": "trust_runtime_not_installed",
        },
    }
    # the auditor, and one who is none
    for caller in ("ana", "eve"):
        status = world.get("/runtime/status", caller).json()["result"]
        RuntimeStatus.model_validate(status)
        assert {name: status[name] for name in expected} == expected


def test_the_status_of_a_space_without_a_configuration_needs_a_real_credential_all_the_same(
    world: World,
) -> None:
    space = f"rt_{uuid.uuid4().hex[:12]}"
    with process_database().transaction(Scope(space)) as tx:
        spaces.create(tx, Scope(space), owner="user:ana")
        spaces.update(tx, Scope(space), public=True)
    assert world.get("/runtime/status", None, space).status_code == 401
    status = world.get("/runtime/status", "stranger", space).json()["result"]
    assert (status["configured"], status["scope"]) == (False, None)
    assert (status["attention_enabled"], status["visible_items"]) == (False, 0)
    assert "runtime_not_configured" in status["blocked_reasons"]
    assert world.get("/attention", "stranger", space).status_code == 404


def test_without_keys_nobody_is_let_in_who_brings_no_credential(
    shared_api: Api, space: str
) -> None:
    wake = f"sha256:{'0' * 64}"
    client = shared_api.client
    for headers in ({}, {"Authorization": f"Bearer {token('ana', space)}"}):
        assert client.get(f"/v1/{space}/attention", headers=headers).status_code == 401
        assert client.get(f"/v1/{space}/runtime/status", headers=headers).status_code == 401
        said = {"kind": "agent_statement", "event_key": "k", "statement": "x"}
        path = f"/v1/{space}/attention/{wake}/responses"
        assert client.post(path, json=said, headers=headers).status_code == 401
        path = f"/v1/{space}/outcomes"
        assert client.post(path, json={}, headers=headers).status_code == 401


def test_without_keys_a_mapped_space_token_reads_and_answers_and_measures_nothing(
    services: Services, tmp_path: Path
) -> None:
    database, space = process_database(), f"rt_{uuid.uuid4().hex[:12]}"
    scope = Scope(space)
    fired(database, scope, 2)
    with database.transaction(scope) as tx:
        value, _ = space_tokens.add(tx, scope, name="bot", token_scope="*")
        other, _ = space_tokens.add(tx, scope, name="other", token_scope="*")
    mapping = {
        "principal": "bot",
        "space_token_digest": digest_bytes(value.encode()),
        "audience": "all",
    }
    file = tmp_path / "runtime.json"
    file.write_text(
        json.dumps({"format": configuration.FORMAT, "spaces": {space: configured(mapping)}})
    )
    with running_api(services, {"BRAIN_RUNTIME_CONFIG": str(file)}) as api:
        bot, stranger = ({"Authorization": f"Bearer {one}"} for one in (value, other))
        page = api.client.get(f"/v1/{space}/attention", headers=bot).json()["result"]
        assert len(page["items"]) == 2
        path = f"/v1/{space}/attention/{page['items'][0]['id']}/responses"
        said = {"kind": "agent_statement", "event_key": "k", "statement": "Done."}
        assert api.client.post(path, headers=bot, json=said).status_code == 200
        status = api.client.get(f"/v1/{space}/runtime/status", headers=bot).json()["result"]
        assert status["attention_enabled"]
        assert not status["observation_enabled"]
        assert "no_keys_for_observers" in status["blocked_reasons"]
        assert api.client.post(f"/v1/{space}/outcomes", headers=bot, json={}).status_code == 401
        assert api.client.get(f"/v1/{space}/attention", headers=stranger).status_code == 403
        assert api.client.get(f"/v1/{space}/attention").status_code == 401
        with database.transaction(scope) as tx:
            space_tokens.revoke(tx, scope, name="bot")
        assert api.client.get(f"/v1/{space}/attention", headers=bot).status_code == 401
        assert api.client.post(path, headers=bot, json=said).status_code == 401


def test_a_configuration_that_is_wrong_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "wrong.json"
    twice = {"principal": "a", "cwt_subject": "s", "audience": "all"}
    for text in ("{", '{"format": "x", "spaces": {}}'):
        file.write_text(text)
        with pytest.raises(ValueError, match="BRAIN_RUNTIME_CONFIG"):
            configuration.read(file)
    for callers_ in (
        [twice, {**twice, "principal": "b"}],
        [twice, {**twice, "cwt_subject": "t"}],
        [{**twice, "space_token_digest": f"sha256:{'0' * 64}"}],
        [{"principal": "a", "audience": "all"}],
        [
            {
                "principal": "a",
                "space_token_digest": f"sha256:{'0' * 64}",
                "audience": "all",
                "roles": ["record_outcome"],
            }
        ],
    ):
        whole = {"format": configuration.FORMAT, "spaces": {"s": configured(*callers_)}}
        file.write_text(json.dumps(whole))
        with pytest.raises(ValueError, match="BRAIN_RUNTIME_CONFIG, spaces"):
            configuration.read(file)
