"""kill -9 at every named place, poison, zombies and orderly ends: nothing lost, nothing twice."""

from __future__ import annotations

import pytest

from jobs.broker import LedgerBroker, message_of
from jobs.failpoints import NAMES
from tests.services import wait_for

KILL_PLACES = [name for name in NAMES if name not in ("after_batch", "before_tick_commit")]


@pytest.mark.parametrize("place", KILL_PLACES)
def test_a_worker_killed_at_any_place_costs_only_time(bench, worker, scheduler, fast, place):
    worker(env={**fast, "BRAINSTEM_FAILPOINTS": f"{place}/noop=kill"})
    scheduler(env=fast)
    [job] = bench.accept("noop")
    wait_for(lambda: bench.read(job).attempt >= 1, what="the first claim")
    worker(env=fast)
    [ended] = bench.wait_ended([job])
    assert ended.state == "succeeded"
    history = bench.history(job)
    assert history.count("succeeded") == 1
    if place == "after_commit_before_ack":
        assert history == ["accepted", "claimed", "succeeded"]
    else:
        assert history == ["accepted", "claimed", "lease_expired", "claimed", "succeeded"]


def test_bug_006_a_crash_does_not_hold_up_the_lane(bench, worker, scheduler, fast, hold):
    action, path = hold("maintenance")
    first = worker(
        queues="system", env={**fast, "BRAINSTEM_FAILPOINTS": f"after_claim/retention={action}"}
    )
    scheduler(env=fast)
    held, later = bench.accept("retention", 2)
    wait_for(path.exists, what="the first job to be held")
    first.kill9()
    path.unlink()
    worker(queues="system", env=fast)
    ended = bench.wait_ended([held, later])
    assert [job.state for job in ended] == ["succeeded", "succeeded"]
    assert bench.history(held) == [
        "accepted",
        "claimed",
        "lease_expired",
        "claimed",
        "succeeded",
    ]
    assert ended[0].finished_at < ended[1].claimed_at


def test_a_job_that_kills_its_worker_each_time_is_ended_and_others_go_on(
    bench, worker, scheduler, fast
):
    deadly = {**fast, "BRAINSTEM_FAILPOINTS": "after_claim/retention=exit"}
    workers = [worker(queues="system,interactive", env=deadly) for _ in range(2)]
    scheduler(env=fast)
    [poison] = bench.accept("retention")

    def keep_workers() -> bool:
        for number, process in enumerate(workers):
            if not process.alive:
                workers[number] = worker(queues="system,interactive", env=deadly)
        return bench.read(poison).terminal

    innocents = bench.accept("noop", 40)
    wait_for(keep_workers, seconds=40, what="the end of the poison job")
    failed = bench.read(poison)
    assert failed.state == "failed"
    assert failed.error["code"] == "poisoned"
    assert failed.deaths == 3
    assert {job.state for job in bench.wait_ended(innocents)} == {"succeeded"}


def test_an_operator_can_restart_a_poisoned_job(bench, worker, scheduler, fast):
    from jobs import dispatch, ledger
    from storage.principals import anonymous

    scheduler(env=fast)
    deadly = worker(
        queues="system", env={**fast, "BRAINSTEM_FAILPOINTS": "after_claim/retention=exit"}
    )
    [job] = bench.accept("retention")
    wait_for(lambda: not deadly.alive, what="the worker's death")
    with bench.database.ledger() as tx:
        tx.execute("update job set deaths = 2 where id = %s", (job.id,))
    worker(queues="system", env={**fast, "BRAINSTEM_FAILPOINTS": "after_claim/retention=exit"})
    [failed] = bench.wait_ended([job])
    assert failed.error["code"] == "poisoned"
    with bench.database.transaction(bench.scope) as tx:
        restarted = ledger.retry(tx, anonymous(bench.space), job.id).job
    dispatch.announce([restarted])
    worker(queues="system", env=fast)
    wait_for(lambda: bench.read(restarted).terminal, what="the end of the restarted job")
    assert bench.read(restarted).state == "succeeded"
    assert bench.read(job) == failed


def test_a_zombie_that_wakes_after_its_lease_commits_nothing(bench, worker, scheduler, fast, hold):
    action, path = hold("before")
    zombie = worker(env={**fast, "BRAINSTEM_FAILPOINTS": f"before_commit/noop={action}*1"})
    scheduler(env=fast)
    [job] = bench.accept("noop")
    wait_for(path.exists, what="the job to stand before its commit")
    zombie.stop()
    worker(env=fast)
    [ended] = bench.wait_ended([job])
    path.unlink()
    zombie.cont()
    zombie.wait_for_output("job.lease_lost")
    assert bench.read(job) == ended
    assert ended.fence == 2
    assert bench.history(job).count("succeeded") == 1


def test_fifty_deliveries_of_one_job_are_one_run(bench, worker, fast, services):
    [job] = bench.accept("noop")
    broker = LedgerBroker()
    sent = bench.wait_state(job, "accepted")
    wait_for(lambda: bench.read(job).dispatched_at is not None, what="the first sending")
    sent = bench.read(job)
    for _ in range(50):
        broker.enqueue(message_of("noop", "interactive", [sent]))
    worker(env=fast)
    bench.wait_ended([job])
    wait_for(
        lambda: broker.client.llen(f"{broker.namespace}:interactive") == 0, what="an empty queue"
    )
    old = bench.read(job)
    broker.enqueue(message_of("noop", "interactive", [sent]))
    again = bench.accept("noop")
    bench.wait_ended(again)
    assert bench.read(job) == old
    assert bench.history(job) == ["accepted", "claimed", "succeeded"]


def test_sigterm_lets_a_running_job_finish(bench, worker, fast, hold):
    action, path = hold("running")
    process = worker(env={**fast, "BRAINSTEM_FAILPOINTS": f"before_commit/noop={action}"})
    [job] = bench.accept("noop")
    wait_for(path.exists, what="the job to run")
    process.terminate()
    process.wait_for_output("worker.stopping")
    path.unlink()
    assert process.wait() == 0
    assert bench.read(job).state == "succeeded"
    with bench.database.ledger() as tx:
        rows = tx.execute(
            "select stopped_at is not null from worker where pid = %s", (process.pid,)
        )
        assert rows.fetchone() == (True,)


def test_sigterm_gives_back_what_does_not_finish_in_time(bench, worker, fast, hold):
    action, path = hold("stuck")
    process = worker(
        env={
            **fast,
            "BRAINSTEM_SHUTDOWN_SECONDS": "0.3",
            "BRAINSTEM_FAILPOINTS": f"after_claim/noop={action}",
        }
    )
    [job] = bench.accept("noop")
    wait_for(path.exists, what="the job to run")
    process.terminate()
    assert process.wait() == 0
    back = bench.read(job)
    assert back.state == "accepted"
    assert back.attempt - back.released == 0
    assert bench.history(job) == ["accepted", "claimed", "released"]
    path.unlink(missing_ok=True)
    worker(env=fast)
    [ended] = bench.wait_ended([job])
    assert ended.state == "succeeded"


def test_a_running_job_is_cancelled_within_a_heartbeat_and_commits_nothing(
    bench, worker, fast, hold
):
    from jobs import dispatch, ledger
    from storage.principals import anonymous

    action, path = hold("cancel")
    worker(env={**fast, "BRAINSTEM_FAILPOINTS": f"after_claim/noop={action}"})
    [job] = bench.accept("noop")
    wait_for(path.exists, what="the job to run")
    with bench.database.transaction(bench.scope) as tx:
        told = ledger.cancel(tx, anonymous(bench.space), job.id)
    dispatch.announce(told)
    path.unlink()
    [ended] = bench.wait_ended([job])
    assert ended.state == "cancelled"
    assert bench.history(job) == ["accepted", "claimed", "cancel_requested", "cancelled"]


def test_a_cancelled_job_whose_worker_dies_ends_cancelled(bench, worker, scheduler, fast, hold):
    from jobs import ledger
    from storage.principals import anonymous

    action, path = hold("dying")
    process = worker(env={**fast, "BRAINSTEM_FAILPOINTS": f"after_claim/noop={action}"})
    scheduler(env=fast)
    [job] = bench.accept("noop")
    wait_for(path.exists, what="the job to run")
    with bench.database.transaction(bench.scope) as tx:
        ledger.cancel(tx, anonymous(bench.space), job.id)
    process.kill9()
    [ended] = bench.wait_ended([job])
    assert ended.state == "cancelled"


def test_bug_008_an_attempt_whose_end_cannot_be_recorded_is_ended_by_the_sweep(
    bench, worker, scheduler, fast
):
    scheduler(env=fast)
    [job] = bench.accept("recall", payload={"conversation": 1})
    with bench.database.ledger() as tx:
        tx.execute("update job set attempt = max_attempts - 1 where id = %s", (job.id,))
    worker(env={**fast, "BRAINSTEM_FAILPOINTS": "after_claim/recall=kill"})
    [ended] = bench.wait_ended([job])
    assert ended.state == "failed"
    assert ended.attempt == ended.max_attempts
    assert ended.error["code"] == "attempts_exhausted"
    with bench.database.ledger() as tx:
        stuck = tx.execute(
            "select count(*) from job where state = 'running'"
            " and lease_until < now() - interval '1 second'"
        ).fetchone()
    assert stuck == (0,)
