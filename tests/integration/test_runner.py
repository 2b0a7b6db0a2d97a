"""How one process runs jobs: nothing that a pipeline does may leave its job behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from jobs import dispatch, ledger
from jobs.actors import PIPELINES
from jobs.runner import Attempt, Runner
from jobs.sweeper import Sweeper
from pipelines.work import Effect, Result
from storage import jobs as table
from storage.database import Database, Scope
from storage.errors import Cancelled, Unavailable
from storage.jobs import Job
from storage.principals import anonymous
from storage.settings import reload
from tests.faults.conftest import FAST, Bench
from tests.services import Services, wait_for

Make = Callable[..., Runner]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, services: Services) -> Iterator[None]:
    """Short leases in this process."""
    for name, value in FAST.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BRAINSTEM_STALL_SECONDS", "1.5")
    reload()
    yield
    monkeypatch.undo()
    reload()


@pytest.fixture
def bench(database: Database, services: Services, space: str, short: None) -> Bench:
    return Bench(database, services, space)


@pytest.fixture
def runner(database: Database, short: None) -> Iterator[Make]:
    """Make runners whose no-op does what the test says."""
    made: list[Runner] = []

    def make(noop: Callable[[Attempt], Effect], **options: bool) -> Runner:
        one = Runner({**PIPELINES, "noop": noop, "maintenance": noop}, threads=2, **options)
        one.start()
        made.append(one)
        return one

    yield make
    for one in made:
        one.stop()


def nothing(attempt: Attempt) -> Effect:
    return Effect(lambda tx: Result())


def accept(bench: Bench, kind: str = "noop", **options: object) -> Job:
    with bench.database.transaction(bench.scope) as tx:
        return ledger.accept(tx, anonymous(bench.space), kind, {}, **options).job


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, BaseException, RecursionError])
def test_whatever_a_pipeline_raises_its_job_does_not_stay_running(bench, runner, error):
    def breaks(attempt: Attempt) -> Effect:
        raise error("from somewhere deep")

    job = accept(bench)
    runner(breaks).run([job.id])
    waiting = bench.read(job)
    assert waiting.state == "accepted"
    assert waiting.error == {
        "code": "internal_error",
        "message": "The job met an unexpected error on our side.",
    }


@pytest.mark.parametrize("error", [SystemExit, ZeroDivisionError])
def test_whatever_an_effect_raises_nothing_of_it_is_kept(bench, runner, error):
    def breaks(attempt: Attempt) -> Effect:
        def apply(tx) -> Result:
            tx.execute("update space set name = 'spoiled' where space_id = %s", (bench.space,))
            raise error("half way")

        return Effect(apply)

    job = accept(bench)
    runner(breaks).run([job.id])
    assert bench.read(job).state == "accepted"
    with psycopg.connect(bench.services.admin_url) as conn:
        row = conn.execute("select name from space where space_id = %s", (bench.space,)).fetchone()
    assert row == (None,)


def test_an_error_message_with_a_nul_is_recorded(bench, runner):
    def breaks(attempt: Attempt) -> Effect:
        raise Unavailable("a\0b")

    job = accept(bench)
    runner(breaks).run([job.id])
    assert bench.read(job).error == {"code": "unavailable", "message": "ab"}


def test_a_run_that_says_nothing_any_more_is_given_up_and_tried_again(bench, runner):
    release = threading.Event()

    def hangs(attempt: Attempt) -> Effect:
        if attempt.attempt == 1:
            release.wait(60)
        return nothing(attempt)

    job = accept(bench)
    stuck = runner(hangs)
    thread = threading.Thread(target=stuck.run, args=([job.id],))
    thread.start()
    bench.wait_state(job, "running")
    sweeper = Sweeper()
    wait_for(lambda: sweeper.sweep() and bench.read(job).state == "accepted", what="the sweep")
    assert bench.read(job).deaths == 0
    runner(hangs).run([job.id])
    ended = bench.read(job)
    assert (ended.state, ended.attempt) == ("succeeded", 2)
    release.set()
    thread.join()
    assert bench.read(job) == ended


def test_a_run_that_does_not_hear_that_it_is_cancelled_ends_all_the_same(bench, runner):
    release = threading.Event()

    def deaf(attempt: Attempt) -> Effect:
        while not release.wait(0.05):
            attempt.seen = time.monotonic()
        return nothing(attempt)

    job = accept(bench)
    one = runner(deaf)
    thread = threading.Thread(target=one.run, args=([job.id],))
    thread.start()
    bench.wait_state(job, "running")
    with bench.database.transaction(bench.scope) as tx:
        ledger.cancel(tx, anonymous(bench.space), job.id)
    sweeper = Sweeper()
    wait_for(lambda: sweeper.sweep() and bench.read(job).terminal, what="the end")
    assert bench.read(job).state == "cancelled"
    release.set()
    thread.join()
    assert bench.read(job).state == "cancelled"


def test_a_process_that_runs_a_job_alone_starts_no_other(bench, runner, monkeypatch):
    started: list[object] = []
    monkeypatch.setattr("jobs.runner.subprocess.Popen", lambda *a, **k: started.append(a))
    job = accept(bench)
    with bench.database.ledger() as tx:
        tx.execute(
            "update job set deaths = 1, available_at = now() + interval '1 hour' where id = %s",
            (job.id,),
        )
    runner(nothing).run([job.id])
    runner(nothing, isolated=True).run([job.id])
    assert started == []
    assert bench.read(job).state == "accepted"


def test_a_suspect_is_run_by_one_process_of_its_own(bench, runner):
    job = accept(bench)
    with bench.database.ledger() as tx:
        tx.execute("update job set deaths = 1 where id = %s", (job.id,))
    one = runner(nothing)
    threads = [threading.Thread(target=one.run, args=([job.id],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended = bench.read(job)
    assert (ended.state, ended.attempt) == ("succeeded", 1)
    with bench.database.ledger() as tx:
        row = tx.execute(
            "select role from worker where id = (select worker from job_event"
            " where job_id = %s and event = 'claimed')",
            (job.id,),
        ).fetchone()
    assert row == ("isolated",)


def test_a_locked_row_keeps_no_other_lease_from_being_extended(bench, runner):
    first, second = accept(bench), accept(bench)
    one = runner(nothing)
    with bench.database.ledger_statement() as tx:
        ledger.claim([first.id, second.id], one.id, tx)
    before = bench.read(second).lease_until
    with bench.database.transaction(bench.scope) as tx:
        table.lock(tx, bench.scope, first.id)
        with bench.database.ledger_statement() as beat:
            kept = table.heartbeat(beat, one.id, [first.id, second.id], 30)
    assert kept == {first.id: False, second.id: False}
    assert bench.read(second).lease_until > before


def test_progress_is_no_cancel_request(bench, runner):
    heard: list[str] = []
    with bench.services.redis() as client, client.pubsub(ignore_subscribe_messages=True) as channel:
        channel.subscribe("brainstem:wake")
        channel.get_message(timeout=5)

        def works(attempt: Attempt) -> Effect:
            attempt.progress(1, 1)
            return nothing(attempt)

        job = accept(bench)
        runner(works).run([job.id])
        dispatch.flush()
        while (message := channel.get_message(timeout=0.3)) is not None:
            heard.append(message["data"].decode())
    assert "cancel" not in heard


def test_the_cancelled_attempt_of_a_batch_takes_no_other_with_it(bench, runner):
    jobs = [accept(bench) for _ in range(3)]

    def cancels_the_second(attempt: Attempt) -> Effect:
        if attempt.job_id == jobs[1].id:
            with bench.database.transaction(bench.scope) as tx:
                ledger.cancel(tx, anonymous(bench.space), attempt.job_id)
        return nothing(attempt)

    runner(cancels_the_second).run([job.id for job in jobs])
    assert [bench.read(job).state for job in jobs] == ["succeeded", "cancelled", "succeeded"]


def test_a_job_of_a_newer_version_holds_up_nobody_else(bench, runner):
    future, good = accept(bench), accept(bench)
    with bench.database.ledger() as tx:
        tx.execute("update job set kind = 'from_the_future' where id = %s", (future.id,))
    Sweeper().sweep()
    assert bench.read(good).dispatched_at is not None
    assert bench.read(future).dispatched_at is None


def test_long_space_ids_never_make_a_notification_too_long(bench):
    with bench.database.ledger_statement() as tx:
        dispatch.notify(tx, {f"job-{number:032x}": "s" * 128 for number in range(300)})


def test_after_standing_still_a_sweeper_expires_nothing_for_one_lease(bench, monkeypatch):
    moment = [1000.0]
    monkeypatch.setattr("jobs.sweeper.time.monotonic", lambda: moment[0])
    sweeper = Sweeper()
    job = accept(bench)
    with bench.database.ledger_statement() as tx:
        ledger.claim([job.id], "wrk-gone", tx)
        tx.execute("update job set lease_until = now() - interval '1 s' where id = %s", (job.id,))
    wait_for(
        lambda: postmaster_age(bench) > 2, what="PostgreSQL to have been up for longer than a lease"
    )
    moment[0] += 60
    sweeper.sweep()
    assert bench.read(job).state == "running"
    for _ in range(4):
        moment[0] += 0.5
        sweeper.sweep()
    assert bench.read(job).state == "accepted"


def postmaster_age(bench: Bench) -> float:
    with bench.database.ledger() as tx:
        row = tx.execute(
            "select extract(epoch from now() - pg_postmaster_start_time())::float8"
        ).fetchone()
    assert row is not None
    return row[0]


def test_cancelled_is_told_by_its_own_error(bench, runner):
    def stops(attempt: Attempt) -> Effect:
        raise Cancelled()

    job = accept(bench)
    runner(stops).run([job.id])
    assert bench.read(job).state == "cancelled"


def test_a_transaction_that_does_nothing_is_ended_and_its_locks_with_it(
    bench, monkeypatch, services
):
    monkeypatch.setenv("BRAINSTEM_IDLE_TRANSACTION_SECONDS", "0.3")
    reload()
    frozen = Database(size=1)
    job = accept(bench)

    def hold() -> None:
        with frozen.transaction(Scope(bench.space)) as tx:
            table.lock(tx, bench.scope, job.id)
            wait_for(lambda: cancelled(bench, job), what="the lock to be free")

    with pytest.raises(Unavailable):
        hold()
    frozen.close()
    assert bench.read(job).state == "cancelled"


def cancelled(bench: Bench, job: Job) -> bool:
    with bench.database.transaction(bench.scope) as tx:
        return bool(ledger.cancel(tx, anonymous(bench.space), job.id))
