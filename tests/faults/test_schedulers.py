"""Schedules under faults: one job per tick, whoever leads and whoever crashes (BUG-022)."""

from __future__ import annotations

from datetime import timedelta

from jobs import schedule
from storage.principals import system
from tests.services import wait_for


def add(bench, name: str, catch_up: str = "once") -> None:
    with bench.database.ledger() as tx:
        schedule.add(tx, name, "* * * * *", "noop", space_id=bench.space, catch_up=catch_up)


def make_due(bench, name: str, *, minutes_ago: int = 0) -> None:
    with bench.database.ledger() as tx:
        tx.execute(
            "update schedule set next_due = date_trunc('minute', now()) - make_interval(mins => %s)"
            " where name = %s",
            (minutes_ago, name),
        )


def ticks(bench) -> list[str]:
    with bench.database.ledger() as tx:
        rows = tx.execute(
            "select idem_key from job where space_id = %s and principal = %s order by seq",
            (bench.space, system(bench.space).subject),
        )
        return [row[0] for row in rows]


def test_two_schedulers_fire_each_tick_once(bench, scheduler, fast):
    add(bench, f"each-{bench.space}")
    for _ in range(2):
        scheduler(env=fast)
    make_due(bench, f"each-{bench.space}")
    wait_for(lambda: len(ticks(bench)) == 1, what="the tick")
    # the same tick again, as a scheduler with an old view would see it
    make_due(bench, f"each-{bench.space}")
    with bench.database.ledger() as tx:
        schedule.tick(tx)
    assert len(set(ticks(bench))) == len(ticks(bench)) == 1


def test_a_leader_killed_in_the_middle_of_a_tick_leaves_it_to_its_successor(bench, scheduler, fast):
    add(bench, f"killed-{bench.space}")
    make_due(bench, f"killed-{bench.space}")
    first = scheduler(env={**fast, "BRAINSTEM_FAILPOINTS": "before_tick_commit=kill"})
    wait_for(lambda: not first.alive, what="the leader's death")
    assert ticks(bench) == []
    scheduler(env=fast)
    wait_for(lambda: len(ticks(bench)) == 1, what="the tick")


def test_a_stopped_leader_is_followed_by_another(bench, scheduler, fast):
    add(bench, f"stopped-{bench.space}")
    first = scheduler(env=fast)
    first.wait_for_output("scheduler.leads")
    second = scheduler(env=fast)
    first.stop()
    second.wait_for_output("scheduler.leads")
    make_due(bench, f"stopped-{bench.space}")
    wait_for(lambda: len(ticks(bench)) == 1, what="the tick")
    first.cont()
    first.wait_for_output("scheduler.follows")
    assert len(ticks(bench)) == 1


def test_downtime_gives_one_run_or_none_by_policy_and_never_three(bench, scheduler, fast):
    once, skip = f"once-{bench.space}", f"skip-{bench.space}"
    add(bench, once, "once")
    add(bench, skip, "skip")
    make_due(bench, once, minutes_ago=30)
    make_due(bench, skip, minutes_ago=30)
    # the minute that runs now would be a tick of its own; leave only the missed ones
    with bench.database.ledger() as tx:
        tx.execute("update schedule set cron = '0 0 1 1 *' where name = any(%s)", ([once, skip],))
        jobs = schedule.tick(tx)
        rows = dict(
            tx.execute(
                "select name, last_job is not null from schedule where name = any(%s)",
                ([once, skip],),
            ).fetchall()
        )
    assert len(jobs) == 1
    assert rows == {once: True, skip: False}


def test_due_times_come_from_the_database(bench, scheduler, fast):
    add(bench, f"clock-{bench.space}")
    make_due(bench, f"clock-{bench.space}")
    with bench.database.ledger() as tx:
        [job] = [job for job in schedule.tick(tx) if job.space_id == bench.space]
        row = tx.execute("select date_trunc('minute', now())").fetchone()
    assert job.available_at - row[0] <= timedelta(minutes=1)
