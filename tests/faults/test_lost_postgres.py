"""PostgreSQL killed or restarted under load: what was acknowledged is there, all of it ends."""

from __future__ import annotations

import pytest

from storage.errors import DatabaseUnavailable
from tests.services import wait_for


@pytest.mark.parametrize("mode", ["immediate", "kill"])
def test_a_crash_of_postgresql_under_load_costs_only_time(
    bench, worker, scheduler, fast, services, mode
):
    scheduler(env=fast)
    worker(env=fast)
    acknowledged = []
    for round_number in range(6):
        if round_number in (2, 4):
            services.restart_postgres(mode)
        try:
            acknowledged += bench.accept("noop", 25)
        except DatabaseUnavailable:
            continue
    assert len(acknowledged) >= 100
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
    wait_for(lambda: bench.accept("noop"), what="accepting again")
