"""Blocks: the order of clauses, and what NOT, OPTIONAL and UNION see and export.

Clauses count in the order in which they are written. Only filters and beliefs wait: for variables
that a later pattern of their own block is the first to bind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from storage.kip.language.ast_patterns import (
    BeliefPattern,
    BeliefSlotPattern,
    Block,
    Clause,
    Filter,
    NotBlock,
    OptionalBlock,
    UnionBlock,
)
from storage.kip.language.ast_terms import Node, Triple
from storage.kip.language.scopes import bound_by
from storage.kip.language.walking import variables
from storage.kip.query.expressions import condition
from storage.kip.query.patterns import pattern
from storage.kip.query.relation import Binding, Relation, either


def solve(relation: Relation, block: Block) -> None:
    """Extend a relation by the solutions of a block."""
    for clause in in_order(block.clauses, frozenset(relation.bindings)):
        add(relation, clause)


def in_order(clauses: tuple[Clause, ...], bound: frozenset[str]) -> Iterator[Clause]:
    """The clauses as written, but none before what it needs is bound in its own block."""
    binds = [bound_by(Block((clause,))) for clause in clauses]
    known = set(bound)
    waiting: list[int] = []
    later = Counter(name for names in binds for name in names)
    for index in range(len(clauses)):
        waiting.append(index)
        later.subtract(binds[index])
        while (ready := _ready(clauses, binds, waiting, later, known)) is not None:
            waiting.remove(ready)
            known |= binds[ready]
            yield clauses[ready]
    # what waits for one another is bound by neither
    yield from (clauses[index] for index in waiting)


def _ready(
    clauses: Sequence[Clause],
    binds: Sequence[frozenset[str]],
    waiting: Sequence[int],
    later: Mapping[str, int],
    known: set[str],
) -> int | None:
    """The first clause that nothing to come binds anything for."""
    for index in waiting:
        missing = _needed(clauses[index]) - known
        others = frozenset().union(*(binds[other] for other in waiting if other != index))
        if not any(later[name] > 0 or name in others for name in missing):
            return index
    return None


def _needed(clause: Clause) -> set[str]:
    """The variables that must be bound before a clause means something."""
    match clause:
        case Filter():
            nodes: list[Node] = [clause]
        case BeliefPattern(_, Triple(subject, predicate)) | BeliefSlotPattern(
            _, subject, predicate
        ):
            nodes = [subject, predicate]
        case BeliefPattern(_, target):
            nodes = [target]
        case _:
            return set()
    return {variable.name for node in nodes for variable in variables(node)}


def add(relation: Relation, clause: Clause) -> None:
    """Extend a relation by one clause."""
    match clause:
        case Filter(expression):
            relation.where(condition(relation, expression))
        case NotBlock(inner):
            denied = Relation(relation.build, relation)
            solve(denied, inner)
            relation.where(f"not exists ({denied.select('')})")
        case OptionalBlock(inner):
            _optional(relation, inner)
        case UnionBlock(inner):
            _union(relation, inner)
        case _:
            pattern(relation, clause)  # type: ignore[arg-type]


def _optional(relation: Relation, block: Block) -> None:
    inner = Relation(relation.build, relation)
    solve(inner, block)
    names = [
        name
        for name in inner.bindings
        if name not in relation.bindings or not relation.bindings[name].certain
    ]
    if not names:
        # nothing is exported, so the solution is kept as it is either way
        return
    columns = ", ".join(f"{sql} as {name}" for sql, name in inner.exported(names))
    alias = relation.left("o", f"lateral ({inner.select(columns)}) $it on true")
    relation.multiple = relation.multiple or inner.multiple
    for name in names:
        new = relation.imported(name, alias, inner.bindings[name], certain=False)
        old = relation.bindings.get(name)
        relation.bindings[name] = new if old is None else either(old, new)


def _union(relation: Relation, block: Block) -> None:
    """Everything before it in the block, or what the branch finds by itself."""
    branch = Relation(relation.build)
    solve(branch, block)
    names = list({**relation.bindings, **branch.bindings})
    selects = []
    for side in (relation, branch):
        columns = ", ".join(f"{sql} as {name}" for sql, name in side.exported(names))
        selects.append(side.select(columns))
    like = {name: _merged(relation.bindings.get(name), branch.bindings.get(name)) for name in names}
    relation.restart()
    alias = relation.join("u", f"({' union all '.join(selects)}) $it")
    relation.multiple = True
    for name in names:
        one = like[name]
        relation.bind(name, relation.imported(name, alias, one, certain=one.certain))


def _merged(left: Binding | None, right: Binding | None) -> Binding:
    """The shape of a column that both branches write."""
    if left is None or right is None:
        one = left or right
        assert one is not None
        return Binding(
            one.id, one.value, one.text, one.lineage, one.kinds, False, one.score, one.mode
        )
    both = either(left, right)
    certain = left.certain and right.certain
    return Binding(
        left.id or right.id,
        left.value or right.value,
        both.text,
        both.lineage,
        both.kinds,
        certain,
        both.score,
        both.mode,
    )
