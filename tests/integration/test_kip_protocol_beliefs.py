"""The belief cases, written and asked in the language: 80 scenarios with 640 checks."""

from __future__ import annotations

from typing import Any

import pytest

from storage.graph.belief import STRUCTURAL
from storage.kip.protocol.caller import Caller, trusted
from storage.kip.protocol.execute import execute
from tests.contract.test_belief_cases import cases

#: What is asked of each belief, in the order of `told`.
ASKED = (
    "FIND(?b.status, ?b.candidate_status, ?b.uncertainty.reasons, ?b.precedence.rule,"
    " ?b.slot_status)"
)
KEY = 'FIND(?c.id) WHERE { ?c {type: "Event", key: :key} }'


@pytest.fixture
def caller(space: str) -> Caller:
    return trusted(space, "tester")


def asked(caller: Caller, command: str, **parameters: Any) -> list[Any]:
    answer = execute({"command": command, "parameters": parameters}, caller, readonly=True)
    assert answer["status"] == "succeeded", answer
    rows: list[Any] = answer["results"][0]["result"]
    return rows


def test_what_is_believed_of_what_was_written(caller: Caller) -> None:
    scenarios = cases()
    for scenario in scenarios:
        assert execute(scenario["setup"], caller, readonly=False)["status"] == "succeeded"
    wrong = [
        (scenario["id"], check["command"], difference)
        for scenario in scenarios
        for check in scenario["checks"]
        if (difference := differences(caller, check))
    ]
    assert wrong == []


def differences(caller: Caller, check: dict[str, Any]) -> dict[str, Any]:
    """Where the belief is another than the check expects: what was found instead."""
    contexts = {
        name: {"id": asked(caller, KEY, key=key)[0]} for name, key in check["contexts"].items()
    }
    policy = STRUCTURAL if check["policy"] == "structural" else check["policy"]
    command = check["command"].replace("FIND(?b.status)", ASKED)
    [row] = asked(caller, command, policy=policy, **contexts)
    told = dict(zip(("status", "candidate_status", "reasons", "rule", "slot"), row, strict=True))
    told["reasons"] = sorted(told["reasons"])
    wanted = {name: check[name] for name in ("status", "candidate_status")}
    if "reasons" in check:
        wanted["reasons"] = sorted(check["reasons"])
    if "rule" in check:
        wanted["rule"] = check["rule"]
    if "slot" in check:
        wanted["slot"] = check["slot"]["status"]
    return {name: told[name] for name, value in wanted.items() if told[name] != value}
