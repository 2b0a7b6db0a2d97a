"""Mutations. `storage.kip.language.desugar` says what ASSERT stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from storage.kip.language.ast_patterns import Block, RecordKind
from storage.kip.language.ast_terms import (
    Member,
    Node,
    ObjectMatch,
    ObjectValue,
    PropositionTerm,
    Scalar,
    Symbol,
    Target,
    Value,
    Variable,
)

Plane = OneOf["ATTRIBUTES", "STRUCTURAL", "RETENTION", "FACET"]


@dataclass(frozen=True, slots=True)
class Guard(Node):
    """`EXPECT VERSION v [OF plane]`; `facet` is given for the plane FACET alone."""

    version: Scalar
    plane: Plane | None = None
    facet: Symbol | None = None


@dataclass(frozen=True, slots=True)
class SetFields(Node):
    """`SET FIELDS {…}`: core fields."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class SetAttributes(Node):
    """`SET ATTRIBUTES {…}`."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class SetFacet(Node):
    """`SET FACET "F" {…}`."""

    facet: Symbol
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class StructuralEntry(Node):
    """`("field", target) {options}`; a removal has no options."""

    field: Symbol
    target: Value
    options: ObjectValue | None = None


@dataclass(frozen=True, slots=True)
class SetStructural(Node):
    """`SET STRUCTURAL { (…) (…) }`."""

    entries: tuple[StructuralEntry, ...]


@dataclass(frozen=True, slots=True)
class UnsetAttributes(Node):
    """`UNSET ATTRIBUTES {a, "b c"}`."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnsetFacet(Node):
    """`UNSET FACET "F" {a}`."""

    facet: Symbol
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnsetStructural(Node):
    """`UNSET STRUCTURAL { (…) }`."""

    entries: tuple[StructuralEntry, ...]


Action = (
    SetFields
    | SetAttributes
    | SetFacet
    | SetStructural
    | UnsetAttributes
    | UnsetFacet
    | UnsetStructural
)


@dataclass(frozen=True, slots=True)
class Mutation(Node):
    """Base of the statements that change memory."""


@dataclass(frozen=True, slots=True)
class CreateConcept(Mutation):
    """`CREATE CONCEPT ?h {TYPE … }`."""

    handle: Variable
    type: Symbol
    client_key: Scalar | None = None
    name: Scalar | None = None
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class UpsertConcept(Mutation):
    """`UPSERT CONCEPT ?h {MATCH {…} …}` with trailing guards."""

    handle: Variable
    match: ObjectMatch
    actions: tuple[Action, ...] = ()
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class EnsureProposition(Mutation):
    """`ENSURE PROPOSITION [?h] (s, "p", o)`."""

    handle: Variable | None
    proposition: PropositionTerm
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class Assert(Mutation):
    """`ASSERT [?h] (s, "p", o) {by: …, mode: …} [SUPERSEDING t]`."""

    handle: Variable | None
    proposition: PropositionTerm
    members: tuple[Member, ...]
    superseding: Target | None = None


@dataclass(frozen=True, slots=True)
class CreateRecord(Mutation):
    """`CREATE EVIDENCE ?h {…}`, and the same for ASSERTION and ACTIVITY."""

    kind: RecordKind
    handle: Variable
    client_key: Scalar | None = None
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class Tail(Node):
    """What ends a mutation: `[WHERE {…}] [LIMIT n] {EXPECT VERSION v}`."""

    where: Block | None = None
    limit: Scalar | None = None
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class Update(Mutation):
    """`UPDATE t action+ tail`."""

    target: Target
    actions: tuple[Action, ...]
    tail: Tail = Tail()


@dataclass(frozen=True, slots=True)
class Transition(Mutation):
    """`TRANSITION t TO s [BY u] [SET FIELDS …] [SET STRUCTURAL …] tail`."""

    target: Target
    to: Scalar
    by: Target | None = None
    actions: tuple[Action, ...] = ()
    tail: Tail = Tail()


@dataclass(frozen=True, slots=True)
class SetRetention(Mutation):
    """`SET RETENTION t {…} tail`."""

    target: Target
    members: tuple[Member, ...]
    tail: Tail = Tail()


@dataclass(frozen=True, slots=True)
class Purge(Mutation):
    """`PURGE t tail [REFERENCE POLICY p] CONFIRM "PURGE"`."""

    target: Target
    tail: Tail = Tail()
    reference_policy: Scalar | None = None


@dataclass(frozen=True, slots=True)
class PurgePayload(Mutation):
    """`PURGE PAYLOAD t tail CONFIRM "PURGE"`."""

    target: Target
    tail: Tail = Tail()


@dataclass(frozen=True, slots=True)
class MergeConcept(Mutation):
    """`MERGE CONCEPT a INTO b [WHERE {…}] guards`; its tail has no limit."""

    source: Target
    into: Target
    tail: Tail = Tail()


@dataclass(frozen=True, slots=True)
class Define(Mutation):
    """`DEFINE PREDICATE s {…}`, `DEFINE CONCEPT TYPE s {…}`."""

    symbol_kind: OneOf["predicate", "concept_type"]
    symbol: Symbol
    definition: ObjectValue


@dataclass(frozen=True, slots=True)
class Mutate(Mutation):
    """`MUTATE { … }`: one transaction of any statements but MUTATE and DEFINE."""

    statements: tuple[Mutation, ...]
