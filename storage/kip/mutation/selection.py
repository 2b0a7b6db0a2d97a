"""What WHERE chooses: the elements that a mutation acts on, from the state before it.

LIMIT caps distinct targets, the lowest ids first. A WHERE beside a target that is named directly
is a guard: without a match, the statement does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from storage.graph.changes import Ref
from storage.kip.errors import TransactionTooLarge
from storage.kip.language.ast_expressions import Call
from storage.kip.language.ast_kml import StructuralEntry, Tail
from storage.kip.language.ast_patterns import Block, Filter
from storage.kip.language.ast_terms import Literal, Node, Target, Variable
from storage.kip.language.scopes import bound_by
from storage.kip.language.walking import every, variables
from storage.kip.mutation.limits import MAX_OPERATIONS, MAX_TARGETS
from storage.kip.mutation.references import References, Row
from storage.kip.query.select import targets


@dataclass(frozen=True, slots=True)
class Chosen:
    """One target, and what the other variables of the statement stand for beside it."""

    target: Ref
    row: Row


def choose(
    references: References, target: Target, tail: Tail, parts: Sequence[Node] = ()
) -> list[Chosen]:
    """The targets of a statement, each once for every binding of what `parts` use beside it.

    Raises `TransactionTooLarge` for more than `MAX_TARGETS` targets without a smaller LIMIT.
    """
    limit = tail.limit.value if isinstance(tail.limit, Literal) else None
    assert limit is None or isinstance(limit, int)
    if tail.where is None:
        return [Chosen(references.of(target, {}), {})][:limit]
    bound = bound_by(tail.where)
    own = target.name if isinstance(target, Variable) and target.name in bound else None
    used = {variable.name for part in parts for variable in variables(part)} & bound
    names = [own, *sorted(used - {own})] if own is not None else sorted(used)
    where = _of_elements(tail.where, {name for name in (own, *_referred(parts)) if name in bound})
    if limit == 0:
        return []
    if own is None:
        # without other variables there is one row, if the block matches at all
        rows = _rows(references, where, names, MAX_OPERATIONS)
        ref = references.of(target, {})
        return [Chosen(ref, row) for row in rows]
    cap = MAX_TARGETS + 1 if limit is None else min(limit, MAX_TARGETS + 1)
    # rows of one target are not targets of their own, so that LIMIT counts below
    rows = (
        targets(references.snapshot, where, names, limit=cap)
        if len(names) == 1
        else _rows(references, where, names, MAX_OPERATIONS)
    )
    chosen: list[Chosen] = []
    distinct: dict[str, None] = {}
    for row in rows:
        if row[own] not in distinct and len(distinct) == cap:
            break
        distinct.setdefault(row[own])
        chosen.append(Chosen(row[own], row))
    if len(distinct) > MAX_TARGETS:
        raise TransactionTooLarge(
            f"A statement acts on at most {MAX_TARGETS} elements.",
            data={"hint": "Add LIMIT and repeat.", "limit": MAX_TARGETS},
        )
    return chosen


def _rows(
    references: References, where: Block, names: Sequence[str], most: int
) -> list[dict[str, Any]]:
    """The bindings of some variables; raises `TransactionTooLarge` for more than `most`."""
    rows = targets(references.snapshot, where, names, limit=most + 1)
    if len(rows) > most:
        raise TransactionTooLarge(
            f"A statement comes to at most {most} changes.",
            data={"hint": "Make WHERE choose less.", "limit": most},
        )
    return rows


def pairs(
    references: References, source: Target, into: Target, tail: Tail
) -> list[tuple[Ref, Ref]]:
    """What MERGE names: the distinct pairs of its two operands, at most two of them."""
    if tail.where is None:
        return [(references.of(source, {}), references.of(into, {}))]
    bound = bound_by(tail.where)
    names = sorted(
        {one.name for one in (source, into) if isinstance(one, Variable) and one.name in bound}
    )
    where = _of_elements(tail.where, set(names))
    rows = targets(references.snapshot, where, names, limit=2)
    return [(references.of(source, row), references.of(into, row)) for row in rows]


def _referred(parts: Sequence[Node]) -> set[str]:
    """The variables of the parts that stand for elements; those in values may be literals."""
    nodes = [part for part in parts if isinstance(part, Variable)]
    nodes += [
        entry.target
        for part in parts
        for entry in every(part, StructuralEntry)
        if isinstance(entry.target, Variable)
    ]
    return {node.name for node in nodes}


def _of_elements(where: Block, names: set[str]) -> Block:
    """The block without rows in which such a variable is a literal, which may look like an id."""
    checks = (Filter(Call("IS_ELEMENT", (Variable(name),))) for name in sorted(names))
    return replace(where, clauses=(*where.clauses, *checks))
