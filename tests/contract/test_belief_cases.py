"""The belief cases: 80 scenarios with 640 checks, each answered as the rules of KIP 2.0 say.

Pure here (the setup goes straight into the projection); `tests/integration/test_graph_belief.py`
answers the same checks out of the store.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from storage.clock import parse_text
from storage.graph.belief import MEMORY_DEFAULT, STRUCTURAL, Claim, Question, SlotBelief, project
from storage.graph.schema import builtin
from storage.graph.validity import Bounds
from tests.contract.belief_setup import read

CASES = Path(__file__).resolve().parents[3] / "shared" / "kip" / "belief-cases.jsonl"
_CHECK = re.compile(
    r'\?s \{type: "Person", key: "(?P<subject>[^"]+)"\} '
    r'\?o \{type: "\w+", key: "(?P<object>[^"]+)"\} '
    r'\?b BELIEF \(\?s, "(?P<predicate>\w+)", \?o\).* FOR TIME "(?P<at>[^"]+)"'
)


def cases() -> list[dict[str, Any]]:
    if not CASES.exists():
        pytest.skip("the shared KIP data is not beside this checkout")
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def question(check: dict[str, Any], contexts: dict[str, str]) -> tuple[dict[str, str], Question]:
    """What a check asks: its subject, predicate and object keys, and the rest of the question."""
    found = _CHECK.search(check["command"])
    assert found is not None, check["command"]
    named = set(re.findall(r":(ctx_\w)", check["command"]))
    assert named <= set(check["contexts"])
    policy = STRUCTURAL if check["policy"] == "structural" else check["policy"]
    return found.groupdict(), Question(
        valid_at=parse_text(found["at"]),
        contexts=frozenset(contexts[key] for key in check["contexts"].values()),
        policy=policy,
    )


def differences(check: dict[str, Any], target: str, slot: SlotBelief) -> list[str]:
    """Where a slot's belief differs from what a check expects; `target` names the candidate."""
    belief = slot.candidates[target]
    got: dict[str, Any] = {"status": belief.status, "candidate_status": belief.candidate_status}
    want = {name: check[name] for name in ("status", "candidate_status")}
    if "reasons" in check:
        got["reasons"], want["reasons"] = sorted(belief.reasons), sorted(check["reasons"])
    if "rule" in check:
        got["rule"], want["rule"] = belief.rule, check["rule"]
    if "slot" in check:
        got["slot"] = {"status": belief.slot_status, "accepted": sorted(slot.accepted)}
        want["slot"] = {
            "status": check["slot"]["status"],
            "accepted": sorted(check["slot"]["accepted"]),
        }
    return [
        f"{name}: {got[name]} instead of {want[name]}" for name in want if got[name] != want[name]
    ]


def test_every_check_of_the_belief_cases_is_answered_right() -> None:
    wrong: list[str] = []
    checks = 0
    for case in cases():
        upserts, asserts = read(case["setup"])
        concepts = {u.handle: u for u in upserts}
        contexts = {u.key: u.handle for u in upserts}
        for check in case["checks"]:
            asked, ask = question(check, contexts)
            predicate = builtin().predicate(asked["predicate"])
            # the slot of a predicate that takes many values holds all of them
            kinds = {u.key: u.type for u in upserts}
            wanted = kinds[asked["object"]] if predicate.functional_by_type else None
            claims = [
                Claim(
                    id=a.handle,
                    proposition=concepts[a.object].key,
                    actor=a.by,
                    stance=a.stance,
                    mode=a.mode,
                    bounds=Bounds.of(a.valid, a.at),
                    contexts=frozenset(a.contexts),
                    own=a.by == a.subject,
                )
                for a in asserts
                if concepts[a.subject].key == asked["subject"]
                and a.predicate == asked["predicate"]
                and wanted in (None, concepts[a.object].type)
            ]
            slot = project(
                claims,
                [*{c.proposition for c in claims} | {asked["object"]}],
                ask,
                functional=predicate.functional or predicate.functional_by_type,
            )
            checks += 1
            wrong += [
                f"{case['id']} {check['policy']} {asked['at']}: {difference}"
                for difference in differences(check, asked["object"], slot)
            ]
    assert checks == 640
    assert not wrong, f"{len(wrong)} differences, first: {wrong[:5]}"
    assert MEMORY_DEFAULT in {c["policy"] for case in cases() for c in case["checks"]}
