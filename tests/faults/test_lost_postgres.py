"""PostgreSQL killed or restarted under load: what was acknowledged is there, all of it ends."""

from __future__ import annotations

import pytest

from storage.errors import DatabaseUnavailable
from storage.jobs import Job
from tests.faults.conftest import Bench
from tests.services import wait_for


def accepted(bench: Bench, count: int = 1) -> list[Job]:
    """Jobs that were accepted; none while pools have not noticed that PostgreSQL is back."""
    try:
        return bench.accept("noop", count)
    except DatabaseUnavailable:
        return []


@pytest.mark.parametrize("mode", ["immediate", "kill"])
def test_a_crash_of_postgresql_under_load_costs_only_time(
    bench, worker, scheduler, fast, services, mode
):
    scheduler(env=fast)
    worker(env=fast)
    acknowledged = []

    def take() -> bool:
        jobs = accepted(bench, 25)
        acknowledged.extend(jobs)
        return bool(jobs)

    for round_number in range(6):
        if round_number in (2, 4):
            services.restart_postgres(mode)
        wait_for(take, seconds=60.0, what="accepting")
    ended = bench.wait_ended(acknowledged, seconds=60)
    assert {job.state for job in ended} == {"succeeded"}
    assert {job.deaths for job in ended} == {0}
    for job in ended:
        assert bench.history(job).count("succeeded") == 1


def test_accepting_says_unavailable_while_postgresql_is_away_and_works_afterwards(
    bench, fast, services
):
    bench.accept("noop")
    services.stop_postgres("immediate")
    with pytest.raises(DatabaseUnavailable):
        bench.accept("noop")
    services.start_postgres()
    wait_for(lambda: accepted(bench), seconds=60.0, what="accepting again")
