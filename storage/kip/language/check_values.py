"""Checks of values that the language itself knows.

Each check takes what stands in a place of the text, and passes over anything but literals: what a
parameter stands for is known only when a request binds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from storage.graph.validity import ValidTime, instant
from storage.kip.errors import (
    ConstraintViolation,
    CursorInvalid,
    InvalidSyntax,
    KipError,
    TypeMismatch,
    fault,
)
from storage.kip.language.ast_expressions import Call
from storage.kip.language.ast_terms import (
    ArrayValue,
    Literal,
    Member,
    Node,
    ObjectValue,
    Path,
    Variable,
)
from storage.kip.language.walking import walk

_TIMES = "Write UTC with three digits after the second: 2026-03-29T08:00:00.000Z."


class _Open(Exception):
    """A value is not known before the parameters are."""


def plain(value: object) -> Any:
    """A value of literals alone as JSON has it. Raises `_Open` for any other."""
    match value:
        case Literal(given):
            return given
        case ArrayValue(items):
            return [plain(item) for item in items]
        case ObjectValue(members):
            return {member.name: plain(member.value) for member in members}
    raise _Open


@contextmanager
def located(at: int) -> Iterator[None]:
    """Errors about times, which other modules raise, get their place in the text."""
    try:
        yield
    except KipError as error:
        if "offset" in error.data:
            raise
        raise fault(type(error), error.message, at, hint=_TIMES) from None


def count(value: Node | None, what: str) -> None:
    """A non-negative integer. Raises `TypeMismatch`."""
    if isinstance(value, Literal) and (
        isinstance(value.value, bool) or not isinstance(value.value, int) or value.value < 0
    ):
        raise fault(
            TypeMismatch,
            f"{what} takes a non-negative integer.",
            value.at,
            hint="Write 0 or more, without a fraction.",
        )


def text(value: Node | None, what: str) -> None:
    """A string that is not empty. Raises `TypeMismatch`, `ConstraintViolation`."""
    if isinstance(value, Literal):
        if not isinstance(value.value, str):
            raise fault(
                TypeMismatch,
                f"{what} takes a string.",
                value.at,
                hint="Put it into double quotes, or pass a :parameter.",
            )
        if not value.value:
            raise fault(
                ConstraintViolation,
                f"{what} is empty.",
                value.at,
                hint="Put something between the quotes.",
            )


def cursor(value: Node | None) -> None:
    """A cursor. Raises `CursorInvalid`: cursors are strings, and none is empty."""
    if isinstance(value, Literal) and not (isinstance(value.value, str) and value.value):
        raise fault(CursorInvalid, "That is no cursor.", value.at)


def share(value: Node | None, what: str) -> None:
    """A number from 0 to 1. Raises `TypeMismatch`, `ConstraintViolation`."""
    if isinstance(value, Literal):
        number = value.value
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise fault(
                TypeMismatch,
                f"{what} takes a number.",
                value.at,
                hint="Write a number such as 0.8.",
            )
        if not 0 <= number <= 1:
            raise fault(
                ConstraintViolation,
                f"{what} lies between 0 and 1.",
                value.at,
                hint="Write a number such as 0.8.",
            )


def choice(value: Node | None, what: str, choices: frozenset[str]) -> None:
    """One of these strings. Raises `TypeMismatch`, `ConstraintViolation`."""
    text(value, what)
    if isinstance(value, Literal) and value.value not in choices:
        spelled = ", ".join(f'"{one}"' for one in sorted(choices))
        raise fault(
            ConstraintViolation, f"{what} is none of {spelled}.", value.at, hint="Use one of them."
        )


def truth(value: Node | None, what: str) -> None:
    """true or false. Raises `TypeMismatch`."""
    if isinstance(value, Literal) and not isinstance(value.value, bool):
        raise fault(
            TypeMismatch,
            f"{what} takes true or false.",
            value.at,
            hint="Write true or false, without quotes.",
        )


def time(value: Node | None, what: str, *, nullable: bool = False) -> None:
    """`YYYY-MM-DDTHH:mm:ss.SSSZ`. Raises `TypeMismatch`, `ConstraintViolation`."""
    if isinstance(value, Literal) and not (nullable and value.value is None):
        with located(value.at):
            instant(value.value, what)


def interval(value: Node | None) -> None:
    """`{from?, until?}`, as far as it is known. Raises `TypeMismatch`, `ConstraintViolation`."""
    if isinstance(value, Literal) and value.value is not None:
        raise fault(TypeMismatch, "A valid time is an object with from and until.", value.at)
    if not isinstance(value, ObjectValue):
        return
    known: dict[str, Any] = {}
    for member in value.members:
        with located(member.at):
            try:
                known[member.name] = plain(member.value)
            except _Open:
                _partial_bound(member)
                ValidTime.from_json({member.name: None})
            else:
                ValidTime.from_json({member.name: known[member.name]})
    with located(value.at):
        stated = ValidTime.from_json(known)
        if isinstance(known.get("from"), str):
            stated.check(instant(known["from"], "valid_time.from"))


def _partial_bound(member: Member) -> None:
    """A bound of which one limit is a parameter."""
    if isinstance(member.value, ObjectValue):
        for limit in member.value.members:
            if limit.name not in ("earliest", "latest"):
                raise fault(
                    ConstraintViolation,
                    f"valid_time.{member.name} takes earliest and latest.",
                    limit.at,
                )
            if isinstance(limit.value, Literal):
                time(limit.value, f"valid_time.{member.name}.{limit.name}", nullable=True)


def closed(value: ObjectValue | None, what: str) -> None:
    """Options and definitions take literals and parameters alone. Raises `InvalidSyntax`."""
    if value is None:
        return
    for node in walk(value):
        if isinstance(node, Variable | Path | Call):
            raise fault(
                InvalidSyntax,
                f"{what} takes literals and parameters alone.",
                node.at,
                hint="Bind the value as a :parameter.",
            )


def member(members: tuple[Member, ...], name: str) -> Member | None:
    """The member of that name."""
    return next((one for one in members if one.name == name), None)
