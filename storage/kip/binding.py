"""Puts the values of a request into a command, as parts of its tree (contract section 7).

A parameter stands for one whole value, never for a piece of text, and what it may be follows from
where it stands: a string where a name of the vocabulary goes, an element where a subject goes,
anything where a value goes. Afterwards the tree holds no parameter, and has passed the static
checks again, so that a parameter says nothing that a literal in its place could not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum, auto
from typing import Any, TypeVar, cast

from storage.kip.errors import (
    ConstraintViolation,
    DanglingReference,
    KipError,
    ResourceExhausted,
    SearchModeUnsupported,
    TypeMismatch,
    fault,
)
from storage.kip.language import ast_expressions as e
from storage.kip.language import ast_kml as kml
from storage.kip.language import ast_meta as meta
from storage.kip.language import ast_patterns as p
from storage.kip.language import ast_terms as t
from storage.kip.language.ast_kql import Find
from storage.kip.language.command import Statement, check
from storage.kip.language.literals import SAFE_INTEGER
from storage.kip.language.parse_patterns import SEARCH_MODES
from storage.kip.language.source import MAX_DEPTH
from storage.kip.language.walking import parameters as names_in
from storage.kip.language.walking import walk

#: What DESCRIBE PRIMER takes, as its grammar spells it.
PRIMER_MODES = ("compact", "full")

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_S = TypeVar("_S", bound=t.Node)


class _Place(Enum):
    """What goes where a parameter stands."""

    SCALAR = auto()
    SYMBOL = auto()
    ELEMENT = auto()
    TERM = auto()
    TARGET = auto()
    IDENTITY = auto()
    MATCH = auto()
    VALUE = auto()


#: The places of each kind of node; what is not listed holds no parameter itself.
_PLACES: Mapping[type[t.Node], Mapping[str, _Place]] = {
    t.ArrayValue: {"items": _Place.VALUE},
    t.ArrayMatch: {"items": _Place.MATCH},
    t.PathStep: {"predicate": _Place.SYMBOL},
    t.Triple: {
        "subject": _Place.ELEMENT,
        "predicate": _Place.SYMBOL,
        "object": _Place.TERM,
    },
    t.TripleById: {"id": _Place.IDENTITY},
    e.Unary: {"operand": _Place.VALUE},
    e.Call: {"arguments": _Place.VALUE},
    p.StructuralPattern: {
        "source": _Place.ELEMENT,
        "field": _Place.SYMBOL,
        "target": _Place.ELEMENT,
    },
    p.BeliefSlotPattern: {"subject": _Place.ELEMENT, "predicate": _Place.SYMBOL},
    p.SearchPattern: dict.fromkeys(
        ("query", "limit", "type", "predicate", "mode", "threshold"), _Place.SCALAR
    ),
    p.Filter: {"expression": _Place.VALUE},
    kml.Guard: {"version": _Place.SCALAR, "facet": _Place.SYMBOL},
    kml.SetFacet: {"facet": _Place.SYMBOL},
    kml.UnsetFacet: {"facet": _Place.SYMBOL},
    kml.StructuralEntry: {"field": _Place.SYMBOL, "target": _Place.VALUE},
    kml.CreateConcept: {
        "type": _Place.SYMBOL,
        "client_key": _Place.SCALAR,
        "name": _Place.SCALAR,
    },
    kml.CreateRecord: {"client_key": _Place.SCALAR},
    kml.Assert: {"superseding": _Place.TARGET},
    kml.Tail: {"limit": _Place.SCALAR},
    kml.Update: {"target": _Place.TARGET},
    kml.Transition: {"target": _Place.TARGET, "to": _Place.SCALAR, "by": _Place.TARGET},
    kml.SetRetention: {"target": _Place.TARGET},
    kml.Purge: {"target": _Place.TARGET, "reference_policy": _Place.SCALAR},
    kml.PurgePayload: {"target": _Place.TARGET},
    kml.MergeConcept: {"source": _Place.TARGET, "into": _Place.TARGET},
    kml.Define: {"symbol": _Place.SYMBOL},
    Find: dict.fromkeys(("as_of", "for_time", "limit", "cursor"), _Place.SCALAR),
    meta.Describe: dict.fromkeys(("value", "to", "mode", "as_of", "at_time"), _Place.SCALAR),
    meta.List: dict.fromkeys(("value", "depth", "status", "limit", "cursor"), _Place.SCALAR),
    meta.Search: dict.fromkeys(
        ("query", "type", "predicate", "mode", "threshold", "as_of", "limit", "cursor"),
        _Place.SCALAR,
    ),
    meta.Verify: {"value": _Place.SCALAR},
    meta.Validate: {"value": _Place.SCALAR},
    meta.Preview: {"value": _Place.SCALAR, "into": _Place.SCALAR},
    meta.History: dict.fromkeys(("value", "from_seq", "to_seq", "limit", "cursor"), _Place.SCALAR),
    meta.Changes: dict.fromkeys(("since", "after_seq", "limit"), _Place.SCALAR),
    meta.ExportCapsule: {"root": _Place.TARGET, "as_of": _Place.SCALAR},
}
#: Nodes whose members are matched against; the members of all others are values.
_MATCHED = (t.ObjectMatch,)


def bind(
    statement: Statement,
    parameters: Mapping[str, Any],
    *,
    minted: Mapping[str, str] | None = None,
) -> Statement:
    """The statement with every parameter replaced by what `parameters` holds for it.

    `minted` names, for keys of the request's ingested evidence, the handles that the same
    transaction defines; they may stand where an element does.

    Raises `ReferenceError` for a parameter that has no value, even where the statement would never
    look at it; `TypeMismatch` for a value that does not suit its place; `ConstraintViolation` and
    `ResourceExhausted` for one that no command can hold; and what `command.check` raises. Errors
    carry an offset, which `command.place` turns into a line and a column.
    """
    used = names_in(statement)
    if not used:
        return statement
    handles = minted or {}
    ready = _Binder(parameters, frozenset(handles)).node(statement)
    check(ready)
    _modes(ready)
    if used & handles.keys():
        ready = _Handles(handles).node(ready)
    return ready


def literal(value: Any, at: int, *, depth: int = 0, matched: bool = False) -> Any:
    """A JSON value as a tree: for match positions when `matched`, else for value positions.

    Raises `ConstraintViolation` for numbers and strings that a command cannot hold either,
    `ResourceExhausted` for one nested too deep, `TypeMismatch` for what is no JSON value.
    """
    if depth > MAX_DEPTH:
        raise fault(
            ResourceExhausted,
            f"A parameter may nest {MAX_DEPTH} levels; this one nests more.",
            at,
            hint="Flatten the value.",
        )
    match value:
        case None | bool():
            return t.Literal(value, at=at)
        case str():
            _storable(value, at)
            return t.Literal(value, at=at)
        case int() | float():
            return t.Literal(_number(value, at), at=at)
        case list() | tuple():
            items = tuple(literal(one, at, depth=depth + 1, matched=matched) for one in value)
            return t.ArrayMatch(items, at=at) if matched else t.ArrayValue(items, at=at)
        case Mapping():
            members = tuple(
                t.Member(_name(name, at), literal(one, at, depth=depth + 1, matched=matched), at=at)
                for name, one in value.items()
            )
            return t.ObjectMatch(members, at=at) if matched else t.ObjectValue(members, at=at)
    raise fault(TypeMismatch, f"A {type(value).__name__} is no JSON value.", at)


def _name(name: Any, at: int) -> str:
    if not isinstance(name, str):
        raise fault(TypeMismatch, "The names of an object are strings.", at)
    _storable(name, at)
    return name


def _storable(text: str, at: int) -> None:
    if _UNSTORABLE.search(text):
        raise fault(
            ConstraintViolation,
            "A parameter holds U+0000 or half a surrogate pair, which cannot be stored.",
            at,
            hint="Leave the character out.",
        )


def _number(value: int | float, at: int) -> int | float:
    integral = isinstance(value, int) or value.is_integer()
    if not (integral or math.isfinite(value)) or (integral and abs(value) > SAFE_INTEGER):
        raise fault(
            ConstraintViolation,
            "A parameter's number lies outside the range that is the same everywhere, "
            f"±{SAFE_INTEGER} for whole numbers.",
            at,
            hint="Pass it as a string.",
        )
    return int(value) if integral else value


class _Rewriter:
    """Copies a tree, replacing its parameters; what holds none stays the same object."""

    def node(self, root: _S) -> _S:
        if isinstance(root, e.Binary):
            return cast(_S, self._chain(root))
        places = _PLACES.get(type(root), {})
        changed: dict[str, Any] = {}
        for name in root.__dataclass_fields__:
            if name == "at":
                continue
            before = getattr(root, name)
            if isinstance(before, t.Node):
                after: Any = self._part(before, places.get(name, _Place.VALUE), root)
            elif isinstance(before, tuple) and before:
                place = places.get(name, _Place.VALUE)
                after = tuple(
                    self._part(one, place, root) if isinstance(one, t.Node) else one
                    for one in before
                )
                if all(one is other for one, other in zip(before, after, strict=True)):
                    continue
            else:
                continue
            if after is not before:
                changed[name] = after
        return replace(root, **changed) if changed else root

    def _chain(self, root: e.Binary) -> e.Expression:
        """Operators group to the left, as deep as a text is long; that side needs no stack."""
        links: list[e.Binary] = []
        inner: e.Expression = root
        while isinstance(inner, e.Binary):
            links.append(inner)
            inner = inner.left
        left = cast(e.Expression, self._part(inner, _Place.VALUE, links[-1]))
        for link in reversed(links):
            right = cast(e.Expression, self._part(link.right, _Place.VALUE, link))
            same = left is link.left and right is link.right
            left = link if same else replace(link, left=left, right=right)
        return left

    def _part(self, part: t.Node, place: _Place, parent: t.Node) -> t.Node:
        if isinstance(part, t.Parameter):
            return self.value(part, place)
        if isinstance(part, t.Member):
            return self._member(part, matched=isinstance(parent, _MATCHED))
        return self.node(part)

    def _member(self, member: t.Member, *, matched: bool) -> t.Member:
        if isinstance(member.value, t.Parameter):
            place = _Place.MATCH if matched else _Place.VALUE
            if matched and member.name == "id":
                place = _Place.IDENTITY
            return replace(member, value=cast(t.Value, self.value(member.value, place)))
        return self.node(member)

    def value(self, parameter: t.Parameter, place: _Place) -> t.Node:
        raise NotImplementedError


class _Binder(_Rewriter):
    """Puts literals in place of parameters; those named in `later` are left."""

    def __init__(self, parameters: Mapping[str, Any], later: frozenset[str]) -> None:
        self._parameters = parameters
        self._later = later

    def value(self, parameter: t.Parameter, place: _Place) -> t.Node:
        at = parameter.at
        if parameter.name in self._later:
            return parameter
        try:
            given = self._parameters[parameter.name]
        except KeyError:
            raise fault(
                DanglingReference,
                f"The request has no value for :{parameter.name}.",
                at,
                hint=f'Add "{parameter.name}" to parameters.',
            ) from None
        match place:
            case _Place.MATCH:
                return literal(given, at, matched=True)
            case _Place.VALUE:
                return literal(given, at)
            case _Place.TERM if isinstance(given, Mapping):
                return literal(given, at, matched=True)
            case _Place.ELEMENT:
                return _element(parameter, given)
            case _Place.TARGET | _Place.IDENTITY:
                given = _id_of(given)
        if isinstance(given, Mapping | list | tuple):
            raise _unsuited(parameter, _TAKES[place])
        if place in (_Place.SYMBOL, _Place.TARGET) and not isinstance(given, str):
            raise _unsuited(parameter, _TAKES[place])
        return literal(given, at)


class _Handles(_Rewriter):
    """Puts the handles of ingested evidence in place of the parameters that are left."""

    def __init__(self, handles: Mapping[str, str]) -> None:
        self._handles = handles

    def value(self, parameter: t.Parameter, place: _Place) -> t.Node:
        if place in (_Place.SCALAR, _Place.SYMBOL, _Place.MATCH, _Place.IDENTITY):
            raise _unsuited(parameter, _TAKES[place])
        return t.Variable(self._handles[parameter.name], at=parameter.at)


#: What a place takes, as an error message has it.
_TAKES = {
    _Place.SCALAR: "one string, number, boolean or null",
    _Place.SYMBOL: "the name of a symbol, a string",
    _Place.ELEMENT: 'an element, such as {"id": …} or {"type": …, "key": …}',
    _Place.TERM: 'an element, such as {"id": …}, or one literal',
    _Place.TARGET: 'the id of an element, a string or {"id": …}',
    _Place.IDENTITY: "the id of an element that is there already",
    _Place.MATCH: "a value of what is there already",
}


def _element(parameter: t.Parameter, given: Any) -> t.Node:
    """An element where only an element can be: by its id, or by what describes it."""
    if isinstance(given, str):
        given = {"id": given}
    if not isinstance(given, Mapping):
        raise _unsuited(parameter, _TAKES[_Place.ELEMENT])
    node: t.Node = literal(given, parameter.at, matched=True)
    return node


def _id_of(given: Any) -> Any:
    """`{"id": x}` is x where an id goes; anything else is what it is."""
    return given["id"] if isinstance(given, Mapping) and given.keys() == {"id"} else given


def _unsuited(parameter: t.Parameter, takes: str) -> KipError:
    return fault(
        TypeMismatch,
        f":{parameter.name} stands where {takes} goes.",
        parameter.at,
        hint="Pass a value of that shape.",
    )


def _modes(statement: t.Node) -> None:
    """Modes that the grammar spells out are checked here when they come as parameters."""
    for node in walk(statement):
        mode = getattr(node, "mode", None)
        if not isinstance(mode, t.Literal):
            continue
        if not isinstance(mode.value, str):
            raise fault(TypeMismatch, "MODE takes a string.", mode.at)
        if isinstance(node, meta.Describe):
            if mode.value not in PRIMER_MODES:
                raise fault(ConstraintViolation, 'MODE is none of "compact", "full".', mode.at)
        elif mode.value not in SEARCH_MODES:
            raise fault(SearchModeUnsupported, "There is no such way of searching.", mode.at)
