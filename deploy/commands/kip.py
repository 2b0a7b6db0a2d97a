"""`brainstem kip …`: the language of memory, past the HTTP interface."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="KIP 2.0, the language of memory.")
    app.add_typer(group, name="kip", no_args_is_help=True)

    @group.command("check")
    def check(
        jsonl: Annotated[bool, typer.Option("--jsonl", help="Read and write JSON lines.")] = False,
    ) -> None:
        """Say of each JSON string, a command, on standard input whether it is one.

        Answers `{"ok":true,"language","kind","mutating"}` or `{"ok":false,"code","message",
        "hint","line","column"}`, one line each; needs no database. Exits with 1 if a line was no
        JSON string; commands that are refused are answers, not failures.
        """
        if not jsonl:
            raise typer.BadParameter("say --jsonl: one JSON string a line is all it reads")
        failed = False
        for line in sys.stdin.buffer:
            if not line.strip():
                continue
            told = check_line(line)
            failed |= told.get("code") == "InvalidRequestEnvelope"
            print(json.dumps(told), flush=True)
        raise typer.Exit(1 if failed else 0)


def check_line(line: bytes) -> dict[str, Any]:
    """The answer to one line."""
    from storage.kip.errors import InvalidRequestEnvelope, KipError
    from storage.kip.language.command import read

    try:
        try:
            text = json.loads(line)
        except (ValueError, RecursionError):
            text = None
        if not isinstance(text, str):
            raise InvalidRequestEnvelope(
                "A line must hold one JSON string.", data={"hint": "Quote the command as JSON."}
            )
        command = read(text)
    except KipError as error:
        return {
            "ok": False,
            "code": error.code,
            "message": error.message,
            "hint": error.data.get("hint"),
            "line": error.data.get("line"),
            "column": error.data.get("column"),
        }
    return {
        "ok": True,
        "language": command.language,
        "kind": command.kind,
        "mutating": command.mutating,
    }
