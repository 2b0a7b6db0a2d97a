"""The evaluator itself, on the public cases of the read language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from storage.graph.changes import DefineSymbol
from storage.kip.errors import KipError
from storage.kip.language.ast_kml import (
    CreateConcept,
    CreateRecord,
    EnsureProposition,
    Mutate,
    SetAttributes,
    SetFields,
)
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_terms import Literal, Member, Triple, Variable
from storage.kip.language.check_values import plain
from storage.kip.language.command import read
from tests.differential.evaluator import Refused, answer
from tests.differential.model import Graph, frozen

SUITE = Path(__file__).resolve().parents[3] / "shared" / "kip" / "engine-suite"
FILES = ("reads", "query-scope-contracts")


def _cases() -> Iterator[Any]:
    if not SUITE.exists():
        yield pytest.param({}, [], id="no-suite", marks=pytest.mark.skip("no suite beside this"))
        return
    for name in FILES:
        fixture = json.loads((SUITE / f"{name}.json").read_text(encoding="utf-8"))
        before = list(fixture["setup"])
        for case in fixture["cases"]:
            text = case["command"]
            if text.startswith("MUTATE"):
                before.append(text)
            elif ":" not in text.partition("WHERE")[0] and not _has_parameters(text):
                yield pytest.param(case, list(before), id=f"{name}: {case['name']}")


def _has_parameters(text: str) -> bool:
    try:
        return bool(read(text).parameters)
    except KipError:
        return False


def load(graph: Graph, text: str) -> None:
    """Write the creations of one MUTATE into a graph."""
    statement = read(text).statement
    assert isinstance(statement, Mutate)
    handles: dict[str, str] = {}
    for one in statement.statements:
        match one:
            case CreateConcept(handle, Literal(type_name), _, name, actions):
                attributes: dict[str, Any] = {}
                for action in actions:
                    assert isinstance(action, SetAttributes)
                    attributes |= {m.name: plain(m.value) for m in action.members}
                made = graph.add_concept(
                    str(type_name),
                    name=plain(name) if name is not None else None,
                    attributes=attributes,
                )
                handles[handle.name] = made["id"]
            case EnsureProposition(handle, Triple(Variable(s), Literal(p), Variable(o))):
                assert handle is not None
                made = graph.add_proposition(handles[s], str(p), {"id": handles[o]})
                handles[handle.name] = made["id"]
            case CreateRecord("ASSERTION", handle, _, (SetFields(members),)):
                fields = {member.name: _field(member, handles) for member in members}
                made = graph.add_assertion(
                    fields.pop("proposition"), fields.pop("asserted_by"), **fields
                )
                handles[handle.name] = made["id"]
            case _:
                raise AssertionError(f"not loaded: {one}")


def _field(member: Member, handles: dict[str, str]) -> Any:
    if isinstance(member.value, Variable):
        return handles[member.value.name]
    return plain(member.value)


def _query(text: str) -> Find:
    query = read(text).statement
    assert isinstance(query, Find)
    return query


@pytest.mark.parametrize(("case", "before"), list(_cases()))
def test_the_evaluator_answers_the_public_cases(case: dict[str, Any], before: list[str]) -> None:
    graph = Graph()
    graph.schema = graph.schema.with_draft(
        DefineSymbol("concept_type", "Option", {"description": "A preference option."})
    )
    for text in before:
        load(graph, text)
    if "error" in case["expect"]:
        with pytest.raises((KipError, Refused)) as refused:
            answer(graph, _query(case["command"]))
        assert getattr(refused.value, "code", None) == case["expect"]["error"]
        return
    found = answer(graph, _query(case["command"]))
    wanted = case["expect"]["result"]
    if "C:<1>" in str(wanted):
        wanted = json.loads(json.dumps(wanted).replace("C:<1>", "C-2"))
    if case.get("ordered"):
        assert found == wanted
    else:
        assert sorted(map(repr, map(frozen, found))) == sorted(map(repr, map(frozen, wanted)))
