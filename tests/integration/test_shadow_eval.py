"""Shadow evaluation: recent questions under two policies, judged blind, nothing written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipelines.formation.alone import Alone, form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.maintenance.shadow import Shadow, run
from pipelines.ports.pydantic_ai_models import PydanticAIModel
from pipelines.recall.run import run as recall
from storage import conversations, maintenance_runs
from storage.database import Database, Scope
from storage.errors import Fatal, Unsupported
from tests import providers
from tests.providers import Answer, Provider, Status
from tests.services import wait_for
from tests.unit.api.calling import new_client

provider = providers.provider

TALK = [
    {"role": "user", "name": "Ana", "content": "I live in Lisbon with my dog Rufus."},
    {"role": "user", "name": "Bo", "content": "I work for Acme."},
]
#: A budget so small that no answer fits it: the two answers differ.
SMALL = {"recall_budget": {"max_tokens": 1}}


class Brain:
    """A space that was asked questions."""

    def __init__(self, database: Database, space: str) -> None:
        self.database, self.scope = database, Scope(space)
        form(database, self.scope, TALK, BuiltinEncoder())

    def ask(self, query: str) -> int:
        with self.database.transaction(self.scope) as tx:
            number = conversations.next_id(tx, self.scope)
            conversations.create(
                tx,
                self.scope,
                number,
                "recall",
                job_id="",
                principal="p",
                messages=[{"role": "user", "content": query}],
            )
        effect = recall(Alone(self.database, self.scope, {"conversation": number}, kind="recall"))
        with self.database.transaction(self.scope) as tx:
            effect.apply(tx)
        return number

    def evaluate(
        self, provider: Provider | None, policy: dict[str, Any], sample: int = 4
    ) -> dict[str, Any]:
        model = None
        if provider is not None:
            model = PydanticAIModel(self.scope.space_id, provider.config(), timeout=20)
        payload = {"policy": policy, "replay_sample": sample}
        effect = run(Alone(self.database, self.scope, payload, kind="shadow_eval"), model)
        with self.database.transaction(self.scope) as tx:
            return effect.apply(tx).result

    def everything(self) -> list[Any]:
        """Every row of the space but what the evaluation keeps of itself."""
        with self.database.transaction(self.scope) as tx:
            tables = tx.execute(
                "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid"
                " and a.attname = 'space_id' where c.relkind = 'r' and c.relrowsecurity"
                " and c.relname <> 'memory_upkeep' and has_table_privilege(c.oid, 'select')"
                " order by 1"
            ).fetchall()
            return [
                tx.execute(
                    f"select count(*), md5(coalesce(string_agg(t::text, ',' order by t::text), ''))"
                    f" from {name} t where space_id = %s",
                    (self.scope.space_id,),
                ).fetchone()
                for (name,) in tables
            ]


@pytest.fixture
def brain(database: Database, space: str) -> Brain:
    return Brain(database, space)


def judge(verdict: str) -> Any:
    """Judges two answers; asked to write an answer itself, it leaves that to extraction."""

    def step(request: providers.Request) -> Answer:
        if '"second"' in request.text:
            return Answer({"winner": verdict})
        return Answer({"sentences": []})

    return step


def test_answers_are_compared_blind_and_nothing_is_written(
    brain: Brain, provider: Provider
) -> None:
    numbers = [brain.ask("Where does Ana live?"), brain.ask("Who does Bo work for?")]
    before = brain.everything()
    provider.otherwise = judge("first")
    told = brain.evaluate(provider, SMALL)
    assert brain.everything() == before
    # the order alternates, so that a judge who always says "first" favours nobody
    assert (told["replayed"], told["baseline_wins"], told["candidate_wins"]) == (2, 1, 1)
    assert (told["ties"], told["judge_errors"]) == (0, 0)
    assert told["candidate_policy"] == SMALL
    assert [sample["conversation"] for sample in told["samples"]] == numbers[::-1]
    assert told["usage"]["requests"] >= 2
    judged = [r for r in provider.requests if '"second"' in r.text]
    assert len(judged) == 2
    assert not [r for r in judged if "candidate" in r.text or "baseline" in r.text]
    with brain.database.transaction(brain.scope) as tx:
        kept = maintenance_runs.read(tx, brain.scope).last_shadow
    assert kept is not None
    assert kept["replayed"] == 2
    assert "samples" not in kept
    assert "Ana" not in json.dumps(kept)


def test_equal_answers_tie_without_being_judged(brain: Brain, provider: Provider) -> None:
    brain.ask("Where does Ana live?")
    provider.otherwise = judge("first")
    told = brain.evaluate(provider, {"orphan_max_count": 3})
    assert (told["replayed"], told["ties"]) == (1, 1)
    assert not [r for r in provider.requests if '"second"' in r.text]


def test_a_question_counts_once_and_the_sample_is_kept_to(brain: Brain, provider: Provider) -> None:
    for query in ("Where does Ana live?", "Where does Ana live?", "Who does Bo work for?"):
        brain.ask(query)
    provider.otherwise = judge("tie")
    assert brain.evaluate(provider, SMALL)["ties"] == 2
    assert brain.evaluate(provider, SMALL, 1)["replayed"] == 1


def test_a_judge_that_fails_is_counted(brain: Brain, provider: Provider) -> None:
    brain.ask("Where does Ana live?")
    provider.otherwise = Status(400)
    told = brain.evaluate(provider, SMALL)
    assert (told["replayed"], told["judge_errors"]) == (1, 1)


def test_a_shadow_can_write_nothing(brain: Brain) -> None:
    shadow = Shadow(Alone(brain.database, brain.scope, {}), {})
    with pytest.raises(Fatal):
        shadow.commit_batch(lambda tx: None, {})
    with shadow.read() as tx, pytest.raises(Exception, match="read-only"):
        tx.execute("update space set name = 'x' where space_id = %s", (brain.scope.space_id,))


def test_without_a_model_nothing_is_replayed(brain: Brain) -> None:
    brain.ask("Where does Ana live?")
    with pytest.raises(Unsupported):
        brain.evaluate(None, SMALL)
    path = f"/v1/{brain.scope.space_id}/management/shadow_eval"
    response = new_client().post(path, json={"policy": {}})
    assert response.status_code == 501
    assert "model" in str(response.json)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"policy": {"recall_max_rounds": 0}},
        {"policy": {}, "replay_sample": 17},
        {"policy": {}, "replay_sample": 0},
    ],
)
def test_a_wrong_request_is_refused(space: str, database: Database, body: Any) -> None:
    response = new_client().post(f"/v1/{space}/management/shadow_eval", json=body)
    assert response.status_code == 400


def test_the_route_answers_with_the_questions(
    brain: Brain, provider: Provider, start_api: Any, worker: Any
) -> None:
    config = provider.config()
    env = {
        "BRAINSTEM_MODEL_FAMILY": "openai",
        "BRAINSTEM_MODEL_NAME": config.model,
        "BRAINSTEM_MODEL_API_BASE": config.api_base,
        "BRAINSTEM_MODEL_API_KEY": config.api_key,
    }
    brain.ask("Where does Ana live?")
    provider.otherwise = judge("second")
    worker(queues="interactive", env=env)
    client = start_api(env=env).client
    path = f"/v1/{brain.scope.space_id}"
    response = client.post(f"{path}/management/shadow_eval", json={"policy": SMALL}, timeout=60)
    assert response.status_code == 200, response.text
    told = response.json()["result"]
    assert told["samples"] == [{"query": "Where does Ana live?", "winner": "candidate"}]
    status = client.get(f"{path}/memory_status").json()["result"]
    assert status["last_shadow"]["candidate_wins"] == 1
    wait_for(
        lambda: client.get(f"{path}/info").json()["result"]["maintenance_usage"]["requests"] > 0,
        what="the usage",
    )
