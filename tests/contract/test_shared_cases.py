"""Which test stands for each case of the shared bug list and each vector of the protocol.

Most have tests that tell them in steps of their own; those whose requests are spelt out are sent
here as they stand, through the Memory Interface.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest

from storage.clock import from_millis, to_text
from tests.memory_interface import Caller, World, filled, with_model
from tests.memory_interface import keyed_world as keyed_world
from tests.memory_interface import world as world
from tests.providers import Answer, Provider, Status
from tests.services import ROOT

SHARED = ROOT.parent / "shared"
_HERE = "tests/contract/test_shared_cases.py"

#: The cases of `scenarios/bugs.jsonl`; each file names its own.
BUGS: dict[str, str] = {
    "BUG-002": _HERE,
    "BUG-004": _HERE,
    "BUG-006": "tests/faults/test_killed_workers.py",
    "BUG-008": "tests/faults/test_killed_workers.py",
    "BUG-010": "tests/integration/test_ledger.py",
    "BUG-012": "tests/integration/test_bug_scenarios.py",
    "BUG-014": "tests/integration/test_model_encoder.py",
    "BUG-016": _HERE,
    "BUG-018": _HERE,
    "BUG-022": "tests/faults/test_schedulers.py",
}
#: Cases about what is not served yet.
LATER: dict[str, str] = {"BUG-020": "sources of a package come with the files"}

#: The vectors of `kip/vectors`, with the test that exercises each.
VECTORS: dict[str, tuple[str, str]] = {
    "KIP2-MEM-006": (
        "tests/contract/test_mis_recall.py",
        "test_mis_27_a_disputed_premise_in_action_mode",
    ),
    "KIP2-MEM-010": (
        "tests/contract/test_mis_forget.py",
        "test_kip2_mif_009_nothing_is_called_complete_before_everything_is",
    ),
    "KIP2-MEM-011": (_HERE, "test_kip2_mem_011_a_number_that_would_be_rounded_is_refused"),
    "KIP2-MEM-013": (
        "tests/integration/test_memory_intake.py",
        "test_small_talk_is_kept_as_evidence_alone",
    ),
    "KIP2-MEM-014": (
        "tests/contract/test_mis_recall.py",
        "test_mis_29_reading_leaves_no_trace_in_memory",
    ),
    "KIP2-MEM-016": (
        "tests/contract/test_mis_recall.py",
        "test_mis_23_the_budget_bites_optional_memory_only",
    ),
    "KIP2-MIF-001": (_HERE, "test_kip2_mif_001_what_is_not_offered_is_not_run_without"),
    "KIP2-MIF-002": (
        "tests/contract/test_mis_recall.py",
        "test_mis_01_a_new_fact_is_recalled_after_its_receipt",
    ),
    "KIP2-MIF-003": (
        "tests/contract/test_mis_recall.py",
        "test_mis_13_a_later_input_does_not_cover_an_earlier_one",
    ),
    "KIP2-MIF-005": (
        "tests/integration/test_memory_intake.py",
        "test_the_meaning_of_a_key_is_its_operation_scope_input_and_source",
    ),
    "KIP2-MIF-006": ("tests/contract/test_mis_recall.py", "test_mis_21_the_scope_matrix"),
    "KIP2-MIF-007": (
        "tests/contract/test_mis_recall.py",
        "test_mis_23_the_budget_bites_optional_memory_only",
    ),
    "KIP2-MIF-009": (
        "tests/contract/test_mis_forget.py",
        "test_kip2_mif_009_nothing_is_called_complete_before_everything_is",
    ),
    "KIP2-MIF-013": (
        "tests/contract/test_mis_recall.py",
        "test_mis_01_a_new_fact_is_recalled_after_its_receipt",
    ),
    "KIP2-MIF-015": (
        "tests/integration/test_memory_intake.py",
        "test_a_change_of_the_world_answers_old_and_new_times",
    ),
    "KIP2-MIF-016": (_HERE, "test_kip2_mif_016_a_preference_changes_within_its_kind"),
    "KIP2-MIF-018": (
        "tests/contract/test_mis_recall.py",
        "test_mif_018_an_unasked_constraint_surfaces",
    ),
}
#: Vectors of `memory_learning`, which is not offered.
LEARNING = {"KIP2-MEM-003", "KIP2-MEM-020"}


@cache
def bugs() -> dict[str, Any]:
    """The cases, by id; skips where the list is not beside this checkout."""
    path = SHARED / "scenarios" / "bugs.jsonl"
    if not path.is_file():
        pytest.skip("shared/scenarios/bugs.jsonl is not here")
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return {case["id"]: case["input"]["steps"] for case in cases}


def read(path: str) -> str:
    """The text of a file of ours."""
    return (ROOT / path).read_text(encoding="utf-8")


def test_every_case_of_the_bug_list_is_a_test_or_named_as_later() -> None:
    assert set(bugs()) == BUGS.keys() | LATER.keys()
    for case, path in BUGS.items():
        name = f"test_{case.lower().replace('-', '_')}"
        assert f"def {name}" in read(path) or case in read(path).split('"""')[1], case


def test_every_vector_is_a_test_or_of_what_is_not_offered() -> None:
    folder = SHARED / "kip" / "vectors"
    if not folder.is_dir():
        pytest.skip("shared/kip/vectors is not here")
    found = {path.stem for path in folder.glob("KIP2-*.json")}
    expectations = json.loads((folder / "mif-expectations.json").read_text(encoding="utf-8"))
    found |= {one["id"] for one in expectations["scenarios"]}
    assert found == VECTORS.keys() | LEARNING
    for vector, (path, name) in VECTORS.items():
        assert f"def {name}(" in read(path), vector


def staged(caller: Caller, step: Any) -> Any:
    """The response to a step that stages a source."""
    return caller.call("POST", "memory/sources", step["body"])


def test_bug_002_a_receipt_waits_in_words_and_never_shows_an_empty_success(
    world: World, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, observe, _ = bugs()["BUG-002"]
    with_model(provider, monkeypatch)
    claim = {
        "message": 0,
        "quote": "My badge number is kept in locker 14",
        "subject": "user",
        "predicate": "keeps",
        "object": "locker 14",
        "object_type": "Thing",
    }
    provider.script(Status(429, retry_after="1"), Answer({"claims": [claim]}))
    caller = world.caller()
    source = staged(caller, stage).json["result"]["source_ref"]
    told = caller.ask(filled(observe["body"], **{"src-2": source}))
    ref = told["receipt"]["receipt_ref"]
    world.work()
    waiting = caller.receipt(ref)
    assert waiting["progress"]["phase"] == "recorded"
    assert waiting["progress"]["reason"] == "rate_limited"
    [(job_id,)] = world.rows("select id from job where space_id = %s")
    job = caller.call("GET", f"jobs/{job_id}").json["result"]
    assert job["progress"]["reason"] == "rate_limited"
    assert f"Tried again at {job['progress']['next_attempt_at']}." in waiting["warnings"][0]
    while caller.receipt(ref)["progress"]["phase"] == "recorded":
        world.work()
    view = caller.receipt(ref)
    assert view["progress"]["disposition"] == "formed"
    assert view["result"]["memory_refs"]
    assert world.rows("select requests from usage_total where space_id = %s") == [(1,)]


def test_bug_004_one_key_is_one_receipt_whatever_else_is_in_the_request(world: World) -> None:
    stage, together, again, other, conflict = bugs()["BUG-004"]
    caller = world.caller()
    known = {"src-4": staged(caller, stage).json["result"]["source_ref"]}
    body = filled(together["do"]["body"], **known)
    with ThreadPoolExecutor(together["parallel"]) as pool:
        answers = list(pool.map(lambda _: caller.ask(body), range(together["parallel"])))
    world.work()
    answers.append(caller.ask(filled(again["body"], **known)))
    receipts = [json.dumps(told["receipt"], sort_keys=True) for told in answers]
    assert len(set(receipts)) == 1
    assert answers[-1]["request_id"] == "different-id"
    assert (answers[-1]["status"], world.jobs) == ("succeeded", 1)
    known["src-4b"] = staged(caller, other).json["result"]["source_ref"]
    refused = caller.ask(filled(conflict["body"], **known))
    assert refused["error"]["code"] == "IdempotencyConflict"
    assert world.jobs == 1


def test_bug_016_times_are_kept_as_said_or_refused_with_their_place(world: World) -> None:
    first, observe, *wrong = bugs()["BUG-016"]
    caller = world.caller()
    source = staged(caller, first).json["result"]["source_ref"]
    kept = caller.call("GET", f"memory/sources/{source}").json["result"]
    assert kept["observed_at"] == "2026-03-28T23:00:00.000Z"
    told = caller.ask(filled(observe["body"], t1=source))
    world.work()
    assert caller.receipt(told["receipt"]["receipt_ref"])["progress"]["phase"] == "available"
    said = to_text(from_millis(first["body"]["messages"][0]["timestamp"]))
    times = world.rows("select distinct observed_at from evidence where space_id = %s")
    assert [to_text(at) for (at,) in times] == [said]
    for step in wrong:
        refused = staged(caller, step)
        assert refused.status_code == 400, step
        assert refused.json["data"]["field"]


def test_bug_018_a_foreign_receipt_is_an_unknown_one_and_a_body_widens_nothing(
    keyed_world: World,
) -> None:
    world = keyed_world
    foreign, unknown, recall, *_ = bugs()["BUG-018"]
    elsewhere = world.caller("ana", space=world.sp2)
    theirs = elsewhere.do("observe", source_ref=elsewhere.stage("The canary sings."))
    caller = world.caller("bot")
    answers = [
        caller.call("GET", step["call"].rsplit("/v1/sA/", 1)[1].replace("$receipt_of_B", known))
        for step, known in ((foreign, theirs["receipt"]["receipt_ref"]), (unknown, ""))
    ]
    assert {answer.status_code for answer in answers} == {404}
    first, second = (answer.json for answer in answers)
    assert first.keys() == second.keys()
    assert first["message"] == second["message"]
    body = {**recall["body"], "space": {"id": world.sp2}}
    told = caller.ask(body)
    assert (told["status"], told["error"]["code"]) == ("failed", "NotFoundOrNotVisible")


@pytest.mark.parametrize(
    "spelt", ["9007199254740992", "9007199254740993", "9007199254740993.0", "9.007199254740993e15"]
)
def test_kip2_mem_011_a_number_that_would_be_rounded_is_refused(world: World, spelt: str) -> None:
    from tests.unit.api.calling import new_client

    def find(number: str) -> Any:
        body = '{"command": "FIND(?p) WHERE { ?p CONCEPT {key: :k} FILTER(1 < :n) } LIMIT 1",'
        body += f' "parameters": {{"k": "x", "n": {number}}}}}'
        return new_client().post(
            f"/v1/{world.sp1}/execute_kip_readonly",
            data=body,
            headers={"Content-Type": "application/json"},
        )

    assert find("9007199254740991").json["status"] == "succeeded"
    refused = find(spelt)
    assert refused.status_code == 400 or refused.json["status"] == "failed", refused.text


@pytest.mark.parametrize("bundle", ["memory_learning", "memory_experience"])
def test_kip2_mif_001_what_is_not_offered_is_not_run_without(world: World, bundle: str) -> None:
    caller = world.caller()
    source = caller.stage("I live in Utrecht.")
    for told in (
        caller.do("observe", "k", source_ref=source, requires=[bundle]),
        caller.ask(
            {
                "kip_memory": "2.0",
                "operation": "recall",
                "requires": ["memory_basic", bundle],
                "input": {"query": "Where?"},
            }
        ),
    ):
        assert told["error"]["code"] == "UnsupportedCapability"
    assert world.jobs == 0
    invented = {"kip_memory": "2.0", "operation": "recall", "requires": ["memory_dreams"]}
    told = caller.ask({**invented, "input": {"query": "Where?"}})
    assert told["error"]["code"] in ("UnsupportedCapability", "InvalidRequestEnvelope")
    assert caller.do("observe", "k", source_ref=source)["status"] == "pending"


def test_kip2_mif_016_a_preference_changes_within_its_kind(world: World) -> None:
    caller = world.caller()
    for text, kind in (
        ("I prefer dark mode.", None),
        ("I prefer tea.", None),
        ("I prefer light mode now.", "world_change"),
    ):
        source = caller.stage(text)
        if kind is None:
            caller.done("observe", source_ref=source)
        else:
            target = {"target_ref": world.claims()[0]}
            caller.done("revise", source_ref=source, change_kind=kind, **target)
    found = world.believed()
    current = {claim.lower() for claim, status in found.items() if status == "accepted"}
    assert any("light mode" in claim for claim in current), found
    assert any("tea" in claim for claim in current), found
    assert not any("dark mode" in claim for claim in current), found
    assert "contested" not in found.values()
    assert {world.status(claim) for claim in world.claims()} == {"active"}
