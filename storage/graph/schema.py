"""The words of memory: types, predicates, facets and structural fields, and what they allow.

An exact ref is `kip://path@version/Symbol`; its lineage is `kip://path/Symbol`. The exact ref is
stored and validates; the lineage matches. A local name resolves to one lineage, or is ambiguous
(contract kip-engine section 2). `kip://core` is code below; the other built-in packages are data in
`packages/`; a space adds drafts of its own, `kip://local/draft@0.0.0`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from storage.database import Scope, Transaction
from storage.graph.changes import DefineSymbol
from storage.graph.errors import (
    ConstraintViolation,
    ResourceExhausted,
    SchemaFieldNotFound,
    SchemaSymbolAmbiguous,
    SchemaSymbolConflict,
    SchemaSymbolNotFound,
    TypeMismatch,
)
from storage.graph.validity import instant

CORE = "kip://core@2.0.0"
DRAFT = "kip://local/draft@0.0.0"
#: The packages that every space has.
BUILTIN = ("cognitive-memory-2.0.0", "general-1.0.0")
#: Draft symbols that one space may define (seed 003).
MAX_DRAFTS = 512

KIND_NAMES = {
    "C": "Concept",
    "P": "Proposition",
    "A": "Assertion",
    "E": "Evidence",
    "X": "Activity",
}

#: Core structural fields: (kinds that carry them, kinds that they point to, at most one).
CORE_FIELDS: Mapping[str, tuple[str, str, bool]] = {
    "evidence": ("A", "E", False),
    "source": ("E", "CE", False),
    "generated_by": ("E", "X", True),
    "inputs": ("X", "CPAEX", False),
    "outputs": ("X", "CPAEX", False),
    "associated_actors": ("X", "C", False),
}

_SYMBOL = re.compile(r"(kip://[^@\s]+)@([^/\s]+)/([^/\s]+)")
_TYPE_NAME = re.compile(r"[A-Z][A-Za-z0-9]{0,63}", re.ASCII)
_PREDICATE_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", re.ASCII)
_SAFE = 2**53 - 1
D = TypeVar("D")
_PREDICATE_MEMBERS = frozenset(
    {
        "description",
        "subject",
        "object",
        "functional",
        "functional_by",
        "open_world",
        "complete",
        "boolean_completeness",
        "temporal_conflict",
    }
)


def lineage_of(ref: str) -> str:
    """`kip://path@version/Symbol` to `kip://path/Symbol`; a lineage is its own."""
    match = _SYMBOL.fullmatch(ref)
    return f"{match[1]}/{match[3]}" if match else ref


def local_name(ref: str) -> str:
    """The symbol's name without its package."""
    return ref.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What one side of a predicate or of a structural field may be."""

    lineages: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    literals: frozenset[str] = frozenset()
    nullable: bool = False
    refs: tuple[str, ...] = ()

    @classmethod
    def of(cls, raw: Mapping[str, Any] | None) -> Endpoint:
        """Read `{concept_types | kinds | literal_types, nullable}`; nothing means any element."""
        raw = raw or {"kinds": list(KIND_NAMES.values())}
        refs = tuple(raw.get("concept_types", ()))
        return cls(
            frozenset(lineage_of(ref) for ref in refs),
            frozenset(raw.get("kinds", ())),
            frozenset(raw.get("literal_types", ())),
            bool(raw.get("nullable", False)),
            refs,
        )

    def takes(self, kind: str, type_lineage: str | None) -> bool:
        """Whether an element of that kind (`C`, `P`, …) and type may stand here."""
        return KIND_NAMES[kind] in self.kinds or (kind == "C" and type_lineage in self.lineages)

    def takes_literal(self, value: Any) -> bool:
        """Whether a literal may stand here."""
        if value is None:
            return self.nullable
        return _literal_type(value) in self.literals


@dataclass(frozen=True, slots=True)
class TypeDef:
    """A concept type and its attributes."""

    ref: str
    lineage: str
    open: bool
    fields: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PredicateDef:
    """A predicate and how its slot behaves.

    `functional`: one value at a time. `functional_by_type`: one value at a time among objects of
    one type. A `temporal_conflict` of "none" lets values overlap without conflict.
    """

    ref: str
    lineage: str
    subject: Endpoint
    object: Endpoint
    functional: bool
    functional_by_type: bool
    temporal_conflict: str
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FieldDef:
    """A structural field. Core fields have their plain name as ref and lineage."""

    ref: str
    lineage: str
    source: Endpoint
    target: Endpoint
    min: int
    max: int | None
    ordered: bool
    computed: bool


@dataclass(frozen=True, slots=True)
class FacetDef:
    """A facet: fields that may be attached to elements of some kinds or types."""

    ref: str
    lineage: str
    closed: bool
    computed: bool
    applies: Endpoint
    activity_classes: frozenset[str]
    terminal_only: bool
    fields: Mapping[str, Mapping[str, Any]]


@dataclass(slots=True)
class _Table(Generic[D]):
    """Symbols of one kind, found by exact ref, lineage or local name."""

    what: str
    by_lineage: dict[str, D] = field(default_factory=dict)
    by_ref: dict[str, D] = field(default_factory=dict)
    by_name: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, ref: str, definition: D) -> None:
        lineage, name = lineage_of(ref), local_name(ref)
        self.by_ref[ref] = definition
        self.by_lineage[lineage] = definition
        known = self.by_name.get(name, ())
        if lineage not in known:
            self.by_name[name] = (*known, lineage)

    def get(self, symbol: str) -> D:
        if symbol.startswith("kip://"):
            found = self.by_ref.get(symbol) or self.by_lineage.get(symbol)
            if found is None:
                raise SchemaSymbolNotFound(f"There is no {self.what} {symbol!r}.")
            return found
        lineages = self.by_name.get(symbol, ())
        if not lineages:
            raise SchemaSymbolNotFound(f"There is no {self.what} {symbol!r}.")
        if len(lineages) > 1:
            raise SchemaSymbolAmbiguous(
                f"{symbol!r} may be {' or '.join(sorted(lineages))}; write one of them."
            )
        return self.by_lineage[lineages[0]]

    def has(self, name: str) -> bool:
        return name in self.by_name

    def copy(self) -> _Table[D]:
        return _Table(self.what, dict(self.by_lineage), dict(self.by_ref), dict(self.by_name))


class Schema:
    """The schema environment of one space at one moment; look up by local name, lineage or ref."""

    def __init__(
        self,
        types: _Table[TypeDef],
        predicates: _Table[PredicateDef],
        facets: _Table[FacetDef],
        fields: _Table[FieldDef],
        drafts: int = 0,
    ) -> None:
        self._types, self._predicates = types, predicates
        self._facets, self._fields = facets, fields
        self.drafts = drafts

    def type(self, symbol: str) -> TypeDef:
        """Raises `SchemaSymbolNotFound` or `SchemaSymbolAmbiguous`, as do the next three."""
        return self._types.get(symbol)

    def predicate(self, symbol: str) -> PredicateDef:
        """The predicate of that name."""
        return self._predicates.get(symbol)

    def facet(self, symbol: str) -> FacetDef:
        """The facet of that name."""
        return self._facets.get(symbol)

    def structural(self, symbol: str) -> FieldDef:
        """The structural field of that name; a core field's plain name is its own."""
        return self._fields.get(symbol)

    def required_fields(self, type_lineage: str) -> list[FieldDef]:
        """The structural fields that a concept of that type cannot be without."""
        return [
            definition
            for definition in self._fields.by_lineage.values()
            if definition.min > 0 and type_lineage in definition.source.lineages
        ]

    def knows_type(self, name: str) -> bool:
        """Whether some package or draft has a type of that local name."""
        return self._types.has(name)

    def knows_predicate(self, name: str) -> bool:
        """Whether some package or draft has a predicate of that local name."""
        return self._predicates.has(name)

    def with_draft(self, symbol: DefineSymbol) -> Schema:
        """This environment and one symbol more.

        Raises `SchemaSymbolConflict` for a known name, `ConstraintViolation` for a definition that
        a draft may not have, `ResourceExhausted` beyond `MAX_DRAFTS` symbols.
        """
        known = self.knows_type if symbol.symbol_kind == "concept_type" else self.knows_predicate
        if known(symbol.name):
            raise SchemaSymbolConflict(f"{symbol.name!r} exists already.")
        if self.drafts >= MAX_DRAFTS:
            raise ResourceExhausted(f"A space defines at most {MAX_DRAFTS} symbols of its own.")
        _check_draft(symbol)
        grown = Schema(
            self._types.copy(),
            self._predicates.copy(),
            self._facets,
            self._fields,
            self.drafts,
        )
        grown._add_draft(symbol.symbol_kind, symbol.name, symbol.definition)
        return grown

    def _add_draft(self, symbol_kind: str, name: str, definition: Mapping[str, Any]) -> None:
        ref = f"{DRAFT}/{name}"
        if symbol_kind == "concept_type":
            self._types.add(ref, _type_of(ref, definition.get("attributes", {"open": True})))
        else:
            predicate = _predicate_of(ref, definition)
            refs = (*predicate.subject.refs, *predicate.object.refs)
            for wanted in refs:
                self._types.get(wanted)
            self._predicates.add(ref, predicate)
        self.drafts += 1


@lru_cache(maxsize=1)
def builtin() -> Schema:
    """Core and the built-in packages, without any draft; shared, never changed."""
    types: _Table[TypeDef] = _Table("concept type")
    predicates: _Table[PredicateDef] = _Table("predicate")
    facets: _Table[FacetDef] = _Table("facet")
    fields: _Table[FieldDef] = _Table("structural field")
    for name, (sources, targets, single) in CORE_FIELDS.items():
        core = FieldDef(
            name,
            name,
            Endpoint(kinds=frozenset(KIND_NAMES[kind] for kind in sources)),
            Endpoint(kinds=frozenset(KIND_NAMES[kind] for kind in targets)),
            0,
            1 if single else None,
            False,
            False,
        )
        fields.add(name, core)
    for package in BUILTIN:
        path = Path(__file__).with_name("packages") / f"{package}.json"
        body = json.loads(path.read_text(encoding="utf-8"))
        base = body["package_ref"]
        for name, raw in body["concept_types"].items():
            types.add(f"{base}/{name}", _type_of(f"{base}/{name}", raw))
        for name, raw in body["predicates"].items():
            predicates.add(f"{base}/{name}", _predicate_of(f"{base}/{name}", raw))
        for name, raw in body["facets"].items():
            facets.add(f"{base}/{name}", _facet_of(f"{base}/{name}", raw))
        for name, raw in body["structural_fields"].items():
            fields.add(f"{base}/{name}", _field_of(f"{base}/{name}", raw))
    return Schema(types, predicates, facets, fields)


def environment(tx: Transaction, scope: Scope, *, seq: int | None = None) -> Schema:
    """The environment of a space, at present or at `seq`: the built-in packages and its drafts."""
    rows = tx.execute(
        "select symbol_kind, name, definition::text from draft_symbol where space_id = %(space)s"
        " and (%(seq)s::bigint is null or created_seq <= %(seq)s)"
        " order by symbol_kind, created_seq, name",
        {"space": scope.space_id, "seq": seq},
    ).fetchall()
    return _with_drafts(tuple(rows)) if rows else builtin()


@lru_cache(maxsize=256)
def _with_drafts(rows: tuple[tuple[str, str, str], ...]) -> Schema:
    """An environment by its very definitions, so that a cached one is never stale."""
    base = builtin()
    grown = Schema(base._types.copy(), base._predicates.copy(), base._facets, base._fields)
    for symbol_kind, name, definition in rows:
        grown._add_draft(symbol_kind, name, json.loads(definition))
    return grown


def check_values(
    what: str,
    values: Mapping[str, Any],
    fields: Mapping[str, Mapping[str, Any]],
    *,
    open: bool,
    complete: bool,
) -> None:
    """Check attribute or facet values against their definition.

    `complete` asks that required members are there. Raises `SchemaFieldNotFound` for a member that
    a closed definition lacks, `TypeMismatch`, and `ConstraintViolation` for enumerations, ranges,
    computed and missing members.
    """
    for name, value in values.items():
        definition = fields.get(name)
        if definition is None:
            if not open:
                raise SchemaFieldNotFound(f"{what} has no field {name!r}.")
            check_json(value, f"{what}.{name}")
            continue
        if definition.get("computed"):
            raise ConstraintViolation(f"{what}.{name} is computed and cannot be written.")
        _check_value(f"{what}.{name}", value, definition)
    if complete:
        for name, definition in fields.items():
            if definition.get("required") and name not in values:
                raise ConstraintViolation(f"{what} needs {name!r}.")


def check_json(value: Any, what: str, depth: int = 0) -> None:
    """Check that a free value is JSON of portable numbers, at most 64 deep."""
    if depth > 64:
        raise ConstraintViolation(f"{what} is nested too deeply.")
    match value:
        case None | bool():
            return
        case str():
            if "\x00" in value:
                raise ConstraintViolation(f"{what} contains a NUL character.")
        case int() | float():
            if not math.isfinite(value) or (float(value).is_integer() and abs(value) > _SAFE):
                raise ConstraintViolation(f"{what} is a number outside the portable range.")
        case dict():
            for name, member in value.items():
                if not isinstance(name, str):
                    raise TypeMismatch(f"{what} has a member name that is no string.")
                check_json(name, what, depth + 1)
                check_json(member, f"{what}.{name}", depth + 1)
        case list() | tuple():
            for member in value:
                check_json(member, what, depth + 1)
        case _:
            raise TypeMismatch(f"{what} is not JSON.")


def _check_value(what: str, value: Any, definition: Mapping[str, Any]) -> None:
    allowed = definition.get("type", [])
    allowed = [allowed] if isinstance(allowed, str) else allowed
    if allowed and not any(_is_of(value, name) for name in allowed):
        raise TypeMismatch(f"{what} must be {' or '.join(allowed)}.")
    if value is not None and "timestamp" in allowed:
        instant(value, what)
    if "enum" in definition and value not in definition["enum"]:
        raise ConstraintViolation(f"{what} must be one of {definition['enum']}.")
    if _is_of(value, "number") and not (
        definition.get("minimum", value) <= value <= definition.get("maximum", value)
    ):
        raise ConstraintViolation(f"{what} is out of range.")
    check_json(value, what)


def _is_of(value: Any, name: str) -> bool:
    match name:
        case "null":
            return value is None
        case "string" | "timestamp":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return (
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and float(value).is_integer()
            )
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list | tuple)
        case "object":
            return isinstance(value, dict)
    return False


def _literal_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


def _check_draft(symbol: DefineSymbol) -> None:
    definition = symbol.definition
    shape = _TYPE_NAME if symbol.symbol_kind == "concept_type" else _PREDICATE_NAME
    if len(symbol.name) > 64 or shape.fullmatch(symbol.name) is None:
        style = "UpperCamelCase" if symbol.symbol_kind == "concept_type" else "snake_case"
        raise ConstraintViolation(f"{symbol.name!r} is not a {style} name of at most 64 letters.")
    description = definition.get("description")
    if not isinstance(description, str) or not description.strip():
        raise ConstraintViolation(f"{symbol.name} needs a description.")
    members = (
        {"description", "attributes"}
        if symbol.symbol_kind == "concept_type"
        else _PREDICATE_MEMBERS
    )
    if unknown := set(definition) - members:
        raise ConstraintViolation(f"A definition has no member {sorted(unknown)[0]!r}.")
    if definition.get("open_world") is False or definition.get("complete") is True:
        raise ConstraintViolation("A draft predicate is open-world and never complete.")
    if definition.get("functional") and definition.get("functional_by"):
        raise ConstraintViolation("functional_by does not go with functional.")
    if definition.get("functional_by") not in (None, "object_type"):
        raise ConstraintViolation("functional_by must be 'object_type'.")
    if definition.get("functional_by") and "literal_types" in (definition.get("object") or {}):
        raise ConstraintViolation("functional_by needs an object that is a concept.")


def _type_of(ref: str, raw: Mapping[str, Any]) -> TypeDef:
    return TypeDef(ref, lineage_of(ref), bool(raw.get("open", True)), raw.get("fields", {}))


def _predicate_of(ref: str, raw: Mapping[str, Any]) -> PredicateDef:
    return PredicateDef(
        ref,
        lineage_of(ref),
        Endpoint.of(raw.get("subject")),
        Endpoint.of(raw.get("object")),
        bool(raw.get("functional", False)),
        raw.get("functional_by") == "object_type",
        raw.get("temporal_conflict", "overlapping_valid_time"),
        raw,
    )


def _field_of(ref: str, raw: Mapping[str, Any]) -> FieldDef:
    return FieldDef(
        ref,
        lineage_of(ref),
        Endpoint.of(raw["source"]),
        Endpoint.of(raw["target"]),
        raw.get("min", 0),
        raw.get("max"),
        bool(raw.get("ordered", False)),
        bool(raw.get("computed", False)),
    )


def _facet_of(ref: str, raw: Mapping[str, Any]) -> FacetDef:
    attachment = raw.get("attachment", {})
    return FacetDef(
        ref,
        lineage_of(ref),
        bool(raw.get("closed", False)),
        bool(raw.get("computed", False)),
        Endpoint.of(raw["applicable_to"]),
        frozenset(attachment.get("activity_classes", ())),
        bool(attachment.get("terminal_only", False)),
        raw["fields"],
    )
