"""Fixtures that every test may use; `tests/services.py` says what they give.

- `services`  the session's PostgreSQL and Valkey, migrated: `database_url`, `admin_url`,
              `redis_url`, `data`, `redis()`, `restart_postgres(mode)`, `stop_redis()`,
              `kill_redis(forget=…)`, `start_redis()`; mended after each test that used it
- `database`  this process's `storage.database.Database` on those services
- `space`     the id of a new, empty space
- `clean`     all tables as the migrations left them, Valkey empty, before the test
- `worker`, `scheduler`  start a real process: `worker(queues="memory", threads=2, env={…})`
- `api`       a real gunicorn: `api.base_url`, `api.client` (httpx2)
- `shared_api`  the same, one for the whole session: quicker, for tests that leave it as it is
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Mapping

import pytest

from storage import spaces
from storage.database import Database
from storage.database import database as process_database
from tests.providers import provider as provider
from tests.services import Api, Process, Services, running_api, started_services


@pytest.fixture(scope="session")
def _services() -> Iterator[Services]:
    with started_services() as services:
        yield services


@pytest.fixture
def services(_services: Services) -> Iterator[Services]:
    """The session's servers, running again after the test whatever it did to them."""
    yield _services
    _services.mend()


@pytest.fixture
def database(services: Services) -> Database:
    """The process's database, on the session's server."""
    return process_database()


@pytest.fixture
def clean(services: Services) -> None:
    """Nothing in the database and in Valkey but what the migrations put there."""
    services.clear()


@pytest.fixture
def space(database: Database) -> str:
    """A new space that no other test knows."""
    space_id = f"test_{uuid.uuid4().hex[:16]}"
    with database.transaction(spaces.scope_of(space_id)) as tx:
        spaces.create(tx, spaces.scope_of(space_id), owner="anonymous")
    return space_id


@pytest.fixture
def _processes(services: Services) -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def worker(services: Services, _processes: contextlib.ExitStack) -> Callable[..., Process]:
    """Start `python -m jobs.worker`; every one is killed when the test ends."""

    def start(
        *,
        queues: str = "interactive,memory",
        threads: int = 4,
        env: Mapping[str, str] | None = None,
    ) -> Process:
        arguments = ["-m", "jobs.worker", "--queues", queues, "--threads", str(threads)]
        process = services.spawn("worker", arguments, env=env)
        _processes.callback(process.close)
        return process

    return start


@pytest.fixture
def scheduler(services: Services, _processes: contextlib.ExitStack) -> Callable[..., Process]:
    """Start `python -m jobs.scheduler`; every one is killed when the test ends."""

    def start(*, env: Mapping[str, str] | None = None) -> Process:
        process = services.spawn("scheduler", ["-m", "jobs.scheduler"], env=env)
        _processes.callback(process.close)
        return process

    return start


@pytest.fixture(scope="session")
def _shared_api(_services: Services) -> Iterator[Api]:
    with running_api(_services) as api:
        yield api


@pytest.fixture
def shared_api(services: Services, _shared_api: Api) -> Api:
    """One API process for all tests that need no other settings and leave it running."""
    _shared_api.wait_ready()
    return _shared_api


@pytest.fixture
def start_api(services: Services, _processes: contextlib.ExitStack) -> Callable[..., Api]:
    """Start a gunicorn with its own settings; every one is ended when the test ends."""

    def start(*, env: Mapping[str, str] | None = None) -> Api:
        return _processes.enter_context(running_api(services, env))

    return start


@pytest.fixture
def api(start_api: Callable[..., Api]) -> Api:
    """One running API process."""
    return start_api()
