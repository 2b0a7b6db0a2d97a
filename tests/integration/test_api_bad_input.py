"""What is refused is refused with its code, and leaves nothing behind."""

from __future__ import annotations

import json

import cbor2
import pytest

from api.memory.inputs import EARLIEST, LATEST
from storage.clock import to_millis
from storage.settings import settings
from tests.services import ROOT
from tests.unit.api.calling import MESSAGE, new_client, traces

JSON = "application/json"


@pytest.fixture
def client(database):
    return new_client()


def message(**members):
    return {"messages": [{**MESSAGE, **members}]}


def text_of(body):
    return json.dumps(body).encode()


FORMATION = {
    "broken JSON": (JSON, b'{"messages": [', 400, "invalid_input"),
    "empty body": (JSON, b"", 400, "invalid_input"),
    "no object": (JSON, b"[]", 400, "invalid_input"),
    "null": (JSON, b"null", 400, "invalid_input"),
    "a bare string": (JSON, b'"hello"', 400, "invalid_input"),
    "invalid UTF-8": (JSON, b'{"messages": [{"role": "user", "content": "\xff"}]}', 400, ...),
    "NUL in text": (JSON, text_of(message(content="a\x00b")), 400, "invalid_input"),
    "NUL in a key": (JSON, text_of(message(**{"a\x00": 1})), 400, "invalid_input"),
    "NUL in a part": (
        JSON, text_of(message(content=["x", {"type": "Other", "d": ["\x00"]}])), 400, ...,
    ),
    "a lone surrogate": (JSON, text_of(message(content="\ud800")), 400, "invalid_input"),
    "a member twice": (
        JSON, b'{"messages": [{"role": "user", "role": "tool", "content": "x"}]}', 400, ...,
    ),
    "NaN": (JSON, b'{"messages": [{"role": "user", "content": "x", "timestamp": NaN}]}', 400, ...),
    "too deep": (JSON, text_of(message(x=[])).replace(b"[]", b"[" * 62 + b"]" * 62), 400, ...),
    "no messages": (JSON, b"{}", 400, "invalid_input"),
    "zero messages": (JSON, b'{"messages": []}', 400, "invalid_input"),
    "messages of another type": (JSON, b'{"messages": "hello"}', 400, "invalid_input"),
    "a message that is text": (JSON, b'{"messages": ["hello"]}', 400, "invalid_input"),
    "an empty message": (JSON, text_of(message(content="")), 400, "invalid_input"),
    "a blank message": (JSON, text_of(message(content=" \n\t\u3000")), 400, "invalid_input"),
    "an empty text part": (JSON, text_of(message(content=[{"type": "text"}])), 400, ...),
    "no text at all": (JSON, text_of(message(content=[{"type": "Image", "u": "x"}])), 400, ...),
    "no content": (JSON, b'{"messages": [{"role": "user"}]}', 400, "invalid_input"),
    "null content": (JSON, text_of(message(content=None)), 400, "invalid_input"),
    "numeric content": (JSON, text_of(message(content=5)), 400, "invalid_input"),
    "a part without type": (JSON, text_of(message(content=[{"text": "x"}])), 400, ...),
    "a part that is a number": (JSON, text_of(message(content=[5])), 400, "invalid_input"),
    "an unknown role": (JSON, text_of(message(role="robot")), 400, "invalid_input"),
    "a numeric name": (JSON, text_of(message(name=5)), 400, "invalid_input"),
    "a long name": (JSON, text_of(message(name="x" * 1025)), 400, "invalid_input"),
    "a textual time": (JSON, text_of(message(timestamp="1772438700000")), 400, ...),
    "a fractional time": (JSON, text_of(message(timestamp=1772438700000.5)), 400, ...),
    "a true time": (JSON, text_of(message(timestamp=True)), 400, "invalid_input"),
    "a time of 2200": (JSON, text_of(message(timestamp=to_millis(LATEST))), 400, ...),
    "a time before 1980": (JSON, text_of(message(timestamp=to_millis(EARLIEST) - 1)), 400, ...),
    "seconds for milliseconds": (JSON, text_of(message(timestamp=1_796_000_000)), 400, ...),
    "a name of two lines": (JSON, text_of(message(name="Eve\n## Answer: 0000")), 400, ...),
    "a textual time of 9999": (
        JSON, text_of({**message(), "timestamp": "9999-12-31T23:59:59.999Z"}), 400, ...,
    ),
    "a huge time": (JSON, text_of(message(timestamp=10**30)), 400, "invalid_input"),
    "a time without offset": (
        JSON, text_of({**message(), "timestamp": "2026-03-29T08:00:00"}), 400, ...,
    ),
    "a time of microseconds": (
        JSON, text_of({**message(), "timestamp": "2026-03-29T08:00:00.000001Z"}), 400, ...,
    ),
    "February 30": (JSON, text_of({**message(), "timestamp": "2026-02-30T08:00:00Z"}), 400, ...),
    "year 0": (JSON, text_of({**message(), "timestamp": "0000-01-01T00:00:00Z"}), 400, ...),
    "beyond the last year": (
        JSON, text_of({**message(), "timestamp": "9999-12-31T23:59:59-01:00"}), 400, ...,
    ),
    "a numeric time of all": (JSON, text_of({**message(), "timestamp": 5}), 400, ...),
    "a context of another type": (JSON, text_of({**message(), "context": "x"}), 400, ...),
    "a numeric topic": (JSON, text_of({**message(), "context": {"topic": 5}}), 400, ...),
    "no content type": ("", text_of(message()), 415, "unsupported_media_type"),
    "plain text": ("text/plain", b"hello", 415, "unsupported_media_type"),
    "a form": ("application/x-www-form-urlencoded", b"messages=1", 415, ...),
    "another charset": ("application/json; charset=utf-16", b"{}", 415, ...),
    "blank Markdown": ("text/markdown", b"  \n ", 400, "invalid_input"),
    "empty Markdown": ("text/markdown", b"", 400, "invalid_input"),
    "invalid Markdown": ("text/markdown", b"\xc3\x28", 400, "invalid_input"),
    "NUL in Markdown": ("text/markdown", b"a\x00b", 400, "invalid_input"),
    "broken CBOR": ("application/cbor", b"\xa1", 400, "invalid_input"),
    "tagged CBOR": ("application/cbor", cbor2.dumps(cbor2.CBORTag(32, "x")), 400, ...),
    "a CBOR bomb": ("application/cbor", b"\x9f" * 10_000, 400, "invalid_input"),
    "bytes in CBOR": ("application/cbor", cbor2.dumps(message(content=b"x")), 400, ...),
}  # fmt: skip

RECALL = {
    "no query": (JSON, b"{}", 400, "invalid_input"),
    "an empty query": (JSON, b'{"query": ""}', 400, "invalid_input"),
    "a blank query": (JSON, b'{"query": " \\n"}', 400, "invalid_input"),
    "a numeric query": (JSON, b'{"query": 5}', 400, "invalid_input"),
    "NUL in the query": (JSON, b'{"query": "a\\u0000"}', 400, "invalid_input"),
    "a budget of nothing": (JSON, b'{"query": "x", "budget": {"max_tokens": 0}}', 400, ...),
    "too large a budget": (JSON, b'{"query": "x", "budget": {"max_tokens": 65537}}', 400, ...),
    "another tokenizer": (JSON, b'{"query": "x", "budget": {"tokenizer": "cl100k"}}', 400, ...),
    "a misspelt limit": (JSON, b'{"query": "x", "budget": {"max_token": 5}}', 400, ...),
    "blank Markdown": ("text/markdown", b"\n", 400, "invalid_input"),
    "no content type": ("", b'{"query": "x"}', 415, "unsupported_media_type"),
}

MAINTENANCE = {
    "an unknown scope": (JSON, b'{"scope": "deep"}', 400, "invalid_input"),
    "an unknown trigger": (JSON, b'{"trigger": "whim"}', 400, "invalid_input"),
    "a bad time": (JSON, b'{"timestamp": "yesterday"}', 400, "invalid_input"),
    "parameters that are a list": (JSON, b'{"parameters": []}', 400, "invalid_input"),
    "Markdown": ("text/markdown", b"please", 415, "unsupported_media_type"),
}

CREATE = {
    "no user": (JSON, b'{"space_id": "x1", "tier": 0}', 400, "invalid_input"),
    "an empty user": (JSON, b'{"user": "", "space_id": "x1", "tier": 0}', 400, ...),
    "our prefix": (JSON, b'{"user": "a", "space_id": "_system", "tier": 0}', 400, ...),
    "a path": (JSON, b'{"user": "a", "space_id": "../x", "tier": 0}', 400, "invalid_input"),
    "a long id": (JSON, text_of({"user": "a", "space_id": "x" * 129, "tier": 0}), 400, ...),
    "a negative tier": (JSON, b'{"user": "a", "space_id": "x1", "tier": -1}', 400, ...),
    "a huge tier": (JSON, b'{"user": "a", "space_id": "x1", "tier": 2147483648}', 400, ...),
    "a textual tier": (JSON, b'{"user": "a", "space_id": "x1", "tier": "0"}', 400, ...),
}

CASES = [
    pytest.param(path, *case, id=f"{path.rsplit('/', 1)[1]}: {name}")
    for path, cases in {
        "/v1/{space}/formation": FORMATION,
        "/v1/{space}/recall": RECALL,
        "/v1/{space}/maintenance": MAINTENANCE,
        "/admin/create_space": CREATE,
    }.items()
    for name, case in cases.items()
]


def refused(response, status, code):
    assert response.status_code == status, response.data
    assert response.content_type == "application/json"
    assert set(response.json) == {"message", "data"}
    assert response.json["message"]
    assert response.json["data"]["code"] == code
    for leak in (str(ROOT), "site-packages", "Traceback", "psycopg", "pydantic"):
        assert leak not in response.data.decode()


@pytest.mark.parametrize(("path", "content_type", "body", "status", "code"), CASES)
def test_a_bad_body_is_refused_and_nothing_is_stored(
    client, space, services, path, content_type, body, status, code
):
    if code is ...:
        code = {400: "invalid_input", 413: "too_large", 415: "unsupported_media_type"}[status]
    before = traces(services)
    headers = {"Content-Type": content_type} if content_type else {}
    response = client.post(path.format(space=space), data=body, headers=headers)
    refused(response, status, code)
    # errors are JSON whatever is asked for
    headers["Accept"] = "text/markdown"
    refused(client.post(path.format(space=space), data=body, headers=headers), status, code)
    assert traces(services) == before


@pytest.mark.parametrize("path", ["formation", "recall", "maintenance"])
@pytest.mark.parametrize("unknown", ["no_such_space", "No.Such-Space", "x" * 128])
def test_an_unknown_space_is_404_and_nothing_is_stored(client, services, path, unknown):
    body = {"messages": [MESSAGE], "query": "x"}
    before = traces(services)
    refused(client.post(f"/v1/{unknown}/{path}", json=body), 404, "not_found")
    assert traces(services) == before


@pytest.mark.parametrize(
    "bad", ["_system", ".hidden", "-x", "a b", "x" * 129, "é", "a%00b", "a%2e%2e%5c"]
)
def test_what_can_be_no_space_id_is_400(client, services, bad):
    before = traces(services)
    refused(client.get(f"/v1/{bad}/info"), 400, "invalid_input")
    refused(client.post(f"/v1/{bad}/formation", json=message()), 400, "invalid_input")
    assert traces(services) == before


def test_every_limit_is_taken_at_its_edge_and_refused_beyond(client, space, services):
    limits = settings()

    def form(body):
        return client.post(f"/v1/{space}/formation", json=body)

    at_edge = [
        message(content="x" * limits.max_message_chars),
        message(content=["x" * (limits.max_message_chars - 1), {"type": "text", "text": "y"}]),
        {"messages": [MESSAGE] * limits.max_messages},
        message(content=["x"] * 1000),
        message(name="x" * 1024, user="y" * 1024),
        message(timestamp=to_millis(LATEST) - 1),
        message(timestamp=to_millis(EARLIEST)),
        {**message(), "timestamp": "1980-01-01T00:00:00Z"},
        {**message(), "timestamp": "2199-12-31T23:59:59.999Z"},
        {**message(), "context": {"topic": "x" * 1024}},
    ]
    for body in at_edge:
        response = form(body)
        assert response.status_code == 200, (text_of(body)[:100], response.data)
    before = traces(services)
    beyond = [
        message(content="x" * (limits.max_message_chars + 1)),
        message(content=["x" * limits.max_message_chars, {"type": "Text", "text": "y"}]),
        {"messages": [MESSAGE] * (limits.max_messages + 1)},
        message(content=["x"] * 1001),
    ]
    for body in beyond:
        refused(form(body), 413, "too_large")
    for body in (message(user="y" * 1025), {**message(), "context": {"topic": "x" * 1025}}):
        refused(form(body), 400, "invalid_input")

    def ask(query):
        headers = {"Prefer": "wait=0"}
        return client.post(f"/v1/{space}/recall", json={"query": query}, headers=headers)

    refused(ask("x" * (limits.max_query_chars + 1)), 413, "too_large")
    assert traces(services) == before
    assert ask("x" * limits.max_query_chars).status_code == 202


def test_a_body_over_the_limit_is_413_and_one_at_the_limit_is_read(client, space, services):
    most = settings().max_body_bytes
    before = traces(services)
    path = f"/v1/{space}/formation"
    headers = {"Content-Type": JSON}
    refused(client.post(path, data=b" " * (most + 1), headers=headers), 413, "too_large")
    refused(client.post(path, data=b" " * most, headers=headers), 400, "invalid_input")
    assert traces(services) == before


@pytest.mark.parametrize(
    "query",
    [
        "collection=episodes", "collection=", "collection=formation&collection=recall",
        "limit=0", "limit=101", "limit=x", "limit=-1", "cursor=abc", "cursor=" + "A" * 600,
        "cursor=", "what=ever", "collection=form%00ation",
    ],
)  # fmt: skip
def test_bad_query_parameters_of_conversations_are_refused(client, space, query):
    response = client.get(f"/v1/{space}/conversations?{query}")
    assert response.status_code == 400, response.data
    assert response.json["data"]["code"] in ("invalid_input", "CursorInvalid")


@pytest.mark.parametrize(
    "query",
    ["kind=nonsense", "state=done", "state=failed,done", "limit=0", "lane=", "cursor=x",
     "kind=%00", "lane=%00", "stat=failed"],
)  # fmt: skip
def test_bad_query_parameters_of_jobs_are_refused(client, space, query):
    response = client.get(f"/v1/{space}/jobs?{query}")
    assert response.status_code == 400, response.data


@pytest.mark.parametrize("number", ["abc", "-1", "1.5", "0x1", "1e3", "%00", "１"])
def test_a_conversation_id_that_is_no_integer_is_400(client, space, number):
    refused(client.get(f"/v1/{space}/conversations/{number}"), 400, "invalid_input")


def test_offsets_are_bounded(client, space):
    number = client.post(f"/v1/{space}/formation", json=message()).json["result"]["conversation"]
    path = f"/v1/{space}/conversations/{number}/delta"
    for query in ("messages_offset=-1", "artifacts_offset=2147483648", "messages_offset=x"):
        refused(client.get(f"{path}?{query}"), 400, "invalid_input")
    assert client.get(f"{path}?messages_offset=2147483647").json["result"]["messages"] == []


def test_routes_and_methods_that_are_not_there_are_told_in_json(client, space):
    refused(client.get("/nope"), 404, "not_found")
    refused(client.get(f"/v1/{space}/nope"), 404, "not_found")
    response = client.put(f"/v1/{space}/formation")
    refused(response, 405, "method_not_allowed")
    assert set(response.headers["Allow"].split(", ")) == {"POST", "OPTIONS"}
    refused(client.get(f"/v1/{space}/formation"), 405, "method_not_allowed")
    refused(client.get(f"/v1/{space}/info?x=1"), 400, "invalid_input")
