"""A model provider on this machine that does as it is told.

It speaks three dialects by path: OpenAI `…/chat/completions`, Anthropic `…/v1/messages` (streamed
where the request says so), Gemini `…/models/{model}:generateContent`. Each request takes the next
step of the script; when the script is over, the `otherwise` step, and without one a 500 (counted in
`unscripted`). What was asked is kept.

    provider.script(CallTool("search_memory", {"query": "tea"}), Answer({"claims": []}))

Works without pytest too: `with running() as provider: …`. It listens on loopback only. Where no
conftest has the fixture, a module takes it by `provider = providers.provider`.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import pytest

Dialect = Literal["openai", "anthropic", "gemini"]

#: how the port's families map to dialects, and the base URL that a client is given
DIALECTS: dict[str, Dialect] = {
    "openai": "openai",
    "deepseek": "openai",
    "mimo": "openai",
    "elsewhere": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
}


@dataclass(frozen=True)
class Request:
    """One request as it came: `tools` are the names offered, `text` all that the model would read.

    `results` are the tool results that it carries, in order.
    """

    dialect: Dialect
    path: str
    model: str
    key: str
    headers: dict[str, str]
    body: dict[str, Any]
    tools: list[str]
    text: str
    results: list[str]


# --- steps ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """The structured answer: a call of the tool named `answer`.

    `padding` blanks follow it; `gzipped` compresses the response whether or not that was asked for.
    """

    value: Any
    padding: int = 0
    gzipped: bool = False


@dataclass(frozen=True)
class CallTool:
    """A call of one of the asker's tools."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Text:
    """Plain text where a tool call was asked for."""

    text: str


@dataclass(frozen=True)
class Status:
    """An HTTP error; `retry_after` is the header, in seconds or as a date."""

    code: int
    retry_after: str | None = None
    message: str = "made up by the test"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Body:
    """These very bytes with a 200: what no client expects."""

    data: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Silence:
    """No byte at all until the client hangs up or the provider ends."""


@dataclass(frozen=True)
class HangUp:
    """The answer's head and half of its body, then the connection is reset (`at` = body) or cut."""

    at: Literal["head", "body"] = "body"


@dataclass(frozen=True)
class Drip:
    """A body that goes on for ever, byte by byte, each well within any read time-out."""

    every: float = 0.02


@dataclass(frozen=True)
class Held:
    """Answers `step` only once `until` is set; tells `Provider.arrived` meanwhile."""

    until: threading.Event
    step: Step


Step = (
    Answer
    | CallTool
    | Text
    | Status
    | Body
    | Silence
    | HangUp
    | Drip
    | Held
    | Callable[[Request], Any]
)


class Provider:
    """The running server. `usage` is what each answer says that it cost."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.otherwise: Step | None = None
        #: requests answered although the script was over; a test that cares asserts it is empty
        self.unscripted = 0
        self.key: str | None = None
        self.input_tokens, self.output_tokens, self.cached_tokens = 120, 30, 40
        self.in_flight = 0
        self.peak = 0
        self.arrived = threading.Condition()
        self._steps: list[Step] = []
        self._ended = threading.Event()
        provider = self

        class Handler(_Handler):
            pass

        Handler.provider = provider

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that hung up is what many tests are about."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="provider", daemon=True
        ).start()

    def script(self, *steps: Step) -> None:
        """Adds steps, one per request."""
        with self.arrived:
            self._steps.extend(steps)

    def config(self, family: str = "openai", *, model: str = "scripted-1", **more: Any) -> Any:
        """A `ModelConfig` that reaches this server in the family's own way."""
        from pipelines.ports.models import ModelConfig

        base = self.url + ("/v1" if DIALECTS[family] == "openai" else "")
        return ModelConfig(
            family, model, **{"api_base": base, "api_key": "test-key-0123456789", **more}
        )

    def wait_for_requests(self, count: int, *, seconds: float = 20.0) -> None:
        """Until `count` requests have come in all; fails the test when they do not."""
        with self.arrived:
            if not self.arrived.wait_for(lambda: len(self.requests) >= count, seconds):
                raise AssertionError(f"{len(self.requests)} requests came, {count} were expected")

    def close(self) -> None:
        """Ends the server and every answer that is held back."""
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    # --- for the handler --------------------------------------------------------------------

    def take(self, request: Request) -> Step:
        with self.arrived:
            self.requests.append(request)
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
            self.arrived.notify_all()
            if self.key is not None and request.key != self.key:
                return Status(401, message=f"incorrect API key provided: {request.key}")
            if self._steps:
                return self._steps.pop(0)
            if self.otherwise is not None:
                return self.otherwise
            self.unscripted += 1
            return Status(500, message="the script is over")

    def leave(self) -> None:
        with self.arrived:
            self.in_flight -= 1
            self.arrived.notify_all()

    def ended(self, seconds: float) -> bool:
        return self._ended.wait(seconds)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    provider: Provider
    _streamed = False

    def log_message(self, *_: Any) -> None:
        """Silent: the requests are kept instead."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        self._streamed = bool(body.get("stream")) or ":streamGenerateContent" in self.path
        request = _request(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        step = self.provider.take(request)
        try:
            self._do(step, request)
        finally:
            self.provider.leave()

    def _do(self, step: Any, request: Request) -> None:
        provider = self.provider
        while callable(step) or isinstance(step, Held):
            if isinstance(step, Held):
                while not step.until.wait(0.05):
                    if provider.ended(0) or self._gone():
                        return
                step = step.step
            else:
                step = step(request)
        match step:
            case Answer(value, padding, gzipped):
                self._answer(_call(request, provider, "answer", value), padding, gzipped)
            case CallTool(name, arguments):
                self._send(200, _call(request, provider, name, arguments))
            case Text(text):
                self._send(200, _text(request, provider, text))
            case Status(code, retry_after, message, headers):
                extra = dict(headers)
                if retry_after is not None:
                    extra["retry-after"] = retry_after
                self._send(code, _fault(code, message), extra)
            case Body(data, content_type, headers):
                self._raw(200, data, {"content-type": content_type, **headers})
            case Silence():
                while not provider.ended(0.05) and not self._gone():
                    pass
                self.close_connection = True
            case HangUp(at):
                self._hang_up(at, json.dumps(_call(request, provider, "answer", {})).encode())
            case Drip(every):
                self._drip(every)
            case _:
                raise TypeError(f"no such step: {step!r}")

    def _answer(self, value: Any, padding: int, gzipped: bool) -> None:
        if not (padding or gzipped):
            return self._send(200, value)
        data = json.dumps(value).encode() + b" " * padding
        headers = {"content-type": "application/json"}
        if gzipped:
            data, headers["content-encoding"] = gzip.compress(data), "gzip"
        self._raw(200, data, headers)

    def _send(self, code: int, value: Any, headers: dict[str, str] | None = None) -> None:
        if code == 200 and self._streamed:
            return self._raw(200, _events(value), {"content-type": "text/event-stream"})
        data = json.dumps(value).encode()
        self._raw(code, data, {"content-type": "application/json", **(headers or {})})

    def _raw(self, code: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _hang_up(self, at: str, data: bytes) -> None:
        if at == "body":
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
        else:
            # a reset instead of an orderly end
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR) if at == "body" else self.connection.close()

    def _drip(self, every: float) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(OSError):
            while not self.provider.ended(every):
                self.wfile.write(b"1\r\n \r\n")
                self.wfile.flush()

    def _gone(self) -> bool:
        """Whether the client has closed its side."""
        self.connection.setblocking(False)
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self.connection.setblocking(True)


# --- dialects -------------------------------------------------------------------------------------


def _request(path: str, headers: dict[str, str], body: dict[str, Any]) -> Request:
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    if ":generateContent" in path or ":streamGenerateContent" in path:
        dialect: Dialect = "gemini"
        model = re.search(r"models/([^:]+):", path)[1]  # type: ignore[index]
        declared = [d for t in body.get("tools", []) for d in t.get("functionDeclarations", [])]
        tools = [d["name"] for d in declared]
        key = headers.get("x-goog-api-key") or bearer
        results = [
            json.dumps(p["functionResponse"]["response"], ensure_ascii=False)
            for c in body["contents"]
            for p in c["parts"]
            if "functionResponse" in p
        ]
    elif path.endswith("/messages"):
        dialect, model = "anthropic", body["model"]
        tools = [t["name"] for t in body.get("tools", [])]
        key = headers.get("x-api-key") or bearer
        results = [
            json.dumps(p["content"], ensure_ascii=False)
            for m in body["messages"]
            if isinstance(m["content"], list)
            for p in m["content"]
            if p.get("type") == "tool_result"
        ]
    else:
        dialect, model = "openai", body["model"]
        tools = [t["function"]["name"] for t in body.get("tools", [])]
        key = bearer
        results = [str(m["content"]) for m in body["messages"] if m["role"] == "tool"]
    return Request(
        dialect, path, model, key, headers, body, tools, "\n".join(_texts(body)), results
    )


def _texts(value: Any) -> list[str]:
    """Every text of the messages and the instructions, in order, without tools and settings."""
    match value:
        case str():
            return [value]
        case list():
            return [t for v in value for t in _texts(v)]
        case dict():
            wanted = ("system", "systemInstruction", "messages", "contents", "content", "parts")
            return [t for k in (*wanted, "text") if k in value for t in _texts(value[k])]
        case _:
            return []


def _call(request: Request, provider: Provider, name: str, arguments: Any) -> dict[str, Any]:
    number = len(provider.requests)
    match request.dialect:
        case "openai":
            call = {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            return _openai({"content": None, "tool_calls": [call]}, "tool_calls", request, provider)
        case "anthropic":
            part = {"type": "tool_use", "id": f"tu_{number}", "name": name, "input": arguments}
            return _anthropic([part], "tool_use", request, provider)
        case "gemini":
            return _gemini([{"functionCall": {"name": name, "args": arguments}}], request, provider)


def _text(request: Request, provider: Provider, text: str) -> dict[str, Any]:
    match request.dialect:
        case "openai":
            return _openai({"content": text}, "stop", request, provider)
        case "anthropic":
            return _anthropic([{"type": "text", "text": text}], "end_turn", request, provider)
        case "gemini":
            return _gemini([{"text": text}], request, provider)


def _openai(message: dict[str, Any], why: str, request: Request, p: Provider) -> dict[str, Any]:
    return {
        "id": "completion",
        "object": "chat.completion",
        "created": 1,
        "model": request.model,
        "choices": [
            {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": why}
        ],
        "usage": {
            "prompt_tokens": p.input_tokens,
            "completion_tokens": p.output_tokens,
            "total_tokens": p.input_tokens + p.output_tokens,
            "prompt_tokens_details": {"cached_tokens": p.cached_tokens},
        },
    }


def _anthropic(content: list[Any], why: str, request: Request, p: Provider) -> dict[str, Any]:
    return {
        "id": "message",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": content,
        "stop_reason": why,
        "stop_sequence": None,
        "usage": {
            # this dialect counts cached tokens apart
            "input_tokens": p.input_tokens - p.cached_tokens,
            "output_tokens": p.output_tokens,
            "cache_read_input_tokens": p.cached_tokens,
            "cache_creation_input_tokens": 0,
        },
    }


def _events(message: dict[str, Any]) -> bytes:
    """An answer as the events of a stream, in the dialect that it is written in."""
    if message.get("object") == "chat.completion":
        return _chunks(message)
    if "candidates" in message:
        return f"data: {json.dumps(message)}\n\n".encode()
    usage = message["usage"]
    start = {**message, "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for index, part in enumerate(message["content"]):
        if part["type"] == "tool_use":
            empty = {**part, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
        else:
            empty = {**part, "text": ""}
            delta = {"type": "text_delta", "text": part["text"]}
        events += [
            {"type": "content_block_start", "index": index, "content_block": empty},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    why = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": why, "usage": usage})
    events.append({"type": "message_stop"})
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()


def _chunks(completion: dict[str, Any]) -> bytes:
    """A chat completion in chunks: its message, why it ended, what it cost."""
    (choice,) = completion["choices"]
    calls = [{"index": n, **c} for n, c in enumerate(choice["message"].get("tool_calls") or [])]
    delta = {**choice["message"], **({"tool_calls": calls} if calls else {})}
    whole = {**completion, "object": "chat.completion.chunk", "usage": None}
    chunks = [
        {**whole, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**whole, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
        {**whole, "choices": [], "usage": completion["usage"]},
    ]
    told = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"]
    return "".join(f"data: {each}\n\n" for each in told).encode()


def _gemini(parts: list[Any], request: Request, p: Provider) -> dict[str, Any]:
    return {
        "candidates": [
            {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {
            "promptTokenCount": p.input_tokens,
            "candidatesTokenCount": p.output_tokens,
            "totalTokenCount": p.input_tokens + p.output_tokens,
            "cachedContentTokenCount": p.cached_tokens,
        },
        "modelVersion": request.model,
        "responseId": "response",
    }


def _fault(code: int, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "made_up", "message": message, "code": code}}


@contextlib.contextmanager
def running() -> Iterator[Provider]:
    """A provider for the block."""
    provider = Provider()
    try:
        yield provider
    finally:
        provider.close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A scripted model provider of this test's own."""
    with running() as started:
        yield started
