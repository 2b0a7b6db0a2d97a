"""The TypeScript types of seed 003: read out of the document, and JSON held against them.

The parser knows what the seed uses: interfaces and aliases with a type parameter, literals, unions,
arrays, tuples, records, inline objects with an index member, and `Name['member']`. What it does not
know it refuses. A name that two sections declare means, in each, its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SEED = Path(__file__).resolve().parents[3] / "shared" / "seeds" / "003_224924fb84e74e0a.txt"

_FENCE = re.compile(r"^```(?:ts|typescript)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(
    r"(?P<skip>\s+|//[^\n]*|/\*.*?\*/)|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<text>'[^']*'|\"[^\"]*\")|(?P<mark>[{}\[\]()<>|;:,?=.])|(?P<other>.)",
    re.DOTALL,
)
_PRIMITIVES = ("string", "number", "boolean", "unknown", "object", "null", "true", "false")


@dataclass(frozen=True)
class Named:
    """A name: a primitive, a type parameter or a declared type, with its arguments."""

    name: str
    arguments: tuple[Type, ...] = ()


@dataclass(frozen=True)
class Literal:
    """One text."""

    value: str


@dataclass(frozen=True)
class Union:
    """One of these."""

    options: tuple[Type, ...]


@dataclass(frozen=True)
class Array:
    """A list of these."""

    item: Type


@dataclass(frozen=True)
class Tuple:
    """A list of exactly these."""

    items: tuple[Type, ...]


@dataclass(frozen=True)
class Member:
    """A member of an object; an optional one may be absent, which is not the same as null."""

    name: str
    type: Type
    optional: bool


@dataclass(frozen=True)
class Object:
    """An object; `extra` is the type of members without a name of their own."""

    members: tuple[Member, ...]
    extra: Type | None = None


@dataclass(frozen=True)
class Indexed:
    """The type of a member of a declared type."""

    owner: str
    member: str


Type = Named | Literal | Union | Array | Tuple | Object | Indexed


@dataclass(frozen=True)
class Declaration:
    """A declared type: its parameters, what it is, and in which block of the document."""

    name: str
    parameters: tuple[str, ...]
    type: Type
    block: int


class _Parser:
    """One block of TypeScript."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        for found in _TOKEN.finditer(text):
            if found["skip"] is None:
                self.tokens.append(found[0])
        self.at = 0

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str | None = None) -> str:
        token = self.next
        if not token or (wanted is not None and token != wanted):
            raise ValueError(f"{wanted or 'a token'} expected, not {token!r}")
        self.at += 1
        return token

    def skip(self, token: str) -> bool:
        if self.next == token:
            self.at += 1
            return True
        return False

    def declarations(self, block: int) -> Iterator[Declaration]:
        """All declarations up to the first thing that is none: a block of code has no more."""
        while self.next in ("export", "interface", "type"):
            self.skip("export")
            word = self.take()
            name, parameters = self.take(), self._parameters()
            if word == "interface":
                yield Declaration(name, parameters, self._object(), block)
            else:
                self.take("=")
                yield Declaration(name, parameters, self.type(), block)
            self.skip(";")

    def _parameters(self) -> tuple[str, ...]:
        found = []
        if self.skip("<"):
            while not self.skip(">"):
                found.append(self.take())
                self.skip(",")
        return tuple(found)

    def type(self) -> Type:
        """A type, unions included."""
        self.skip("|")
        options = [self._postfix()]
        while self.skip("|"):
            options.append(self._postfix())
        return options[0] if len(options) == 1 else Union(tuple(options))

    def _postfix(self) -> Type:
        found = self._primary()
        while self.skip("["):
            if self.skip("]"):
                found = Array(found)
            else:
                if not isinstance(found, Named):
                    raise ValueError("only a named type is indexed")
                found = Indexed(found.name, self.take().strip("'\""))
                self.take("]")
        return found

    def _primary(self) -> Type:
        if self.next == "{":
            return self._object()
        if self.skip("("):
            found = self.type()
            self.take(")")
            return found
        if self.skip("["):
            items = [self.type()]
            while self.skip(","):
                items.append(self.type())
            self.take("]")
            return Tuple(tuple(items))
        token = self.take()
        if token[0] in "'\"":
            return Literal(token[1:-1])
        if not re.fullmatch(r"[A-Za-z_$][\w$]*", token):
            raise ValueError(f"a type expected, not {token!r}")
        arguments = []
        if self.skip("<"):
            while not self.skip(">"):
                arguments.append(self.type())
                self.skip(",")
        return Named(token, tuple(arguments))

    def _object(self) -> Object:
        self.take("{")
        members, extra = [], None
        while not self.skip("}"):
            if self.skip("["):
                while self.take() != "]":
                    pass
                self.take(":")
                extra = self.type()
            else:
                name = self.take()
                optional = self.skip("?")
                self.take(":")
                members.append(Member(name.strip("'\""), self.type(), optional))
            if not self.skip(";"):
                self.skip(",")
        return Object(tuple(members), extra)


def parse(expression: str) -> Type:
    """A type as the seed writes it; raises `ValueError` for anything else."""
    parser = _Parser(expression)
    type_ = parser.type()
    if parser.next:
        raise ValueError(f"{parser.next!r} follows a type")
    return type_


@dataclass
class Types:
    """The declared types, and which of their members any checked value had."""

    declared: list[Declaration] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    @classmethod
    def of_seed(cls) -> Types:
        """Those of the seed; raises where a block of it is not understood."""
        types = cls()
        for block, text in enumerate(_FENCE.findall(SEED.read_text(encoding="utf-8"))):
            types.declared += _Parser(text).declarations(block)
        return types

    def find(self, name: str, block: int = -1) -> Declaration | None:
        """What a name means in a block: its own declaration, else the first of that name."""
        same = [one for one in self.declared if one.name == name]
        own = [one for one in same if one.block == block]
        return next(iter(own or same), None)

    def owner(self, owner: str, member: str) -> Member:
        """A member of an interface."""
        found = self.find(owner)
        assert found is not None
        assert isinstance(found.type, Object), owner
        return next(one for one in found.type.members if one.name == member)

    def wrong(self, expression: str, value: Any) -> list[str]:
        """What is wrong with `value` as a value of a type; notes the members it has."""
        return list(self._check(parse(expression), value, "$", -1, {}))

    def _check(
        self, type_: Type, value: Any, path: str, block: int, bound: Mapping[str, Type]
    ) -> Iterator[str]:
        match type_:
            case Literal(text):
                if value != text:
                    yield f"{path} is {value!r}, not {text!r}"
            case Union(options):
                yield from self._one_of(options, value, path, block, bound)
            case Array(item):
                if not isinstance(value, list):
                    yield f"{path} is {_kind(value)}, not an array"
                else:
                    for index, one in enumerate(value):
                        yield from self._check(item, one, f"{path}[{index}]", block, bound)
            case Tuple(items):
                if not isinstance(value, list) or len(value) != len(items):
                    yield f"{path} is not a list of {len(items)}"
                else:
                    for index, item in enumerate(items):
                        yield from self._check(item, value[index], f"{path}[{index}]", block, bound)
            case Object():
                yield from self._members(type_, value, path, block, bound, "")
            case Indexed(owner, member):
                yield from self._check(self.owner(owner, member).type, value, path, block, bound)
            case Named(name, arguments):
                yield from self._named(name, arguments, value, path, block, bound)

    def _one_of(
        self,
        options: tuple[Type, ...],
        value: Any,
        path: str,
        block: int,
        bound: Mapping[str, Type],
    ) -> Iterator[str]:
        tried = []
        for option in options:
            before = set(self.seen)
            found = list(self._check(option, value, path, block, bound))
            if not found:
                return
            self.seen = before
            tried.append(found)
        if all(isinstance(option, Literal) for option in options):
            yield f"{path} is {value!r}, none of {[one.value for one in options]}"  # type: ignore[union-attr]
        else:
            yield from min(tried, key=len)

    def _named(
        self,
        name: str,
        arguments: tuple[Type, ...],
        value: Any,
        path: str,
        block: int,
        bound: Mapping[str, Type],
    ) -> Iterator[str]:
        if name in bound:
            yield from self._check(bound[name], value, path, block, bound)
        elif name in _PRIMITIVES:
            if not _is(name, value):
                yield f"{path} is {_kind(value)}, not {name}"
        elif name == "Record":
            if not isinstance(value, dict):
                yield f"{path} is {_kind(value)}, not an object"
            else:
                for key, one in value.items():
                    yield from self._check(arguments[1], one, f"{path}.{key}", block, bound)
        else:
            found = self.find(name, block)
            if found is None:
                return  # `undeclared` names it
            inner = dict(zip(found.parameters, arguments, strict=True))
            inner = {key: filled(one, bound) for key, one in inner.items()}
            if isinstance(found.type, Object):
                yield from self._members(found.type, value, path, found.block, inner, name)
            else:
                yield from self._check(found.type, value, path, found.block, inner)

    def _members(
        self,
        type_: Object,
        value: Any,
        path: str,
        block: int,
        bound: Mapping[str, Type],
        owner: str,
    ) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path} is {_kind(value)}, not an object"
            return
        for member in type_.members:
            if member.name in value:
                if owner:
                    self.seen.add(f"{owner}.{member.name}")
                at = f"{path}.{member.name}"
                yield from self._check(member.type, value[member.name], at, block, bound)
            elif not member.optional:
                yield f"{path} has no {member.name}"
        if type_.extra is not None:
            named = {member.name for member in type_.members}
            for key, one in value.items():
                if key not in named:
                    yield from self._check(type_.extra, one, f"{path}.{key}", block, bound)

    def undeclared(self) -> set[str]:
        """Names that the seed uses and does not declare."""
        found: set[str] = set()

        def walk(type_: Type, block: int, parameters: tuple[str, ...]) -> None:
            match type_:
                case Named(name, arguments):
                    known = name in _PRIMITIVES or name == "Record" or name in parameters
                    if not known and self.find(name, block) is None:
                        found.add(name)
                    for one in arguments:
                        walk(one, block, parameters)
                case Union(options):
                    for one in options:
                        walk(one, block, parameters)
                case Tuple(items):
                    for one in items:
                        walk(one, block, parameters)
                case Array(item):
                    walk(item, block, parameters)
                case Object(members, extra):
                    for member in members:
                        walk(member.type, block, parameters)
                    if extra is not None:
                        walk(extra, block, parameters)

        for one in self.declared:
            walk(one.type, one.block, one.parameters)
        return found

    def reached(self, expression: str) -> set[str]:
        """The declared types that a type is made of."""
        found: set[str] = set()

        def walk(type_: Type, block: int) -> None:
            match type_:
                case Named(name, arguments):
                    declared = self.find(name, block)
                    if declared is not None and name not in found:
                        found.add(name)
                        walk(declared.type, declared.block)
                    for one in arguments:
                        walk(one, block)
                case Union(inside) | Tuple(inside):
                    for one in inside:
                        walk(one, block)
                case Array(item):
                    walk(item, block)
                case Object(members):
                    for member in members:
                        walk(member.type, block)
                case Indexed(owner, member):
                    walk(self.owner(owner, member).type, block)

        walk(parse(expression), -1)
        return found

    def members(self, names: set[str]) -> set[str]:
        """All members of these interfaces, as `Interface.member`."""
        return {
            f"{one.name}.{member.name}"
            for one in self.declared
            if one.name in names and isinstance(one.type, Object)
            for member in one.type.members
        }


def filled(type_: Type, bound: Mapping[str, Type]) -> Type:
    """A type parameter as what it is bound to; any other type as it is."""
    return bound.get(type_.name, type_) if isinstance(type_, Named) else type_


def _is(name: str, value: Any) -> bool:
    match name:
        case "string":
            return isinstance(value, str)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
        case "true" | "false":
            return value is (name == "true")
    return True


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
