"""Reads values, and expressions by precedence: `! -`, relations, equality, `&&`, `||`."""

from __future__ import annotations

from typing import cast

from storage.kip.language.ast_expressions import (
    AGGREGATES,
    Aggregate,
    AggregateName,
    Binary,
    BinaryOperator,
    Call,
    Expression,
    Projection,
    Unary,
    UnaryOperator,
)
from storage.kip.language.ast_terms import ArrayValue, ObjectValue, Path, Value, Variable
from storage.kip.language.parse_terms import (
    QUOTE,
    is_literal,
    listed,
    literal,
    members,
    parameter,
    variable,
)
from storage.kip.language.reader import Reader
from storage.kip.language.tokens import Kind

#: How closely an operator binds; relations do not chain.
RANKS = {"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, ">": 4, "<=": 4, ">=": 4}
RELATIONS = 4

_WORD_OPERATORS = {"AND": "Write && for and.", "OR": "Write || for or.", "NOT": "Write ! for not."}


def expression(r: Reader) -> Expression:
    """An expression."""
    found = _binary(r, 1)
    if r.token.kind == Kind.WORD and r.token.value in _WORD_OPERATORS:
        r.refuse("an operator", hint=_WORD_OPERATORS[str(r.token.value)])
    return found


def projection(r: Reader) -> Projection:
    """What FIND lists and ORDER BY sorts by: a variable, a dot path or an aggregate."""
    token = r.token
    if token.kind == Kind.WORD and token.value in AGGREGATES and r.following().text == "(":
        r.advance()
        r.advance()
        distinct = r.skip_words("DISTINCT")
        operand = path_or_variable(r)
        r.take_mark(")", f"after what {token.value} counts over")
        return Aggregate(cast(AggregateName, token.value), operand, distinct, at=token.at)
    if token.kind != Kind.VARIABLE:
        r.refuse(
            "a variable, a dot path or an aggregate",
            hint="Such as ?x, ?x.name or COUNT(DISTINCT ?x).",
        )
    return path_or_variable(r)


def path_or_variable(r: Reader) -> Variable | Path:
    """`?x`, `?x.name`, `?x["key"]`."""
    root = variable(r, "a variable or a dot path")
    steps: list[str] = []
    while True:
        if r.skip_mark("."):
            if r.token.kind != Kind.WORD:
                r.refuse("a field name after '.'", hint='Write other names as ["name"].')
            steps.append(r.advance().text)
        elif r.is_mark("["):
            r.advance()
            if r.token.kind != Kind.STRING:
                r.refuse("a field name in double quotes", hint='Write ?x.facets["MnemonicState"].')
            steps.append(str(r.advance().value))
            r.take_mark("]", "after the field name")
        else:
            break
    return Path(root, tuple(steps), at=root.at) if steps else root


def value(r: Reader) -> Value:
    """What a mutation, an option or an expression takes as a value."""
    token = r.token
    match token.kind:
        case Kind.PARAMETER:
            return parameter(r)
        case Kind.VARIABLE:
            return path_or_variable(r)
    if is_literal(r):
        return literal(r)
    if r.is_mark("{"):
        return object_value(r)
    if r.skip_mark("["):
        return ArrayValue(listed(r, "]", value), at=token.at)
    if token.kind == Kind.WORD and r.following().text == "(":
        return call(r)
    r.refuse("a value", hint=QUOTE)


def object_value(r: Reader) -> ObjectValue:
    """`{…}` as a value."""
    at = r.token.at
    return ObjectValue(members(r, value), at=at)


def call(r: Reader) -> Call:
    """`NAME(a, b)`."""
    name = r.advance()
    r.take_mark("(")
    return Call(str(name.value), listed(r, ")", expression), at=name.at)


def _binary(r: Reader, least: int) -> Expression:
    left = _unary(r)
    while r.token.kind == Kind.PUNCTUATION:
        operator = r.token.text
        rank = RANKS.get(operator, 0)
        if rank < least:
            break
        r.advance()
        right = _binary(r, rank + 1)
        left = Binary(cast(BinaryOperator, operator), left, right, at=left.at)
        if rank == RELATIONS and RANKS.get(r.token.text) == RELATIONS:
            r.refuse("the end of the comparison", hint="Join two comparisons with &&.")
    return left


def _unary(r: Reader) -> Expression:
    token = r.token
    if token.kind == Kind.PUNCTUATION and token.text in ("!", "-"):
        r.advance()
        return Unary(cast(UnaryOperator, token.text), _primary(r), at=token.at)
    return _primary(r)


def _primary(r: Reader) -> Expression:
    token = r.token
    if token.kind == Kind.PUNCTUATION:
        if r.skip_mark("("):
            inner = expression(r)
            r.take_mark(")", "to match '('")
            return inner
        if token.text not in ("{", "["):
            r.refuse("an expression", hint="A ?variable, a path, a value or a FUNCTION(…).")
    return value(r)
