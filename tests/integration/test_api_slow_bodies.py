"""Bodies that come slowly, never, or in a framing that is none: whom they hold up, and what ends.

Raw sockets, because no HTTP client sends such requests.
"""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx2
import pytest

from storage.credentials import cwt
from tests.services import Api, Services, running_api

SIGNING, PUBLIC = cwt.new_key()
FIRST_LINES = b"HTTP/1.1 "


@pytest.fixture(scope="module")
def keyed(_services: Services) -> Iterator[Api]:
    """An API that asks for credentials, and lets in two requests for models."""
    env = {"ED25519_PUBKEYS": PUBLIC, "LLM_MAX_CONCURRENCY": "2", "BRAINSTEM_API_THREADS": "16"}
    with running_api(_services, env) as api:
        yield api


@pytest.fixture(scope="module")
def impatient(_services: Services) -> Iterator[Api]:
    """An API that waits a quarter of a second for the next piece of a body."""
    with running_api(_services, {"BRAINSTEM_BODY_SECONDS": "0.25"}) as api:
        yield api


def bearer(space: str) -> str:
    value = cwt.mint(SIGNING, subject="ana", audience=space, scope="*", seconds=600, at=time.time())
    return f"Bearer {value}"


@contextmanager
def begun(api: Api, path: str, *lines: str, body: bytes = b"") -> Iterator[socket.socket]:
    """A POST of which `body` is all that comes by itself."""
    port = int(api.base_url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=30.0) as sock:
        head = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
        sock.sendall("\r\n".join([*head, *lines, "", ""]).encode() + body)
        yield sock


def read_to_end(sock: socket.socket) -> bytes:
    """What the server sends until it closes the connection."""
    found = b""
    while piece := sock.recv(65536):
        found += piece
    return found


def answer(sock: socket.socket) -> tuple[int, dict[str, object]]:
    """The status and the JSON of one response."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += sock.recv(65536)
    head, _, body = found.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    assert length is not None
    while len(body) < int(length[1]):
        body += sock.recv(65536)
    return int(head.split()[1]), json.loads(body)


def recall(api: Api, space: str) -> httpx2.Response:
    headers = {"Authorization": bearer(space), "Prefer": "respond-async"}
    return api.client.post(f"/v1/{space}/recall", headers=headers, json={"query": "x"})


@pytest.mark.parametrize("path", ["memory", "recall", "formation"])
def test_who_has_no_credential_is_answered_before_the_body_came(
    keyed: Api, space: str, path: str
) -> None:
    with begun(keyed, f"/v1/{space}/{path}", "Content-Length: 1000", body=b"{") as sock:
        status, told = answer(sock)
    assert (status, told["data"]) == (401, {"code": "unauthenticated"})


def test_bodies_that_do_not_come_keep_nobody_from_the_models(keyed: Api, space: str) -> None:
    allowed = f"Authorization: {bearer(space)}"
    with ExitStack() as stack:
        for path in ("memory", "recall", "recall_structured", "management/shadow_eval"):
            path = f"/v1/{space}/{path}"
            stack.enter_context(begun(keyed, path, allowed, "Content-Length: 1000", body=b"{"))
        for _ in range(8):
            assert recall(keyed, space).status_code == 202


def test_a_body_that_stops_is_told_so(impatient: Api, space: str) -> None:
    path = f"/v1/{space}/formation"
    with begun(impatient, path, "Content-Length: 1000", body=b"{") as sock:
        status, told = answer(sock)
    assert (status, told["data"]) == (408, {"code": "body_timeout"})


@pytest.mark.parametrize("framing", ["Content-Length: 100000", "Transfer-Encoding: chunked"])
def test_a_body_that_trickles_is_not_waited_for_without_end(
    impatient: Api, space: str, framing: str
) -> None:
    piece = b"1\r\n \r\n" if framing.endswith("chunked") else b" "
    with begun(impatient, f"/v1/{space}/formation", framing, body=piece) as sock:
        sock.settimeout(0.05)
        found = b""
        for _ in range(600):
            # a piece well within the time that a body may be silent
            try:
                sock.sendall(piece)
                found += sock.recv(65536)
            except TimeoutError:
                continue
            except OSError:
                break
            if b"body_timeout" in found:
                break
    assert found.startswith(FIRST_LINES + b"408"), found
    # whoever came in time is served on
    assert impatient.client.get(f"/v1/{space}/info").status_code == 200


@pytest.mark.parametrize(
    ("framing", "body"),
    [
        ("Content-Length: 1000", b"I live in Utrecht."),
        ("Transfer-Encoding: chunked", b"12\r\nI live in Utrecht.\r\n"),
        ("Transfer-Encoding: chunked", b"12\r\nI live in"),
    ],
)
def test_a_body_that_was_cut_off_is_not_taken_for_a_whole_one(
    shared_api: Api, space: str, framing: str, body: bytes
) -> None:
    head = f"POST /v1/{space}/formation HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n"
    port = int(shared_api.base_url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=30.0) as sock:
        sock.sendall(f"{head}Content-Type: text/markdown\r\n\r\n".encode() + body)
        sock.shutdown(socket.SHUT_WR)
        status, told = answer(sock)
    assert (status, told["data"]) == (400, {"code": "invalid_input"})
    made = shared_api.client.get(f"/v1/{space}/conversations").json()
    assert made["result"] == []


@pytest.mark.parametrize(
    "body",
    [
        b"zz\r\n{}\r\n0\r\n\r\n",
        b"0x2\r\n{}\r\n0\r\n\r\n",
        b"-2\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}x0\r\n\r\n",
        b"2\r\n{}\r\n0\r\nAuthorization : x\r\n\r\n",
    ],
    ids=["no number", "hexadecimal prefix", "negative", "no line end", "a broken trailer"],
)
def test_a_chunked_body_that_is_none_is_refused_and_nothing_after_it_is_read(
    shared_api: Api, space: str, body: bytes
) -> None:
    after = b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n"
    path = f"/v1/{space}/probe"
    with begun(shared_api, path, "Transfer-Encoding: chunked", body=body + after) as sock:
        found = read_to_end(sock)
    assert found.count(FIRST_LINES) == 1
    assert found.startswith(FIRST_LINES + b"400")
    told = json.loads(found.partition(b"\r\n\r\n")[2])
    assert told["data"]["code"] == "invalid_input"


def test_a_chunked_body_with_trailers_is_read(shared_api: Api, space: str) -> None:
    body = b'd\r\n{"query":"x"}\r\n0\r\nX-Check: 1\r\n\r\n'
    with begun(shared_api, f"/v1/{space}/probe", "Transfer-Encoding: chunked", body=body) as sock:
        assert answer(sock)[0] == 200
