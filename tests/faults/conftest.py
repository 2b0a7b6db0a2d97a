"""Short leases for fault tests, and the questions that they all ask the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from jobs import dispatch, ledger
from storage import jobs as table
from storage.database import Database, Scope
from storage.errors import DatabaseUnavailable
from storage.jobs import Job
from storage.principals import anonymous
from storage.settings import reload
from tests.services import Services, wait_for

#: Leases, heartbeats and sweeps short enough to wait for.
FAST = {
    "BRAINSTEM_LEASE_SECONDS": "1.5",
    "BRAINSTEM_HEARTBEAT_SECONDS": "0.4",
    "BRAINSTEM_SWEEP_SECONDS": "0.3",
    "BRAINSTEM_RETRY_BASE_SECONDS": "0.1",
    "BRAINSTEM_SHUTDOWN_SECONDS": "3",
}


class Bench:
    """Accepts jobs in one space and reads what became of them."""

    def __init__(self, database: Database, services: Services, space: str) -> None:
        self.database, self.services, self.space = database, services, space
        self.scope = Scope(space)

    def accept(self, kind: str = "noop", count: int = 1, **options: Any) -> list[Job]:
        """Accept and announce `count` jobs."""
        payload = options.pop("payload", {})
        with self.database.transaction(self.scope) as tx:
            jobs = [
                ledger.accept(tx, anonymous(self.space), kind, payload, **options).job
                for _ in range(count)
            ]
        dispatch.announce(jobs)
        return jobs

    def read(self, job: Job) -> Job:
        """The job as it is now."""
        with self.database.transaction(self.scope) as tx:
            return ledger.get(tx, self.scope, job.id)

    def history(self, job: Job) -> list[str]:
        """The names of its events."""
        with self.database.transaction(self.scope) as tx:
            return [event.event for event in table.events(tx, self.scope, job.id)]

    def wait_ended(self, jobs: Sequence[Job], *, seconds: float = 30.0) -> list[Job]:
        """Wait until all have ended."""
        ids = [job.id for job in jobs]

        def ended() -> bool:
            try:
                with self.database.ledger() as tx:
                    row = tx.execute(
                        "select count(*) from job where id = any(%s) and finished_at is not null",
                        (ids,),
                    ).fetchone()
            except DatabaseUnavailable:
                return False
            return row == (len(ids),)

        wait_for(ended, seconds=seconds, what=f"the end of {len(ids)} jobs")
        return [self.read(job) for job in jobs]

    def wait_state(self, job: Job, state: str, *, seconds: float = 20.0) -> Job:
        """Wait until the job is in that state."""
        wait_for(
            lambda: self.read(job).state == state, seconds=seconds, what=f"{job.id} to be {state}"
        )
        return self.read(job)


@pytest.fixture(autouse=True)
def _alone(clean: None) -> None:
    """No work that other tests left: workers under test would take it first."""


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch, services: Services) -> dict[str, str]:
    """Short times for this process too, and as environment of those that a test starts."""
    for name, value in FAST.items():
        monkeypatch.setenv(name, value)
    reload()
    yield FAST
    monkeypatch.undo()
    reload()


@pytest.fixture
def bench(database: Database, services: Services, space: str, fast: dict[str, str]) -> Bench:
    """A bench on a new space."""
    return Bench(database, services, space)


@pytest.fixture
def hold(tmp_path: Path) -> Callable[[str], tuple[str, Path]]:
    """Make a `hold` action: its text, and the file that shows (and ends) the hold."""

    def make(name: str) -> tuple[str, Path]:
        path = tmp_path / name
        return f"hold:{path}", path

    return make
