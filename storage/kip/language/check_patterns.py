"""Checks of WHERE blocks: every variable that is used is bound, paths and triples make sense."""

from __future__ import annotations

from storage.kip.errors import InvalidSyntax, ProjectionTargetUnbound, fault
from storage.kip.language import check_values as values
from storage.kip.language.ast_patterns import (
    BeliefPattern,
    BeliefSlotPattern,
    Block,
    Clause,
    Filter,
    NotBlock,
    OptionalBlock,
    SearchPattern,
    UnionBlock,
)
from storage.kip.language.ast_terms import Literal, Node, PathPredicate, Triple, Variable
from storage.kip.language.check_expressions import CONDITIONS, calls
from storage.kip.language.scopes import Bindings
from storage.kip.language.walking import variables, walk


def block(where: Block) -> frozenset[str]:
    """Check a block and those in it; returns the names that it binds.

    Raises `InvalidSyntax`, `ProjectionTargetUnbound`, and what its values deserve.
    """
    bindings = Bindings()
    _block(where, frozenset(), bindings, denied=False)
    return bindings.of(where)


def _block(where: Block, around: frozenset[str], bindings: Bindings, *, denied: bool) -> None:
    """`around` is bound outside the block, `denied` says that it is within NOT."""
    scope = around | bindings.of(where)
    for clause in where.clauses:
        match clause:
            case NotBlock(inner):
                _block(inner, scope, bindings, denied=True)
            case OptionalBlock(inner):
                _block(inner, scope, bindings, denied=denied)
            case UnionBlock(inner):
                _block(inner, frozenset(), bindings, denied=denied)
            case Filter(expression):
                bound(expression, scope)
                calls(expression, CONDITIONS)
            case _:
                _pattern(clause, scope, denied=denied)


def bound(used: Node, scope: frozenset[str]) -> None:
    """Every variable under a node is bound. Raises `InvalidSyntax`."""
    for variable in variables(used):
        if variable.name not in scope:
            raise fault(
                InvalidSyntax,
                f"Nothing binds ?{variable.name} here.",
                variable.at,
                hint="Bind it by a pattern of the same block or one around it; what NOT binds stays"
                " inside, and a UNION branch begins with nothing.",
            )


def triples(root: Node) -> None:
    """Check every triple under a node. Raises `InvalidSyntax`."""
    for node in walk(root):
        if isinstance(node, Triple):
            _subject(node.subject)
            if isinstance(node.predicate, PathPredicate):
                _path(node.predicate)


def _pattern(clause: Clause, scope: frozenset[str], *, denied: bool) -> None:
    triples(clause)
    match clause:
        case SearchPattern():
            if denied:
                raise fault(
                    InvalidSyntax,
                    "A search inside NOT proves nothing: a miss is no absence.",
                    clause.at,
                    hint="Move the search out of NOT.",
                )
            values.text(clause.query, "SEARCH")
            values.text(clause.type, "WITH TYPE")
            values.text(clause.predicate, "WITH PREDICATE")
            values.share(clause.threshold, "THRESHOLD")
            values.count(clause.limit, "LIMIT")
        case BeliefSlotPattern(_, subject):
            _subject(subject)
        case BeliefPattern(_, Variable(name, at=at)) if name not in scope:
            raise fault(ProjectionTargetUnbound, f"Nothing binds ?{name} here.", at)


def _subject(subject: Node) -> None:
    if isinstance(subject, Literal):
        raise fault(
            InvalidSyntax,
            "A subject is an element, never a literal.",
            subject.at,
            hint="Name the element: a ?variable, a :parameter or {type: …, key: …}.",
        )


def _path(path: PathPredicate) -> None:
    for step in path.steps:
        if isinstance(step.predicate, Variable):
            raise fault(
                InvalidSyntax,
                "A path follows exact predicates, never a variable.",
                step.predicate.at,
                hint="Quote the predicate, or ask without hops and alternatives.",
            )
        if step.hops and step.hops.most is not None and step.hops.most < step.hops.least:
            raise fault(
                InvalidSyntax,
                f"The hops go from {step.hops.least} down to {step.hops.most}.",
                step.hops.at,
                hint="Write {least,most}.",
            )
