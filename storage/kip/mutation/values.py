"""What SET writes: plain values, and those that UPDATE computes from what its target holds.

ADD, MUL, COALESCE and CLAMP read the target as it was before the transaction. A computed value that
is null or no number writes nothing; one that no portable number can hold fails (contract section
5).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from storage.graph.errors import ConstraintViolation, KipError
from storage.graph.schema import Schema, lineage_of
from storage.kip.errors import UnsupportedCapability, fault
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
from storage.kip.language.literals import SAFE_INTEGER
from storage.kip.mutation.references import Row


class _Nothing:
    """The type of `NOTHING`."""


#: What a computed value is that is not to be written.
NOTHING: Final = _Nothing()


class Values:
    """Evaluates the values of one statement for one target.

    `document` is the target as `?x` projects it, None for one that this transaction makes.
    """

    def __init__(
        self, schema: Schema, row: Row | None = None, document: Mapping[str, Any] | None = None
    ) -> None:
        self.schema, self.row, self.document = schema, row or {}, document

    def members(self, members: Iterable[Member]) -> dict[str, Any]:
        """The members that are to be written, by name."""
        values = {member.name: self.of(member.value) for member in members}
        return {name: value for name, value in values.items() if value is not NOTHING}

    def of(self, node: Node) -> Any:
        """A value as JSON, or `NOTHING`.

        Raises `ConstraintViolation` when a number grows too large, `UnsupportedCapability` for a
        handle: an element has no id before its transaction has ended.
        """
        match node:
            case Literal(value):
                return value
            case ArrayValue(items):
                return [self._inner(item) for item in items]
            case ObjectValue(members):
                return {member.name: self._inner(member.value) for member in members}
            case Variable(name) if name in self.row:
                return self.row[name]
            case Path(_, steps):
                found = self._read(steps)
                return NOTHING if found is None else found
            case Call():
                result = self._compute(node)
                return NOTHING if result is None else result
        raise fault(
            UnsupportedCapability,
            "A value cannot hold an element that its own transaction makes.",
            node.at,
            hint="SET STRUCTURAL refers to elements; or write the value afterwards, by id.",
        )

    def _inner(self, node: Node) -> Any:
        value = self.of(node)
        return None if value is NOTHING else value

    def _compute(self, call: Call) -> int | float | None:
        """The number that a call comes to, None if it comes to none."""
        given = [self._operand(argument) for argument in call.arguments]
        if call.name == "COALESCE":
            given = [next((one for one in given if one is not None), None)]
        if any(not _is_number(one) for one in given):
            return None
        result: int | float
        match call.name, given:
            case "COALESCE", [int() | float() as first]:
                result = first
            case "ADD", [int() | float() as a, int() | float() as b]:
                result = a + b
            case "MUL", [int() | float() as a, int() | float() as b]:
                result = a * b
            case "CLAMP", [int() | float() as x, int() | float() as low, int() | float() as high]:
                if low > high:
                    raise fault(ConstraintViolation, "CLAMP has its limits reversed.", call.at)
                result = min(max(x, low), high)
            case _:
                raise AssertionError(call.name)
        return _portable(result, call)

    def _operand(self, node: Node) -> Any:
        value = self.of(node)
        return None if value is NOTHING else value

    def _read(self, steps: tuple[str, ...]) -> Any:
        found: Any = self.document
        for position, step in enumerate(steps):
            if not isinstance(found, Mapping):
                return None
            if position == 1 and steps[0] == "facets":
                found = self._facet(found, step)
            else:
                found = found.get(step)
        return found

    def _facet(self, facets: Mapping[str, Any], name: str) -> Any:
        """A facet is stored under the exact ref that it was written with; the lineage matches."""
        try:
            lineage = self.schema.facet(name).lineage
        except KipError:
            return None
        return next((held for ref, held in facets.items() if lineage_of(ref) == lineage), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _portable(number: int | float, call: Call) -> int | float:
    if not math.isfinite(number) or (float(number).is_integer() and abs(number) > SAFE_INTEGER):
        raise fault(
            ConstraintViolation,
            f"{call.name} comes to a number that is not the same everywhere.",
            call.at,
            hint="Keep the operands smaller, or CLAMP them.",
        )
    return int(number) if float(number).is_integer() else number
