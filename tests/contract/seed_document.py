"""A JSON schema of the served OpenAPI document beside a type of seed 003."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.contract.seed_types import (
    Array,
    Indexed,
    Literal,
    Named,
    Object,
    Tuple,
    Type,
    Types,
    Union,
    filled,
    parse,
)

_JSON = {"string": "string", "boolean": "boolean", "object": "object", "null": "null"}


@dataclass
class Reader:
    """Compares in one direction: what may be told must be the seed's, what the seed says be taken.

    A member that may be absent may be documented as null too: what is really told is another test.
    """

    types: Types
    document: Any
    answer: bool

    def differences(self, expression: str, schema: Any) -> list[str]:
        """Where the schema and the type do not fit, as sentences."""
        return list(self._compare(parse(expression), schema, "$", -1, {}, frozenset()))

    def _options(self, schema: Any) -> list[Any]:
        """The alternatives of a schema, without references."""
        if schema is True or schema == {}:
            return [{}]
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        for name in ("anyOf", "oneOf"):
            if name in schema:
                return [found for one in schema[name] for found in self._options(one)]
        if isinstance(schema.get("type"), list):
            return [{**schema, "type": one} for one in schema["type"]]
        return [schema]

    def _compare(
        self,
        type_: Type,
        schema: Any,
        path: str,
        block: int,
        bound: Mapping[str, Type],
        within: frozenset[str],
    ) -> Iterator[str]:
        options = self._options(schema)
        if any(_open(one) for one in options):
            return
        wanted = list(self._flat(type_, block, bound, within))
        if any(isinstance(one, Named) and one.name == "unknown" for one, *_ in wanted):
            return
        mine = {kind for one in options for kind in _kinds(one)}
        theirs = {_kind(one) for one, *_ in wanted}
        if self.answer and (extra := mine - theirs - {"null"}):
            yield f"{path} may be {sorted(extra)}"
        if not self.answer and (missing := theirs - mine):
            yield f"{path} is never {sorted(missing)}"
        texts = {one.value for one, *_ in wanted if isinstance(one, Literal)}
        if texts and not any(isinstance(one, Named) and one.name == "string" for one, *_ in wanted):
            listed = [_texts(one) for one in options if "string" in _kinds(one)]
            ours = {text for some in listed for text in some or ()}
            if self.answer and (None in listed or ours - texts):
                yield f"{path} may be another text than {sorted(texts)}"
            if not self.answer and None not in listed and texts - ours:
                yield f"{path} is never {sorted(texts - ours)}"
        for one, at, inner, seen in wanted:
            if isinstance(one, Array | Tuple):
                item = one.item if isinstance(one, Array) else one.items[0]
                for option in options:
                    if option.get("type") == "array" and "items" in option:
                        yield from self._compare(
                            item, option["items"], f"{path}[]", at, inner, seen
                        )
            if isinstance(one, Object):
                owner = next((n for n in seen - within), path)
                yield from self._members(one, options, owner, at, inner, seen)

    def _members(
        self,
        type_: Object,
        options: list[Any],
        path: str,
        block: int,
        bound: Mapping[str, Type],
        within: frozenset[str],
    ) -> Iterator[str]:
        objects = [one for one in options if "object" in _kinds(one)]
        shaped = [one for one in objects if "properties" in one]
        if not shaped:
            return
        # of several shapes, the one that has most of the members
        names = {member.name for member in type_.members}
        shape = max(shaped, key=lambda one: len(names & one["properties"].keys()))
        needed = shape.get("required", [])
        for member in type_.members:
            at = f"{path}.{member.name}"
            if member.name not in shape["properties"]:
                yield f"{at} is not documented"
                continue
            if self.answer and not member.optional and member.name not in needed:
                yield f"{at} may be absent"
            if not self.answer and member.optional and member.name in needed:
                yield f"{at} is required"
            schema = shape["properties"][member.name]
            yield from self._compare(member.type, schema, at, block, bound, within)

    def _flat(
        self, type_: Type, block: int, bound: Mapping[str, Type], within: frozenset[str]
    ) -> Iterator[tuple[Type, int, Mapping[str, Type], frozenset[str]]]:
        """The alternatives of a type, names looked up; one that is within itself ends the walk."""
        match type_:
            case Union(options):
                for one in options:
                    yield from self._flat(one, block, bound, within)
            case Indexed(owner, member):
                yield from self._flat(self.types.owner(owner, member).type, block, bound, within)
            case Named(name, arguments) if name in bound:
                yield from self._flat(bound[name], block, bound, within)
            case Named(name, arguments) if (found := self.types.find(name, block)) is not None:
                if name in within:
                    yield Named("unknown"), block, bound, within
                    return
                inner = dict(zip(found.parameters, arguments, strict=True))
                inner = {key: filled(one, bound) for key, one in inner.items()}
                yield from self._flat(found.type, found.block, inner, within | {name})
            case Named("Record", _):
                yield Named("object"), block, bound, within
            case Named(name, _) if name not in (*_JSON, "number", "true", "false"):
                yield Named("unknown"), block, bound, within
            case _:
                yield type_, block, bound, within


def _open(schema: Any) -> bool:
    return not schema.keys() - {"title", "description", "default", "examples", "deprecated"}


def _kinds(schema: Any) -> set[str]:
    """The JSON types that a schema allows."""
    if "type" in schema:
        kinds = {schema["type"]}
    else:
        values = schema["enum"] if "enum" in schema else [schema["const"]]
        kinds = {_kind_of(value) for value in values}
    return {"number" if kind == "integer" else kind for kind in kinds}


def _kind_of(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case str():
            return "string"
        case int() | float():
            return "number"
    return "null" if value is None else "object"


def _texts(schema: Any) -> list[str] | None:
    """The texts that a schema allows; None for any."""
    if "const" in schema:
        return [schema["const"]]
    found: list[str] | None = schema.get("enum")
    return found


def _kind(type_: Type) -> str:
    match type_:
        case Literal():
            return "string"
        case Array() | Tuple():
            return "array"
        case Object():
            return "object"
        case Named(name, _):
            return {"true": "boolean", "false": "boolean"}.get(name, _JSON.get(name, "number"))
    raise ValueError(type_)
