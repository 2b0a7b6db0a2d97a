"""Which variables the patterns of a block bind, and of what kind (contract section 3).

A variable is bound by a pattern that names it, anywhere in its block. NOT and OPTIONAL see what
is bound around them; the branch of a UNION sees nothing of it. NOT keeps what it binds.
"""

from __future__ import annotations

from collections.abc import Iterator

from storage.kip.language.ast_patterns import (
    BeliefPattern,
    Block,
    Clause,
    ConceptPattern,
    ElementKind,
    Filter,
    NotBlock,
    OptionalBlock,
    PropositionPattern,
    RecordPattern,
    SearchPattern,
    UnionBlock,
)
from storage.kip.language.ast_terms import Variable
from storage.kip.language.walking import variables


class Bindings:
    """What each block of a tree binds, gathered once however deep the blocks are nested."""

    def __init__(self) -> None:
        self._found: dict[int, frozenset[str]] = {}

    def of(self, block: Block) -> frozenset[str]:
        """The names that a block binds for what is around and after it."""
        known = self._found.get(id(block))
        if known is None:
            names: set[str] = set()
            for clause in block.clauses:
                match clause:
                    case NotBlock() | Filter():
                        continue
                    case OptionalBlock(inner) | UnionBlock(inner):
                        names |= self.of(inner)
                    case _:
                        names.update(variable.name for variable in _sites(clause))
            known = self._found[id(block)] = frozenset(names)
        return known


def bound_by(block: Block | None) -> frozenset[str]:
    """The names that a block binds for what is around and after it; no block binds none."""
    return Bindings().of(block) if block is not None else frozenset()


def kinds_of(block: Block | None, name: str) -> frozenset[ElementKind]:
    """The kinds of elements that a variable stands for, as far as the patterns say."""
    if block is None:
        return frozenset()
    found: set[ElementKind] = set()
    for clause in _exporting(block):
        match clause:
            case ConceptPattern(variable) if variable.name == name:
                found.add("CONCEPT")
            case PropositionPattern(Variable(bound)) if bound == name:
                found.add("PROPOSITION")
            case RecordPattern(kind, variable) if variable.name == name:
                found.add(kind)
            case SearchPattern(variable, kind) if variable.name == name:
                found.add(kind)
    return frozenset(found)


def _exporting(block: Block) -> Iterator[Clause]:
    """The patterns of a block and of its OPTIONAL and UNION blocks."""
    for clause in block.clauses:
        match clause:
            case NotBlock() | Filter():
                continue
            case OptionalBlock(inner) | UnionBlock(inner):
                yield from _exporting(inner)
            case _:
                yield clause


def _sites(clause: Clause) -> Iterator[Variable]:
    if isinstance(clause, BeliefPattern) and isinstance(clause.target, Variable):
        # BELIEF (?p) asks about a proposition that another pattern binds.
        yield clause.variable
    else:
        yield from variables(clause)
