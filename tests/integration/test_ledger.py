"""The job ledger on a real PostgreSQL: every transition, by the functions that make it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from jobs import ledger, schedule
from jobs.ledger import Idempotency
from storage import conversations, spaces
from storage import jobs as table
from storage.clock import now
from storage.database import Database, Scope
from storage.errors import (
    Conflict,
    IdempotencyConflict,
    Interrupted,
    InvalidInput,
    ModelRejected,
    NotFound,
    Unavailable,
)
from storage.jobs import Ending, Job
from storage.principals import Principal, anonymous

WORKER = "wrk-test"


def accept(database: Database, space: str, kind: str = "noop", **kw) -> Job:
    with database.transaction(Scope(space)) as tx:
        return ledger.accept(tx, anonymous(space), kind, kw.pop("payload", {}), **kw).job


def claim(database: Database, *jobs: Job, isolated: bool = False) -> list[Job]:
    with database.ledger_statement() as tx:
        return ledger.claim([job.id for job in jobs], WORKER, tx, isolated=isolated)


def conclude(database: Database, job: Job, error) -> list[Job]:
    with database.transaction(Scope(job.space_id)) as tx:
        locked = table.lock(tx, Scope(job.space_id), job.id)
        assert locked is not None
        return ledger.after_error(tx, locked, error)


def succeed(database: Database, job: Job, result: dict | None = None) -> list[Job]:
    with database.transaction(Scope(job.space_id)) as tx:
        held = table.hold(tx, {job.id: job.fence}, WORKER)
        assert held == {job.id: False}
        return table.end(tx, [Ending(job.id, result=result)], "succeeded", worker=WORKER)


def read(database: Database, job: Job) -> Job:
    with database.transaction(Scope(job.space_id)) as tx:
        return ledger.get(tx, Scope(job.space_id), job.id)


def history(database: Database, job: Job) -> list[str]:
    with database.transaction(Scope(job.space_id)) as tx:
        return [event.event for event in table.events(tx, Scope(job.space_id), job.id)]


def make_due(database: Database, job: Job) -> None:
    with database.ledger() as tx:
        tx.execute("update job set available_at = now() where id = %s", (job.id,))


def test_an_accepted_job_is_not_there_when_the_callers_transaction_rolls_back(database, space):
    accepted: list[Job] = []

    def change_mind() -> None:
        with database.transaction(Scope(space)) as tx:
            accepted.append(ledger.accept(tx, anonymous(space), "noop", {}).job)
            raise RuntimeError("the caller changed its mind")

    with pytest.raises(RuntimeError):
        change_mind()
    with pytest.raises(NotFound):
        read(database, accepted[0])


def test_a_job_goes_from_accepted_over_running_to_succeeded_with_an_event_each(database, space):
    job = accept(database, space)
    assert (job.state, job.attempt, job.fence) == ("accepted", 0, 0)
    [claimed] = claim(database, job)
    assert (claimed.state, claimed.attempt, claimed.fence) == ("running", 1, 1)
    succeed(database, claimed, {"answer": 42})
    ended = read(database, job)
    assert ended.state == "succeeded"
    assert ended.result == {"answer": 42}
    assert ended.lease_owner is None
    assert history(database, job) == ["accepted", "claimed", "succeeded"]


def test_a_second_delivery_claims_nothing(database, space):
    job = accept(database, space)
    assert len(claim(database, job)) == 1
    assert claim(database, job) == []
    succeed(database, read(database, job))
    assert claim(database, job) == []


def test_fifty_deliveries_at_once_give_one_claim(database, space):
    job = accept(database, space)
    with ThreadPoolExecutor(10) as pool:
        claims = [len(done) for done in pool.map(lambda _: claim(database, job), range(50))]
    assert sum(claims) == 1
    assert read(database, job).attempt == 1


def test_a_payload_of_the_wrong_shape_is_refused(database, space):
    with pytest.raises(InvalidInput) as caught:
        accept(database, space, "formation", payload={"conversation": 0})
    assert caught.value.data["field"] == "conversation"
    with pytest.raises(InvalidInput):
        accept(database, space, "noop", payload={"surprise": 1})
    with pytest.raises(NotFound):
        accept(database, space, "no_such_kind")


def test_the_same_key_and_meaning_answer_the_same_job(database, space):
    first = accept(database, space, idempotency=Idempotency("k", {"a": 1}), request_id="r1")
    again = accept(database, space, idempotency=Idempotency("k", {"a": 1.0}), request_id="r2")
    assert (again.id, again.receipt_ref) == (first.id, first.receipt_ref)
    assert history(database, first) == ["accepted"]


def test_the_same_key_with_another_meaning_is_a_conflict_and_changes_nothing(database, space):
    first = accept(database, space, idempotency=Idempotency("k", {"a": 1}))
    with pytest.raises(IdempotencyConflict):
        accept(database, space, idempotency=Idempotency("k", {"a": 2}))
    with database.transaction(Scope(space)) as tx:
        page = table.list_page(
            tx, Scope(space), kinds=None, states=None, lane=None, before_seq=None, limit=10
        )
    assert [job.id for job in page] == [first.id]


def test_keys_belong_to_caller_space_and_operation(database, space):
    first = accept(database, space, idempotency=Idempotency("k", {}))
    other_operation = accept(database, space, operation="other", idempotency=Idempotency("k", {}))
    with database.transaction(Scope(space)) as tx:
        eve = Principal("eve", "token", space, frozenset({"*"}))
        other_caller = ledger.accept(tx, eve, "noop", {}, idempotency=Idempotency("k", {})).job
    assert len({first.id, other_operation.id, other_caller.id}) == 3


def test_parallel_requests_with_one_key_make_one_job(database, space):
    barrier = threading.Barrier(8)

    def request(_):
        barrier.wait()
        return accept(database, space, idempotency=Idempotency("k", {})).id

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(request, range(8)))) == 1


def test_a_lane_runs_one_job_at_a_time_in_acceptance_order(database, space):
    first, second, third = (
        accept(database, space, "maintenance", coalesce_key=f"k{n}") for n in range(3)
    )
    assert claim(database, second, third) == []
    [running] = claim(database, first, second, third)
    assert running.id == first.id
    assert claim(database, second) == []
    succeed(database, running)
    [running] = claim(database, third, second)
    assert running.id == second.id


def test_two_claims_of_one_lane_in_the_same_instant_leave_one_running(database, space):
    jobs = [accept(database, space, "maintenance", coalesce_key=f"k{n}") for n in range(6)]
    with ThreadPoolExecutor(6) as pool:
        claims = [job for done in pool.map(lambda job: claim(database, job), jobs) for job in done]
    assert len(claims) == 1
    assert claims[0].id == jobs[0].id


def test_a_lane_waits_for_its_heads_next_attempt(database, space):
    first, second = (accept(database, space, "maintenance", coalesce_key=f"k{n}") for n in range(2))
    [running] = claim(database, first)
    conclude(database, running, Unavailable())
    assert read(database, first).state == "accepted"
    assert claim(database, second) == []
    assert claim(database, first) == []
    make_due(database, first)
    assert [job.id for job in claim(database, first)] == [first.id]


def test_a_transient_error_is_retried_with_a_growing_delay_and_then_fails(database, space):
    job = accept(database, space)
    for attempt in range(1, job.max_attempts + 1):
        [running] = claim(database, job)
        assert (running.attempt, running.fence) == (attempt, attempt)
        conclude(database, running, Unavailable("try later"))
        waiting = read(database, job)
        if attempt < job.max_attempts:
            assert waiting.state == "accepted"
            assert waiting.error == {"code": "unavailable", "message": "try later"}
            with database.transaction(Scope(space)) as tx:
                told = table.events(tx, Scope(space), job.id)[-1]
            # both are the database's time, of one statement
            delay = (waiting.available_at - told.at).total_seconds()
            assert 2 ** (attempt - 1) / 2 - 0.5 <= delay <= 2 ** (attempt - 1)
            make_due(database, job)
    failed = read(database, job)
    assert failed.state == "failed"
    assert failed.attempt == failed.max_attempts
    assert history(database, job)[-1] == "failed"


def test_backoff_doubles_up_to_its_cap():
    assert 0.5 <= ledger.backoff_seconds(1) <= 1.0
    assert 8.0 <= ledger.backoff_seconds(5) <= 16.0
    assert 150.0 <= ledger.backoff_seconds(60) <= 300.0


def test_retry_after_of_the_other_side_is_honoured(database, space):
    job = accept(database, space)
    [running] = claim(database, job)
    before = now()
    conclude(database, running, Unavailable(retry_after=120))
    assert (read(database, job).available_at - before).total_seconds() >= 119


def test_a_permanent_error_fails_at_once(database, space):
    job = accept(database, space)
    [running] = claim(database, job)
    conclude(database, running, ModelRejected())
    failed = read(database, job)
    assert (failed.state, failed.attempt) == ("failed", 1)
    assert failed.error is not None
    assert failed.error["code"] == "model_rejected"


def test_a_shutdown_gives_a_job_back_without_using_up_an_attempt(database, space):
    job = accept(database, space, "recall", payload={"conversation": 1})
    for _ in range(job.max_attempts + 2):
        [running] = claim(database, job)
        conclude(database, running, Interrupted())
    back = read(database, job)
    assert back.state == "accepted"
    assert back.attempt - back.released == 0


def test_a_waiting_job_is_cancelled_at_once(database, space):
    job = accept(database, space)
    with database.transaction(Scope(space)) as tx:
        assert [told.id for told in ledger.cancel(tx, anonymous(space), job.id)] == [job.id]
    assert read(database, job).state == "cancelled"
    assert claim(database, job) == []
    assert history(database, job) == ["accepted", "cancelled"]


def test_a_running_job_is_asked_to_stop_and_can_no_longer_succeed(database, space):
    job = accept(database, space)
    [running] = claim(database, job)
    with database.transaction(Scope(space)) as tx:
        ledger.cancel(tx, anonymous(space), job.id)
    with database.transaction(Scope(space)) as tx:
        assert table.hold(tx, {job.id: running.fence}, WORKER) == {job.id: True}
    conclude(database, running, Unavailable())
    assert read(database, job).state == "cancelled"
    assert history(database, job) == ["accepted", "claimed", "cancel_requested", "cancelled"]


def test_cancelling_an_ended_job_changes_nothing(database, space):
    job = accept(database, space)
    succeed(database, *claim(database, job))
    with database.transaction(Scope(space)) as tx:
        assert ledger.cancel(tx, anonymous(space), job.id) == []
    assert read(database, job).state == "succeeded"


def test_a_stale_fence_neither_commits_nor_puts_back(database, space):
    job = accept(database, space)
    [zombie] = claim(database, job)
    with database.ledger() as tx:
        ledger.after_lost_lease(tx, zombie, died=False)
    [current] = claim(database, job)
    assert current.fence == zombie.fence + 1
    with database.transaction(Scope(space)) as tx:
        assert table.hold(tx, {job.id: zombie.fence}, WORKER) == {}
        assert table.put_back(tx, zombie, "released", delay_seconds=0) is None
        assert not table.set_progress(tx, job.id, zombie.fence, {})
        assert not table.set_cursor(tx, job.id, zombie.fence, {})
    assert read(database, job).fence == current.fence


def test_a_job_that_ends_its_workers_again_and_again_is_poison(database, space, services):
    job = accept(database, space)
    for death in range(1, 4):
        [running] = claim(database, job, isolated=True)
        with database.ledger() as tx:
            ledger.after_lost_lease(tx, running, died=True)
        assert read(database, job).deaths == death
    failed = read(database, job)
    assert failed.state == "failed"
    assert failed.error is not None
    assert failed.error["code"] == "poisoned"
    assert history(database, job)[-1] == "poisoned"


def test_a_job_that_ended_a_worker_is_claimed_only_in_isolation(database, space):
    job = accept(database, space)
    [running] = claim(database, job)
    with database.ledger() as tx:
        ledger.after_lost_lease(tx, running, died=True)
    assert claim(database, job) == []
    assert len(claim(database, job, isolated=True)) == 1


def test_lost_leases_end_with_the_last_attempt(database, space):
    job = accept(database, space, "recall", payload={"conversation": 1})
    for _ in range(job.max_attempts):
        [running] = claim(database, job)
        with database.ledger() as tx:
            ledger.after_lost_lease(tx, running, died=False)
    failed = read(database, job)
    assert failed.state == "failed"
    assert failed.error is not None
    assert failed.error["code"] == "attempts_exhausted"


def test_a_failed_job_is_restarted_as_a_new_job_linked_to_it(database, space):
    job = accept(database, space)
    [running] = claim(database, job)
    conclude(database, running, ModelRejected())
    before = read(database, job)
    with database.transaction(Scope(space)) as tx:
        restarted = ledger.retry(tx, anonymous(space), job.id)
        again = ledger.retry(tx, anonymous(space), job.id)
    assert restarted.created
    assert again.job.id == restarted.job.id
    assert restarted.job.parent_id == job.id
    assert restarted.job.payload == job.payload
    assert read(database, job) == before
    with pytest.raises(Conflict), database.transaction(Scope(space)) as tx:
        ledger.retry(tx, anonymous(space), restarted.job.id)


def test_a_successor_waits_for_its_predecessor_and_fails_with_it(database, space):
    first = accept(database, space)
    second = accept(database, space, after_id=first.id)
    third = accept(database, space, after_id=second.id)
    assert claim(database, second) == []
    [running] = claim(database, first)
    conclude(database, running, ModelRejected())
    for job in (second, third):
        failed = read(database, job)
        assert failed.state == "failed"
        assert failed.error is not None
        assert failed.error["code"] == "predecessor_failed"


def test_a_successor_runs_when_its_predecessor_has_succeeded(database, space):
    first = accept(database, space)
    second = accept(database, space, after_id=first.id)
    succeed(database, *claim(database, first))
    assert len(claim(database, second)) == 1


def test_a_further_request_joins_the_one_that_waits(database, space):
    first = accept(database, space, "maintenance", coalesce_key="full")
    second = accept(database, space, "maintenance", coalesce_key="full")
    assert second.id == first.id
    [running] = claim(database, first)
    third = accept(database, space, "maintenance", coalesce_key="full")
    fourth = accept(database, space, "maintenance", coalesce_key="full")
    assert third.id != first.id
    assert fourth.id == third.id
    succeed(database, running)


def test_bug_010_a_retry_and_its_queued_duplicate_become_one_run_with_one_result(database, space):
    first = accept(database, space, "maintenance", coalesce_key="full")
    [running] = claim(database, first)
    queued = accept(database, space, "maintenance", coalesce_key="full")
    conclude(database, running, Unavailable())
    folded = read(database, queued)
    assert folded.state == "accepted"
    assert folded.coalesced_into == first.id
    assert accept(database, space, "maintenance", coalesce_key="full").id == first.id
    assert claim(database, queued) == []
    make_due(database, first)
    [running] = claim(database, first)
    assert running.attempt == 2
    succeed(database, running, {"runs": 1})
    assert read(database, first).result == {"runs": 1}
    assert read(database, queued).result == {"runs": 1}
    assert read(database, queued).state == "succeeded"


def test_another_spaces_job_looks_like_none(database, space):
    other = f"{space}_other"
    with database.transaction(Scope(other)) as tx:
        spaces.create(tx, Scope(other), owner="anonymous")
    foreign = accept(database, other)
    with database.transaction(Scope(space)) as tx:
        with pytest.raises(NotFound) as foreign_error:
            ledger.get(tx, Scope(space), foreign.id)
        with pytest.raises(NotFound) as unknown_error:
            ledger.get(tx, Scope(space), "job-" + "0" * 32)
        with pytest.raises(NotFound):
            ledger.cancel(tx, anonymous(space), foreign.id)
        # even a query that forgot its tenant sees nothing of another one
        assert tx.execute("select count(*) from job where space_id = %s", (other,)).fetchone() == (
            0,
        )
    assert foreign_error.value.as_json() == unknown_error.value.as_json()


def test_a_transaction_without_a_tenant_sees_no_rows(database, space):
    accept(database, space)
    with database._transaction("brainstem_app", SQL("begin")) as tx:
        for name in ("space", "job", "job_event", "conversation"):
            assert tx.execute(f"select count(*) from {name}").fetchone() == (0,)


def test_the_application_role_is_bound_even_on_a_pooled_connection(database, space):
    accept(database, space)
    with database.transaction(Scope("somebody_else")) as tx:
        assert tx.execute("select count(*) from job").fetchone() == (0,)
        row = tx.execute(
            "select rolsuper, rolbypassrls from pg_roles where rolname = current_user"
        ).fetchone()
        assert row == (False, False)
    with database.ledger() as tx, pytest.raises(Exception, match="permission denied"):
        tx.execute("select messages from conversation")


def test_progress_and_heartbeat_belong_to_the_holder(database, space):
    job = accept(database, space)
    [running] = claim(database, job)
    with database.ledger() as tx:
        assert table.set_progress(tx, job.id, running.fence, {"done": 1, "total": 2})
        assert table.heartbeat(tx, WORKER, [job.id], 10) == {job.id: False}
        assert table.heartbeat(tx, "wrk-other", [job.id], 10) == {}
    assert read(database, job).progress == {"done": 1, "total": 2}


def test_retention_deletes_only_what_ended_long_ago(database, space, clean):
    with database.transaction(Scope(space)) as tx:
        spaces.create(tx, Scope(space), owner="anonymous")
    old, young, waiting = (accept(database, space) for _ in range(3))
    succeed(database, *claim(database, old))
    succeed(database, *claim(database, young))
    with database.ledger() as tx:
        tx.execute(
            "update job set finished_at = now() - interval '31 days' where id = %s", (old.id,)
        )
    with database.ledger() as tx:
        assert table.delete_finished(tx, older_days=30, limit=10) == 1
    assert read(database, young).state == "succeeded"
    assert read(database, waiting).state == "accepted"
    with pytest.raises(NotFound):
        read(database, old)
    assert history(database, old) == []


def test_the_login_role_itself_sees_no_tenants_rows(database, space, services):
    accept(database, space)
    with psycopg.connect(services.database_url) as conn:
        for name in ("job", "job_event", "conversation", "space", "worker"):
            row = conn.execute(SQL("select count(*) from {}").format(Identifier(name))).fetchone()
            assert row == (0,), name


def test_a_joiner_keeps_the_waiting_job_from_starting_before_it_has_committed(database, space):
    waiting = accept(database, space, "maintenance", coalesce_key="k")
    claimed: list[Job] = []
    thread = threading.Thread(target=lambda: claimed.extend(claim(database, waiting)))
    with database.transaction(Scope(space)) as tx:
        joined = ledger.accept(tx, anonymous(space), "maintenance", {}, coalesce_key="k")
        assert joined.job.id == waiting.id
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        assert claimed == []
    thread.join()
    assert [job.id for job in claimed] == [waiting.id]


def test_joining_while_jobs_of_the_key_come_and_go_never_fails(database, space):
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            with database.ledger() as tx:
                ids = [
                    row[0]
                    for row in tx.execute(
                        "select id from job where space_id = %s and state = 'accepted'", (space,)
                    )
                ]
            for job_id in ids:
                with database.ledger_statement() as tx:
                    for job in ledger.claim([job_id], WORKER, tx):
                        succeed(database, job)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        with ThreadPoolExecutor(6) as pool:
            joined = list(
                pool.map(
                    lambda _: accept(database, space, "maintenance", coalesce_key="k").id,
                    range(300),
                )
            )
    finally:
        stop.set()
        worker.join()
    assert len(joined) == 300


def test_a_successor_of_a_failed_job_has_failed_when_it_is_accepted(database, space):
    first = accept(database, space)
    [running] = claim(database, first)
    conclude(database, running, ModelRejected())
    second = accept(database, space, after_id=first.id)
    assert second.state == "failed"
    assert second.error is not None
    assert second.error["code"] == "predecessor_failed"
    with pytest.raises(NotFound):
        accept(database, space, after_id="job-" + "0" * 32)


def test_cancelling_a_job_that_others_joined_lets_them_go_on(database, space):
    first = accept(database, space, "maintenance", coalesce_key="k")
    [running] = claim(database, first)
    joined = accept(database, space, "maintenance", coalesce_key="k")
    conclude(database, running, Unavailable())
    assert read(database, joined).coalesced_into == first.id
    with database.transaction(Scope(space)) as tx:
        ledger.cancel(tx, anonymous(space), first.id)
    assert read(database, first).state == "cancelled"
    heir = read(database, joined)
    assert (heir.state, heir.coalesced_into) == ("accepted", None)
    assert [job.id for job in claim(database, joined)] == [joined.id]


def test_the_record_of_a_joined_run_is_settled_with_it(database, space):
    scope = Scope(space)
    first = accept(database, space, "maintenance", coalesce_key="k")
    [running] = claim(database, first)
    with database.transaction(scope) as tx:
        number = conversations.next_id(tx, scope)
        joined = ledger.accept(tx, anonymous(space), "maintenance", {}, coalesce_key="k").job
        conversations.create(
            tx, scope, number, "maintenance", job_id=joined.id, principal="p", messages=[]
        )
    conclude(database, running, Unavailable())
    make_due(database, first)
    succeed(database, *claim(database, first))
    with database.ledger() as tx:
        tx.execute("delete from job where id = %s", (joined.id,))
    with database.transaction(scope) as tx:
        record = conversations.get(tx, scope, number)
    assert record is not None
    assert record.status == "completed"


@pytest.mark.parametrize("asked", [1e8, 1e18])
def test_nobody_makes_a_job_wait_for_longer_than_an_hour(database, space, asked):
    job = accept(database, space)
    [running] = claim(database, job)
    conclude(database, running, Unavailable(retry_after=asked))
    wait = read(database, job).available_at - now()
    assert 3500 < wait.total_seconds() <= 3600


def test_a_schedule_that_cannot_be_taken_holds_up_no_other(database, space):
    good, bad = f"good-{space}", f"bad-{space}"
    with database.ledger() as tx:
        for name in (bad, good):
            schedule.add(tx, name, "* * * * *", "retention", space_id=space)
        tx.execute(
            "update schedule set next_due = now() - interval '1 s',"
            " kind = case when name = %s then 'from_the_future' else kind end"
            " where name = any(%s)",
            (bad, [good, bad]),
        )
        jobs = [job for job in schedule.tick(tx) if job.space_id == space]
    assert [job.kind for job in jobs] == ["retention"]


def test_ticks_that_nobody_worked_on_do_not_pile_up(database, space):
    name = f"pile-{space}"
    jobs = []
    with database.ledger() as tx:
        schedule.add(tx, name, "* * * * *", "retention", space_id=space)
    for minute in range(3, 0, -1):
        with database.ledger() as tx:
            tx.execute(
                "update schedule set next_due = date_trunc('minute', now())"
                " - make_interval(secs => %s) where name = %s",
                (minute, name),
            )
            jobs += [job.id for job in schedule.tick(tx) if job.space_id == space]
    assert len(set(jobs)) == 1
