"""Queries with beliefs: solutions are worked out here, block by block.

What has nothing to do with beliefs still runs as SQL, a run of clauses at a time, joined to the
solutions so far; beliefs are projected for all of those at once (contract kip-engine section 11).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from storage.database import sql
from storage.kip.errors import (
    ProjectionTargetUnbounded,
    ResourceExhausted,
    TypeMismatch,
    fault,
)
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_patterns import (
    BeliefPattern,
    BeliefSlotPattern,
    Block,
    Clause,
    ConceptPattern,
    Filter,
    NotBlock,
    OptionalBlock,
    PropositionPattern,
    UnionBlock,
)
from storage.kip.language.ast_terms import (
    Literal,
    Node,
    ObjectMatch,
    Triple,
    TripleById,
    Variable,
)
from storage.kip.language.scopes import bound_by
from storage.kip.language.walking import variables, walk
from storage.kip.query import beliefs, symbols
from storage.kip.query.beliefs import BeliefTarget, End, Epistemic
from storage.kip.query.blocks import add, in_order
from storage.kip.query.evaluate import Bound, Element, Evaluator, Held, Solution
from storage.kip.query.limits import MAX_BELIEFS, MAX_SOLUTIONS
from storage.kip.query.matches import reference
from storage.kip.query.relation import Binding, Build, Relation
from storage.kip.snapshot import Snapshot

_TAG = "#row"


def has_beliefs(where: Block) -> bool:
    """Whether a query asks what is believed."""
    return any(isinstance(node, BeliefPattern | BeliefSlotPattern) for node in walk(where))


class Solver:
    """Works out the solutions of one query."""

    def __init__(
        self,
        snapshot: Snapshot,
        query: Find,
        given: Epistemic,
        *,
        merges: bool,
        hits: Mapping[int, Any],
    ) -> None:
        self.snapshot, self.given = snapshot, given
        self.merges, self.hits = merges, hits
        self.evaluator = Evaluator(snapshot, merges)
        self.where = query.where
        self._virtual = frozenset(
            clause.variable.name
            for clause in walk(query.where)
            if isinstance(clause, BeliefPattern | BeliefSlotPattern)
        )

    def solutions(self) -> list[Solution]:
        """All distinct solutions. Raises what the query deserves."""
        return _distinct(self._solve(self.where, [{}], frozenset()))

    def _solve(self, block: Block, starts: list[Solution], bound: frozenset[str]) -> list[Solution]:
        """The solutions of a block that extend those it begins with."""
        found, waiting = starts, []
        for clause in in_order(block.clauses, bound):
            if self._plain(clause):
                waiting.append(clause)
            else:
                found, waiting = self._run(waiting, found, bound), []
                found = _distinct(self._extend(clause, found, starts, bound))
            if not isinstance(clause, NotBlock | Filter):
                bound |= bound_by(Block((clause,)))
            if len(found) > MAX_SOLUTIONS:
                raise ResourceExhausted(f"The query has more than {MAX_SOLUTIONS} solutions.")
        return self._run(waiting, found, bound)

    def _plain(self, clause: Clause) -> bool:
        """Whether the database can do it without knowing any belief."""
        if isinstance(clause, UnionBlock) or has_beliefs(Block((clause,))):
            return False
        return not any(variable.name in self._virtual for variable in variables(clause))

    def _extend(
        self, clause: Clause, found: list[Solution], starts: list[Solution], bound: frozenset[str]
    ) -> list[Solution]:
        match clause:
            case Filter(expression):
                self.evaluator.prepare([expression], found)
                return [s for s in found if self.evaluator.truth(expression, s) is True]
            case NotBlock(inner):
                matched = self._by_row(inner, found, bound)
                return [s for index, s in enumerate(found) if index not in matched]
            case OptionalBlock(inner):
                matched = self._by_row(inner, found, bound)
                return [e for index, s in enumerate(found) for e in matched.get(index, [s])]
            case UnionBlock(inner):
                branch = self._solve(inner, [{}], frozenset())
                joined = (_joined(start, one) for start in starts for one in branch)
                return [*found, *(one for one in joined if one is not None)]
            case BeliefPattern():
                return self._beliefs(clause, found, bound)
            case BeliefSlotPattern():
                return self._slots(clause, found, bound)
        raise AssertionError(f"no clause of this solver: {clause}")

    def _by_row(
        self, block: Block, found: list[Solution], bound: frozenset[str]
    ) -> dict[int, list[Solution]]:
        """The solutions of a block for each that it begins with."""
        tag = f"{_TAG}{sum(name.startswith(_TAG) for name in bound)}"
        tagged: list[Solution] = [{**s, tag: Held(index)} for index, s in enumerate(found)]
        matched: dict[int, list[Solution]] = {}
        for one in self._solve(block, tagged, bound | {tag}):
            held = one[tag]
            assert isinstance(held, Held)
            rest = {name: value for name, value in one.items() if name != tag}
            matched.setdefault(held.json, []).append(rest)
        return matched

    # runs of plain clauses

    def _run(
        self, clauses: list[Clause], found: list[Solution], bound: frozenset[str]
    ) -> list[Solution]:
        if not clauses:
            return found
        build = Build(self.snapshot, self.merges, self.hits)
        relation = Relation(build)
        seed = _seed(relation, found, self._virtual)
        for clause in clauses:
            add(relation, clause)
        names = list(relation.bindings)
        columns = f"{seed} as n"
        for part, name in relation.exported(names):
            # as text, since a JSON null is not the same as no value
            shown = f"({part})::text" if name.endswith("_value") else part
            columns += f", {shown} as {name}"
        limit = build.parameter(MAX_SOLUTIONS + 1)
        statement = build.statement(f"{relation.select(columns)} limit {limit}::bigint")
        rows = self.snapshot.tx.execute(sql(statement), build.parameters).fetchall()
        if len(rows) > MAX_SOLUTIONS:
            raise ResourceExhausted(f"The query has more than {MAX_SOLUTIONS} solutions.")
        return _distinct(_read(row, names, found) for row in rows)

    # beliefs

    def _beliefs(
        self, clause: BeliefPattern, found: list[Solution], bound: frozenset[str]
    ) -> list[Solution]:
        target = clause.target
        if isinstance(target, Variable):
            asked = [
                (s, BeliefTarget.of_proposition(bound_to.id))
                for s in found
                if isinstance(bound_to := s.get(target.name), Element)
            ]
            return self._projected(clause.variable.name, asked)
        if isinstance(target, TripleById):
            named = reference(Build(self.snapshot, self.merges), target.id)
            if named is None:
                raise fault(TypeMismatch, "An id is a string.", target.at)
            one = BeliefTarget.of_proposition(named)
            return self._projected(clause.variable.name, [(s, one) for s in found])
        found, subject = self._grounded(target.subject, found, bound)
        predicate = self._predicate(target.predicate, bound)
        open_object: str | None = None
        object_: _Ground
        if isinstance(target.object, Variable):
            object_, open_object = target.object, target.object.name
        else:
            found, object_ = self._grounded(target.object, found, bound, literal=True)
        asked = []
        for s in found:
            who, what = _end(subject, s), _word(predicate, s)
            if who is None or what is None:
                continue
            value = _end(object_, s)
            if value is not None:
                asked.append((s, BeliefTarget.of_tuple(who, what, value)))
            elif open_object is not None:
                asked.append((s, BeliefTarget.of_candidates(who, what)))
        return self._projected(clause.variable.name, asked, open_object)

    def _slots(
        self, clause: BeliefSlotPattern, found: list[Solution], bound: frozenset[str]
    ) -> list[Solution]:
        found, subject = self._grounded(clause.subject, found, bound)
        predicate = self._predicate(clause.predicate, bound)
        asked = []
        for s in found:
            who, what = _end(subject, s), _word(predicate, s)
            if who is not None and what is not None:
                asked.append((s, BeliefTarget.of_slot(who, what)))
        return self._projected(clause.variable.name, asked)

    def _grounded(
        self, term: Node, found: list[Solution], bound: frozenset[str], *, literal: bool = False
    ) -> tuple[list[Solution], _Ground]:
        """A term as a variable or a constant; what it describes is looked up.

        Raises `ProjectionTargetUnbounded` for a variable that nothing before binds.
        """
        match term:
            case Variable(name):
                if name not in bound:
                    raise fault(
                        ProjectionTargetUnbounded,
                        f"Nothing binds ?{name} before it is asked about.",
                        term.at,
                        hint="Bind it by a pattern, or name the element.",
                    )
                return found, term
            case Literal() if literal:
                return found, term
            case ObjectMatch() | Literal():
                named = reference(Build(self.snapshot, self.merges), term)
                if named is not None:
                    return found, _Named(named)
                assert isinstance(term, ObjectMatch)
                hidden = Variable(f"#{term.at}")
                return self._run([ConceptPattern(hidden, term)], found, bound), hidden
            case Triple() | TripleById():
                hidden = Variable(f"#{term.at}")
                return self._run([PropositionPattern(hidden, term)], found, bound), hidden
        raise fault(TypeMismatch, "An element is wanted there.", term.at)

    def _predicate(self, predicate: Node, bound: frozenset[str]) -> Node:
        if isinstance(predicate, Variable):
            if predicate.name not in bound:
                raise fault(
                    ProjectionTargetUnbounded,
                    f"Nothing binds ?{predicate.name} before it is asked about.",
                    predicate.at,
                )
            return predicate
        symbols.predicates(self.snapshot, predicate)
        return predicate

    def _projected(
        self,
        name: str,
        asked: list[tuple[Solution, BeliefTarget]],
        open_object: str | None = None,
    ) -> list[Solution]:
        """Each solution with what is believed; one for each candidate where the object is open."""
        targets = list(dict.fromkeys(target for _, target in asked))
        if len(targets) > MAX_BELIEFS:
            raise ResourceExhausted(f"A query projects at most {MAX_BELIEFS} beliefs.")
        answers = beliefs.project(self.snapshot, targets, self.given)
        by_target = dict(zip(targets, answers, strict=True))
        made: list[Solution] = []
        for solution, target in asked:
            answer = by_target[target]
            for document in answer if isinstance(answer, list) else [answer]:
                one = {**solution, name: Held(document)}
                if open_object is not None and target.object is None:
                    one[open_object] = _object(document)
                made.append(one)
        return made


@dataclass(frozen=True, slots=True)
class _Named:
    """An element named by its id."""

    id: str


#: What an end of a tuple is grounded to.
_Ground = Variable | Literal | _Named


def _end(term: _Ground, solution: Solution) -> End | None:
    """What stands at an end of a tuple in one solution."""
    if isinstance(term, _Named):
        return term.id
    if isinstance(term, Literal):
        return term
    bound = solution.get(term.name)
    if isinstance(bound, Element):
        return bound.id
    if bound is None or isinstance(bound.json, dict | list):
        return None
    return Literal(bound.json)


def _word(predicate: Node, solution: Solution) -> str | None:
    if isinstance(predicate, Literal):
        return str(predicate.value)
    assert isinstance(predicate, Variable)
    bound = solution.get(predicate.name)
    return bound.json if isinstance(bound, Held) and isinstance(bound.json, str) else None


def _object(document: Mapping[str, Any]) -> Bound:
    value = document.get("object")
    if isinstance(value, dict) and list(value) == ["id"]:
        return Element(value["id"])
    return Held(value)


def _seed(relation: Relation, found: list[Solution], virtual: frozenset[str]) -> str:
    """Join the solutions so far as a table; returns the expression of their number."""
    if found == [{}]:
        return "0"
    names = [n for n in dict.fromkeys(n for s in found for n in s) if n not in virtual]
    build = relation.build
    arrays, columns = [], []
    for name in names:
        base = build.column(name)
        bounds = [s.get(name) for s in found]
        ids = [bound.id if isinstance(bound, Element) else None for bound in bounds]
        values = [
            json.dumps(bound.json, ensure_ascii=False) if isinstance(bound, Held) else None
            for bound in bounds
        ]
        arrays += [f"{build.parameter(ids)}::text[]", f"{build.parameter(values)}::text[]::jsonb[]"]
        columns += [f"{base}_id", f"{base}_value"]
    arrays.append(f"{build.parameter(list(range(len(found))))}::int[]")
    columns.append("number")
    alias = relation.join("r", f"unnest({', '.join(arrays)}) $it({', '.join(columns)})")
    for name in names:
        base = build.column(name)
        bounds = [s.get(name) for s in found]
        elements = [bound for bound in bounds if isinstance(bound, Element)]
        certain = None not in bounds
        only = certain and len(elements) == len(bounds)
        relation.bindings[name] = Binding(
            id=f"{alias}.{base}_id" if elements else None,
            value=None if only else f"{alias}.{base}_value",
            kinds="".join(sorted({one.id[:1] for one in elements})),
            certain=certain,
        )
    return f"{alias}.number"


def _read(row: tuple[Any, ...], names: list[str], found: list[Solution]) -> Solution:
    """A row of a run, on top of the solution that it extends."""
    solution = dict(found[row[0]]) if found != [{}] else {}
    for index, name in enumerate(names):
        id_, value, _, lineage, score, mode = row[1 + 6 * index : 7 + 6 * index]
        if name in solution:
            continue
        if id_ is not None:
            solution[name] = Element(id_, score, mode)
        elif value is not None:
            solution[name] = Held(json.loads(value), lineage)
    return solution


def _distinct(found: Iterable[Solution]) -> list[Solution]:
    return list({frozenset(one.items()): one for one in found}.values())


def _joined(left: Solution, right: Solution) -> Solution | None:
    """Both together, None where they disagree."""
    if any(name in right and right[name] != bound for name, bound in left.items()):
        return None
    return {**left, **right}
