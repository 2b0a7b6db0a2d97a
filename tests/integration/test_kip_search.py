"""Everything that a commit writes is found at once, and what is gone is found no more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.maintenance.run import run as maintain
from storage.database import Database, Scope
from storage.graph import searchable
from storage.graph.changes import (
    Change,
    ChangeSet,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    DefineSymbol,
    EnsureProposition,
    MergeConcept,
    Purge,
    PurgePayload,
    Transition,
    UpdateConcept,
    Value,
)
from storage.graph.commit import commit
from storage.graph.finding import Findings, Wanted, find
from storage.graph.schema import environment
from storage.graph.wording import Wording
from storage.kip.errors import (
    ConstraintViolation,
    SearchModeUnsupported,
)
from storage.search import index, ranking, vectors
from storage.search.embedder import HashEmbedder
from storage.settings import settings
from tests.integration.test_graph_plans import Explaining
from tests.integration.test_search_vectors import Run

AT = datetime(2026, 3, 1, 8, tzinfo=UTC)


class Brain:
    """A space that is written to and searched, each time in a transaction of its own."""

    def __init__(self, database: Database, space: str) -> None:
        self.database, self.scope = database, Scope(space)

    def write(self, *changes: Change, wording: dict[str, Wording] | None = None) -> Any:
        with self.database.transaction(self.scope) as tx:
            return commit(
                tx, self.scope, "anonymous", ChangeSet(changes, wording or {}), tx_class="kml"
            )

    def find(
        self, kind: str, query: str, *, limit: int = 50, offset: int = 0, **more: Any
    ) -> Findings:
        with self.database.transaction(self.scope, snapshot=True) as tx:
            schema = environment(tx, self.scope)
            wanted = Wanted(kind, query, **more)
            return find(tx, self.scope, schema, wanted, limit=limit, offset=offset)

    def ids(self, kind: str, query: str, **more: Any) -> list[str]:
        return [hit.id for hit in self.find(kind, query, **more).hits]

    def read(self, reading: Callable[[Any], Any]) -> Any:
        with self.database.transaction(self.scope, snapshot=True) as tx:
            return reading(tx)


@pytest.fixture
def brain(database: Database, space: str) -> Brain:
    return Brain(database, space)


def told(brain: Brain) -> Any:
    """Ada lives in a lighthouse, says a message, and an activity made it of that."""
    return brain.write(
        CreateConcept("?ada", "Person", name="Ada Byron", key="person:ada"),
        CreateConcept("?tower", "Place", name="Lighthouse", aliases=("old beacon",)),
        EnsureProposition("?p", "?ada", "lives_in", "?tower"),
        CreateEvidence("?e", "message", {"content": [{"type": "text", "text": "By the sea."}]}),
        CreateAssertion("?a", "?p", "?ada", "stated", asserted_at=AT),
        CreateActivity("?x", "semantic_consolidation", "completed", AT, AT, ("?e",), ("?a",)),
    )


def test_each_kind_is_found_by_its_own_words(brain: Brain) -> None:
    ids = told(brain).ids
    assert brain.ids("CONCEPT", "ada") == [ids["?ada"]]
    assert brain.ids("CONCEPT", "beacons") == [ids["?tower"]]
    assert brain.ids("CONCEPT", "person:ada") == [ids["?ada"]]
    assert brain.ids("PROPOSITION", "who lives in a lighthouse") == [ids["?p"]]
    assert brain.ids("ASSERTION", "byron lighthouse") == [ids["?a"]]
    assert brain.ids("EVIDENCE", "sea") == [ids["?e"]]
    assert brain.ids("ACTIVITY", "consolidation") == [ids["?x"]]
    for kind in ("PROPOSITION", "ASSERTION", "EVIDENCE", "ACTIVITY"):
        assert brain.find(kind, "zeppelin") == Findings((), False, True, ())


def test_the_score_is_the_share_of_the_words_that_are_held(brain: Brain) -> None:
    told(brain)
    whole, half = (brain.find("CONCEPT", q).hits[0] for q in ("Ada Byron", "Ada Zeppelin"))
    assert whole.score == 1.0
    assert 0 < half.score < whole.score
    assert not brain.find("CONCEPT", "Ada Zeppelin", threshold=0.99).hits
    assert brain.find("CONCEPT", "Ada Byron", threshold=0.99).hits


def test_a_name_of_stop_words_is_found_whole(brain: Brain) -> None:
    who = brain.write(CreateConcept("?w", "Organization", name="The Who")).ids["?w"]
    found = brain.find("CONCEPT", "The Who")
    assert [hit.id for hit in found.hits] == [who]
    assert not found.exhaustive


def test_texts_of_the_writer_take_the_place_of_ours(brain: Brain) -> None:
    made = brain.write(
        CreateEvidence("?e", "message", "raw"),
        wording={"?e": Wording("Ada: cooked", "before\nAda: cooked", AT)},
    )
    assert brain.ids("EVIDENCE", "cooked") == [made.ids["?e"]]
    assert brain.ids("EVIDENCE", "raw") == []


def test_types_and_predicates_narrow_the_kinds_they_suit(brain: Brain) -> None:
    ids = told(brain).ids
    brain.write(CreateConcept("?t", "Topic", name="Ada"))
    assert brain.ids("CONCEPT", "ada", type="Person") == [ids["?ada"]]
    assert brain.ids("PROPOSITION", "ada", predicate="lives_in") == [ids["?p"]]
    assert brain.ids("ASSERTION", "ada", predicate="works_for") == []
    with pytest.raises(ConstraintViolation):
        brain.find("EVIDENCE", "sea", type="Person")
    with pytest.raises(ConstraintViolation):
        brain.find("CONCEPT", "ada", predicate="lives_in")


def test_a_change_of_words_is_a_change_of_hits(brain: Brain) -> None:
    ada = told(brain).ids["?ada"]
    brain.write(UpdateConcept(ada, name="Countess", attributes={"description": "mathematics"}))
    assert brain.ids("CONCEPT", "countess") == brain.ids("CONCEPT", "mathematics") == [ada]
    assert brain.ids("CONCEPT", "byron") == []


def test_a_change_without_words_keeps_the_document(brain: Brain) -> None:
    ada = told(brain).ids["?ada"]

    def document(tx: Any) -> Any:
        return tx.execute(
            "select id from search_document where space_id = %s and element_id = %s",
            (brain.scope.space_id, ada),
        ).fetchone()

    before = brain.read(document)
    brain.write(UpdateConcept(ada, facets={"MnemonicState": {"salience": 0.4}}))
    assert brain.read(document) == before


@pytest.mark.parametrize("state", ["archived", "tombstoned"])
def test_what_is_out_of_use_is_found_no_more(brain: Brain, state: Any) -> None:
    tower = told(brain).ids["?tower"]
    brain.write(Transition(tower, state))
    assert brain.ids("CONCEPT", "lighthouse") == []


def test_a_claim_taken_back_is_found_no_more_and_its_proposition_is(brain: Brain) -> None:
    ids = told(brain).ids
    brain.write(Transition(ids["?a"], "retracted"))
    assert brain.ids("ASSERTION", "lighthouse") == []
    assert brain.ids("PROPOSITION", "lighthouse") == [ids["?p"]]


def test_corrected_evidence_is_found_no_more(brain: Brain) -> None:
    old = told(brain).ids["?e"]
    new = brain.write(
        CreateEvidence("?n", "message", "By the seaside."), Transition(old, "corrected", by="?n")
    ).ids["?n"]
    assert brain.ids("EVIDENCE", "seaside") == [new]
    assert brain.ids("EVIDENCE", "sea") == []


def test_erased_words_leave_every_table_of_the_index(brain: Brain) -> None:
    made = brain.write(
        CreateConcept("?c", "Topic", name="Zugzwang"), CreateEvidence("?e", "message", "Patzer")
    )
    brain.write(Purge(made.ids["?c"]), PurgePayload(made.ids["?e"]))
    assert brain.ids("CONCEPT", "zugzwang") == brain.ids("EVIDENCE", "patzer") == []

    def left(tx: Any) -> int:
        return tx.execute(
            "select (select count(*) from search_term where space_id = %(s)s)"
            " + (select count(*) from search_document where space_id = %(s)s)",
            {"s": brain.scope.space_id},
        ).fetchone()[0]

    assert brain.read(left) == 0


def test_an_erased_name_leaves_the_statements_about_it(brain: Brain) -> None:
    ids = told(brain).ids
    nested = brain.write(
        CreateConcept("?bob", "Person", name="Bob"),
        DefineSymbol("predicate", "doubts", {"description": "Doubts that it is so."}),
        EnsureProposition("?q", "?bob", "doubts", ids["?p"]),
    ).ids["?q"]
    assert nested in brain.ids("PROPOSITION", "lighthouse")
    brain.write(Purge(ids["?tower"], "tombstone_reference"))
    assert brain.ids("PROPOSITION", "lighthouse") == brain.ids("ASSERTION", "lighthouse") == []
    assert brain.ids("PROPOSITION", "ada") == [ids["?p"], nested]
    assert brain.ids("ASSERTION", "ada") == [ids["?a"]]


def test_a_merged_concept_is_found_as_what_it_became(brain: Brain) -> None:
    ada = told(brain).ids["?ada"]
    other = brain.write(CreateConcept("?l", "Person", name="Lovelace")).ids["?l"]
    brain.write(MergeConcept(other, ada))
    assert brain.ids("CONCEPT", "lovelace") == [ada]
    assert brain.ids("CONCEPT", "lovelace byron") == [ada]


def test_a_statement_about_a_statement_is_spelled_out(brain: Brain) -> None:
    brain.write(
        CreateConcept("?t", "Topic", name="Chess"),
        CreateConcept("?ada", "Person", name="Ada"),
        EnsureProposition("?p", "?ada", "interested_in", "?t"),
        CreateAssertion("?a", "?p", "?ada", "stated", "reject"),
        EnsureProposition("?q", "?ada", "timezone", Value("Europe/Paris")),
    )
    assert len(brain.ids("PROPOSITION", "paris")) == 1
    (hit,) = brain.find("ASSERTION", "chess").hits
    assert hit.text == "Ada not interested in Chess"


def test_pages_go_through_every_hit_once_and_only_the_last_is_exhaustive(brain: Brain) -> None:
    brain.write(*[CreateConcept(f"?c{i}", "Topic", name=f"Chess club {i}") for i in range(25)])
    pages = [brain.find("CONCEPT", "chess", limit=10, offset=at) for at in (0, 10, 20)]
    assert [len(page.hits) for page in pages] == [10, 10, 5]
    assert len({hit.id for page in pages for hit in page.hits}) == 25
    assert [page.exhaustive for page in pages] == [False, False, True]
    assert [page.more for page in pages] == [True, True, False]


def test_common_words_count_as_much_when_they_are_skipped_first(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    brain.write(
        *[CreateConcept(f"?c{i}", "Topic", name=f"Chess club number{i % 7}") for i in range(40)],
        CreateConcept("?d", "Topic", name="Number4 alone"),
    )
    queries = ("chess number4", "club chess number4 number5", "chess club", "number4")
    whole = [brain.find("CONCEPT", query, limit=limit) for query in queries for limit in (3, 60)]
    monkeypatch.setattr(ranking, "_CHEAP", 10)
    assert whole == [
        brain.find("CONCEPT", query, limit=limit) for query in queries for limit in (3, 60)
    ]


def test_chinese_words_are_found(brain: Brain) -> None:
    made = brain.write(CreateConcept("?c", "Place", name="北京大学图书馆"))
    assert brain.ids("CONCEPT", "图书馆") == [made.ids["?c"]]


def test_recall_reads_no_collection_of_plain_elements(brain: Brain) -> None:
    told(brain)
    brain.write(
        CreateConcept(
            "?i", "Insight", attributes={"summary": "No nuts", "insight_class": "constraint"}
        )
    )
    held = brain.read(lambda tx: index.collections(tx, brain.scope))
    assert {kind: one.documents for kind, one in held.items() if one.documents} == {
        "concept": 2,
        "constraint": 1,
        "proposition": 1,
        "claim": 1,
        "evidence": 1,
        "activity": 1,
    }


def test_meaning_is_asked_of_evidence_where_an_embedder_is_at_hand(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = told(brain).ids
    monkeypatch.setattr(settings(), "embedder", "none")
    for mode in ("semantic", "hybrid"):
        with pytest.raises(SearchModeUnsupported):
            brain.find("EVIDENCE", "sea", mode=mode)
    monkeypatch.setattr(settings(), "embedder", "hash")
    with pytest.raises(SearchModeUnsupported):
        brain.find("CONCEPT", "sea", mode="semantic")
    waiting = brain.find("EVIDENCE", "sea", mode="semantic")
    assert not waiting.hits
    assert "0 of 1 messages have a vector" in waiting.reasons
    embedder = HashEmbedder()
    with brain.database.transaction(brain.scope) as tx:
        (one,) = vectors.unembedded(tx, brain.scope, "evidence", embedder.id, 0, 10)
        rows = embedder.embed([one.text], "passage")
        vectors.put(tx, brain.scope, "evidence", embedder.id, [one.document_id], rows)
    for mode in ("semantic", "hybrid"):
        found = brain.find("EVIDENCE", "by the sea", mode=mode)
        assert [hit.id for hit in found.hits] == [ids["?e"]]
        assert 0.9 < found.hits[0].score <= 1.0
        assert not found.exhaustive


def test_what_was_there_before_is_brought_in_batch_by_batch(brain: Brain) -> None:
    ids = told(brain).ids
    archived = brain.write(CreateConcept("?c", "Topic", name="Lighthouse keeping")).ids["?c"]
    brain.write(Transition(archived, "archived"))
    scope = brain.scope
    with brain.database.transaction(scope) as tx:
        index.remove(tx, scope, [i for i in ids.values() if i != ids["?a"]])
        tx.execute("insert into search_backlog (space_id) values (%s)", (scope.space_id,))
    before = brain.find("CONCEPT", "lighthouse")
    assert not before.hits
    assert not before.exhaustive
    batches = 0
    while brain_batch(brain) is not None:
        batches += 1
    assert batches == 1
    after = brain.find("CONCEPT", "lighthouse")
    assert [hit.id for hit in after.hits] == [ids["?tower"]]
    assert after.exhaustive
    assert brain.ids("EVIDENCE", "sea") == [ids["?e"]]
    assert brain.ids("PROPOSITION", "lighthouse") == [ids["?p"]]
    assert brain.ids("ACTIVITY", "consolidation") == [ids["?x"]]


def test_maintenance_brings_in_what_was_there_before(brain: Brain) -> None:
    ids = told(brain).ids
    scope = brain.scope
    with brain.database.transaction(scope) as tx:
        index.remove(tx, scope, [*ids.values()])
        tx.execute("insert into search_backlog (space_id) values (%s)", (scope.space_id,))
    for late in (len(set(ids.values())), 0):
        effect = maintain(Run(brain.database, scope))
        with brain.database.transaction(scope) as tx:
            assert effect.apply(tx).result["elements_indexed_late"] == late
    assert brain.ids("CONCEPT", "lighthouse") == [ids["?tower"]]


def brain_batch(brain: Brain) -> int | None:
    with brain.database.transaction(brain.scope) as tx:
        return searchable.catch_up(tx, brain.scope)


@pytest.mark.parametrize("kind", ["CONCEPT", "PROPOSITION", "ASSERTION", "EVIDENCE", "ACTIVITY"])
def test_a_search_uses_indexes_only(brain: Brain, kind: str) -> None:
    told(brain)
    with brain.database.transaction(brain.scope) as tx:
        tx.execute("set local enable_seqscan = off")
        explaining: Any = Explaining(tx)
        found = find(
            explaining,
            brain.scope,
            environment(tx, brain.scope),
            Wanted(kind, "ada lighthouse sea consolidation"),
            limit=5,
        )
        searchable.catch_up(explaining, brain.scope)
    assert found.hits
    for plan in explaining.plans:
        assert "Seq Scan" not in plan, plan


def test_bringing_in_what_was_there_before_uses_indexes_only(brain: Brain) -> None:
    told(brain)
    with brain.database.transaction(brain.scope) as tx:
        tx.execute("insert into search_backlog (space_id) values (%s)", (brain.scope.space_id,))
        tx.execute("set local enable_seqscan = off")
        explaining: Any = Explaining(tx)
        searchable.catch_up(explaining, brain.scope)
    assert len(explaining.plans) >= 2
    for plan in explaining.plans:
        assert "Seq Scan" not in plan, plan
