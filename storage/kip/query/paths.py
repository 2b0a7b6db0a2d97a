"""Paths: what a walk of some hops along a predicate reaches, as a recursive table.

A walk starts from the end that is bound. Where it may be arbitrarily long, what counts is what it
reaches, so each element is visited once; where its length is bounded, each element is visited once
for each length. What goes on beyond `MAX_REACHED` is refused by `kip_exhausted()`, never cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storage.kip.errors import ResourceExhausted, fault
from storage.kip.language.ast_terms import (
    Hops,
    Literal,
    Node,
    ObjectMatch,
    PathPredicate,
    PathStep,
    Triple,
    Variable,
)
from storage.kip.query import symbols
from storage.kip.query.limits import MAX_HOPS, MAX_REACHED
from storage.kip.query.matches import reference
from storage.kip.query.relation import Binding, Build, Relation, either

Term = Callable[[Relation, Node, str, str], None]


@dataclass(frozen=True, slots=True)
class _Hop:
    """One step along stored propositions: which column it goes from, and to."""

    build: Build
    lineages: frozenset[str]
    backward: bool

    def sql(self, here: str, columns: str) -> str:
        """A FROM and WHERE of the propositions one hop from `here`; `{p}` is their alias."""
        build, p, h = self.build, self.build.alias("p"), self.build.alias("h")
        start = "object_id" if self.backward else "subject_id"
        near = f"{p}.{start} = {here}"
        if build.merges:
            a = build.alias("a")
            source = f"lateral {build.alike(here)} {a}(id) cross join proposition {p}"
            near = f"{p}.{start} = {a}.id"
        else:
            source = f"proposition {p}"
        return (
            f"{columns.replace('{p}', p)} from {{from}}{source} where {p}.space_id = %(space)s"
            f" and {near} and {build.one_of(f'{p}.predicate_lineage', self.lineages)}"
            f" and {build.since(f'{p}.created_seq')}"
            f" and not exists (select from element_ver {h} where {h}.space_id = %(space)s"
            f" and {h}.id = {p}.id and {build.at(h)}"
            f" and ({h}.state <> 'active' or {h}.quarantined))"
        )

    @property
    def far(self) -> tuple[str, str]:
        """The element and the literal that a hop leads to."""
        if self.backward:
            return self.build.canonical_of("{p}.subject_id"), "null::jsonb"
        return self.build.canonical_of("{p}.object_id"), "{p}.object_lit"


def path(relation: Relation, triple: Triple, predicate: PathPredicate, term: Term) -> None:
    """Join the pairs of ends that the path connects. Raises `ResourceExhausted`."""
    build = relation.build
    backward = not _grounded(relation, triple.subject) and _grounded(relation, triple.object)
    near, far = (triple.object, triple.subject) if backward else (triple.subject, triple.object)
    start, literal_start = _start(relation, near, predicate, term, backward=backward)
    walks = [_walk(build, step, start, literal_start, backward) for step in predicate.steps]
    alias = relation.join("w", f"lateral ({' union '.join(walks)}) $it(id, lit)")
    if len(walks) == 1:
        relation.multiple = relation.multiple or isinstance(near, ObjectMatch)
    match far:
        case Variable(name):
            end = Binding(id=f"{alias}.id", value=None if backward else f"{alias}.lit")
            old = relation.bindings.get(name)
            if old is not None and old.id is not None and build.merges:
                parts = [f"{alias}.id = {build.canonical_of(old.id)}"]
                if old.value is not None:
                    parts.append(f"{alias}.lit = {old.value}")
                relation.where(f"({old.unbound} or {' or '.join(parts)})")
                if not old.certain:
                    relation.bindings[name] = either(old, end)
            else:
                relation.bind(name, end)
        case Literal() if not backward:
            relation.where(f"{alias}.lit = {build.json(far.value)}")
        case _:
            term(relation, far, f"{alias}.id", "CPAEX")


def _grounded(relation: Relation, end: Node) -> bool:
    if isinstance(end, Variable):
        old = relation.bindings.get(end.name)
        return old is not None and old.certain
    return True


def _start(
    relation: Relation, near: Node, predicate: PathPredicate, term: Term, *, backward: bool
) -> tuple[str, str | None]:
    """The element that walks start from, and the literal where it may be one."""
    build = relation.build
    if isinstance(near, Variable):
        old = relation.bindings.get(near.name)
        if old is not None and old.certain:
            return build.canonical_of(old.id or "null::text"), old.value if backward else None
        alias = relation.join("f", f"({_starts(build, predicate)}) $it(id)")
        relation.bind(near.name, Binding(id=f"{alias}.id"))
        return f"{alias}.id", None
    if isinstance(near, Literal) and backward:
        return "null::text", build.json(near.value)
    named = reference(build, near) if isinstance(near, Literal | ObjectMatch) else None
    if named is not None:
        return build.canonical_of(f"{build.parameter(named)}::text"), None
    alias = relation.join("f", f"({_starts(build, predicate)}) $it(id)")
    term(relation, near, f"{alias}.id", "CPAEX")
    return f"{alias}.id", None


def _starts(build: Build, predicate: PathPredicate) -> str:
    """Everything that a walk may start from when nothing says where."""
    if any(step.hops is not None and step.hops.least == 0 for step in predicate.steps):
        v = build.alias("v")
        return (
            f"select {v}.id from element_ver {v} where {v}.space_id = %(space)s and {build.at(v)}"
            f" and {v}.state = 'active' and not {v}.quarantined"
        )
    lineages: frozenset[str] = frozenset()
    for step in predicate.steps:
        lineages |= symbols.predicates(build.snapshot, step.predicate)
    p = build.alias("p")
    return (
        f"select distinct {build.canonical_of(f'{p}.subject_id')} from proposition {p}"
        f" where {p}.space_id = %(space)s and {build.one_of(f'{p}.predicate_lineage', lineages)}"
        f" and {build.since(f'{p}.created_seq')}"
    )


def _walk(build: Build, step: PathStep, start: str, literal: str | None, backward: bool) -> str:
    hops = step.hops or Hops(1, 1)
    for bound in (hops.least, hops.most or 0):
        if bound > MAX_HOPS:
            raise fault(
                ResourceExhausted,
                f"A path takes at most {MAX_HOPS} hops.",
                hops.at,
                hint="Name a smaller bound, or leave the upper one open.",
            )
    hop = _Hop(build, symbols.predicates(build.snapshot, step.predicate), backward)
    w = build.alias("w")
    zero = (
        f"select {start}, null::jsonb where exists (select from element_ver z"
        f" where z.space_id = %(space)s and z.id = {start} and {build.at('z')}"
        " and z.state = 'active' and not z.quarantined)"
    )
    if hops.least == hops.most == 0:
        return zero
    first = _first(build, hop, start, literal)
    far = ", ".join(hop.far)
    # what is numbered beyond the cap is not dropped but refused
    guarded = (
        f"select g.id, g.lit from (select {w}.*, row_number() over () as n from {w}"
        f" limit {MAX_REACHED + 1}) g where case when g.n > {MAX_REACHED}"
        " then kip_exhausted() else true end"
    )
    if hops.most is None and hops.least <= 1:
        onward = hop.sql(f"{w}.id", f"select {far}").replace("{from}", f"{w} cross join ")
        table = f"with recursive {w}(id, lit) as ({first} union {onward}) {guarded}"
    else:
        depth = build.parameter(hops.most if hops.most is not None else hops.least)
        onward = hop.sql(f"{w}.id", f"select {far}, {w}.depth + 1")
        onward = onward.replace("{from}", f"{w} cross join ") + f" and {w}.depth < {depth}::int"
        table = (
            f"with recursive {w}(id, lit, depth) as"
            f" (select f.id, f.lit, 1 from ({first}) f(id, lit)"
            f" union {onward}) {guarded} and g.depth >= {build.parameter(hops.least)}::int"
        )
        if hops.most is None:
            table = _onward(build, hop, table)
    walk = f"select distinct t.id, t.lit from ({table}) t(id, lit)"
    return f"({walk} union {zero})" if hops.least == 0 else walk


def _first(build: Build, hop: _Hop, start: str, literal: str | None) -> str:
    """The first hop; from a literal it leads to the subjects that have it."""
    first = hop.sql(start, f"select {', '.join(hop.far)}").replace("{from}", "")
    if literal is None:
        return first
    p = build.alias("p")
    subjects = build.canonical_of(f"{p}.subject_id")
    from_literal = (
        f"select {subjects}, null::jsonb from proposition {p} where {p}.space_id = %(space)s"
        f" and {p}.object_lit = {literal} and {build.since(f'{p}.created_seq')}"
        f" and {build.one_of(f'{p}.predicate_lineage', hop.lineages)}"
    )
    return f"{first} union {from_literal}"


def _onward(build: Build, hop: _Hop, table: str) -> str:
    """Everything reached from what is at the least number of hops."""
    w = build.alias("w")
    onward = hop.sql(f"{w}.id", f"select {', '.join(hop.far)}")
    onward = onward.replace("{from}", f"{w} cross join ")
    return (
        f"with recursive {w}(id, lit) as (select b.id, b.lit from ({table}) b(id, lit)"
        f" union {onward}) select g.id, g.lit from (select {w}.*, row_number() over () as n"
        f" from {w} limit {MAX_REACHED + 1}) g where case when g.n > {MAX_REACHED}"
        " then kip_exhausted() else true end"
    )
