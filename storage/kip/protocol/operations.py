"""What the operations of a request ask for, known from their parse before any of them runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from storage.canonical import digest
from storage.kip.binding import bind
from storage.kip.errors import (
    InvalidRequestEnvelope,
    KipError,
    LanguageMismatch,
    ReadonlyViolation,
    UnsupportedCapability,
)
from storage.kip.language.ast_kml import Define
from storage.kip.language.command import Command, Statement, place, read
from storage.kip.language.printer import printed
from storage.kip.protocol.envelope import Operation, Request


@dataclass(frozen=True, slots=True)
class Prepared:
    """An operation that was parsed: a command, or the error that its text deserves."""

    operation: Operation
    command: Command | None = None
    error: KipError | None = None

    @property
    def writes(self) -> bool:
        """Whether it changes memory."""
        return self.command is not None and self.command.mutating

    @property
    def mints(self) -> bool:
        """Whether it opens a transaction that evidence can be made in; DEFINE stands alone."""
        return self.writes and not (
            self.command is not None and isinstance(self.command.statement, Define)
        )


def prepare(request: Request, *, readonly: bool) -> tuple[Prepared, ...]:
    """Parse every operation, and refuse the request as a whole if it may not run here at all.

    Raises `ReadonlyViolation` for a mutation where only reading is allowed, however it is labelled,
    and `InvalidRequestEnvelope` for ingested evidence that no transaction, or several without a
    client key, would make.
    """
    prepared = tuple(_prepared(operation) for operation in request.operations)
    if readonly:
        _only_reads(request, prepared)
    if request.ingest:
        _minted_once(request, prepared)
    return prepared


def _prepared(operation: Operation) -> Prepared:
    if operation.command is None:
        return Prepared(
            operation,
            error=UnsupportedCapability(
                "This server takes commands as text.", data={"hint": "Send command, not ast."}
            ),
        )
    try:
        command = read(operation.command)
    except KipError as error:
        return Prepared(operation, error=error)
    except RecursionError:
        return Prepared(operation, error=too_deep())
    if operation.language not in (None, command.language):
        mismatch = LanguageMismatch(
            f"The command is {command.language}, and its label says {operation.language}."
        )
        return Prepared(operation, command, mismatch)
    return Prepared(operation, command)


def too_deep() -> KipError:
    """The error for a command whose parts hold one another too deep for it to be worked on."""
    from storage.kip.errors import ResourceExhausted

    return ResourceExhausted("The command is nested too deep, or one of its chains is too long.")


def _only_reads(request: Request, prepared: tuple[Prepared, ...]) -> None:
    for one in prepared:
        if one.writes:
            kind = one.command.kind if one.command is not None else ""
            raise ReadonlyViolation(f"{kind} changes memory, and only reading is allowed here.")
    if request.ingest:
        raise InvalidRequestEnvelope("Only reading is allowed here: nothing can be ingested.")


def _minted_once(request: Request, prepared: tuple[Prepared, ...]) -> None:
    """Each entry is one evidence, whichever operations cite it."""
    minting = sum(one.mints for one in prepared)
    if minting == 0 and all(one.command is not None for one in prepared):
        raise InvalidRequestEnvelope(
            "No operation of the request opens a transaction that evidence could be made in.",
            data={"hint": "Leave ingest out, or add a mutation."},
        )
    if minting > 1 and any(entry.client_key is None for entry in request.ingest):
        raise InvalidRequestEnvelope(
            "Several operations write: every ingested entry needs a client_key.",
            data={"hint": "Without one, each transaction would make the evidence anew."},
        )


def bound(
    one: Prepared,
    parameters: Mapping[str, Any],
    *,
    minted: Mapping[str, str] | None = None,
) -> Statement:
    """The statement of an operation with its parameters in place.

    `minted` is for `binding.bind`. Raises the operation's own error, and what `bind` raises, with
    a line and a column.
    """
    if one.error is not None:
        raise one.error
    assert one.command is not None
    try:
        return bind(one.command.statement, parameters, minted=minted)
    except KipError as error:
        if one.operation.command is not None:
            place(error, one.operation.command)
        raise


def request_digest(request: Request, one: Prepared) -> str:
    """What tells two requests apart that use one idempotency key.

    The command counts by what it says, not by how it is spaced; parameters that it does not use
    do not count, ingested evidence does.
    """
    assert one.command is not None
    try:
        text = printed(one.command.statement)
    except RecursionError:
        text = one.operation.command or ""
    used = one.command.parameters
    return digest(
        {
            "command": text,
            "parameters": {
                name: value for name, value in one.operation.parameters.items() if name in used
            },
            "ingest": [dict(entry.raw) for entry in request.ingest],
            "preconditions": [request.expected_seq, request.expected_env_version],
        }
    )
