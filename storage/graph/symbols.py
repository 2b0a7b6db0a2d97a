"""What a word of memory means: the definitions of types, predicates, facets and structural fields.

An exact ref is `kip://path@version/Symbol`; its lineage is `kip://path/Symbol`. The exact ref is
stored and validates; the lineage matches (contract kip-engine section 2). Definitions are read from
the form that KIP schema packages and DEFINE give them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from storage.graph.errors import ConstraintViolation

CORE = "kip://core@2.0.0"
DRAFT = "kip://local/draft@0.0.0"

SymbolKind = Literal["concept_type", "predicate", "facet", "structural_field"]
#: A symbol's kind and the member of a package's definitions that holds it.
SECTIONS: Mapping[SymbolKind, str] = {
    "concept_type": "concept_types",
    "predicate": "predicates",
    "facet": "facets",
    "structural_field": "structural_fields",
}

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

_REF = re.compile(r"(kip://[^@\s]+)@([^/\s]+)/([^/\s]+)")
#: Packages may write `kip:string` for `string`.
_DATATYPE = "kip:"


def lineage_of(ref: str) -> str:
    """`kip://path@version/Symbol` to `kip://path/Symbol`; a lineage is its own."""
    match = _REF.fullmatch(ref)
    return f"{match[1]}/{match[3]}" if match else ref


def local_name(ref: str) -> str:
    """The symbol's name without its package."""
    return ref.rpartition("/")[2]


def package_of(ref: str) -> str:
    """The package of an exact ref, `kip://path@version`."""
    return ref.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What one side of a predicate or of a structural field may be.

    `anything` holds where nothing is declared: any element and any literal but null.
    """

    lineages: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    literals: frozenset[str] = frozenset()
    nullable: bool = False
    format: str | None = None
    refs: tuple[str, ...] = ()
    anything: bool = False

    @classmethod
    def of(cls, raw: Mapping[str, Any] | None, exact: Callable[[str], str] = str) -> Endpoint:
        """Read `{concept_types | kinds | literal_types, nullable, format}`.

        `exact` makes the exact ref of a type's local name.
        """
        raw = raw or {}
        refs = tuple(exact(name) for name in raw.get("concept_types", ()))
        literals = (*raw.get("literal_types", ()), *raw.get("datatypes", ()))
        kinds = frozenset(raw.get("kinds", ()))
        return cls(
            lineages=frozenset(lineage_of(ref) for ref in refs),
            kinds=kinds,
            literals=frozenset(name.removeprefix(_DATATYPE) for name in literals),
            nullable=bool(raw.get("nullable", False)),
            format=raw.get("format"),
            refs=refs,
            anything=not (refs or kinds or literals),
        )

    def takes(self, kind: str, type_lineage: str | None) -> bool:
        """Whether an element of that kind (`C`, `P`, …) and type may stand here."""
        return (
            self.anything
            or KIND_NAMES[kind] in self.kinds
            or (kind == "C" and type_lineage in self.lineages)
        )

    @property
    def takes_elements(self) -> bool:
        """Whether any element at all may stand here."""
        return self.anything or bool(self.kinds or self.lineages)

    def takes_literal(self, value: Any) -> bool:
        """Whether a literal may stand here."""
        if value is None:
            return self.nullable
        if self.anything:
            return True
        match value:
            case bool():
                return "boolean" in self.literals
            case str():
                return "string" in self.literals
        return "number" in self.literals or (
            "integer" in self.literals and float(value).is_integer()
        )

    def widened(self, classes: Mapping[str, frozenset[str]]) -> Endpoint:
        """The same with every type that counts as one of its types."""
        same: frozenset[str] = frozenset()
        return replace(
            self, lineages=self.lineages.union(*(classes.get(n, same) for n in self.lineages))
        )


@dataclass(frozen=True, slots=True)
class TypeDef:
    """A concept type and its attributes."""

    ref: str
    lineage: str
    open: bool
    fields: Mapping[str, Mapping[str, Any]]
    definition: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value_schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema that all attributes together are bound to."""
        attributes: Mapping[str, Any] = self.definition.get("attributes") or {}
        return attributes.get("value_schema") or self.definition.get("value_schema")


@dataclass(frozen=True, slots=True)
class PredicateDef:
    """A predicate and how its slot behaves.

    `functional`: one value at a time. `functional_by_type`: one value at a time among objects of
    one type. `complete`: accepting one value rejects the rest. A `temporal_conflict` of "none"
    lets values overlap without conflict.
    """

    ref: str
    lineage: str
    subject: Endpoint
    object: Endpoint
    functional: bool
    functional_by_type: bool
    temporal_conflict: str
    open_world: bool
    complete: bool
    boolean_completeness: bool
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
    definition: Mapping[str, Any] = field(default_factory=dict)


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
    definition: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value_schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema that all fields together are bound to."""
        return self.definition.get("value_schema")


Definition = TypeDef | PredicateDef | FacetDef | FieldDef


def type_of(ref: str, raw: Mapping[str, Any]) -> TypeDef:
    """Read `{description, attributes {open, fields}}`; attributes are open unless closed."""
    attributes = raw.get("attributes") or {}
    return TypeDef(
        ref, lineage_of(ref), bool(attributes.get("open", True)), attributes.get("fields", {}), raw
    )


def predicate_of(ref: str, raw: Mapping[str, Any], exact: Callable[[str], str]) -> PredicateDef:
    """Read a predicate with the defaults of section 2. Raises `ConstraintViolation`."""
    partition = raw.get("functional_by")
    if partition not in (None, "object_type"):
        raise ConstraintViolation("functional_by must be 'object_type'.")
    if partition and raw.get("functional"):
        raise ConstraintViolation("functional_by does not go with functional.")
    target = Endpoint.of(raw.get("object"), exact)
    if partition and target.literals:
        raise ConstraintViolation("functional_by needs an object that is a concept.")
    conflict = raw.get("temporal_conflict", "overlapping_valid_time")
    if conflict not in ("overlapping_valid_time", "none"):
        raise ConstraintViolation("temporal_conflict is overlapping_valid_time or none.")
    return PredicateDef(
        ref,
        lineage_of(ref),
        Endpoint.of(raw.get("subject"), exact),
        target,
        bool(raw.get("functional", False)),
        partition == "object_type",
        conflict,
        bool(raw.get("open_world", True)),
        bool(raw.get("complete", False)),
        bool(raw.get("boolean_completeness", False)),
        raw,
    )


def field_of(ref: str, raw: Mapping[str, Any], exact: Callable[[str], str]) -> FieldDef:
    """Read `{source, target, cardinality {min, max}, ordered, computed}`."""
    cardinality = raw.get("cardinality") or {}
    return FieldDef(
        ref,
        lineage_of(ref),
        Endpoint.of(raw.get("source"), exact),
        Endpoint.of(raw.get("target"), exact),
        cardinality.get("min") or 0,
        cardinality.get("max"),
        bool(raw.get("ordered", False)),
        bool(raw.get("computed", False)),
        raw,
    )


def facet_of(ref: str, raw: Mapping[str, Any], exact: Callable[[str], str]) -> FacetDef:
    """Read `{applicable_to, attachment {activity_classes, terminal_only}, closed, fields}`."""
    attachment = raw.get("attachment") or {}
    return FacetDef(
        ref,
        lineage_of(ref),
        bool(raw.get("closed", False)),
        bool(raw.get("computed", False)),
        Endpoint.of(raw.get("applicable_to"), exact),
        frozenset(attachment.get("activity_classes", ())),
        bool(attachment.get("terminal_only", False)),
        raw.get("fields", {}),
        raw,
    )


def core_fields() -> tuple[FieldDef, ...]:
    """The structural fields of `kip://core`."""
    return tuple(
        FieldDef(
            name,
            name,
            Endpoint(kinds=frozenset(KIND_NAMES[kind] for kind in sources)),
            Endpoint(kinds=frozenset(KIND_NAMES[kind] for kind in targets)),
            0,
            1 if single else None,
            False,
            False,
        )
        for name, (sources, targets, single) in CORE_FIELDS.items()
    )
