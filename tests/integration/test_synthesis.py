"""Answers that a model writes from numbered sources, against a scripted provider."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.formation.proposal import Usage
from pipelines.ports.pydantic_ai_models import PydanticAIModel
from pipelines.recall.synthesis import (
    MAX_SENTENCE,
    MAX_SENTENCES,
    BelievedClaim,
    Passage,
    Sentence,
    Synthesis,
    synthesise,
)
from storage.errors import ModelMisbehaved
from tests import providers
from tests.providers import Answer, Provider, Text

provider = providers.provider

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
CLAIMS = [BelievedClaim(1, "Ana lives in Tartu", "accepted", AT, "A-1")]
EVIDENCE = [
    Passage(2, "I moved to Tartu last year.", "Ana", AT, "E-1"),
    Passage(3, "我住在深圳。", "Bo", AT, "E-2"),
]


def ask(provider: Provider, sentences: list[Any], family: str = "openai") -> Synthesis | None:
    provider.script(
        Answer({"sentences": [{"text": text, "sources": sources} for text, sources in sentences]})
    )
    model = PydanticAIModel("space", provider.config(family), timeout=20)
    return synthesise(model, "Where does Ana live?", EVIDENCE, CLAIMS)


@pytest.mark.parametrize("family", ["openai", "anthropic", "gemini"])
def test_each_sentence_keeps_the_sources_that_it_may_cite(provider: Provider, family: str) -> None:
    answer = ask(provider, [("Ana lives in Tartu.", [2, 1, 1, 99])], family)
    assert answer is not None
    assert answer.sentences == (Sentence("Ana lives in Tartu.", (1, 2)),)
    assert (answer.dropped, answer.usage) == (0, Usage(120, 30, 40, 1))
    assert answer.model == f"{family}/scripted-1"


@pytest.mark.parametrize(
    "unsupported",
    [
        ("Ana lives in Tartu.", []),
        ("Ana lives in Tartu.", [99, -1, 0]),
        ("Whales sing songs.", [1, 2]),
        ("Ana lives in Tartu." + "x" * MAX_SENTENCE, [1]),
        ("Ana\x00 lives in Tartu.", [1]),
        ("  ", [1]),
    ],
)
def test_a_sentence_without_a_source_is_dropped(provider: Provider, unsupported: Any) -> None:
    answer = ask(provider, [unsupported, ("She moved there last year.", [2])])
    assert answer is not None
    assert [s.text for s in answer.sentences] == ["She moved there last year."]
    assert answer.dropped == 1


def test_nothing_supported_is_no_answer(provider: Provider) -> None:
    assert ask(provider, [("Whales sing.", [1])]) is None
    assert ask(provider, []) is None


def test_without_sources_nobody_is_asked(provider: Provider) -> None:
    model = PydanticAIModel("space", provider.config(), timeout=20)
    assert synthesise(model, "Where?", [], []) is None
    assert provider.requests == []


def test_an_answer_in_another_script_may_cite(provider: Provider) -> None:
    answer = ask(provider, [("Bo lives in Shenzhen.", [3]), ("安娜住在塔尔图。", [1])])
    assert answer is not None
    assert [s.sources for s in answer.sentences] == [(3,), (1,)]


def test_an_endless_answer_is_cut(provider: Provider) -> None:
    answer = ask(provider, [("Ana lives in Tartu.", [1])] * (MAX_SENTENCES + 5))
    assert answer is not None
    assert (len(answer.sentences), answer.dropped) == (MAX_SENTENCES, 5)


def test_sources_reach_the_model_as_data_with_their_status_and_time(provider: Provider) -> None:
    ask(provider, [("Ana lives in Tartu.", [1])])
    text = provider.requests[0].text
    document = json.loads(text[text.index("{\n ") :])
    assert document["question"] == "Where does Ana live?"
    assert document["sources"][0] == {
        "number": 1,
        "kind": "claim",
        "status": "accepted",
        "at": "2026-03-01T09:00:00.000Z",
        "text": "Ana lives in Tartu",
    }
    assert document["sources"][1]["speaker"] == "Ana"
    assert provider.requests[0].tools == ["answer"]


def test_two_sources_of_one_number_are_our_fault(provider: Provider) -> None:
    model = PydanticAIModel("space", provider.config(), timeout=20)
    with pytest.raises(ValueError, match="numbered 1"):
        synthesise(model, "Where?", [Passage(1, "a", "b", AT, "E")], CLAIMS)


def test_an_answer_that_is_none_fails_and_is_charged(provider: Provider) -> None:
    provider.script(Text("Tartu"), Text("Tartu!"))
    model = PydanticAIModel("space", provider.config(), timeout=20)
    charged: list[Usage] = []
    with pytest.raises(ModelMisbehaved):
        synthesise(model, "Where?", EVIDENCE, CLAIMS, charge=charged.append)
    assert charged == [Usage(240, 60, 80, 2)]
