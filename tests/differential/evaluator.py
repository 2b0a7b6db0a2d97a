"""KQL answered straight from its rules, over a graph in memory (contract kip-engine section 3).

No SQL, no plans, no indexes: every pattern is tried on every element, every block is a loop over
solutions. It is the other party to `storage.kip.query` and shares no code with it. Where the rules
leave something open it follows the public conformance cases; what they leave open too is said at
the place, and the query strategy stays away from it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from storage.graph.schema import lineage_of
from storage.kip.language.ast_expressions import Aggregate, Binary, Call, Expression, Unary
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_patterns import (
    Block,
    Clause,
    ConceptPattern,
    Filter,
    NotBlock,
    OptionalBlock,
    PropositionPattern,
    RecordPattern,
    StructuralPattern,
    UnionBlock,
)
from storage.kip.language.ast_terms import (
    ArrayMatch,
    ArrayValue,
    Literal,
    Member,
    ObjectMatch,
    Path,
    PathPredicate,
    PathStep,
    Triple,
    TripleById,
    Variable,
)
from storage.kip.language.walking import walk
from tests.differential.model import Edge, Graph, frozen, read, same

#: More solutions than this at any point: the query says nothing that a smaller one does not.
MOST = 20_000


class Refused(Exception):
    """The query is refused; `code` is the error's name."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class TooMuch(Exception):
    """The query has more solutions than this evaluator goes through."""


@dataclass(frozen=True)
class Element:
    """A variable stands for an element."""

    id: str


@dataclass(frozen=True)
class Value:
    """A variable stands for a JSON value (`text` makes equal values equal)."""

    text: Any
    json: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


@dataclass(frozen=True)
class Link:
    """A variable stands for a structural reference, by its place in the graph."""

    place: int


Bound = Element | Value | Link
Solution = dict[str, Bound]


def value(json: Any) -> Value:
    """A JSON value as a variable holds it."""
    return Value(frozen(json), json)


def answer(graph: Graph, query: Find) -> list[Any]:
    """The rows of a query, in order, its LIMIT applied; raises `Refused`.

    An element stands as `{"$element": id}`. Ties of ORDER BY come in no particular order.
    """
    return Evaluator(graph).find(query)


class Evaluator:
    """Answers queries on one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    # whole queries

    def find(self, query: Find) -> list[Any]:
        """See `answer`."""
        self._check(query)
        solutions = self._solve(query.where, {})
        plain = [one for one in query.projections if not isinstance(one, Aggregate)]
        if len(plain) == len(query.projections):
            groups = [[solution] for solution in solutions]
        elif plain:
            by_key: dict[Any, list[Solution]] = {}
            for solution in solutions:
                key = tuple(frozen(self._shown(one, solution)) for one in plain)
                by_key.setdefault(key, []).append(solution)
            groups = list(by_key.values())
        else:
            groups = [solutions]
        for sort in reversed(query.order_by):
            keyed = [(self._of_group(sort.key, group), group) for group in groups]
            groups = _ordered(keyed, descending=sort.descending)
        rows = [[self._of_group(one, group) for one in query.projections] for group in groups]
        if query.limit is not None:
            rows = rows[: int(_literal(query.limit))]
        return rows if len(query.projections) > 1 else [row[0] for row in rows]

    def _of_group(self, one: Any, group: list[Solution]) -> Any:
        if not isinstance(one, Aggregate):
            return self._shown(one, group[0])
        inputs = [self._shown(one.operand, solution) for solution in group]
        inputs = [found for found in inputs if found is not None]
        if one.distinct:
            inputs = list({frozen(found): found for found in inputs}.values())
        if one.name == "COUNT":
            return len(inputs)
        texts = one.name in ("MIN", "MAX") and all(isinstance(found, str) for found in inputs)
        if not texts and not all(_is_number(found) for found in inputs):
            raise Refused("TypeMismatch")
        if not inputs:
            return None
        match one.name:
            case "SUM":
                return sum(inputs)
            case "AVG":
                return sum(inputs) / len(inputs)
            case "MIN":
                return min(inputs)
            case _:
                return max(inputs)

    def _shown(self, one: Variable | Path, solution: Solution) -> Any:
        """A projected expression's value; an element as `{"$element": id}`."""
        found = self._value(one, solution)
        return {"$element": found.id} if isinstance(found, Element) else found

    def _check(self, query: Find) -> None:
        """What is refused whether or not anything matches: unknown symbols, bad patterns."""
        for node in walk(query):
            match node:
                case Triple(subject, predicate, object_):
                    self._lineages(predicate)
                    self._check_types(subject, object_)
                case StructuralPattern(_, source, field, target):
                    self._symbol(self.graph.schema.structural, _literal(field))
                    self._check_types(source, target)
                case ConceptPattern(_, match):
                    self._check_types(match)
                case Call("REGEX", (_, Literal(pattern))):
                    try:
                        re.compile(str(pattern))
                    except re.error:
                        raise Refused("InvalidSyntax") from None

    def _check_types(self, *matches: Any) -> None:
        for match in matches:
            for member in match.members if isinstance(match, ObjectMatch) else ():
                if member.name == "type":
                    self._symbol(self.graph.schema.type, _literal(member.value))

    def _symbol(self, look_up: Callable[[str], Any], name: Any) -> Any:
        try:
            return look_up(str(name))
        except Exception as error:
            raise Refused(getattr(error, "code", type(error).__name__)) from error

    # blocks

    def _solve(self, block: Block, start: Solution) -> list[Solution]:
        """The solutions of a block that extend `start`."""
        found = [start]
        for clause in block.clauses:
            match clause:
                case UnionBlock(inner):
                    # the branch sees nothing of what is around; what it finds must still agree
                    # with the solution that the block extends
                    found = [*found, *filter(None, (_joined(start, s) for s in self._fresh(inner)))]
                case NotBlock(inner):
                    found = [s for s in found if not self._solve(inner, s)]
                case OptionalBlock(inner):
                    found = [e for s in found for e in (self._solve(inner, s) or [s])]
                case Filter(expression):
                    found = [s for s in found if self._truth(expression, s) is True]
                case _:
                    found = [e for s in found for e in self._match(clause, s)]
            found = _distinct(found)
            if len(found) > MOST:
                raise TooMuch
        return found

    def _fresh(self, block: Block) -> list[Solution]:
        return self._solve(block, {})

    # patterns

    def _match(self, clause: Clause, s: Solution) -> Iterator[Solution]:
        match clause:
            case ConceptPattern(variable, match):
                for one in self.graph.of_kind("concept"):
                    for found in _bind(variable, Element(one["id"]), s):
                        yield from self._element(one, match, found)
            case RecordPattern(kind, variable, match):
                for one in self.graph.of_kind(kind.lower()):
                    for found in _bind(variable, Element(one["id"]), s):
                        yield from self._element(one, match, found)
            case PropositionPattern(variable, Triple(_, PathPredicate()) as triple):
                assert variable is None, "what a path binds is not said"
                yield from self._path(triple, s)
            case PropositionPattern(variable, proposition):
                for one in self._propositions():
                    for found in _bind(variable, Element(one["id"]), s):
                        yield from self._proposition(one, proposition, found)
            case StructuralPattern(variable, source, field, target):
                lineage = self.graph.schema.structural(str(_literal(field))).lineage
                for place, edge in enumerate(self.graph.edges):
                    if edge.lineage == lineage:
                        for bound in _bind(variable, Link(place), s):
                            for near in self._term(source, Element(edge.source), bound):
                                yield from self._term(target, Element(edge.target), near)
            case _:
                raise AssertionError(f"no pattern of this evaluator: {clause}")

    def _propositions(self) -> list[dict[str, Any]]:
        return [one for one in self.graph.of_kind("proposition") if _state(one) == "active"]

    def _element(self, one: dict[str, Any], match: ObjectMatch, s: Solution) -> Iterator[Solution]:
        """An element against `{…}`. Without a word about its state it must be active."""
        if "state" not in {member.name for member in match.members} and _state(one) != "active":
            return
        solutions: list[Solution] = [s]
        for member in match.members:
            solutions = [e for s in solutions for e in self._member(one, member, s)]
        yield from solutions

    def _member(self, one: dict[str, Any], member: Member, s: Solution) -> Iterator[Solution]:
        match member.name:
            case "type":
                wanted = self.graph.schema.type(str(_literal(member.value))).lineage
                if "schema_ref" in one and lineage_of(one["schema_ref"]) == wanted:
                    yield s
            case "state":
                yield from self._json(member.value, _state(one), s)
            case "proposition" | "asserted_by" if member.name in one:
                yield from self._term(member.value, Element(one[member.name]["id"]), s)
            case "facets" if isinstance(member.value, ObjectMatch):
                members = tuple(
                    Member(self.graph.schema.facet(facet.name).ref, facet.value)
                    for facet in member.value.members
                )
                yield from self._json(ObjectMatch(members), one.get("facets"), s)
            case name:
                yield from self._json(member.value, one.get(name), s)

    def _json(
        self, pattern: Any, json: Any, s: Solution, *, there: bool = False
    ) -> Iterator[Solution]:
        """A JSON value against a pattern; a core field that is None is absent."""
        if json is None and not there:
            return
        match pattern:
            case Variable():
                yield from _bind(pattern, value(json), s)
            case Literal(wanted):
                if same(wanted, json):
                    yield s
            case ObjectMatch(members) if isinstance(json, dict):
                solutions = [s]
                for member in members:
                    if member.name not in json:
                        return
                    solutions = [
                        e
                        for s in solutions
                        for e in self._json(member.value, json[member.name], s, there=True)
                    ]
                yield from solutions
            case ArrayMatch(items) if isinstance(json, list) and len(items) == len(json):
                solutions = [s]
                for item, part in zip(items, json, strict=True):
                    solutions = [
                        e for s in solutions for e in self._json(item, part, s, there=True)
                    ]
                yield from solutions

    def _proposition(
        self, one: dict[str, Any], wanted: Triple | TripleById, s: Solution
    ) -> Iterator[Solution]:
        if isinstance(wanted, TripleById):
            if _literal(wanted.id) == one["id"]:
                yield s
            return
        if isinstance(wanted.predicate, Variable):
            solutions = list(_bind(wanted.predicate, value(one["predicate_ref"]), s))
        elif lineage_of(one["predicate_ref"]) in self._lineages(wanted.predicate):
            solutions = [s]
        else:
            return
        for near in solutions:
            for found in self._term(wanted.subject, Element(one["subject"]["id"]), near):
                yield from self._term(wanted.object, _end(one["object"]), found)

    def _lineages(self, predicate: Any) -> set[str]:
        match predicate:
            case Literal(name):
                return {self._symbol(self.graph.schema.predicate, name).lineage}
            case PathPredicate(steps):
                return {lineage for step in steps for lineage in self._lineages(step.predicate)}
        return set()

    def _term(self, term: Any, end: Element | Value, s: Solution) -> Iterator[Solution]:
        """One end of a tuple or of a reference; merged elements count as what they became."""
        if isinstance(end, Element):
            end = Element(self.graph.canonical(end.id))
        match term:
            case Variable(name):
                bound = s.get(name)
                if isinstance(bound, Element) and isinstance(end, Element):
                    if self.graph.canonical(bound.id) == end.id:
                        yield s
                else:
                    yield from _bind(term, end, s)
            case Literal(wanted):
                if isinstance(end, Value) and same(end.json, wanted):
                    yield s
            case ObjectMatch((Member("id", Literal(wanted)),)):
                # names the element, whatever its state and kind
                if isinstance(end, Element) and self.graph.canonical(str(wanted)) == end.id:
                    yield s
            case ObjectMatch():
                if isinstance(end, Element):
                    one = self.graph.documents[end.id]
                    if one["kind"] == "concept":
                        yield from self._element(one, term, s)
            case Triple() | TripleById():
                if isinstance(end, Element):
                    one = self.graph.documents[end.id]
                    if one["kind"] == "proposition" and _state(one) == "active":
                        yield from self._proposition(one, term, s)

    def _path(self, triple: Triple, s: Solution) -> Iterator[Solution]:
        """Every pair of ends that some walk of the allowed length joins."""
        assert isinstance(triple.predicate, PathPredicate)
        starts = {Element(self.graph.canonical(one)) for one in self.graph.documents}
        for start in sorted(starts, key=lambda one: one.id):
            for near in self._term(triple.subject, start, s):
                ends: set[Element | Value] = set()
                for step in triple.predicate.steps:
                    ends |= self._reached(start, step)
                for end in ends:
                    yield from self._term(triple.object, end, near)

    def _reached(self, start: Element, step: PathStep) -> set[Element | Value]:
        least, most = (1, 1) if step.hops is None else (step.hops.least, step.hops.most)
        lineages = self._lineages(step.predicate)
        # no walk without repetition is longer than there are elements
        longest = len(self.graph.documents) + least if most is None else most
        here: set[Element | Value] = {start}
        reached = set(here) if least == 0 else set()
        for length in range(1, longest + 1):
            here = {
                _canonical(self.graph, _end(one["object"]))
                for one in self._propositions()
                if lineage_of(one["predicate_ref"]) in lineages
                and Element(self.graph.canonical(one["subject"]["id"])) in here
            }
            if length >= least:
                reached |= here
        return reached

    # expressions

    def _value(self, expression: Expression, s: Solution) -> Any:
        """A JSON value, an `Element`, or None for null and for what is unknown."""
        match expression:
            case Variable(name):
                bound = s.get(name)
                if isinstance(bound, Value):
                    return bound.json
                return self._edge(bound) if isinstance(bound, Link) else bound
            case Path(variable, steps):
                bound = s.get(variable.name)
                if isinstance(bound, Element):
                    return read(self._document(bound.id), steps, self.graph.schema)
                if isinstance(bound, Link):
                    return read(self._edge(bound), steps, self.graph.schema)
                return None if bound is None else read(bound.json, steps, self.graph.schema)
            case Literal(given):
                return given
            case ArrayValue(items):
                return [self._value(item, s) for item in items]  # type: ignore[arg-type]
            case Unary("-", operand):
                number = self._value(operand, s)
                return -number if _is_number(number) else None
            case Unary("!", operand):
                truth = self._truth(operand, s)
                return None if truth is None else not truth
            case Binary("&&", left, right):
                return _and(self._truth(left, s), self._truth(right, s))
            case Binary("||", left, right):
                both = _and(_not(self._truth(left, s)), _not(self._truth(right, s)))
                return _not(both)
            case Binary(operator, left, right):
                return _compared(operator, self._value(left, s), self._value(right, s))
            case Call(name, arguments):
                return self._call(name, [self._value(one, s) for one in arguments])
        raise AssertionError(f"no expression of this evaluator: {expression}")

    def _truth(self, expression: Expression, s: Solution) -> bool | None:
        found = self._value(expression, s)
        return found if isinstance(found, bool) else None

    def _document(self, element: str) -> dict[str, Any]:
        one = self.graph.documents[element]
        if one["kind"] == "proposition":
            ends = {
                "canonical_subject": {"id": self.graph.canonical(one["subject"]["id"])},
                "canonical_object": one["object"],
            }
            end = _end(one["object"])
            if isinstance(end, Element):
                ends["canonical_object"] = {"id": self.graph.canonical(end.id)}
            return {**one, **ends}
        return one

    def _edge(self, link: Link) -> dict[str, Any]:
        edge: Edge = self.graph.edges[link.place]
        return {
            "field": edge.ref,
            "index": edge.index,
            "role": edge.role,
            "source": {"id": edge.source},
            "target": {"id": edge.target},
        }

    def _call(self, name: str, arguments: Sequence[Any]) -> Any:
        first = arguments[0]
        match name:
            case "IS_NULL":
                return first is None
            case "IS_NOT_NULL":
                return first is not None
        if first is None:
            return None
        match name:
            case "IS_ELEMENT":
                return isinstance(first, Element)
            case "IS_LITERAL":
                return not isinstance(first, Element | dict | list)
            case "IS_KIND":
                if not isinstance(first, Element):
                    return False
                return self.graph.documents[first.id]["kind"] == str(arguments[1]).lower()
            case "LITERAL_TYPE":
                return _literal_type(first)
            case "IN":
                return any(_compared("==", first, one) is True for one in arguments[1])
        second = arguments[1]
        if not isinstance(first, str) or not isinstance(second, str):
            return None
        match name:
            case "CONTAINS":
                return second in first
            case "STARTS_WITH":
                return first.startswith(second)
            case "ENDS_WITH":
                return first.endswith(second)
            case "REGEX":
                return re.search(second, first) is not None
        raise AssertionError(f"no function of this evaluator: {name}")


def _state(one: dict[str, Any]) -> str:
    return str(one["_system"]["state"])


def _end(object_: Any) -> Element | Value:
    """A proposition's object: an element or a literal."""
    return Element(object_["id"]) if isinstance(object_, dict) else value(object_)


def _canonical(graph: Graph, end: Element | Value) -> Element | Value:
    return Element(graph.canonical(end.id)) if isinstance(end, Element) else end


def _bind(variable: Variable | None, to: Bound, s: Solution) -> Iterator[Solution]:
    if variable is None or s.get(variable.name) == to:
        yield s
    elif variable.name not in s:
        yield {**s, variable.name: to}


def _joined(left: Solution, right: Solution) -> Solution | None:
    """Both together, None where they disagree."""
    if any(name in right and right[name] != bound for name, bound in left.items()):
        return None
    return {**left, **right}


def _distinct(solutions: Iterable[Solution]) -> list[Solution]:
    return list({frozenset(s.items()): s for s in solutions}.values())


def _literal(node: Any) -> Any:
    assert isinstance(node, Literal), node
    return node.value


def _is_number(found: Any) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool)


def _literal_type(found: Any) -> str | None:
    if isinstance(found, bool):
        return "boolean"
    if isinstance(found, str):
        return "string"
    return "number" if isinstance(found, int | float) else None


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return True if left and right else None


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _compared(operator: str, left: Any, right: Any) -> bool | None:
    """A comparison: unknown with null, and an order between unlike types is unknown too."""
    if left is None or right is None:
        return None
    if operator in ("==", "!="):
        equal = left == right if isinstance(left, Element) else same(left, right)
        return equal == (operator == "==")
    if not (_is_number(left) and _is_number(right)) and not (
        isinstance(left, str) and isinstance(right, str)
    ):
        return None
    match operator:
        case "<":
            return bool(left < right)
        case ">":
            return bool(left > right)
        case "<=":
            return bool(left <= right)
        case _:
            return bool(left >= right)


def _ordered(keyed: list[tuple[Any, Any]], *, descending: bool) -> list[Any]:
    """Sorted by key, nulls last either way; stable."""
    there = [pair for pair in keyed if pair[0] is not None]
    nulls = [pair for pair in keyed if pair[0] is None]

    def compare(left: tuple[Any, Any], right: tuple[Any, Any]) -> int:
        if _compared("<", left[0], right[0]):
            return -1
        return 1 if _compared(">", left[0], right[0]) else 0

    there.sort(key=functools.cmp_to_key(compare), reverse=descending)
    return [group for _, group in (*there, *nulls)]
