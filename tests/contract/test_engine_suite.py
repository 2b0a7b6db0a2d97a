"""The public conformance cases of KIP 2.0, run as `brainstem kip suite` runs them.

Every case passes but those of `OTHERWISE`, which says what becomes of each of them and why; a case
that comes out in any other way, better or worse, fails. The counts of each fixture are
properties of the test suite (`--junitxml`), and `brainstem kip suite` prints them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from deploy.kip.suite import Report, Verdict, fixtures, run
from storage.database import Database

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "kip" / "engine-suite"

_PRIVATE = (
    "the case holds every engine to one engine's private weighted policy; kip:memory-default is "
    "structural and gives no scores (contract kip-engine section 4, RULES.md)"
)
_REVISION = (
    "the kind of the target is in the text, so the registry's own code is given, as the parser "
    "cases ask: EpistemicRevisionRequired (contract kip-engine section 5)"
)
#: (fixture, case): what becomes of it instead, and the reason in the specification.
OTHERWISE: dict[tuple[str, str], tuple[str, str]] = {
    ("core-truth-neutrality", "an Assertion's epistemic payload cannot be edited"): (
        "failed",
        _REVISION,
    ),
    ("lifecycle", "an Assertion's stance cannot be rewritten in place"): ("failed", _REVISION),
    (
        "epistemic-projection",
        "an unsupported Proposition has no support and no opposition",
    ): ("failed", _PRIVATE),
    (
        "epistemic-projection",
        "a projection declares that its score is not a probability",
    ): ("failed", _PRIVATE),
    ("epistemic-projection", "a projection reports the policy it ran under"): (
        "failed",
        _PRIVATE,
    ),
    ("epistemic-projection", "two claims relaying one observation score as one"): (
        "failed",
        _PRIVATE,
    ),
}
#: Fixtures whose setup the rule of times refuses, which `timestamps` pins: whole seconds are none.
MENDED = {"consequence": ("T09:00:00Z", "T09:00:00.000Z")}


def cases() -> Iterator[Any]:
    if not FOLDER.exists():
        reason = "the shared KIP data is not beside this checkout"
        yield pytest.param(None, None, marks=pytest.mark.skip(reason=reason))
        return
    for fixture in fixtures(FOLDER):
        for case in fixture["cases"]:
            name = (fixture["name"], case["name"])
            yield pytest.param(*name, id=f"{name[0]}: {name[1]}")


@lru_cache(maxsize=1)
def known() -> dict[str, dict[str, Any]]:
    return {fixture["name"]: fixture for fixture in fixtures(FOLDER)}


@lru_cache(maxsize=64)
def report(name: str) -> Report:
    """A fixture is run once, when its first case is looked at."""
    fixture = json.dumps(known()[name])
    if name in MENDED:
        wrong, right = MENDED[name]
        assert wrong in fixture
        fixture = fixture.replace(wrong, right)
    return run(json.loads(fixture))


def verdict(fixture: str, case: str) -> Verdict:
    told = report(fixture).verdicts
    return next(one for one in told if one.name == case)


@pytest.mark.parametrize(("fixture", "case"), list(cases()))
def test_the_engine_answers_as_the_case_expects(
    fixture: str, case: str, database: Database
) -> None:
    found = verdict(fixture, case)
    wanted, reason = OTHERWISE.get((fixture, case), ("passed", "it is met"))
    told = json.dumps([found.expected, found.got], ensure_ascii=False)
    assert found.status == wanted, f"{told} (expected to be {wanted}: {reason})"


def test_the_counts_of_every_fixture(
    database: Database, record_testsuite_property: Callable[[str, object], None]
) -> None:
    if not FOLDER.exists():
        pytest.skip("the shared KIP data is not beside this checkout")
    statuses = ("passed", "failed", "unsupported")
    expected = Counter(wanted for wanted, _ in OTHERWISE.values())
    found: Counter[str] = Counter()
    for name in known():
        told = {status: report(name).count(status) for status in statuses}
        found.update(told)
        record_testsuite_property(name, json.dumps(told))
    assert found["unsupported"] == expected["unsupported"]
    assert found["failed"] == expected["failed"]


def test_no_exception_is_made_for_a_case_that_is_not_there() -> None:
    if not FOLDER.exists():
        pytest.skip("the shared KIP data is not beside this checkout")
    there = {
        (fixture["name"], case["name"]) for fixture in known().values() for case in fixture["cases"]
    }
    assert OTHERWISE.keys() <= there
