"""Solutions in memory to rows: grouped, sorted, cut to a page. For queries with beliefs."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

from storage.canonical import canonical_json
from storage.kip.errors import ConstraintViolation, TypeMismatch
from storage.kip.language.ast_expressions import Aggregate, Projection
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_terms import Variable
from storage.kip.query.evaluate import Element, Evaluator, Held, Solution, is_number, order
from storage.kip.query.mixed import Solver

_SAFE = 2**53 - 1


def page(
    solver: Solver, find: Find, *, limit: int, after: Any
) -> tuple[list[Any], list[int] | None]:
    """The rows from a place on, and the place after them if there are more.

    The snapshot holds still, so a place is a number of rows. Raises `TypeMismatch`.
    """
    solutions = solver.solutions()
    evaluator = solver.evaluator
    shown = [*find.projections, *(sort.key for sort in find.order_by)]
    evaluator.prepare(shown, solutions)
    whole = [
        operand.name
        for one in shown
        if isinstance(operand := one.operand if isinstance(one, Aggregate) else one, Variable)
    ]
    groups = sorted(_groups(evaluator, find, solutions), key=cmp_to_key(_before(evaluator, find)))
    begin: int = after[0] if after else 0
    chosen = groups[begin : begin + limit]
    evaluator.load(whole, [solution for group in chosen for solution in group[:1]])
    rows = [
        [_shown(evaluator, _of_group(evaluator, one, group)) for one in find.projections]
        for group in chosen
    ]
    more = len(groups) > begin + limit
    answer = rows if len(find.projections) > 1 else [row[0] for row in rows]
    return answer, [begin + limit] if more else None


def portable(value: Decimal | float | int | None) -> int | float | None:
    """A number as JSON has it. Raises `ConstraintViolation` outside the portable range."""
    if value is None:
        return None
    if value == int(value):
        if not -_SAFE <= value <= _SAFE:
            raise ConstraintViolation("The result is outside the portable range of numbers.")
        return int(value)
    return float(value)


def _groups(evaluator: Evaluator, find: Find, solutions: list[Solution]) -> list[list[Solution]]:
    plain = [one for one in find.projections if not isinstance(one, Aggregate)]
    if len(plain) == len(find.projections):
        return [[solution] for solution in solutions]
    if not plain:
        return [solutions]
    groups: dict[str, list[Solution]] = {}
    for solution in solutions:
        key = canonical_json([_key(evaluator.value(one, solution)) for one in plain])
        groups.setdefault(key, []).append(solution)
    return list(groups.values())


def _before(evaluator: Evaluator, find: Find) -> Any:
    """A comparison of groups by ORDER BY; ties by what their first solution binds."""

    def keys(group: list[Solution]) -> list[Any]:
        return [_of_group(evaluator, sort.key, group) for sort in find.order_by]

    def compare(left: list[Solution], right: list[Solution]) -> int:
        for sort, one, other in zip(find.order_by, keys(left), keys(right), strict=True):
            if one is None or other is None:
                if (one is None) != (other is None):
                    return 1 if one is None else -1
                continue
            first: Any = order(one)
            second: Any = order(other)
            if first != second:
                return (-1 if first < second else 1) * (-1 if sort.descending else 1)
        first_tie, second_tie = _tie(left), _tie(right)
        return (first_tie > second_tie) - (first_tie < second_tie)

    return compare


def _tie(group: list[Solution]) -> list[Any]:
    if not group:
        return []
    return [
        (name, *order(bound if isinstance(bound, Element) else bound.key))
        for name, bound in sorted(group[0].items())
    ]


def _of_group(evaluator: Evaluator, one: Projection, group: Sequence[Solution]) -> Any:
    if not isinstance(one, Aggregate):
        return evaluator.value(one, group[0])
    inputs = [evaluator.value(one.operand, solution) for solution in group]
    inputs = [found for found in inputs if found is not None]
    if one.distinct:
        inputs = list({canonical_json(_key(found)): found for found in inputs}.values())
    if one.name == "COUNT":
        return len(inputs)
    texts = one.name in ("MIN", "MAX") and all(isinstance(found, str) for found in inputs)
    if not texts and not all(is_number(found) for found in inputs):
        raise TypeMismatch(f"{one.name} does not take what it was given.")
    if not inputs:
        return None
    match one.name:
        case "SUM":
            return portable(sum(inputs))
        case "AVG":
            return portable(sum(inputs) / len(inputs))
        case "MIN":
            return min(inputs)
    return max(inputs)


def _key(found: Any) -> Any:
    return {"#": found.id} if isinstance(found, Element) else found


def _shown(evaluator: Evaluator, found: Any) -> Any:
    assert not isinstance(found, Held)
    return evaluator.document(found) if isinstance(found, Element) else found
