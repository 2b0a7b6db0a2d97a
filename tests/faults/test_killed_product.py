"""kill -9 between accepting a change of a record and its end: all of it, or nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.product_intake import Spoken, ingest_product
from pipelines.formation.alone import form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.product.changes import (
    Caller,
    Changed,
    ChangeRequest,
    product_change,
    recover,
)
from pipelines.product.records import MemoryRecord, product_record, product_records
from storage import epochs
from storage.clock import now
from storage.graph import state
from storage.settings import reload
from storage.source_identity import SourceIdentity
from tests.erasure import where
from tests.faults.conftest import Bench
from tests.services import ROOT, Process, Services, wait_for

WORDS = "zibbergnash"
SAID = f"I live in Berlin, says the {WORDS}."
TALK = SourceIdentity("talk-1")

#: What a process does, and where it is killed: the first call of a function of ours.
CHILD = f"""
import os, signal, sys
from jobs import dispatch, product_intake
from pipelines.forget import run as forgetting
from pipelines.product import changes
from storage import conversations
from storage.clock import now
from storage.database import Database, Scope, database
from storage.source_identity import SourceIdentity

space, what, place, *rest = sys.argv[1:]

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

module, _, name = place.rpartition(".")
places = {{"changes": changes, "forgetting": forgetting, "dispatch": dispatch,
           "elements": forgetting.elements, "copies": forgetting.copies,
           "planning": forgetting.planning, "conversations": conversations}}
setattr(places[module], name, die)
scope = Scope(space)
if what == "ingest":
    said = [product_intake.Spoken("user", {SAID!r}, "Ada")]
    caller = changes.Caller("ada", "C-0")
    source = SourceIdentity("talk-1")
    product_intake.ingest_product(database(), scope, caller, "op-1", said, source)
else:
    record, revision, actor = rest
    request = changes.ChangeRequest("op-1", record, revision, what)
    changes.product_change(database(), scope, changes.Caller("ada", actor), request)
"""


@pytest.fixture
def env(fast: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    monkeypatch.setenv("BRAINSTEM_EMBEDDER", "none")
    reload()
    yield {**fast, "BRAINSTEM_EMBEDDER": "none"}
    monkeypatch.undo()
    reload()


@pytest.fixture
def lived(bench: Bench, env: dict[str, str]) -> MemoryRecord:
    form(bench.database, bench.scope, [said(SAID)], BuiltinEncoder())
    (found,) = records(bench)
    return found


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "name": "Ada", "content": text}


def records(bench: Bench) -> list[MemoryRecord]:
    with bench.database.transaction(bench.scope, snapshot=True) as tx:
        return list(product_records(tx, bench.scope, now()).records)


def epoch(bench: Bench) -> int:
    with bench.database.transaction(bench.scope) as tx:
        return epochs.current(tx, bench.scope)


def killed(services: Services, env: dict[str, str], *arguments: str) -> None:
    """Run the child, and see that it was killed at its place."""
    child = subprocess.run(
        [sys.executable, "-c", CHILD, *arguments],
        env={**os.environ, **services.environment, **env, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr


def again(bench: Bench, record: MemoryRecord, what: Any) -> Changed:
    """The same operation, asked for once more."""
    request = ChangeRequest("op-1", record.id, record.revision, what)
    caller = Caller("ada", record.asserted_by.id)
    return product_change(bench.database, bench.scope, caller, request)


@pytest.mark.parametrize(
    ("what", "place"),
    [
        ("suppress", "changes.commit"),
        ("suppress", "elements.unwind"),
        ("delete", "elements.refuse"),
    ],
)
def test_a_change_that_is_killed_while_it_is_accepted_was_never_asked_for(
    bench: Bench,
    services: Services,
    env: dict[str, str],
    lived: MemoryRecord,
    what: str,
    place: str,
) -> None:
    before = epoch(bench)
    killed(services, env, bench.space, what, place, lived.id, lived.revision, lived.asserted_by.id)
    assert epoch(bench) == before
    assert records(bench) == [lived]
    assert recover(bench.database, bench.scope) == 0
    with bench.database.transaction(bench.scope) as tx:
        digests = {source.content_digest for source in lived.sources if source.content_digest}
        assert state.suppressed(tx, bench.scope, digests) == frozenset()
    # and may be asked for
    assert again(bench, lived, what).status == "completed"
    assert records(bench) == []


@pytest.mark.parametrize(
    "place", ["changes._finish", "elements.erase", "copies.clean", "planning.settled"]
)
def test_a_deletion_that_is_killed_once_it_is_accepted_is_carried_out_when_the_space_is_opened(
    bench: Bench, services: Services, env: dict[str, str], lived: MemoryRecord, place: str
) -> None:
    before = epoch(bench)
    arguments = (lived.id, lived.revision, lived.asserted_by.id)
    killed(services, env, bench.space, "delete", place, *arguments)
    assert epoch(bench) > before
    # refused from the moment on that it was accepted
    form(bench.database, bench.scope, [said(SAID)], BuiltinEncoder())
    assert [one.id for one in records(bench)] in ([lived.id], [])
    assert recover(bench.database, bench.scope) == 1
    assert recover(bench.database, bench.scope) == 0
    assert again(bench, lived, "delete").status == "completed"
    assert records(bench) == []
    assert where(services, WORDS) == []
    with bench.database.transaction(bench.scope) as tx:
        commits = tx.execute(
            "select count(*) from commit_record where space_id = %s and channel = 'forget'",
            (bench.space,),
        ).fetchone()
    assert commits == (1,)


@pytest.mark.parametrize("place", ["conversations.create", "dispatch.announce"])
def test_what_is_handed_over_by_a_host_that_is_killed_is_formed_once_or_was_never_accepted(
    bench: Bench,
    services: Services,
    env: dict[str, str],
    worker: Callable[..., Process],
    scheduler: Callable[..., Process],
    place: str,
) -> None:
    killed(services, env, bench.space, "ingest", place)
    with bench.database.transaction(bench.scope) as tx:
        jobs = tx.execute("select count(*) from job where space_id = %s", (bench.space,)).fetchone()
    assert jobs == ((0,) if place == "conversations.create" else (1,))
    told = ingest_product(
        bench.database,
        bench.scope,
        Caller("ada", "C-0"),
        "op-1",
        [Spoken("user", SAID, "Ada")],
        TALK,
    )
    scheduler(env=env)
    worker(queues="memory", env=env)
    (done,) = bench.wait_ended([told.job])
    assert (done.state, done.disposition) == ("succeeded", "formed")
    assert len(records(bench)) == 1


@pytest.mark.parametrize("dies", [False, True], ids=["goes on", "is killed"])
def test_a_worker_that_formed_what_was_excluded_meanwhile_writes_none_of_it(
    bench: Bench,
    env: dict[str, str],
    worker: Callable[..., Process],
    scheduler: Callable[..., Process],
    lived: MemoryRecord,
    tmp_path: Path,
    dies: bool,
) -> None:
    held = tmp_path / "held"
    holding = {"BRAINSTEM_FAILPOINTS": f"before_commit/formation=hold:{held}*1"}
    first = worker(queues="memory", env={**env, **holding})
    told = ingest_product(
        bench.database,
        bench.scope,
        Caller("ada", "C-0"),
        "op-1",
        [Spoken("user", SAID, "Ada"), Spoken("user", "I speak Dutch.", "Ada")],
        SourceIdentity("talk-2"),
    )
    wait_for(held.exists, what="the formation to be ready")
    with bench.database.transaction(bench.scope) as tx:
        found = product_record(tx, bench.scope, lived.id, now())
    assert again(bench, found, "suppress").status == "completed"
    if dies:
        first.kill9()
        scheduler(env=env)
        worker(queues="memory", env=env)
    held.unlink()
    (done,) = bench.wait_ended([told.job])
    assert (done.state, done.disposition) == ("succeeded", "formed")
    events = bench.history(told.job)
    assert events.count("succeeded") == 1
    assert ("released" in events) is not dies
    assert [one.predicate for one in records(bench)] == ["speaks"]
