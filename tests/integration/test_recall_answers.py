"""Recall without a model: the right claim, the right promise, honest silence, and its sources."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.embed.run import run as embed
from pipelines.formation.alone import Alone, form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.recall.run import run
from storage import conversations, people, settings, spaces
from storage.database import Database, Scope
from storage.errors import ModelUnavailable, NotFound
from storage.search.embedder import Embedder, HashEmbedder

Ask = Callable[..., dict[str, Any]]


def said(name: str, text: str, day: int) -> dict[str, Any]:
    at = datetime(2026, 3, day, 9, tzinfo=UTC)
    return {
        "role": "user",
        "name": name,
        "content": text,
        "timestamp": int(at.timestamp() * 1000),
    }


TALK = [
    said("Ana", "I live in Porto and work as a nurse at Saint Odile Hospital.", 1),
    said("Bob", "I'm allergic to peanuts, so no satay for me. I live in Leeds.", 1),
    said("Ana", "My favourite drink is green tea. I have a dog called Rufus.", 2),
    said("Bob", "I'll send you the budget report by Friday.", 3),
    said("Ana", "Please always answer in metric units.", 3),
    said("Ana", "I moved to Lisbon last week, the flat is tiny.", 20),
    said("Bob", "My sister Petra speaks Portuguese.", 21),
    said("Ana", "We watched a documentary about lighthouses; the keeper had a goose.", 22),
    said("陆青", "我对花生过敏。我住在深圳。", 22),
    said("陆青", "我会在下周三之前把合同发给王敏。", 22),
]


@pytest.fixture(autouse=True)
def _without_vectors(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as environment:
        environment.setenv("BRAINSTEM_EMBEDDER", "none")
        settings.reload()
        yield
    settings.reload()


def new_space(database: Database) -> Scope:
    scope = spaces.scope_of(f"recall_{uuid.uuid4().hex[:12]}")
    with database.transaction(scope) as tx:
        spaces.create(tx, scope, owner="anonymous")
    return scope


def asking(database: Database, scope: Scope) -> Ask:
    """Ask through a record and the pipeline, as the job does, and settle the record."""

    def ask(query: str, counterparty: str | None = None, **ports: Any) -> dict[str, Any]:
        context = {"context": {"counterparty": counterparty}} if counterparty else {}
        with database.transaction(scope) as tx:
            number = conversations.next_id(tx, scope)
            conversations.create(
                tx,
                scope,
                number,
                "recall",
                job_id="",
                principal="anonymous",
                messages=[{"role": "user", "content": query}],
                extra=context,
            )
        effect = run(Alone(database, scope, {"conversation": number}, kind="recall"), **ports)
        with database.transaction(scope) as tx:
            answer = effect.apply(tx).result
        with database.transaction(scope) as tx:
            record = conversations.get(tx, scope, number, "recall")
        assert record is not None
        assert record.status == "completed"
        assert record.messages[-1] == {"role": "assistant", "content": answer["content"]}
        return answer

    return ask


@pytest.fixture
def ask(database: Database) -> Ask:
    scope = new_space(database)
    form(database, scope, TALK, BuiltinEncoder())
    return asking(database, scope)


@pytest.mark.parametrize(
    ("query", "counterparty", "holds", "lacks"),
    [
        ("Where does Ana live?", None, "Ana lives in Lisbon", "Porto"),
        ("Where does Ana live now?", None, "Lisbon", "Leeds"),
        ("Where did Ana live before?", None, "not any more: Ana lives in Porto", "Leeds"),
        ("Where do I live?", "Bob", "Bob lives in Leeds", "Ana"),
        ("What is my favourite drink?", "Ana", "green tea", "Bob"),
        ("What is Bob allergic to?", None, "Bob is allergic to peanuts", "Ana"),
        ("Who is allergic to peanuts?", None, "Bob is allergic to peanuts", "Ana"),
        ("Who is Bob's sister?", None, "Petra", "peanuts"),
        ("What is Ana's job?", None, "nurse", "Porto"),
        ("What did Bob promise to do?", None, "budget report, due 2026-03-06", "陆青"),
        ("When is the budget report due?", None, "2026-03-06", "陆青"),
        ("Which units should you use?", None, "metric units", "report"),
        ("Which documentary did Ana watch?", None, "lighthouses", "green tea"),
        ("陆青对什么过敏？", None, "陆青对花生过敏", "合同"),
        ("陆青住在哪里？", None, "陆青住在深圳", "合同"),
        ("陆青答应做什么？", None, "把合同发给王敏，截止2026-03-25", "深圳"),
    ],
)
def test_a_question_gets_the_claim_or_the_message_that_answers_it(
    ask: Ask, query: str, counterparty: str | None, holds: str, lacks: str
) -> None:
    answer = ask(query, counterparty)
    assert answer["found"]
    assert holds in answer["content"]
    assert lacks not in answer["content"]


@pytest.mark.parametrize(
    "query",
    [
        "Where does Carol live?",
        "What is Bob's shoe size?",
        "What is the capital of Mongolia?",
        "卡罗尔对什么过敏？",
        "???",
    ],
)
def test_what_is_not_known_is_said_to_be_not_known(ask: Ask, query: str) -> None:
    answer = ask(query)
    assert not answer["found"]
    assert answer["answer"] == []
    assert "found in memory" in answer["content"] or "没有找到" in answer["content"]


def test_every_sentence_names_its_sources_and_every_number_points_at_one(ask: Ask) -> None:
    answer = ask("What do you know about Ana?")
    refs = [source["ref"] for source in answer["sources"]]
    assert answer["content"].count("\n") + 1 == len(answer["answer"]) > 3
    for line, sentence in zip(answer["content"].split("\n"), answer["answer"], strict=True):
        assert sentence["sources"]
        numbers = [refs.index(ref) + 1 for ref in sentence["sources"]]
        assert all(f"[{number}]" in line for number in numbers)
    lives = next(claim for claim in answer["claims"] if claim["object"] == "Lisbon")
    assert lives["status"] == "accepted"
    source = answer["sources"][refs.index(lives["evidence_refs"][0])]
    assert source["speaker"] == "Ana"
    assert source["text"] == "I moved to Lisbon last week, the flat is tiny."
    assert source["at"] == "2026-03-20T09:00:00.000Z"
    assert answer["model"] is None
    assert answer["usage"]["requests"] == 0


def test_what_no_longer_holds_is_listed_with_its_status_and_not_told_as_current(ask: Ask) -> None:
    answer = ask("Where does Ana live?")
    status = {claim["object"]: claim["status"] for claim in answer["claims"]}
    assert status == {"Lisbon": "accepted", "Porto": "insufficient"}


def test_a_corrected_claim_is_never_told(database: Database) -> None:
    scope = new_space(database)
    form(
        database,
        scope,
        [
            said("Rune", "I live in Aarhus.", 1),
            said("Rune", "Sorry, I meant Odense, not Aarhus.", 1),
        ],
        BuiltinEncoder(),
    )
    answer = asking(database, scope)("Where does Rune live?")
    assert "Odense" in answer["content"]
    assert "Aarhus" not in answer["content"]
    assert {claim["object"] for claim in answer["claims"]} == {"Odense"}


def test_rules_and_promises_are_always_listed(ask: Ask) -> None:
    answer = ask("Where does Ana live?")
    assert [c["text"] for c in answer["constraints"]] == ["Please always answer in metric units."]
    assert {c["by"] for c in answer["commitments"]} == {"Bob", "陆青"}


def test_coverage_says_how_far_the_vectors_are(database: Database) -> None:
    scope = new_space(database)
    form(database, scope, TALK, BuiltinEncoder())
    ask, embedder = asking(database, scope), HashEmbedder()
    assert ask("Ana?")["coverage"] == {"lexical": {"complete": True}, "vector": "absent"}
    lag = {"complete": False, "indexed": 0, "total": 10, "embedder": "hash-1"}
    assert ask("Ana?", embedder=embedder)["coverage"]["vector"] == lag
    effect = embed(Alone(database, scope, {}, kind="embed"), embedder)
    with database.transaction(scope) as tx:
        assert effect.apply(tx).result["indexed"] == 10
    full = {"complete": True, "indexed": 10, "total": 10, "embedder": "hash-1"}
    answer = ask("tiny flat in Lisbon", embedder=embedder)
    assert answer["coverage"]["vector"] == full
    assert answer["sources"][0]["text"].startswith("I moved to Lisbon")


def test_an_embedder_that_is_away_leaves_the_words_at_work(database: Database) -> None:
    class Away(HashEmbedder):
        def embed(self, texts: list[str], kind: Any) -> Any:
            raise ModelUnavailable()

    scope = new_space(database)
    form(database, scope, TALK, BuiltinEncoder())
    effect = embed(Alone(database, scope, {}, kind="embed"), HashEmbedder())
    with database.transaction(scope) as tx:
        effect.apply(tx)
    away: Embedder = Away()
    answer = asking(database, scope)("Where does Ana live?", embedder=away)
    assert "Lisbon" in answer["content"]
    assert answer["warnings"] == ["vector lane skipped: model_unavailable"]
    assert not answer["coverage"]["vector"]["complete"]


def test_another_space_is_never_searched(database: Database, ask: Ask) -> None:
    empty = asking(database, new_space(database))
    answer = empty("Where does Ana live?")
    assert not answer["found"]
    assert answer["sources"] == answer["claims"] == answer["constraints"] == []


def test_a_recall_whose_record_is_gone_fails_for_good(database: Database) -> None:
    scope = new_space(database)
    with pytest.raises(NotFound):
        run(Alone(database, scope, {"conversation": 1}, kind="recall"))


def test_what_is_committed_is_found_at_once(database: Database) -> None:
    scope = new_space(database)
    ask = asking(database, scope)
    for number in range(5):
        message = said("Ida", f"The code word is kestrel{number}.", 5)
        form(database, scope, [message], BuiltinEncoder())
        answer = ask(f"Who mentioned kestrel{number}?")
        assert answer["sources"][0]["text"] == f"The code word is kestrel{number}."


def test_a_person_who_is_renamed_is_found_by_either_name(database: Database) -> None:
    scope = new_space(database)
    form(database, scope, TALK, BuiltinEncoder())
    with database.transaction(scope) as tx:
        people.get_or_init(tx, scope, "anonymous", "Ana", name="Countess Lovelace")
    ask = asking(database, scope)
    for answer in (
        ask("Where do I live?", counterparty="Ana"),
        ask("Where does Countess Lovelace live?"),
    ):
        assert "Lisbon" in answer["content"]
        assert "Leeds" not in answer["content"]
