"""What a WHERE block is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

from storage.kip.language.ast_expressions import Expression
from storage.kip.language.ast_terms import (
    Node,
    ObjectMatch,
    Predicate,
    PropositionTerm,
    Scalar,
    Symbol,
    Term,
    Variable,
)

RecordKind = OneOf["ASSERTION", "EVIDENCE", "ACTIVITY"]
ElementKind = OneOf["CONCEPT", "PROPOSITION", "ASSERTION", "EVIDENCE", "ACTIVITY"]


@dataclass(frozen=True, slots=True)
class ConceptPattern(Node):
    """`?x {…}` or `?x CONCEPT {…}`."""

    variable: Variable
    match: ObjectMatch


@dataclass(frozen=True, slots=True)
class PropositionPattern(Node):
    """`?p (s, "predicate", o)`, `(id: :p)`; the variable may be absent."""

    variable: Variable | None
    proposition: PropositionTerm


@dataclass(frozen=True, slots=True)
class RecordPattern(Node):
    """`?a ASSERTION {…}`, and the same for EVIDENCE and ACTIVITY."""

    kind: RecordKind
    variable: Variable
    match: ObjectMatch


@dataclass(frozen=True, slots=True)
class StructuralPattern(Node):
    """`?edge STRUCTURAL (source, "field", target)`; the variable may be absent."""

    variable: Variable | None
    source: Term
    field: Symbol
    target: Term


@dataclass(frozen=True, slots=True)
class BeliefPattern(Node):
    """`?b BELIEF (?p)`, `(id: :p)` or `(s, "predicate", o)`."""

    variable: Variable
    target: Variable | PropositionTerm


@dataclass(frozen=True, slots=True)
class BeliefSlotPattern(Node):
    """`?s BELIEF SLOT (subject, "predicate")`."""

    variable: Variable
    subject: Term
    predicate: Predicate


@dataclass(frozen=True, slots=True)
class SearchPattern(Node):
    """`?x SEARCH CONCEPT :q … LIMIT n`: retrieval whose hits are bound."""

    variable: Variable
    kind: ElementKind
    query: Scalar
    limit: Scalar
    type: Scalar | None = None
    predicate: Scalar | None = None
    mode: Scalar | None = None
    threshold: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """`FILTER(expression)`."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Block(Node):
    """`{ … }`, its clauses in order."""

    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class NotBlock(Node):
    """`NOT { … }`: no match; what it binds stays inside."""

    block: Block


@dataclass(frozen=True, slots=True)
class OptionalBlock(Node):
    """`OPTIONAL { … }`: a left join."""

    block: Block


@dataclass(frozen=True, slots=True)
class UnionBlock(Node):
    """`UNION { … }`: the other branch of everything before it in the block."""

    block: Block


Clause = (
    ConceptPattern
    | PropositionPattern
    | RecordPattern
    | StructuralPattern
    | BeliefPattern
    | BeliefSlotPattern
    | SearchPattern
    | Filter
    | NotBlock
    | OptionalBlock
    | UnionBlock
)
