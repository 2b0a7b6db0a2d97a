"""The self-test, with and without a model, and what a model makes of Events that wait."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pipelines.formation.alone import Alone, form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.maintenance import self_test
from pipelines.maintenance.run import run
from pipelines.ports.pydantic_ai_models import PydanticAIModel
from pipelines.ports.tokens import count
from storage import maintenance_runs, memory_policy
from storage.clock import now, to_millis
from storage.database import Database, Scope
from storage.graph import state
from storage.graph.claims import statements
from storage.memory_policy import MemoryPolicy
from storage.search import index
from storage.settlement import tasks
from tests import providers
from tests.providers import Answer, Provider, Status

provider = providers.provider

#: Not long ago, so that nothing is stale.
BEGAN = to_millis(now()) - 3_600_000
TALK: list[dict[str, Any]] = [
    {"role": "user", "name": name, "content": text, "timestamp": BEGAN + n * 60_000}
    for n, (name, text) in enumerate(
        [
            ("Ana", "I live in Lisbon."),
            ("Ana", "I work for Acme."),
            ("Bo", "I am allergic to peanuts."),
            ("Bo", "I live in Oslo."),
        ]
    )
]


class Brain:
    """A space that has heard a talk."""

    def __init__(self, database: Database, space: str) -> None:
        self.database, self.scope = database, Scope(space)

    def hear(self, talk: list[dict[str, Any]] = TALK) -> None:
        form(self.database, self.scope, talk, BuiltinEncoder())

    def policy(self, **given: Any) -> None:
        with self.database.transaction(self.scope) as tx:
            memory_policy.write(tx, self.scope, MemoryPolicy(**given))

    def maintain(self, scope: str, provider: Provider | None = None, **payload: Any) -> Any:
        model = None
        if provider is not None:
            model = PydanticAIModel(self.scope.space_id, provider.config(), timeout=20)
        work = Alone(self.database, self.scope, {"scope": scope, **payload}, kind="maintenance")
        effect = run(work, model)
        with self.database.transaction(self.scope) as tx:
            result = effect.apply(tx).result
        return {**result, "charged": work.usages}

    def read(self, reading: Any) -> Any:
        with self.database.transaction(self.scope, snapshot=True) as tx:
            return reading(tx)

    def claims(self) -> dict[str, str]:
        """Ids of the claims by their predicate and object."""
        rows = self.read(
            lambda tx: tx.execute(
                "select id from assertion where space_id = %s", (self.scope.space_id,)
            ).fetchall()
        )
        found = self.read(lambda tx: statements(tx, self.scope, assertions=[id for (id,) in rows]))
        return {f"{one.subject} {one.predicate} {one.object}": one.id for one in found}

    def task(self, key: str) -> dict[str, Any]:
        """What a task says; nothing when there is none."""
        found = self.read(lambda tx: state.concepts_by_key(tx, self.scope, [(tasks.TYPE, key)]))
        if not found:
            return {}
        id = found[tasks.TYPE, key]
        return self.read(lambda tx: state.load(tx, self.scope, [id]))[id].doc["attributes"]


@pytest.fixture
def brain(database: Database, space: str) -> Brain:
    made = Brain(database, space)
    made.hear()
    return made


def test_memory_is_asked_for_what_it_believes_and_answers(brain: Brain) -> None:
    told = brain.maintain("daydream")["self_test"]
    assert told["tested"] == 4
    assert told["grounded"] == 4
    assert told["reencode_tasks"] == 0
    assert (told["questions"], told["recall"]) == ("host", "extraction")
    assert told["usage"] == {
        "input_tokens": 0,
        "output_tokens": 0,
        "cached_tokens": 0,
        "requests": 0,
    }
    kept = brain.read(lambda tx: maintenance_runs.read(tx, brain.scope))
    assert kept.last_self_test["tested"] == 4
    assert to_millis(kept.last_self_test_at) == told["tested_at"]


def test_what_is_not_found_gets_a_task_and_counts_as_not_grounded(brain: Brain) -> None:
    claims = brain.claims()
    lost = claims["Bo allergic_to peanuts"]
    with brain.database.transaction(brain.scope) as tx:
        texts = tx.execute(
            "select target_id from edge where space_id = %s and source_id = %s"
            " and field_lineage = 'evidence'",
            (brain.scope.space_id, lost),
        ).fetchall()
        index.remove(tx, brain.scope, [lost, *(id for (id,) in texts)])
    told = brain.maintain("daydream")["self_test"]
    assert (told["tested"], told["grounded"], told["reencode_tasks"]) == (4, 3, 1)
    task = brain.task(f"consolidate:{lost}")
    assert (task["status"], task["element"]) == ("pending", lost)


def test_a_claim_is_left_alone_for_thirty_days(brain: Brain) -> None:
    brain.policy(self_test_queries_per_cycle=3)
    assert brain.maintain("daydream")["self_test"]["tested"] == 3
    assert brain.maintain("daydream")["self_test"]["tested"] == 1
    assert "self_test" not in brain.maintain("daydream")
    for days, tested in ((29, None), (31, 3)):
        with brain.database.transaction(brain.scope) as tx:
            tx.execute(
                "update self_test_result set tested_at = now() - %s where space_id = %s",
                (timedelta(days=days), brain.scope.space_id),
            )
        found = brain.maintain("daydream").get("self_test")
        assert (found and found["tested"]) == tested


def test_what_was_used_needs_no_test(brain: Brain) -> None:
    used = brain.claims()["Ana lives_in Lisbon"]
    with brain.database.transaction(brain.scope) as tx:
        tx.execute(
            "insert into exposure (space_id, element_id, what, snapshot_seq, at)"
            " values (%s, %s, 'used', 1, now())",
            (brain.scope.space_id, used),
        )
    assert brain.maintain("daydream")["self_test"]["tested"] == 3


def test_a_policy_of_no_questions_tests_nothing(brain: Brain) -> None:
    brain.policy(self_test_queries_per_cycle=0)
    assert "self_test" not in brain.maintain("full")


def test_quick_tests_nothing(brain: Brain) -> None:
    assert "self_test" not in brain.maintain("quick")


def questions(request: providers.Request) -> Answer:
    """What a model that knows its work answers: a question for each number of the material."""
    asked = [
        (1, "Where does Ana live?"),
        (2, "Who does Ana work for?"),
        (3, "What is Bo allergic to?"),
        (4, "Where does Bo live? In Oslo?"),
        (99, "What is this?"),
    ]
    return Answer({"questions": [{"number": n, "question": text} for n, text in asked]})


def test_a_model_words_the_questions_within_the_budget(brain: Brain, provider: Provider) -> None:
    provider.script(questions)
    told = brain.maintain("daydream", provider)
    # the fourth question names its object and is no test
    assert (told["self_test"]["tested"], told["self_test"]["grounded"]) == (3, 3)
    assert told["self_test"]["questions"] == "model"
    assert told["self_test"]["usage"]["requests"] == 1
    assert told["usage"]["input_tokens"] == provider.input_tokens
    assert [usage.collection for usage in told["charged"]] == ["maintenance"]
    [asked] = provider.requests
    assert asked.body.get("max_completion_tokens", asked.body.get("max_tokens")) == 4096


def test_candidates_that_do_not_fit_the_budget_are_not_sent(
    brain: Brain, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    brain.policy(self_test_token_budget=1000)
    filler = "word " * (1000 - self_test.reserve(1000) - count(self_test.INSTRUCTIONS) - 60)
    monkeypatch.setattr(self_test, "INSTRUCTIONS", self_test.INSTRUCTIONS + filler)
    provider.script(questions)
    told = brain.maintain("daydream", provider)["self_test"]
    [asked] = provider.requests
    assert 1 <= told["tested"] < 3
    assert asked.body.get("max_completion_tokens", asked.body.get("max_tokens")) == 250
    sent = asked.text.count('"number": ')
    assert sent == told["tested"]
    # those that were not sent are next
    provider.script(questions)
    assert brain.maintain("daydream", provider)["self_test"]["tested"] >= 1


def test_without_its_model_the_host_words_the_questions(brain: Brain, provider: Provider) -> None:
    provider.otherwise = Status(529)
    told = brain.maintain("daydream", provider)["self_test"]
    assert (told["tested"], told["grounded"], told["questions"]) == (4, 4, "host")
    assert told["error"] == "model_unavailable"


# --- the model's pass -----------------------------------------------------------------------------


def waiting(brain: Brain) -> list[str]:
    brain.policy(self_test_queries_per_cycle=0)
    brain.hear([{**one, "timestamp": one["timestamp"] + 600_000} for one in TALK[:1]])
    rows = brain.read(
        lambda tx: tx.execute(
            "select id from element where space_id = %s and type_lineage like '%%/Event'"
            " order by length(id), id",
            (brain.scope.space_id,),
        ).fetchall()
    )
    return [id for (id,) in rows]


def insights(*given: tuple[str, list[int]]) -> Answer:
    return Answer({"insights": [{"summary": text, "events": numbers} for text, numbers in given]})


def test_a_models_insights_stand_on_events_and_end_their_tasks(
    brain: Brain, provider: Provider
) -> None:
    first, second = waiting(brain)
    provider.script(
        insights(
            ("Ana and Bo work and live in Lisbon and Oslo.", [1, 2, 7]),
            ("Penguins swim under polar ice.", [1]),
            ("Ana lives somewhere.", [9]),
        )
    )
    told = brain.maintain("full", provider, parameters={"unconsolidated_max_backlog": 1})
    # only what is beyond the backlog has a task
    assert told["backlog"]["tasks"] == 1
    told = told["consolidation"]
    assert (told["events"], told["insights"], told["dropped"]) == (1, 1, 2)
    assert brain.task(f"consolidate:{first}")["status"] == "completed"
    rows = brain.read(
        lambda tx: tx.execute(
            "select d.field_lineage, d.target_id from activity a join edge d"
            " on d.space_id = a.space_id and d.source_id = a.id"
            " where a.space_id = %s and a.activity_class = 'semantic_consolidation' order by 1, 2",
            (brain.scope.space_id,),
        ).fetchall()
    )
    (_, event), (_, insight) = rows
    assert event == first
    found = brain.read(lambda tx: state.load(tx, brain.scope, [insight, second]))
    assert found[insight].doc["attributes"]["summary"].startswith("Ana and Bo work")
    assert found[insight].doc["attributes"]["insight_class"] == "consolidation"
    # what is consolidated does not wait any more
    assert brain.maintain("quick")["backlog"]["unconsolidated"] == 1
    assert provider.unscripted == 0


def test_a_model_that_is_away_leaves_the_tasks_open(brain: Brain, provider: Provider) -> None:
    first, _ = waiting(brain)
    provider.otherwise = Status(503)
    told = brain.maintain("full", provider, parameters={"unconsolidated_max_backlog": 1})
    assert told["consolidation"]["error"] == "model_unavailable"
    assert told["settlement"]["settled_at"]
    assert brain.task(f"consolidate:{first}")["status"] == "pending"


def test_without_a_task_or_a_model_nothing_is_consolidated(
    brain: Brain, provider: Provider
) -> None:
    waiting(brain)
    assert "consolidation" not in brain.maintain("full", provider)
    assert provider.requests == []
    told = brain.maintain("full", parameters={"unconsolidated_max_backlog": 1})
    assert "consolidation" not in told


def test_the_material_is_data_and_carries_the_parameters(brain: Brain, provider: Provider) -> None:
    waiting(brain)
    provider.script(insights())
    told = brain.maintain("full", provider, parameters={"unconsolidated_max_backlog": 1})
    [asked] = provider.requests
    assert '"unconsolidated_max_backlog": 1' in asked.text
    assert "I live in Lisbon." in asked.text
    assert '"settlement_errors": {}' in asked.text
    assert (told["consolidation"]["events"], told["consolidation"]["insights"]) == (1, 0)
