"""Work that began before an exclusion does not write, or tell, what it had read by then."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from jobs import ledger
from jobs.actors import PIPELINES
from jobs.kinds import KINDS
from jobs.runner import Attempt, Pipeline, Runner
from pipelines.formation import reading
from pipelines.formation.alone import form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.formation.proposal import Conversation, Encoder, Proposal
from pipelines.formation.reading import Background
from pipelines.product.changes import Caller, ChangeRequest, product_change
from pipelines.product.records import (
    MemoryRecord,
    Page,
    StaleCursor,
    product_record,
    product_records,
)
from pipelines.work import Effect, Result
from storage import conversations, epochs, probe_cache
from storage import jobs as table
from storage.clock import now
from storage.database import Database, Scope
from storage.erasure import elements
from storage.errors import InvalidInput
from storage.graph import state
from storage.graph.changes import ChangeSet, CreateConcept
from storage.graph.commit import commit
from storage.jobs import Job
from storage.principals import anonymous
from storage.settings import reload
from tests.services import wait_for

BEGAN = now() - timedelta(days=10)


@pytest.fixture
def scope(space: str) -> Scope:
    return Scope(space)


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch, database: Database) -> Iterator[None]:
    monkeypatch.setenv("BRAINSTEM_EMBEDDER", "none")
    reload()
    yield
    monkeypatch.undo()
    reload()


def said(text: str, name: str = "Ada") -> dict[str, Any]:
    at = int(BEGAN.timestamp() * 1000)
    return {"role": "user", "name": name, "content": text, "timestamp": at}


def page(database: Database, scope: Scope, **wanted: Any) -> Page:
    with database.transaction(scope, snapshot=True) as tx:
        return product_records(tx, scope, now(), **wanted)


def records(database: Database, scope: Scope, **wanted: Any) -> list[MemoryRecord]:
    return list(page(database, scope, **wanted).records)


def epoch(database: Database, scope: Scope) -> int:
    with database.transaction(scope) as tx:
        return epochs.current(tx, scope)


@pytest.fixture
def lived(database: Database, scope: Scope) -> MemoryRecord:
    form(database, scope, [said("I live in Berlin.")], BuiltinEncoder())
    (found,) = records(database, scope)
    return found


def change(database: Database, scope: Scope, record: MemoryRecord, kind: Any, **more: Any) -> None:
    """One change of a record by whose it is."""
    with database.transaction(scope) as tx:
        revision = product_record(tx, scope, record.id, now()).revision
    request = ChangeRequest(f"{kind}-1", record.id, revision, kind, **more)
    product_change(database, scope, Caller("ada@example", record.asserted_by.id), request)


def deleting(
    database: Database, scope: Scope, record: MemoryRecord, deletions: list[threading.Thread]
) -> Callable[[], None]:
    """Delete a record beside the job that runs: it waits for all that may have read before."""

    def happens() -> None:
        deletion = threading.Thread(target=change, args=(database, scope, record, "delete"))
        deletion.start()
        deletions.append(deletion)
        wait_for(
            lambda: all(one.id != record.id for one in records(database, scope)),
            what="the record to be erased",
        )

    return happens


@pytest.fixture
def deletions() -> Iterator[list[threading.Thread]]:
    started: list[threading.Thread] = []
    yield started
    for one in started:
        one.join()


def accept(database: Database, scope: Scope, kind: Any, messages: list[Any], **payload: Any) -> Job:
    """Accept a job with its record, as the API does."""
    caller = anonymous(scope.space_id)
    with database.transaction(scope) as tx:
        number = conversations.next_id(tx, scope)
        job = ledger.accept(tx, caller, kind, {"conversation": number, **payload}).job
        conversations.create(
            tx, scope, number, kind, job_id=job.id, principal=caller.subject, messages=messages
        )
    return job


class Between:
    """Runs jobs in this process; something happens once, between what they read and their end."""

    def __init__(self, kind: str, happens: Callable[[], None]) -> None:
        self._happens: Callable[[], None] | None = happens
        self._kind = kind
        self.runner = Runner({**PIPELINES, kind: self._run})
        self.runner.start()

    def _run(self, attempt: Attempt) -> Effect:
        pipeline: Pipeline = PIPELINES[self._kind]
        effect = pipeline(attempt)
        if self._happens is not None:
            happens, self._happens = self._happens, None
            happens()
        return effect


def run(database: Database, scope: Scope, job: Job, happens: Callable[[], None]) -> list[str]:
    """Run a job until it has ended; the events of its way there."""
    between = Between(job.kind, happens)
    try:
        for _ in range(4):
            between.runner.run([job.id])
            with database.transaction(scope) as tx:
                if ledger.get(tx, scope, job.id).finished_at is not None:
                    break
    finally:
        between.runner.stop()
    with database.transaction(scope) as tx:
        return [event.event for event in table.events(tx, scope, job.id)]


def ended(database: Database, scope: Scope, job: Job) -> Job:
    with database.transaction(scope) as tx:
        return ledger.get(tx, scope, job.id)


AGAIN = ["accepted", "claimed", "released", "claimed", "succeeded"]


def test_a_formation_that_read_before_an_exclusion_is_run_again_and_writes_nothing_of_it(
    database: Database,
    scope: Scope,
    lived: MemoryRecord,
    deletions: list[threading.Thread],
) -> None:
    told = [said("I live in Berlin."), said("I speak Dutch.")]
    job = accept(database, scope, "formation", told)
    events = run(database, scope, job, deleting(database, scope, lived, deletions))
    deletions[0].join()
    assert [event for event in events if event != "dispatched"] == AGAIN
    done = ended(database, scope, job)
    assert (done.state, done.disposition) == ("succeeded", "formed")
    (left,) = records(database, scope, all_states=True)
    assert left.predicate == "speaks"
    with database.transaction(scope) as tx:
        commits = tx.execute(
            "select count(*) from commit_record where space_id = %s and channel = 'formation'",
            (scope.space_id,),
        ).fetchone()
    # the first conversation's, and this one's
    assert commits == (2,)


def test_a_formation_alone_that_read_before_an_exclusion_starts_again(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    class Late:
        """The built-in encoder, during whose first work the record is suppressed."""

        id = BuiltinEncoder().id
        runs = 0

        def encode(self, conversation: Conversation, known: Background) -> Proposal:
            self.runs += 1
            if self.runs == 1:
                change(database, scope, lived, "suppress")
            return BuiltinEncoder().encode(conversation, known)

    late = Late()
    encoder: Encoder = late  # type: ignore[assignment]
    form(database, scope, [said("I live in Berlin."), said("I speak Dutch.")], encoder)
    assert late.runs == 2
    (left,) = records(database, scope)
    assert left.predicate == "speaks"


@pytest.mark.parametrize("kind", ["suppress", "delete"])
@pytest.mark.parametrize("tokens", [None, 1024, 64], ids=["free", "budget", "too tight"])
def test_a_recall_that_read_before_an_exclusion_reads_again(
    database: Database,
    scope: Scope,
    lived: MemoryRecord,
    deletions: list[threading.Thread],
    kind: str,
    tokens: int | None,
) -> None:
    job = accept(database, scope, "recall", [{"role": "user", "content": "Where does Ada live?"}])
    if tokens is not None:
        # one that has no room for what it must tell is looked at again before it says so, too
        budget = {"budget": {"max_tokens": tokens, "context_tokens": 4096}}
        with database.transaction(scope) as tx:
            tx.execute(
                "update conversation set extra = %s where space_id = %s and job_id = %s",
                (json.dumps(budget), scope.space_id, job.id),
            )
    happens = deleting(database, scope, lived, deletions)
    if kind == "suppress":
        happens = partial(change, database, scope, lived, "suppress")
    events = run(database, scope, job, happens)
    for deletion in deletions:
        deletion.join()
    assert [event for event in events if event != "dispatched"] == AGAIN
    done = ended(database, scope, job)
    assert done.result is not None
    assert "Berlin" not in str(done.result)
    if tokens == 64:
        assert done.result["failed_reason"] == "recall_output_budget_exhausted"


def test_maintenance_that_began_before_an_exclusion_is_run_again(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    with database.transaction(scope) as tx:
        job = ledger.accept(tx, anonymous(scope.space_id), "maintenance", {"scope": "quick"}).job
    events = run(database, scope, job, lambda: change(database, scope, lived, "suppress"))
    assert [event for event in events if event != "dispatched"] == AGAIN
    assert ended(database, scope, job).attempt == 2


def test_a_batch_of_what_was_read_before_an_exclusion_is_not_written_and_costs_no_attempt(
    database: Database, scope: Scope
) -> None:
    written: list[int] = []
    most = KINDS["maintenance"].max_attempts

    def batches(attempt: Attempt) -> Effect:
        with attempt.read():
            pass
        if attempt.attempt <= most:
            with database.transaction(scope) as tx:
                elements.refuse(tx, scope, [f"sha256:{attempt.attempt}"], "pln-test")
        attempt.commit_batch(lambda tx: written.append(attempt.attempt), {})
        return Effect(lambda tx: Result())

    with database.transaction(scope) as tx:
        job = ledger.accept(tx, anonymous(scope.space_id), "maintenance", {}).job
    runner = Runner({**PIPELINES, "maintenance": batches})
    runner.start()
    for _ in range(most + 1):
        runner.run([job.id])
    runner.stop()
    assert ended(database, scope, job).state == "succeeded"
    assert written == [most + 1]


def test_a_second_look_after_an_exclusion_is_none_at_a_mixture(
    database: Database, scope: Scope
) -> None:
    looks: list[int] = []

    def looking(attempt: Attempt) -> Effect:
        for _ in range(2):
            with attempt.read():
                looks.append(attempt.attempt)
            if len(looks) == 1:
                with database.transaction(scope) as tx:
                    elements.refuse(tx, scope, ["sha256:1"], "pln-test")
        return Effect(lambda tx: Result())

    job = accept(database, scope, "recall", [{"role": "user", "content": "Where?"}])
    runner = Runner({**PIPELINES, "recall": looking})
    runner.start()
    runner.run([job.id])
    runner.run([job.id])
    runner.stop()
    assert ended(database, scope, job).state == "succeeded"
    assert looks == [1, 2, 2]


def test_work_is_not_run_again_for_an_ordinary_commit(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    def writes() -> None:
        with database.transaction(scope) as tx:
            made = CreateConcept("?c", "Topic", name="Chess")
            commit(tx, scope, "test", ChangeSet((made,)), tx_class="test")

    job = accept(database, scope, "recall", [{"role": "user", "content": "Where does Ada live?"}])
    events = run(database, scope, job, writes)
    assert "released" not in events
    done = ended(database, scope, job)
    assert done.result is not None
    assert "Berlin" in done.result["content"]


def test_every_exclusion_and_every_erasure_raises_the_epoch_and_clears_what_was_not_found(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    form(database, scope, [said("I speak Dutch.")], BuiltinEncoder())
    (dutch,) = [one for one in records(database, scope) if one.predicate == "speaks"]
    before = epoch(database, scope)
    with database.transaction(scope) as tx:
        head = tx.execute(
            "select head_seq from space where space_id = %s", (scope.space_id,)
        ).fetchone()
        assert head is not None
        probe_cache.remember_miss(tx, scope, "Atlantis", head[0])
        elements.refuse(tx, scope, ["sha256:0"], "pln-test")
        assert not probe_cache.known_miss(tx, scope, "Atlantis")
    refused = epoch(database, scope)
    change(database, scope, lived, "suppress")
    suppressed = epoch(database, scope)
    change(database, scope, dutch, "delete")
    deleted = epoch(database, scope)
    assert before < refused < suppressed < deleted


def test_a_walk_over_pages_that_began_before_a_change_starts_again_from_the_first(
    database: Database, scope: Scope
) -> None:
    form(
        database,
        scope,
        [said("I live in Berlin."), said("I speak Dutch."), said("I own a boat.")],
        BuiltinEncoder(),
    )
    first = page(database, scope, limit=1)
    assert first.after is not None
    second = page(database, scope, limit=1, after=first.after)
    assert second.after is not None
    change(database, scope, first.records[0], "suppress")
    with pytest.raises(StaleCursor):
        page(database, scope, limit=1, after=second.after)
    walked: list[str] = []
    after: str | None = None
    while True:
        one = page(database, scope, limit=1, after=after)
        walked += [record.id for record in one.records]
        after = one.after
        if after is None:
            break
    assert len(walked) == len(set(walked)) == 2
    for wrong in ("", "A-1", "0/", "x/A-1", "0/A-1/2"):
        with pytest.raises(InvalidInput):
            page(database, scope, after=wrong)


def test_what_two_plans_refuse_stays_refused_when_one_of_them_gives_up(
    database: Database, scope: Scope
) -> None:
    with database.transaction(scope) as tx:
        elements.refuse(tx, scope, ["sha256:1"], "pln-one")
        elements.refuse(tx, scope, ["sha256:1", "sha256:2"], "pln-two")
        elements.allow_again(tx, scope, "pln-one")
        assert state.suppressed(tx, scope, {"sha256:1"}) == {"sha256:1"}
        elements.allow_again(tx, scope, "pln-two")
        assert state.suppressed(tx, scope, {"sha256:1", "sha256:2"}) == frozenset()


def test_recall_neither_states_nor_quotes_what_was_suppressed(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    change(database, scope, lived, "suppress")
    for question in ("Where does Ada live?", "What did Ada say about Berlin?"):
        job = accept(database, scope, "recall", [{"role": "user", "content": question}])
        run(database, scope, job, lambda: None)
        done = ended(database, scope, job)
        assert done.result is not None
        assert "live in Berlin" not in str(done.result)
        assert "lives_in" not in str(done.result)


def test_a_formation_is_not_offered_what_was_suppressed(
    database: Database, scope: Scope, lived: MemoryRecord
) -> None:
    with database.transaction(scope) as tx:
        assert reading.known_claims(tx, scope, "Ada")
    change(database, scope, lived, "suppress")
    with database.transaction(scope) as tx:
        assert reading.known_claims(tx, scope, "Ada") == ()
