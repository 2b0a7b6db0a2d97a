"""Runtime configurations are judged by what they say, and workflows by what is installed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deploy.cli import build
from storage.runtime import configuration
from storage.runtime.configuration import SpaceRuntime
from storage.runtime.readiness import Installed, product_readiness, validate


def sha(digit: str) -> str:
    return f"sha256:{digit * 64}"


WORKFLOW = {
    "name": "skills",
    "services": {"controller": sha("1"), "judge": sha("2")},
    "calibration_digest": sha("3"),
    "approvals": 2,
}
GAUGE = {"principal": "gauge", "cwt_subject": "g", "audience": [], "roles": ["record_outcome"]}
CONTRACT = {
    "principal": "gauge",
    "configuration_digest": sha("4"),
    "control_domain": "instruments",
    "task_family": "reminders",
    "metric": "delivery",
    "window": "w",
    "lateness_seconds": 60,
}


def whole(**space: Any) -> bytes:
    given = {"callers": [], **space}
    return json.dumps({"format": configuration.FORMAT, "spaces": {"s": given}}).encode()


def runtime(**changed: Any) -> SpaceRuntime:
    return SpaceRuntime.model_validate({"callers": [], "workflows": [{**WORKFLOW, **changed}]})


def installed(pinned: SpaceRuntime, *approvers: str) -> Installed:
    return Installed(
        {"controller": sha("1"), "judge": sha("2")},
        {sha("3")},
        {pinned.workflows[0].digest: approvers},
    )


def gaps(pinned: SpaceRuntime, there: Installed) -> list[tuple[str, str | None]]:
    return [(one.gap, one.service) for one in product_readiness(pinned, there).missing]


def test_a_workflow_that_is_installed_as_it_is_pinned_is_ready() -> None:
    pinned = runtime()
    told = product_readiness(pinned, installed(pinned, "ana", "bob"))
    assert (told.ready, told.workflows, told.missing) == (True, ("skills",), ())


def test_what_keeps_a_workflow_from_being_ready_is_told_apart() -> None:
    pinned = runtime()
    there = installed(pinned, "ana", "bob")
    without = replace(there, services={"judge": sha("2")})
    assert gaps(pinned, without) == [("service_missing", "controller")]
    other = replace(there, services={"controller": sha("1"), "judge": sha("9")})
    assert gaps(pinned, other) == [("identity_mismatch", "judge")]
    assert gaps(pinned, replace(there, reviewed=())) == [("calibration_unreviewed", None)]
    # one who approves twice is one
    assert gaps(pinned, installed(pinned, "ana", "ana")) == [("approvals_missing", None)]
    assert len(gaps(pinned, Installed())) == 4


def test_an_approval_is_of_the_workflow_as_it_was() -> None:
    pinned = runtime()
    there = installed(pinned, "ana", "bob")
    changed = runtime(services={"controller": sha("1")})
    assert gaps(changed, there) == [("approvals_missing", None)]


def test_a_space_without_workflows_is_not_ready() -> None:
    told = product_readiness(SpaceRuntime.model_validate({"callers": []}), Installed())
    assert not told.ready


def test_all_that_is_wrong_with_a_configuration_is_told_at_once() -> None:
    found = validate(
        whole(callers=[{"principal": "a", "audience": "all"}, {"cwt_subject": "secret"}])
    )
    assert not found.valid
    assert [fault.place for fault in found.errors] == [
        "spaces.s.callers.0",
        "spaces.s.callers.1.principal",
        "spaces.s.callers.1.audience",
    ]
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"\xff", b"[]", b"[" * 100_000, b" " * (configuration.MAX_BYTES + 1)],
    ids=["empty", "cut", "bytes", "list", "deep", "large"],
)
def test_what_is_no_configuration_is_told_and_raises_nothing(raw: bytes) -> None:
    assert not validate(raw).valid


def test_a_space_that_is_named_twice_is_refused_and_not_overwritten(tmp_path: Path) -> None:
    text = f'{{"format": "{configuration.FORMAT}", "spaces": {{"s": {{"callers": []}}, '
    file = tmp_path / "twice.json"
    file.write_text(text + '"s": {"callers": []}}}')
    assert not validate(file.read_bytes()).valid
    with pytest.raises(ValueError, match="twice"):
        configuration.read(file)


def test_roles_and_contracts_that_nobody_can_use_are_worth_a_look() -> None:
    assert validate(whole(callers=[GAUGE], observers=[CONTRACT])).warnings == ()
    alone = validate(whole(callers=[GAUGE]))
    assert alone.valid
    assert [fault.place for fault in alone.warnings] == ["spaces.s.callers.0"]
    unmapped = validate(whole(observers=[CONTRACT]))
    assert [fault.place for fault in unmapped.warnings] == ["spaces.s.observers.0"]


def test_the_command_line_checks_a_configuration_and_starts_nothing(tmp_path: Path) -> None:
    file = tmp_path / "runtime.json"
    file.write_bytes(whole(callers=[GAUGE]))
    good = CliRunner().invoke(build(), ["runtime", "check", str(file)])
    assert good.exit_code == 0
    assert good.output.splitlines()[-1] == "valid"
    file.write_bytes(b"{}")
    bad = CliRunner().invoke(build(), ["runtime", "check", str(file), "--json"])
    assert bad.exit_code == 1
    told = json.loads(bad.output)
    assert told["valid"] is False
    assert {fault["place"] for fault in told["errors"]} == {"format", "spaces"}
