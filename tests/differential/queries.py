"""Random queries over what a history wrote, as checked trees.

Directed by the grammar and by the kinds of the variables in scope, so that most queries match
something. They stay away from what the rules leave open: a condition or NOT stands after the
patterns that bind its variables, a nested UNION ends its block, paths of any length have a bound
end, values that are compared are seldom of different types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from hypothesis import strategies as st

from storage.kip.language.ast_expressions import Aggregate, Binary, Call, Expression, Unary
from storage.kip.language.ast_kql import Find, SortKey
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
    Hops,
    Literal,
    Member,
    ObjectMatch,
    Path,
    PathPredicate,
    PathStep,
    Term,
    Triple,
    TripleById,
    Variable,
)
from tests.differential.histories import FIELDS, NAMES, NUMBERS, PREDICATES, TEXTS, TYPES
from tests.differential.model import Graph

#: Paths that an element of a kind may be read by, and what they read.
_PATHS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "concept": (
        ("string", ("id",)),
        ("string", ("name",)),
        ("string", ("name",)),
        ("string", ("key",)),
        ("string", ("kind",)),
        ("string", ("schema_ref",)),
        ("number", ("attributes", "n")),
        ("number", ("attributes", "n")),
        ("string", ("attributes", "s")),
        ("boolean", ("attributes", "b")),
        ("number", ("attributes", "deep", "x")),
        ("null", ("attributes", "none")),
        ("null", ("attributes", "nothing")),
        ("number", ("facets", "MnemonicState", "salience")),
        ("number", ("_system", "version")),
        ("string", ("_system", "state")),
        ("string", ("merged_into",)),
    ),
    "proposition": (
        ("string", ("id",)),
        ("string", ("predicate_ref",)),
        ("string", ("subject", "id")),
        ("string", ("canonical_subject", "id")),
        ("string", ("object", "id")),
        ("null", ("confidence",)),
    ),
    "assertion": (
        ("string", ("id",)),
        ("string", ("stance",)),
        ("string", ("mode",)),
        ("number", ("confidence",)),
        ("string", ("lifecycle", "status")),
        ("string", ("proposition", "id")),
        ("string", ("asserted_by", "id")),
        ("string", ("asserted_at",)),
        ("number", ("_system", "version")),
    ),
    "evidence": (
        ("string", ("id",)),
        ("string", ("evidence_class",)),
        ("string", ("payload", "inline")),
        ("string", ("lifecycle", "status")),
        ("string", ("media_type",)),
    ),
    "activity": (("string", ("id",)), ("string", ("status",)), ("string", ("activity_class",))),
    "edge": (("string", ("field",)), ("string", ("role",))),
}
_SAMPLES: dict[str, tuple[Any, ...]] = {
    "string": (*NAMES, *TEXTS, "active", "support", "C-1", "concept"),
    "number": (*NUMBERS, 0.5, 0.25, 3),
    "boolean": (True, False),
    "null": (1, "a"),
}
#: Patterns without anything on which dialects differ.
_REGEXES = ("a", "^b", "[a-z]$", "^.o$", "(a|b)+", "é")


@dataclass
class _Scope:
    """Variables that are bound so far: name to kind."""

    kinds: dict[str, str] = field(default_factory=dict)

    def of(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind in kinds]


class _Asker:
    """One query in the making."""

    def __init__(self, graph: Graph, draw: Callable[..., Any]) -> None:
        self.graph, self.draw, self.count = graph, draw, 0

    def pick(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(list(choices)))

    def chance(self, one_in: int) -> bool:
        return bool(self.draw(st.integers(1, one_in)) == one_in)

    def variable(self, scope: _Scope, kind: str) -> Variable:
        """Mostly a variable that is there, else a new one."""
        known = scope.of(kind, "any") if kind in ("concept", "proposition") else scope.of(kind)
        if known and not self.chance(4):
            return Variable(self.pick(known))
        return self.fresh(scope, kind)

    def fresh(self, scope: _Scope, kind: str) -> Variable:
        self.count += 1
        name = f"{kind[0]}{self.count}"
        scope.kinds[name] = kind
        return Variable(name)

    def ids(self, kind: str) -> list[str]:
        return [one["id"] for one in self.graph.of_kind(kind)]

    # blocks

    def block(self, outer: _Scope, depth: int, *, least: int = 1) -> tuple[Block, _Scope]:
        """A block and what it binds around it."""
        scope = _Scope(dict(outer.kinds))
        clauses: list[Clause] = []
        for _ in range(self.draw(st.integers(least, 3 if depth else 2))):
            clauses.append(self.pattern(scope))
        extras = self.draw(st.lists(st.sampled_from("ffnopu"), max_size=3 if depth else 1))
        for extra in extras:
            match extra:
                case "f":
                    condition = self.condition(scope)
                    if condition is not None:
                        clauses.append(Filter(condition))
                case "n" if depth:
                    clauses.append(NotBlock(self.block(scope, depth - 1)[0]))
                case "o" if depth:
                    inner, found = self.block(scope, depth - 1)
                    clauses.append(OptionalBlock(inner))
                    scope = found
                case "u" if depth and (depth == 2 or extra is extras[-1]):
                    clauses.append(UnionBlock(self.branch(scope, depth - 1)))
                    if depth < 2:
                        break
                case "p":
                    clauses.append(self.pattern(scope))
        return Block(tuple(clauses)), scope

    def branch(self, scope: _Scope, depth: int) -> Block:
        """A UNION branch: it sees nothing, but binds some of the same names."""
        inner = _Scope()
        clauses: list[Clause] = [self.pattern(inner)]
        renamed: dict[str, str] = {}
        for name, kind in inner.kinds.items():
            same = [one for one in scope.of(kind) if one not in renamed.values()]
            if same and not self.chance(3):
                renamed[name] = self.pick(same)
            else:
                scope.kinds[name] = kind
        clause = cast(Clause, _renamed(clauses[0], renamed))
        found = _Scope({renamed.get(name, name): kind for name, kind in inner.kinds.items()})
        clauses = [clause]
        if depth and self.chance(3):
            condition = self.condition(found)
            if condition is not None:
                clauses.append(Filter(condition))
        return Block(tuple(clauses))

    # patterns

    def pattern(self, scope: _Scope) -> Clause:
        choice = self.draw(st.sampled_from("cccctttttaaespi"))
        match choice:
            case "c":
                return ConceptPattern(self.variable(scope, "concept"), self.concept(scope))
            case "t":
                variable = self.fresh(scope, "proposition") if self.chance(2) else None
                return PropositionPattern(variable, self.triple(scope))
            case "a":
                return RecordPattern(
                    "ASSERTION", self.variable(scope, "assertion"), self.assertion(scope)
                )
            case "e":
                if self.chance(2):
                    status = Member("status", Literal(self.pick(("pending", "completed"))))
                    match_ = ObjectMatch((status,) if self.chance(2) else ())
                    return RecordPattern("ACTIVITY", self.variable(scope, "activity"), match_)
                wanted = Member("evidence_class", Literal(self.pick(("message", "document"))))
                match_ = ObjectMatch((wanted,) if self.chance(2) else ())
                return RecordPattern("EVIDENCE", self.variable(scope, "evidence"), match_)
            case "s":
                return self.structural(scope)
            case "i" if self.ids("proposition"):
                by_id = TripleById(Literal(self.pick((*self.ids("proposition"), "P-99", "C-1"))))
                return PropositionPattern(self.variable(scope, "proposition"), by_id)
        return self.path(scope)

    def concept(self, scope: _Scope) -> ObjectMatch:
        members: dict[str, Any] = {}
        for name in self.draw(
            st.lists(
                st.sampled_from(("type", "type", "name", "state", "att", "id", "key", "fac")),
                max_size=2,
                unique=True,
            )
        ):
            match name:
                case "type":
                    members["type"] = Literal("Nope" if self.chance(40) else self.pick(TYPES))
                case "name":
                    members["name"] = (
                        self.fresh(scope, "string")
                        if self.chance(3)
                        else Literal(self.pick((*NAMES, None)))
                    )
                case "state":
                    states = ("archived", "tombstoned", "merged", "active")
                    members["state"] = (
                        self.fresh(scope, "string")
                        if self.chance(2)
                        else Literal(self.pick(states))
                    )
                case "id":
                    members["id"] = (
                        self.fresh(scope, "string")
                        if self.chance(2)
                        else Literal(self.pick((*self.ids("concept"), "C-99")))
                    )
                case "key":
                    keys = [one["key"] for one in self.graph.of_kind("concept") if one["key"]]
                    members["key"] = Literal(self.pick((*keys, "k-none")))
                case "att":
                    members["attributes"] = self.attributes(scope)
                case "fac":
                    salience = Member("salience", Literal(self.pick((0, 0.5, 1))))
                    facet = Member("MnemonicState", ObjectMatch((salience,)))
                    members["facets"] = ObjectMatch((facet,))
        return ObjectMatch(tuple(Member(name, one) for name, one in members.items()))

    def attributes(self, scope: _Scope) -> ObjectMatch:
        members: list[Member] = []
        match self.pick("nsbdtv0"):
            case "n":
                members.append(Member("n", Literal(self.pick(NUMBERS))))
            case "s":
                members.append(Member("s", Literal(self.pick(TEXTS))))
            case "b":
                members.append(Member("b", Literal(self.pick((True, False)))))
            case "d":
                inner = Member("x", Literal(self.pick(NUMBERS)))
                members.append(Member("deep", ObjectMatch((inner,) if self.chance(2) else ())))
            case "t":
                items = self.draw(st.lists(st.sampled_from(TEXTS), max_size=2))
                members.append(Member("tags", ArrayMatch(tuple(map(Literal, items)))))
            case "v":
                kind, name = self.pick((("number", "n"), ("string", "s"), ("boolean", "b")))
                members.append(Member(name, self.fresh(scope, kind)))
        return ObjectMatch(tuple(members))

    def assertion(self, scope: _Scope) -> ObjectMatch:
        members: list[Member] = []
        for name in self.draw(
            st.lists(
                st.sampled_from(("proposition", "asserted_by", "stance", "mode", "lifecycle")),
                max_size=2,
                unique=True,
            )
        ):
            match name:
                case "proposition":
                    term = (
                        self.triple(scope)
                        if self.chance(6)
                        else self.variable(scope, "proposition")
                    )
                    members.append(Member(name, term))
                case "asserted_by":
                    members.append(Member(name, self.variable(scope, "concept")))
                case "stance":
                    members.append(Member(name, Literal(self.pick(("support", "reject")))))
                case "mode":
                    members.append(Member(name, Literal(self.pick(("stated", "inferred")))))
                case "lifecycle":
                    status = Member("status", Literal(self.pick(("active", "retracted"))))
                    members.append(Member(name, ObjectMatch((status,))))
        return ObjectMatch(tuple(members))

    def triple(self, scope: _Scope, depth: int = 1) -> Triple:
        predicate, _, object_type = self.pick(PREDICATES)
        link: Any = Literal("nope" if self.chance(40) else predicate)
        if self.chance(8):
            link, object_type = self.fresh(scope, "string"), "any"
        subject = self.element(scope, "concept")
        return Triple(subject, link, self.object(scope, object_type, depth))

    def element(self, scope: _Scope, kind: str) -> Term:
        match self.draw(st.sampled_from("vvvvvmi")):
            case "m" if kind == "concept":
                return self.concept(scope)
            case "i" if self.ids(kind):
                return ObjectMatch((Member("id", Literal(self.pick(self.ids(kind)))),))
        return self.variable(scope, kind)

    def object(self, scope: _Scope, what: Any, depth: int) -> Term:
        if isinstance(what, tuple):
            if self.chance(3):
                return Literal(self.pick(what))
            kind = "boolean" if what[0] is True else "number" if what[0] == -1 else "string"
            return self.variable(scope, kind)
        if what == "any":
            return self.variable(scope, "any")
        if what == "proposition":
            if depth and self.chance(2):
                return self.triple(scope, depth - 1)
            return self.variable(scope, "proposition")
        return self.element(scope, "concept")

    def structural(self, scope: _Scope) -> StructuralPattern:
        edge = self.fresh(scope, "edge") if self.chance(3) else None
        name = self.pick((*(name for name, _ in FIELDS), "evidence", "inputs", "has_step"))
        source = {"evidence": "assertion", "inputs": "activity"}.get(name, "concept")
        target = "evidence" if name == "evidence" else "concept"
        near = self.variable(scope, source)
        return StructuralPattern(edge, near, Literal(name), self.variable(scope, target))

    def path(self, scope: _Scope) -> PropositionPattern:
        names = ("knows", "same_as", "prefers", "lives_in", "scored")
        steps = []
        for name in self.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)):
            least = self.draw(st.integers(0, 2))
            most = self.draw(st.none() | st.integers(least, 3))
            if not scope.of("concept"):
                least, most = max(least, 1), None if most is None else max(most, 1)
            steps.append(PathStep(Literal(name), self.pick((None, Hops(least, most)))))
        near = self.variable(scope, "concept") if scope.of("concept") else self.concept(scope)
        predicate: Any = PathPredicate(tuple(steps))
        if len(steps) == 1 and steps[0].hops is None:
            predicate = steps[0].predicate
        far = self.variable(scope, "any")
        return PropositionPattern(None, Triple(near, predicate, far))

    # expressions

    def readable(self, scope: _Scope) -> list[tuple[str, Variable | Path]]:
        """What may be read of the variables in scope: its type and the expression."""
        found: list[tuple[str, Variable | Path]] = []
        for name, kind in scope.kinds.items():
            if kind in ("string", "number", "boolean"):
                found.append((kind, Variable(name)))
            for type_, steps in _PATHS.get("concept" if kind == "any" else kind, ()):
                found.append((type_, Path(Variable(name), steps)))
        return found

    def condition(self, scope: _Scope, depth: int = 1) -> Expression | None:
        readable = self.readable(scope)
        if not readable:
            return None
        if depth and self.chance(3):
            left, right = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            assert left is not None
            assert right is not None
            return Binary(self.pick(("&&", "||")), left, right)
        if depth and self.chance(4):
            inner = self.condition(scope, depth - 1)
            assert inner is not None
            return Unary("!", inner)
        elements = scope.of("concept", "proposition", "any")
        if len(elements) > 1 and self.chance(6):
            first, second = self.pick(elements), self.pick(elements)
            return Binary(self.pick(("==", "!=")), Variable(first), Variable(second))
        type_, left = self.pick(readable)
        if self.chance(5):
            function = self.pick(("IS_NULL", "IS_NOT_NULL"))
            return Call(function, (left,))
        if type_ == "string" and self.chance(2):
            function = self.pick(("CONTAINS", "STARTS_WITH", "ENDS_WITH", "REGEX"))
            given = self.pick(_REGEXES if function == "REGEX" else TEXTS)
            return Call(function, (left, Literal(given)))
        if self.chance(5):
            samples = self.draw(st.lists(st.sampled_from(_SAMPLES[type_]), max_size=3))
            return Call("IN", (left, ArrayValue(tuple(map(Literal, samples)))))
        operators = ("==", "!=") if type_ == "boolean" else ("==", "!=", "<", ">", "<=", ">=")
        alike = [one for kind, one in readable if kind == type_]
        right = self.pick(alike) if self.chance(4) else Literal(self.pick(_SAMPLES[type_]))
        return Binary(self.pick(operators), left, right)

    # the rest

    def find(self) -> Find:
        where, scope = self.block(_Scope(), 2)
        readable = [one for _, one in self.readable(scope)]
        bare = [Variable(name) for name, kind in scope.kinds.items() if kind != "edge"]
        choices = st.sampled_from([*bare, *bare, *readable] if bare else readable)
        if not bare and not readable:
            return self.find()
        projections: list[Any] = self.draw(st.lists(choices, min_size=1, max_size=3))
        order: list[SortKey] = []
        if self.chance(3):
            projections = self.grouped(scope, projections)
            plain: list[Any] = [one for one in projections if isinstance(one, Path | Aggregate)]
            sortable = [one for one in plain if _sortable(one)]
        else:
            # rows are compared by their keys, so the keys are shown
            types = [one for kind, one in self.readable(scope) if kind in ("string", "number")]
            sortable = types
        if sortable and self.chance(2):
            for key in self.draw(st.lists(st.sampled_from(sortable), min_size=1, max_size=2)):
                order.append(SortKey(key, self.draw(st.booleans())))
                if key not in projections:
                    projections.append(key)
        limit = Literal(self.draw(st.integers(0, 5))) if order and self.chance(2) else None
        return Find(tuple(projections), where, order_by=tuple(order), limit=limit)

    def grouped(self, scope: _Scope, plain: list[Any]) -> list[Any]:
        numbers = [one for kind, one in self.readable(scope) if kind == "number"]
        anything = [Variable(name) for name, kind in scope.kinds.items() if kind != "edge"]
        anything += [one for _, one in self.readable(scope)]  # type: ignore[misc]
        made: list[Any] = []
        for _ in range(self.draw(st.integers(1, 2))):
            distinct = self.draw(st.booleans())
            if numbers and self.chance(2):
                name = self.pick(("SUM", "AVG", "MIN", "MAX"))
                made.append(Aggregate(name, self.pick(numbers), distinct))
            else:
                made.append(Aggregate("COUNT", self.pick(anything), distinct))
        return [*(plain[:1] if self.draw(st.booleans()) else []), *made]


def _sortable(one: Any) -> bool:
    """Whether the values of a projection are of one type that has an order."""
    if isinstance(one, Aggregate):
        return True
    return one.steps[-1] not in ("b", "none", "nothing")


def _renamed(node: Any, names: dict[str, str]) -> Any:
    """A tree with variables renamed."""
    if isinstance(node, Variable):
        return Variable(names.get(node.name, node.name))
    if isinstance(node, tuple):
        return tuple(_renamed(part, names) for part in node)
    if hasattr(node, "__dataclass_fields__"):
        parts = {
            name: _renamed(getattr(node, name), names)
            for name in node.__dataclass_fields__
            if name != "at"
        }
        return type(node)(**parts)
    return node


@st.composite
def queries(draw: Callable[..., Any], graph: Graph) -> Find:
    """A query that the language accepts."""
    return _Asker(graph, draw).find()
