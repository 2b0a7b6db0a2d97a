"""Forgetting for good: words that went every way into a Brainstem are nowhere in it afterwards."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from storage.database import Database, Scope
from storage.kip.protocol.caller import trusted
from storage.kip.protocol.execute import execute
from tests import providers
from tests.erasure import in_files, in_redis, where
from tests.providers import Answer, Provider, Status
from tests.services import Api, Process, Services, wait_for

provider = providers.provider

#: What occurs nowhere else. The first is what the claim says, the others are said around it.
WORDS = ("zibbergnash", "quoxlemire", "varnthopple", "眠らぬ薔薇")
SAID = f"I am on UTC+7, where the {WORDS[0]} meets the {WORDS[1]} by the {WORDS[2]}. {WORDS[3]}"
PROMISED = f"I will feed the {WORDS[1]} of the {WORDS[2]} by 2026-09-25."
#: Files of PostgreSQL that hold its rows and its journal.
POSTGRES = ("postgres/base/", "postgres/pg_wal/")


class Talk:
    """One space of a running Brainstem."""

    def __init__(self, api: Api, space: str) -> None:
        self.api, self.space = api, space

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """The JSON answer to a POST."""
        response = self.api.client.post(f"/v1/{self.space}/{path}", json=body, headers=headers)
        assert response.status_code in (200, 202), response.text
        return response.json()

    def get(self, path: str) -> Any:
        """The result of a GET."""
        response = self.api.client.get(f"/v1/{self.space}/{path}")
        assert response.status_code == 200, response.text
        return response.json()["result"]

    def stage(self, *said: str | dict[str, Any]) -> str:
        """Stage what a user said."""
        given = ({"content": one} if isinstance(one, str) else one for one in said)
        messages = [{"role": "user", **one} for one in given]
        body = {"messages": messages, "idempotency_key": uuid.uuid4().hex}
        return str(self.post("memory/sources", body)["result"]["source_ref"])

    def ask(self, operation: str, seconds: float = 60, **given: Any) -> Any:
        """One intent, waited for."""
        body = {
            "kip_memory": "2.0",
            "operation": operation,
            "budget": {"deadline_ms": int(seconds * 1000)},
            "input": given,
        }
        if operation != "recall":
            body["idempotency_key"] = uuid.uuid4().hex
        return self.post("memory", body)


@pytest.fixture
def env(provider: Provider, services: Services) -> dict[str, str]:
    """A worker's settings: a scripted model, vectors off, no waiting before another try."""
    config = provider.config()
    return {
        "BRAINSTEM_MODEL_FAMILY": config.family,
        "BRAINSTEM_MODEL_NAME": config.model,
        "BRAINSTEM_MODEL_API_BASE": config.api_base,
        "BRAINSTEM_MODEL_API_KEY": config.api_key,
        "BRAINSTEM_EMBEDDER": "none",
        "BRAINSTEM_RETRY_BASE_SECONDS": "0",
    }


def heard(*, promised: str | None = None) -> Answer:
    promise = {"message": 1, "by": "user", "due": "2026-09-25", "summary": promised}
    return Answer(
        {
            "commitments": [] if promised is None else [{**promise, "quote": promised}],
            "claims": [
                {
                    "message": 0,
                    "quote": "I am on UTC+7",
                    "subject": "user",
                    "predicate": "timezone",
                    "object": "+07:00",
                    "object_type": "string",
                }
            ],
            "summary": f"Somebody said: {SAID}",
        }
    )


def worded_elsewhere(talk: Talk, provider: Provider, observed: Any) -> list[str]:
    """Use the words in every other way that callers have; the sources that this made."""
    claim = next(ref for ref in observed["result"]["memory_refs"] if ref[0] == "A")
    assert talk.post("memory/pin", {"entity": claim})["result"]["updated"] == 1
    found = talk.post(
        "execute_kip_readonly",
        {
            "command": "FIND(?e.id) WHERE { ?e EVIDENCE {} "
            f"FILTER(CONTAINS(?e.payload.inline.content, {json.dumps(SAID)})) }}",
        },
    )
    assert "error" not in found, found
    run = talk.post("maintenance", {"scope": "quick"})["result"]
    wait_for(
        lambda: talk.get(f"jobs/{run['job']}")["state"] in ("succeeded", "failed"),
        what="maintenance",
    )
    raised = talk.get("memory/attention")["items"]
    assert any(WORDS[1] in item["summary"] for item in raised), raised
    talk.ask("recall", mode="attention")
    talk.ask("recall", query=f"What is due, {WORDS[1]}?", mode="resume")
    provider.script(heard())
    corrected = talk.stage("No: " + SAID)
    talk.ask("revise", source_ref=corrected, target_ref=claim, change_kind="correction")
    judged = talk.stage(f"It was wrong of you to say: {SAID}")
    talk.ask("feedback", source_ref=judged)
    return [corrected, judged]


def kml(database: Database, space: str) -> None:
    """The same words by way of KIP, under a key whose outcome is kept, and read back there."""
    request = {
        "command": "CREATE EVIDENCE ?e {"
        ' SET FIELDS {evidence_class: "user_statement", payload: :p}}',
        "parameters": {"p": {"role": "user", "content": SAID}},
        "execution": {"mode": "independent", "idempotency_key": "kip-1"},
    }
    answer = execute(request, trusted(space, "tester"), readonly=False)
    assert answer["status"] == "succeeded", answer


def test_words_that_went_every_way_are_nowhere_once_it_is_completed(
    clean: None,
    database: Database,
    services: Services,
    shared_api: Api,
    worker: Callable[..., Process],
    provider: Provider,
    env: dict[str, str],
    space: str,
) -> None:
    talk = Talk(shared_api, space)
    process = worker(queues="interactive,memory,knowledge,purge", env=env)
    # asked before anything was known, so that no answer cites what will be erased
    for path in ("recall", "recall_structured"):
        talk.post(path, {"query": f"Who said this: {SAID}"})
    talk.ask("recall", query=f"Who said “{SAID}”?")
    # staged and observed
    provider.script(heard(promised=PROMISED), Answer({"claims": []}))
    source = talk.stage(SAID, {"content": PROMISED, "timestamp": 1789725600000})
    told = talk.ask("observe", source_ref=source)
    assert told["status"] == "succeeded", told
    talk.ask("observe", source_ref=talk.stage("And the weather is fine."))
    others = worded_elsewhere(talk, provider, told)
    # by the older way, at another time
    provider.script(heard())
    answer = talk.post("formation", {"messages": [{"role": "user", "content": SAID}]})["result"]
    wait_for(lambda: talk.get(f"jobs/{answer['job']}")["state"] == "succeeded", what="formation")
    # a formation that fails, whose provider quotes the words
    provider.otherwise = Status(400, message=f"cannot process: {SAID}")
    failing = talk.post("formation", {"messages": [{"role": "user", "content": SAID + " "}]})
    wait_for(
        lambda: talk.get(f"jobs/{failing['result']['job']}")["state"] == "failed", what="a failure"
    )
    with database.transaction(Scope(space)) as tx:
        # an error of a job may quote what it was about
        tx.execute(
            "update job set error = jsonb_build_object('code', 'internal_error',"
            " 'message', %s::text) where space_id = %s and id = %s",
            (f"cannot process: {SAID}", space, failing["result"]["job"]),
        )
        tx.execute(
            "update conversation set failed_reason = %s where space_id = %s and job_id = %s",
            (f"cannot process: {SAID}", space, failing["result"]["job"]),
        )
    # a failed attempt has no evidence: its words are another source, which is forgotten as such
    provider.otherwise = Answer({"sentences": [{"text": f"{SAID}", "sources": [1]}]})
    question = f"What meets the {WORDS[0]} and the {WORDS[1]} by the {WORDS[2]}?"
    recalled = talk.post("recall", {"query": question})["result"]
    assert WORDS[0] in recalled["content"], recalled
    briefed = talk.ask("recall", query=question, detail="brief")
    assert briefed["status"] in ("succeeded", "partial"), briefed
    basis = briefed["result"]["basis_ref"]
    talk.ask("recall", target_ref=basis, detail="evidence")
    talk.post("probe", {"query": question})
    talk.post("probe", {"query": f"{WORDS[0]} nowhere-to-be-found"})
    kml(database, space)
    assert set(where(services, *WORDS)) >= {
        "staged_source.messages",
        "evidence.payload",
        "element_ver.doc",
        "search_document.text",
        "search_term.term",
        "conversation.messages",
        "conversation.artifacts",
        "conversation.failed_reason",
        "job.payload",
        "job.result",
        "job.error",
    }

    # the planner's statistics are a copy, too
    with psycopg.connect(services.admin_url, autocommit=True) as conn:
        conn.execute("analyze")
    again = talk.stage(SAID + " ")
    for other in others:
        ended = talk.ask("forget", target_ref=other, mode="semantic")
        assert ended["status"] == "succeeded", ended
    forgotten = talk.ask("forget", target_ref=source, mode="semantic")
    plan = talk.get(f"memory/plans/{forgotten['result']['plan_ref']}")
    # evidence that came by KIP has no record of what made it, and needs none: it made nothing
    assert forgotten["status"] == "succeeded", forgotten
    other = talk.ask("forget", target_ref=again, mode="semantic")
    assert other["status"] == "succeeded", other

    assert basis in plan["plan"]["external_exports"]
    assert plan["external_exports_total"] == len(plan["plan"]["external_exports"])
    assert where(services, *WORDS) == []
    assert in_redis(services, *WORDS) == []
    assert in_files(services.data, *WORDS, but=POSTGRES) == []
    assert process.alive
    # the words of others are where they were
    assert "search_document.text" in where(services, "weather is fine")
    # what PostgreSQL still has in its files are rows that nobody can read; rewriting takes them
    # out, once no transaction is left that is older than them
    wait_for(lambda: _rewritten(services) == [], seconds=60, what="files without the words")
    # and nothing brings them back
    refused = shared_api.client.post(
        f"/v1/{space}/memory/sources",
        json={"messages": [{"role": "user", "content": SAID}], "idempotency_key": "back"},
    )
    assert refused.status_code == 403
    provider.script(heard())
    answer = talk.post("formation", {"messages": [{"role": "user", "content": SAID}]})["result"]
    wait_for(lambda: talk.get(f"jobs/{answer['job']}")["state"] == "succeeded", what="formation")
    with database.transaction(Scope(space)) as tx:
        row = tx.execute(
            "select disposition from job where id = %s and space_id = %s", (answer["job"], space)
        ).fetchone()
    assert row == ("skipped",)


def test_a_question_in_the_erased_words_goes_though_its_answer_cites_nothing(
    clean: None,
    services: Services,
    shared_api: Api,
    worker: Callable[..., Process],
    provider: Provider,
    env: dict[str, str],
    space: str,
) -> None:
    talk = Talk(shared_api, space)
    worker(queues="interactive,memory", env={**env, "BRAINSTEM_MODEL_FAMILY": ""})
    others = "Where does the plumbiferous heron rest in winter?"
    for query in (f"Is it true that {SAID}", SAID.upper(), others):
        talk.post("recall", {"query": query})
        talk.ask("recall", query=query)
    source = talk.stage(SAID)
    assert set(where(services, WORDS[0])) >= {
        "conversation.messages",
        "job.payload",
        "staged_source.messages",
    }
    told = talk.ask("forget", target_ref=source, mode="semantic")
    assert told["status"] == "succeeded", told
    assert where(services, *WORDS) == []
    # who asked something else is left alone
    assert set(where(services, "plumbiferous")) == {"conversation.messages", "job.payload"}
    plan = talk.get(f"memory/plans/{told['result']['plan_ref']}")
    surfaces = {entry["surface"] for entry in plan["host_surfaces"] if "plan" not in entry["ref"]}
    assert {"recall_record", "job_payload"} <= surfaces


def test_the_same_bytes_that_another_caller_has_formed_while_a_plan_runs_are_refused_and_erased(
    clean: None,
    services: Services,
    shared_api: Api,
    worker: Callable[..., Process],
    provider: Provider,
    env: dict[str, str],
    space: str,
    tmp_path: Path,
) -> None:
    owner, other = Talk(shared_api, space), Talk(shared_api, space)
    held = tmp_path / "held"
    provider.script(heard())
    first = worker(queues="memory", env=env)
    source = owner.stage(SAID)
    assert owner.ask("observe", source_ref=source)["status"] == "succeeded"
    # handed over in time, each in a batch of its own
    early, late = other.stage(SAID), other.stage(SAID, "And more.")
    first.close()
    queued = other.ask("observe", seconds=0.001, source_ref=early)
    assert queued["status"] == "pending"
    forgotten = owner.ask("forget", seconds=0.001, target_ref=source, mode="semantic")
    # accepted: from here on nobody has these bytes formed
    refused = other.ask("observe", seconds=0.001, source_ref=late)
    assert (refused["status"], refused["error"]["code"]) == ("failed", "NotAuthorized")
    provider.otherwise = heard()
    worker(queues="memory", env={**env, "BRAINSTEM_FAILPOINTS": f"after_batch/forget=hold:{held}"})
    wait_for(held.exists, what="the plan to stand between two batches")
    for again in (early, late):
        refused = other.ask("observe", seconds=0.001, source_ref=again)
        assert refused["error"]["code"] in ("NotAuthorized", "NotFoundOrNotVisible"), refused
    staged = shared_api.client.post(
        f"/v1/{space}/memory/sources",
        json={"messages": [{"role": "user", "content": SAID}], "idempotency_key": "once more"},
    )
    assert staged.status_code == 403, staged.text
    worker(queues="memory", env=env)
    raced = other.post("formation", {"messages": [{"role": "user", "content": SAID}]})["result"]

    def view(told: Any) -> Any:
        return owner.get(f"memory/receipts/{told['receipt']['receipt_ref']}")

    while view(forgotten)["progress"]["phase"] == "recorded":
        held.unlink(missing_ok=True)
    wait_for(lambda: owner.get(f"jobs/{raced['job']}")["state"] == "succeeded", what="formation")
    assert view(forgotten)["result"]["status"] == "completed"
    assert view(queued)["progress"]["phase"] == "failed"
    assert where(services, *WORDS) == []


def test_the_words_before_a_message_go_from_what_is_embedded_of_it(
    clean: None,
    services: Services,
    shared_api: Api,
    worker: Callable[..., Process],
    provider: Provider,
    env: dict[str, str],
    space: str,
) -> None:
    talk = Talk(shared_api, space)
    worker(queues="memory", env=env)
    provider.script(heard())
    source = talk.stage(SAID, "And the weather is fine.")
    talk.ask("observe", source_ref=source)
    assert "search_document.embed_text" in where(services, *WORDS)
    [first, second] = talk.get(f"memory/sources/{source}")["evidence_refs"]
    told = talk.ask("forget", target_ref=first, mode="payload_only")
    assert told["status"] == "succeeded", told
    assert where(services, *WORDS) == []
    # what was said beside it is still there, and found
    assert "search_document.text" in where(services, "weather is fine")
    staged = talk.get(f"memory/sources/{source}")
    assert staged["state"] == "captured"
    assert [message["content"] for message in staged["messages"]] == [
        "",
        "And the weather is fine.",
    ]
    plan = talk.get(f"memory/plans/{told['result']['plan_ref']}")["plan"]
    assert {entry["ref"] for entry in plan["targets"] if entry["surface"] == "payload"} == {first}
    assert second not in {entry["ref"] for entry in plan["targets"]}


def test_a_formation_that_ends_after_its_source_was_forgotten_forms_nothing(
    clean: None,
    services: Services,
    shared_api: Api,
    worker: Callable[..., Process],
    provider: Provider,
    env: dict[str, str],
    space: str,
    tmp_path: Path,
) -> None:
    talk = Talk(shared_api, space)
    held = tmp_path / "held"
    worker(
        queues="memory", env={**env, "BRAINSTEM_FAILPOINTS": f"before_commit/formation=hold:{held}"}
    )
    provider.script(heard())
    source = talk.stage(SAID)
    observed = talk.ask("observe", seconds=0.001, source_ref=source)
    wait_for(held.exists, what="the formation to stand before its commit")
    # another worker would take the next job of the lane, were it free
    worker(queues="memory", env=env)
    forgotten = talk.ask("forget", seconds=0.001, target_ref=source, mode="semantic")
    assert forgotten["status"] == "pending"
    held.unlink()

    def view(told: Any) -> Any:
        return talk.get(f"memory/receipts/{told['receipt']['receipt_ref']}")

    wait_for(lambda: view(forgotten)["progress"]["phase"] != "recorded", what="the erasure")
    late = view(observed)["progress"]
    assert (late["phase"], late["error"]["code"]) == ("failed", "NotAuthorized")
    assert view(forgotten)["result"]["status"] == "completed"
    assert where(services, *WORDS) == []
    assert where(services, "UTC+7") == []


def test_an_answer_that_was_read_before_and_written_after_is_cleaned_too(
    clean: None,
    services: Services,
    shared_api: Api,
    worker: Callable[..., Process],
    provider: Provider,
    env: dict[str, str],
    space: str,
    tmp_path: Path,
) -> None:
    talk = Talk(shared_api, space)
    held = tmp_path / "held"
    worker(queues="memory", env=env)
    worker(
        queues="interactive",
        env={**env, "BRAINSTEM_FAILPOINTS": f"before_commit/recall=hold:{held}*1"},
    )
    provider.script(heard())
    source = talk.stage(SAID)
    talk.ask("observe", source_ref=source)
    provider.otherwise = Answer({"sentences": [{"text": SAID, "sources": [1]}]})
    asked = talk.post("recall", {"query": "What meets what?"}, Prefer="respond-async")["result"]
    wait_for(held.exists, what="the recall to stand before its commit")
    forgotten = talk.ask("forget", seconds=0.001, target_ref=source, mode="semantic")
    receipt = f"memory/receipts/{forgotten['receipt']['receipt_ref']}"
    wait_for(lambda: _erased(services, space), what="memory to be erased")
    assert talk.get(receipt)["progress"]["phase"] == "recorded"
    held.unlink()
    wait_for(lambda: talk.get(receipt)["progress"]["phase"] != "recorded", what="the erasure")
    assert talk.get(receipt)["result"]["status"] == "completed"
    assert talk.get(f"jobs/{asked['job']}")["state"] == "succeeded"
    assert where(services, *WORDS) == []


def _rewritten(services: Services) -> list[str]:
    """The files of the database that still have the words when their tables are written anew."""
    with psycopg.connect(services.admin_url, autocommit=True) as conn:
        for place in _holding(conn, services):
            conn.execute(sql.SQL("vacuum full {}").format(sql.Identifier(place)))
        conn.execute("checkpoint")
    return in_files(services.data / "postgres" / "base", *WORDS)


def _holding(conn: psycopg.Connection, services: Services) -> list[str]:
    """The tables whose files have the words, whatever rows can be read of them."""
    found = set()
    for name in in_files(services.data / "postgres" / "base", *WORDS):
        number = name.rpartition("/")[2].partition(".")[0].partition("_")[0]
        row = conn.execute(
            """
            select coalesce(t.relname, i.relname, c.relname)
              from pg_class c left join pg_class t on t.reltoastrelid = c.oid
              left join pg_index x on x.indexrelid = c.oid
              left join pg_class i on i.oid = x.indrelid
             where c.oid = pg_filenode_relation(0, %s)
            """,
            (int(number),),
        ).fetchone()
        if row is not None:
            found.add(row[0])
    return sorted(found)


def _erased(services: Services, space: str) -> bool:
    """Whether the commit of a plan has erased."""
    with psycopg.connect(services.admin_url) as conn:
        row = conn.execute(
            "select erased_seq is not null from erasure_plan where space_id = %s", (space,)
        ).fetchone()
    return row == (True,)
