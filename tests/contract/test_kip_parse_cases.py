"""The parser cases: 521 command texts, each with the verdict that KIP 2.0 gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from storage.kip.errors import KipError
from storage.kip.language.ast_expressions import Aggregate
from storage.kip.language.ast_kml import Mutate, Mutation
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_patterns import (
    BeliefPattern,
    BeliefSlotPattern,
    ConceptPattern,
    Filter,
    NotBlock,
    OptionalBlock,
    PropositionPattern,
    RecordPattern,
    SearchPattern,
    StructuralPattern,
    UnionBlock,
)
from storage.kip.language.ast_terms import Node, Parameter
from storage.kip.language.ast_terms import Path as DotPath
from storage.kip.language.command import Command, kind_of, parse, read
from storage.kip.language.desugar import statements
from storage.kip.language.printer import printed

CASES = Path(__file__).resolve().parents[3] / "shared" / "kip" / "parse-cases.jsonl"
SUITE = CASES.parent / "engine-suite"
_ITEMS: dict[type[Node], str] = {
    ConceptPattern: "CONCEPT",
    PropositionPattern: "PROPOSITION",
    StructuralPattern: "STRUCTURAL",
    BeliefPattern: "BELIEF",
    BeliefSlotPattern: "BELIEF SLOT",
    SearchPattern: "SEARCH",
    Filter: "FILTER",
    NotBlock: "NOT",
    OptionalBlock: "OPTIONAL",
    UnionBlock: "UNION",
}


def cases(expect: str) -> list[dict[str, Any]]:
    if not CASES.exists():
        pytest.skip("the shared KIP data is not beside this checkout")
    lines = CASES.read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case["expect"] == expect]


def how(value: object) -> str | None:
    """How a modifier is given."""
    if value is None:
        return None
    return "param" if isinstance(value, Parameter) else "literal"


def projected(projection: object) -> str:
    if isinstance(projection, Aggregate):
        return ("distinct " if projection.distinct else "") + projection.name.lower()
    return "path" if isinstance(projection, DotPath) else "var"


def shape(command: Command) -> dict[str, Any]:
    """What a case says of an accepted command."""
    statement = command.statement
    if isinstance(statement, Find):
        return {
            "projections": [projected(one) for one in statement.projections],
            "where": [
                one.kind if isinstance(one, RecordPattern) else _ITEMS[type(one)]
                for one in statement.where.clauses
            ],
            "as_of": "seq" if statement.as_of else None,
            "for_time": statement.for_time is not None,
            "epistemic": statement.epistemic
            and sorted(one.name for one in statement.epistemic.members),
            "order_by": ["desc" if one.descending else "asc" for one in statement.order_by],
            "limit": how(statement.limit),
            "cursor": how(statement.cursor),
        }
    if isinstance(statement, Mutation):
        return {
            "explicit_mutate": isinstance(statement, Mutate),
            "clauses": [kind_of(one) for one in statements(statement)],
        }
    target = getattr(statement, "target", None) or getattr(statement, "kind", None)
    return {"meta": command.kind, "target": target}


def test_all_accepted_texts_are_read_as_the_cases_say() -> None:
    wrong: list[tuple[Any, ...]] = []
    for case in cases("accept"):
        try:
            command = read(case["text"])
        except KipError as error:
            wrong.append((case["id"], case["text"], error.message, error.data))
            continue
        got = {
            "language": command.language,
            "kind": command.kind,
            "mutating": command.mutating,
            "params": sorted(command.parameters),
            "shape": shape(command),
        }
        want = {name: case[name] for name in got}
        if got != want:
            wrong.append((case["id"], case["text"], got, want))
    assert wrong == []


def test_all_refused_texts_are_refused_with_a_code_that_fits_and_a_place() -> None:
    wrong: list[tuple[Any, ...]] = []
    for case in cases("reject"):
        try:
            read(case["text"])
        except KipError as error:
            places = (error.data.get("line", 0), error.data.get("column", 0))
            if error.code not in case["codes"] or min(places) < 1 or not error.data["hint"]:
                wrong.append((case["id"], case["text"], error.code, error.message, error.data))
        else:
            wrong.append((case["id"], case["text"], "accepted", case.get("why"), {}))
    assert wrong == []


def test_texts_that_only_a_static_rule_refuses_still_parse() -> None:
    wrong: list[tuple[Any, ...]] = []
    for case in cases("reject"):
        if case["stage"] == "static" and not case.get("why", "").startswith(_REFUSED_BY_GRAMMAR):
            try:
                parse(case["text"])
            except KipError as error:
                wrong.append((case["id"], case["text"], error.message))
    assert wrong == []


#: Static rules that this parser's grammar holds itself: a query finds variables, paths and
#: aggregates, and no member is given twice.
_REFUSED_BY_GRAMMAR = ("expected a variable or a dot path", "duplicate ASSERT member")


def test_accepted_texts_come_back_from_their_printed_form() -> None:
    for case in cases("accept"):
        statement = parse(case["text"])
        assert parse(printed(statement)) == statement, case["text"]
        assert printed(parse(printed(statement))) == printed(statement)


def suite_commands() -> list[tuple[str, str, dict[str, Any]]]:
    if not SUITE.exists():
        pytest.skip("the shared KIP data is not beside this checkout")
    found: list[tuple[str, str, dict[str, Any]]] = []
    for path in sorted(SUITE.glob("*.json")):
        fixture = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(fixture.get("cases"), list):
            continue
        for step in fixture.get("setup", []):
            text = step if isinstance(step, str) else step["command"]
            found.append((f"{path.stem}: setup", text, {}))
        for case in fixture["cases"]:
            for operation in case.get("operations", [case]):
                if isinstance(operation.get("command"), str):
                    name = f"{path.stem}: {case['name']}"
                    found.append((name, operation["command"], case.get("expect") or {}))
    return found


#: One setup of the suite is older than its own rule of times, and lacks the milliseconds.
_OLD_TIME = 'observed_at: "2026-08-20T09:00:00Z"'


def test_commands_of_the_engine_suite_that_must_succeed_are_read() -> None:
    commands = suite_commands()
    assert len(commands) > 400
    refused = []
    for name, text, expect in commands:
        if "error" not in expect and _OLD_TIME not in text:
            try:
                read(text)
            except KipError as error:
                refused.append((name, text, error.code, error.message))
    assert refused == []


#: The suite answers InvalidSyntax for a rewrite of a claim, the parser cases (and the registry)
#: the code that says what to do instead.
_CODES_THAT_DIFFER = {
    "core-truth-neutrality: an Assertion's epistemic payload cannot be edited",
    "lifecycle: an Assertion's stance cannot be rewritten in place",
}


def test_commands_of_the_engine_suite_that_are_refused_here_are_refused_with_its_code() -> None:
    wrong: list[tuple[Any, ...]] = []
    for name, text, expect in suite_commands():
        if "error" in expect and name not in _CODES_THAT_DIFFER:
            try:
                read(text)
            except KipError as error:
                if error.code != expect["error"]:
                    wrong.append((name, text, expect["error"], error.code, error.message))
    assert wrong == []
