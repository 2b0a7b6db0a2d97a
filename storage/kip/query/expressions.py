"""Expressions as SQL: three-valued, typed, and never raising on what data may hold.

Unknown is SQL's null. Comparisons with null are unknown; an order between unlike types is unknown,
equality between them is false. Nothing is converted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from storage.kip.errors import (
    ConstraintViolation,
    InvalidSyntax,
    ResourceExhausted,
    TypeMismatch,
    fault,
)
from storage.kip.language.ast_expressions import Binary, Call, Expression, Unary
from storage.kip.language.ast_terms import (
    ArrayValue,
    Literal,
    ObjectValue,
    Parameter,
    Path,
    Variable,
)
from storage.kip.language.check_values import plain
from storage.kip.query import fields, regex
from storage.kip.query.limits import MAX_EXPRESSION
from storage.kip.query.relation import Binding, Build, Relation, json_text

_ABSENT = object()
_KINDS = {"concept": "C", "proposition": "P", "assertion": "A", "evidence": "E", "activity": "X"}
_OPERATORS = {"==": "=", "!=": "<>", "<": "<", ">": ">", "<=": "<=", ">=": ">="}


@dataclass(frozen=True, slots=True)
class Sql:
    """An expression. `json` is jsonb, null for null and unknown.

    `text` is the same where it is a string for certain, `ref` where it is an element (its id),
    `truth` where it is a condition. `constant` is the value that the query itself gives.
    """

    json: str
    text: str | None = None
    ref: str | None = None
    truth: str | None = None
    element: str | None = None
    constant: Any = field(default=_ABSENT)


def condition(relation: Relation, expression: Expression) -> str:
    """A filter's condition: true, false or unknown."""
    return _truth(value(relation, expression))


def value(relation: Relation, expression: Expression) -> Sql:
    """Any expression.

    Raises `InvalidSyntax`, `ConstraintViolation`, `TypeMismatch`, `ResourceExhausted`.
    """
    made = _value(relation, expression)
    if len(made.json) > MAX_EXPRESSION:
        raise fault(ResourceExhausted, "The expression is too large.", expression.at)
    return made


def _value(relation: Relation, expression: Expression) -> Sql:
    build = relation.build
    match expression:
        case Variable(name):
            return of_binding(relation.bindings.get(name))
        case Path(Variable(name), steps):
            binding = relation.bindings.get(name)
            if binding is None:
                return Sql("null::jsonb")
            read = fields.read(relation, binding, steps)
            return Sql(_known(read.json), read.text, read.ref)
        case Literal(given):
            return _constant(build, given)
        case ArrayValue() | ObjectValue():
            if isinstance(expression, ArrayValue) and not _plain(expression):
                parts = ", ".join(value(relation, item).json for item in expression.items)  # type: ignore[arg-type]
                return Sql(f"jsonb_build_array({parts})")
            return _constant(build, plain(expression))
        case Unary("-", operand):
            number = value(relation, operand)
            return Sql(f"to_jsonb(-{_number(number.json)})")
        case Unary(_, operand):
            return _condition(f"(not {_truth(value(relation, operand))})")
        case Binary("&&" | "||" as operator, left, right):
            word = "and" if operator == "&&" else "or"
            both = f"{_truth(value(relation, left))} {word} {_truth(value(relation, right))}"
            return _condition(f"({both})")
        case Binary(operator, left, right):
            return _condition(
                _compared(build, operator, value(relation, left), value(relation, right))
            )
        case Call():
            return _condition_or_value(relation, expression)
        case Parameter(name):
            raise AssertionError(f"unbound parameter {name}")
    raise AssertionError(f"no expression: {expression}")


def of_binding(binding: Binding | None) -> Sql:
    """A variable as a value; an element as a reference to it."""
    if binding is None:
        return Sql("null::jsonb")
    element = None
    if binding.id is not None:
        element = (
            f"case when {binding.id} is not null then jsonb_build_object('id', {binding.id}) end"
        )
    if binding.value is None:
        return Sql(element or "null::jsonb", ref=binding.id, element=binding.id)
    if element is None:
        return Sql(_known(binding.value), binding.text)
    return Sql(f"coalesce({element}, {_known(binding.value)})", element=binding.id)


def _plain(array: ArrayValue) -> bool:
    return not any(isinstance(item, Variable | Path | Call) for item in array.items)


def _known(sql: str) -> str:
    """A JSON null is null, as an absent value is."""
    if sql.startswith(("to_jsonb(", "null::")):
        return sql
    return f"nullif({sql}, 'null'::jsonb)"


def _constant(build: Build, given: Any) -> Sql:
    if given is None:
        return Sql("null::jsonb", constant=None)
    text = f"{build.parameter(given)}::text" if isinstance(given, str) else None
    ref = None
    if isinstance(given, dict) and list(given) == ["id"] and isinstance(given["id"], str):
        ref = f"{build.parameter(given['id'])}::text"
    return Sql(build.json(given), text, ref, constant=given)


def _condition(sql: str) -> Sql:
    return Sql(f"to_jsonb({sql})", truth=sql)


def _truth(sql: Sql) -> str:
    if sql.truth is not None:
        return sql.truth
    if isinstance(sql.constant, bool):
        return "true" if sql.constant else "false"
    if sql.text is not None:
        return "null::boolean"
    return f"(case jsonb_typeof({sql.json}) when 'boolean' then ({sql.json})::boolean end)"


def _number(sql: str) -> str:
    return f"(case jsonb_typeof({sql}) when 'number' then ({sql})::numeric end)"


def _string(sql: Sql) -> str:
    if sql.text is not None:
        return sql.text
    return f"(case jsonb_typeof({sql.json}) when 'string' then {sql.json} #>> '{{}}' end)"


def _compared(build: Build, operator: str, left: Sql, right: Sql) -> str:
    sign = _OPERATORS[operator]
    if operator in ("==", "!="):
        return _equal(sign, left, right)
    # an order holds within strings and within numbers
    for one, other in ((left, right), (right, left)):
        if one.constant is not _ABSENT:
            if isinstance(one.constant, str) or one.constant is None:
                return f'({_string(left)} collate "C" {sign} {_string(right)})'
            if isinstance(one.constant, bool | list | dict) or other.text is not None:
                return "null::boolean"
            number = f"{build.parameter(json.dumps(one.constant))}::numeric"
            sides = (number, _number(other.json)) if one is left else (_number(other.json), number)
            return f"({sides[0]} {sign} {sides[1]})"
    strings = f'({_string(left)} collate "C" {sign} {_string(right)})'
    if left.text is not None or right.text is not None:
        return strings
    return f"coalesce({strings}, {_number(left.json)} {sign} {_number(right.json)})"


def _equal(sign: str, left: Sql, right: Sql) -> str:
    for one, other in ((left, right), (right, left)):
        if one.ref is not None and (other.ref or other.text) is not None:
            return f"({one.ref} {sign} {other.ref or other.text})"
    if left.text is not None and right.text is not None:
        return f"({left.text} {sign} {right.text})"
    return f"({left.json} {sign} {right.json})"


def _condition_or_value(relation: Relation, call: Call) -> Sql:
    build = relation.build
    first = value(relation, call.arguments[0])
    match call.name:
        case "IS_NULL":
            return _condition(f"({first.text or first.json} is null)")
        case "IS_NOT_NULL":
            return _condition(f"({first.text or first.json} is not null)")
        case "IS_ELEMENT":
            return _condition(_typed(first, "false", "true"))
        case "IS_LITERAL":
            scalar = f"jsonb_typeof({first.json}) not in ('object', 'array')"
            return _condition(_typed(first, scalar, "false"))
        case "LITERAL_TYPE":
            kind = f"nullif(nullif(jsonb_typeof({first.json}), 'object'), 'array')"
            text = _typed(first, kind, "null::text")
            return Sql(f"to_jsonb({text})", text=text)
        case "IS_KIND":
            letter = _kind_letter(call)
            return _condition(
                _typed(first, "false", f"left({first.element}, 1) = {build.parameter(letter)}")
            )
        case "IN":
            return _condition(_member(relation, first, call.arguments[1]))
        case "REGEX":
            return _condition(_regex(relation, first, call.arguments[1]))
    second = value(relation, call.arguments[1])
    text, part = _string(first), _string(second)
    match call.name:
        case "CONTAINS":
            return _condition(f"(strpos({text}, {part}) > 0)")
        case "STARTS_WITH":
            return _condition(f"starts_with({text}, {part})")
        case "ENDS_WITH":
            return _condition(f"(right({text}, length({part})) = {part})")
    raise fault(InvalidSyntax, f"There is no function {call.name} here.", call.at)


def _typed(one: Sql, literal: str, element: str) -> str:
    """One thing of an element, another of a JSON value, null of null."""
    if one.element is None:
        return f"(case when {one.json} is not null then {literal} end)"
    if one.ref is not None:
        return f"(case when {one.element} is not null then {element} end)"
    return (
        f"(case when {one.element} is not null then {element}"
        f" when {one.json} is not null then {literal} end)"
    )


def _kind_letter(call: Call) -> str:
    kind = call.arguments[1]
    if not isinstance(kind, Literal) or not isinstance(kind.value, str):
        raise fault(TypeMismatch, "IS_KIND takes the name of a kind, a string.", call.at)
    letter = _KINDS.get(kind.value.lower())
    if letter is None:
        raise fault(
            ConstraintViolation,
            f"There is no kind {kind.value!r}.",
            call.at,
            hint=f"There are {', '.join(sorted(_KINDS))}.",
        )
    return letter


def _member(relation: Relation, first: Sql, listed: Expression) -> str:
    known = first.text or first.json
    if isinstance(listed, ArrayValue):
        given = plain(listed) if _plain(listed) else None
        if given is not None and first.ref is None:
            return _among(relation.build, first, known, given)
        tests = [
            f"coalesce({_equal('=', first, value(relation, item))}, false)"  # type: ignore[arg-type]
            for item in listed.items
        ]
        return f"(case when {known} is not null then {' or '.join(tests) or 'false'} end)"
    array = value(relation, listed)
    return (
        f"(case when {known} is not null and jsonb_typeof({array.json}) = 'array' then"
        f" exists (select from jsonb_array_elements({array.json}) i(item)"
        f" where i.item = {first.json} and i.item <> 'null'::jsonb) end)"
    )


def _among(build: Build, first: Sql, known: str, given: list[Any]) -> str:
    """Membership in a list of constants, one parameter however long it is."""
    if first.text is not None:
        strings = [item for item in given if isinstance(item, str)]
        for item in strings:
            json_text(item)
        test = f"{first.text} = any({build.parameter(strings)}::text[])"
    else:
        items = [json_text(item) for item in given if item is not None]
        test = f"{first.json} = any({build.parameter(items)}::text[]::jsonb[])"
    return f"(case when {known} is not null then {test} end)"


def _regex(relation: Relation, first: Sql, pattern: Expression) -> str:
    if not isinstance(pattern, Literal):
        raise fault(
            InvalidSyntax,
            "The pattern of REGEX is a string or a :parameter.",
            pattern.at,
            hint="Patterns are checked before anything is matched.",
        )
    if not isinstance(pattern.value, str):
        return "null::boolean"
    regex.check(relation.build.snapshot.tx, pattern.value, pattern.at)
    return f"({_string(first)} ~ {relation.build.parameter(pattern.value)})"
