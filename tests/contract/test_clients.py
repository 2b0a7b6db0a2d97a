"""What clients of Anda Brain send, and what they could not read an answer without.

Told in our own words from how public clients behave: a TypeScript plugin that forms and recalls, a
Go command line, a Rust bot with strict decoders, and scripts around curl. Types say what may be
sent; clients have habits: nulls for what is absent, zeros for what is not set, a context that is
itself JSON in a string, old names of members.
"""

from __future__ import annotations

import base64
import contextlib
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from storage import spaces
from storage.credentials import cwt
from storage.database import Database, Scope
from tests.services import Api, Process, Services, running_api, wait_for
from tests.unit.api.calling import claim, finish, new_client

SIGNING, PUBLIC = cwt.new_key()
#: A subject as clients of the Internet Computer have it: the text of a principal.
SUBJECT = "2vxsx-fae"
JSON = {"Content-Type": "application/json", "Accept": "application/json"}


def principal(text: str) -> bytes:
    """The bytes of a principal's text; raises where it is none (its checksum comes first)."""
    plain = text.replace("-", "").upper()
    data = base64.b32decode(plain + "=" * (-len(plain) % 8))
    assert zlib.crc32(data[4:]).to_bytes(4, "big") == data[:4], text
    return data[4:]


@pytest.fixture
def client(database: Database) -> Any:
    """The API in this process, without keys."""
    return new_client()


def kept(client: Any, space: str, made: Any, collection: str = "formation") -> Any:
    """The record of a run."""
    path = f"/v1/{space}/conversations/{made['conversation']}?collection={collection}"
    response = client.get(path)
    assert response.status_code == 200, response.text
    return response.json["result"]


def form(client: Any, space: str, **body: Any) -> Any:
    """The answer to a formation that is accepted."""
    body.setdefault("messages", [{"role": "user", "content": "I live in Utrecht."}])
    response = client.post(f"/v1/{space}/formation", json=body)
    assert response.status_code == 200, response.text
    return response.json["result"]


def ask(client: Any, space: str, **body: Any) -> Any:
    """The answer to a question that nobody waits for."""
    response = client.post(f"/v1/{space}/recall", json=body, headers={"Prefer": "respond-async"})
    assert response.status_code == 202, response.text
    return response.json["result"]


# what is sent


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("formation", {"context": None, "timestamp": None}),
        ("recall", {"query": "Where?", "context": None, "budget": None}),
        ("recall_structured", {"query": "Where?", "context": None, "budget": None}),
        ("maintenance", {"trigger": "scheduled", "scope": "quick", "parameters": None}),
        ("maintenance", {"timestamp": None, "formation_id": 0}),
        ("get_or_init_user", {"user": "ana-1", "name": None}),
        ("probe", {"query": "Utrecht"}),
        ("memory/pin", {"entity": "C-1", "pinned": True}),
        ("memory/forget", {"entities": ["C-999999"], "dry_run": False}),
    ],
)
def test_null_stands_for_an_absent_member(client: Any, space: str, route: str, body: Any) -> None:
    if route == "formation":
        messages = [
            {"role": "user", "content": "I live in Utrecht.", "name": None, "timestamp": None}
        ]
        body = {**body, "messages": messages}
    if route == "memory/pin":
        client.post(f"/v1/{space}/get_or_init_user", json={"user": "ana-1"})
    headers = {"Prefer": "respond-async"}
    response = client.post(f"/v1/{space}/{route}", json=body, headers=headers)
    assert response.status_code in (200, 202), response.text


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ('{"counterparty": "ana-1", "topic": "home"}', {"counterparty": "ana-1", "topic": "home"}),
        ('"{\\"counterparty\\": \\"ana-1\\"}"', {"counterparty": "ana-1"}),
        ("{}", None),
        ("null", None),
        (" ", None),
        ({"user": "ana-1", "agent": "bot"}, {"counterparty": "ana-1", "agent": "bot"}),
        ('{"user": "ana-1"}', {"counterparty": "ana-1"}),
        ({"counterparty": "ana-1", "user": "someone"}, {"counterparty": "ana-1"}),
        ({"counterparty": None, "agent": None, "source": None, "topic": None}, None),
    ],
)
def test_a_context_may_be_json_in_a_text_and_use_the_old_name_of_the_counterparty(
    client: Any, space: str, given: Any, meant: Any
) -> None:
    asked = ask(client, space, query="Where do I live?", context=given)
    assert kept(client, space, asked, "recall")["extra"].get("context") == meant
    made = form(client, space, context=given)
    assert kept(client, space, made)["extra"].get("context") == meant


@pytest.mark.parametrize("given", ["ana", "[]", '"ana"', "{", 7, ["ana"], '{"topic": 7}'])
def test_a_context_that_is_no_object_is_refused(client: Any, space: str, given: Any) -> None:
    said = {"messages": [{"role": "user", "content": "x"}], "query": "Where?"}
    for route in ("recall", "formation"):
        body = {**said, "context": given}
        response = client.post(f"/v1/{space}/{route}", json=body)
        assert response.status_code == 400, response.text
        assert response.json["data"]["field"].startswith("context")


@pytest.mark.parametrize("empty", [{"content": None}, {}, {"content": []}, {"content": ""}])
def test_a_message_without_content_keeps_its_place_among_others(
    client: Any, space: str, empty: Any
) -> None:
    """An assistant that only calls a tool says nothing; its calls are carried along."""
    calls = [{"id": "c-1", "type": "function", "function": {"name": "find", "arguments": "{}"}}]
    said = {"role": "user", "content": "I live in Utrecht."}
    made = form(client, space, messages=[said, {"role": "assistant", "tool_calls": calls, **empty}])
    first, second = kept(client, space, made)["messages"]
    assert first == said
    assert second["tool_calls"] == calls
    assert second["content"] in ([], "")
    body = {"messages": [said, {"role": "assistant", **empty}], "idempotency_key": "k"}
    staged = client.post(f"/v1/{space}/memory/sources", json=body)
    assert staged.status_code == 200, staged.text


@pytest.mark.parametrize("empty", [{"content": None}, {}])
def test_content_that_is_absent_is_no_text(client: Any, space: str, empty: Any) -> None:
    body = {"messages": [{"role": "user", **empty}]}
    response = client.post(f"/v1/{space}/formation", json=body)
    assert response.status_code == 400
    assert response.json["data"]["field"] == "messages"


def test_old_names_of_maintenance_parameters_are_understood(client: Any, space: str) -> None:
    old = {
        "stale_event_threshold_days": 14,
        "confidence_decay_factor": 0.95,
        "unsorted_max_backlog": 20,
        "orphan_max_count": 5,
    }
    body = {"scope": "full", "timestamp": "2026-01-01T00:00:00Z", "parameters": old}
    response = client.post(f"/v1/{space}/maintenance", json=body)
    assert response.status_code == 200, response.text
    record = kept(client, space, response.json["result"], "maintenance")
    assert record["extra"]["parameters"]["unconsolidated_max_backlog"] == 20


@pytest.mark.parametrize(
    "body",
    [
        "DESCRIBE PRIMER",
        {"command": "DESCRIBE PRIMER"},
        {"command": "DESCRIBE PRIMER", "dry_run": False, "parameters": {}},
        {"operations": [{"command": "DESCRIBE PRIMER"}]},
        {"operations": [{"op_id": "a", "language": "META", "command": "DESCRIBE PRIMER"}]},
        {"operations": ["DESCRIBE PRIMER"], "execution": {"mode": "independent"}},
        {"commands": ["DESCRIBE PRIMER"]},
        {"commands": [{"command": "DESCRIBE PRIMER", "parameters": {}}]},
    ],
)
def test_a_kip_request_in_any_shape_that_clients_write_is_one_result(
    client: Any, space: str, body: Any
) -> None:
    response = client.post(f"/v1/{space}/execute_kip_readonly", json=body)
    assert response.status_code == 200
    told = response.json
    assert (told["kip"], told["status"]) == ("2.0", "succeeded")
    [result] = told["results"]
    assert result["status"] == "succeeded"
    assert result["result"]
    assert "error" not in told
    assert "error" not in result


def test_a_profile_is_looked_up_by_its_key(client: Any, space: str) -> None:
    client.post(f"/v1/{space}/get_or_init_user", json={"user": "ana-1", "name": "Ana"})
    command = 'FIND(?p) WHERE {?p CONCEPT {type: "Person", key: :key}} LIMIT 1'

    def find(key: str) -> Any:
        body = {"operations": [{"command": command}], "parameters": {"key": key}}
        told = client.post(f"/v1/{space}/execute_kip_readonly", json=body).json
        assert told["status"] == "succeeded", told
        return told["results"][0]["result"]

    [person] = find("person:ana-1")
    assert person["name"] == "Ana"
    assert find("person:nobody") == []


@pytest.mark.parametrize(
    ("accept", "answered"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/json, text/plain, */*", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json"),
        ("application/cbor", "application/cbor"),
        ("text/markdown", "text/markdown"),
        ("text/markdown; charset=utf-8", "text/markdown"),
        ("image/webp", "application/json"),
    ],
)
def test_the_format_of_an_answer_is_what_a_client_likes(
    client: Any, space: str, accept: str | None, answered: str
) -> None:
    headers = {} if accept is None else {"Accept": accept}
    response = client.get(f"/v1/{space}/formation_status", headers=headers)
    assert response.status_code == 200
    assert response.mimetype == answered


@pytest.mark.parametrize("media", ["application/json", "application/json; charset=utf-8"])
def test_a_charset_and_a_shard_of_zero_change_nothing(client: Any, space: str, media: str) -> None:
    headers = {"Content-Type": media, "Accept": "application/json", "Shard-Id": "0"}
    response = client.post(f"/v1/{space}/probe", data=b'{"query": "x"}', headers=headers)
    assert response.status_code == 200, response.text


def test_a_path_may_be_escaped_and_end_in_an_empty_query(client: Any, database: Database) -> None:
    name = f"client.{uuid.uuid4().hex[:8]}"
    with database.transaction(Scope(name)) as tx:
        spaces.create(tx, Scope(name), owner="ana")
    escaped = name.replace(".", "%2E").replace("c", "%63", 1)
    for path in (f"/v1/{escaped}/info", f"/v1/{name}/conversations?", f"/v1/{name}/info?"):
        assert client.get(path).status_code == 200, path


def test_an_empty_scope_is_none(client: Any, space: str, worker: Callable[..., Process]) -> None:
    worker(threads=1)
    body = {
        "kip_memory": "2.0",
        "operation": "recall",
        "scope": {},
        "input": {"mode": "attention", "attention_cursor": "attention:start"},
    }
    told = client.post(f"/v1/{space}/memory", json=body).json
    assert told["status"] == "succeeded", told
    assert told["result"]["coverage"]["pending_receipts"] == []
    assert told["result"]["attention"] == []


# what is read


def test_every_accepted_run_has_content_and_usage(client: Any, space: str) -> None:
    """Strict decoders have no default for either."""
    formed = form(client, space)
    asked = ask(client, space, query="Where?")
    kept_house = client.post(f"/v1/{space}/maintenance", json={}).json["result"]
    for told in (formed, asked, kept_house):
        assert isinstance(told["content"], str)
        assert set(told["usage"]) == {"input_tokens", "output_tokens", "cached_tokens", "requests"}
        assert isinstance(told["conversation"], int)


@pytest.mark.parametrize("route", ["recall", "recall_structured"])
def test_an_answer_that_is_not_ready_is_not_taken_for_an_empty_one(
    client: Any, space: str, route: str
) -> None:
    """Any 2xx is an answer to clients that know no 202; all of them look at `failed_reason`."""
    headers = {"Prefer": "respond-async"}
    response = client.post(f"/v1/{space}/{route}", json={"query": "Where?"}, headers=headers)
    assert response.status_code == 202
    told = response.json["result"]
    assert told["job"] in told["failed_reason"]
    assert response.headers["Location"] in told["failed_reason"]


def test_an_answer_has_no_null_for_what_it_has_not(client: Any, space: str) -> None:
    headers = {"Prefer": "respond-async", "Idempotency-Key": "q"}
    path = f"/v1/{space}/recall"
    made = client.post(path, json={"query": "Where?"}, headers=headers).json["result"]
    claim(space, made["job"])
    result = {"content": "Utrecht.", "found": True, "model": None, "failed_reason": None}
    finish(space, made["job"], result=result)
    told = client.post(path, json={"query": "Where?"}, headers=headers).json["result"]
    assert told["content"] == "Utrecht."
    assert [name for name, value in told.items() if value is None] == []


def test_a_person_has_no_null_for_a_retention_without_end(client: Any, space: str) -> None:
    response = client.post(f"/v1/{space}/get_or_init_user", json={"user": "ana-1"})
    told = response.json["result"]
    assert told["kind"] == "concept"
    assert told["retention"] == {"legal_hold": False}


def test_the_user_of_a_record_is_a_principal_and_its_artifacts_are_resources(
    client: Any, space: str, worker: Callable[..., Process]
) -> None:
    """As a strict decoder reads them: `user` has a checksum, and a resource its three members."""
    worker(threads=1)
    made = form(client, space)
    wait_for(lambda: kept(client, space, made)["status"] == "completed", what="the formation")
    record = kept(client, space, made)
    assert principal(record["user"]) is not None
    assert record["caller"] == "anonymous"
    assert record["artifacts"]
    path = f"/v1/{space}/conversations/{made['conversation']}/delta"
    delta = client.get(path).json["result"]
    assert delta["artifacts"] == record["artifacts"]
    for number, artifact in enumerate(record["artifacts"], 1):
        assert (artifact["_id"], artifact["name"]) == (number, "memory")
        assert artifact["tags"] == ["formation"]
        typed = {"description", "uri", "mime_type", "blob", "size", "hash", "metadata"}
        assert not typed & set(artifact)


# with credentials


@pytest.fixture(scope="module")
def keyed(_services: Services) -> Iterator[Api]:
    """A server with keys, whose manager is `SUBJECT`."""
    env = {"ED25519_PUBKEYS": PUBLIC, "MANAGERS": SUBJECT, "BRAINSTEM_BYOK_PRIVATE": "true"}
    with running_api(_services, env) as api:
        yield api


class Owner:
    """The caller with a signed token of a space of its own."""

    def __init__(self, api: Api) -> None:
        self.api, self.space = api, f"own_{uuid.uuid4().hex[:12]}"
        self.token = cwt.mint(
            SIGNING, subject=SUBJECT, audience="*", scope="*", seconds=3600, at=time.time()
        )
        body = {"user": SUBJECT, "space_id": self.space, "tier": 0}
        assert self.send("POST", "/admin/create_space", body).status_code == 200

    def send(
        self, method: str, path: str, body: Any = None, token: str | None = None
    ) -> httpx2.Response:
        """A response; paths of the space begin with `~`."""
        headers = {**JSON, "Authorization": f"Bearer {token or self.token}"}
        path = path.replace("~", f"/v1/{self.space}")
        options = {} if body is None else {"json": body}
        return self.api.client.request(method, path, headers=headers, **options)

    def made(self, name: str, scope: str = "*") -> str:
        """The value of a new space token."""
        body = {"scope": scope, "name": name, "expires_at": None, "labels": None}
        response = self.send("POST", "~/management/add_space_token", body)
        assert response.status_code == 200, response.text
        return str(response.json()["result"]["token"])


@pytest.fixture
def owner(keyed: Api) -> Owner:
    return Owner(keyed)


@pytest.mark.parametrize("by", ["name", "token"])
def test_a_token_is_revoked_by_what_is_said_of_it_and_an_empty_text_says_nothing(
    owner: Owner, by: str
) -> None:
    value = owner.made("bot")
    asked = {"token": "", "name": "bot"} if by == "name" else {"token": value, "name": None}
    assert owner.send("GET", "~/info", token=value).status_code == 200
    revoked = owner.send("POST", "~/management/revoke_space_token", asked)
    assert revoked.json() == {"result": True}
    assert owner.send("GET", "~/info", token=value).status_code == 401
    again = owner.send("POST", "~/management/revoke_space_token", asked)
    assert again.json() == {"result": False}


@pytest.mark.parametrize("body", [{}, {"token": "", "name": ""}, {"token": "", "name": None}])
def test_a_revocation_that_names_no_token_is_refused(owner: Owner, body: Any) -> None:
    assert owner.send("POST", "~/management/revoke_space_token", body).status_code == 400


def test_a_model_with_zeros_and_nulls_for_what_is_not_set_is_kept(owner: Owner) -> None:
    config = {
        "family": "openai",
        "model": "gpt",
        "api_base": "https://models.example/v1",
        "api_key": "k-0123456789",
        "disabled": False,
        "label": None,
        "effort": None,
        "bearer_auth": False,
        "stream": False,
        "context_window": 0,
        "max_output": 0,
    }
    response = owner.send("PATCH", "~/management/space_byok", config)
    assert response.status_code == 200, response.text
    told = owner.send("GET", "~/management/space_byok").json()["result"]
    assert (told["family"], told["model"]) == ("openai", "gpt")
    assert told["api_key"] == config["api_key"]
    assert "context_window" not in told
    assert [name for name, value in told.items() if value is None] == []


def test_a_space_is_changed_by_what_is_not_null(owner: Owner) -> None:
    body = {
        "name": "Home",
        "description": None,
        "public": None,
        "wiki_digest": None,
        "wiki_audit_reads": None,
        "wiki_acl_defaults": None,
        "memory_policy": None,
    }
    assert owner.send("PATCH", "~/management/update_space", body).json() == {"result": True}
    told = owner.send("GET", "~/info").json()["result"]
    assert (told["name"], told["public"]) == ("Home", False)
    assert "description" not in told


def test_a_record_names_the_signed_subject_as_its_user_and_a_token_as_its_caller(
    owner: Owner,
) -> None:
    body = {"messages": [{"role": "user", "content": "I live in Utrecht."}]}
    for token, caller in ((owner.token, f"user:{SUBJECT}"), (owner.made("bot"), "token:bot")):
        made = owner.send("POST", "~/formation", body, token).json()["result"]
        record = owner.send("GET", f"~/conversations/{made['conversation']}").json()["result"]
        assert record["caller"] == caller
        assert principal(record["user"]) is not None
        if token == owner.token:
            assert record["user"] == SUBJECT
    listed = owner.send("GET", "~/conversations").json()["result"]
    assert all(principal(one["user"]) is not None for one in listed)


def test_an_error_is_read_as_status_and_message_at_the_top_level(owner: Owner) -> None:
    reader = owner.made("reader", "read")
    tried = [
        (owner.send("GET", "~/info", token="ST-nothing"), 401),
        (owner.send("POST", "~/formation", {"messages": []}), 400),
        (owner.send("POST", "~/formation", {"messages": []}, reader), 403),
        (owner.send("GET", "~/conversations/999"), 404),
    ]
    for response, status in tried:
        assert response.status_code == status, response.text
        assert response.headers["content-type"] == "application/json"
        assert response.json()["message"]


# section 8 of the seed, told in Python: one helper for all calls, an error in words, two reads


def rpc_post(api: Api, path: str, body: Any, token: str | None = None) -> Any:
    """The envelope of a successful call; a failed one raises with the status and its message."""
    headers = {**JSON, **({"Authorization": f"Bearer {token}"} if token else {})}
    response = api.client.post(path, headers=headers, json=body)
    if response.is_error:
        message = response.text or f"HTTP {response.status_code}"
        # a limit answers in plain text
        with contextlib.suppress(ValueError):
            message = response.json().get("message") or message
        raise RuntimeError(f"HTTP {response.status_code}: {message}")
    return response.json()


@pytest.mark.parametrize(
    "query", ["这个用户的偏好是什么？", "What does this user prefer?", "What do I prefer?"]
)
def test_the_calls_of_the_seeds_example_work_end_to_end(
    owner: Owner, worker: Callable[..., Process], query: str
) -> None:
    worker(threads=1, env={"BRAINSTEM_EMBEDDER": "none"})
    token = owner.made("bot")
    base, context = f"/v1/{owner.space}", {"counterparty": "user_1"}
    for who, what in (("user_2", "light"), ("user_1", "dark")):
        said = [{"role": "user", "content": f"I prefer {what} mode. I live in Utrecht."}]
        body = {"messages": said, "context": {"counterparty": who}}
        made = rpc_post(owner.api, f"{base}/formation", body, token)["result"]["conversation"]

    def status() -> str:
        record = owner.send("GET", f"~/conversations/{made}/delta", token=token).json()["result"]
        return str(record["status"])

    wait_for(lambda: status() == "completed", what="the formations")
    body = {"query": query, "context": context}
    recall = rpc_post(owner.api, f"{base}/recall", body, token)
    assert "error" not in recall
    assert "dark mode" in recall["result"]["content"]
    assert "light mode" not in recall["result"]["content"]
    with pytest.raises(RuntimeError, match=r"^HTTP 401: .+"):
        rpc_post(owner.api, f"{base}/recall", body, "YOUR_TOKEN")
    with pytest.raises(RuntimeError, match=r"^HTTP 400: .*query"):
        rpc_post(owner.api, f"{base}/recall", {"query": " "}, token)
