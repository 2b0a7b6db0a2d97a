"""The model that a space brings itself: who reads it, where its key never is, and that it works."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg import sql

from pipelines.formation.prompts import INSTRUCTIONS
from storage import byok, settings, spaces
from storage.byok import ByokUnreadable
from storage.credentials import cwt, space_tokens
from storage.database import Database, Scope
from storage.model_config import ModelConfig
from tests.providers import Answer, Provider, Status
from tests.services import Api, Process, Services, running_api, wait_for

SIGNING, PUBLIC = cwt.new_key()
KEY = "sk-own-7f3e9c-of-the-space"
EMPTY = Answer(
    {"claims": [], "retractions": [], "commitments": [], "constraints": [], "summary": ""}
)
CONFIG = {
    "family": "anthropic",
    "model": "m-1",
    "api_base": "https://models.test",
    "api_key": KEY,
    "effort": "low",
    "bearer_auth": True,
    "context_window": 128_000,
    "max_output": 384_000,
    "max_output_of_another_version": 1,
}


def bearer(space_id: str, scope: str = "*", subject: str = "ana") -> dict[str, str]:
    value = cwt.mint(
        SIGNING, subject=subject, audience=space_id, scope=scope, seconds=600, at=time.time()
    )
    return {"Authorization": f"Bearer {value}"}


@pytest.fixture(scope="module")
def keyed_api(_services: Services) -> Iterator[Api]:
    """An API that asks for credentials and lets spaces name models on this machine."""
    env = {"ED25519_PUBKEYS": PUBLIC, "BRAINSTEM_BYOK_PRIVATE": "true"}
    with running_api(_services, env) as api:
        yield api


def path(space_id: str) -> str:
    return f"/v1/{space_id}/management/space_byok"


def own(provider: Provider, **more: Any) -> dict[str, Any]:
    """A model of the space that is the scripted provider."""
    return {
        "family": "openai",
        "model": "own-1",
        "api_base": f"{provider.url}/v1",
        "api_key": KEY,
        **more,
    }


def put(api: Api, space_id: str, body: Any) -> httpx2.Response:
    return api.client.patch(path(space_id), headers=bearer(space_id), json=body)


def test_a_space_has_no_model_of_its_own_until_one_is_set(keyed_api: Api, space: str) -> None:
    headers = bearer(space)
    assert keyed_api.client.get(path(space), headers=headers).json() == {"result": None}
    assert put(keyed_api, space, CONFIG).json() == {"result": True}
    told = keyed_api.client.get(path(space), headers=headers)
    known = {name: CONFIG[name] for name in CONFIG if name != "max_output_of_another_version"}
    assert told.json()["result"] == {**known, "disabled": False, "stream": False}
    assert told.headers["Cache-Control"] == "no-store"


def test_setting_it_again_takes_its_place_whole(keyed_api: Api, space: str) -> None:
    put(keyed_api, space, CONFIG)
    other = {"family": "mimo", "model": "m-2", "api_base": "", "api_key": "", "disabled": True}
    assert put(keyed_api, space, other).status_code == 200
    told = keyed_api.client.get(path(space), headers=bearer(space)).json()["result"]
    assert told == {**other, "bearer_auth": False, "stream": False}


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {**CONFIG, "family": " "},
        {**CONFIG, "model": None},
        {**CONFIG, "api_key": [KEY]},
        {**CONFIG, "api_base": f"https://{KEY}@models.test"},
        {**CONFIG, "api_base": f"gopher://models.test/{KEY}"},
        {**CONFIG, "effort": KEY},
        {**CONFIG, "stream": KEY},
        {**CONFIG, "context_window": -1},
        {**CONFIG, "max_output": 1.5},
        {**CONFIG, "family": "elsewhere", "api_base": ""},
    ],
)
def test_a_wrong_model_is_refused_without_a_word_of_it(
    keyed_api: Api, space: str, body: Any
) -> None:
    refused = put(keyed_api, space, body)
    assert refused.status_code == 400
    assert refused.json()["data"]["code"] == "invalid_input"
    assert KEY not in refused.text
    assert keyed_api.client.get(path(space), headers=bearer(space)).json() == {"result": None}


def test_only_management_reads_or_sets_it(keyed_api: Api, space: str, database: Database) -> None:
    put(keyed_api, space, CONFIG)
    scope = Scope(space)
    with database.transaction(scope) as tx:
        spaces.update(tx, scope, public=True)
        everything, _ = space_tokens.add(tx, scope, name="all", token_scope="*")
    callers: dict[int, list[dict[str, str]]] = {
        401: [{}, {"Authorization": "Bearer nonsense"}],
        403: [
            {"Authorization": f"Bearer {everything}"},
            bearer(space, "read"),
            bearer("another_space"),
        ],
    }
    for status, headers in callers.items():
        for each in headers:
            for method in ("GET", "PATCH"):
                body = {"json": CONFIG} if method == "PATCH" else {}
                asked = keyed_api.client.request(method, path(space), headers=each, **body)
                assert asked.status_code == status
                assert KEY not in asked.text


def test_where_callers_are_strangers_they_may_not_point_the_server_at_its_own_network(
    services: Services, space: str, database: Database
) -> None:
    with running_api(services, {"ED25519_PUBKEYS": PUBLIC}) as api:
        for base in ("http://models.test", "https://127.0.0.1:5432", "https://[::1]", "https://db"):
            refused = put(api, space, {**CONFIG, "api_base": base})
            assert (refused.status_code, refused.json()["data"]["field"]) == (400, "api_base")
        assert put(api, space, CONFIG).status_code == 200
    with database.transaction(Scope(space)) as tx:
        found = byok.find(tx, Scope(space))
    assert found is not None
    assert found.guarded


def everywhere(services: Services) -> Iterator[tuple[str, str]]:
    """Every table's rows, every value in Valkey, and every log, as text."""
    with psycopg.connect(services.admin_url) as conn:
        tables = conn.execute(
            "select relname from pg_class where relkind in ('r', 'p')"
            " and relnamespace = 'public'::regnamespace"
        ).fetchall()
        for (name,) in tables:
            query = sql.SQL("select coalesce(string_agg(t::text, chr(10)), '') from {} t")
            row = conn.execute(query.format(sql.Identifier(name))).fetchone()
            assert row is not None
            yield name, row[0]
    with services.redis() as client:
        for key in client.keys("*"):
            kind = client.type(key)
            if kind in (b"string", b"list", b"hash", b"zset", b"set"):
                read = {
                    b"string": lambda k: client.get(k),
                    b"list": lambda k: client.lrange(k, 0, -1),
                    b"hash": lambda k: client.hgetall(k),
                    b"zset": lambda k: client.zrange(k, 0, -1),
                    b"set": lambda k: client.smembers(k),
                }[kind]
                yield key.decode(), str(read(key))
    for file in services.data.rglob("*.log*"):
        yield file.name, file.read_text(errors="replace")


def run(
    api: Api, space_id: str, text: str = "I live in Utrecht.", *, seconds: float = 60.0
) -> dict[str, Any]:
    """Form a message and wait for its job's end."""
    said = {"messages": [{"role": "user", "name": "Ana", "content": text}]}
    made = api.client.post(f"/v1/{space_id}/formation", headers=bearer(space_id), json=said)
    number = made.json()["result"]["job"]

    def job() -> dict[str, Any]:
        found = api.client.get(f"/v1/{space_id}/jobs/{number}", headers=bearer(space_id))
        return dict(found.json()["result"])

    wait_for(
        lambda: job()["state"] in ("succeeded", "failed"), seconds=seconds, what="the job's end"
    )
    return job()


def usage(api: Api, space_id: str) -> dict[str, int]:
    told = api.client.get(f"/v1/{space_id}/info", headers=bearer(space_id)).json()["result"]
    return dict(told["formation_usage"])


def test_a_run_uses_the_spaces_own_model_and_its_key_is_kept_nowhere_else(
    keyed_api: Api,
    space: str,
    services: Services,
    worker: Callable[..., Process],
    provider: Provider,
) -> None:
    provider.otherwise = EMPTY
    put(keyed_api, space, own(provider))
    worker(queues="memory", threads=1)
    assert run(keyed_api, space)["state"] == "succeeded"
    assert {(asked.key, asked.model) for asked in provider.requests} == {(KEY, "own-1")}
    requests = len(provider.requests)
    assert usage(keyed_api, space) == {
        "input_tokens": 120 * requests,
        "output_tokens": 30 * requests,
        "cached_tokens": 40 * requests,
        "requests": requests,
    }
    found = [name for name, text in everywhere(services) if KEY in text]
    assert found == []


def test_the_spaces_own_model_goes_before_the_servers_unless_it_is_disabled(
    keyed_api: Api,
    space: str,
    worker: Callable[..., Process],
    provider: Provider,
    tmp_path: Path,
) -> None:
    provider.otherwise = EMPTY
    segment = "# A. Our house\nThe office is called the barn."
    (tmp_path / "formation.md").write_text(segment)
    worker(
        queues="memory",
        threads=1,
        env={
            "BRAINSTEM_MODEL_FAMILY": "openai",
            "BRAINSTEM_MODEL_NAME": "ours-1",
            "BRAINSTEM_MODEL_API_BASE": f"{provider.url}/v1",
            "BRAINSTEM_MODEL_API_KEY": "sk-of-the-server",
            "BRAINSTEM_PROMPTS": str(tmp_path),
        },
    )
    asked = []
    for config in (None, own(provider), own(provider, disabled=True)):
        if config is not None:
            put(keyed_api, space, config)
        before = len(provider.requests)
        assert run(keyed_api, space, f"I own {before + 2} cats.")["state"] == "succeeded"
        asked.append({(one.model, one.key) for one in provider.requests[before:]})
    server = {("ours-1", "sk-of-the-server")}
    assert asked == [server, {("own-1", KEY)}, server]
    for one in provider.requests:
        # what the deployment adds comes after ours, whoever's model it is
        ours, _, _ = one.text.partition(segment)
        assert INSTRUCTIONS.strip() in ours
        assert segment in one.text


def test_each_attempt_is_charged_once_and_a_providers_words_reach_nobody(
    keyed_api: Api,
    space: str,
    services: Services,
    worker: Callable[..., Process],
    provider: Provider,
) -> None:
    words = f"quota of account {uuid.uuid4().hex}"
    # two answers that cannot be used are one attempt, which costs two requests; then one is refused
    provider.script(Answer({"claims": 7}), Answer({"claims": 7}), Status(400, message=words))
    put(keyed_api, space, own(provider))
    process = worker(queues="memory", threads=1, env={"BRAINSTEM_RETRY_BASE_SECONDS": "0"})
    job = run(keyed_api, space)
    assert (job["state"], job["error"]["code"]) == ("failed", "model_rejected")
    assert len(provider.requests) == 3
    assert usage(keyed_api, space)["requests"] == 2
    assert usage(keyed_api, space)["input_tokens"] == 240
    number = job["payload"]["conversation"]
    record = keyed_api.client.get(f"/v1/{space}/conversations/{number}", headers=bearer(space)).text
    assert words not in str(job)
    assert words not in record
    told = [name for name, text in everywhere(services) if words in text]
    assert [name for name in told if not name.startswith("worker")] == []
    assert KEY not in process.output


def test_what_is_sealed_opens_for_its_space_and_under_its_key_only(
    space: str, database: Database, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ModelConfig.from_mapping(CONFIG)
    scope, other = Scope(space), Scope(f"{space}_other")
    with database.transaction(scope) as tx:
        byok.put(tx, scope, config)
    with database.transaction(other) as tx:
        spaces.create(tx, other, owner="bea")
        assert byok.find(tx, other) is None
    with psycopg.connect(services.admin_url) as conn:
        copied = "insert into space_byok select %s, sealed from space_byok where space_id = %s"
        conn.execute(copied, (other.space_id, space))
    with database.transaction(scope) as tx:
        assert byok.find(tx, scope) == config
    with database.transaction(other) as tx, pytest.raises(ByokUnreadable):
        byok.find(tx, other)
    monkeypatch.setenv("BRAINSTEM_SECRET_KEY", "another")
    settings.reload()
    try:
        with database.transaction(scope) as tx, pytest.raises(ByokUnreadable):
            byok.find(tx, scope)
        with database.transaction(scope) as tx:
            byok.put(tx, scope, config)
            assert byok.find(tx, scope) == config
    finally:
        monkeypatch.undo()
        settings.reload()


def test_a_model_that_cannot_be_opened_is_told_and_can_be_set_again(
    keyed_api: Api, space: str, services: Services
) -> None:
    put(keyed_api, space, CONFIG)
    with psycopg.connect(services.admin_url) as conn:
        conn.execute("update space_byok set sealed = 'AAAA' where space_id = %s", (space,))
    told = keyed_api.client.get(path(space), headers=bearer(space))
    assert (told.status_code, told.json()["data"]["code"]) == (503, "byok_unreadable")
    assert put(keyed_api, space, CONFIG).status_code == 200
    assert keyed_api.client.get(path(space), headers=bearer(space)).status_code == 200
