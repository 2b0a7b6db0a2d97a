"""`GET /v1/{space}/memory_status`, the policy behind it, and asking for maintenance over HTTP."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from api.memory.status import MemoryStatus
from jobs import ledger
from jobs.actors import PIPELINES
from jobs.kinds import SYSTEM_SPACE
from jobs.runner import Runner
from pipelines.formation.alone import Alone, form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.maintenance.run import run
from storage import conversations, maintenance_runs, memory_metrics, memory_policy, spaces
from storage.clock import now, to_text
from storage.database import Scope
from storage.graph.changes import ChangeSet, CreateConcept, Transition
from storage.graph.commit import commit
from storage.memory_policy import MemoryPolicy
from storage.principals import anonymous, system
from tests.services import wait_for
from tests.unit.api.calling import new_client

TALK = [{"role": "user", "name": "Ada", "content": "I live in Utrecht. I own a kayak."}]


@pytest.fixture
def client(database):
    return new_client()


@pytest.fixture
def status(client, space):
    """Reads the status; every answer fits the seed's shape."""

    def read() -> dict[str, Any]:
        response = client.get(f"/v1/{space}/memory_status")
        assert response.status_code == 200, response.data
        MemoryStatus.model_validate(response.json["result"])
        return response.json["result"]

    return read


def maintain(database, space, scope="quick", **payload):
    work = Alone(database, Scope(space), {"scope": scope, **payload}, kind="maintenance")
    effect = run(work)
    with database.transaction(Scope(space)) as tx:
        return effect.apply(tx).result


def test_a_new_space_has_zeroes_and_no_rates(status):
    told = status()
    assert set(told) == {"metrics", "graph"}
    assert set(told["metrics"].values()) == {0}
    assert told["graph"] == {"concepts": 0, "propositions": 0}


def test_probes_are_counted_by_what_they_found(database, client, space, status):
    form(database, Scope(space), TALK, BuiltinEncoder())
    for query in ("Utrecht", "kayak", "zeppelin", "zeppelin", "zeppelin"):
        assert client.post(f"/v1/{space}/probe", json={"query": query}).status_code == 200
    told = status()
    metrics = told["metrics"]
    assert (metrics["probe_hits"], metrics["probe_misses"]) == (2, 1)
    assert metrics["negative_cache_hits"] == 2
    assert told["probe_hit_rate"] == 0.4
    assert metrics["updated_at"] > 0


def test_every_report_is_told_after_maintenance(database, space, status):
    scope = Scope(space)
    form(database, scope, TALK, BuiltinEncoder())
    with database.transaction(scope) as tx:
        rows = tx.execute("select id from assertion where space_id = %s", (space,)).fetchall()
        first = min(id for (id,) in rows)
        commit(
            tx,
            scope,
            "anonymous",
            ChangeSet((Transition(first, "retracted"),)),
            tx_class="kml",
        )
    maintain(database, space, "full")
    told = status()
    assert told["last_settlement"]["settled_at"] > 0
    assert told["last_settlement"]["correction_scan_incomplete"] is False
    assert told["last_settlement"]["skills"]["unsupported_reason"]
    assert told["last_self_test"]["tested"] == len(rows) - 1
    assert told["groundability"] == told["last_self_test"]["grounded"] / (len(rows) - 1)
    assert told["last_schema_audit"]["predicates"]
    assert told["graph"]["unconsolidated"] == 1
    assert told["graph"]["as_of"] == told["last_settlement"]["settled_at"]
    assert told["correction_rate"] == 0.0
    assert "last_shadow" not in told


def test_recalls_uncertainty_and_erased_elements_are_counted(database, space, status):
    scope = Scope(space)
    form(database, scope, TALK, BuiltinEncoder())
    with database.transaction(scope) as tx:
        for n in range(3):
            number = conversations.next_id(tx, scope)
            conversations.create(tx, scope, number, "recall", job_id="", principal="p", messages=[])
            if n:
                conversations.settle(tx, scope, number)
        memory_metrics.report_uncertainty(tx, scope, 0.25)
        memory_metrics.report_uncertainty(tx, scope, 0.75)
        for what in ("retrieved", "retrieved", "used"):
            tx.execute(
                "insert into exposure (space_id, element_id, what, snapshot_seq, at)"
                " values (%s, 'C-1', %s, 1, now())",
                (space, what),
            )
        tx.execute(
            "insert into usage_total (space_id, collection, input_tokens, output_tokens)"
            " values (%s, 'maintenance', 70, 30)",
            (space,),
        )
    for _ in range(2):
        # the same before and after the log was read by maintenance
        told = status()
        assert told["metrics"]["recalls_completed"] == 2
        assert told["metrics"]["entities_recalled"] == 2
        assert told["metrics"]["uncertainty_reports"] == 2
        assert told["avg_uncertainty"] == 0.5
        assert told["maintenance_tokens_per_recall"] == 50
        maintain(database, space, "quick")
    from storage import forgetting

    with database.transaction(scope) as tx:
        rows = tx.execute("select id from assertion where space_id = %s", (space,)).fetchall()
        done = forgetting.forget(tx, scope, "p", [rows[0][0]])
    assert status()["metrics"]["forgotten_entities"] == len(done.erased) > 0


def test_counters_of_many_at_once_lose_nothing(database, space, status):
    from concurrent.futures import ThreadPoolExecutor

    def one(_: int) -> None:
        with database.transaction(Scope(space)) as tx:
            memory_metrics.count(tx, Scope(space), "probe_hits")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(200)))
    assert status()["metrics"]["probe_hits"] == 200


def test_the_status_of_an_unknown_space_is_none(client):
    assert client.get("/v1/nowhere_at_all/memory_status").status_code == 404


@pytest.mark.parametrize("accept", ["application/cbor", "text/markdown"])
def test_the_status_is_negotiated(client, space, accept):
    response = client.get(f"/v1/{space}/memory_status", headers={"Accept": accept})
    assert response.status_code == 200
    assert response.content_type.startswith(accept)


# --- the policy -----------------------------------------------------------------------------------


def change(client, space, body):
    return client.patch(f"/v1/{space}/management/update_space", json=body)


def test_a_policy_is_kept_as_given_and_replaced_as_a_whole(database, client, space):
    first = {
        "version": 3,
        "orphan_max_count": 7,
        "memory_strength_decay_factor": 0.9,
        "recall_budget": {"max_tokens": 512},
    }
    assert change(client, space, {"memory_policy": first}).json == {"result": True}

    def kept() -> Any:
        with database.transaction(Scope(space)) as tx:
            return spaces.get(tx, Scope(space)).settings["memory_policy"]

    assert kept() == first
    with database.transaction(Scope(space)) as tx:
        policy = memory_policy.read(tx, Scope(space))
    assert (policy.orphan_max_count, policy.unconsolidated_max_backlog) == (7, 20)
    assert policy.recall_budget is not None
    assert policy.recall_budget.context_tokens == 49_152
    assert change(client, space, {"name": "Renamed"}).status_code == 200
    assert kept() == first
    assert change(client, space, {"memory_policy": {"recall_max_rounds": 2}}).status_code == 200
    assert kept() == {"recall_max_rounds": 2}


@pytest.mark.parametrize(
    "policy",
    [
        {"version": 0},
        {"memory_strength_decay_factor": 0},
        {"memory_strength_decay_factor": 1.5},
        {"recall_reinforcement": -0.1},
        {"correction_penalty": 0},
        {"decay_floor": 1},
        {"stale_event_threshold_days": 366},
        {"unconsolidated_max_backlog": 0},
        {"orphan_max_count": 10_001},
        {"self_test_queries_per_cycle": 101},
        {"self_test_token_budget": 999},
        {"recall_search_threshold": 0},
        {"recall_max_rounds": 51},
        {"shadow_replay_sample": 17},
        {"recall_budget": {"max_tokens": 65_537}},
        {"recall_budget": {"context_tokens": 0}},
        {"recall_budget": {"tokenizer": "cl100k"}},
        {"orphan_max_count": "7"},
    ],
)
def test_a_policy_out_of_range_is_refused_and_changes_nothing(database, client, space, policy):
    change(client, space, {"memory_policy": {"version": 2}})
    response = change(client, space, {"name": "New", "memory_policy": policy})
    assert response.status_code == 400
    assert response.json["data"]["field"].startswith("memory_policy.")
    with database.transaction(Scope(space)) as tx:
        kept = spaces.get(tx, Scope(space))
    assert (kept.name, kept.settings["memory_policy"]) == (None, {"version": 2})


def test_a_stored_policy_that_no_longer_fits_counts_as_far_as_it_does():
    given = {"memory_policy": {"orphan_max_count": 99_999, "recall_max_rounds": 3, "gone": 1}}
    assert memory_policy.of(given) == MemoryPolicy(recall_max_rounds=3)
    assert memory_policy.of({"memory_policy": "no"}) == MemoryPolicy()


# --- asking for maintenance -----------------------------------------------------------------------


def test_maintenance_asked_for_during_a_formation_is_refused(database, client, space):
    scope = Scope(space)
    with database.transaction(scope) as tx:
        waiting = ledger.accept(tx, anonymous(space), "formation", {"conversation": 1}).job
    path = f"/v1/{space}/maintenance"
    assert client.post(path, json={}).status_code == 200
    with database.ledger_statement() as tx:
        assert ledger.claim([waiting.id], f"wrk_{uuid.uuid4().hex}", tx)
    refused = client.post(path, json={"scope": "full"})
    assert refused.status_code == 409
    assert refused.json["data"]["code"] == "conflict"
    assert "formation" in refused.json["message"].lower()
    jobs = client.get(f"/v1/{space}/jobs?kind=maintenance").json["result"]
    assert len(jobs) == 1
    with database.ledger() as tx:
        tx.execute(
            "update job set state = 'succeeded', lease_owner = null, lease_until = null,"
            " finished_at = now() where id = %s",
            (waiting.id,),
        )
    assert client.post(path, json={"scope": "full"}).status_code == 200


def test_the_jobs_payload_holds_the_parameters(database, client, space):
    parameters = {"orphan_max_count": 5, "memory_strength_decay_factor": 0.5}
    told = client.post(f"/v1/{space}/maintenance", json={"parameters": parameters}).json["result"]
    with database.transaction(Scope(space)) as tx:
        job = ledger.get(tx, Scope(space), told["job"])
    assert job.payload["parameters"] == {"orphan_max_count": 5}


def test_cron_maintains_what_changed_and_where_something_falls_due(clean, database, space):
    scope = Scope(space)
    runner = Runner(PIPELINES, threads=1)
    runner.start()

    def asked() -> int:
        with database.ledger() as tx:
            cron = ledger.accept(tx, system(SYSTEM_SPACE), "maintain_spaces", {}).job
        runner.run([cron.id])
        with database.transaction(scope) as tx:
            row = tx.execute(
                "select count(*) from job where space_id = %s and kind = 'maintenance'", (space,)
            ).fetchone()
        return row[0]

    assert asked() == 0
    attributes = {"summary": "s", "status": "pending", "due_at": to_text(now())}
    with database.transaction(scope) as tx:
        maintenance_runs.conclude(tx, scope, {}, next_due=now())
    assert asked() == 1
    # joined, for nobody ran it yet
    assert asked() == 1
    with database.transaction(scope) as tx:
        tx.execute("delete from job where space_id = %s", (space,))
        maintenance_runs.conclude(tx, scope, {}, next_due=None)
    assert asked() == 0
    with database.transaction(scope) as tx:
        change = CreateConcept("?c", "Commitment", attributes=attributes)
        commit(tx, scope, "p", ChangeSet((change,)), tx_class="kml")
    assert asked() == 1
    runner.stop()


def test_many_formations_ask_for_maintenance_once(database, space):
    scope = Scope(space)
    with database.transaction(scope) as tx:
        memory_policy.write(tx, scope, MemoryPolicy(unconsolidated_max_backlog=3))
    runner = Runner(PIPELINES, threads=1)
    runner.start()

    def asked() -> list[tuple[str, str]]:
        with database.transaction(scope) as tx:
            return tx.execute(
                "select payload ->> 'trigger', payload ->> 'scope' from job where space_id = %s"
                " and kind = 'maintenance' order by seq",
                (space,),
            ).fetchall()

    def formed(n: int) -> None:
        with database.transaction(scope) as tx:
            number = conversations.next_id(tx, scope)
            job = ledger.accept(tx, system(space), "formation", {"conversation": number}).job
            conversations.create(
                tx,
                scope,
                number,
                "formation",
                job_id=job.id,
                principal="p",
                messages=[{"role": "user", "name": "Ada", "content": f"I own {n} boats."}],
            )
        runner.run([job.id])

    try:
        for n in range(2):
            formed(n)
        assert asked() == []
        formed(2)
        assert asked() == [("threshold", "quick")]
        with database.transaction(scope) as tx:
            row = tx.execute(
                "select id from job where space_id = %s and kind = 'maintenance'", (space,)
            ).fetchone()
        runner.run([row[0]])
        for n in range(3, 5):
            formed(n)
        assert len(asked()) == 1
        formed(5)
        assert asked() == [("threshold", "quick")] * 2
    finally:
        runner.stop()


def test_a_worker_maintains_what_was_asked_over_http(shared_api, worker, space):
    worker(queues="memory")
    client = shared_api.client
    told = client.post(f"/v1/{space}/maintenance", json={"scope": "full"}).json()["result"]

    def ended() -> bool:
        job = client.get(f"/v1/{space}/jobs/{told['job']}").json()["result"]
        return job["state"] == "succeeded"

    wait_for(ended, what="the end of maintenance")
    status = client.get(f"/v1/{space}/memory_status").json()["result"]
    assert status["last_settlement"]["watches"] == {
        "fired": 0,
        "conflicted": 0,
        "disarmed": 0,
        "deferred": 0,
    }
