"""Failures that peers are known for, end to end through HTTP and real workers.

Named after the cases of ../shared/scenarios/bugs.jsonl, told in the routes that exist: where a
case stages a source and observes it, these send a formation with an idempotency key.
"""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import httpx2
import psycopg
import pytest

from jobs import dispatch, ledger, watch
from storage import jobs as table
from storage import spaces
from storage.clock import from_millis, to_text
from storage.database import Database, Scope
from storage.jobs import Ending
from storage.principals import anonymous
from tests.faults.conftest import FAST
from tests.providers import Answer, Provider, Status
from tests.services import Api, Services, wait_for

NOON = 1_770_000_000_000


class Client:
    """One caller of one space."""

    def __init__(self, api: Api, space: str) -> None:
        self.http, self.space = api.client, space

    def form(self, text: str, *, key: str | None = None, **message: Any) -> httpx2.Response:
        body = {"messages": [{"role": "user", "content": text, "timestamp": NOON, **message}]}
        headers = {"Idempotency-Key": key} if key else {}
        return self.http.post(f"/v1/{self.space}/formation", json=body, headers=headers)

    def formed(self, text: str, **message: Any) -> dict[str, Any]:
        answer = self.form(text, **message)
        assert answer.status_code == 200, answer.text
        return self.ended(answer.json()["result"]["job"])

    def job(self, job_id: str) -> dict[str, Any]:
        answer = self.http.get(f"/v1/{self.space}/jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    def ended(self, job_id: str) -> dict[str, Any]:
        states = ("succeeded", "failed", "cancelled")
        wait_for(lambda: self.job(job_id)["state"] in states, seconds=60, what="the job's end")
        return self.job(job_id)

    def ask(self, query: str) -> dict[str, Any]:
        answer = self.http.post(f"/v1/{self.space}/recall", json={"query": query})
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]


@pytest.fixture(autouse=True)
def _alone(clean: None) -> None:
    """No work that other tests left: a worker would take it, and a scripted model answer it."""


@pytest.fixture
def client(api: Api, space: str) -> Client:
    return Client(api, space)


@pytest.fixture
def plain() -> dict[str, str]:
    """No model, no vectors: what is tested is neither."""
    return {**FAST, "BRAINSTEM_EMBEDDER": "none"}


def modelled(provider: Provider, plain: dict[str, str]) -> dict[str, str]:
    """Workers that form with the scripted provider."""
    config = provider.config()
    return {
        **plain,
        "BRAINSTEM_MODEL_FAMILY": config.family,
        "BRAINSTEM_MODEL_NAME": config.model,
        "BRAINSTEM_MODEL_API_BASE": config.api_base,
        "BRAINSTEM_MODEL_API_KEY": config.api_key,
    }


def rows(services: Services, query: str, *params: Any) -> list[tuple[Any, ...]]:
    """What the database holds, behind the API's back."""
    with psycopg.connect(services.admin_url) as conn:
        return conn.execute(query, params).fetchall()


CLAIM = {
    "claims": [
        {
            "subject": "Ana",
            "predicate": "owns",
            "object": "badge",
            "object_type": "Thing",
            "stance": "support",
            "message": 0,
            "quote": "I own a badge",
        }
    ]
}


def test_bug_002_a_rate_limited_step_waits_as_told_and_never_shows_an_empty_success(
    client, worker, scheduler, provider, plain, services
):
    provider.script(Status(429, retry_after="2"), Answer(CLAIM))
    process = worker(env=modelled(provider, plain))
    scheduler(env=plain)
    asked = datetime.now(UTC)
    job = client.form("I own a badge.", name="Ana").json()["result"]["job"]
    wait_for(lambda: client.job(job)["progress"].get("reason"), seconds=60, what="the reason")
    waiting = client.job(job)
    assert waiting["progress"]["phase"] == "recorded"
    assert waiting["progress"]["reason"] == "rate_limited", process.output
    due = datetime.fromisoformat(waiting["progress"]["next_attempt_at"])
    assert (due - asked).total_seconds() >= 2
    ended = client.ended(job)
    assert ended["state"] == "succeeded"
    assert ended["attempt"] == 2
    assert ended["progress"]["disposition"] == "formed"
    assert ended["result"]["memory_refs"]
    usage = rows(services, "select requests from usage_total where space_id = %s", client.space)
    assert usage == [(1,)]


def test_bug_004_one_key_is_one_job_however_often_and_from_wherever_it_is_sent(
    client, start_api, worker, plain, services
):
    worker(env=plain)

    def send(_: int) -> httpx2.Response | None:
        try:
            with httpx2.Client(base_url=client.http.base_url, timeout=0.05) as hasty:
                return hasty.post(
                    f"/v1/{client.space}/formation",
                    json={"messages": [{"role": "user", "content": "I moved desks to row C."}]},
                    headers={"Idempotency-Key": "obs-4"},
                )
        except httpx2.TimeoutException:
            return None

    with ThreadPoolExecutor(5) as pool:
        answers = [answer for answer in pool.map(send, range(5)) if answer is not None]
    body = {"messages": [{"role": "user", "content": "I moved desks to row C."}]}
    headers = {"Idempotency-Key": "obs-4", "X-Request-Id": "another-request"}
    again = client.http.post(f"/v1/{client.space}/formation", json=body, headers=headers)
    answers.append(again)
    receipts = {answer.json()["result"]["receipt"]["receipt_ref"] for answer in answers}
    assert len(receipts) == 1
    before = rows(services, "select count(*) from job where space_id = %s", client.space)
    other = client.form("A different text.", key="obs-4")
    assert other.status_code == 409
    assert other.json()["data"]["code"] == "IdempotencyConflict"
    restarted = start_api()
    later = restarted.client.post(f"/v1/{client.space}/formation", json=body, headers=headers)
    assert later.json()["result"]["receipt"]["receipt_ref"] in receipts
    client.ended(again.json()["result"]["job"])
    assert rows(
        services,
        "select count(*) from job where space_id = %s and kind = 'formation'",
        client.space,
    ) == [(1,)]
    assert before == [(1,)]
    assert rows(services, "select count(*) from evidence where space_id = %s", client.space) == [
        (1,)
    ]


def test_bug_012_a_job_whose_transaction_is_open_is_seen_by_nobody(
    database: Database, space, worker, scheduler, plain, services
):
    scheduler(env=plain)
    process = worker(env=plain)
    process.wait_for_output("worker.started")
    scope = Scope(space)
    with database.transaction(scope) as tx:
        job = ledger.accept(tx, anonymous(space), "noop", {}).job
        with database.transaction(scope) as other:
            # a job accepted and run meanwhile shows that everything looked and found nothing
            witness = ledger.accept(other, anonymous(space), "noop", {}).job
        dispatch.announce([witness])
        seen = watch.wait_for(scope, witness.id, 20)
        assert seen is not None
        assert seen.state == "succeeded"
        assert rows(services, "select count(*) from job_event where job_id = %s", job.id) == [(0,)]
        with services.redis() as client:
            held = b"".join(
                value
                for key in client.scan_iter("*.msgs")
                for value in client.hgetall(key).values()
            )
            assert job.id.encode() not in held
        tx.execute("rollback")
        tx.execute("begin")
    assert rows(services, "select count(*) from job where id = %s", job.id) == [(0,)]


def test_bug_012_a_late_status_cannot_bring_a_finished_job_back(database: Database, space):
    scope = Scope(space)
    with database.transaction(scope) as tx:
        job = ledger.accept(tx, anonymous(space), "noop", {}).job
    with database.ledger_statement() as tx:
        [claimed] = ledger.claim([job.id], "wrk-1", tx)
    with database.transaction(scope) as tx:
        table.end(tx, [Ending(job.id)], "succeeded", worker="wrk-1")
    with database.transaction(scope) as tx:
        assert table.put_back(tx, claimed, "retry_scheduled", delay_seconds=0) is None
        assert table.refused(tx, [job.id]) == []
        table.untake(tx, [job.id])
        ended = table.get(tx, scope, job.id)
    assert ended is not None
    assert ended.state == "succeeded"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_bug_014_another_fact_about_the_same_one_replaces_nothing(
    client, worker, scheduler, provider, plain, services, order
):
    """The scripted model falsely says that the second fact corrects the first."""
    texts = [
        "Employee Orin has been controller at Orchid Labs since 2024-03-01.",
        "Employee Orin also administers the Orchid Labs code host.",
    ]
    claims = [
        {
            "subject": "Orin",
            "predicate": "works_as",
            "object": "controller",
            "object_type": "string",
            "stance": "support",
            "message": 0,
            "quote": texts[0],
            "valid_from": "2024-03-01",
        },
        {
            "subject": "Orin",
            "predicate": "administers",
            "object": "code host",
            "object_type": "Thing",
            "stance": "support",
            "message": 0,
            "quote": texts[1],
            "change": "correction",
            "replaces": "controller",
        },
    ]
    for number in order:
        provider.script(Answer({"claims": [claims[number]]}))
    worker(env=modelled(provider, plain))
    scheduler(env=plain)
    for step, number in enumerate(order):
        at = NOON + step * 5_000_000_000
        ended = client.formed(texts[number], name="Petra", timestamp=at)
        assert ended["state"] == "succeeded", ended
    states = rows(
        services,
        "select a.id, v.status, a.valid_time ->> 'until' from assertion a join element_ver v"
        " using (space_id, id) where a.space_id = %s and v.seq_to = 9223372036854775807",
        client.space,
    )
    assert len(states) == 2
    assert {(status, until) for _, status, until in states} == {("active", None)}


def test_bug_016_a_claim_bears_its_messages_time_not_the_runs_in_any_host_zone(
    client, worker, plain, services
):
    worker(env={**plain, "TZ": "America/New_York"})
    at = 1_774_738_800_000
    client.formed("I moved to Tartu yesterday.", name="Ana", timestamp=at)
    asserted, valid = rows(
        services,
        "select a.asserted_at, a.valid_time from assertion a where a.space_id = %s",
        client.space,
    )[0]
    assert asserted.astimezone(UTC) == from_millis(at)
    assert to_text(from_millis(at)) == "2026-03-28T23:00:00.000Z"
    assert json.dumps(valid).count("2026-03-27") >= 1
    assert "2026-11" not in json.dumps(valid)


@pytest.mark.parametrize("timestamp", ["2026-03-29T08:00:00", "2026-03-29T08:00:00.123456Z", "x"])
def test_bug_016_a_time_without_offset_or_too_fine_is_refused(client, services, timestamp):
    body = {"messages": [{"role": "user", "content": "No zone here."}], "timestamp": timestamp}
    answer = client.http.post(f"/v1/{client.space}/formation", json=body)
    assert answer.status_code == 400
    assert answer.json()["data"]["field"] == "timestamp"
    assert rows(services, "select count(*) from job where space_id = %s", client.space) == [(0,)]


def test_bug_016_a_time_beyond_the_documented_bound_is_refused(client, services):
    body = {
        "messages": [{"role": "user", "content": "I live in Tartu.", "name": "Ana"}],
        "timestamp": "9999-12-31T23:59:59.999Z",
    }
    answer = client.http.post(f"/v1/{client.space}/formation", json=body)
    assert answer.status_code == 400
    assert answer.json()["data"]["field"] == "timestamp"
    assert rows(services, "select count(*) from job where space_id = %s", client.space) == [(0,)]


def test_bug_018_canaries_of_one_tenant_are_never_read_by_another(
    client, api, database: Database, worker, plain
):
    worker(env=plain)
    other = f"{client.space}_b"
    with database.transaction(Scope(other)) as tx:
        spaces.create(tx, Scope(other), owner="anonymous")
    both = {client.space: "walrus", other: "ocelot"}
    for space, word in both.items():
        Client(api, space).formed(f"The canary word is {word}.", name="Ana")

    def operate(number: int) -> str | None:
        space, word = sorted(both.items())[number % 2]
        [foreign] = [one for one in both.values() if one != word]
        told = json.dumps(Client(api, space).ask("What is the canary word?"))
        if word not in told:
            return f"{space} does not find its own"
        return f"{space} reads {foreign}" if foreign in told else None

    with ThreadPoolExecutor(8) as pool:
        assert [found for found in pool.map(operate, range(80)) if found] == []


def test_bug_018_foreign_and_unknown_receipts_answer_alike(client, api, database: Database):
    other = f"{client.space}_b"
    with database.transaction(Scope(other)) as tx:
        spaces.create(tx, Scope(other), owner="anonymous")
    foreign = Client(api, other).form("A secret.").json()["result"]
    answers = []
    for job in (foreign["job"], "job-" + "0" * 32):
        for path in ("", "/events"):
            answer = client.http.get(f"/v1/{client.space}/jobs/{job}{path}")
            answers.append((path, answer.status_code, answer.text.replace(job, "JOB")))
        for action in ("cancel", "retry"):
            answer = client.http.post(f"/v1/{client.space}/jobs/{job}/{action}")
            answers.append((action, answer.status_code, answer.text.replace(job, "JOB")))
    assert answers[:4] == answers[4:]
    assert {status for _, status, _ in answers} == {404}


def test_two_clients_and_two_workers_on_one_space_keep_every_statement(
    client, worker, scheduler, plain, services
):
    for _ in range(2):
        worker(env=plain)
    scheduler(env=plain)
    barrier = threading.Barrier(4)

    def talk(number: int) -> list[str]:
        barrier.wait()
        return [
            client.form(f"I own boat {number}x{turn}.", name=f"Ana{number}").json()["result"]["job"]
            for turn in range(10)
        ]

    with ThreadPoolExecutor(4) as pool:
        jobs = [job for part in pool.map(talk, range(4)) for job in part]
    assert {client.ended(job)["state"] for job in jobs} == {"succeeded"}
    [(evidence, commits, head)] = rows(
        services,
        "select (select count(*) from evidence where space_id = s.space_id),"
        " (select count(*) from commit_record where space_id = s.space_id), s.head_seq"
        " from space s where s.space_id = %s",
        client.space,
    )
    assert evidence == 40
    assert commits == head
