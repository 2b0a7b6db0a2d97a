"""Expressions: what FILTER tests, and what a query projects and sorts by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from storage.kip.language.ast_terms import (
    ArrayValue,
    Literal,
    Node,
    ObjectValue,
    Parameter,
    Path,
    Variable,
)

UnaryOperator = OneOf["!", "-"]
BinaryOperator = OneOf["||", "&&", "==", "!=", "<", ">", "<=", ">="]
AggregateName = OneOf["COUNT", "SUM", "AVG", "MIN", "MAX"]

AGGREGATES: frozenset[str] = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX"})


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`!a` or `-a`."""

    operator: UnaryOperator
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """`a op b`; operators of one rank group to the left."""

    operator: BinaryOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`NAME(a, b)`, the name in capitals."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """`COUNT(DISTINCT ?x)`: only projected and sorted by."""

    name: AggregateName
    operand: Variable | Path
    distinct: bool = False


Expression = (
    Variable | Path | Parameter | Literal | ArrayValue | ObjectValue | Call | Unary | Binary
)
#: What FIND lists and ORDER BY sorts by.
Projection = Variable | Path | Aggregate
