"""What real clients put into a message: a text, texts, typed parts; and integers that stay so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cbor2
import httpx2
import pytest

from tests.services import Api, Process, wait_for

#: One part of every type that public clients send, and two that nobody knows.
PARTS: dict[str, dict[str, Any]] = {
    "Reasoning": {"type": "Reasoning", "text": "They seem to have moved."},
    "FileData": {"type": "FileData", "fileUri": "file:///trip.pdf", "mimeType": "application/pdf"},
    "InlineData": {"type": "InlineData", "mimeType": "image/png", "data": "iVBORw0KGgo="},
    "ToolCall": {
        "type": "ToolCall",
        "name": "search",
        "callId": "c-1",
        "args": {"limit": 5, "since": 1_764_500_000_000, "deep": [1, [2, {"x": None}]], "p": 0.5},
    },
    "ToolOutput": {
        "type": "ToolOutput",
        "name": "search",
        "callId": "c-1",
        "isError": False,
        "output": {"rows": [{"id": 2**53 - 1}, {"id": -(2**31) - 1}], "text": ["not read"]},
    },
    "Action": {"type": "Action", "name": "open", "payload": {"n": 0}, "signature": "00ff"},
    "unknown": {"type": "hologram", "text": {"lines": 2}, "": "an empty name"},
    "lower": {"type": "reasoning", "text": 7},
}


def ask(api: Api, method: str, path: str, body: Any = None, media: str = "json") -> Any:
    """The result of a request that is sent and answered in one format."""
    name = f"application/{media}"
    encode = cbor2.dumps if media == "cbor" else None
    headers = {"Accept": name}
    options: dict[str, Any] = {}
    if body is not None:
        headers["Content-Type"] = name
        options = {"content": encode(body)} if encode else {"json": body}
    answer: httpx2.Response = api.client.request(method, path, headers=headers, **options)
    assert answer.status_code == 200, answer.text
    told = cbor2.loads(answer.content) if encode else answer.json()
    return told["result"]


def same(given: Any, kept: Any) -> bool:
    """Equal with equal types: 1 is neither 1.0 nor true."""
    if type(given) is not type(kept):
        return False
    if isinstance(given, dict):
        return given.keys() == kept.keys() and all(same(given[k], kept[k]) for k in given)
    if isinstance(given, list):
        return len(given) == len(kept) and all(map(same, given, kept))
    return bool(given == kept)


@pytest.mark.parametrize("media", ["json", "cbor"])
@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_any_type_is_carried_along_as_it_is(
    shared_api: Api, space: str, name: str, media: str
) -> None:
    messages = [
        {
            "role": "assistant",
            "content": ["so", PARTS[name], {"type": "text", "text": "it is"}],
            "timestamp": 1_764_500_000_123,
        }
    ]
    made = ask(shared_api, "POST", f"/v1/{space}/formation", {"messages": messages}, media)
    path = f"/v1/{space}/conversations/{made['conversation']}"
    for shown in ("json", "cbor"):
        assert same(messages, ask(shared_api, "GET", path, media=shown)["messages"])


@pytest.mark.parametrize("media", ["json", "cbor"])
def test_a_staged_source_carries_its_parts_along(shared_api: Api, space: str, media: str) -> None:
    messages = [{"role": "tool", "name": "search", "content": ["found:", *PARTS.values()]}]
    body = {"idempotency_key": media, "kind": "tool_trace", "messages": messages}
    made = ask(shared_api, "POST", f"/v1/{space}/memory/sources", body, media)
    path = f"/v1/{space}/memory/sources/{made['source_ref']}"
    for shown in ("json", "cbor"):
        assert same(messages, ask(shared_api, "GET", path, media=shown)["messages"])


@pytest.mark.parametrize(
    "content",
    [
        "I live in Utrecht.",
        ["I live in Utrecht."],
        [{"type": "text", "text": "I live in Utrecht."}],
        [{"type": "Text", "text": "I live in Utrecht."}],
        [*PARTS.values(), {"type": "Text", "text": "I live in Utrecht."}],
    ],
    ids=["a text", "a list of texts", "a text part", "a Text part", "among others"],
)
def test_what_a_message_says_is_remembered_in_whatever_shape_it_comes(
    shared_api: Api, space: str, worker: Callable[..., Process], content: Any
) -> None:
    worker(queues="memory", threads=1)
    said = {"role": "user", "name": "Ana", "content": content}
    made = ask(shared_api, "POST", f"/v1/{space}/formation", {"messages": [said]})
    path = f"/v1/{space}/jobs/{made['job']}"
    wait_for(lambda: ask(shared_api, "GET", path)["state"] == "succeeded", what="the formation")
    probed = ask(shared_api, "POST", f"/v1/{space}/probe", {"query": "Utrecht"})
    assert probed["found"]
    lost = ask(shared_api, "POST", f"/v1/{space}/probe", {"query": "hologram"})
    assert not lost["found"]


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": 5}],
        [{"type": "Text", "text": ["I live in Utrecht."]}],
        [{"text": "I live in Utrecht."}],
        [{"type": "", "text": "x"}, "I live in Utrecht."],
        [7, "I live in Utrecht."],
        [None, "I live in Utrecht."],
        {"type": "text", "text": "I live in Utrecht."},
        list(PARTS.values()),
        [],
    ],
)
def test_what_is_no_content_or_says_nothing_is_refused(
    shared_api: Api, space: str, content: Any
) -> None:
    said = {"messages": [{"role": "user", "content": content}]}
    answer = shared_api.client.post(f"/v1/{space}/formation", json=said)
    assert answer.status_code == 400
    assert answer.json()["data"]["field"].startswith("messages")
