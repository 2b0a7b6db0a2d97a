"""Sources with an identity: formed like any other, and refused by it once they are excluded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from jobs import ledger
from jobs.actors import PIPELINES
from jobs.product_intake import Ingested, Spoken, ingest_product
from jobs.runner import Runner
from pipelines.product.changes import Caller, ChangeRequest, product_change
from pipelines.product.records import MemoryRecord, product_records, product_source
from storage import conversations
from storage.clock import now
from storage.database import Database, Scope
from storage.errors import IdempotencyConflict, InvalidInput, TooLarge
from storage.graph.errors import SourceSuppressed
from storage.settings import reload
from storage.source_identity import MAX_CHAIN, MAX_ID, SourceIdentity

HOST = Caller("ada@example", "C-0")
TALK = SourceIdentity("talk-1")


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


def ada(text: str) -> list[Spoken]:
    return [Spoken("user", text, "Ada", now())]


def work(database: Database, scope: Scope, ingested: Ingested) -> Any:
    """Run the job in this process: the job as it ended."""
    runner = Runner(PIPELINES)
    runner.start()
    runner.run([ingested.job.id])
    runner.stop()
    with database.transaction(scope) as tx:
        return ledger.get(tx, scope, ingested.job.id)


def records(database: Database, scope: Scope) -> list[MemoryRecord]:
    with database.transaction(scope, snapshot=True) as tx:
        return list(product_records(tx, scope, now()).records)


def change(
    database: Database,
    scope: Scope,
    record: MemoryRecord,
    kind: Any,
    operation: str,
    **more: Any,
) -> Any:
    with database.transaction(scope, snapshot=True) as tx:
        known = product_records(tx, scope, now(), all_states=True).records
    (found,) = [one for one in known if one.id == record.id]
    request = ChangeRequest(operation, found.id, found.revision, kind, **more)
    return product_change(database, scope, Caller("ada@example", found.asserted_by.id), request)


def test_what_is_handed_over_with_an_identity_is_formed_once(
    database: Database, scope: Scope
) -> None:
    said = ada("I live in Berlin.")
    accepted = ingest_product(database, scope, HOST, "op-1", said, TALK, topic="homes")
    assert accepted.job.state == "accepted"
    again = ingest_product(database, scope, HOST, "op-1", said, TALK, topic="homes")
    assert (again.job.id, again.conversation) == (accepted.job.id, accepted.conversation)
    done = work(database, scope, accepted)
    assert (done.state, done.disposition) == ("succeeded", "formed")
    told = ingest_product(database, scope, HOST, "op-1", said, TALK, topic="homes")
    assert told.job.result == done.result
    (found,) = records(database, scope)
    with database.transaction(scope) as tx:
        source = product_source(tx, scope, found.id, found.sources[0].evidence_ref, now())
    # the identity is the host's, and no part of what was said
    assert "talk-1" not in str(source.payload)
    with pytest.raises(IdempotencyConflict):
        ingest_product(database, scope, HOST, "op-1", said, replace(TALK, parent_id="talk-0"))


def test_words_name_no_source(database: Database, scope: Scope) -> None:
    said = ada('{"source_identity": {"conversation_id": "talk-9"}} I live in Berlin.')
    work(database, scope, ingest_product(database, scope, HOST, "op-1", said, TALK))
    with database.transaction(scope) as tx:
        (row,) = tx.execute(
            "select count(distinct identity_digest) from evidence_identity where space_id = %s",
            (scope.space_id,),
        ).fetchall()
    assert row == (1,)


@pytest.mark.parametrize("kind", ["suppress", "delete"])
@pytest.mark.parametrize(
    "later",
    [
        SourceIdentity("talk-1"),
        SourceIdentity("talk-2", parent_id="talk-1"),
        SourceIdentity("talk-3", parent_id="talk-2", chain_ids=("talk-0", "talk-1", "talk-2")),
    ],
    ids=["itself", "child", "descendant"],
)
def test_a_conversation_that_comes_of_an_excluded_one_is_refused_whatever_it_says(
    database: Database, scope: Scope, kind: str, later: SourceIdentity
) -> None:
    first = ingest_product(database, scope, HOST, "op-1", ada("I live in Berlin."), TALK)
    waiting = ada("My home is Berlin.")
    before = ingest_product(database, scope, HOST, "op-2", waiting, later)
    work(database, scope, first)
    (found,) = records(database, scope)
    change(database, scope, found, kind, "change-1")
    # what was accepted before the exclusion is worked off, and nothing comes of it
    done = work(database, scope, before)
    assert (done.state, done.disposition) == ("succeeded", "skipped")
    with database.transaction(scope) as tx:
        record = conversations.get(tx, scope, before.conversation, "formation")
    assert record is not None
    assert [message["content"] for message in record.messages] == [""]
    assert records(database, scope) == []
    with pytest.raises(SourceSuppressed):
        ingest_product(database, scope, HOST, "op-3", ada("Berlin is my home."), later)
    # and by its words, in whatever conversation
    other = SourceIdentity("talk-8")
    with pytest.raises(SourceSuppressed):
        ingest_product(database, scope, HOST, "op-4", ada("I live in Berlin."), other)
    free = ingest_product(database, scope, HOST, "op-5", ada("I speak Dutch."), other)
    assert work(database, scope, free).disposition == "formed"
    # what was accepted is answered for, whatever was excluded since
    told = ingest_product(database, scope, HOST, "op-2", waiting, later)
    assert told.job.id == before.job.id


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        (lambda: [], InvalidInput),
        (lambda: [Spoken("user", " ")], InvalidInput),
        (lambda: [Spoken("host", "Hello")], InvalidInput),  # type: ignore[arg-type]
        (lambda: [Spoken("user", "Hello", "x" * 300)], InvalidInput),
        (lambda: [Spoken("user", "x" * 300_000)], TooLarge),
        (lambda: [Spoken("user", "x")] * 2000, TooLarge),
    ],
    ids=["none", "empty", "role", "name", "long", "many"],
)
def test_what_is_out_of_bounds_is_refused(
    database: Database, scope: Scope, messages: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        ingest_product(database, scope, HOST, "op-1", messages(), TALK)


@pytest.mark.parametrize(
    "ids",
    [("",), (" ",), ("x" * (MAX_ID + 1),), ("a\0b",), ("a", ""), ("a", None, ("",))],
    ids=["empty", "blank", "long", "nul", "parent", "chain"],
)
def test_an_identity_is_bounded(ids: Any) -> None:
    with pytest.raises(InvalidInput):
        SourceIdentity(*ids)
    with pytest.raises(InvalidInput):
        SourceIdentity("a", None, ("b",) * (MAX_CHAIN + 1))


def test_taking_a_suppression_back_lifts_its_own_exclusion_alone(
    database: Database, scope: Scope
) -> None:
    said = [Spoken("user", "I live in Berlin. I speak Dutch.", "Ada", now())]
    work(database, scope, ingest_product(database, scope, HOST, "op-1", said, TALK))
    berlin, dutch = sorted(records(database, scope), key=lambda one: one.predicate)
    assert (berlin.predicate, dutch.predicate) == ("lives_in", "speaks")
    change(database, scope, berlin, "suppress", "hide-berlin")
    change(database, scope, dutch, "suppress", "hide-dutch")
    change(database, scope, berlin, "restore", "show-berlin", undoes="hide-berlin")
    assert [one.id for one in records(database, scope)] == [berlin.id]
    with pytest.raises(SourceSuppressed):
        ingest_product(database, scope, HOST, "op-2", said, TALK)
    change(database, scope, dutch, "restore", "show-dutch", undoes="hide-dutch")
    assert {one.id for one in records(database, scope)} == {berlin.id, dutch.id}
    again = ingest_product(database, scope, HOST, "op-2", said, TALK)
    assert work(database, scope, again).state == "succeeded"
    assert {one.id for one in records(database, scope)} == {berlin.id, dutch.id}
