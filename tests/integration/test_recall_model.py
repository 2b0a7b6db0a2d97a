"""Recall with a model: its sentences stand on what was found; without it, extraction answers."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from pipelines.formation.alone import Alone, form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.ports.pydantic_ai_models import PydanticAIModel
from pipelines.recall.run import run
from storage import conversations, spaces
from storage.database import Database, Scope
from tests import providers
from tests.providers import Answer, Provider, Status, Text

provider = providers.provider

TALK = [
    {
        "role": "user",
        "name": "Ana",
        "content": "I live in Lisbon with my dog Rufus.",
        "timestamp": 1_780_000_000_000,
    },
    {
        "role": "user",
        "name": "Bob",
        "content": "I'll send you the budget report by Friday.",
        "timestamp": 1_780_000_060_000,
    },
]


@pytest.fixture
def scope(database: Database) -> Scope:
    scope = spaces.scope_of(f"recall_{uuid.uuid4().hex[:12]}")
    with database.transaction(scope) as tx:
        spaces.create(tx, scope, owner="anonymous")
    form(database, scope, TALK, BuiltinEncoder())
    return scope


def ask(
    database: Database, scope: Scope, provider: Provider, query: str
) -> tuple[dict[str, Any], Alone]:
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
        )
    work = Alone(database, scope, {"conversation": number}, kind="recall")
    effect = run(work, model=PydanticAIModel(scope.space_id, provider.config(), timeout=20))
    with database.transaction(scope) as tx:
        return effect.apply(tx).result, work


def sentences(*written: tuple[str, list[int]]) -> Answer:
    return Answer({"sentences": [{"text": text, "sources": numbers} for text, numbers in written]})


def test_a_models_sentences_carry_the_messages_and_elements_that_they_cite(
    database: Database, scope: Scope, provider: Provider
) -> None:
    # one message is on topic and has number 1, then come the claims that answer
    provider.script(
        sentences(
            ("Ana lives in Lisbon, she says.", [2]),
            ("Her dog is Rufus [1].", [1]),
            ("Whales sing songs.", [1]),
            ("She lives in Lisbon.", []),
        )
    )
    answer, work = ask(database, scope, provider, "Where does Ana live?")
    shown = provider.requests[0].text
    assert "I live in Lisbon with my dog Rufus." in shown
    assert "accepted" in shown
    source = answer["sources"][0]
    assert source["speaker"] == "Ana"
    assert answer["found"]
    assert answer["model"] == "openai/scripted-1"
    assert answer["content"] == "Ana lives in Lisbon, she says. [1]\nHer dog is Rufus. [1]"
    assert answer["answer"][0]["sources"] == [source["ref"]]
    assert answer["answer"][0]["elements"] == [answer["claims"][0]["ref"]]
    assert answer["usage"] == {
        "input_tokens": 120,
        "output_tokens": 30,
        "cached_tokens": 40,
        "requests": 1,
    }
    assert [(u.collection, u.input_tokens) for u in work.usages] == [("recall", 120)]


def test_promises_in_point_are_shown_and_may_be_cited(
    database: Database, scope: Scope, provider: Provider
) -> None:
    provider.script(sentences(("Bob owes the budget report.", [2])))
    answer, _ = ask(database, scope, provider, "What did Bob promise to do?")
    assert answer["answer"][0]["elements"] == [answer["commitments"][0]["ref"]]
    assert answer["content"].startswith("Bob owes the budget report.")


@pytest.mark.parametrize(
    ("step", "warning"),
    [
        (Status(500), "model_unavailable"),
        (Status(401), "model_rejected"),
        (sentences(("Whales sing songs.", [1])), "no sentence had a source"),
        (sentences(("Ana lives in Paris.", [1])), "no sentence had a source"),
    ],
)
def test_without_a_usable_model_the_answer_is_extracted_and_says_so(
    database: Database, scope: Scope, provider: Provider, step: Any, warning: str
) -> None:
    provider.script(step)
    answer, _ = ask(database, scope, provider, "Where does Ana live?")
    assert answer["content"].startswith("Ana lives in Lisbon")
    assert answer["model"] is None
    assert answer["warnings"] == [f"answered without the model: {warning}"]


def test_an_unusable_answer_twice_falls_back_too(
    database: Database, scope: Scope, provider: Provider
) -> None:
    provider.script(*[Text("not what was asked")] * 3)
    answer, work = ask(database, scope, provider, "Where does Ana live?")
    assert answer["warnings"] == ["answered without the model: model_misbehaved"]
    assert sum(usage.requests for usage in work.usages) >= 1


def test_what_a_model_has_cost_is_told_also_where_its_answer_is_not(
    database: Database, scope: Scope, provider: Provider
) -> None:
    provider.script(*[Text("not what was asked")] * 3)
    answer, work = ask(database, scope, provider, "Where does Ana live?")
    assert answer["usage"]["requests"] == sum(usage.requests for usage in work.usages)
    assert answer["usage"]["input_tokens"] == sum(usage.input_tokens for usage in work.usages)
    assert answer["usage"]["output_tokens"] > 0


def test_where_nothing_is_found_no_model_is_asked(database: Database, provider: Provider) -> None:
    scope = spaces.scope_of(f"recall_{uuid.uuid4().hex[:12]}")
    with database.transaction(scope) as tx:
        spaces.create(tx, scope, owner="anonymous")
    answer, _ = ask(database, scope, provider, "Where does Ana live?")
    assert not answer["found"]
    assert provider.requests == []
