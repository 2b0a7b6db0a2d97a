"""Whose a space is that its first writer makes, which shard answers, and what is not offered."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from storage.credentials import cwt
from tests.services import Api, Services, running_api

SIGNING, PUBLIC = cwt.new_key()
SAID = {"messages": [{"role": "user", "content": "I live in Utrecht."}]}


@pytest.fixture(scope="module")
def making(_services: Services) -> Iterator[Api]:
    """An API of shard 3 that asks for credentials and makes spaces for those who may write."""
    env = {
        "ED25519_PUBKEYS": PUBLIC,
        "MANAGERS": "boss",
        "BRAINSTEM_AUTO_CREATE_SPACE": "true",
        "SHARDING_IDX": "3",
    }
    with running_api(_services, env) as api:
        yield api


@pytest.fixture
def name() -> str:
    return f"made_{uuid.uuid4().hex[:12]}"


def headers(space_id: str, scope: str = "*", subject: str = "ana", **more: str) -> dict[str, str]:
    value = cwt.mint(
        SIGNING, subject=subject, audience=space_id, scope=scope, seconds=600, at=time.time()
    )
    return {"Authorization": f"Bearer {value}", "Shard-Id": "3", **more}


def recall(api: Api, space_id: str, given: dict[str, str]) -> httpx2.Response:
    given = {"Prefer": "respond-async", **given}
    return api.client.post(f"/v1/{space_id}/recall", json={"query": "x"}, headers=given)


def test_the_first_writer_of_a_space_owns_it_by_the_name_in_the_token(
    making: Api, name: str
) -> None:
    formed = making.client.post(f"/v1/{name}/formation", json=SAID, headers=headers(name, "write"))
    assert formed.status_code == 200
    told = making.client.get(f"/v1/{name}/info", headers=headers(name)).json()["result"]
    assert (told["owner"], told["public"], told["tier"]["tier"]) == ("ana", False, 0)
    # a second writer finds it made
    making.client.post(f"/v1/{name}/formation", json=SAID, headers=headers(name, subject="bea"))
    told = making.client.get(f"/v1/{name}/info", headers=headers(name)).json()["result"]
    assert told["owner"] == "ana"


def test_a_managers_space_belongs_to_whom_the_manager_says(making: Api, name: str) -> None:
    body = {"user": "ana", "space_id": name, "tier": 2}
    made = making.client.post(
        "/admin/create_space", json=body, headers=headers("*", subject="boss")
    )
    assert made.json()["result"]["owner"] == "ana"


def test_a_reader_makes_no_space(making: Api, name: str) -> None:
    assert recall(making, name, headers(name, "read")).status_code == 404
    assert making.client.get(f"/v1/{name}/info", headers=headers(name)).status_code == 404
    assert recall(making, name, headers(name, "*")).status_code == 202


def test_without_a_token_for_it_nobody_makes_a_space(making: Api, name: str) -> None:
    path = f"/v1/{name}/formation"
    assert making.client.post(path, json=SAID, headers={"Shard-Id": "3"}).status_code == 401
    assert making.client.post(path, json=SAID, headers=headers("other")).status_code == 403
    assert making.client.get(f"/v1/{name}/info", headers=headers(name)).status_code == 404


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"Shard-Id": "3"}, 404),
        ({"X-Shard": "3"}, 404),
        ({"Shard-Id": "3", "X-Shard": "3"}, 404),
        ({}, 400),
        ({"Shard-Id": "0"}, 400),
        ({"Shard-Id": "3", "X-Shard": "0"}, 400),
        ({"Shard-Id": ""}, 400),
    ],
)
def test_a_request_reaches_the_shard_that_it_names_and_zero_when_it_names_none(
    making: Api, name: str, given: dict[str, str], status: int
) -> None:
    sent = {"Authorization": headers(name)["Authorization"], **given}
    answer = making.client.get(f"/v1/{name}/info", headers=sent)
    assert answer.status_code == status
    if status == 400:
        assert answer.json()["data"]["code"] == "wrong_shard"


@pytest.mark.parametrize("path", ["/info", "/SKILL.md", "/healthz", "/favicon.ico"])
def test_what_is_of_no_space_needs_no_shard(making: Api, path: str) -> None:
    assert making.client.get(path).status_code == 200
    assert making.client.get("/info").json()["sharding"] == 3


@pytest.mark.parametrize(
    "body",
    [
        {"wiki_digest": True},
        {"wiki_audit_reads": False},
        {"wiki_acl_defaults": {"hr": ["hr"]}, "name": "Never"},
    ],
)
def test_what_belongs_to_the_wiki_is_refused_whole(
    making: Api, name: str, body: dict[str, Any]
) -> None:
    making.client.post(f"/v1/{name}/formation", json=SAID, headers=headers(name))
    path = f"/v1/{name}/management/update_space"
    refused = making.client.patch(path, json=body, headers=headers(name))
    assert (refused.status_code, refused.json()["data"]["code"]) == (501, "unsupported")
    assert next(iter(body)) in refused.json()["message"]
    told = making.client.get(f"/v1/{name}/info", headers=headers(name)).json()["result"]
    assert "name" not in told
