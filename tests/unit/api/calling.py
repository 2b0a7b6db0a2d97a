"""The API in this process, and what its requests left behind."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import psycopg
from flask import Flask
from flask.testing import FlaskClient

from api.app import create_app
from jobs import dispatch
from storage import jobs as table
from storage.database import Scope, database
from storage.jobs import Ending
from tests.services import Services

MESSAGE = {"role": "user", "content": "I live in Utrecht."}


@functools.cache
def _app() -> Flask:
    return create_app()


def new_client() -> FlaskClient:
    """A client of the process's application."""
    return _app().test_client()


def traces(services: Services) -> dict[str, Any]:
    """How many rows of accepted work there are, and what waits in Redis."""
    dispatch.flush(5.0)
    with psycopg.connect(services.admin_url) as conn:
        rows = {
            name: conn.execute(f"select count(*) from {name}").fetchone()
            for name in ("space", "job", "job_event", "conversation")
        }
    with services.redis() as client:
        keys = sorted(key.decode() for key in client.keys("brainstem:*") if b"__" not in key)
    return {**rows, "redis": keys}


def claim(space_id: str, job_id: str, worker: str = "wrk-test") -> table.Job:
    """Take the job as a worker would."""
    with database().ledger() as tx:
        jobs = table.claim(tx, [job_id], worker, 60.0, isolated=True)
    dispatch.announce(jobs)
    assert [job.id for job in jobs] == [job_id]
    return jobs[0]


def finish(
    space_id: str,
    job_id: str,
    *,
    result: dict[str, Any] | None = None,
    error: dict[str, Any] | None = None,
) -> None:
    """End a claimed job as a worker would: succeeded with `result`, or failed with `error`."""
    state = "succeeded" if error is None else "failed"
    with database().transaction(Scope(space_id)) as tx:
        ending = Ending(job_id, result=result, disposition=None, available_seq=1)
        ended = table.end(tx, [ending], state, error=error)  # type: ignore[arg-type]
    dispatch.announce(ended)
    assert [job.id for job in ended] == [job_id]


def eventually(read: Callable[[], Any], seconds: float = 10.0) -> Any:
    """The first truthy answer of `read`; fails when none comes in time."""
    deadline = time.monotonic() + seconds
    while not (found := read()):
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)
    return found
