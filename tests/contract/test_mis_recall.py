"""Acceptance scenarios of the Memory Interface that recall."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from pipelines.ports.tokens import count
from pipelines.recall.packing import compact
from storage.database import Database
from storage.graph.changes import Transition
from tests.integration.memory_recall_world import AT, World, working
from tests.services import Services

TASK_A = {"task_ref": "task-A"}
O200K = "o200k_base@tiktoken-rs-0.12"


@pytest.fixture
def world(database: Database, space: str) -> Iterator[World]:
    with working(database):
        yield World(database, space)


def facts(answer: dict[str, Any]) -> dict[str, str]:
    """Texts of facts, without who said so, and their status."""
    return {
        item["text"].split(" (said")[0]: item["epistemic_status"]
        for item in answer["result"]["items"]
        if item["role"] == "fact"
    }


def plain(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Items without their handles, which are new every time."""
    return [{**item, "ref": ""} for item in answer["result"]["items"]]


def test_mis_01_a_new_fact_is_recalled_after_its_receipt(world: World) -> None:
    job = world.receipt("obs-01")
    answer = world.recall(
        "Which time zone is Bob in?", after=[job.receipt_ref], budget={"deadline_ms": 50}
    )
    assert answer["status"] == "pending"
    assert answer["result"]["after"] == [{"receipt_ref": job.receipt_ref, "phase": "recorded"}]
    claim = world.claim("Bob", "timezone", "+07:00")
    world.end(job, refs=[claim])
    answer = world.recall("Which time zone is Bob in?", after=[job.receipt_ref])
    assert answer["status"] == "succeeded"
    result = answer["result"]
    assert facts(answer) == {"Bob's time zone is +07:00": "accepted"}
    assert result["items"][0]["evidence_refs"]
    assert result["coverage"]["complete"] is True
    assert result["coverage"]["pending_receipts"] == []
    [after] = result["after"]
    assert (after["phase"], after["disposition"]) == ("available", "formed")
    assert result["basis_ref"]
    assert "receipt" not in answer
    assert "progress" not in answer


def test_mis_07_receipts_and_bases_are_their_callers_own(world: World, database: Database) -> None:
    world.claim("Bob", "timezone", "+07:00")
    mine = world.recall("Which time zone is Bob in?")["result"]["basis_ref"]
    with database.transaction(world.scope) as tx:
        tx.execute("update recall_base set caller = 'user:eve' where space_id = %s", (world.space,))
    foreign = world.recall(None, target_ref=mine, detail="evidence")
    unknown = world.recall(None, target_ref="bas-" + "0" * 39, detail="evidence")
    assert foreign == unknown
    assert foreign["status"] == "failed"
    assert foreign["error"]["code"] == "NotFoundOrNotVisible"
    assert "result" not in foreign
    other = world.receipt("theirs", _principal(world, "user:eve")).receipt_ref
    foreign = world.recall("anything", after=[other])
    unknown = world.recall("anything", after=["rcp-" + "0" * 32])
    assert foreign == unknown
    assert foreign["error"]["code"] == "NotFoundOrNotVisible"


def _principal(world: World, subject: str) -> Any:
    from storage.principals import Principal

    return Principal(subject, "agent", world.space, frozenset({"*"}))


def test_mis_13_a_later_input_does_not_cover_an_earlier_one(world: World) -> None:
    first, second = world.receipt("A"), world.receipt("B")
    world.end(second, refs=[world.claim("Bob", "timezone", "+07:00")])
    for after in (
        [first.receipt_ref, second.receipt_ref],
        [second.receipt_ref, first.receipt_ref],
    ):
        answer = world.recall("What is new?", after=after, budget={"deadline_ms": 100})
        assert answer["status"] == "pending"
        coverage = answer["result"]["coverage"]
        assert coverage["complete"] is False
        assert coverage["pending_receipts"] == [first.receipt_ref]
        assert coverage["action_eligible"] is False
        phases = {one["receipt_ref"]: one["phase"] for one in answer["result"]["after"]}
        assert phases == {first.receipt_ref: "recorded", second.receipt_ref: "available"}
        assert [one["receipt_ref"] for one in answer["result"]["after"]] == after
    world.end(first, refs=[world.claim("Ana", "timezone", "+01:00")])
    answer = world.recall("What is new?", after=[first.receipt_ref, second.receipt_ref])
    assert answer["status"] == "succeeded"
    assert answer["result"]["coverage"]["pending_receipts"] == []
    assert "Ana's time zone is +01:00" in facts(answer)


def test_mis_13_a_recall_waits_for_a_receipt_that_ends_meanwhile(world: World) -> None:
    job = world.receipt("A")
    claim = world.claim("Ana", "timezone", "+01:00")
    threading.Timer(0.3, lambda: world.end(job, refs=[claim])).start()
    answer = world.recall("What is new?", after=[job.receipt_ref])
    assert answer["status"] == "succeeded"
    assert facts(answer) == {"Ana's time zone is +01:00": "accepted"}


def test_mis_17_an_old_fact_beside_a_pending_input_is_not_fit_to_act_on(world: World) -> None:
    world.claim("Alice", "timezone", "+08:00")
    job = world.receipt("move")
    answer = world.recall(
        "Alice's time zone?", mode="action", after=[job.receipt_ref], budget={"deadline_ms": 100}
    )
    assert answer["status"] == "pending"
    coverage = answer["result"]["coverage"]
    assert (coverage["complete"], coverage["action_eligible"]) == (False, False)
    assert coverage["pending_receipts"] == [job.receipt_ref]
    assert not any(item["action_eligible"] for item in answer["result"]["items"])
    without = world.recall("Alice's time zone?", mode="action")
    assert without["status"] == "succeeded"
    assert without["result"]["after"] == []
    assert without["result"]["coverage"]["action_eligible"] is True
    world.end(job, refs=[world.claim("Alice", "timezone", "+01:00", at=AT.replace(day=2))])
    answer = world.recall("Alice's time zone?", mode="action", after=[job.receipt_ref])
    assert answer["status"] == "succeeded"
    assert facts(answer) == {"Alice's time zone is +01:00": "accepted"}


def test_mis_19_a_failed_input_is_said_in_words(world: World) -> None:
    world.claim("Alice", "timezone", "+08:00")
    failed, done = world.receipt("f"), world.receipt("g")
    world.end(failed, error={"code": "model_rejected", "message": "The provider refused."})
    world.end(done)
    answer = world.recall("Alice's time zone?", after=[failed.receipt_ref, done.receipt_ref])
    assert answer["status"] == "partial"
    result = answer["result"]
    [sentence] = result["uncertainties"]
    assert failed.receipt_ref in sentence
    assert "could not be processed" in sentence
    assert result["coverage"]["complete"] is False
    assert result["coverage"]["action_eligible"] is False
    assert result["coverage"]["channels"]["evidence"] == "incomplete"
    phases = [one["phase"] for one in result["after"]]
    assert phases == ["failed", "available"]
    assert result["after"][0]["error"]["code"]
    assert facts(answer) == {"Alice's time zone is +08:00": "accepted"}
    raised = world.recall(None, mode="attention", after=[failed.receipt_ref])
    assert raised["status"] == "partial"
    assert raised["result"]["coverage"]["complete"] is False


SCOPES = {
    "G": None,
    "A": TASK_A,
    "W": {"context_refs": ["work"]},
    "AW": {"task_ref": "task-A", "context_refs": ["work"]},
}


@pytest.mark.parametrize(
    ("scope", "seen"),
    [
        (None, "G"),
        (TASK_A, "G A"),
        ({"context_refs": ["work"]}, "G W"),
        ({"task_ref": "task-A", "context_refs": ["work"]}, "G A W AW"),
        ({"task_ref": "task-A", "context_refs": ["travel", "work"]}, "G A W AW"),
        ({"task_ref": "task-B"}, "G"),
    ],
)
def test_mis_21_the_scope_matrix(world: World, scope: dict[str, Any] | None, seen: str) -> None:
    for name, own in SCOPES.items():
        world.claim("Alice", "prefers", (f"Kind{name}", f"thing-{name}"), scope=own)
    answer = world.recall(
        "What does Alice prefer?", scope=scope, context="we are in task-A at work"
    )
    assert answer["status"] == "succeeded"
    wanted = {f"thing-{name}" for name in seen.split()}
    every = {f"thing-{name}" for name in SCOPES}

    def told(text: str) -> set[str]:
        return {name for name in every if name in text.replace('"', " ").replace(".", " ").split()}

    assert {text.rpartition(" ")[2] for text in facts(answer)} == wanted
    result = answer["result"]
    assert told(result["summary"].replace("(", " ")) == wanted
    items = " ".join(item["text"] for item in result["items"])
    assert {name for name in every if f" {name} " in f" {items} "} == wanted
    assert result["coverage"]["scope"] == (scope or {})
    ref = result["basis_ref"]
    details = world.recall(None, target_ref=ref, detail="evidence", scope=scope)["result"]
    behind = compact(details["details"]["elements"])
    assert {name for name in every if f"'{name}'" in behind or f"{name}')" in behind} == wanted


def test_mis_21_transient_context_is_kept_nowhere(
    world: World, services: Services, database: Database
) -> None:
    world.claim("Alice", "prefers", ("Colour", "blue"))
    world.recall("What does Alice prefer?", context="marimbacanary in task-A")
    with psycopg.connect(services.admin_url) as conn:
        tables = conn.execute(
            "select c.oid::regclass::text from pg_class c where c.relkind = 'r'"
            " and c.relnamespace = 'public'::regnamespace"
        ).fetchall()
        for (table,) in tables:
            row = conn.execute(
                f"select count(*) from {table} t where t::text like '%marimbacanary%'"  # type: ignore[arg-type]
            ).fetchone()
            assert row == (0,), table


def test_mis_23_the_budget_bites_optional_memory_only(world: World) -> None:
    world.rule("never deploy on Fridays", scope=TASK_A)
    world.promise("send the report", scope=TASK_A)
    for n in range(57):
        world.claim("Alice", "prefers", (f"Kind{n}", f"option number {n} of many"))
    world.claim("Alice", "prefers", ("Odd", "<|endoftext|>"))
    world.claim("Alice", "prefers", ("Long", "茶" * 400))
    question = "What does Alice prefer?"
    answer = world.recall(
        question, scope=TASK_A, budget={"max_output_tokens": 900, "tokenizer": O200K}
    )
    result = answer["result"]
    assert count(compact(result)) <= 900
    texts = [item["text"] for item in result["items"]]
    assert "Standing instruction: never deploy on Fridays" in texts
    assert "To do: send the report" in texts
    assert answer["status"] == "partial"
    coverage = result["coverage"]
    assert (coverage["complete"], coverage["action_eligible"]) == (False, False)
    assert coverage["channels"]["constraints"] == "complete"
    assert coverage["channels"]["commitments"] == "complete"
    assert coverage["channels"]["evidence"] == "incomplete"
    whole = world.recall(question, scope=TASK_A, budget={"max_output_tokens": 65_536})
    assert whole["status"] == "succeeded"
    assert len(facts(whole)) == 59
    assert any("<|endoftext|>" in text for text in facts(whole))
    before: set[str] = set()
    best: str | None = None
    for limit in range(256, 4097, 64):
        answer = world.recall(question, scope=TASK_A, budget={"max_output_tokens": limit})
        if answer["status"] == "failed":
            assert answer["error"]["code"] == "ResultLimitExceeded"
            assert answer["error"]["details"]["required_tokens"] > limit
            assert answer["error"]["details"]["max_output_tokens"] == limit
            assert not before
            continue
        assert count(compact(answer["result"])) <= limit
        now = {item["text"] for item in answer["result"]["items"]}
        assert before <= now, limit
        before = now
        told = list(facts(answer))
        if told:
            best = best or told[0]
            assert told[0] == best
    assert len(before) > 30
    again = world.recall(question, scope=TASK_A, budget={"max_output_tokens": 900})
    first = world.recall(question, scope=TASK_A, budget={"max_output_tokens": 900})
    assert plain(again) == plain(first)


@pytest.mark.parametrize(
    ("tokenizer", "code"),
    [
        (O200K, None),
        (f"{O200K}.0", None),
        ("cl100k_base", "UnsupportedCapability"),
        ("o200k_base", "UnsupportedCapability"),
        ("bytes", "UnsupportedCapability"),
        ("", "InvalidRequestEnvelope"),
    ],
)
def test_mis_25_tokenizers_by_name(world: World, tokenizer: str, code: str | None) -> None:
    answer = world.recall("q", budget={"tokenizer": tokenizer})
    if code is None:
        assert answer["status"] == "succeeded"
    else:
        assert answer["status"] == "failed"
        assert answer["error"]["code"] == code


def test_mis_27_a_disputed_premise_in_action_mode(world: World) -> None:
    world.define("project_status", functional=True)
    first = world.claim("Alpha", "project_status", "active", by="Ana")
    world.claim("Alpha", "project_status", "paused", by="Ben")
    world.skill("Announce Alpha: write, review, send")
    question = "Is Alpha active? Then announce it."
    answer = world.recall(question, mode="action")
    told = [item for item in answer["result"]["items"] if item["role"] == "fact"]
    assert [item["epistemic_status"] for item in told] == ["contested", "contested"]
    assert not any(item["action_eligible"] for item in answer["result"]["items"])
    coverage = answer["result"]["coverage"]
    assert len(coverage["unverified_preconditions"]) == 2
    assert coverage["action_eligible"] is False
    assert coverage["channels"]["dependencies"] == "complete"
    [procedure] = [item for item in answer["result"]["items"] if item["role"] == "procedure"]
    assert procedure["standing"] == "unproven"
    assert procedure["epistemic_status"] == "not_applicable"
    shown = world.recall(question, mode="answer")
    assert "contested" in facts(shown).values()
    assert shown["result"]["coverage"]["complete"] is True
    assert shown["result"]["coverage"]["unverified_preconditions"] == []
    world.write(Transition(first, "retracted"))
    settled = world.recall(question, mode="action")
    assert facts(settled) == {"Alpha project status paused": "accepted"}
    assert settled["result"]["coverage"]["action_eligible"] is True
    assert all(
        item["action_eligible"] is (item["role"] == "fact") for item in settled["result"]["items"]
    )


def test_mis_29_reading_leaves_no_trace_in_memory(
    world: World, services: Services, database: Database
) -> None:
    world.claim("Alice", "prefers", ("Colour", "blue"))
    world.rule("never deploy on Fridays")
    promise = world.promise("send the report")
    world.raise_(("commitment_review", promise, f"commitment_review:{promise}:2026"))
    job = world.receipt("done")
    world.end(job)
    tables = (
        "space",
        "element",
        "element_ver",
        "proposition",
        "assertion",
        "evidence",
        "activity",
        "edge",
        "merge_link",
        "commit_record",
        "search_document",
        "trust_record",
        "idem",
    )

    def checksums() -> dict[str, Any]:
        with psycopg.connect(services.admin_url) as conn:
            return {
                table: conn.execute(
                    "select count(*), md5(string_agg(t::text, '|' order by t::text))"  # type: ignore[arg-type]
                    f" from {table} t where space_id = %s",
                    (world.space,),
                ).fetchone()
                for table in tables
            }

    before = checksums()
    head = world.head()
    ref = ""
    for n in range(20):
        mode = ("answer", "action", "resume", "attention")[n % 4]
        answer = world.recall(
            "What does Alice prefer?",
            mode=mode,
            scope={"task_ref": f"never-seen-{n % 3}"},
            context="she is travelling",
            after=[job.receipt_ref],
        )
        assert answer["status"] == "succeeded"
        assert answer["warnings"]
        ref = answer["result"]["basis_ref"]
        assert world.recall(None, target_ref=ref, detail="evidence")["status"] == "succeeded"
    assert checksums() == before
    assert world.head() == head
    with database.transaction(world.scope) as tx:
        told = tx.execute(
            "select distinct what from exposure where space_id = %s", (world.space,)
        ).fetchall()
    assert told == [("retrieved",)]
    first = world.recall("What does Alice prefer?")
    assert plain(world.recall("What does Alice prefer?")) == plain(first)


def test_mis_31_resuming_a_task(world: World) -> None:
    task_b = {"task_ref": "task-B"}
    start = world.recall(None, mode="attention")["result"]["attention_cursor"]
    assert start == "attention:start"
    mine = world.promise("finish the slides", scope=TASK_A)
    world.promise("call the bank", scope=task_b)
    watched = world.claim("Alice", "timezone", "+08:00")
    fired = world.watch("Alice moves", watched, scope=TASK_A)
    other = world.watch("Bob moves", watched, scope=task_b)
    world.raise_(
        ("watch_fire", fired, f"watch_fire:{fired}:1:9"),
        ("watch_fire", other, f"watch_fire:{other}:1:9"),
    )
    answer = world.recall("Where were we?", mode="resume", scope=TASK_A, attention_cursor=start)
    assert answer["status"] == "succeeded"
    result = answer["result"]
    [item] = result["attention"]
    assert (item["ref"], item["kind"], item["target_refs"]) == (fired, "watch_fired", [watched])
    assert [one["text"] for one in result["items"]] == ["To do: finish the slides"]
    assert result["coverage"]["scope"] == TASK_A
    assert any("WorkingState" in warning for warning in answer["warnings"])
    assert "Bob" not in compact(result)
    assert "bank" not in compact(result)
    again = world.recall(
        "Where were we?",
        mode="resume",
        scope=TASK_A,
        attention_cursor=result["attention_cursor"],
    )
    assert again["result"]["attention"] == []
    assert again["result"]["attention_cursor"] == result["attention_cursor"]
    assert mine


def test_mif_018_an_unasked_constraint_surfaces(world: World) -> None:
    world.rule("never deploy on Fridays", scope=TASK_A)
    question = "Help me to schedule a deployment on 2026-09-25."
    answer = world.recall(question, mode="action", scope=TASK_A)
    [item] = answer["result"]["items"]
    assert (item["role"], item["epistemic_status"]) == ("constraint", "accepted")
    coverage = answer["result"]["coverage"]
    assert coverage["channels"]["constraints"] == "complete"
    tight = world.recall(question, mode="action", scope=TASK_A, budget={"max_output_tokens": 64})
    assert tight["error"]["code"] == "ResultLimitExceeded"
