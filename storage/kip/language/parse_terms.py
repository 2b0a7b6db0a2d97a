"""Reads the leaves of a command: scalars, symbols, targets, match objects, triples."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from storage.kip.errors import InvalidSyntax, fault
from storage.kip.language.ast_terms import (
    ArrayMatch,
    Hops,
    Literal,
    MatchValue,
    Member,
    ObjectMatch,
    Parameter,
    PathPredicate,
    PathStep,
    Predicate,
    PropositionTerm,
    Scalar,
    Symbol,
    Target,
    Term,
    Triple,
    TripleById,
    Value,
    Variable,
)
from storage.kip.language.reader import Reader
from storage.kip.language.tokens import Kind

_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_HOPS = re.compile(r"[0-9]+")
#: What to do about a bare word.
QUOTE = "Names of the vocabulary, ids and values are quoted strings or :parameters."
_LITERALS = (Kind.STRING, Kind.NUMBER)
_T = TypeVar("_T")


def is_literal(r: Reader) -> bool:
    """Whether a literal begins here."""
    token = r.token
    return token.kind in _LITERALS or (token.kind == Kind.WORD and token.text in _CONSTANTS)


def literal(r: Reader) -> Literal:
    """The literal that begins here (see `is_literal`)."""
    token = r.advance()
    value = _CONSTANTS[token.text] if token.kind == Kind.WORD else token.value
    return Literal(value, at=token.at)


def variable(r: Reader, what: str) -> Variable:
    """`?name`."""
    if r.token.kind != Kind.VARIABLE:
        r.refuse(what)
    token = r.advance()
    return Variable(token.text, at=token.at)


def parameter(r: Reader) -> Parameter:
    """The parameter that is looked at."""
    token = r.advance()
    return Parameter(token.text, at=token.at)


def scalar(r: Reader, what: str) -> Scalar:
    """A parameter or a literal."""
    if r.token.kind == Kind.PARAMETER:
        return parameter(r)
    if is_literal(r):
        return literal(r)
    r.refuse(what, hint="A :parameter, a quoted string, a number, true, false or null.")


def symbol(r: Reader, what: str) -> Symbol:
    """A quoted name of the vocabulary, or a parameter."""
    if r.token.kind == Kind.PARAMETER:
        return parameter(r)
    if r.token.kind == Kind.STRING:
        return literal(r)
    r.refuse(f"{what} in double quotes, or a parameter", hint=QUOTE)


def target(r: Reader, what: str) -> Target:
    """A variable, a parameter or an id in quotes."""
    match r.token.kind:
        case Kind.VARIABLE:
            return variable(r, what)
        case Kind.PARAMETER:
            return parameter(r)
        case Kind.STRING:
            return literal(r)
    r.refuse(what, hint='A target is a ?variable, a :parameter or an "id".')


def predicate(r: Reader) -> Predicate:
    """An exact predicate: quoted, a parameter, or (in patterns) a variable."""
    if r.token.kind == Kind.VARIABLE:
        return variable(r, "a predicate")
    return symbol(r, "a predicate")


def field_name(r: Reader) -> str:
    """A name in an object: a bare name or a string."""
    if r.token.kind == Kind.WORD:
        return r.advance().text
    if r.token.kind == Kind.STRING:
        return str(r.advance().value)
    r.refuse("a field name")


def listed(r: Reader, close: str, item: Callable[[Reader], _T]) -> tuple[_T, ...]:
    """Items with commas between them, up to and past `close`; the opening bracket is past."""
    items: list[_T] = []
    if r.skip_mark(close):
        return ()
    while True:
        items.append(item(r))
        if r.skip_mark(close):
            return tuple(items)
        r.take_mark(",", f"or {close!r}")
        if r.is_mark(close):
            r.refuse("another item after ','", hint="Leave out the last comma.")


def members(r: Reader, value: Callable[[Reader], Value | MatchValue]) -> tuple[Member, ...]:
    """`{name: value, …}`; raises `InvalidSyntax` for a name that comes twice."""
    r.take_mark("{")

    def member(r: Reader) -> Member:
        at = r.token.at
        name = field_name(r)
        r.take_colon(f"the name {name!r}")
        return Member(name, value(r), at=at)

    found = listed(r, "}", member)
    if len(found) > 1:
        seen: set[str] = set()
        for one in found:
            if one.name in seen:
                raise fault(
                    InvalidSyntax,
                    f"The member {one.name!r} is given twice.",
                    one.at,
                    hint="Say it once.",
                )
            seen.add(one.name)
    return found


def match_object(r: Reader, *, paths: bool) -> ObjectMatch:
    """`{…}` to match against; `paths` says whether triples in it may have path predicates."""
    at = r.token.at
    return ObjectMatch(members(r, lambda r: match_value(r, paths=paths)), at=at)


def match_value(r: Reader, *, paths: bool) -> MatchValue:
    """What a member of a match object is matched against."""
    token = r.token
    match token.kind:
        case Kind.VARIABLE:
            return variable(r, "a value")
        case Kind.PARAMETER:
            return parameter(r)
    if is_literal(r):
        return literal(r)
    if r.is_mark("{"):
        return match_object(r, paths=paths)
    if r.is_mark("("):
        return proposition(r, paths=paths)
    if r.skip_mark("["):
        items = listed(r, "]", lambda r: match_value(r, paths=paths))
        return ArrayMatch(items, at=token.at)
    r.refuse("a value to match", hint=QUOTE)


def term(r: Reader, what: str, *, paths: bool) -> Term:
    """An end of a triple or of a structural reference."""
    match r.token.kind:
        case Kind.VARIABLE:
            return variable(r, what)
        case Kind.PARAMETER:
            return parameter(r)
    if is_literal(r):
        return literal(r)
    if r.is_mark("{"):
        return match_object(r, paths=paths)
    if r.is_mark("("):
        return proposition(r, paths=paths)
    r.refuse(what, hint="A ?variable, a :parameter, a literal, {type: …, key: …} or a (triple).")


def proposition(r: Reader, *, paths: bool) -> PropositionTerm:
    """`(subject, predicate, object)` or `(id: value)`."""
    at = r.take_mark("(", "before a proposition").at
    if r.is_word("ID"):
        r.advance()
        r.take_colon("id")
        by_id = scalar(r, "the id of a proposition")
        r.take_mark(")", "after the id")
        return TripleById(by_id, at=at)
    subject = term(r, "a subject", paths=paths)
    r.take_mark(",", "after the subject")
    link = path_predicate(r) if paths else predicate(r)
    if not paths and (r.is_mark("{") or r.is_mark("|")):
        r.refuse("',' after the predicate", hint="Only raw patterns of FIND follow paths.")
    r.take_mark(",", "after the predicate")
    object_ = term(r, "an object", paths=paths)
    r.take_mark(")", "after the object")
    return Triple(subject, link, object_, at=at)


def path_predicate(r: Reader) -> Predicate | PathPredicate:
    """A predicate with hops or alternatives; without either, just the predicate."""
    at = r.token.at
    steps = [_path_step(r)]
    while r.skip_mark("|"):
        steps.append(_path_step(r))
    if len(steps) == 1 and steps[0].hops is None:
        return steps[0].predicate
    return PathPredicate(tuple(steps), at=at)


def _path_step(r: Reader) -> PathStep:
    at = r.token.at
    link = predicate(r)
    return PathStep(link, _hops(r) if r.is_mark("{") else None, at=at)


def _hops(r: Reader) -> Hops:
    at = r.advance().at
    least = _count(r)
    most: int | None = least
    if r.skip_mark(","):
        most = None if r.is_mark("}") else _count(r)
    r.take_mark("}", "after the number of hops")
    return Hops(least, most, at=at)


def _count(r: Reader) -> int:
    token = r.token
    if token.kind != Kind.NUMBER or _HOPS.fullmatch(token.text) is None:
        r.refuse("a number of hops", hint="Write {2}, {1,} or {1,3}.")
    return int(r.advance().value)
