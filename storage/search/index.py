"""Writing the lexical index, in the caller's transaction: what is committed is found at once.

Each kind of document is a collection of its own, with its own document count, lengths and document
frequencies (tables of revision 0003). A batch costs a handful of statements whatever its size.
The writers of one space take turns on one lock, so that they never deadlock and every count is
exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from storage.database import Scope, Transaction
from storage.errors import Fatal
from storage.search.analyser import terms, version
from storage.search.documents import KINDS, Document

#: Documents written by one round of statements; bounds the size of their parameters.
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Collection:
    """The state of one kind of a space: how much it holds, and whether its terms are of today."""

    kind: str
    documents: int
    analyser: str

    @property
    def current(self) -> bool:
        """Whether queries and documents were analysed alike; if not, `reindex` mends it."""
        return self.analyser == version()


def put(
    tx: Transaction,
    scope: Scope,
    documents: Iterable[Document],
    *,
    fresh: AbstractSet[str] = frozenset(),
) -> None:
    """Insert or replace documents by `element_id`; of two with one id the later one counts.

    `fresh` are elements that cannot have been indexed before, so that nothing is looked for to be
    replaced. Runs in the caller's transaction. Raises `Fatal` for a kind that is none of `KINDS`.
    """
    latest = {document.element_id: document for document in documents}
    unknown = {document.kind for document in latest.values()}.difference(KINDS)
    if unknown:
        raise Fatal(f"unknown kind of search document: {sorted(unknown)[0]}")
    rows = list(latest.values())
    if rows:
        lock(tx, scope)
    for start in range(0, len(rows), _BATCH):
        _put(tx, scope, rows[start : start + _BATCH], fresh)


def remove(tx: Transaction, scope: Scope, element_ids: Sequence[str]) -> int:
    """Take elements out of the index with their terms and vectors; says how many were there.

    A term that no document holds any more goes too: a vocabulary is content. Runs in the caller's
    transaction; ids that are not indexed are passed over.
    """
    lock(tx, scope)
    return _remove(tx, scope, element_ids)


def collections(tx: Transaction, scope: Scope) -> dict[str, Collection]:
    """The collections that the space has, by kind."""
    rows = tx.execute(
        "select kind, documents, analyser from search_collection where space_id = %s",
        (scope.space_id,),
    )
    return {kind: Collection(kind, documents, analyser) for kind, documents, analyser in rows}


def reindex(
    tx: Transaction, scope: Scope, kind: str, after: int = 0, limit: int = _BATCH
) -> int | None:
    """Analyse the next `limit` documents of a collection again; None when the last one is done.

    Returns the cursor for the next call's `after`. Documents keep their ids and vectors, since
    their texts have not changed; a batch may be repeated. What is put meanwhile has today's terms.
    """
    lock(tx, scope)
    rows = tx.execute(
        """
        select id, text from search_document
        where space_id = %s and kind = %s and id > %s order by id limit %s
        """,
        (scope.space_id, kind, after, limit),
    ).fetchall()
    _analyse_again(tx, scope, kind, {id: text for id, text in rows})
    if len(rows) == limit:
        return int(rows[-1][0])
    tx.execute(
        "update search_collection set analyser = %s where space_id = %s and kind = %s",
        (version(), scope.space_id, kind),
    )
    return None


def _put(
    tx: Transaction, scope: Scope, documents: Sequence[Document], fresh: AbstractSet[str]
) -> None:
    ids = [document.element_id for document in documents]
    known = [id for id in ids if id not in fresh]
    if known:
        _remove(tx, scope, known)
    counted = [Counter(terms(document.text)) for document in documents]
    lengths = [count.total() for count in counted]
    _grow(tx, scope, documents, lengths)
    term_ids = _add_terms(
        tx,
        scope,
        Counter(
            (document.kind, term)
            for document, count in zip(documents, counted, strict=True)
            for term in count
        ),
    )
    document_ids = _add_documents(
        tx,
        scope,
        documents,
        lengths,
        [
            [term_ids[document.kind, term] for term in count]
            for document, count in zip(documents, counted, strict=True)
        ],
    )
    _add_postings(
        tx,
        scope,
        [
            (term_ids[document.kind, term], document_ids[document.element_id], tf, length)
            for document, count, length in zip(documents, counted, lengths, strict=True)
            for term, tf in count.items()
        ],
    )


def lock(tx: Transaction, scope: Scope) -> None:
    """Put the writers of one space in a line, until the transaction ends; taken by every writer."""
    tx.execute(
        "select pg_advisory_xact_lock(hashtextextended('search/' || %s, 0))", (scope.space_id,)
    )


def _grow(
    tx: Transaction, scope: Scope, documents: Sequence[Document], lengths: Sequence[int]
) -> None:
    count: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for document, length in zip(documents, lengths, strict=True):
        count[document.kind] += 1
        total[document.kind] += length
    kinds = sorted(count)
    tx.execute(
        """
        insert into search_collection as c (space_id, kind, documents, length, analyser)
        select %s, kind, documents, length, %s
        from unnest(%s::text[], %s::bigint[], %s::bigint[]) as new (kind, documents, length)
        on conflict (space_id, kind) do update
        set documents = c.documents + excluded.documents, length = c.length + excluded.length
        """,
        (scope.space_id, version(), kinds, [count[k] for k in kinds], [total[k] for k in kinds]),
    )


def _add_terms(
    tx: Transaction, scope: Scope, frequencies: Mapping[tuple[str, str], int]
) -> dict[tuple[str, str], int]:
    keys = sorted(frequencies)
    rows = tx.execute(
        """
        insert into search_term as t (space_id, kind, term, df)
        select %s, kind, term, df
        from unnest(%s::text[], %s::text[], %s::bigint[]) as new (kind, term, df)
        on conflict (space_id, kind, term) do update set df = t.df + excluded.df
        returning kind, term, id
        """,
        (
            scope.space_id,
            [kind for kind, _ in keys],
            [term for _, term in keys],
            [frequencies[key] for key in keys],
        ),
    )
    return {(kind, term): id for kind, term, id in rows}


def _add_documents(
    tx: Transaction,
    scope: Scope,
    documents: Sequence[Document],
    lengths: Sequence[int],
    term_ids: Sequence[Sequence[int]],
) -> dict[str, int]:
    at: list[datetime | None] = [document.at for document in documents]
    rows = tx.execute(
        """
        insert into search_document
            (space_id, kind, element_id, text, embed_text, at, length, term_ids)
        select %s, kind, element_id, text, embed_text, at, length, term_ids::bigint[]
        from unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::timestamptz[], %s::int[],
            %s::text[]) as new (kind, element_id, text, embed_text, at, length, term_ids)
        returning element_id, id
        """,
        (
            scope.space_id,
            [document.kind for document in documents],
            [document.element_id for document in documents],
            [document.text for document in documents],
            [d.embed_text if d.embed_text != d.text else None for d in documents],
            at,
            list(lengths),
            # an array of arrays must be rectangular, so each goes as its literal
            ["{" + ",".join(map(str, ids)) + "}" for ids in term_ids],
        ),
    )
    return dict(rows.fetchall())


def _add_postings(
    tx: Transaction, scope: Scope, postings: Sequence[tuple[int, int, int, int]]
) -> None:
    postings = sorted(postings)
    tx.execute(
        """
        insert into search_posting (space_id, term_id, document_id, tf, dl)
        select %s, * from unnest(%s::bigint[], %s::bigint[], %s::int[], %s::int[])
        """,
        (scope.space_id, *([row[i] for row in postings] for i in range(4))),
    )


def _remove(tx: Transaction, scope: Scope, element_ids: Sequence[str]) -> int:
    rows = tx.execute(
        """
        select kind, id, length, term_ids from search_document
        where space_id = %s and element_id = any(%s)
        """,
        (scope.space_id, list(element_ids)),
    ).fetchall()
    if not rows:
        return 0
    document_ids = [id for _, id, _, _ in rows]
    tx.execute(
        """
        with gone as (
            delete from search_vector
            where space_id = %(space)s and kind = any(%(kinds)s) and document_id = any(%(ids)s)
            returning kind, embedder
        )
        update search_embedding e set vectors = e.vectors - g.n
        from (select kind, embedder, count(*) n from gone group by 1, 2) g
        where e.space_id = %(space)s and e.kind = g.kind and e.embedder = g.embedder
        """,
        {
            "space": scope.space_id,
            "kinds": list({kind for kind, _, _, _ in rows}),
            "ids": document_ids,
        },
    )
    tx.execute(
        "delete from search_document where space_id = %s and element_id = any(%s)",
        (scope.space_id, list(element_ids)),
    )
    _drop_postings(tx, scope, [(term_id, id) for _, id, _, ids in rows for term_id in ids])
    count: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for kind, _, length, _ in rows:
        count[kind] += 1
        total[kind] += length
    kinds = sorted(count)
    tx.execute(
        """
        update search_collection c
        set documents = c.documents - g.documents, length = c.length - g.length
        from unnest(%s::text[], %s::bigint[], %s::bigint[]) as g (kind, documents, length)
        where c.space_id = %s and c.kind = g.kind
        """,
        (kinds, [count[k] for k in kinds], [total[k] for k in kinds], scope.space_id),
    )
    return len(rows)


def _drop_postings(tx: Transaction, scope: Scope, pairs: Sequence[tuple[int, int]]) -> None:
    tx.execute(
        """
        delete from search_posting where ctid = any(array(
            select p.ctid from unnest(%s::bigint[], %s::bigint[]) as g (term_id, document_id)
            cross join lateral (
                select ctid from search_posting
                where space_id = %s and term_id = g.term_id and document_id = g.document_id offset 0
            ) p
        ))
        """,
        ([term_id for term_id, _ in pairs], [id for _, id in pairs], scope.space_id),
    )
    fewer = Counter(term_id for term_id, _ in pairs)
    tx.execute(
        """
        update search_term t set df = t.df - g.n
        from (
            select n, old.ctid from unnest(%s::bigint[], %s::bigint[]) as fewer (id, n)
            cross join lateral (
                select ctid from search_term where space_id = %s and id = fewer.id offset 0
            ) old
        ) g
        where t.ctid = g.ctid
        """,
        (list(fewer), list(fewer.values()), scope.space_id),
    )
    tx.execute(
        "delete from search_term where space_id = %s and id = any(%s) and df = 0",
        (scope.space_id, list(fewer)),
    )


def _analyse_again(tx: Transaction, scope: Scope, kind: str, texts: Mapping[int, str]) -> None:
    """Give documents the terms that today's analyser finds; their ids and vectors stay."""
    rows = tx.execute(
        """
        select id, length, term_ids from search_document
        where space_id = %s and kind = %s and id = any(%s)
        """,
        (scope.space_id, kind, list(texts)),
    ).fetchall()
    _drop_postings(tx, scope, [(term_id, id) for id, _, ids in rows for term_id in ids])
    counted = {id: Counter(terms(texts[id])) for id, _, _ in rows}
    term_ids = _add_terms(
        tx, scope, Counter((kind, term) for count in counted.values() for term in count)
    )
    _add_postings(
        tx,
        scope,
        [
            (term_ids[kind, term], id, tf, count.total())
            for id, count in counted.items()
            for term, tf in count.items()
        ],
    )
    tx.execute(
        """
        update search_document d set length = g.length, term_ids = g.term_ids::bigint[]
        from (
            select new.length, new.term_ids, old.ctid
            from unnest(%s::bigint[], %s::int[], %s::text[]) as new (id, length, term_ids)
            cross join lateral (
                select ctid from search_document
                where space_id = %s and kind = %s and id = new.id offset 0
            ) old
        ) g
        where d.ctid = g.ctid
        """,
        (
            list(counted),
            [count.total() for count in counted.values()],
            [
                "{" + ",".join(str(term_ids[kind, term]) for term in count) + "}"
                for count in counted.values()
            ],
            scope.space_id,
            kind,
        ),
    )
    growth = sum(count.total() for count in counted.values()) - sum(row[1] for row in rows)
    tx.execute(
        "update search_collection set length = length + %s where space_id = %s and kind = %s",
        (growth, scope.space_id, kind),
    )
