"""Cron times: zones, daylight saving, aliases, refusals, catch-up and jitter."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import schedule
from jobs.schedule import next_tick
from storage.errors import InvalidInput
from storage.schedules import Schedule


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def ticks(cron: str, zone: str, start: str, count: int) -> list[datetime]:
    found, moment = [], at(start)
    for _ in range(count):
        moment = next_tick(cron, zone, moment)
        found.append(moment)
    return found


def test_a_cron_time_is_read_in_the_schedules_zone():
    assert next_tick("0 9 * * *", "Asia/Shanghai", at("2026-06-01T00:00")) == at("2026-06-01T01:00")


def test_a_time_that_daylight_saving_skips_fires_at_the_end_of_the_gap():
    # in New York 02:00-03:00 does not exist on 2026-03-08
    assert ticks("30 2 * * *", "America/New_York", "2026-03-07T12:00", 2) == [
        at("2026-03-08T07:00"),
        at("2026-03-09T06:30"),
    ]


def test_a_time_that_occurs_twice_fires_once():
    # in Berlin 02:00-03:00 occurs twice on 2026-10-25
    found = ticks("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", 2)
    assert found == [at("2026-10-25T00:30"), at("2026-10-26T01:30")]


def test_hourly_ticks_go_through_a_change_without_gap_or_double():
    found = ticks("0 * * * *", "Europe/Berlin", "2026-10-24T22:30", 5)
    assert [later - earlier for earlier, later in itertools.pairwise(found)] == [
        timedelta(hours=1)
    ] * 4


def test_aliases_mean_what_people_expect():
    assert next_tick("@daily", "UTC", at("2026-01-01T05:00")) == at("2026-01-02T00:00")
    assert next_tick("@hourly", "UTC", at("2026-01-01T05:10")) == at("2026-01-01T06:00")


@pytest.mark.parametrize("cron", ["", "nonsense", "* * * *", "0 0 31 2 *", "60 * * * *", "@never"])
def test_an_expression_that_cannot_be_read_or_never_falls_due_is_refused(cron):
    with pytest.raises(InvalidInput) as caught:
        next_tick(cron, "UTC", at("2026-01-01T00:00"))
    assert caught.value.data["field"] == "cron"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../../etc/passwd", "UTC\0"])
def test_an_unknown_zone_is_refused(zone):
    with pytest.raises(InvalidInput) as caught:
        next_tick("* * * * *", zone, at("2026-01-01T00:00"))
    assert caught.value.data["field"] == "timezone"


def made(catch_up: str, due: datetime, *, jitter: int = 0) -> Schedule:
    return Schedule(
        id="sch-1",
        name="n",
        space_id="s",
        cron="*/5 * * * *",
        timezone="UTC",
        kind="noop",
        payload={},
        catch_up=catch_up,
        jitter_seconds=jitter,
        paused=False,
        next_due=due,
        last_due=None,
        last_job=None,
        created_at=due,
    )


def test_after_a_downtime_the_latest_missed_tick_runs_once_or_not_at_all():
    due, now = at("2026-01-01T00:00"), at("2026-01-03T12:03:30")
    assert schedule._due_tick(made("once", due), now) == at("2026-01-03T12:00")
    assert schedule._due_tick(made("skip", due), now) is None


def test_a_tick_that_is_only_a_little_late_runs_under_either_policy():
    due, now = at("2026-01-01T00:05"), at("2026-01-01T00:05:40")
    assert schedule._due_tick(made("once", due), now) == due
    assert schedule._due_tick(made("skip", due), now) == due


@given(st.integers(1, 86400), st.integers(0, 10**6))
def test_jitter_is_the_same_on_every_scheduler_and_within_its_range(seconds, minute):
    one = made("once", at("2026-01-01T00:00"), jitter=seconds)
    due = at("2026-01-01T00:00") + timedelta(minutes=minute)
    delay = schedule.jitter(one, due)
    assert 0 <= delay < seconds
    assert delay == schedule.jitter(one, due)


@given(
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia"]),
    st.datetimes(datetime(2000, 1, 1), datetime(2037, 1, 1)),
)
def test_the_next_tick_always_lies_ahead(zone, moment):
    start = moment.replace(tzinfo=UTC)
    assert next_tick("*/7 3 * * *", zone, start) > start
