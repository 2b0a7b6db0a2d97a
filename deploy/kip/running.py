"""Running KIP on a data folder, whether or not a server runs on it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from deploy.kip import printing
from deploy.kip import suite as fixtures
from deploy.services import attached
from storage import settings, spaces
from storage.database import database
from storage.errors import BrainError, InvalidInput, NotFound
from storage.kip.errors import KipError
from storage.kip.language.command import Command, read
from storage.kip.protocol import answers
from storage.kip.protocol.caller import Caller, trusted
from storage.kip.protocol.execute import execute
from storage.kip.protocol.faults import as_error
from storage.kip.protocol.strict_json import decode

#: As whom the command line writes.
PRINCIPAL = "$operator"


@dataclass(frozen=True, slots=True)
class Session:
    """A space that is open for commands."""

    caller: Caller
    write: bool

    def answer(self, request: Any) -> dict[str, Any]:
        """The response to a request; an outage is an error in it."""
        try:
            return execute(request, self.caller, readonly=not self.write)
        except BrainError as error:
            return answers.refused(None, None, as_error(error))

    def lines(self, requests: Iterable[bytes], out: TextIO) -> bool:
        """Answer a request a line; whether all succeeded."""
        good = True
        for line in requests:
            if not line.strip():
                continue
            try:
                told = self.answer(decode(line))
            except KipError as error:
                told = answers.refused(None, None, error)
            good &= told["status"] == "succeeded"
            print(json.dumps(told, ensure_ascii=False), file=out, flush=True)
        return good

    def one(self, request: Any, *, as_json: bool) -> bool:
        """Answer one request, as JSON or for people; whether it succeeded."""
        told = self.answer(request)
        if as_json:
            print(json.dumps(told, ensure_ascii=False))
        else:
            console = Console()
            if "error" in told:
                printing.show(console, None, told)
            if told.get("error", {}).get("code") == "ReadonlyViolation":
                console.print("At the command line: say --write.")
            for result, command in zip(told["results"], _commands(request), strict=False):
                printing.show(console, command, result)
        return bool(told["status"] == "succeeded")


def _commands(request: Any) -> Iterator[Command | None]:
    """The commands of a request, as far as they can be read; None for those that cannot."""
    from storage.kip.protocol.normalise import normalise

    for operation in normalise(request)["operations"]:
        try:
            yield read(operation["command"])
        except (KipError, KeyError, TypeError):
            yield None


def request_of(text: str | bytes, parameters: str | None, *, dry_run: bool) -> Any:
    """The request that a text stands for: one in JSON, or one command.

    Raises `InvalidInput` when there is no text or it is not UTF-8, and a `KipError` for bad JSON.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidInput("The command is not UTF-8.") from None
    if not text.strip():
        raise InvalidInput("There is no command: give one, or --file, or standard input.")
    if text.lstrip().startswith("{"):
        if parameters or dry_run:
            raise InvalidInput("A whole request says its parameters and dry_run itself.")
        return decode(text)
    request: dict[str, Any] = {"command": text}
    if parameters is not None:
        request["parameters"] = decode(parameters)
    if dry_run:
        request["dry_run"] = True
    return request


@contextmanager
def opened(space: str, *, write: bool, data: Path | None) -> Iterator[Session]:
    """A session on a space, which is made if it is to be written to and not there yet.

    Raises `NotFound` for a space that is not there and only to be read.
    """
    caller = trusted(spaces.scope_of(space).space_id, PRINCIPAL)
    with attached(data):
        with database().transaction(caller.scope) as tx:
            if spaces.find(tx, caller.scope) is None:
                if not write:
                    raise NotFound(
                        f"There is no space {space!r}: say --write to make it, "
                        "or see `brainstem space list`."
                    )
                spaces.create(tx, caller.scope, owner="anonymous")
        yield Session(caller, write)


def suite(folder: Path, *, as_json: bool, data: Path | None) -> bool:
    """Run the fixtures of a folder and tell what came of them; whether none failed.

    Searching by meaning is off: a conformance run downloads no model.
    """
    os.environ["BRAINSTEM_EMBEDDER"] = "none"
    settings.reload()
    total = {"passed": 0, "failed": 0, "unsupported": 0}
    with attached(data):
        for fixture in fixtures.fixtures(folder):
            report = fixtures.run(fixture)
            for status in total:
                total[status] += report.count(status)
            _tell(report, as_json=as_json)
    if as_json:
        print(json.dumps(total))
    else:
        print(", ".join(f"{count} {status}" for status, count in total.items()))
    return total["failed"] == 0


def _tell(report: fixtures.Report, *, as_json: bool) -> None:
    counts = {status: report.count(status) for status in ("passed", "failed", "unsupported")}
    if as_json:
        told = {"fixture": report.fixture, "pending": report.pending, **counts}
        print(json.dumps(told), flush=True)
    else:
        summary = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        print(f"{report.fixture:<28} {summary}{' (pending)' if report.pending else ''}", flush=True)
    for verdict in report.verdicts:
        if verdict.status != "failed":
            continue
        if as_json:
            case = {
                "fixture": report.fixture,
                "case": verdict.name,
                "expected": verdict.expected,
                "got": verdict.got,
            }
            print(json.dumps(case, ensure_ascii=False), flush=True)
        else:
            print(f"  failed: {verdict.name}")
            print(f"    expected {json.dumps(verdict.expected, ensure_ascii=False)}")
            print(f"    got      {json.dumps(verdict.got, ensure_ascii=False)}", flush=True)
