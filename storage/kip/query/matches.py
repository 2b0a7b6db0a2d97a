"""Objects to match against: `{…}` of a pattern or a term, member by member.

Supplied members constrain together, nested ones likewise; an absent field matches nothing, neither
a variable nor null. A variable is bound to the value, or to the element that a field refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from storage.kip.errors import TypeMismatch, fault
from storage.kip.language.ast_terms import (
    ArrayMatch,
    Literal,
    Member,
    Node,
    ObjectMatch,
    Triple,
    TripleById,
    Variable,
)
from storage.kip.query import fields, symbols
from storage.kip.query.relation import Binding, Build, Relation

#: How a term that stands in a field is compiled: (relation, term, element expression, kinds).
Term = Callable[[Relation, Node, str, str], None]

#: Where the text of a stored attribute has a column of its own, which an index can serve.
_COLUMNS: dict[tuple[str, ...], str] = {
    ("attributes", "status"): "doing",
    ("attributes", "insight_class"): "sort",
}
#: Members that are read from an element's version, so that it is read anyway.
_VERSIONED = frozenset(
    {
        "name",
        "state",
        "status",
        "aliases",
        "attributes",
        "facets",
        "retention",
        "lifecycle",
        "canonical_id",
        "started_at",
        "ended_at",
        "_system",
    }
)
_FACT = {"P": "proposition", "A": "assertion", "E": "evidence", "X": "activity"}


def element(relation: Relation, name: str | None, kind: str, match: ObjectMatch, term: Term) -> str:
    """Read an element of a kind that fits an object; returns the expression of its id.

    Without a word about its state it must be active. Raises `SchemaSymbolNotFound`,
    `SchemaSymbolAmbiguous`, `TypeMismatch`.
    """
    build = relation.build
    members = {member.name: member.value for member in match.members}
    old = relation.bindings.get(name) if name is not None else None
    id_ = _opened(relation, kind, members, old)
    if name is not None:
        relation.bind(name, Binding(id=id_, kinds=kind))
    for member in match.members:
        if member.name == "state":
            _state(relation, id_, member.value)
        elif member.name == "type" and kind == "C":
            lineages = symbols.types(build.snapshot, member.value)
            relation.where(build.one_of(f"{relation.fact('element', id_)}.type_lineage", lineages))
        else:
            _field(relation, id_, kind, (member.name,), member, term)
    return id_


def _opened(relation: Relation, kind: str, members: dict[str, Any], old: Binding | None) -> str:
    """Join the tables that the elements are found in, the most selective one first."""
    build = relation.build
    stub = _may_be_purged(members.get("state"))
    known = isinstance(members.get("id"), Literal) or (
        old is not None and old.certain and old.id is not None
    )
    tables: list[str] = []
    if kind == "C":
        if stub or {"type", "key", "schema_ref"} & set(members) or not (known or "name" in members):
            tables.append("element")
    else:
        tables = ["element" if stub else _FACT[kind]]
    versioned = not stub and (not tables or bool(_VERSIONED & set(members)))
    if versioned:
        tables.append("element_ver")
    first = ""
    for table in tables:
        alias = relation.join(table[0], f"{table} $it")
        relation.where(f"{alias}.space_id = %(space)s")
        first = first or f"{alias}.id"
        if first != f"{alias}.id":
            relation.where(f"{alias}.id = {first}")
        if table == "element_ver":
            relation.where(build.at(alias))
        else:
            relation.where(build.since(f"{alias}.created_seq"))
        if table == "element":
            relation.where(f"{alias}.kind = '{kind}'")
            if not stub:
                relation.where(f"{alias}.purged_seq is null")
        relation.know(table, first, alias)
    if tables == ["element_ver"] and not (old and old.kinds == kind):
        relation.where(f"left({first}, 1) = '{kind}'")
    if "state" not in members:
        if versioned:
            version = relation.fact("element_ver", first)
            relation.where(f"{version}.state = 'active' and not {version}.quarantined")
        else:
            relation.where(visible(build, first))
    return first


def visible(build: Build, element: str) -> str:
    """The condition that nothing hides an element that exists at the snapshot.

    Asks the few hidden elements instead of the version of each visible one.
    """
    hidden = build.alias("h")
    return (
        f"not exists (select from element_ver {hidden} where {hidden}.space_id = %(space)s"
        f" and {hidden}.id = {element} and {build.at(hidden)}"
        f" and ({hidden}.state <> 'active' or {hidden}.quarantined))"
    )


def _may_be_purged(state: Any) -> bool:
    return isinstance(state, Variable) or (isinstance(state, Literal) and state.value == "purged")


def _state(relation: Relation, id_: str, wanted: Node) -> None:
    read = fields.of_element(relation, id_, "C", ("_system", "state"))
    assert read.text is not None
    if isinstance(wanted, Literal) and wanted.value != "purged":
        version = relation.fact("element_ver", id_)
        read = replace(read, text=f"{version}.state")
    _value(relation, wanted, read)


def _field(
    relation: Relation, id_: str, kind: str, steps: tuple[str, ...], member: Member, term: Term
) -> None:
    """One member of an object, at `steps` of the element."""
    wanted = member.value
    if isinstance(wanted, ObjectMatch) and not _refers(relation, id_, kind, steps):
        if not wanted.members:
            read = fields.of_element(relation, id_, kind, steps)
            relation.where(f"jsonb_typeof({read.json}) = 'object'")
        for inner in wanted.members:
            _field(relation, id_, kind, (*steps, inner.name), inner, term)
        return
    read = fields.of_element(relation, id_, kind, steps)
    if read.ref is not None:
        term(relation, wanted, read.ref, "CPAEX")
        return
    column = _COLUMNS.get(steps) if kind == "C" else None
    if column and isinstance(wanted, Literal) and isinstance(wanted.value, str):
        version = relation.fact("element_ver", id_)
        relation.where(f"{version}.{column} = {relation.build.parameter(wanted.value)}")
    _value(relation, wanted, read, core=len(steps) == 1)


def _refers(relation: Relation, id_: str, kind: str, steps: Sequence[str]) -> bool:
    field = fields.FIELDS[kind].get(".".join(steps))
    return field is not None and field.ref


def _value(relation: Relation, wanted: Node, read: fields.Read, *, core: bool = True) -> None:
    """A JSON value against what a pattern says of it; a core field that is null is absent."""
    build = relation.build
    match wanted:
        case Variable(name):
            if read.text is not None:
                relation.where(f"{read.text} is not null")
                relation.bind(name, Binding(value=read.json, text=read.text, kinds=""))
            else:
                held = f"nullif({read.json}, 'null'::jsonb)" if core else read.json
                relation.where(f"{held} is not null")
                relation.bind(name, Binding(value=read.json, kinds=""))
        case Literal(given):
            if given is None and core:
                relation.where("false")
            elif read.text is not None:
                equal = f"{read.text} = {build.parameter(given)}" if isinstance(given, str) else ""
                relation.where(equal or "false")
            else:
                relation.where(f"{read.json} = {build.json(given)}")
        case ArrayMatch(items):
            relation.where(
                f"(case jsonb_typeof({read.json}) when 'array' then jsonb_array_length({read.json})"
                f" end) = {build.parameter(len(items))}::int"
            )
            for index, item in enumerate(items):
                _value(relation, item, fields.Read(f"({read.json} -> {index})"), core=False)
        case ObjectMatch(members):
            relation.where(f"jsonb_typeof({read.json}) = 'object'")
            for member in members:
                step = build.parameter(member.name)
                inner = fields.Read(f"({read.json} -> {step}::text)")
                _value(relation, member.value, inner, core=False)
        case Triple() | TripleById():
            raise fault(TypeMismatch, "A proposition stands where a value is.", wanted.at)
        case _:
            raise AssertionError(f"no match value: {wanted}")


def reference(build: Build, node: Node) -> str | None:
    """The id that a node names, if it is `"id"` or `{id: "…"}`. Raises `TypeMismatch`."""
    if isinstance(node, ObjectMatch) and [member.name for member in node.members] == ["id"]:
        node = node.members[0].value
    elif isinstance(node, ObjectMatch):
        return None
    if isinstance(node, Literal):
        if not isinstance(node.value, str):
            raise fault(TypeMismatch, "An element is named by its id, a string.", node.at)
        return node.value
    return None
