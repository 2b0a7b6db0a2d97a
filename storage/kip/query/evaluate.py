"""Expressions on solutions in memory: the same three-valued rules as `expressions`, in Python.

Only queries with beliefs need it, since beliefs are worked out here and not in the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from storage.canonical import canonical_json
from storage.kip.errors import ConstraintViolation, InvalidSyntax, TypeMismatch, fault
from storage.kip.language.ast_expressions import Binary, Call, Expression, Unary
from storage.kip.language.ast_terms import (
    ArrayValue,
    Literal,
    Node,
    ObjectValue,
    Path,
    Variable,
)
from storage.kip.language.check_values import plain
from storage.kip.language.walking import every
from storage.kip.query import facets, regex
from storage.kip.query.documents import documents
from storage.kip.query.fields import dig, kind_name, kind_of
from storage.kip.query.relation import Build
from storage.kip.snapshot import Snapshot

_KINDS = frozenset({"concept", "proposition", "assertion", "evidence", "activity"})


@dataclass(frozen=True, slots=True)
class Element:
    """A variable stands for an element; a search gives it a score."""

    id: str
    score: float | None = field(default=None, compare=False)
    mode: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A variable stands for a JSON value: a literal, a reference, a belief."""

    json: Any
    lineage: str | None = None

    @property
    def key(self) -> str:
        """The same text for the same value."""
        return canonical_json(self.json)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


Bound = Element | Held
Solution = Mapping[str, Bound]


class Evaluator:
    """Reads expressions from solutions; documents are loaded once for all of them."""

    def __init__(self, snapshot: Snapshot, merges: bool) -> None:
        self.snapshot, self.merges = snapshot, merges
        self._documents: dict[str, Any] = {}
        self._matched: dict[tuple[str, str], bool] = {}
        self._build = Build(snapshot, merges)

    def prepare(self, expressions: Iterable[Node], solutions: Sequence[Solution]) -> None:
        """Load the documents that paths of these expressions read."""
        names = {path.variable.name for one in expressions for path in every(one, Path)}
        self.load(names, solutions)

    def load(self, names: Iterable[str], solutions: Sequence[Solution]) -> None:
        """Load the documents of the elements that these variables stand for."""
        wanted = {
            bound.id
            for solution in solutions
            for name in names
            if isinstance(bound := solution.get(name), Element)
        }
        wanted -= self._documents.keys()
        if wanted:
            found = documents(self.snapshot, wanted, merges=self.merges)
            self._documents.update({one: found.get(one) for one in wanted})

    def document(self, element: Element) -> Any:
        """A loaded document."""
        return self._documents.get(element.id)

    def truth(self, expression: Expression, solution: Solution) -> bool | None:
        """Whether a condition holds; None where that is unknown."""
        found = self.value(expression, solution)
        return found if isinstance(found, bool) else None

    def value(self, expression: Expression | Path, solution: Solution) -> Any:
        """A JSON value, an `Element`, or None for null and unknown."""
        match expression:
            case Variable(name):
                bound = solution.get(name)
                return bound.json if isinstance(bound, Held) else bound
            case Path(Variable(name), steps):
                return self._path(solution.get(name), steps)
            case Literal() | ObjectValue():
                return plain(expression)
            case ArrayValue(items):
                return [self.value(item, solution) for item in items]  # type: ignore[arg-type]
            case Unary("-", operand):
                number = self.value(operand, solution)
                return -number if is_number(number) else None
            case Unary(_, operand):
                truth = self.truth(operand, solution)
                return None if truth is None else not truth
            case Binary("&&" | "||" as operator, left, right):
                both = self.truth(left, solution), self.truth(right, solution)
                decisive = operator == "||"
                if decisive in both:
                    return decisive
                return None if None in both else not decisive
            case Binary(operator, left, right):
                return compared(operator, self.value(left, solution), self.value(right, solution))
            case Call():
                return self._call(expression, solution)
        raise AssertionError(f"no expression: {expression}")

    def _path(self, bound: Bound | None, steps: Sequence[str]) -> Any:
        if bound is None:
            return None
        if isinstance(bound, Held):
            return dig(bound.json, steps)
        if steps[0] == "retrieval" and bound.score is not None:
            return dig({"retrieval": {"score": bound.score, "mode": bound.mode}}, steps)
        document = self.document(bound)
        if steps[0] == "facets" and len(steps) > 1 and document is not None:
            held = document.get("facets") or {}
            for ref in facets.refs_of(self._build, steps[1]):
                if ref in held:
                    return dig(held[ref], steps[2:])
            return None
        return dig(document, steps)

    def _call(self, call: Call, solution: Solution) -> Any:
        first = self.value(call.arguments[0], solution)
        match call.name:
            case "IS_NULL":
                return first is None
            case "IS_NOT_NULL":
                return first is not None
            case "IS_KIND":
                wanted = _kind(call)
                return None if first is None else _is_kind(first, wanted)
            case "REGEX":
                return self._regex(first, call.arguments[1])
        if first is None:
            return None
        match call.name:
            case "IS_ELEMENT":
                return isinstance(first, Element)
            case "IS_LITERAL":
                return not isinstance(first, Element | dict | list)
            case "LITERAL_TYPE":
                return _literal_type(first)
        second = self.value(call.arguments[1], solution)
        if call.name == "IN":
            if not isinstance(second, list):
                return None
            return any(compared("==", first, one) is True for one in second)
        if not isinstance(first, str) or not isinstance(second, str):
            return None
        match call.name:
            case "CONTAINS":
                return second in first
            case "STARTS_WITH":
                return first.startswith(second)
            case "ENDS_WITH":
                return first.endswith(second)
        raise fault(InvalidSyntax, f"There is no function {call.name} here.", call.at)

    def _regex(self, first: Any, pattern: Expression) -> bool | None:
        """Matched by the database, so that there is one dialect; each pair once."""
        if not isinstance(pattern, Literal):
            raise fault(InvalidSyntax, "The pattern of REGEX is a string.", pattern.at)
        if not isinstance(first, str) or not isinstance(pattern.value, str):
            return None
        key = first, pattern.value
        if key not in self._matched:
            regex.check(self.snapshot.tx, pattern.value, pattern.at)
            row = self.snapshot.tx.execute("select %s::text ~ %s::text", key).fetchone()
            assert row is not None
            self._matched[key] = row[0]
        return self._matched[key]


def is_number(found: Any) -> bool:
    """Whether a JSON value is a number; true and false are none."""
    return isinstance(found, int | float) and not isinstance(found, bool)


def compared(operator: str, left: Any, right: Any) -> bool | None:
    """A comparison; unknown with null, and where the operator is an order between unlike types."""
    if left is None or right is None:
        return None
    if operator in ("==", "!="):
        return _same(left, right) == (operator == "==")
    strings = isinstance(left, str) and isinstance(right, str)
    if not strings and not (is_number(left) and is_number(right)):
        return None
    match operator:
        case "<":
            return bool(left < right)
        case ">":
            return bool(left > right)
        case "<=":
            return bool(left <= right)
    return bool(left >= right)


def _same(left: Any, right: Any) -> bool:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Element):
            if isinstance(other, Element):
                return one.id == other.id
            return other in (one.id, {"id": one.id})
    return canonical_json(left) == canonical_json(right)


def _kind(call: Call) -> str:
    kind = call.arguments[1]
    if not isinstance(kind, Literal) or not isinstance(kind.value, str):
        raise fault(TypeMismatch, "IS_KIND takes the name of a kind, a string.", call.at)
    if kind.value.lower() not in _KINDS:
        raise fault(ConstraintViolation, f"There is no kind {kind.value!r}.", call.at)
    return kind.value.lower()


def _is_kind(first: Any, wanted: str) -> bool:
    return isinstance(first, Element) and kind_name(first.id) == wanted


def _literal_type(found: Any) -> str | None:
    if isinstance(found, bool):
        return "boolean"
    if isinstance(found, str):
        return "string"
    return "number" if is_number(found) else None


def order(found: Any) -> tuple[int, Any]:
    """A key that sorts values of all types as the database does; null is none of them."""
    if isinstance(found, Element):
        return (2, (len(found.id), found.id))
    if isinstance(found, bool):
        return (3, found)
    if is_number(found):
        return (1, found)
    if isinstance(found, str):
        return (2, (0, found))
    return (4, canonical_json(found))


def is_proposition(bound: Bound | None) -> bool:
    """Whether a variable stands for a proposition."""
    return isinstance(bound, Element) and kind_of(bound.id) == "P"
