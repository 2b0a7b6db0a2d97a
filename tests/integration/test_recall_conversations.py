"""Recall without a model over several conversations: whom it is about, and what holds by now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.formation.alone import form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.formation.capture import capture
from storage import memory_metrics, settings
from storage.conversations import Conversation
from storage.database import Database, Scope
from tests.integration.test_recall_answers import asking, new_space

Talk = list[tuple[int, str | None, str]]


@pytest.fixture(autouse=True)
def _without_vectors(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as environment:
        environment.setenv("BRAINSTEM_EMBEDDER", "none")
        settings.reload()
        yield
    settings.reload()


def message(month: int, name: str | None, text: str) -> dict[str, Any]:
    at = datetime(2026, month, 5, 9, tzinfo=UTC)
    named = {} if name is None else {"name": name}
    timestamp = int(at.timestamp() * 1000)
    return {"role": "user", "content": text, "timestamp": timestamp, **named}


@pytest.fixture
def told(database: Database) -> Callable[[Talk], Scope]:
    """A space to which messages were told, one conversation a month."""

    def tell(talk: Talk) -> Scope:
        scope = new_space(database)
        for month in sorted({month for month, _, _ in talk}):
            messages = [message(*one) for one in talk if one[0] == month]
            form(database, scope, messages, BuiltinEncoder())
        return scope

    return tell


def check(
    database: Database,
    scope: Scope,
    query: str,
    holds: str | None,
    lacks: str | None = None,
    counterparty: str | None = None,
) -> None:
    answer = asking(database, scope)(query, counterparty)
    if holds is None:
        assert not answer["found"], answer["content"]
    else:
        assert holds in answer["content"]
    if lacks is not None:
        assert lacks not in answer["content"]


NAMELESS: Talk = [
    (1, None, "Hi! I'm Priya, I work as a data engineer at Northwind."),
    (1, None, "I live in Dublin and I'm allergic to penicillin."),
    (4, None, "We just moved to Cork. I left Northwind last week, I start at Contoso on Monday."),
]


@pytest.mark.parametrize(
    ("query", "counterparty", "holds", "lacks"),
    [
        ("Where do I live?", None, "lives in Cork", "Dublin"),
        ("Where do I live?", "Priya", "lives in Cork", "Dublin"),
        ("Where does Priya live?", None, "lives in Cork", "Dublin"),
        ("What is Priya allergic to?", None, "is allergic to penicillin", "Cork"),
        ("Where does Priya work?", None, "I start at Contoso", "works for Northwind since"),
        ("Where did Priya work before?", None, "not any more: user works for Northwind", None),
        ("Where do I live?", "Bruno", None, None),
    ],
)
def test_the_user_whom_nothing_names_is_the_one_who_asks_and_goes_by_their_name(
    database: Database,
    told: Callable[[Talk], Scope],
    query: str,
    counterparty: str | None,
    holds: str | None,
    lacks: str | None,
) -> None:
    check(database, told(NAMELESS), query, holds, lacks, counterparty)


FAMILY: Talk = [
    (1, "Tom", "I was born on 3 May 1980. My sister Clara lives in Porto."),
    (1, "Tom", "My brother Jack is a pilot. My wife Ines is a vet."),
    (2, "Tom", "My daughter Lina turned 7 yesterday. We have three children: Lina, Ben and Ida."),
    (2, "Tom", "I've got a dog named Biscuit and a cat named Waffle."),
    (3, "Tom", "Bob's new girlfriend is called Tina. My therapist is Dr. Okafor."),
    (3, "Tom", "I'm a member of the Redwood climbing club."),
]


@pytest.mark.parametrize(
    ("query", "holds", "lacks"),
    [
        ("Where does Tom's sister live?", "Clara lives in Porto", "Jack"),
        ("Who is Tom's sister?", "Clara", "Jack"),
        ("What does Tom's wife do?", "Ines works as vet", "pilot"),
        ("How old is Tom's daughter?", "Lina turned 7", "1980"),
        ("When is Tom's wife's birthday?", None, None),
        ("Who are Tom's children?", "Ben", "Clara"),
        ("What is the name of Tom's cat?", "Waffle", "Biscuit"),
        ("Who is Peter's girlfriend?", None, None),
        ("Who is Bob's girlfriend?", "Tina", None),
        ("Who is Tom's therapist?", "Okafor", "Redwood"),
    ],
)
def test_who_is_meant_by_a_tie_is_found_and_nobody_else_is_told_of(
    database: Database,
    told: Callable[[Talk], Scope],
    query: str,
    holds: str | None,
    lacks: str | None,
) -> None:
    check(database, told(FAMILY), query, holds, lacks)


CHANGES: Talk = [
    (1, "Maya", "My boss is called Henrik. My brother Jack is a pilot for KLM."),
    (1, "Maya", "I play the cello. I drive an old Honda Civic."),
    (1, "Maya", "My favourite colour is green and I prefer window seats."),
    (1, "Maya", "I promised to send Anna the contract by Friday. Remind me to call the dentist."),
    (1, "Maya", "I don't drink coffee any more. I speak French and Hindi."),
    (1, "Maya", "I love pizza and sushi."),
    (2, "Maya", "I like pasta too."),
    (2, "Maya", "Henrik left, my new manager is Sofia. I sent Anna the contract yesterday."),
    (2, "Maya", "Jack quit KLM and became a flight instructor. I never liked jazz."),
    (2, "Maya", "I stopped playing the cello; I switched to piano."),
    (2, "Maya", "Sold the Honda, bought a Tesla Model 3. I listen to techno."),
]


@pytest.mark.parametrize(
    ("query", "holds", "lacks"),
    [
        ("Who is Maya's manager?", "Maya reports to Sofia", "Maya reports to Henrik"),
        ("What does Jack do?", "Jack works as flight instructor", "Jack works as pilot"),
        ("What instrument does Maya play?", "switched to piano", None),
        ("What car does Maya drive?", "Tesla", None),
        ("Which seat does Maya prefer?", "window seats", "green"),
        ("What food does Maya like?", "Maya likes pizza", "Contested"),
        ("What food does Maya like?", "Maya likes sushi", "any more"),
        ("What food does Maya like?", "Maya likes pasta", "jazz"),
        ("What did Maya promise Anna?", "contract", "dentist"),
        ("What does Maya still have to do?", "dentist", "contract"),
        ("What does Maya drink?", "coffee any more", "jazz"),
        ("What languages does Maya speak?", "Maya speaks French", "speaks fr"),
        ("What music does Maya listen to?", "techno", None),
        ("When did Jack become a flight instructor?", "Jack quit KLM", None),
    ],
)
def test_what_has_changed_is_told_as_it_is_by_now(
    database: Database,
    told: Callable[[Talk], Scope],
    query: str,
    holds: str,
    lacks: str | None,
) -> None:
    check(database, told(CHANGES), query, holds, lacks)


EVERYDAY: Talk = [
    (1, None, "My name is Dmitri. I'm 34 and I live with my girlfriend Alina in Tallinn."),
    (1, None, "I love hiking and I hate horror movies. I'm lactose intolerant."),
    (1, None, "Alice is my neighbour, she has a parrot called Rio."),
    (1, None, "Staging is at staging.acme.io. My dentist is Dr. Okafor, on Tuesdays at 5."),
    (1, None, "Our team uses Postgres 14. My sister-in-law Noor is a lawyer."),
    (1, "Ahmed", "I was born in Cairo on 12 May 1985."),
    (2, None, "Alina and I broke up. We upgraded to Postgres 16 last week."),
]


@pytest.mark.parametrize(
    ("query", "holds", "lacks"),
    [
        ("How old am I?", "34", "also known as"),
        ("Do I have a girlfriend?", "are not partners", None),
        ("What can't I eat?", "lactose", "hiking"),
        ("What are my hobbies?", "hiking", "Dmitri"),
        ("What do I hate?", "horror movies", "hiking"),
        ("What is my name?", "Dmitri", None),
        ("What pets does Alice have?", "Rio", None),
        ("Where is staging?", "“Staging is at staging.acme.io.", None),
        ("When is Dr. Okafor?", "Dr. Okafor, on Tuesdays", None),
        ("Which Postgres version does the team use?", "Postgres 16", None),
        ("How old is Noor?", None, None),
    ],
)
def test_everyday_questions_are_answered_to_the_point(
    database: Database,
    told: Callable[[Talk], Scope],
    query: str,
    holds: str | None,
    lacks: str | None,
) -> None:
    check(database, told(EVERYDAY), query, holds, lacks)


OTHER_WORDS: Talk = [
    (1, "Elena", "My son Luca is starting university in Bologna this autumn."),
    (1, "Elena", "My friend Clara is here. She has two kids, Leo and Mia."),
    (1, "Hana", "I finished my PhD in chemistry in 2019."),
    (1, "Jonas", "Ich wohne in Hamburg und arbeite als Architekt."),
    (1, "Jonas", "Ich bin allergisch gegen Haselnüsse."),
    (2, "Jonas", "Ich bin im März nach Köln umgezogen."),
]


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("Where does Luca study?", "Bologna"),
        ("How many children does Clara have?", "two kids"),
        ("What did Hana study?", "chemistry"),
        ("Wo wohnt Jonas?", "Köln"),
        ("Wogegen ist Jonas allergisch?", "Haselnüsse"),
        ("Was ist Jonas von Beruf?", "Architekt"),
        ("What did Jonas study?", None),
    ],
)
def test_what_was_said_in_other_words_is_found(
    database: Database, told: Callable[[Talk], Scope], query: str, holds: str | None
) -> None:
    check(database, told(OTHER_WORDS), query, holds)


@pytest.mark.parametrize(
    ("spoken", "context", "speaker"),
    [
        ({"user": "u-17"}, {}, "u-17"),
        ({"user": "u-17", "name": "Ana"}, {}, "Ana"),
        ({"user": "u-17"}, {"counterparty": "Bob"}, "u-17"),
        ({}, {"counterparty": "Bob"}, "Bob"),
        ({"name": " "}, {"counterparty": "Bob"}, "Bob"),
        ({}, {}, "user"),
        ({"role": "assistant"}, {"counterparty": "Bob"}, "assistant"),
    ],
)
def test_who_speaks_is_the_name_then_the_user_then_the_counterparty(
    spoken: dict[str, str], context: dict[str, str], speaker: str
) -> None:
    record = Conversation(
        id=1,
        collection="formation",
        job_id="",
        principal="ana",
        thread=None,
        label=None,
        messages=[{"role": "user", "content": "I live in Riga.", **spoken}],
        resources=[],
        artifacts=[],
        status="working",
        failed_reason=None,
        usage={},
        extra={"context": context} if context else {},
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        updated_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    assert [one.utterance.speaker for one in capture(record)] == [speaker]


def test_two_users_without_a_name_are_not_taken_for_one(database: Database) -> None:
    scope = new_space(database)
    for number, (user, place) in enumerate((("u-17", "Riga"), ("u-18", "Oslo")), start=1):
        talk = {**message(number, None, f"I live in {place}."), "user": user}
        form(database, scope, [talk], BuiltinEncoder())
    check(database, scope, "Where does u-17 live?", "u-17 lives in Riga", "Oslo")
    check(database, scope, "Where do I live?", "u-18 lives in Oslo", "Riga", "u-18")


def test_what_an_answer_tells_is_noted_as_shown(
    database: Database, told: Callable[[Talk], Scope]
) -> None:
    scope = told(CHANGES)
    with database.transaction(scope) as tx:
        assert memory_metrics.read(tx, scope).entities_recalled == 0
    answer = asking(database, scope)("Who is Maya's manager?")
    shown = {ref for one in answer["answer"] for ref in (*one["elements"], *one["sources"])}
    with database.transaction(scope) as tx:
        assert memory_metrics.read(tx, scope).entities_recalled == len(shown) > 0
