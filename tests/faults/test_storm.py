"""The storm in the ordinary suite: half a minute of everything being killed, a fixed seed."""

from __future__ import annotations

import pytest

from tests.faults.storm import run_storm


def check(seed: int, seconds: float) -> None:
    said: list[str] = []
    verdict = run_storm(seed, seconds, said.append)
    assert verdict.clean, verdict.line()
    assert verdict.jobs > 100
    assert verdict.kills > 5
    assert verdict.observed > 10


@pytest.mark.timeout(420)
def test_half_a_minute_of_storm_loses_nothing_doubles_nothing_and_tells_no_lie():
    check(seed=20261130, seconds=30)


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_twenty_minutes_of_storm():
    check(seed=42, seconds=1200)
