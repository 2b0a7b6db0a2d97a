"""`brainstem kip check --jsonl`, as a program calls it."""

from __future__ import annotations

import json
from typing import Any

import typer
from typer.testing import CliRunner

from deploy.commands.kip import register
from tests.unit.kip.commands import VALID


def checked(lines: bytes) -> tuple[int, list[dict[str, Any]]]:
    app = typer.Typer()
    register(app)
    result = CliRunner().invoke(app, ["kip", "check", "--jsonl"], input=lines)
    return result.exit_code, [json.loads(line) for line in result.output.splitlines()]


def test_commands_are_answered_line_by_line() -> None:
    texts = ["DESCRIBE PRIMER", "FIND(?x)\nWHERE { ?x {a: b} }", 'TRANSITION :x TO "archived"']
    code, told = checked("\n".join(map(json.dumps, texts)).encode())
    assert code == 0
    assert told[0] == {"ok": True, "language": "META", "kind": "DESCRIBE", "mutating": False}
    assert told[1]["ok"] is False
    assert (told[1]["code"], told[1]["line"], told[1]["column"]) == ("InvalidSyntax", 2, 16)
    assert told[2] == {"ok": True, "language": "KML", "kind": "TRANSITION", "mutating": True}


def test_every_valid_command_is_ok() -> None:
    code, told = checked("\n".join(map(json.dumps, VALID)).encode())
    assert code == 0
    assert [line["ok"] for line in told] == [True] * len(VALID)


def test_lines_that_hold_no_string_are_answered_too() -> None:
    lines = [b"{", b"12", b"[" * 100_000, b'"\xff"', b'"\\ud800"', b"null", b"9" * 10_000]
    code, told = checked(b"\n".join(lines))
    assert code == 1
    assert [line["ok"] for line in told] == [False] * len(lines)
    assert told[4]["code"] == "InvalidSyntax"
    assert {line["code"] for line in told[:4]} == {"InvalidRequestEnvelope"}
