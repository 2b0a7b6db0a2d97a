"""The lexical index: exact scores, transactional writes, nothing left behind, plans that seek."""

from __future__ import annotations

import math
import random
import re
import threading
import uuid
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from storage.database import Database, Scope
from storage.errors import Fatal
from storage.search import analyser, bm25, index
from storage.search.analyser import terms
from storage.search.documents import Document, DocumentKind
from tests.services import Services

WORDS = [
    "river",
    "stone",
    "lamp",
    "garden",
    "winter",
    "train",
    "music",
    "paper",
    "silver",
    "bread",
    "horse",
    "window",
]
TABLES = ("search_collection", "search_document", "search_term", "search_posting", "search_vector")


@pytest.fixture
def scope() -> Scope:
    """A space without any row; the index needs none of the space's own."""
    return Scope(f"search_{uuid.uuid4().hex[:12]}")


def evidence(id: str, text: str) -> Document:
    return Document(id, "evidence", text, text, datetime(2026, 1, 1, tzinfo=UTC))


def random_documents(seed: int, count: int) -> list[Document]:
    rnd = random.Random(seed)
    return [
        evidence(f"E-{i}", " ".join(rnd.choices(WORDS, k=rnd.randint(1, 12)))) for i in range(count)
    ]


def reference(documents: Sequence[Document], query: str, k1: float, b: float) -> dict[str, float]:
    """BM25 as its definition has it, in double precision."""
    bags = {d.element_id: Counter(terms(d.text)) for d in documents}
    average = sum(bag.total() for bag in bags.values()) / len(bags)
    scores: dict[str, float] = {}
    for term in set(terms(query)):
        df = sum(term in bag for bag in bags.values())
        idf = math.log(1 + (len(bags) - df + 0.5) / (df + 0.5))
        for id, bag in bags.items():
            if term in bag:
                norm = k1 * (1 - b + b * bag.total() / average)
                scores[id] = scores.get(id, 0) + idf * bag[term] * (k1 + 1) / (bag[term] + norm)
    return scores


def found(
    database: Database, scope: Scope, query: str, kind: DocumentKind = "evidence"
) -> list[str]:
    with database.transaction(scope, snapshot=True) as tx:
        return [hit.element_id for hit in bm25.search(tx, scope, kind, terms(query), 1000)]


@pytest.mark.parametrize(("k1", "b"), [(bm25.K1, bm25.B), (1.2, 0.75)])
def test_scores_are_those_of_the_definition(
    database: Database, scope: Scope, k1: float, b: float
) -> None:
    documents = random_documents(1, 300)
    with database.transaction(scope) as tx:
        index.put(tx, scope, documents)
    for query in ("river", "stone lamp silver", "horse horse unknownword bread"):
        with database.transaction(scope, snapshot=True) as tx:
            hits = bm25.search(tx, scope, "evidence", terms(query), 1000, k1=k1, b=b)
        expected = reference(documents, query, k1, b)
        assert {hit.element_id for hit in hits} == set(expected)
        for hit in hits:
            assert hit.score == pytest.approx(expected[hit.element_id], abs=1e-12)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_the_first_hits_are_exact_though_common_words_are_not_read_whole(
    database: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    rnd = random.Random(6)
    rare = [f"rare{i}" for i in range(120)]
    documents = [
        evidence(f"E-{i}", " ".join([*rnd.choices(WORDS, k=8), rnd.choice(rare)]))
        for i in range(1200)
    ]
    with database.transaction(scope) as tx:
        index.put(tx, scope, documents)
    monkeypatch.setattr(bm25, "_CHEAP", 40)
    monkeypatch.setattr(bm25, "_COMPLETED", 60)
    reads: list[int] = []
    seek = bm25._seek

    def counting(*given: Any) -> Any:
        reads.append(len(given[4]))
        return seek(*given)

    monkeypatch.setattr(bm25, "_seek", counting)
    for query in (
        "river rare1 rare2 rare3",
        "river stone lamp garden rare7",
        "horse bread",
        "river rare1 rare2 rare3 rare4 rare5 rare6 rare7 rare8",
    ):
        with database.transaction(scope, snapshot=True) as tx:
            hits = bm25.search(tx, scope, "evidence", terms(query), 100)
        expected = reference(documents, query, bm25.K1, bm25.B)
        best = sorted(expected.values(), reverse=True)[:20]
        assert [hit.score for hit in hits[:20]] == pytest.approx(best, abs=1e-12)
        assert all(hit.score == pytest.approx(expected[hit.element_id]) for hit in hits)
    # the first was answered by its rare words; the others had to be read whole after all
    assert reads == [1, 4, 0, 1, 0, 1, 0]


def test_among_keeps_to_documents_that_hold_one_of_those_terms(
    database: Database, scope: Scope
) -> None:
    documents = random_documents(8, 200)
    with database.transaction(scope) as tx:
        index.put(tx, scope, documents)
        hits = bm25.search(
            tx, scope, "evidence", terms("river stone"), 1000, among=frozenset({"stone"})
        )
    expected = reference(documents, "river stone", bm25.K1, bm25.B)
    holding = {d.element_id for d in documents if "stone" in terms(d.text)}
    assert {h.element_id for h in hits} == holding
    assert all(h.score == pytest.approx(expected[h.element_id], abs=1e-12) for h in hits)


def test_replaced_and_removed_documents_leave_the_figures_exact(
    database: Database, scope: Scope, services: Services
) -> None:
    documents = random_documents(2, 120)
    with database.transaction(scope) as tx:
        index.put(tx, scope, documents)
        index.put(tx, scope, documents[:40])
        changed = [evidence(d.element_id, d.text + " canary") for d in documents[40:60]]
        index.put(tx, scope, changed)
        assert index.remove(tx, scope, [d.element_id for d in documents[100:]] + ["E-none"]) == 20
    kept = documents[:40] + changed + documents[60:100]
    with database.transaction(scope, snapshot=True) as tx:
        hits = bm25.search(tx, scope, "evidence", terms("garden canary"), 1000)
    expected = reference(kept, "garden canary", bm25.K1, bm25.B)
    assert {h.element_id: pytest.approx(h.score, abs=1e-12) for h in hits} == expected
    with database.transaction(scope) as tx:
        index.remove(tx, scope, [d.element_id for d in documents])
    with psycopg.connect(services.admin_url) as conn:
        for table in TABLES[1:]:
            rows = conn.execute(
                f"select count(*) from {table} where space_id = %s", (scope.space_id,)
            ).fetchone()
            assert rows == (0,), table
        left = conn.execute(
            "select documents, length from search_collection where space_id = %s",
            (scope.space_id,),
        ).fetchall()
        assert left == [(0, 0)]
    assert found(database, scope, "garden") == []


def test_the_index_is_part_of_the_writing_transaction(database: Database, scope: Scope) -> None:
    def fail() -> None:
        with database.transaction(scope) as tx:
            index.put(tx, scope, [evidence("E-1", "a green lantern")])
            hits = bm25.search(tx, scope, "evidence", ["lantern"], 5)
            assert [hit.element_id for hit in hits] == ["E-1"]
            raise LookupError("after the index was written")

    with pytest.raises(LookupError):
        fail()
    assert found(database, scope, "lantern") == []
    with database.transaction(scope) as tx:
        index.put(tx, scope, [evidence("E-1", "a green lantern")])
    assert found(database, scope, "lantern") == ["E-1"]


def test_kinds_are_corpora_of_their_own_and_spaces_never_meet(
    database: Database, scope: Scope
) -> None:
    other = Scope(scope.space_id + "_b")
    with database.transaction(scope) as tx:
        index.put(
            tx,
            scope,
            [evidence("E-1", "Ana: harbour"), Document("A-1", "claim", "harbour", "", None)],
        )
    with database.transaction(other) as tx:
        index.put(tx, other, [evidence("E-9", "harbour")])
        assert index.remove(tx, scope, ["E-1"]) == 0
        assert bm25.search(tx, scope, "evidence", ["harbour"], 5) == []
    assert found(database, scope, "harbour") == ["E-1"]
    assert found(database, scope, "harbour", "claim") == ["A-1"]
    assert found(database, other, "harbour") == ["E-9"]


def test_an_unknown_kind_is_refused(database: Database, scope: Scope) -> None:
    with pytest.raises(Fatal), database.transaction(scope) as tx:
        index.put(tx, scope, [Document("E-1", "poem", "x", "x", None)])


def test_a_document_without_terms_is_kept_and_never_found(database: Database, scope: Scope) -> None:
    with database.transaction(scope) as tx:
        index.put(tx, scope, [evidence("E-1", "?!"), evidence("E-2", "")])
        assert index.collections(tx, scope)["evidence"].documents == 2
        assert bm25.search(tx, scope, "evidence", [], 5) == []


def test_writers_of_one_space_never_deadlock(database: Database, scope: Scope) -> None:
    """Opposite orders of the same words, kinds and elements, replaced over and over."""
    errors: list[BaseException] = []

    def write(seed: int) -> None:
        rnd = random.Random(seed)
        try:
            for _ in range(12):
                batch = [
                    Document(
                        f"X-{rnd.randint(0, 30)}", kind, " ".join(rnd.sample(WORDS, 6)), "", None
                    )
                    for kind in rnd.sample(["claim", "evidence", "event"], 3)
                    for _ in range(5)
                ]
                with database.transaction(scope) as tx:
                    index.put(tx, scope, batch)
                with database.transaction(scope) as tx:
                    index.remove(tx, scope, [d.element_id for d in rnd.sample(batch, 4)])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with database.transaction(scope) as tx:
        for collection in index.collections(tx, scope).values():
            exact = tx.execute(
                "select count(*) from search_document where space_id = %s and kind = %s",
                (scope.space_id, collection.kind),
            ).fetchone()
            assert exact == (collection.documents,)
        wrong = tx.execute(
            """
            select t.term from search_term t left join search_posting p
                on p.space_id = t.space_id and p.term_id = t.id
            where t.space_id = %s group by t.term, t.id, t.df having count(p.term_id) <> t.df
            """,
            (scope.space_id,),
        ).fetchall()
        assert wrong == []


def test_a_new_analyser_is_noticed_and_reindexing_mends_it(
    database: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = random_documents(3, 25)
    with monkeypatch.context() as old:
        old.setattr(index, "version", lambda: "0+old")
        old.setattr(index, "terms", lambda text: text.upper().split())
        with database.transaction(scope) as tx:
            index.put(tx, scope, documents)
    with database.transaction(scope) as tx:
        assert not index.collections(tx, scope)["evidence"].current
        assert bm25.search(tx, scope, "evidence", terms("river"), 5) == []
    after: int | None = 0
    while after is not None:
        with database.transaction(scope) as tx:
            after = index.reindex(tx, scope, "evidence", after, limit=10)
    with database.transaction(scope, snapshot=True) as tx:
        collection = index.collections(tx, scope)["evidence"]
        assert collection.current
        assert collection.analyser == analyser.version()
        hits = bm25.search(tx, scope, "evidence", terms("river window"), 100)
    expected = reference(documents, "river window", bm25.K1, bm25.B)
    assert {h.element_id: pytest.approx(h.score, abs=1e-12) for h in hits} == expected


def test_a_query_seeks_in_the_postings_also_where_statistics_know_no_such_space(
    database: Database, scope: Scope, services: Services
) -> None:
    """A space newer than the statistics is one row to the planner; it must seek all the same."""
    neighbour = Scope(scope.space_id + "_b")
    with database.transaction(neighbour) as tx:
        index.put(tx, neighbour, random_documents(4, 3000))
    with psycopg.connect(services.admin_url, autocommit=True) as conn:
        conn.execute("vacuum analyze search_posting, search_document, search_term")
    with database.transaction(scope) as tx:
        index.put(tx, scope, random_documents(5, 3000))
    values = {
        "space": scope.space_id,
        "kind": "evidence",
        "ids": [1, 2],
        "weights": [1.0, 2.0],
        "common_ids": [3],
        "common_weights": [1.0],
        "base": 0.6,
        "slope": 0.1,
        "limit": 20,
        "completed": 1000,
    }
    with database.transaction(scope, snapshot=True) as tx:
        plan = "\n".join(row[0] for row in tx.execute("explain " + bm25._SEEK, values))
    assert "using search_posting_pkey" in plan
    assert re.search(r"Index Cond: \(\(space_id = '\w+'::text\) AND \(term_id = q.id\)\)", plan)
    for table in ("search_posting", "search_document"):
        assert f"Seq Scan on {table}" not in plan
