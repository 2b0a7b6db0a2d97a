"""Every query text that the parser takes ends in an answer or in an error of the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from storage.database import Database, Scope
from storage.kip.binding import bind
from storage.kip.errors import REGISTRY, KipError
from storage.kip.language.ast_kql import Find
from storage.kip.language.command import read
from storage.kip.query.find import find
from storage.kip.snapshot import open_snapshot
from tests.integration.test_kip_query import people as people

CASES = Path(__file__).resolve().parents[3] / "shared" / "kip" / "parse-cases.jsonl"
VALUES: list[Any] = ["alice", 1, {"id": "C-1"}, "2026-03-01T00:00:00.000Z", [], None]


def texts() -> Iterator[str]:
    """The queries among the cases."""
    if not CASES.exists():
        return
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["expect"] == "accept" and case.get("language") == "KQL":
            yield case.get("text") or case["command"]


@pytest.mark.skipif(not CASES.exists(), reason="no cases beside this checkout")
def test_every_query_ends_in_an_answer_or_an_error(
    database: Database, space: str, people: dict[str, str]
) -> None:
    tried, answered, odd = 0, 0, []
    for text in texts():
        command = read(text)
        for value in VALUES if command.parameters else VALUES[:1]:
            tried += 1
            try:
                query = bind(command.statement, dict.fromkeys(command.parameters, value))
                assert isinstance(query, Find)
                with database.transaction(Scope(space), snapshot=True) as tx:
                    find(open_snapshot(tx, Scope(space)), query, caller="tester")
                answered += 1
            except KipError as error:
                if error.code not in REGISTRY:
                    odd.append((text, value, error.code))
            except Exception as error:
                odd.append((text, value, f"{type(error).__name__}: {error}"[:300]))
    assert not odd, f"{len(odd)} of {tried}: {odd[:5]}"
    assert answered > 20
