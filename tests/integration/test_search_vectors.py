"""Vectors: optional, exact, one set an embedder, and gone with their documents."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

from pipelines.embed.run import run
from storage.database import Database, Scope, Transaction
from storage.errors import Cancelled, Fatal
from storage.search import index, vectors
from storage.search.documents import Document
from storage.search.embedder import HashEmbedder


@pytest.fixture
def scope() -> Scope:
    return Scope(f"vector_{uuid.uuid4().hex[:12]}")


def fill(database: Database, scope: Scope, count: int, start: int = 0) -> None:
    with database.transaction(scope) as tx:
        index.put(
            tx,
            scope,
            [
                Document(f"E-{i}", "evidence", f"word{i}", f"before\nword{i} shared", None)
                for i in range(start, start + count)
            ]
            + [Document(f"A-{i}", "claim", f"word{i}", f"word{i}", None) for i in range(start, 3)],
        )


class Run:
    """An attempt without a ledger: the same transactions, a cursor kept here."""

    kind, attempt, principal, job_id = "embed", 1, "anonymous", "job-x"

    def __init__(self, database: Database, scope: Scope, stop_after: int | None = None) -> None:
        self.database = database
        self.scope = scope
        self.payload: dict[str, Any] = {}
        self.cursor: dict[str, Any] | None = None
        self.batches = 0
        self.stop_after = stop_after
        self.told: list[tuple[int, int]] = []

    def checkpoint(self) -> None:
        if self.stop_after is not None and self.batches >= self.stop_after:
            raise Cancelled()

    def progress(self, done: int, total: int, note: str = "") -> None:
        self.told.append((done, total))

    def read(self) -> AbstractContextManager[Transaction]:
        return self.database.transaction(self.scope, snapshot=True)

    def commit_batch(self, apply: Callable[[Transaction], Any], cursor: dict[str, Any]) -> Any:
        with self.database.transaction(self.scope) as tx:
            answer = apply(tx)
        self.cursor, self.batches = cursor, self.batches + 1
        return answer

    def charge(self, usage: object) -> None:
        raise AssertionError("embedding charges no model usage")

    def finish(self) -> dict[str, Any]:
        effect = run(self, HashEmbedder())
        with self.database.transaction(self.scope) as tx:
            return effect.apply(tx).result


def covered(database: Database, scope: Scope) -> vectors.Coverage:
    with database.transaction(scope) as tx:
        return vectors.coverage(tx, scope, "evidence", HashEmbedder.id)


def test_the_embed_job_gives_every_message_its_vector_in_batches(
    database: Database, scope: Scope
) -> None:
    fill(database, scope, 100)
    assert covered(database, scope) == vectors.Coverage("hash-1", 0, 100)
    work = Run(database, scope)
    assert work.finish() == {"embedder": "hash-1", "indexed": 100, "total": 100}
    assert work.batches == 4
    assert work.told[-1] == (100, 100)
    assert covered(database, scope).complete
    again = Run(database, scope)
    again.finish()
    assert again.batches == 0


def test_a_stopped_embed_job_goes_on_from_its_cursor(database: Database, scope: Scope) -> None:
    fill(database, scope, 100)
    work = Run(database, scope, stop_after=2)
    with pytest.raises(Cancelled):
        work.finish()
    assert covered(database, scope).indexed == 64
    work.stop_after = None
    assert work.finish()["indexed"] == 100
    assert work.batches == 4


def test_what_came_below_the_cursor_is_found_by_the_next_job(
    database: Database, scope: Scope
) -> None:
    fill(database, scope, 10)
    late = Run(database, scope)
    late.cursor = {"evidence": 10**12}
    assert late.finish()["indexed"] == 0
    assert Run(database, scope).finish()["indexed"] == 10


def test_a_repeated_batch_adds_nothing_and_missing_documents_are_passed_over(
    database: Database, scope: Scope
) -> None:
    fill(database, scope, 3)
    with database.transaction(scope) as tx:
        waiting = vectors.unembedded(tx, scope, "evidence", "e", 0, 10)
        assert [w.text for w in waiting] == [f"before\nword{i} shared" for i in range(3)]
        ids = [w.document_id for w in waiting]
        rows = np.eye(4, dtype=np.float32)
        assert vectors.put(tx, scope, "evidence", "e", [*ids, 10**12], rows) == 3
        assert vectors.put(tx, scope, "evidence", "e", ids, rows[:3]) == 0
        assert vectors.coverage(tx, scope, "evidence", "e") == vectors.Coverage("e", 3, 3)


def test_embedders_are_never_mixed(database: Database, scope: Scope) -> None:
    fill(database, scope, 2)
    with database.transaction(scope) as tx:
        ids = [w.document_id for w in vectors.unembedded(tx, scope, "evidence", "a", 0, 10)]
        vectors.put(tx, scope, "evidence", "a", ids[:1], np.eye(3, dtype=np.float32)[:1])
        vectors.put(tx, scope, "evidence", "b", ids[1:], np.eye(5, dtype=np.float32)[:1])
        near = vectors.search(tx, scope, "evidence", "a", np.eye(3, dtype=np.float32)[0], 10)
        assert [(h.element_id, h.score) for h in near] == [("E-0", 1.0)]
        assert vectors.drop(tx, scope, "a") == 1
        assert vectors.coverage(tx, scope, "evidence", "a").indexed == 0
        assert vectors.coverage(tx, scope, "evidence", "b").indexed == 1
        with pytest.raises(Fatal, match="dimension"):
            vectors.put(tx, scope, "evidence", "b", ids[:1], np.eye(3, dtype=np.float32)[:1])


def test_removed_and_replaced_documents_lose_their_vectors(
    database: Database, scope: Scope
) -> None:
    fill(database, scope, 4)
    Run(database, scope).finish()
    fill(database, scope, 1)
    with database.transaction(scope) as tx:
        index.remove(tx, scope, ["E-3"])
    assert covered(database, scope) == vectors.Coverage("hash-1", 2, 3)
    with database.transaction(scope) as tx:
        rows = tx.execute(
            "select count(*) from search_vector where space_id = %s", (scope.space_id,)
        ).fetchone()
        assert rows == (2,)


def test_the_scan_is_exact_and_an_index_of_its_own_keeps_the_order(
    database: Database, scope: Scope
) -> None:
    fill(database, scope, 400)
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(400, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    with database.transaction(scope) as tx:
        waiting = vectors.unembedded(tx, scope, "evidence", "r", 0, 400)
        vectors.put(tx, scope, "evidence", "r", [w.document_id for w in waiting], rows)
    query = rows[5]
    expected = [f"E-{i}" for i in np.argsort(-(rows @ query))[:10]]

    def nearest() -> list[str]:
        with database.transaction(scope, snapshot=True) as tx:
            hits = vectors.search(tx, scope, "evidence", "r", query, 10)
        assert hits[0].score == pytest.approx(1.0, abs=2e-3)
        return [hit.element_id for hit in hits]

    assert nearest() == expected
    assert vectors.build_index(scope, "evidence", "r")
    assert not vectors.build_index(scope, "evidence", "r")
    assert not vectors.build_index(scope, "evidence", "unknown")
    assert nearest()[:5] == expected[:5]
