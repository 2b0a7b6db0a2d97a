"""Redis is disposable: wiped, killed, frozen or away, it costs only time."""

from __future__ import annotations

import signal

from tests.services import wait_for


def test_flushall_with_jobs_in_the_queue_loses_none(bench, worker, scheduler, fast, services):
    jobs = bench.accept("noop", 200)
    wait_for(lambda: bench.read(jobs[-1]).dispatched_at is not None, what="the sending")
    with services.redis() as client:
        client.flushall()
    scheduler(env=fast)
    worker(env=fast)
    assert {job.state for job in bench.wait_ended(jobs)} == {"succeeded"}


def test_flushall_while_the_worker_runs_loses_none(bench, worker, scheduler, fast, services):
    scheduler(env=fast)
    worker(env=fast)
    jobs = []
    for _ in range(10):
        jobs += bench.accept("noop", 20)
        with services.redis() as client:
            client.flushall()
    assert {job.state for job in bench.wait_ended(jobs)} == {"succeeded"}


def test_jobs_lost_while_the_queue_never_empties_are_sent_again(
    bench, worker, scheduler, fast, services, hold
):
    lost = bench.accept("noop", 5)
    wait_for(lambda: bench.read(lost[-1]).dispatched_at is not None, what="the sending")
    with services.redis() as client:
        client.flushall()
    # these stay in the queue, because nobody works on it yet
    bench.accept("noop", 50)
    scheduler(env=fast)

    def resent() -> bool:
        with bench.database.ledger() as tx:
            row = tx.execute(
                "select count(*) from job where id = any(%s)"
                " and dispatched_at > accepted_at + interval '1.5 seconds'",
                ([job.id for job in lost],),
            ).fetchone()
        return row == (5,)

    wait_for(resent, what="the lost jobs to be sent again")
    worker(env=fast)
    assert {job.state for job in bench.wait_ended(lost)} == {"succeeded"}


def test_jobs_are_accepted_while_redis_is_away_and_run_when_it_is_back(
    bench, worker, scheduler, fast, services
):
    scheduler(env=fast)
    worker(env=fast)
    bench.wait_ended(bench.accept("noop"))
    services.kill_redis(forget=True)
    jobs = bench.accept("noop", 20)
    assert {bench.read(job).state for job in jobs} == {"accepted"}
    services.start_redis()
    assert {job.state for job in bench.wait_ended(jobs)} == {"succeeded"}


def test_a_frozen_redis_holds_nothing_for_good(bench, worker, scheduler, fast, services):
    scheduler(env=fast)
    worker(env=fast)
    bench.wait_ended(bench.accept("noop"))
    services.valkey.process.send_signal(signal.SIGSTOP)
    jobs = bench.accept("noop", 20)
    assert {bench.read(job).state for job in jobs} == {"accepted"}
    services.valkey.process.send_signal(signal.SIGCONT)
    assert {job.state for job in bench.wait_ended(jobs)} == {"succeeded"}
