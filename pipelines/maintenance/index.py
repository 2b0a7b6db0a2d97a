"""Keeping the search index true: every element in it, terms of today's analyser, all vectors."""

from __future__ import annotations

from functools import partial

from pipelines.ports.embedder import Embedder, process_embedder
from pipelines.work import Work
from storage.graph import searchable
from storage.search import index, vectors

_BATCH = 200
#: Vectors of one collection beyond which an index is faster than reading all of them.
_EXACT = 50_000


def bring_up_to_date(work: Work) -> dict[str, int]:
    """Bring the space's index up to date; says what there was to do."""
    caught_up = _catch_up(work)
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
    return {
        "elements_indexed_late": caught_up,
        "batches_analysed_again": reindexed,
        "vectors_missing": missing,
        "vector_indexes_built": indexed,
    }


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


def _catch_up(work: Work) -> int:
    """Index what a space held before every commit indexed its elements; returns how many."""
    with work.read() as tx:
        if searchable.complete(tx, work.scope):
            return 0
    looked_at = 0
    catch_up = partial(searchable.catch_up, scope=work.scope)
    while found := work.commit_batch(catch_up, dict(work.cursor or {})):
        looked_at += found
        work.progress(looked_at, looked_at + 1, "elements of before")
    return looked_at


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
