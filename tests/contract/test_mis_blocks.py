"""The JSON blocks of the scenarios, sent and matched as they stand.

Other tests tell the scenarios whole, in steps of their own; those that do not send a block itself
have it sent here. A table says where each block is, so that a new one cannot be overlooked.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.principals import Principal
from tests.contract.test_mis_recall import TASK_A
from tests.contract.test_mis_recall import world as world
from tests.integration.memory_recall_world import AT, World
from tests.memory_interface import SCENARIOS, filled, matches, scenario, well_formed
from tests.services import ROOT

_HERE = "tests/contract/test_mis_blocks.py"
_INTAKE = "tests/contract/test_mis_intake.py"

#: Which file sends, or matches, each block: scenario and kind, with its number where there are two.
BLOCKS: dict[str, str] = {
    "MIS-01 stage": _INTAKE,
    "MIS-01 request": _INTAKE,
    "MIS-01 response": _INTAKE,
    "MIS-01 request 2": _HERE,
    "MIS-01 response 2": _HERE,
    "MIS-03 request-invalid": _INTAKE,
    "MIS-03 response": _INTAKE,
    "MIS-05 request": _INTAKE,
    "MIS-05 response": _INTAKE,
    "MIS-07 request": _HERE,
    "MIS-07 response": _HERE,
    "MIS-09 response": "tests/faults/test_killed_intake.py",
    "MIS-11 request": _INTAKE,
    "MIS-11 response": _INTAKE,
    "MIS-13 request": _HERE,
    "MIS-13 response": _HERE,
    "MIS-15 stage": _INTAKE,
    "MIS-15 request": _INTAKE,
    "MIS-15 response": _INTAKE,
    "MIS-17 request": _HERE,
    "MIS-17 response": _HERE,
    "MIS-19 request": _HERE,
    "MIS-19 response": _HERE,
    "MIS-21 request": _HERE,
    "MIS-23 request": _HERE,
    "MIS-23 response": _HERE,
    "MIS-25 request": _HERE,
    "MIS-25 response": _HERE,
    "MIS-27 request": _HERE,
    "MIS-27 response": _HERE,
    "MIS-29 request": _HERE,
    "MIS-31 request": _HERE,
    "MIS-31 response": _HERE,
    "MIS-33 stage": _INTAKE,
    "MIS-33 request": _INTAKE,
    "MIS-33 response": _INTAKE,
    "MIS-35 request": _INTAKE,
    "MIS-35 response": _INTAKE,
    "MIS-37 request": "tests/contract/test_mis_forget.py",
    "MIS-37 response": "tests/contract/test_mis_forget.py",
    "MIS-39 request-runtime": "tests/integration/test_runtime_inbox.py",
}


def asked(world: World, name: str, number: int = 0, **known: str) -> dict[str, Any]:
    """The answer to a block's request; it matches the block's response, where there is one."""
    blocks = scenario(name)
    request = filled(blocks["request"][number], **known)
    response = world.client.post(f"/v1/{world.space}/memory", json=request)
    assert response.status_code == 200
    answer: dict[str, Any] = json.loads(response.data)
    well_formed(answer)
    if len(blocks.get("response", ())) > number:
        matches(filled(blocks["response"][number], **known), answer)
    return answer


def test_every_block_of_the_scenarios_is_sent_or_matched_by_a_test() -> None:
    if not SCENARIOS.exists():
        pytest.skip("shared/scenarios/memory-interface.md is not here")
    found = set()
    for line in SCENARIOS.read_text(encoding="utf-8").splitlines():
        if line.startswith("### "):
            name, counts = line.split()[1], dict[str, int]()
        elif line.startswith("```json "):
            kind = line.split()[1]
            counts[kind] = counts.get(kind, 0) + 1
            found.add(f"{name} {kind}" + (f" {counts[kind]}" if counts[kind] > 1 else ""))
    assert found == set(BLOCKS)
    for block, path in BLOCKS.items():
        name = block.split()[0]
        text = (ROOT / path).read_text(encoding="utf-8")
        # the inbox's one block is written out there
        assert ("answer-42" if name == "MIS-39" else f'"{name}"') in text, block


def test_mis_01_the_second_block(world: World) -> None:
    job = world.receipt("obs-01")
    world.end(job, refs=[world.claim("Bob", "timezone", "+07:00")])
    asked(world, "MIS-01", 1, r1=job.receipt_ref)


def test_mis_07_the_block(world: World) -> None:
    eve = Principal("user:eve", "agent", world.space, frozenset({"*"}))
    foreign = asked(world, "MIS-07", r1=world.receipt("theirs", eve).receipt_ref)
    assert foreign == asked(world, "MIS-07", r1="rcp-" + "0" * 32)


def test_mis_13_the_block(world: World) -> None:
    first, second = world.receipt("A"), world.receipt("B")
    world.end(second, refs=[world.claim("Bob", "timezone", "+07:00")])
    asked(world, "MIS-13", rA=first.receipt_ref, rB=second.receipt_ref)


def test_mis_17_the_block(world: World) -> None:
    world.claim("Alice", "timezone", "+08:00")
    answer = asked(world, "MIS-17", rw=world.receipt("move").receipt_ref)
    assert not any(item["action_eligible"] for item in answer["result"]["items"])


def test_mis_19_the_block(world: World) -> None:
    world.claim("Alice", "timezone", "+08:00")
    failed, done = world.receipt("f"), world.receipt("g")
    world.end(failed, error={"code": "model_rejected", "message": "The provider refused."})
    world.end(done)
    asked(world, "MIS-19", rf=failed.receipt_ref, rg=done.receipt_ref)


def test_mis_21_the_block(world: World) -> None:
    world.claim("Alice", "prefers", ("KindG", "tea"))
    world.claim("Alice", "prefers", ("KindA", "coffee"), scope=TASK_A)
    answer = asked(world, "MIS-21")
    assert answer["status"] == "succeeded"
    assert [item["text"].split(" (said")[0] for item in answer["result"]["items"]] == [
        "Alice likes tea"
    ]


def test_mis_23_the_block(world: World) -> None:
    world.rule("never deploy on Fridays", scope=TASK_A)
    world.promise("send the report", scope=TASK_A)
    for n in range(60):
        world.claim("Alice", "prefers", (f"Kind{n}", f"option number {n} of many"))
    asked(world, "MIS-23")


def test_mis_25_the_block(world: World) -> None:
    asked(world, "MIS-25")


def test_mis_27_the_block(world: World) -> None:
    world.define("project_status", functional=True)
    world.claim("Alpha", "project_status", "active", by="Ana")
    world.claim("Alpha", "project_status", "paused", by="Ben")
    asked(world, "MIS-27")


def test_mis_29_the_block(world: World) -> None:
    world.claim("Alice", "prefers", ("Colour", "blue"))
    before = world.head()
    assert asked(world, "MIS-29")["status"] == "succeeded"
    assert world.head() == before


def test_mis_31_the_block(world: World) -> None:
    world.promise("finish the slides", scope=TASK_A)
    bob = world.claim("Bob", "timezone", "+07:00", at=AT)
    watch = world.watch("Bob has moved", bob, scope=TASK_A)
    cursor = world.raised()["attention_cursor"]
    world.raise_(("watch_fire", watch, f"watch_fire:{watch}:1"))
    answer = asked(world, "MIS-31", c=cursor)
    assert any("WorkingState" in warning for warning in answer["warnings"])
