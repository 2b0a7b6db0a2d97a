"""`brainstem encode --jsonl`: what the built-in encoder makes of conversations, line by line."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer
from pydantic import TypeAdapter

from deploy.commands.options import DataOption
from deploy.services import attached
from storage.database import database
from storage.errors import BrainError, InvalidInput


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def encode(
        jsonl: bool = typer.Option(False, "--jsonl", help="Read and write JSON lines."),
        data: DataOption = None,
    ) -> None:
        """Form each `{"id", "messages"}` line of standard input in a space of its own.

        Answers `{"id", "claims", "commitments", "constraints"}`, or `{"id", "error"}` for a line
        that is no conversation; exits with 1 if there was such a line. The spaces are deleted.
        """
        if not jsonl:
            raise typer.BadParameter("say --jsonl: one JSON object a line is all it reads")
        failed = False
        with attached(data):
            for line in sys.stdin:
                if not line.strip():
                    continue
                told = encode_line(line)
                failed |= "error" in told
                print(json.dumps(told, ensure_ascii=False), flush=True)
        raise typer.Exit(1 if failed else 0)


def encode_line(line: str) -> dict[str, Any]:
    """Form one line's messages and read back what memory then holds."""
    from api.memory.inputs import FormationInput
    from api.validation import validated
    from pipelines.formation.alone import rehearse
    from pipelines.formation.builtin import BuiltinEncoder

    case: Any = None
    try:
        try:
            case = json.loads(line)
        except json.JSONDecodeError:
            raise InvalidInput("A line must hold one JSON object.") from None
        if not isinstance(case, dict):
            raise InvalidInput("A line must hold one JSON object.")
        adapter = TypeAdapter(FormationInput)
        given: FormationInput = validated(adapter, {"messages": case.get("messages")})
        messages = [dict(message) for message in given.messages]
        return {"id": case.get("id"), **rehearse(database(), messages, BuiltinEncoder())}
    except BrainError as error:
        return {"id": case.get("id") if isinstance(case, dict) else None, "error": error.message}
