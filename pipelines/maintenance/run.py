"""The maintenance job. So far it keeps the search index true: terms of today's analyser, and
vectors for every document.

Settlement, self-test and the model's pass of seed 003 are not part of it yet; the run's record says
what was done, so that nobody takes it for more.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pipelines.ports.embedder import Embedder, process_embedder
from pipelines.work import Effect, FollowUp, Result, Work
from storage import conversations
from storage.database import Transaction
from storage.search import index, vectors

_BATCH = 200
#: Vectors of one collection beyond which an index is faster than reading all of them.
_EXACT = 50_000


def run(work: Work) -> Effect:
    """Bring the space's search index up to date and report what there was to do."""
    with work.read() as tx:
        collections = index.collections(tx, work.scope)
    outdated = sorted(name for name, one in collections.items() if not one.current)
    reindexed = sum(_reindex(work, kind) for kind in outdated)
    embedder = process_embedder()
    missing = 0
    if embedder is not None:
        with work.read() as tx:
            for kind in vectors.EMBEDDED:
                covered = vectors.coverage(tx, work.scope, kind, embedder.id)
                missing += covered.total - covered.indexed
    indexed = _index_vectors(work, embedder) if embedder is not None else 0
    report: dict[str, Any] = {
        "scope": work.payload.get("scope", "daydream"),
        "batches_analysed_again": reindexed,
        "vectors_missing": missing,
        "vector_indexes_built": indexed,
    }

    def apply(tx: Transaction) -> Result:
        conversation = work.payload.get("conversation")
        if conversation is not None:
            conversations.settle(
                tx, work.scope, int(conversation), artifacts=[{"type": "maintenance", **report}]
            )
        return Result(
            report,
            follow_ups=(FollowUp("embed", {}, coalesce_key="embed"),) if missing else (),
        )

    return Effect(apply)


def _index_vectors(work: Work, embedder: Embedder) -> int:
    """Give large collections of vectors an index; below that an exact scan is as fast."""
    built = 0
    for kind in vectors.EMBEDDED:
        work.checkpoint()
        with work.read() as tx:
            held = vectors.coverage(tx, work.scope, kind, embedder.id).indexed
        if held > _EXACT:
            built += vectors.build_index(work.scope, kind, embedder.id)
    return built


def _reindex(work: Work, kind: str) -> int:
    """Analyse one collection again; returns in how many batches.

    The cursor tells where a batch begins, so that a restart repeats at most one, to no effect.
    """
    after: int | None = int((work.cursor or {}).get(kind, 0))
    batches = 0
    while after is not None:
        after = work.commit_batch(
            partial(index.reindex, scope=work.scope, kind=kind, after=after, limit=_BATCH),
            {**(work.cursor or {}), kind: after},
        )
        batches += 1
        work.progress(batches, batches + 1, f"batches of {kind} documents")
    return batches
