"""Clauses as table expressions: each pattern joins its tables and binds its variables."""

from __future__ import annotations

from dataclasses import replace

from storage.graph.state import object_key
from storage.kip.errors import TypeMismatch, fault
from storage.kip.language.ast_patterns import (
    ConceptPattern,
    PropositionPattern,
    RecordPattern,
    SearchPattern,
    StructuralPattern,
)
from storage.kip.language.ast_terms import (
    Literal,
    Node,
    ObjectMatch,
    PathPredicate,
    Term,
    Triple,
    TripleById,
    Variable,
)
from storage.kip.query import matches, paths, symbols
from storage.kip.query.relation import Binding, Relation, either
from storage.kip.query.structure import edge_document, edges

_RECORDS = {"ASSERTION": "A", "EVIDENCE": "E", "ACTIVITY": "X"}
Pattern = ConceptPattern | PropositionPattern | RecordPattern | StructuralPattern | SearchPattern


def pattern(relation: Relation, clause: Pattern) -> None:
    """Join what a pattern matches. Raises what its words and values deserve."""
    match clause:
        case ConceptPattern(variable, match):
            matches.element(relation, variable.name, "C", match, term)
        case RecordPattern(kind, variable, match):
            matches.element(relation, variable.name, _RECORDS[kind], match, term)
        case PropositionPattern(named, wanted):
            _proposition(relation, named, wanted)
        case StructuralPattern():
            _structural(relation, clause)
        case SearchPattern(variable):
            _search(relation, clause, variable)


def _proposition(relation: Relation, named: Variable | None, wanted: Triple | TripleById) -> None:
    name = named.name if named else None
    if isinstance(wanted, Triple) and _walks(wanted.predicate):
        assert isinstance(wanted.predicate, PathPredicate)
        paths.path(relation, wanted, wanted.predicate, term)
        if name is not None and name not in relation.bindings:
            # a walk is no proposition: the variable is in scope and stands for nothing
            relation.bindings[name] = Binding(id="null::text", kinds="P", certain=False)
        return
    alias = proposition(relation, wanted)
    if name is not None:
        relation.bind(name, Binding(id=f"{alias}.id", kinds="P"))


def _walks(predicate: Node) -> bool:
    return isinstance(predicate, PathPredicate) and any(
        step.hops is not None for step in predicate.steps
    )


def proposition(relation: Relation, wanted: Triple | TripleById, element: str | None = None) -> str:
    """Join a visible proposition; returns its alias. `element` is its id, where that is known."""
    build = relation.build
    alias = relation.join("p", "proposition $it")
    relation.where(f"{alias}.space_id = %(space)s")
    relation.where(build.since(f"{alias}.created_seq"))
    if element is not None:
        relation.where(f"{alias}.id = {element}")
    relation.know("proposition", f"{alias}.id", alias)
    relation.where(matches.visible(build, f"{alias}.id"))
    if isinstance(wanted, TripleById):
        relation.where(f"{alias}.id = {build.parameter(_id(wanted))}")
        return alias
    predicate(relation, wanted.predicate, alias)
    term(relation, wanted.subject, f"{alias}.subject_id", "CPAEX")
    _object(relation, wanted.object, alias)
    return alias


def predicate(relation: Relation, wanted: Node, alias: str) -> None:
    """The predicate of a joined proposition: exact symbols by lineage, or a variable."""
    build = relation.build
    if isinstance(wanted, Variable):
        relation.bind(
            wanted.name,
            Binding(
                value=f"to_jsonb({alias}.predicate_ref)",
                text=f"{alias}.predicate_ref",
                lineage=f"{alias}.predicate_lineage",
                kinds="",
            ),
        )
        return
    lineages: frozenset[str] = frozenset()
    steps = wanted.steps if isinstance(wanted, PathPredicate) else ()
    exact: list[Node] = [step.predicate for step in steps] or [wanted]
    for symbol in exact:
        lineages |= symbols.predicates(build.snapshot, symbol)
    relation.where(build.one_of(f"{alias}.predicate_lineage", lineages))


def term(relation: Relation, wanted: Term | Node, element: str, kinds: str) -> None:
    """An end that is an element: `element` is its id as stored. Matches through merges."""
    build = relation.build
    match wanted:
        case Variable(name):
            old = relation.bindings.get(name)
            if old is not None and old.id is not None and build.merges:
                same = f"{element} in {build.alike(old.id)}"
                relation.where(same if old.certain else f"({old.unbound} or {same})")
                if not old.certain:
                    found = Binding(id=build.canonical(relation, element), kinds=kinds)
                    relation.bindings[name] = either(old, found)
            else:
                relation.bind(name, Binding(id=build.canonical(relation, element), kinds=kinds))
        case Literal() | ObjectMatch():
            named = matches.reference(build, wanted)
            if named is None:
                assert isinstance(wanted, ObjectMatch)
                relation.multiple = True
                found_id = matches.element(relation, None, "C", wanted, term)
                relation.where(f"{found_id} = {build.canonical(relation, element)}")
            elif build.merges:
                relation.where(f"{element} in {build.alike(f'{build.parameter(named)}::text')}")
            else:
                relation.where(f"{element} = {build.parameter(named)}")
        case Triple() | TripleById():
            relation.multiple = True
            proposition(relation, wanted, element)
        case _:
            raise fault(TypeMismatch, "An element is wanted there.", wanted.at)


def _object(relation: Relation, wanted: Term, alias: str) -> None:
    """The object of a proposition: an element or a literal."""
    build = relation.build
    match wanted:
        case Variable(name):
            ends = Binding(
                id=build.canonical(relation, f"{alias}.object_id"), value=f"{alias}.object_lit"
            )
            old = relation.bindings.get(name)
            if old is None:
                relation.bindings[name] = ends
            elif build.merges and old.id is not None:
                parts = [f"{alias}.object_id in {build.alike(old.id)}"]
                if old.value is not None:
                    parts.append(f"{alias}.object_lit = {old.value}")
                same = " or ".join(parts)
                relation.where(f"({same})" if old.certain else f"({old.unbound} or {same})")
                if not old.certain:
                    relation.bindings[name] = either(old, ends)
            else:
                relation.bind(name, _narrowed(ends, old))
        case Literal(given):
            relation.where(f"{alias}.object_key = {build.parameter(object_key(None, given))}")
        case ObjectMatch(members) if [member.name for member in members] == ["canonical_id"]:
            _canonical_reference(relation, wanted, alias)
        case _:
            term(relation, wanted, f"{alias}.object_id", "CPAEX")


def _narrowed(ends: Binding, old: Binding) -> Binding:
    """Only the side that the variable can be, so that an index can serve the join."""
    if not old.certain or (old.id is not None and old.value is not None):
        return ends
    return replace(ends, value=None) if old.id is not None else replace(ends, id=None, kinds="")


def _canonical_reference(relation: Relation, wanted: ObjectMatch, alias: str) -> None:
    """`{canonical_id: …}`: a concept of this space, or a reference to one of another."""
    given = wanted.members[0].value
    if not isinstance(given, Literal):
        term(relation, wanted, f"{alias}.object_id", "C")
        return
    build = relation.build
    inner = Relation(build, relation)
    id_ = matches.element(inner, None, "C", wanted, term)
    inner.where(f"{id_} = {build.canonical_of(f'{alias}.object_id')}")
    key = build.parameter(object_key(None, {"canonical_id": given.value}))
    relation.where(f"({alias}.object_key = {key} or exists ({inner.select('')}))")


def _id(wanted: TripleById) -> str:
    if isinstance(wanted.id, Literal) and isinstance(wanted.id.value, str):
        return wanted.id.value
    raise fault(TypeMismatch, "An id is a string.", wanted.at)


def _structural(relation: Relation, clause: StructuralPattern) -> None:
    build = relation.build
    lineages = symbols.fields(build.snapshot, clause.field)
    alias = edges(relation, lineages)
    term(relation, clause.source, f"{alias}.source_id", "CPAEX")
    term(relation, clause.target, f"{alias}.target_id", "CPAEX")
    if clause.variable is not None:
        relation.bind(clause.variable.name, Binding(value=edge_document(alias), kinds=""))
    elif len(lineages) > 1 or build.merges:
        relation.multiple = True


def _search(relation: Relation, clause: SearchPattern, variable: Variable) -> None:
    """Hits were found before: a table of ids with their scores."""
    build = relation.build
    found = build.hits[id(clause)]
    ids, scores = build.parameter(found.ids), build.parameter(found.scores)
    alias = relation.join("s", f"unnest({ids}::text[], {scores}::float8[]) $it(id, score)")
    mode = f"{build.parameter(found.mode)}::text"
    new = Binding(id=f"{alias}.id", kinds=found.kind, score=f"{alias}.score", mode=mode)
    relation.bind(variable.name, new)
