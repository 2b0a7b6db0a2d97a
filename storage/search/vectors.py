"""Vectors beside the documents they were made of, one set an embedder; sets are never compared.

Optional throughout: everything works without a row here, and `coverage` says how far an embedder
has come. Vectors are unit rows kept in half precision. The scan of a space is exact; beyond some
50,000 vectors a space can be given an approximate index (`build_index`, run by an operator's or
maintenance command as the owner of the tables).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import psycopg
from psycopg import sql as compose

from storage.database import APP_ROLE, Scope, Transaction, conninfo, sql
from storage.errors import Fatal
from storage.search.bm25 import Hit
from storage.search.documents import DocumentKind
from storage.search.index import lock

#: The kinds that are embedded. Claims, commitments and constraints are short and are found by
#: their words, their people and the messages they cite, so their vectors would double the cost of
#: embedding (the slowest step by far) for no reader.
EMBEDDED: tuple[DocumentKind, ...] = ("evidence",)
#: Candidates that an approximate index visits; recall@10 was .995 and better at 100.
_EF_SEARCH = 100


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of a kind's documents one embedder has made vectors for."""

    embedder: str
    indexed: int
    total: int

    @property
    def complete(self) -> bool:
        """Whether no document lacks its vector."""
        return self.indexed >= self.total


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A document that waits for its vector, with the text to embed."""

    document_id: int
    text: str


def coverage(tx: Transaction, scope: Scope, kind: DocumentKind, embedder: str) -> Coverage:
    """Exact figures of the snapshot that `tx` sees."""
    row = tx.execute(
        """
        select coalesce(e.vectors, 0), c.documents
        from search_collection c
        left join search_embedding e on e.space_id = c.space_id and e.kind = c.kind
            and e.embedder = %(embedder)s
        where c.space_id = %(space)s and c.kind = %(kind)s
        """,
        {"space": scope.space_id, "kind": kind, "embedder": embedder},
    ).fetchone()
    indexed, total = row or (0, 0)
    return Coverage(embedder, indexed, total)


def unembedded(
    tx: Transaction, scope: Scope, kind: DocumentKind, embedder: str, after: int, limit: int
) -> list[Unembedded]:
    """The next documents with an id above `after` that have no vector of `embedder`, by id."""
    rows = tx.execute(
        """
        select d.id, coalesce(d.embed_text, d.text)
        from search_document d
        where d.space_id = %(space)s and d.kind = %(kind)s and d.id > %(after)s and (
            select true from search_vector v
            where v.space_id = %(space)s and v.kind = %(kind)s and v.document_id = d.id
                and v.embedder = %(embedder)s) is null
        order by d.id limit %(limit)s
        """,
        {
            "space": scope.space_id,
            "kind": kind,
            "embedder": embedder,
            "after": after,
            "limit": limit,
        },
    )
    return [Unembedded(*row) for row in rows]


def put(
    tx: Transaction,
    scope: Scope,
    kind: DocumentKind,
    embedder: str,
    document_ids: Sequence[int],
    vectors: np.ndarray,
) -> int:
    """Add unit rows for documents; those that have one, or are gone, are passed over.

    Returns how many were added. Runs in the caller's transaction and may be repeated. Raises
    `Fatal` when the embedder's earlier vectors have another dimension.
    """
    dim = int(vectors.shape[1])
    # a document that is removed meanwhile takes its vector along and is not counted
    lock(tx, scope)
    row = tx.execute(
        """
        insert into search_embedding as e (space_id, kind, embedder, dim)
        values (%s, %s, %s, %s)
        on conflict (space_id, kind, embedder) do update set vectors = e.vectors returning dim
        """,
        (scope.space_id, kind, embedder, dim),
    ).fetchone()
    if row != (dim,):
        raise Fatal(f"{embedder} made vectors of another dimension before; drop those first.")
    added = tx.execute(
        """
        insert into search_vector (space_id, kind, embedder, document_id, vector)
        select %(space)s, %(kind)s, %(embedder)s, d.id, new.vector::halfvec
        from unnest(%(ids)s::bigint[], %(vectors)s::text[]) as new (id, vector)
        cross join lateral (
            select id from search_document
            where space_id = %(space)s and kind = %(kind)s and id = new.id offset 0
        ) d
        on conflict do nothing
        """,
        {
            "space": scope.space_id,
            "kind": kind,
            "embedder": embedder,
            "ids": list(document_ids),
            "vectors": [_literal(vector) for vector in vectors],
        },
    ).rowcount
    tx.execute(
        """
        update search_embedding set vectors = vectors + %s
        where space_id = %s and kind = %s and embedder = %s
        """,
        (added, scope.space_id, kind, embedder),
    )
    return added


def drop(tx: Transaction, scope: Scope, embedder: str) -> int:
    """Remove all vectors of an embedder that is no longer used; says how many."""
    lock(tx, scope)
    removed = tx.execute(
        "delete from search_vector where space_id = %s and embedder = %s",
        (scope.space_id, embedder),
    ).rowcount
    tx.execute(
        "delete from search_embedding where space_id = %s and embedder = %s",
        (scope.space_id, embedder),
    )
    return removed


_NEAREST = """
    with best as materialized (
        select document_id,
            vector::halfvec({dim}) <#> %(query)s::halfvec({dim}) distance
        from search_vector
        where space_id = %(space)s and kind = %(kind)s and embedder = %(embedder)s
        order by vector::halfvec({dim}) <#> %(query)s::halfvec({dim}) limit %(limit)s
    )
    select b.document_id, d.element_id, -b.distance, d.text, d.at
    from best b
    cross join lateral (
        select element_id, text, at from search_document
        where space_id = %(space)s and kind = %(kind)s and id = b.document_id offset 0
    ) d
    order by b.distance, b.document_id
"""


def search(
    tx: Transaction,
    scope: Scope,
    kind: DocumentKind,
    embedder: str,
    query: np.ndarray,
    limit: int,
) -> list[Hit]:
    """The `limit` documents nearest to a unit `query`, best first; `score` is the cosine.

    Exact, unless `build_index` has made an index for this space and embedder.
    """
    tx.execute(sql(f"set local hnsw.ef_search = {max(_EF_SEARCH, limit)}"))
    # never prepared: a generic plan could not see that the partial index covers this space
    rows = tx.execute(
        sql(_NEAREST.format(dim=int(query.shape[0]))),
        {
            "space": scope.space_id,
            "kind": kind,
            "embedder": embedder,
            "query": _literal(query),
            "limit": limit,
        },
        prepare=False,
    )
    return [Hit(*row) for row in rows]


def build_index(scope: Scope, kind: DocumentKind, embedder: str) -> bool:
    """Give one space an approximate (HNSW) index; False when it has one or has no vectors.

    For spaces beyond some 50,000 vectors; below that an exact scan is as fast. Runs as the owner
    of the tables, outside any transaction, without blocking writers; minutes for a million rows.
    """
    name = (
        "search_vector_hnsw_"
        + hashlib.sha256("\0".join((scope.space_id, kind, embedder)).encode()).hexdigest()[:16]
    )
    with psycopg.connect(conninfo(), autocommit=True) as owner:
        with owner.transaction():
            owner.execute(sql("select set_config('brainstem.space', %s, true)"), (scope.space_id,))
            owner.execute(sql(f"set local role {APP_ROLE}"))
            row = owner.execute(
                """
                select dim from search_embedding
                where space_id = %s and kind = %s and embedder = %s and vectors > 0
                """,
                (scope.space_id, kind, embedder),
            ).fetchone()
        made = owner.execute(
            "select indisvalid from pg_index where indexrelid = to_regclass(%s)", (name,)
        ).fetchone()
        if row is None or made == (True,):
            return False
        if made:  # an earlier build was cut short
            owner.execute(compose.SQL("drop index {}").format(compose.Identifier(name)))
        owner.execute("set maintenance_work_mem = '1GB'")
        owner.execute(
            compose.SQL(
                """
                create index concurrently {name} on search_vector
                using hnsw ((vector::halfvec({dim})) halfvec_ip_ops)
                where space_id = {space} and kind = {kind} and embedder = {embedder}
                """
            ).format(
                name=compose.Identifier(name),
                dim=compose.Literal(row[0]),
                space=compose.Literal(scope.space_id),
                kind=compose.Literal(kind),
                embedder=compose.Literal(embedder),
            )
        )
    return True


def _literal(vector: np.ndarray) -> str:
    return "[" + ",".join(f"{x:.5g}" for x in vector.tolist()) + "]"
