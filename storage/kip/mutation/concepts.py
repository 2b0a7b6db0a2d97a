"""CREATE CONCEPT, UPSERT CONCEPT, and UPDATE of concepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from storage.graph import changes as graph
from storage.graph.errors import (
    ConstraintViolation,
    DuplicateMutationTarget,
    ImmutableField,
    SchemaFieldNotFound,
    TypeMismatch,
)
from storage.kip.errors import fault
from storage.kip.language import ast_kml as kml
from storage.kip.language.ast_terms import Literal, Member, Scalar
from storage.kip.language.check_values import member
from storage.kip.mutation.references import References, Row
from storage.kip.mutation.values import Values

#: Core fields that a concept is created with, and those of them that change later.
_CREATED = frozenset({"key", "name", "aliases", "canonical_id"})
_CHANGED = frozenset({"name", "aliases"})
#: Core fields that nothing writes after creation.
_FIXED = frozenset({"key", "canonical_id", "schema_ref", "type"})


@dataclass(slots=True)
class Written:
    """What the actions of a statement come to, by plane."""

    fields: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    unset_attributes: tuple[str, ...] = ()
    facets: dict[str, dict[str, Any]] = field(default_factory=dict)
    unset_facets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    links: tuple[graph.Link, ...] = ()
    unlinks: tuple[graph.Link, ...] = ()

    @property
    def only_facets(self) -> bool:
        """Whether nothing but facets is written."""
        return not (
            self.fields or self.attributes or self.unset_attributes or self.links or self.unlinks
        )


def text_of(value: Scalar | None) -> Any:
    """The value of a scalar, None where none is written."""
    return value.value if isinstance(value, Literal) else None


def written(
    actions: Iterable[kml.Action],
    references: References,
    row: Row,
    document: Mapping[str, Any] | None = None,
) -> Written:
    """What actions come to for one target.

    What a statement sets it does not unset: the state that it ends in counts, not the order.
    """
    values = Values(references.snapshot.schema, row, document)
    made = Written()
    for action in actions:
        match action:
            case kml.SetFields(members):
                made.fields |= values.members(members)
            case kml.SetAttributes(members):
                made.attributes |= values.members(members)
            case kml.UnsetAttributes(names):
                made.unset_attributes += names
            case kml.SetFacet(facet, members):
                held = values.members(members)
                if held or not members:
                    made.facets.setdefault(text_of(facet), {}).update(held)
            case kml.UnsetFacet(facet, names):
                name = text_of(facet)
                made.unset_facets[name] = made.unset_facets.get(name, ()) + names
            case kml.SetStructural(entries):
                made.links += tuple(link(entry, references, row) for entry in entries)
            case kml.UnsetStructural(entries):
                made.unlinks += tuple(link(entry, references, row) for entry in entries)
    made.unset_attributes = tuple(
        name for name in dict.fromkeys(made.unset_attributes) if name not in made.attributes
    )
    made.unset_facets = {
        facet: tuple(n for n in dict.fromkeys(names) if n not in made.facets.get(facet, {}))
        for facet, names in made.unset_facets.items()
    }
    made.unset_facets = {facet: names for facet, names in made.unset_facets.items() if names}
    stays = {(one.field, one.target) for one in made.links}
    made.unlinks = tuple(one for one in made.unlinks if (one.field, one.target) not in stays)
    return made


def link(entry: kml.StructuralEntry, references: References, row: Row) -> graph.Link:
    """A structural reference with its options."""
    position, role = None, None
    for option in entry.options.members if entry.options is not None else ():
        value = option.value.value if isinstance(option.value, Literal) else option.value
        match option.name:
            case "index":
                position = value
            case "role":
                if not isinstance(value, str):
                    raise fault(TypeMismatch, "role is a string.", option.at)
                role = value
            case _:
                raise fault(
                    ConstraintViolation,
                    f"A reference has no option {option.name!r}.",
                    option.at,
                    hint="It takes index and role.",
                )
    return graph.Link(
        text_of(entry.field),
        references.of(entry.target, row),
        role=role,
        position=position,  # type: ignore[arg-type]
    )


def guards(written: Sequence[kml.Guard], references: References) -> tuple[graph.Guard, ...]:
    """EXPECT VERSION as the graph knows it."""
    made = []
    for guard in written:
        plane = guard.plane.lower() if guard.plane else None
        if guard.plane == "FACET":
            plane = references.snapshot.schema.facet(text_of(guard.facet)).ref
        made.append(graph.Guard(text_of(guard.version), plane))
    return tuple(made)


def create(statement: kml.CreateConcept, references: References) -> graph.CreateConcept:
    """A new concept. Raises `SchemaFieldNotFound` for a core field that it does not have."""
    made = written(statement.actions, references, {})
    _only(made.fields, _CREATED)
    name = text_of(statement.name)
    if "name" in made.fields:
        if statement.name is not None and made.fields["name"] != name:
            raise fault(DuplicateMutationTarget, "The name gets two values.", statement.at)
        name = made.fields["name"]
    return graph.CreateConcept(
        f"?{statement.handle.name}",
        text_of(statement.type),
        name=name,
        key=_text(made.fields, "key"),
        client_key=text_of(statement.client_key),
        aliases=_aliases(made.fields) or (),
        canonical_id=_text(made.fields, "canonical_id"),
        attributes=made.attributes,
        facets=made.facets,
        links=made.links,
    )


def upsert(statement: kml.UpsertConcept, references: References) -> graph.UpsertConcept:
    """A concept by id, or by type and key; what else MATCH says does not become part of it.

    Raises `NotFoundOrNotVisible`, and `ImmutableField` for another key than MATCH has.
    """
    members = statement.match.members
    identity, key, declared = (_matched(members, name) for name in ("id", "key", "type"))
    made = written(statement.actions, references, {})
    _only(made.fields, _CREATED)
    if "key" in made.fields and made.fields["key"] != key:
        raise fault(ImmutableField, "The key of a concept is what MATCH says.", statement.at)
    if identity is not None:
        identity = references.by_id(identity, statement.at)
    return graph.UpsertConcept(
        f"?{statement.handle.name}",
        type=declared,
        key=key if identity is None else None,
        id=identity,
        name=made.fields.get("name"),
        unset_name="name" in made.fields and made.fields["name"] is None,
        aliases=_aliases(made.fields),
        canonical_id=_text(made.fields, "canonical_id"),
        attributes=made.attributes,
        unset_attributes=made.unset_attributes,
        facets=made.facets,
        unset_facets=made.unset_facets,
        links=made.links,
        unlinks=made.unlinks,
        guards=guards(statement.guards, references),
    )


def update(
    target: graph.Ref, made: Written, checks: tuple[graph.Guard, ...]
) -> graph.UpdateConcept:
    """Changes to a concept. Raises `ImmutableField`, `SchemaFieldNotFound`."""
    for name in made.fields:
        if name in _FIXED:
            raise ImmutableField(f"The {name} of {target} cannot change.")
    _only(made.fields, _CHANGED)
    return graph.UpdateConcept(
        target,
        name=made.fields.get("name"),
        unset_name="name" in made.fields and made.fields["name"] is None,
        aliases=_aliases(made.fields),
        attributes=made.attributes,
        unset_attributes=made.unset_attributes,
        facets=made.facets,
        unset_facets=made.unset_facets,
        links=made.links,
        unlinks=made.unlinks,
        guards=checks,
    )


def _only(fields: Mapping[str, Any], known: frozenset[str]) -> None:
    for name in fields:
        if name not in known:
            raise SchemaFieldNotFound(
                f"A concept has no core field {name!r}.",
                data={"hint": "SET ATTRIBUTES takes what a type declares."},
            )


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise TypeMismatch(f"{name} is a string.")
    if value == "":
        raise ConstraintViolation(f"{name} is empty.")
    return value


def _aliases(fields: Mapping[str, Any]) -> tuple[str, ...] | None:
    if "aliases" not in fields:
        return None
    value = fields["aliases"] or []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise TypeMismatch("aliases is an array of strings.")
    return tuple(value)


def _matched(members: tuple[Member, ...], name: str) -> str | None:
    found = member(members, name)
    if found is None:
        return None
    if not isinstance(found.value, Literal) or not isinstance(found.value.value, str):
        raise fault(TypeMismatch, f"{name} is a string.", found.at)
    return found.value.value
