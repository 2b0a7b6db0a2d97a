"""How much is let in at once: plain refusals beyond it, and places that come back."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from api.app import FAMILIES
from api.limits import MODEL_ROUTES, ModelPlaces
from tests.services import Api, Services, running_api, wait_for
from tests.unit.api.calling import claim, finish


@pytest.fixture(scope="module")
def narrow(_services: Services) -> Iterator[Api]:
    """Two processes that let in two requests for models between them."""
    env = {"LLM_MAX_CONCURRENCY": "2", "BRAINSTEM_API_PROCESSES": "2"}
    with running_api(_services, env) as api:
        yield api


@contextlib.contextmanager
def waiting(services: Services, api: Api, space: str, count: int) -> Iterator[list[Any]]:
    """Recalls that wait for their answers, which nobody works on; ended at exit."""
    with (
        ThreadPoolExecutor(count) as pool,
        httpx2.Client(base_url=api.base_url, timeout=60.0) as client,
    ):
        asked: list[Future[httpx2.Response]] = [
            pool.submit(client.post, f"/v1/{space}/recall", json={"query": f"who is {n}?"})
            for n in range(count)
        ]
        try:
            wait_for(lambda: len(jobs(services, space)) == count, what="the recalls' jobs")
            yield asked
        finally:
            for number in jobs(services, space):
                api.client.post(f"/v1/{space}/jobs/{number}/cancel")
            assert {each.result(60).status_code for each in asked} <= {200, 202}


def jobs(services: Services, space: str) -> list[str]:
    """The open jobs of a space."""
    with psycopg.connect(services.admin_url) as conn:
        rows = conn.execute(
            "select id from job where space_id = %s and state = 'accepted'", (space,)
        ).fetchall()
    return [row[0] for row in rows]


def recall(api: Api, space: str, **headers: str) -> httpx2.Response:
    """A recall that does not wait."""
    return api.client.post(
        f"/v1/{space}/recall",
        json={"query": "anything?"},
        headers={"Prefer": "respond-async", **headers},
    )


def refused(response: httpx2.Response, status: int) -> None:
    """It is plain text that says when to come back, whatever was asked for."""
    assert response.status_code == status
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert int(response.headers["Retry-After"]) >= 1
    assert response.headers["X-Request-Id"]
    assert "try again" in response.text


def test_requests_for_models_beyond_the_limit_are_refused_by_every_process(
    narrow: Api, space: str, services: Services
) -> None:
    with waiting(services, narrow, space, 2):
        for n in range(12):
            # a new connection each time, so that both processes are asked
            with httpx2.Client(base_url=narrow.base_url) as client:
                media = ("application/json", "application/cbor", "text/markdown")[n % 3]
                answer = client.post(
                    f"/v1/{space}/recall", json={"query": "x"}, headers={"Accept": media}
                )
            refused(answer, 429)
        refused(narrow.client.post(f"/v1/{space}/memory", json={}), 429)
        # what asks no model is served on
        assert narrow.client.get(f"/v1/{space}/info").status_code == 200
        said = {"messages": [{"role": "user", "content": "I live in Utrecht."}]}
        assert narrow.client.post(f"/v1/{space}/formation", json=said).status_code == 200
        assert len([job for job in jobs(services, space)]) == 3
    assert recall(narrow, space).status_code == 202


def test_a_refused_request_leaves_no_trace(narrow: Api, space: str, services: Services) -> None:
    with waiting(services, narrow, space, 2):
        before = jobs(services, space)
        refused(recall(narrow, space, **{"Idempotency-Key": "later"}), 429)
        assert jobs(services, space) == before
    first = recall(narrow, space, **{"Idempotency-Key": "later"})
    assert first.status_code == 202


def test_the_places_of_a_killed_process_come_back(services: Services, space: str) -> None:
    env = {"LLM_MAX_CONCURRENCY": "1", "BRAINSTEM_API_PROCESSES": "1"}
    with running_api(services, env) as api, ThreadPoolExecutor(1) as pool:
        lost = pool.submit(
            httpx2.post, f"{api.base_url}/v1/{space}/recall", json={"query": "x"}, timeout=60.0
        )
        wait_for(lambda: jobs(services, space), what="the recall's job")
        refused(recall(api, space), 429)
        children = Path(f"/proc/{api.process.pid}/task/{api.process.pid}/children")
        for pid in children.read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        with pytest.raises(httpx2.HTTPError):
            lost.result(60)
        api.client.close()
        api.client = httpx2.Client(base_url=api.base_url, timeout=60.0)
        api.wait_ready()
        assert recall(api, space).status_code == 202


def test_beyond_what_a_process_serves_everything_but_probes_is_refused(
    services: Services, space: str
) -> None:
    with running_api(services, {"BRAINSTEM_API_REQUESTS": "3"}) as api:
        with waiting(services, api, space, 2):
            # the third place is the stream's, as long as it is open
            number = jobs(services, space)[0]
            with api.client.stream("GET", f"/v1/{space}/jobs/{number}/events") as stream:
                assert stream.status_code == 200
                for path in ("/info", f"/v1/{space}/info", "/openapi.json", "/nowhere"):
                    refused(api.client.get(path), 503)
                for path in ("/healthz", "/readyz", "/metrics"):
                    assert api.client.get(path).status_code == 200
                # the end of its job ends the stream, which gives its place back
                claim(space, number)
                finish(space, number, result={})
                assert "succeeded" in stream.read().decode()
            wait_for(lambda: api.client.get("/info").status_code == 200, what="a place")
        for _ in range(8):
            assert api.client.get("/info").status_code == 200


def test_places_are_counted_within_a_process_too() -> None:
    places = ModelPlaces()
    taken = [places.take(3) for _ in range(4)]
    assert sorted(place for place in taken if place is not None) == [0, 1, 2]
    places.leave(1)
    assert places.take(3) == 1
    assert places.take(3) is None


def test_the_document_says_which_routes_may_be_refused_so(shared_api: Api) -> None:
    served = {operation.path for family in FAMILIES for operation in family.operations}
    assert served >= MODEL_ROUTES
    paths = shared_api.client.get("/openapi.json").json()["paths"]
    for path, methods in paths.items():
        for method, operation in methods.items():
            told = operation["responses"]
            limited = path.replace("{", "<").replace("}", ">") in MODEL_ROUTES
            probing = path in ("/healthz", "/readyz", "/metrics")
            assert ("text/plain" in told.get("429", {}).get("content", {})) is limited, path
            plain = "text/plain" in told.get("503", {}).get("content", {})
            assert plain is not probing or path == "/metrics", (method, path)
