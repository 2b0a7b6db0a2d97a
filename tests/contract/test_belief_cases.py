"""The belief cases: 80 scenarios with 640 checks, each answered as the rules of KIP 2.0 say.

First pure (the setup goes straight into the projection), then as KIP text: the setup is applied
and every check is the query that it says. `tests/integration/test_graph_belief.py` answers the same
checks by the slots of the store.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from storage.clock import parse_text
from storage.database import Database, Scope
from storage.graph.belief import (
    MEMORY_DEFAULT,
    STRUCTURAL,
    Claim,
    Question,
    Shape,
    SlotBelief,
    project,
)
from storage.graph.claims import concepts
from storage.graph.schema import builtin
from storage.graph.validity import Bounds
from storage.kip.binding import bind
from storage.kip.language import command
from storage.kip.language.ast_kml import Mutation
from storage.kip.language.ast_kql import Find
from storage.kip.mutation.apply import apply
from storage.kip.mutation.authority import Authority
from storage.kip.query.find import find
from storage.kip.snapshot import open_snapshot
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
                Shape(predicate.functional or predicate.functional_by_type),
            )
            checks += 1
            wrong += [
                f"{case['id']} {check['policy']} {asked['at']}: {difference}"
                for difference in differences(check, asked["object"], slot)
            ]
    assert checks == 640
    assert not wrong, f"{len(wrong)} differences, first: {wrong[:5]}"
    assert MEMORY_DEFAULT in {c["policy"] for case in cases() for c in case["checks"]}


def wider(check: dict[str, Any]) -> str:
    """The check's query, asking for all that the check expects, and for the whole slot."""
    target = re.search(r'\?b BELIEF \(\?s, ("\w+"), \?o\)', check["command"])
    assert target is not None
    slot = f"{target[0]} ?t BELIEF SLOT (?s, {target[1]})"
    asked = (
        "?b.status, ?b.candidate_status, ?b.uncertainty.reasons, ?b.precedence.rule, "
        "?b.slot_status, ?b.basis.policy.id, ?t.accepted_values"
    )
    return check["command"].replace("FIND(?b.status)", f"FIND({asked})").replace(target[0], slot)


def test_every_check_is_answered_right_as_kip_text(database: Database, space: str) -> None:
    scope = Scope(space)
    wrong: list[str] = []
    checks = 0
    scenarios = [(case, read(case["setup"])[0]) for case in cases()]
    for case, _ in scenarios:
        with database.transaction(scope) as tx:
            setup = bind(command.read(case["setup"]).statement, {})
            assert isinstance(setup, Mutation)
            apply(tx, scope, Authority("tester"), setup)
    with database.transaction(scope, snapshot=True) as tx:
        snapshot = open_snapshot(tx, scope)
        for case, upserts in scenarios:
            by_key = concepts(tx, scope, [(u.type, u.key) for u in upserts])
            ids = {key: element for (_, key), element in by_key.items()}
            predicate = builtin().predicate(case["predicate"])
            for check in case["checks"]:
                given = {name: {"id": ids[key]} for name, key in check["contexts"].items()}
                policy = STRUCTURAL if check["policy"] == "structural" else check["policy"]
                query = bind(command.read(wider(check)).statement, {**given, "policy": policy})
                assert isinstance(query, Find)
                ((status, candidate, reasons, rule, slot, under, accepted),) = find(
                    snapshot, query, caller="tester"
                ).rows
                got = {"status": status, "candidate_status": candidate, "policy": under}
                want = {name: check[name] for name in ("status", "candidate_status")}
                want["policy"] = policy
                if "reasons" in check:
                    got["reasons"], want["reasons"] = sorted(reasons), sorted(check["reasons"])
                if "rule" in check:
                    got["rule"], want["rule"] = rule, check["rule"]
                if "slot" in check:
                    got["slot"], want["slot"] = slot, check["slot"]["status"]
                    if not predicate.functional_by_type:
                        # a slot that is divided by type has more values than the part in question
                        got["accepted"] = sorted(one["id"] for one in accepted)
                        want["accepted"] = sorted(ids[key] for key in check["slot"]["accepted"])
                checks += 1
                if got != want:
                    wrong.append(f"{case['id']}: {got} instead of {want}")
    assert checks == 640
    assert not wrong, f"{len(wrong)} differences, first: {wrong[:5]}"
