"""Recall of the Memory Interface: times, expansion, words, attention, and what is kept of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pipelines.briefing.run import ErasedMeanwhile, run
from pipelines.formation.alone import Alone
from pipelines.ports.tokens import count
from pipelines.recall.packing import compact
from storage import attention, recall_bases, settings
from storage.clock import to_text
from storage.database import Database
from storage.graph.changes import CreateActivity, Purge, PurgePayload, Transition, UpdateConcept
from storage.graph.validity import ValidTime
from storage.kip.errors import ArtifactUnavailable, CursorInvalid
from storage.kip.query.beliefs import BeliefTarget, epistemic, project
from storage.kip.snapshot import open_snapshot
from tests import providers
from tests.integration.memory_recall_world import AT, World, working
from tests.providers import Answer, Provider, Status

provider = providers.provider
LATER = AT + timedelta(days=9)


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


# --- times and states ---------------------------------------------------------------------------


def test_a_world_change_answers_old_and_new_times(world: World) -> None:
    world.claim("Alice", "timezone", "+08:00", valid=ValidTime(start=AT))
    world.claim("Alice", "timezone", "+01:00", at=LATER, valid=ValidTime(start=LATER))
    question = "Alice's time zone?"
    assert list(facts(world.recall(question)).values()) == ["accepted"]
    assert "+01:00" in next(iter(facts(world.recall(question))))
    then = world.recall(question, time={"valid_at": to_text(AT + timedelta(days=1))})
    [(text, status)] = facts(then).items()
    assert "+08:00" in text
    assert status == "accepted"
    late = world.claim("Alice", "timezone", "+08:00", at=AT + timedelta(days=1))
    assert late
    assert "+01:00" in next(iter(facts(world.recall(question))))


def test_a_correction_answers_as_of_the_state_before_it(world: World) -> None:
    old = world.claim("Bob", "timezone", "+08:00")
    before = world.head()
    new = world.claim("Bob", "timezone", "+07:00", at=LATER)
    world.write(Transition(old, "superseded", by=new))
    question = "Which time zone is Bob in?"
    assert facts(world.recall(question)) == {"Bob's time zone is +07:00": "accepted"}
    then = world.recall(question, time={"as_of_seq": before})
    assert facts(then) == {"Bob's time zone is +08:00": "accepted"}
    # the index is of the present, so that a look back is never called complete
    assert then["status"] == "partial"
    assert then["result"]["coverage"]["channels"]["evidence"] == "incomplete"
    future = world.recall(question, time={"as_of_seq": world.head() + 1})
    assert future["error"]["code"] == "HistoricalSnapshotUnavailable"


def test_a_state_before_the_receipts_is_refused(world: World) -> None:
    before = world.head()
    job = world.receipt("r")
    claim = world.claim("Bob", "timezone", "+07:00")
    world.end(job, refs=[claim])
    pinned = world.recall("q", after=[job.receipt_ref], time={"as_of_seq": before})
    assert pinned["error"]["code"] == "PreconditionFailed"
    assert "result" not in pinned
    fits = world.recall("q", after=[job.receipt_ref], time={"as_of_seq": world.head()})
    assert fits["status"] == "succeeded"


def test_a_stored_rejection_and_what_nobody_said_are_told_apart(world: World) -> None:
    world.define("smokes")
    world.claim("Bob", "smokes", "pipe", stance="reject")
    assert facts(world.recall("Does Bob have pipe smokes?")) == {"Bob smokes pipe": "rejected"}
    assert facts(world.recall("Where does Ana live?")) == {}


def test_evidence_alone_stays_recallable_as_a_source(world: World) -> None:
    said = world.say("The zeppelin lands in Friedrichshafen at noon.")
    answer = world.recall("When does the zeppelin land in Friedrichshafen?")
    [item] = answer["result"]["items"]
    assert item["role"] == "source"
    assert item["epistemic_status"] == "not_applicable"
    assert item["evidence_refs"] == [said]
    assert item["action_eligible"] is False
    world.write(PurgePayload(said))
    assert world.recall("When does the zeppelin land?")["result"]["items"] == []


def test_failures_experiences_and_skills_are_channels_of_their_own(world: World) -> None:
    world.concept(
        "Experience", {"goal": "migrate the billing database", "outcome_status": "failure"}
    )
    world.concept("Experience", {"goal": "migrate the wiki database", "outcome_status": "success"})
    world.skill("Database migrations: dump, restore, compare")
    answer = world.recall("How do we migrate the billing database?")
    roles = {item["role"]: item for item in answer["result"]["items"]}
    assert "billing" in roles["warning"]["text"]
    assert "wiki" in roles["experience"]["text"]
    assert roles["procedure"]["standing"] == "unproven"
    channels = answer["result"]["coverage"]["channels"]
    assert {channels[n] for n in ("failures", "experiences", "skills")} == {"complete"}
    assert not any(item["action_eligible"] for item in answer["result"]["items"])


def test_a_channel_without_content_does_not_apply(world: World) -> None:
    channels = world.recall("anything")["result"]["coverage"]["channels"]
    assert channels["failures"] == channels["experiences"] == channels["skills"] == "not_applicable"
    assert channels["constraints"] == channels["commitments"] == "complete"


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Alice", {"Alice's time zone is +08:00", "Alice gizmo red"}),
        ("What about Alice?", {"Alice's time zone is +08:00", "Alice gizmo red"}),
        ("Which gizmo has Alice?", {"Alice gizmo red"}),
        ("How old is Alice?", set()),
        ("Is Alice married?", set()),
    ],
)
def test_what_is_known_of_somebody_is_no_answer_to_whatever_is_asked_of_them(
    world: World, question: str, told: set[str]
) -> None:
    world.define("gizmo")
    world.claim("Alice", "timezone", "+08:00")
    world.claim("Alice", "gizmo", "red")
    answer = world.recall(question)
    assert set(facts(answer)) == told
    assert bool(told) == ("Alice" in answer["result"]["summary"])


def test_who_is_not_named_is_found_as_the_one_who_asks(world: World) -> None:
    world.claim("user", "lives_in", ("Place", "Tartu"))
    world.claim("Alice", "lives_in", ("Place", "Oslo"))
    assert set(facts(world.recall("Where do I live?"))) == {"user lives in Tartu"}


def test_a_target_is_told_of_whatever_the_words(world: World) -> None:
    claim = world.claim("Bob", "timezone", "+07:00")
    assert facts(world.recall(None, target_ref=claim)) == {"Bob's time zone is +07:00": "accepted"}
    for unknown in ("A-999", "nothing", "C-999"):
        answer = world.recall(None, target_ref=unknown)
        assert answer["error"]["code"] == "NotFoundOrNotVisible"


def test_many_commitments_are_told_together(world: World) -> None:
    promises = [world.promise(f"errand number {n}") for n in range(60)]
    world.rule("never deploy on Fridays")
    answer = world.recall("anything")
    assert answer["status"] == "succeeded"
    items = answer["result"]["items"]
    assert len(items) <= 17
    told = [
        line for item in items if item["role"] == "warning" for line in item["text"].split("\n")
    ]
    assert told == [f"To do: errand number {n}" for n in range(60)]
    assert [item["text"] for item in items if item["role"] == "constraint"] == [
        "Standing instruction: never deploy on Fridays"
    ]
    behind = world.recall(None, target_ref=items[1]["ref"], detail="evidence")["result"]
    assert [one["ref"] for one in behind["details"]["elements"]] == promises[:4]


def test_an_inference_whose_premise_changed_is_a_premise_to_verify(
    world: World, database: Database
) -> None:
    world.define("role", functional=True)
    root = world.claim("Bob", "timezone", "+07:00")
    with database.transaction(world.scope, snapshot=True) as tx:
        snapshot = open_snapshot(tx, world.scope)
        read = project(
            snapshot,
            [BeliefTarget.of_candidates("C-1", "timezone")],
            epistemic(snapshot, None, None),
        )
    policy_basis = read[0][0]["basis"]  # type: ignore[index]
    basis = {
        "basis_seq": world.head(),
        "groups": [{"role": "all_of", "pins": [{"id": root, "version": 1}]}],
        "policy_basis": policy_basis,
    }
    derived = world.derive("Bob", "role", "night shift", basis)
    action = world.recall("What is Bob's role?", mode="action")
    assert facts(action) == {"Bob role night shift": "accepted"}
    assert action["result"]["coverage"]["action_eligible"] is True
    world.write(Transition(root, "retracted"))
    action = world.recall("What is Bob's role?", mode="action")
    assert facts(action) == {"Bob role night shift": "uncertain"}
    coverage = action["result"]["coverage"]
    assert coverage["channels"]["dependencies"] == "complete"
    assert len(coverage["unverified_preconditions"]) == 1
    assert coverage["action_eligible"] is False
    assert any(derived in warning and "needs_review" in warning for warning in action["warnings"])


def test_scopes_are_exact_handles(world: World) -> None:
    place = world.concept("Event", {"summary": "offsite"})
    world.claim("Alice", "prefers", ("Colour", "blue"), scope={"context_refs": [place]})
    question = "What does Alice prefer?"
    assert facts(world.recall(question, scope={"context_refs": [place]}))
    for other in ({"context_refs": ["offsite"]}, {"task_ref": "blue"}):
        answer = world.recall(question, scope=other)
        assert answer["result"]["items"] == []
        assert "No memory was ever formed in the scope" in answer["warnings"][0]
    unknown = world.recall(question, scope={"context_refs": ["C-999"]})
    assert unknown["error"]["code"] == "NotFoundOrNotVisible"


def test_messages_of_other_scopes_do_not_stand_before_those_in_scope(world: World) -> None:
    for n in range(30):
        world.say(f"zeppelin landing number {n}", scope={"task_ref": "other"})
    said = world.say("some day, after the storm, the zeppelin made a landing in the fields")
    answer = world.recall("zeppelin landing")
    assert [item["evidence_refs"] for item in answer["result"]["items"]] == [[said]]
    assert answer["status"] == "succeeded"


def test_what_is_erased_while_it_is_recalled_is_not_told(world: World, database: Database) -> None:
    claim = world.claim("Bob", "timezone", "+07:00")
    alone = Alone(
        database,
        world.scope,
        {"query": "Which time zone is Bob in?"},
        job_id="job-test",
        kind="briefing",
        principal="anonymous",
    )
    effect = run(alone)
    world.write(Purge(claim))
    with database.transaction(world.scope) as tx, pytest.raises(ErasedMeanwhile):
        effect.apply(tx)
    with database.transaction(world.scope) as tx:
        assert recall_bases.delivered(tx, world.scope, [claim]) == []
    again = run(alone)
    with database.transaction(world.scope) as tx:
        assert "+07:00" not in again.apply(tx).result["briefing"]


# --- expansion ----------------------------------------------------------------------------------


def test_a_basis_gives_the_elements_in_the_versions_of_then(world: World) -> None:
    claim = world.claim("Bob", "timezone", "+07:00")
    rule = world.rule("never deploy on Fridays")
    result = world.recall("Which time zone is Bob in?")["result"]
    answer = world.recall(None, target_ref=result["basis_ref"], detail="evidence")
    assert answer["status"] == "succeeded"
    expanded = answer["result"]
    assert expanded["coverage"]["action_eligible"] is False
    assert expanded["basis_ref"] == result["basis_ref"]
    details = expanded["details"]
    assert details["basis"]["snapshot_seq"] == world.head()
    assert details["coverage"]["plans"]["constraints"]["method"] == "exact"
    elements = {one["ref"]: one for one in details["elements"]}
    assert {claim, rule} <= set(elements)
    assert all(one["available"] and one["element"]["id"] == ref for ref, one in elements.items())
    # one item alone: the rule, which comes first
    one = world.recall(None, target_ref=f"{result['basis_ref']}#1", detail="evidence")
    assert [entry["ref"] for entry in one["result"]["details"]["elements"]] == [rule]
    for wrong in (f"{result['basis_ref']}#99", f"{result['basis_ref']}#x"):
        assert world.recall(None, target_ref=wrong, detail="evidence")["status"] == "failed"
    brief = world.recall(None, target_ref=result["basis_ref"])
    assert brief["error"]["code"] == "InvalidRequestEnvelope"


def test_what_changed_or_was_erased_is_unavailable_and_never_newer(world: World) -> None:
    claim = world.claim("Bob", "timezone", "+07:00")
    rule = world.rule("never deploy on Fridays")
    other = world.rule("always say please")
    ref = world.recall("Which time zone is Bob in?")["result"]["basis_ref"]
    world.write(UpdateConcept(rule, attributes={"summary": "deploy whenever"}))
    world.write(Purge(other))
    world.write(Transition(claim, "retracted"))
    [evidence] = [
        one["ref"]
        for one in world.recall(None, target_ref=ref, detail="evidence")["result"]["details"][
            "elements"
        ]
        if one["ref"].startswith("E-")
    ]
    world.write(PurgePayload(evidence))
    answer = world.recall(None, target_ref=ref, detail="evidence")
    assert answer["status"] == "partial"
    elements = {one["ref"]: one for one in answer["result"]["details"]["elements"]}
    reasons = {id: elements[id].get("reason") for id in (claim, rule, other, evidence)}
    assert reasons == {claim: "changed", rule: "changed", other: "erased", evidence: "erased"}
    assert "deploy whenever" not in compact(answer["result"])
    assert all("element" not in elements[id] for id in reasons)


def test_an_expansion_keeps_to_its_own_budget(world: World) -> None:
    for n in range(20):
        world.claim("Alice", "prefers", (f"Kind{n}", f"option {n}"))
    ref = world.recall("What does Alice prefer?")["result"]["basis_ref"]
    tight = world.recall(
        None, target_ref=ref, detail="evidence", budget={"max_output_tokens": 3000}
    )
    assert tight["status"] == "partial"
    assert count(compact(tight["result"])) <= 3000
    assert tight["result"]["details"]["elements"]


def test_a_basis_is_kept_for_a_time_and_holds_no_text(world: World, database: Database) -> None:
    claim = world.claim("Bob", "timezone", "xylophonecanary")
    ref = world.recall("Which time zone is Bob in?")["result"]["basis_ref"]
    with database.transaction(world.scope) as tx:
        kept = tx.execute(
            "select b::text from recall_base b where ref = %s union all"
            " select e::text from recall_base_element e where ref = %s",
            (ref, ref),
        ).fetchall()
        assert not any("xylophonecanary" in text for (text,) in kept)
        [job] = recall_bases.briefing_jobs_citing(tx, world.scope, [claim])
        assert recall_bases.delivered(tx, world.scope, [claim, "A-999"]) == [ref]
        assert recall_bases.delivered(tx, world.scope, ["A-999"]) == []
        row = tx.execute("select kind, result from job where id = %s", (job,)).fetchone()
        assert row is not None
        assert row[0] == "briefing"
        assert json.loads(row[1]["briefing"])["basis_ref"] == ref
        tx.execute("update recall_base set expires_at = now() where ref = %s", (ref,))
    answer = world.recall(None, target_ref=ref, detail="evidence")
    assert answer["error"]["code"] == "ArtifactUnavailable"
    world.recall("Which time zone is Bob in?")
    with database.transaction(world.scope) as tx:
        row = tx.execute("select detail from recall_base where ref = %s", (ref,)).fetchone()
        assert row == (None,)
        assert ref in recall_bases.delivered(tx, world.scope, [claim])
        with pytest.raises(ArtifactUnavailable):
            recall_bases.get(tx, world.scope, "anonymous", ref)


@pytest.mark.parametrize(("caller", "kept"), [("user:ana", 30 * 24), ("anonymous", 1)])
def test_a_basis_is_kept_longer_for_whom_is_known(
    world: World, database: Database, caller: str, kept: int
) -> None:
    ref = recall_bases.new_ref()
    with database.transaction(world.scope) as tx:
        recall_bases.keep(
            tx, world.scope, caller, ref, job_id="job-x", snapshot_seq=0, detail={}, elements=[]
        )
        row = tx.execute(
            "select expires_at - created_at from recall_base where ref = %s", (ref,)
        ).fetchone()
        assert row == (timedelta(hours=kept),)
        assert recall_bases.get(tx, world.scope, caller, ref) is not None
        assert recall_bases.get(tx, world.scope, "token:other", ref) is None


def test_every_handle_has_as_many_tokens() -> None:
    assert len({count(f'"ref":"{recall_bases.new_ref()}#7"') for _ in range(200)}) == 1


def test_a_space_keeps_so_many_bases(
    world: World, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_bases, "MOST", 3)
    refs = [world.recall("anything")["result"]["basis_ref"] for _ in range(5)]
    with database.transaction(world.scope) as tx:
        rows = tx.execute(
            "select ref, detail is null from recall_base where space_id = %s", (world.space,)
        )
        gone = {ref for ref, empty in rows if empty}
    assert gone == set(refs[:2])


# --- the words ----------------------------------------------------------------------------------


@pytest.fixture
def model(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    config = provider.config()
    for name, value in (
        ("FAMILY", config.family),
        ("NAME", config.model),
        ("API_BASE", config.api_base),
        ("API_KEY", "test-key-0123456789"),
    ):
        monkeypatch.setenv(f"BRAINSTEM_MODEL_{name}", str(value))
    settings.reload()
    yield provider
    monkeypatch.undo()
    settings.reload()


def test_a_models_words_are_the_summary_and_it_sees_nothing_out_of_scope(
    world: World, model: Provider
) -> None:
    world.claim("Bob", "timezone", "+07:00")
    world.claim("Bob", "prefers", ("Colour", "blue"), scope={"task_ref": "task-A"})
    model.script(Answer({"sentences": [{"text": "Bob is on +07:00.", "sources": [1]}]}))
    answer = world.recall("What do you know about Bob?")
    assert answer["status"] == "succeeded"
    assert answer["result"]["summary"] == "Bob is on +07:00."
    shown = model.requests[0].text
    assert "+07:00" in shown
    assert "blue" not in shown
    assert len(model.requests) == 1
    # attention asks no model
    assert world.recall(None, mode="attention")["status"] == "succeeded"
    assert len(model.requests) == 1


def test_without_its_model_the_exact_channels_are_served(world: World, model: Provider) -> None:
    world.claim("Bob", "timezone", "+07:00")
    world.rule("never deploy on Fridays")
    model.otherwise = Status(400)
    answer = world.recall("Which time zone is Bob in?")
    assert answer["status"] == "partial"
    channels = answer["result"]["coverage"]["channels"]
    assert channels["evidence"] == "incomplete"
    assert channels["constraints"] == channels["commitments"] == "complete"
    assert answer["result"]["coverage"]["action_eligible"] is False
    assert any("never deploy" in item["text"] for item in answer["result"]["items"])
    assert any("model" in warning for warning in answer["warnings"])
    assert world.recall(None, mode="attention")["status"] == "succeeded"


# --- attention ----------------------------------------------------------------------------------


def _raised(world: World, *counts: int) -> list[list[str]]:
    """Commits that raise so many commitments each; their ids by commit."""
    commits = []
    for many in counts:
        ids = [world.promise(f"errand {n}") for n in range(many)]
        world.raise_(
            *(
                (
                    "commitment_review",
                    id,
                    f"commitment_review:{id}:2026-09-{n + 1:02}T00:00:00.000Z",
                )
                for n, id in enumerate(ids)
            )
        )
        commits.append(ids)
    return commits


def test_attention_pages_through_commits_also_within_one(world: World) -> None:
    commits = _raised(world, 3, 1, 2)
    every = [id for ids in commits for id in ids]
    for limit in (1, 2, 3, 5, 6, 50):
        page: dict[str, Any] = {"attention_cursor": "attention:start", "complete": False}
        found: list[str] = []
        while not page["complete"]:
            page = world.raised(limit=limit, attention_cursor=page["attention_cursor"])
            found += [item["ref"] for item in page["items"]]
        assert found == every
        cursor = page["attention_cursor"]
        assert cursor == f"attention:{page['items'][-1]['raised_seq']}"
        end = {"items": [], "attention_cursor": cursor, "complete": True}
        assert world.raised(attention_cursor=cursor) == end
    first = world.raised(limit=2)
    assert first["attention_cursor"] == f"attention:{first['items'][1]['raised_seq']}:{every[1]}"
    assert first["items"][0]["due_at"] == "2026-09-01T00:00:00.000Z"
    assert first["items"][0]["target_refs"] == [every[0]]
    assert first["items"][0]["kind"] == "commitment_due"
    for start in ("attention:start", "attention:-1"):
        again = world.raised(attention_cursor=start)
        assert [item["ref"] for item in again["items"]] == every


def test_attention_is_empty_at_first_and_again_when_a_new_time_comes(world: World) -> None:
    assert world.raised() == {
        "items": [],
        "attention_cursor": "attention:start",
        "complete": True,
    }
    id = world.promise("call Ana")
    for day in ("2026-09-01", "2026-09-02"):
        world.raise_(("commitment_review", id, f"commitment_review:{id}:{day}T08:00:00Z"))
    items = world.raised()["items"]
    assert [item["due_at"][:10] for item in items] == ["2026-09-01", "2026-09-02"]
    world.write(Purge(id, policy="tombstone_reference"))
    assert world.raised()["items"] == []


def test_a_fire_raises_the_watch_and_not_what_it_saw_change(world: World) -> None:
    seen = world.watch("the deploy", world.promise("deploy"))
    fired = world.watch("the watch of the deploy", seen)
    world.write(
        CreateActivity(
            "?x",
            "watch_fire",
            "completed",
            AT,
            AT,
            (fired, seen),
            client_key=f"watch_fire:{fired}:1:7",
        )
    )
    [item] = world.raised()["items"]
    assert (item["ref"], item["target_refs"], item["kind"]) == (fired, [seen], "watch_fired")


@pytest.mark.parametrize(
    "query",
    [
        {"attention_cursor": "attention:"},
        {"attention_cursor": "attention:7:"},
        {"attention_cursor": "attention:7:E-1"},
        {"attention_cursor": "attention:-2"},
        {"attention_cursor": "7"},
        {"attention_cursor": "attention:7:C-1 "},
        {"limit": "0"},
        {"limit": "51"},
        {"limit": "x"},
        {"offset": "1"},
    ],
)
def test_a_wrong_cursor_or_limit_is_a_bad_request(world: World, query: dict[str, str]) -> None:
    status, body = world.attention(**query)
    assert status == 400
    cursor = query.get("attention_cursor")
    if cursor is not None:
        assert body["data"]["code"] == "CursorInvalid"
        answer = world.recall(None, mode="attention", attention_cursor=cursor)
        assert answer["error"]["code"] == "CursorInvalid"


def test_a_budget_ends_a_page_of_attention_at_the_last_item_told(world: World) -> None:
    every = [id for ids in _raised(world, 12) for id in ids]
    cursor, found = "attention:start", []
    for _ in range(12):
        answer = world.recall(
            None,
            mode="attention",
            attention_cursor=cursor,
            budget={"max_output_tokens": 600},
        )
        result = answer["result"]
        assert count(compact(result)) <= 600
        found += [item["ref"] for item in result["attention"]]
        cursor = result["attention_cursor"]
        if answer["status"] == "succeeded":
            break
    assert found == every
    assert len(every) > len(result["attention"])


def test_a_cursor_of_a_later_commit_finds_nothing(world: World, database: Database) -> None:
    _raised(world, 1)
    with database.transaction(world.scope) as tx:
        page = attention.page(tx, world.scope, "attention:9007199254740991", 5)
        assert (page.items, page.cursor(0)) == ((), "attention:9007199254740991")
        with pytest.raises(CursorInvalid):
            attention.page(tx, world.scope, "attention:99999999999999999999", 5)


def test_the_details_of_a_recall_come_with_it_where_they_are_asked_for(world: World) -> None:
    world.claim("Bob", "timezone", "+07:00")
    answer = world.recall(
        "Which time zone is Bob in?", detail="evidence", budget={"max_output_tokens": 9000}
    )
    result = answer["result"]
    assert result["details"]["basis"]["snapshot_seq"] == world.head()
    assert set(result["details"]["coverage"]["plans"]) == set(result["coverage"]["channels"])
    assert result["coverage"]["action_eligible"] is False


def test_the_present_is_what_is_asked_for_where_no_time_is_said(world: World) -> None:
    future = datetime.now(UTC) + timedelta(days=30)
    world.claim("Bob", "timezone", "+07:00", valid=ValidTime(start=future))
    assert facts(world.recall("Which time zone is Bob in?")) == {
        f"Bob's time zone is +07:00 since {future.date()}": "insufficient"
    }
