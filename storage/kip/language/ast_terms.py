"""The leaves of a command: variables, parameters, literals, and values built of them.

Every node has `at`, the offset of its first character, which does not count for equality: two
commands that say the same are equal however they are spaced.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from storage.kip.language.ast_expressions import Call


@dataclass(frozen=True, slots=True)
class Node:
    """Base of everything in the tree."""

    at: int = field(default=0, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """`?name`: bound by a pattern, or a handle that a mutation defines."""

    name: str


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """`:name`: a value that the request brings along."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Node):
    """A string, number, boolean or null. `1` and `1.0` are one number; `1` and `true` differ."""

    value: str | int | float | bool | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


#: What stands where exactly one value goes.
Scalar = Parameter | Literal


@dataclass(frozen=True, slots=True)
class Path(Node):
    """`?x.attributes.goal`, `?x.facets["MnemonicState"].salience`: at least one step."""

    variable: Variable
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArrayValue(Node):
    """`[…]` as a value."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Member(Node):
    """`name: value` of an object; its value is a `Value`, in match objects a `MatchValue`."""

    name: str
    value: Value | MatchValue


@dataclass(frozen=True, slots=True)
class ObjectValue(Node):
    """`{…}` as a value; no name comes twice."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class ArrayMatch(Node):
    """`[…]` to match against."""

    items: tuple[MatchValue, ...]


@dataclass(frozen=True, slots=True)
class ObjectMatch(Node):
    """`{…}` to match against: a concept as a term, or a part of one; no name comes twice."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Hops(Node):
    """`{n}`, `{least,}` or `{least,most}`: how often a link is followed; `most` None is open."""

    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class PathStep(Node):
    """One alternative of a path predicate."""

    predicate: Predicate
    hops: Hops | None = None


@dataclass(frozen=True, slots=True)
class PathPredicate(Node):
    """A predicate that is followed several times, or has alternatives, or both."""

    steps: tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class Triple(Node):
    """`(subject, predicate, object)`."""

    subject: Term
    predicate: Predicate | PathPredicate
    object: Term


@dataclass(frozen=True, slots=True)
class TripleById(Node):
    """`(id: value)`: a proposition by its id."""

    id: Scalar


#: An exact predicate, facet, type or structural field: a string literal or a parameter.
Symbol = Literal | Parameter
#: A predicate that is not a path; a variable only in patterns.
Predicate = Literal | Parameter | Variable
PropositionTerm = Triple | TripleById
#: An end of a triple or of a structural reference.
Term = Variable | Parameter | Literal | ObjectMatch | Triple | TripleById
MatchValue = Variable | Parameter | Literal | ArrayMatch | ObjectMatch | Triple | TripleById
#: What a mutation, an option or an expression takes as a value.
Value: TypeAlias = "Parameter | Variable | Literal | Path | ArrayValue | ObjectValue | Call"
#: What a mutation acts on: a bound variable or handle, a parameter, or an id.
Target = Variable | Parameter | Literal
