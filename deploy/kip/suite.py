"""Conformance fixtures: a space each, set up and asked case by case (public KIP engine suite).

A case that an unclaimed capability refuses counts as unsupported, never as passed.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.kip.matching import contains, flattened, normalised, pointed, same
from storage import spaces
from storage.database import Scope, database
from storage.errors import InvalidInput
from storage.graph import installation
from storage.graph.transactions import uri
from storage.kip.protocol.caller import Caller, trusted
from storage.kip.protocol.execute import execute

#: Not a fixture: where the suite comes from.
_MANIFEST = "manifest.json"
#: The space that the fixtures' answers were written in.
_SPACE = "kip:space:default"
#: What is installed beside the packages of a fixture.
_PACKAGES = ("kip://profiles/cognitive-memory@2.0.0",)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one case; `got` is normalised, or an error's code and message."""

    name: str
    status: str
    expected: Any = None
    got: Any = None


@dataclass(slots=True)
class Report:
    """What came of one fixture."""

    fixture: str
    pending: bool
    verdicts: list[Verdict] = field(default_factory=list)

    def count(self, status: str) -> int:
        """How many cases came out so: `passed`, `failed` or `unsupported`."""
        return sum(verdict.status == status for verdict in self.verdicts)


def fixtures(folder: Path) -> Iterator[dict[str, Any]]:
    """The fixtures of a folder, by name; raises `InvalidInput` for what is none."""
    paths = sorted(path for path in folder.glob("*.json") if path.name != _MANIFEST)
    if not paths:
        raise InvalidInput(f"There are no fixtures in {folder}.")
    for path in paths:
        try:
            fixture = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{path.name} cannot be read: {error}") from None
        if not isinstance(fixture, dict) or not isinstance(fixture.get("cases"), list):
            raise InvalidInput(f"{path.name} is no fixture: it has no cases.")
        yield fixture


def run(fixture: Mapping[str, Any]) -> Report:
    """Run a fixture in a space of its own, which is deleted afterwards."""
    report = Report(str(fixture.get("name")), fixture.get("status") == "pending_engine")
    with _space(fixture.get("packages", ())) as caller:
        captured: dict[str, Any] = {}
        for step in fixture.get("setup", ()):
            if problem := _set_up(caller, step, captured):
                report.verdicts.extend(_not_run(fixture, problem))
                break
        else:
            for case in fixture["cases"]:
                report.verdicts.append(_verdict(caller, case, captured))
    return report


def _not_run(fixture: Mapping[str, Any], problem: str) -> Iterator[Verdict]:
    """Cases behind a setup that failed are failed, too."""
    for case in fixture["cases"]:
        yield Verdict(case["name"], "failed", case["expect"], f"The setup failed: {problem}")


@contextmanager
def _space(packages: Any) -> Iterator[Caller]:
    caller = trusted(f"suite-{uuid.uuid4().hex[:16]}", "conformance")
    scope = caller.scope
    with database().transaction(scope) as tx:
        spaces.create(tx, scope, owner=caller.principal)
        installation.start_with(tx, scope, _PACKAGES)
        for package in packages:
            installation.install(tx, scope, package)
    try:
        yield caller
    finally:
        with database().transaction(scope) as tx:
            spaces.delete(tx, scope)


def _set_up(caller: Caller, step: Any, captured: dict[str, Any]) -> str | None:
    """Run a step and keep what it captures; what went wrong, if anything did."""
    step = {"command": step} if isinstance(step, str) else step
    answer = _ask(caller, step, captured)
    code, result = flattened(answer)
    if code is not None:
        return _error(answer)
    for name, pointer in step.get("capture", {}).items():
        try:
            captured[name] = pointed(result, pointer)
        except LookupError:
            return f"the result has nothing at {pointer}"
    return None


def _ask(caller: Caller, case: Mapping[str, Any], captured: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {**captured, **case.get("params", {})}
    operations = case.get("operations") or [{"command": case["command"]}]
    request = {
        "kip": "2.0",
        "operations": [{**one, "parameters": parameters} for one in operations],
        **case.get("envelope", {}),
    }
    return execute(request, caller, readonly=False)


def _verdict(caller: Caller, case: Mapping[str, Any], captured: Mapping[str, Any]) -> Verdict:
    name, expect = case["name"], case["expect"]
    answer = _ask(caller, case, captured)
    code, result = flattened(answer)
    wanted = expect.get("error")
    if code is not None:
        if code == wanted:
            return Verdict(name, "passed")
        status = "unsupported" if code == "UnsupportedCapability" else "failed"
        return Verdict(name, status, expect, _error(answer))
    result = _renamed(result, caller.scope)
    if wanted is None and _fits(result, expect, ordered=case.get("ordered", False)):
        return Verdict(name, "passed")
    return Verdict(name, "failed", expect, normalised(result))


def _error(answer: Mapping[str, Any]) -> str:
    error = answer.get("error") or answer["results"][0]["error"]
    return f"{error['code']}: {error['message']}"


def _fits(result: Any, expect: Mapping[str, Any], *, ordered: bool) -> bool:
    if "result" in expect and not same(result, expect["result"], ordered=ordered):
        return False
    return "result_contains" not in expect or contains(result, expect["result_contains"])


def _renamed(value: Any, scope: Scope) -> Any:
    """The value with the throwaway space under the name that the fixtures know."""
    if isinstance(value, str):
        return _SPACE if value in (scope.space_id, uri(scope.space_id)) else value
    if isinstance(value, list):
        return [_renamed(item, scope) for item in value]
    if isinstance(value, Mapping):
        return {name: _renamed(item, scope) for name, item in value.items()}
    return value
