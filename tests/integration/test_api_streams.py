"""Streams over a real server: Server-Sent Events, the WebSocket, and how they end."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import threading

import httpx2
import pytest
from simple_websocket import Client

from storage import jobs as table
from storage.database import database as process_database
from tests.services import ROOT, Api, free_port, wait_for
from tests.unit.api.calling import MESSAGE, claim, eventually, finish


@pytest.fixture(scope="module")
def _server(_services):
    """One server for the tests that neither stop it nor set anything: starting takes seconds."""
    port = free_port()
    settings = {"BRAINSTEM_PORT": str(port), "BRAINSTEM_API_PROCESSES": "1"}
    config = str(ROOT / "deploy" / "gunicorn_conf.py")
    arguments = ["-m", "gunicorn", "-c", config, "api.app:create_app()"]
    server = Api(_services.spawn("api", arguments, env=settings), f"http://127.0.0.1:{port}")
    try:
        server.wait_ready()
        yield server
    finally:
        server.close()


@pytest.fixture
def api(services, _server):
    return _server


def form(api, space):
    response = api.client.post(f"/v1/{space}/formation", json={"messages": [MESSAGE]})
    assert response.status_code == 200, response.text
    return response.json()["result"]["job"]


class Stream:
    """The frames of an event stream, as they come."""

    def __init__(self, response):
        self._lines = response.iter_lines()

    def next(self):
        """The next frame: event, id (or None) and data; None at the end of the stream."""
        found = {"event": None, "id": None, "data": None}
        for line in self._lines:
            if line == "" and found["event"]:
                return found["event"], found["id"], json.loads(found["data"])
            name, _, value = line.partition(": ")
            if name in found:
                found[name] = value
        return None


@contextlib.contextmanager
def events(api, space, job, **headers):
    path = f"/v1/{space}/jobs/{job}/events"
    with api.client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["Content-Type"].startswith("text/event-stream")
        assert response.headers["Cache-Control"] == "no-cache"
        yield Stream(response)


def test_a_stream_tells_each_transition_and_progress_and_ends(api, space):
    job = form(api, space)
    with events(api, space, job) as stream:
        event, first_id, data = stream.next()
        assert (event, data["event"]) == ("transition", "accepted")
        assert int(first_id) == data["id"]
        claimed = claim(space, job)
        event, second_id, data = stream.next()
        assert (event, data["event"]) == ("transition", "claimed")
        assert int(second_id) > int(first_id)
        with process_database().ledger() as tx:
            table.set_progress(tx, job, claimed.fence, {"done": 1, "total": 3})
        event, progress_id, data = stream.next()
        assert (event, progress_id) == ("progress", None)
        assert data["steps"] == {"done": 1, "total": 3}
        finish(space, job, result={"summary": "done"})
        event, third_id, data = stream.next()
        assert (event, data["event"]) == ("transition", "succeeded")
        event, end_id, data = stream.next()
        assert (event, end_id) == ("end", None)
        assert data["state"] == "succeeded"
        assert data["result"] == {"summary": "done"}
        assert stream.next() is None
    assert third_id is not None


def test_a_stream_resumes_after_the_last_event_that_the_client_has(api, space):
    job = form(api, space)
    with events(api, space, job) as stream:
        _, first_id, _ = stream.next()
    claim(space, job)
    with events(api, space, job, **{"Last-Event-ID": first_id}) as stream:
        _, second_id, data = stream.next()
        assert data["event"] == "claimed"
    finish(space, job, result={})
    with events(api, space, job, **{"Last-Event-ID": second_id}) as stream:
        _, third_id, data = stream.next()
        assert data["event"] == "succeeded"
        assert stream.next()[0] == "end"
        assert stream.next() is None
    path = f"/v1/{space}/jobs/{job}/events"
    done = api.client.get(path, headers={"Last-Event-ID": third_id})
    assert done.status_code == 204
    assert done.content == b""
    assert api.client.get(f"{path}?after={third_id}").status_code == 204
    with events(api, space, job) as stream:
        told = [stream.next()[2].get("event") for _ in range(3)]
        assert told == ["accepted", "claimed", "succeeded"]


@pytest.mark.parametrize("given", ["x", "-1", "1.5", "9" * 19 + "9", ""])
def test_a_last_event_id_that_is_none_is_refused(api, space, given):
    job = form(api, space)
    headers = {"Last-Event-ID": given}
    response = api.client.get(f"/v1/{space}/jobs/{job}/events", headers=headers)
    assert response.status_code == 400
    assert response.json()["data"]["field"] == "Last-Event-ID"


def test_head_of_a_stream_takes_no_place(start_api, space):
    api = start_api(env={"BRAINSTEM_API_STREAMS": "1"})
    job = form(api, space)
    for _ in range(3):
        response = api.client.head(f"/v1/{space}/jobs/{job}/events")
        assert response.status_code == 200
    with events(api, space, job) as stream:
        assert stream.next()[0] == "transition"


def test_beyond_the_cap_a_stream_is_refused_and_others_go_on_being_served(start_api, space):
    api = start_api(env={"BRAINSTEM_API_STREAMS": "2"})
    job = form(api, space)
    path = f"/v1/{space}/jobs/{job}/events"
    with events(api, space, job) as first, events(api, space, job) as second:
        assert first.next()
        assert second.next()
        refused = api.client.get(path)
        assert refused.status_code == 503
        assert refused.json()["data"]["code"] == "too_many_streams"
        assert int(refused.headers["Retry-After"]) >= 1
        assert api.client.get(f"/v1/{space}/jobs/{job}").status_code == 200
        claim(space, job)
        finish(space, job, result={})
        assert [first.next()[0] for _ in range(3)] == ["transition", "transition", "end"]
    # a place comes back as soon as its stream has ended
    wait_for(lambda: api.client.get(path).status_code == 200, what="a free place")


def test_a_client_that_goes_away_gives_its_place_back(start_api, space):
    api = start_api(env={"BRAINSTEM_API_STREAMS": "1"})
    job = form(api, space)
    with events(api, space, job) as stream:
        assert stream.next()
    # the server notices at its next write: the claim
    claim(space, job)
    finish(space, job, result={})
    path = f"/v1/{space}/jobs/{job}/events"
    wait_for(lambda: api.client.get(path).status_code == 200, what="a free place")


def test_open_streams_hold_no_database_connection(start_api, space):
    api = start_api(env={"BRAINSTEM_API_POOL_SIZE": "1"})
    job = form(api, space)
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(events(api, space, job)) for _ in range(6)]
        assert all(stream.next() for stream in streams)
        assert api.client.get(f"/v1/{space}/jobs/{job}").status_code == 200
        claim(space, job)
        assert [stream.next()[2]["event"] for stream in streams] == ["claimed"] * 6


def test_a_stream_outlives_a_restart_of_the_database(api, space, services):
    job = form(api, space)
    with events(api, space, job) as stream:
        assert stream.next()
        services.restart_postgres("immediate")
        eventually(lambda: api.client.get(f"/v1/{space}/jobs/{job}").status_code == 200)
        claim(space, job)
        assert stream.next()[2]["event"] == "claimed"


def test_streams_end_when_the_server_is_told_to_stop(start_api, space):
    api = start_api()
    job = form(api, space)
    with events(api, space, job) as stream:
        assert stream.next()
        api.process.popen.send_signal(signal.SIGTERM)
        # a stream that gunicorn cuts off has no last chunk, and reading it would raise
        assert stream.next() is None
    api.process.wait(20)


def socket_of(api, space, **headers):
    url = api.base_url.replace("http", "ws") + f"/v1/{space}/jobs/watch"
    return Client.connect(url, headers=headers)


def next_state(ws, job):
    while True:
        text = ws.receive(timeout=10)
        assert text is not None, "no message came"
        message = json.loads(text)
        if message["job"]["id"] == job:
            assert message["type"] == "job"
            return message["job"]["state"]


def test_the_websocket_tells_of_each_job_of_its_space(api, space):
    other = f"{space}_other"
    body = {"user": "a", "space_id": other, "tier": 0}
    assert api.client.post("/admin/create_space", json=body).status_code == 200
    ws = socket_of(api, space)
    foreign = form(api, other)
    job = form(api, space)
    assert next_state(ws, job) == "accepted"
    claim(space, job)
    assert next_state(ws, job) == "running"
    finish(space, job, result={})
    assert next_state(ws, job) == "succeeded"
    claim(other, foreign)
    second = form(api, space)
    text = json.loads(ws.receive(timeout=10))
    assert text["job"]["id"] == second
    assert text["job"]["receipt"]["space_id"] == space
    ws.close()


def handshake(api, path, **headers):
    """The first line and body of the answer to a WebSocket handshake."""
    host = api.base_url.removeprefix("http://")
    lines = {
        "Host": host,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        **headers,
    }
    name, port = host.split(":")
    with socket.create_connection((name, int(port)), timeout=10) as raw:
        head = "".join(f"{key}: {value}\r\n" for key, value in lines.items() if value)
        raw.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer or answer.startswith(b"HTTP/1.1 1") is False:
            got = raw.recv(65536)
            if not got:
                break
            answer += got
            if b'"data"' in answer:
                break
    return answer.decode()


@pytest.mark.parametrize(
    ("space_id", "headers", "status", "code"),
    [
        ("nowhere", {}, 404, "not_found"),
        ("_system", {}, 400, "invalid_input"),
        (None, {"Origin": "http://evil.example"}, 403, "foreign_origin"),
        (None, {"Host": "evil.example"}, 403, "foreign_origin"),
        (None, {"Shard-Id": "7"}, 400, "wrong_shard"),
        (None, {"Sec-WebSocket-Key": None}, 400, "invalid_input"),
        (None, {"Sec-WebSocket-Version": "99"}, 400, "invalid_input"),
        (None, {"Connection": "keep-alive"}, 426, "upgrade_required"),
    ],
)
def test_a_handshake_that_is_not_admitted_gets_an_error(
    api, space, space_id, headers, status, code
):
    answer = handshake(api, f"/v1/{space_id or space}/jobs/watch", **headers)
    assert answer.startswith(f"HTTP/1.1 {status} ")
    assert f'"code":"{code}"' in answer


def test_without_an_upgrade_the_watch_route_asks_for_one(api, space):
    response = api.client.get(f"/v1/{space}/jobs/watch")
    assert response.status_code == 426
    assert response.json()["data"]["code"] == "upgrade_required"


def test_a_websocket_holds_a_place_until_it_is_closed(start_api, space):
    api = start_api(env={"BRAINSTEM_API_STREAMS": "1"})
    job = form(api, space)
    path = f"/v1/{space}/jobs/{job}/events"
    ws = socket_of(api, space)
    assert api.client.get(path).status_code == 503
    assert handshake(api, f"/v1/{space}/jobs/watch").startswith("HTTP/1.1 503 ")
    ws.close()

    def free():
        with api.client.stream("GET", path) as response:
            return response.status_code == 200

    wait_for(free, what="a free place")


def test_a_waiting_recall_is_woken_by_the_end_of_its_job(api, space):
    found = {}

    def ask():
        with httpx2.Client(base_url=api.base_url, timeout=60) as client:
            found["response"] = client.post(f"/v1/{space}/recall", json={"query": "x"})

    asking = threading.Thread(target=ask)
    asking.start()
    listed = f"/v1/{space}/jobs?kind=recall"
    job = eventually(lambda: api.client.get(listed).json()["result"])[0]["id"]
    claim(space, job)
    finish(space, job, result={"content": "Here."})
    asking.join(20)
    assert found["response"].json()["result"]["content"] == "Here."


def test_a_chunked_body_over_the_limit_is_413(start_api, space):
    api = start_api(env={"BRAINSTEM_MAX_BODY_BYTES": "2000"})

    def chunks():
        for _ in range(50):
            yield b" " * 100

    headers = {"Content-Type": "application/json"}
    response = api.client.post(f"/v1/{space}/formation", content=chunks(), headers=headers)
    assert response.status_code == 413
    assert response.json()["data"]["code"] == "too_large"
    ok = api.client.post(
        f"/v1/{space}/formation",
        content=iter([b'{"messages": [{"role": "user", ', b'"content": "In two chunks."}]}']),
        headers=headers,
    )
    assert ok.status_code == 200


def test_a_huge_body_is_refused_without_breaking_the_server(start_api, space):
    api = start_api(env={"BRAINSTEM_MAX_BODY_BYTES": "2000"})
    headers = {"Content-Type": "application/json"}
    body = b" " * 3_000_000
    # the server may answer before it has read all, and close: both are a refusal
    with contextlib.suppress(httpx2.TransportError):
        response = api.client.post(f"/v1/{space}/formation", content=body, headers=headers)
        assert response.status_code == 413
    with httpx2.Client(base_url=api.base_url, timeout=60) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get(f"/v1/{space}/jobs").json()["result"] == []
