"""kill -9 of the worker anywhere in a maintenance run: it settles the same, once."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest

from jobs import dispatch, ledger
from storage import attention, memory_metrics, spaces
from storage.clock import now, to_text
from storage.database import Database, Scope
from storage.graph.changes import (
    ChangeSet,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    EnsureProposition,
    SetRetention,
    Transition,
    UpdateConcept,
)
from storage.graph.commit import commit
from storage.jobs import Job
from storage.principals import anonymous
from tests.services import wait_for

PLACES = ("after_claim", "before_commit", "inside_commit", "after_commit_before_ack")
#: Times are the same in every space that is compared.
PAST = to_text(now() - timedelta(days=1))
AGES_AGO = to_text(now() - timedelta(days=90))


def fill(database: Database, scope: Scope) -> None:
    """Something for every stage: ids come out the same in every new space."""

    def write(*changes: Any) -> dict[str, str]:
        with database.transaction(scope) as tx:
            made = commit(tx, scope, "anonymous", ChangeSet(changes), tx_class="kml")
        return dict(made.ids)

    ids = write(
        CreateConcept("?ada", "Person", name="Ada"),
        CreateConcept("?oslo", "Place", name="Oslo"),
        CreateConcept("?rome", "Place", name="Rome"),
        *(CreateConcept(f"?t{n}", "Topic", name=f"T{n}") for n in range(3)),
        CreateConcept(
            "?event",
            "Event",
            attributes={"summary": "A talk", "started_at": AGES_AGO, "ended_at": AGES_AGO},
        ),
        CreateConcept(
            "?promise",
            "Commitment",
            attributes={"summary": "Call", "status": "pending", "due_at": PAST},
        ),
        EnsureProposition("?p", "?ada", "lives_in", "?oslo"),
        EnsureProposition("?q", "?ada", "lives_in", "?rome"),
        CreateAssertion("?a", "?p", "?ada", "stated"),
    )
    for n, (watch_class, extra) in enumerate([("delta", {}), ("silence", {"due_at": PAST})]):
        attributes = {
            "summary": f"W{n}",
            "watch_class": watch_class,
            "condition": {"element": ids["?t0"]},
            "status": "armed",
            **extra,
        }
        write(CreateConcept("?w", "Watch", attributes=attributes))
    write(UpdateConcept(ids["?t0"], name="Changed"), SetRetention(ids["?t1"], {"expires_at": PAST}))
    write(
        CreateConcept("?i", "Insight", attributes={"summary": "Ada lives up north."}),
        CreateActivity("?x", "reflection", "completed", inputs=(ids["?a"],), outputs=("?i",)),
    )
    write(
        CreateAssertion("?b", ids["?q"], ids["?ada"], "stated"),
        Transition(ids["?a"], "superseded", by="?b"),
    )


def state_of(database: Database, scope: Scope) -> dict[str, Any]:
    """All that settlement could have changed, without the times at which it did."""
    with database.transaction(scope) as tx:
        elements = tx.execute(
            "select v.id, v.version, v.state, v.status, v.doing, e.client_key, e.key"
            " from element_ver v join element e using (space_id, id) where v.space_id = %s"
            " and v.seq_to = 9223372036854775807 order by v.id",
            (scope.space_id,),
        ).fetchall()
        commits = tx.execute(
            "select space_seq, channel, changes from commit_record where space_id = %s order by 1",
            (scope.space_id,),
        ).fetchall()
        raised = [item.as_json() for item in attention.page(tx, scope, None, 50).items]
        counted = memory_metrics.read(tx, scope).as_json()
        left = tx.execute(
            "select count(*) from maintenance_stage where space_id = %s", (scope.space_id,)
        ).fetchone()
    del counted["updated_at"]
    return {
        "elements": elements,
        "commits": commits,
        "raised": raised,
        "counted": counted,
        "stages": left,
    }


def without_times(report: dict[str, Any] | None) -> dict[str, Any]:
    """A report without when it was made."""
    assert report is not None
    told = {**report, "settlement": {**report["settlement"]}}
    del told["settlement"]["settled_at"]
    for name in ("audited_at",):
        told["schema_audit"] = {**told["schema_audit"]}
        del told["schema_audit"][name]
    if "self_test" in told:
        told["self_test"] = {**told["self_test"]}
        del told["self_test"]["tested_at"]
    return told


def accept(database: Database, scope: Scope, *, attempts: int = 3) -> Job:
    with database.transaction(scope) as tx:
        job = ledger.accept(tx, anonymous(scope.space_id), "maintenance", {"scope": "full"}).job
        tx.execute("update job set max_attempts = %s where id = %s", (attempts, job.id))
    dispatch.announce([job])
    return job


@pytest.fixture
def undisturbed(bench, worker, scheduler, fast):
    """What a run comes to that nothing disturbs: its report, and the state after it."""

    def run() -> tuple[dict[str, Any], dict[str, Any]]:
        scope = Scope(f"test_{uuid.uuid4().hex[:16]}")
        with bench.database.transaction(scope) as tx:
            spaces.create(tx, scope, owner="anonymous")
        fill(bench.database, scope)
        job = accept(bench.database, scope)

        def ended() -> Job:
            with bench.database.transaction(scope) as tx:
                return ledger.get(tx, scope, job.id)

        wait_for(lambda: ended().terminal, what="the end of the undisturbed run")
        assert ended().state == "succeeded"
        return without_times(ended().result), state_of(bench.database, scope)

    return run


@pytest.mark.parametrize("place", PLACES)
def test_a_run_killed_at_any_place_settles_the_same_once(
    bench, worker, scheduler, fast, undisturbed, place
):
    fill(bench.database, bench.scope)
    first = worker(
        queues="memory", env={**fast, "BRAINSTEM_FAILPOINTS": f"{place}/maintenance=kill"}
    )
    scheduler(env=fast)
    job = accept(bench.database, bench.scope)
    wait_for(lambda: not first.alive, what="the worker's death")
    worker(queues="memory", env=fast)
    [ended] = bench.wait_ended([job])
    assert ended.state == "succeeded"
    assert bench.history(job).count("succeeded") == 1
    report, state = undisturbed()
    assert without_times(ended.result) == report
    assert state_of(bench.database, bench.scope) == state
    assert len(state["raised"]) == 3
    assert report["settlement"]["watches"]["fired"] == 2


def test_a_run_killed_after_every_batch_goes_on_where_it_stood(
    bench, worker, scheduler, fast, undisturbed
):
    fill(bench.database, bench.scope)
    deadly = {
        **fast,
        "BRAINSTEM_FAILPOINTS": "after_batch/maintenance=kill",
        "BRAINSTEM_MAX_DEATHS": "100",
    }
    scheduler(env=deadly)
    workers = [worker(queues="memory", env=deadly)]
    job = accept(bench.database, bench.scope, attempts=100)

    def keep_a_worker() -> bool:
        if not workers[-1].alive:
            workers.append(worker(queues="memory", env=deadly))
        return bench.read(job).terminal

    wait_for(keep_a_worker, seconds=150, what="the end of the run")
    ended = bench.read(job)
    assert ended.state == "succeeded"
    # one death a batch: ten stages by rule and the self-test
    assert bench.history(job).count("claimed") >= 11
    workers[-1].kill9()
    worker(queues="memory", env=fast)
    report, state = undisturbed()
    assert without_times(ended.result) == report
    assert state_of(bench.database, bench.scope) == state
