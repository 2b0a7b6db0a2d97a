"""The `embed` job: a vector for every document that lacks one, in small batches.

Embedding is the slowest step of all (some ten passages a second), so it follows formation at its
own pace; recall says meanwhile how far it has come. Each batch is embedded outside transactions and
committed with the cursor under the job's fence; a batch that is done twice adds nothing.
"""

from __future__ import annotations

from functools import partial

from pipelines.ports.embedder import Embedder, process_embedder
from pipelines.work import Effect, Result, Work
from storage.database import Transaction
from storage.search import vectors
from storage.search.documents import DocumentKind
from storage.search.vectors import EMBEDDED

#: Documents a batch: some seconds of work, which is what a crash repeats.
_BATCH = 32


def run(work: Work, embedder: Embedder | None = None) -> Effect:
    """Embed what the space holds and `embedder` (None: the process's own) has not seen yet.

    With vectors switched off there is nothing to do. The result says how many documents have a
    vector now, of how many.
    """
    chosen = embedder or process_embedder()
    if chosen is None:
        return Effect(lambda tx: Result({"embedder": None}))
    for kind in EMBEDDED:
        _embed(work, chosen, kind)

    def report(tx: Transaction) -> Result:
        covered = [vectors.coverage(tx, work.scope, kind, chosen.id) for kind in EMBEDDED]
        return Result(
            {
                "embedder": chosen.id,
                "indexed": sum(part.indexed for part in covered),
                "total": sum(part.total for part in covered),
            }
        )

    return Effect(report)


def _embed(work: Work, embedder: Embedder, kind: DocumentKind) -> None:
    """Go through one kind in the order of ids, from the durable cursor on."""
    cursor = dict(work.cursor or {})
    while True:
        work.checkpoint()
        with work.read() as tx:
            covered = vectors.coverage(tx, work.scope, kind, embedder.id)
            batch = (
                []
                if covered.complete
                else vectors.unembedded(
                    tx, work.scope, kind, embedder.id, int(cursor.get(kind, 0)), _BATCH
                )
            )
        work.progress(covered.indexed, covered.total, kind)
        if not batch:
            return
        rows = embedder.embed([document.text for document in batch], "passage")
        ids = [document.document_id for document in batch]
        add = partial(
            vectors.put,
            scope=work.scope,
            kind=kind,
            embedder=embedder.id,
            document_ids=ids,
            vectors=rows,
        )
        cursor[kind] = ids[-1]
        work.commit_batch(add, dict(cursor))
