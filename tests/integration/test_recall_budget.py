"""Recall under a budget: the packet, what it must hold, what it may leave out, and how it fails."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pipelines.formation.alone import Alone, form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.ports.pydantic_ai_models import PydanticAIModel
from pipelines.ports.tokens import count, encoding
from pipelines.recall import budgeted
from pipelines.recall.budgeted import Delivery, Limits, Planner
from pipelines.recall.material import MAX_PROCEDURES, MAX_REQUIRED, Material
from pipelines.recall.packing import compact
from pipelines.recall.records import Record
from pipelines.recall.run import run
from storage import conversations, memory_policy, settings, spaces
from storage.database import Database, Scope
from storage.graph.changes import Change, ChangeSet, CreateConcept, Link
from storage.graph.commit import commit
from storage.memory_policy import MemoryPolicy, RecallBudget
from tests import providers
from tests.providers import Answer, HangUp, Provider, Silence, Status, Text

provider = providers.provider

WHERE = "Where does Ana live?"
OLD_SPELLING = "o200k_base@tiktoken-rs-0.12.0"
TOKENIZER = "o200k_base@tiktoken-rs-0.12"


def said(name: str, text: str, day: int) -> dict[str, Any]:
    at = datetime(2026, 3, day, 9, tzinfo=UTC)
    return {"role": "user", "name": name, "content": text, "timestamp": int(at.timestamp() * 1000)}


TALK = [
    said("Ana", "I live in Porto and work as a nurse at Saint Odile Hospital.", 1),
    said("Bob", "I'm allergic to peanuts, so no satay for me. I live in Leeds.", 1),
    said("Bob", "I'll send you the budget report by Friday.", 3),
    said("Ana", "Please always answer in metric units.", 3),
    said("Ana", "I moved to Lisbon last week, the flat is tiny.", 20),
]


@pytest.fixture(autouse=True)
def _without_vectors(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as environment:
        environment.setenv("BRAINSTEM_EMBEDDER", "none")
        settings.reload()
        yield
    settings.reload()


@pytest.fixture
def empty(database: Database) -> Scope:
    scope = spaces.scope_of(f"budget_{uuid.uuid4().hex[:12]}")
    with database.transaction(scope) as tx:
        spaces.create(tx, scope, owner="anonymous")
    return scope


@pytest.fixture
def scope(database: Database, empty: Scope) -> Scope:
    form(database, empty, TALK, BuiltinEncoder())
    return empty


def recall(
    database: Database,
    scope: Scope,
    query: str = WHERE,
    budget: dict[str, Any] | None = None,
    *,
    provider: Provider | None = None,
    **extra: Any,
) -> dict[str, Any]:
    """Ask through a record and the pipeline, as the job does; what the job would answer."""
    if budget is not None:
        extra["budget"] = budget
    with database.transaction(scope) as tx:
        number = conversations.next_id(tx, scope)
        question = {"role": "user", "content": query}
        conversations.create(
            tx,
            scope,
            number,
            "recall",
            job_id="",
            principal="anonymous",
            messages=[question],
            extra=extra,
        )
    model = None
    if provider is not None:
        model = PydanticAIModel(scope.space_id, provider.config(), timeout=20)
    effect = run(Alone(database, scope, {"conversation": number}, kind="recall"), model=model)
    with database.transaction(scope) as tx:
        answer = effect.apply(tx).result
        record = conversations.get(tx, scope, number, "recall")
    assert record is not None
    assert record.messages == [question, {"role": "assistant", "content": answer["content"]}]
    if "memory_budget" in answer:
        # by these the record is found when something that it tells of is erased
        told = re.findall(r'"([CAE]-[0-9]+)"', answer["content"])
        assert set(told) == set(record.artifacts[0]["elements"])
    return answer


def packet_of(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The packet of an answer, once all that holds for every packet was looked at."""
    receipt = answer["memory_budget"]
    assert receipt["tokenizer"] == TOKENIZER
    assert receipt["tokens"] == count(answer["content"]) <= receipt["token_limit"]
    packet = json.loads(answer["content"])
    told = {"content", "usage", "found", "memory_budget", "failed_reason", "recall_receipt"}
    assert set(answer) <= told
    if packet is None:
        assert answer["failed_reason"]
        assert not answer["found"]
        return None
    assert compact(packet) == answer["content"]
    assert packet["semantic_complete"] is packet["action_ready"] is False
    assert packet["tokenizer"] == TOKENIZER
    assert packet["token_limit"] == receipt["token_limit"]
    assert (packet["status"] == "budget_insufficient") == ("failed_reason" in answer)
    if packet["status"] == "budget_insufficient":
        assert packet["items"] == []
        assert packet.get("failed_reason", answer["failed_reason"]) == answer["failed_reason"]
    assert answer["found"] == any(item["channel"] != "primer" for item in packet["items"])
    return packet


def ids(packet: dict[str, Any] | None) -> list[str]:
    return [item["id"] for item in (packet or {"items": []})["items"]]


def needed(packet: dict[str, Any]) -> set[str]:
    return {i["id"] for i in packet["items"] if i["priority"] in ("required", "warning")}


def write(database: Database, scope: Scope, *changes: Change) -> dict[str, str]:
    with database.transaction(scope) as tx:
        return dict(commit(tx, scope, "tester", ChangeSet(changes), tx_class="test").ids)


def promise(ref: str, text: str, status: str = "pending", **more: Any) -> CreateConcept:
    return CreateConcept(ref, "Commitment", attributes={"summary": text, "status": status, **more})


def rule(ref: str, text: str) -> CreateConcept:
    return CreateConcept(
        ref, "Insight", attributes={"summary": text, "insight_class": "constraint"}
    )


def skill(ref: str, text: str) -> tuple[CreateConcept, CreateConcept]:
    behaviour = {"task_family": "t", "procedure": "p", "behavior_digest": "sha256:" + "b" * 64}
    named = {"skill_class": "workflow", "summary": text, "status": "proposed"}
    return (
        CreateConcept(ref, "Skill", attributes=named, links=(Link("current_revision", f"{ref}r"),)),
        CreateConcept(
            f"{ref}r", "SkillRevision", attributes=behaviour, links=(Link("revision_of", ref),)
        ),
    )


# --- the packet -----------------------------------------------------------------------------------


def test_a_packet_holds_records_with_id_version_and_source(
    database: Database, scope: Scope
) -> None:
    answer = recall(database, scope, budget={})
    packet = packet_of(answer)
    assert packet is not None
    assert packet["status"] == "bounded"
    assert answer["memory_budget"]["token_limit"] == 4096
    assert answer["memory_budget"]["context_token_limit"] == 49152
    assert answer["found"]
    for item in packet["items"]:
        if item["channel"] == "kip":
            assert item["version"] == 1
            assert item["content"]["source"]
    claims = [i["content"] for i in packet["items"] if i["content"].get("type") == "Assertion"]
    assert ("Ana", "lives_in", "Lisbon", "accepted") in [
        (c["subject"], c["predicate"], c["object"], c["status"]) for c in claims
    ]
    promises = [i for i in packet["items"] if i["content"].get("type") == "Commitment"]
    assert [i["priority"] for i in promises] == ["required"]
    assert promises[0]["content"]["attributes"]["status"] == "pending"
    rules = [i for i in packet["items"] if i["content"].get("type") == "Insight"]
    assert [i["priority"] for i in rules] == ["required"]
    coverage = packet["coverage"]
    assert coverage["omitted"] == []
    assert coverage["partial"] == ["kip"]
    assert set(coverage["unchecked"]) == {"notes", "history", "wiki"}


@pytest.mark.parametrize("tokenizer", [TOKENIZER, OLD_SPELLING])
def test_both_spellings_of_the_tokenizer_are_the_same(
    database: Database, scope: Scope, tokenizer: str
) -> None:
    assert packet_of(recall(database, scope, budget={"tokenizer": tokenizer}))


def test_without_any_budget_the_answer_is_as_ever(database: Database, scope: Scope) -> None:
    answer = recall(database, scope)
    assert answer["content"].startswith("Ana lives in Lisbon")
    assert "memory_budget" not in answer
    assert "memories" not in answer


def test_a_finished_commitment_is_history_that_may_be_left_out(
    database: Database, scope: Scope
) -> None:
    made = write(
        database,
        scope,
        promise("?f", "water the lighthouse plants", "fulfilled"),
        promise("?b", "repair the lighthouse stairs", "blocked"),
    )
    answer = recall(database, scope, "What about the lighthouse plants?", {})
    packet = packet_of(answer)
    assert packet is not None
    priority = {item["id"]: item["priority"] for item in packet["items"]}
    assert priority[made["?b"]] == "required"
    assert priority[made["?f"]] == "relevant"
    # one by which it is too long, and one that a limit of three digits saves
    tight = count(answer["content"]) - 2
    smaller = packet_of(
        recall(database, scope, "What about the lighthouse plants?", {"max_tokens": tight})
    )
    assert smaller is not None
    assert made["?b"] in ids(smaller)
    assert needed(smaller) == needed(packet)
    assert "kip" in smaller["coverage"]["omitted"]


def test_long_texts_of_optional_records_are_named_and_those_of_required_ones_told(
    database: Database, scope: Scope
) -> None:
    made = write(
        database,
        scope,
        promise("?f", "paint the aviary", "fulfilled", minutes="lorem " * 300),
        promise("?p", "clean the aviary", "pending", minutes="ipsum " * 300),
    )
    packet = packet_of(recall(database, scope, "What of the aviary?", {"max_tokens": 8000}))
    assert packet is not None
    told = {item["id"]: item["content"] for item in packet["items"]}
    assert "minutes" not in told[made["?f"]]["attributes"]
    assert "attributes.minutes" in told[made["?f"]]["recall_detail"]["omitted"]
    assert told[made["?p"]]["attributes"]["minutes"] == "ipsum " * 300


def test_a_warning_that_was_found_is_required(database: Database, scope: Scope) -> None:
    warned = CreateConcept(
        "?w",
        "Insight",
        attributes={"summary": "The aviary door jams.", "insight_class": "warning"},
    )
    made = write(database, scope, warned)
    packet = packet_of(recall(database, scope, "How is the aviary door?", {}))
    assert packet is not None
    assert made["?w"] in needed(packet)


def test_who_asks_is_told_of_or_reported_missing(database: Database, scope: Scope) -> None:
    known = packet_of(recall(database, scope, "What is due?", {}, context={"counterparty": "Ana"}))
    assert known is not None
    assert "counterparty" in [item["channel"] for item in known["items"]]
    unknown = packet_of(
        recall(database, scope, "What is due?", {}, context={"counterparty": "Zed"})
    )
    assert unknown is not None
    assert "counterparty" in unknown["coverage"]["omitted"]


def test_an_empty_memory_gives_a_packet_without_a_find(database: Database, empty: Scope) -> None:
    answer = recall(database, empty, budget={})
    packet = packet_of(answer)
    assert packet is not None
    assert ids(packet) == ["basis"]
    assert not answer["found"]


def test_without_a_planner_only_what_is_on_topic_is_a_candidate(
    database: Database, empty: Scope
) -> None:
    form(database, empty, [said("Ana", "I met a goose near the capital.", 1)], BuiltinEncoder())
    answer = recall(database, empty, "Which trams stop at the capital museum of Mongolia?", {})
    assert ids(packet_of(answer)) == ["basis"]
    assert not answer["found"]
    assert packet_of(answer)["coverage"]["omitted"] == []  # type: ignore[index]


# --- tokens ---------------------------------------------------------------------------------------

MULTILINGUAL = [
    "约束：不可在未经授权时转账。陆青住在深圳，她对花生过敏。",
    "日本語の手順と警告。한국어 경고. العربية: لا تتجاوز القيود. नमस्ते दुनिया।",
    "👩🏽\u200d🚀👨\u200d👩\u200d👧\u200d👦🏳️\u200d🌈 e\u0301 \u2028 emoji",
    'def f(x):\n\treturn {"a": [1, 2], "b": "\\"}\\\\"}  # <div>&amp;</div>\r\n',
    "<|endoftext|><|endofprompt|><|fim_prefix|> are words here, zebra.",
]


def test_the_fixed_codec_counts_what_looks_like_special_tokens_as_text() -> None:
    assert count("hello world") == 2
    assert count("null") == 1
    assert count("<|endoftext|>") > 1


@pytest.mark.parametrize("text", MULTILINGUAL)
def test_texts_of_any_kind_are_told_word_for_word_and_counted_exactly(
    database: Database, empty: Scope, text: str
) -> None:
    words = f"zebra {text}"
    form(database, empty, [said("Ana", words, 1)], BuiltinEncoder())
    write(database, empty, rule("?r", text))
    answer = recall(database, empty, "zebra", {})
    packet = packet_of(answer)
    assert packet is not None
    told = [item["content"] for item in packet["items"]]
    assert text in [content.get("attributes", {}).get("summary") for content in told]
    assert words.strip() in [content.get("text", "").strip() for content in told]
    tokens = encoding().encode_ordinary(answer["content"])
    assert len(tokens) == answer["memory_budget"]["tokens"]
    assert encoding().decode(tokens) == answer["content"]
    # exactly what it takes is enough, and one less is not
    exact = recall(database, empty, "zebra", {"max_tokens": len(tokens)})
    assert ids(packet_of(exact)) == ids(packet)
    less = recall(database, empty, "zebra", {"max_tokens": len(tokens) - 2})
    assert len(ids(packet_of(less))) < len(ids(packet))


def swept(deliver: Callable[[int], Delivery], limits: range) -> list[Delivery]:
    """Deliveries under growing limits: none is over, and each holds what the one before held."""
    before: set[str] = set()
    usable = False
    found = []
    for limit in limits:
        delivery = deliver(limit)
        assert delivery.tokens == count(delivery.content) <= limit
        packet = json.loads(delivery.content)
        kept = set(ids(packet))
        assert before <= kept
        assert not usable or delivery.failure is None
        usable, before = delivery.failure is None, kept
        found.append(delivery)
    return found


def test_a_sweep_of_budgets_is_never_over_and_never_loses(database: Database, scope: Scope) -> None:
    def ask(limit: int) -> Delivery:
        answer = recall(database, scope, budget={"max_tokens": limit})
        packet_of(answer)
        failure = answer.get("failed_reason")
        return replace(
            NOTHING, content=answer["content"], tokens=count(answer["content"]), failure=failure
        )

    found = swept(ask, range(1, 1001, 27))
    reasons = {one.failure for one in found}
    assert reasons == {None, "recall_output_budget_exhausted"}
    contents = [one.content for one in found]
    assert "null" in contents
    assert any('"budget_insufficient"' in content for content in contents)
    assert len(set(map(len, contents))) > 5


NOTHING = Delivery("null", 1, False, None, budgeted.Usage(), ())

_texts = st.one_of(st.sampled_from(MULTILINGUAL), st.text(max_size=200))


def _record(n: int, priority: Any, text: str, channel: Any = "kip") -> Record:
    content = {"type": "Evidence", "text": text, "source": []}
    return Record(f"E-{n}", channel, priority, content, n)


@st.composite
def _material(draw: st.DrawFn) -> Material:
    required = draw(st.lists(_texts, max_size=3))
    optional = draw(st.lists(_texts, max_size=8))
    basis = Record("basis", "primer", "required", {"action_ready": False})
    return Material(
        (basis, *(_record(n, "required", text) for n, text in enumerate(required))),
        tuple(_record(100 + n, "relevant", text) for n, text in enumerate(optional)),
        frozenset(),
        {},
        ("primer", "kip"),
        ("kip",),
        (),
    )


@given(_material(), st.integers(1, 40))
@hypothesis_settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_sweep_over_any_texts_is_never_over_and_never_loses(
    database: Database, empty: Scope, material: Material, begin: int
) -> None:
    work = Alone(database, empty, {}, kind="recall")

    def ask(limit: int) -> Delivery:
        limits = Limits(limit, 131_072)
        return budgeted.deliver(
            work, limits, Planner(None), material, "x", {}, rounds=1, begun=time.monotonic()
        )

    found = swept(ask, range(begin, 1400, 41))
    assert found[0].failure == "recall_output_budget_exhausted"


# --- the context budget ---------------------------------------------------------------------------


def test_a_spent_context_budget_warns_and_tells_what_was_read(
    database: Database, scope: Scope
) -> None:
    whole = packet_of(recall(database, scope, budget={}))
    assert whole is not None
    before: set[str] = set()
    cut = []
    for limit in (1, 100, 450, 520, 590, 660, 730, 800, 2000):
        packet = packet_of(recall(database, scope, budget={"context_tokens": limit}))
        assert packet is not None
        assert packet["status"] == "bounded"
        warned = "warning:recall_context_budget_exhausted" in needed(packet)
        kept = set(ids(packet)) - {"warning:recall_context_budget_exhausted"}
        assert before <= kept <= set(ids(whole))
        assert warned == (kept != set(ids(whole)))
        assert needed(whole) <= needed(packet)
        if warned:
            assert "kip" in packet["coverage"]["omitted"]
        before = kept
        cut.append(warned)
    assert cut == sorted(cut, reverse=True)
    assert {True, False} == set(cut)


def test_a_warning_that_does_not_fit_is_the_failure(database: Database, scope: Scope) -> None:
    reasons = [
        recall(database, scope, budget={"context_tokens": 1, "max_tokens": limit}).get(
            "failed_reason"
        )
        for limit in range(240, 480, 15)
    ]
    assert set(reasons) == {
        "recall_output_budget_exhausted",
        "recall_context_budget_exhausted",
        None,
    }
    assert reasons == sorted(
        reasons, key=lambda r: (r is None, r != "recall_output_budget_exhausted")
    )


# --- required reads -------------------------------------------------------------------------------


def test_more_required_than_is_read_is_said_and_nothing_delivered(
    database: Database, empty: Scope
) -> None:
    write(database, empty, *(rule(f"?r{n}", f"rule {n}") for n in range(MAX_REQUIRED)))
    packet = packet_of(recall(database, empty, budget={"max_tokens": 65536}))
    assert packet is not None
    assert len(needed(packet)) == MAX_REQUIRED + 1
    write(database, empty, rule("?one", "one more"))
    answer = recall(database, empty, budget={"max_tokens": 65536})
    assert packet_of(answer)
    assert answer["failed_reason"] == "recall_required_read_incomplete"


def test_procedures_are_checked_and_recommended_never(database: Database, empty: Scope) -> None:
    made = write(database, empty, *skill("?s", "How to feed the axolotl"))
    packet = packet_of(recall(database, empty, "Feed the axolotl?", {}))
    assert packet is not None
    told = {item["id"]: item for item in packet["items"]}
    check = told[f"check:{made['?s']}"]
    assert check["channel"] == "procedures"
    assert check["priority"] == "warning"
    assert check["content"]["standing"] == "unproven"
    assert check["content"]["recommendation_allowed"] is False
    assert told[made["?s"]]["priority"] == "unproven_procedure"


def test_too_many_procedures_to_check_deliver_nothing(database: Database, empty: Scope) -> None:
    changes = [c for n in range(MAX_PROCEDURES + 1) for c in skill(f"?s{n}", f"axolotl care {n}")]
    write(database, empty, *changes)
    answer = recall(database, empty, "axolotl", {})
    assert packet_of(answer)
    assert answer["failed_reason"] == "recall_procedure_window_incomplete"


# --- with a model ---------------------------------------------------------------------------------


def select(*chosen: str) -> Answer:
    return Answer({"selected_ids": list(chosen)})


def shown(request: providers.Request) -> dict[str, Any]:
    """The planning input that a request carries."""
    start = request.text.index('{"format":"brainstem-recall-input/1"')
    return dict(json.JSONDecoder().raw_decode(request.text[start:])[0])


def test_a_model_selects_among_records_and_adds_nothing(
    database: Database, scope: Scope, provider: Provider
) -> None:
    provider.script(select("A-999", "C-1000"))
    nothing = recall(database, scope, budget={}, provider=provider)
    packet = packet_of(nothing)
    assert packet is not None
    assert set(ids(packet)) == needed(packet)
    assert packet["coverage"]["omitted"] == ["kip"]
    offered = shown(provider.requests[0])
    assert offered["question"] == WHERE
    assert offered["primer"]["protocol"]["kip"] == "2.0"
    optional = [i["id"] for i in offered["memory_items"] if i["priority"] == "relevant"]
    # a planner's order counts no more than its words
    provider.script(select(*reversed(optional[:2]), "A-999"))
    chosen = recall(database, scope, budget={}, provider=provider)
    packet = packet_of(chosen)
    assert packet is not None
    assert [i for i in ids(packet) if i not in needed(packet)] == optional[:2]
    assert chosen["usage"] == {
        "input_tokens": 120,
        "output_tokens": 30,
        "cached_tokens": 40,
        "requests": 1,
    }


def test_what_a_model_reads_keeps_to_the_context_budget(
    database: Database, scope: Scope, provider: Provider
) -> None:
    provider.otherwise = select()
    packet_of(recall(database, scope, budget={}, provider=provider))
    everything = shown(provider.requests[0])
    most = [item["id"] for item in everything["memory_items"]]
    before: set[str] = set()
    refused = 0
    for limit in (1, 1000, 3200, 3300, 3400, 3500, 3700, 4200):
        asked = len(provider.requests)
        answer = recall(database, scope, budget={"context_tokens": limit}, provider=provider)
        packet = packet_of(answer)
        assert packet is not None
        warned = "warning:recall_context_budget_exhausted" in ids(packet)
        if len(provider.requests) == asked:
            refused += 1
            assert warned
            continue
        request = provider.requests[-1]
        assert count(request.text) <= limit
        kept = [item["id"] for item in shown(request)["memory_items"]]
        assert before <= set(kept)
        assert warned == (kept != most)
        before = set(kept)
    assert 2 <= refused < 8
    assert before == set(most)


@pytest.mark.parametrize(
    "step",
    [
        Status(500, message="canary-words of the provider"),
        Status(401, message="canary-words of the provider"),
        Status(429, retry_after="5", message="canary-words of the provider"),
        HangUp("head"),
        HangUp("body"),
    ],
)
def test_a_provider_that_fails_is_a_failure_with_a_fixed_code(
    database: Database, scope: Scope, provider: Provider, step: Any
) -> None:
    provider.script(step)
    provider.otherwise = step
    answer = recall(database, scope, budget={}, provider=provider)
    packet = packet_of(answer)
    assert packet is not None
    assert answer["failed_reason"] == packet["failed_reason"] == "recall_model_unavailable"
    assert "canary" not in json.dumps(answer)
    with database.transaction(scope) as tx:
        kept = conversations.list_page(tx, scope, "recall", before_id=None, limit=1)[0]
    assert "canary" not in json.dumps([kept.messages, kept.artifacts, kept.extra])


def test_a_model_that_is_not_usably_configured_is_a_failure_that_tells_nothing(
    database: Database, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as environment:
        environment.setenv("BRAINSTEM_MODEL_FAMILY", "canary")
        environment.setenv("BRAINSTEM_MODEL_NAME", "canary")
        settings.reload()
        answer = recall(database, scope, budget={})
    assert packet_of(answer)
    assert answer["failed_reason"] == "recall_model_unavailable"
    assert "canary" not in json.dumps(answer)


def test_an_unusable_selection_is_asked_for_once_more(
    database: Database, scope: Scope, provider: Provider
) -> None:
    provider.script(Text("Ana lives in Lisbon."), select())
    assert "failed_reason" not in recall(database, scope, budget={}, provider=provider)
    provider.script(Text("Ana lives in Lisbon."), Text("Lisbon!"))
    answer = recall(database, scope, budget={}, provider=provider)
    assert packet_of(answer)
    assert answer["failed_reason"] == "recall_planner_incomplete"
    assert len(provider.requests) == 4
    assert answer["usage"]["requests"] == 2


def test_the_tries_of_a_planner_share_the_context_budget(
    database: Database, scope: Scope, provider: Provider
) -> None:
    provider.script(Text("Ana lives in Lisbon."))
    answer = recall(database, scope, budget={"context_tokens": 5000}, provider=provider)
    packet = packet_of(answer)
    assert packet is not None
    assert len(provider.requests) == 1
    assert "warning:recall_context_budget_exhausted" in needed(packet)
    assert answer["found"]
    assert answer["usage"]["requests"] == 1


def test_a_planner_that_is_too_slow_is_stopped(
    database: Database, scope: Scope, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.script(Silence())
    with monkeypatch.context() as environment:
        environment.setenv("BRAINSTEM_WAIT_SECONDS", "0.6")
        settings.reload()
        answer = recall(database, scope, budget={}, provider=provider)
    assert packet_of(answer)
    assert answer["failed_reason"] == "recall_deadline_reached"


def test_no_model_is_asked_for_a_packet_that_cannot_be(
    database: Database, scope: Scope, empty: Scope, provider: Provider
) -> None:
    for limit in (1, 100, 300):
        answer = recall(database, scope, budget={"max_tokens": limit}, provider=provider)
        packet_of(answer)
        assert answer["failed_reason"] == "recall_output_budget_exhausted"
    assert provider.requests == []


# --- the policy -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cap", "asked", "tokens", "context"),
    [
        ({"max_tokens": 700}, None, 700, 49152),
        ({"max_tokens": 700}, {}, 700, 49152),
        ({"max_tokens": 700}, {"max_tokens": 65536, "context_tokens": 131072}, 700, 49152),
        ({"max_tokens": 700}, {"max_tokens": 600}, 600, 49152),
        ({"context_tokens": 900}, {"context_tokens": 800}, 4096, 800),
        ({"tokenizer": OLD_SPELLING}, {"tokenizer": TOKENIZER}, 4096, 49152),
        (None, {"max_tokens": 600}, 600, 49152),
    ],
)
def test_a_request_only_tightens_what_the_space_allows(
    database: Database,
    scope: Scope,
    cap: dict[str, Any] | None,
    asked: dict[str, Any] | None,
    tokens: int,
    context: int,
) -> None:
    policy = MemoryPolicy(recall_budget=None if cap is None else RecallBudget(**cap))
    with database.transaction(scope) as tx:
        memory_policy.write(tx, scope, policy)
    answer = recall(database, scope, budget=asked)
    assert packet_of(answer)
    receipt = answer["memory_budget"]
    assert (receipt["token_limit"], receipt["context_token_limit"]) == (tokens, context)
