"""What anybody may fetch: the guide for agents, the icons, and what this server says it is."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from api.app import FAMILIES
from api.memory.inputs import MAX_PARTS
from api.memory_interface import memory
from storage import settings
from storage.database import Scope
from storage.kip.meta import memory_interface
from storage.version import VERSION
from tests.services import Api

#: An example of the guide: its method and path, its headers, its body.
_EXAMPLE = re.compile(r"```http\n(\w+) (\S+)\n((?:[\w-]+: [^\n]*\n)*)\n(.*?)```", re.DOTALL)
_ROUTE = re.compile(r"\| `(\w+) (\S+)` \|")


@pytest.fixture
def guide(shared_api: Api) -> str:
    response = shared_api.client.get("/SKILL.md")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/markdown; charset=utf-8"
    return response.text


def test_the_guide_lists_exactly_the_routes_that_are_served(shared_api: Api, guide: str) -> None:
    document = shared_api.client.get("/openapi.json").json()
    served = {
        (method.upper(), path) for path, methods in document["paths"].items() for method in methods
    }
    assert set(_ROUTE.findall(guide)) == served


def test_the_guide_names_the_limits_that_hold(guide: str) -> None:
    limits = settings.settings()
    assert VERSION in guide.splitlines()[0]
    for number in (
        limits.max_messages,
        limits.max_message_chars,
        limits.max_body_bytes,
        limits.max_query_chars,
        MAX_PARTS,
    ):
        assert f"{number} " in guide.replace("\n", " ")
    assert "$" not in guide


def test_every_example_of_the_guide_is_accepted(shared_api: Api, space: str, guide: str) -> None:
    """Each is sent as it stands, with the space and the handles of the answers before it."""
    examples = _EXAMPLE.findall(guide)
    assert len(examples) >= 6
    source = "src-…"
    for method, path, given, body in examples:
        headers = dict(line.split(": ", 1) for line in given.splitlines())
        sent = json.loads(body.replace("src-…", source))
        response = shared_api.client.request(
            method,
            path.replace("{space_id}", space),
            headers={"Prefer": "respond-async", **headers},
            json=sent,
        )
        assert response.status_code in (200, 202), (path, response.text)
        told = response.json()
        if path.endswith("/memory/sources"):
            source = told["result"]["source_ref"]
        if path.endswith("/memory"):
            assert (told["status"] != "failed") == (sent["operation"] in offered(guide)), told
        if path.endswith("/execute_kip_readonly"):
            assert told["status"] == "succeeded", told


@pytest.mark.parametrize(
    ("path", "media", "begins"),
    [
        ("/favicon.ico", "image/x-icon", b"\x00\x00\x01\x00"),
        ("/apple-touch-icon.webp", "image/webp", b"RIFF"),
    ],
)
def test_icons_are_images(shared_api: Api, path: str, media: str, begins: bytes) -> None:
    response = shared_api.client.get(path)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == media
    assert response.content.startswith(begins)
    if media == "image/webp":
        assert response.content[8:12] == b"WEBP"


def offered(guide: str) -> set[str]:
    """The intents that the guide names."""
    said = re.search(r"this server offers: (.*?)\. A source", guide, re.DOTALL)
    assert said is not None
    return set(re.findall(r"`(\w+)`", said[1]))


def test_server_and_space_describe_one_memory_interface(
    shared_api: Api, space: str, guide: str
) -> None:
    whole = shared_api.client.get("/info").json()["memory_interface"]
    told = shared_api.client.get(f"/v1/{space}/info").json()["result"]["memory_interface"]
    primer: dict[str, Any] = shared_api.client.post(
        f"/v1/{space}/execute_kip_readonly", json={"kip": "2.0", "command": "DESCRIBE PRIMER"}
    ).json()
    assert "default_space" not in whole
    assert told == {**whole, "default_space": {"id": space}}
    assert told["tokenizer"] == "o200k_base@tiktoken-rs-0.12"
    assert json.dumps(told, sort_keys=True) in json.dumps(primer, sort_keys=True)
    assert whole["bundles"] == ["memory_basic"] * (offered(guide) >= memory_interface.BASIC)


def test_a_bundle_is_named_only_when_all_of_its_intents_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # importing the application registers the intents, and tells the descriptor where they are
    assert FAMILIES
    for name in list(memory.INTENTS):
        monkeypatch.delitem(memory.INTENTS, name)
    for name in sorted(memory_interface.BASIC):
        assert memory_interface.descriptor()["bundles"] == []
        monkeypatch.setitem(memory.INTENTS, name, lambda *_: {})
    assert memory_interface.descriptor(Scope("s"))["bundles"] == ["memory_basic"]
