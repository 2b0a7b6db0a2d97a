"""`brainstem kip …`: the language of memory, past the HTTP interface."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from deploy.commands.options import DataOption


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

    @group.command("run")
    def run(
        space: Annotated[str, typer.Option("--space", metavar="SPACE", help="Where to run it.")],
        command: Annotated[
            str | None,
            typer.Argument(help="One command; without it, --file or standard input is read."),
        ] = None,
        file: Annotated[
            Path | None,
            typer.Option("--file", exists=True, dir_okay=False, help="Holds the command."),
        ] = None,
        parameters: Annotated[
            str | None, typer.Option("--parameters", metavar="JSON", help="Values of :parameters.")
        ] = None,
        write: Annotated[
            bool,
            typer.Option("--write", help="Let it change memory; makes the space if need be."),
        ] = False,
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Check and plan a change, commit nothing.")
        ] = False,
        jsonl: Annotated[
            bool,
            typer.Option(
                "--jsonl", help="Read a request a line from standard input, answer one line each."
            ),
        ] = False,
        as_json: Annotated[
            bool, typer.Option("--json", help="The whole answer as one JSON object.")
        ] = False,
        data: DataOption = None,
    ) -> None:
        """Run a command as the operator, who may do everything that --write allows.

        A text that begins with a brace is a whole request. With --jsonl a line is such a request,
        mostly `{"command": …, "parameters": …}`. Exits with 1 if an answer's status is another
        than `succeeded`.
        """
        from deploy.kip import running

        if jsonl and (command or file or parameters or dry_run):
            raise typer.BadParameter("--jsonl reads standard input, and each line says it all")
        if command and file:
            raise typer.BadParameter("give a command or a file, not both")
        with running.opened(space, write=write, data=data) as session:
            if jsonl:
                good = session.lines(sys.stdin.buffer, sys.stdout)
            else:
                text = command or (file.read_bytes() if file else sys.stdin.buffer.read())
                request = running.request_of(text, parameters, dry_run=dry_run)
                good = session.one(request, as_json=as_json)
        raise typer.Exit(0 if good else 1)

    @group.command("suite")
    def suite(
        folder: Annotated[Path, typer.Argument(metavar="DIR", exists=True, file_okay=False)],
        as_json: Annotated[
            bool, typer.Option("--json", help="One JSON object a line, for programs.")
        ] = False,
        data: DataOption = None,
    ) -> None:
        """Run a folder of conformance fixtures, each in a space of its own.

        Tells the counts of each fixture and every case that failed; the last line is the sum.
        Exits with 1 if a case failed.
        """
        from deploy.kip import running

        raise typer.Exit(0 if running.suite(folder, as_json=as_json, data=data) else 1)


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
