"""A tree as text again: one spelling for each meaning, so that reading it gives an equal tree."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from storage.kip.language import ast_expressions as e
from storage.kip.language import ast_kml as kml
from storage.kip.language import ast_meta as meta
from storage.kip.language import ast_patterns as p
from storage.kip.language import ast_terms as t
from storage.kip.language.ast_kql import Find, SortKey
from storage.kip.language.parse_expressions import RANKS, RELATIONS

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def printed(node: t.Node) -> str:
    """The text of a statement or of any part of one, on one line."""
    return _PRINTERS[type(node)](node)


def _maybe(prefix: str, node: t.Node | None) -> str:
    """` PREFIX node`, or nothing where the part is absent."""
    if node is None:
        return ""
    return f" {prefix} {printed(node)}" if prefix else f" {printed(node)}"


def _joined(nodes: Iterable[t.Node], separator: str = ", ") -> str:
    return separator.join(printed(node) for node in nodes)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _name(name: str) -> str:
    return name if _NAME.fullmatch(name) else _string(name)


def _literal(node: t.Literal) -> str:
    return json.dumps(node.value, ensure_ascii=False)


def _path(node: t.Path) -> str:
    steps = (f".{step}" if _NAME.fullmatch(step) else f"[{_string(step)}]" for step in node.steps)
    return printed(node.variable) + "".join(steps)


def _members(members: tuple[t.Member, ...]) -> str:
    return "{" + ", ".join(f"{_name(one.name)}: {printed(one.value)}" for one in members) + "}"


def _hops(node: t.Hops) -> str:
    if node.most is None:
        return f"{{{node.least},}}"
    return f"{{{node.least}}}" if node.least == node.most else f"{{{node.least},{node.most}}}"


def _step(node: t.PathStep) -> str:
    return printed(node.predicate) + (printed(node.hops) if node.hops else "")


def _unary(node: e.Unary) -> str:
    inner = printed(node.operand)
    bare = isinstance(node.operand, t.Variable | t.Path | t.Parameter | e.Call)
    return f"{node.operator}{inner}" if bare else f"{node.operator}({inner})"


def _binary(node: e.Binary) -> str:
    rank = RANKS[node.operator]
    left = _operand(node.left, rank + 1 if rank == RELATIONS else rank)
    return f"{left} {node.operator} {_operand(node.right, rank + 1)}"


def _operand(node: e.Expression, least: int) -> str:
    text = printed(node)
    if isinstance(node, e.Binary) and RANKS[node.operator] < least:
        return f"({text})"
    return text


def _aggregate(node: e.Aggregate) -> str:
    return f"{node.name}({'DISTINCT ' if node.distinct else ''}{printed(node.operand)})"


def _block(node: p.Block) -> str:
    return "{ " + "".join(f"{printed(clause)} " for clause in node.clauses) + "}"


def _proposition(node: p.PropositionPattern) -> str:
    bound = f"{printed(node.variable)} " if node.variable else ""
    return f"{bound}{printed(node.proposition)}"


def _structural(node: p.StructuralPattern) -> str:
    bound = f"{printed(node.variable)} " if node.variable else ""
    return f"{bound}STRUCTURAL ({_joined((node.source, node.field, node.target))})"


def _belief(node: p.BeliefPattern) -> str:
    target = printed(node.target)
    if isinstance(node.target, t.Variable):
        target = f"({target})"
    return f"{printed(node.variable)} BELIEF {target}"


def _search_options(node: p.SearchPattern | meta.Search) -> str:
    return (
        f"SEARCH {node.kind} {printed(node.query)}"
        + _maybe("WITH TYPE", node.type)
        + _maybe("WITH PREDICATE", node.predicate)
        + _maybe("MODE", node.mode)
        + _maybe("THRESHOLD", node.threshold)
    )


def _find(node: Find) -> str:
    order = f" ORDER BY {_joined(node.order_by)}" if node.order_by else ""
    return (
        f"FIND({_joined(node.projections)}) WHERE {printed(node.where)}"
        + _maybe("AS OF SEQ", node.as_of)
        + _maybe("FOR TIME", node.for_time)
        + _maybe("WITH EPISTEMIC", node.epistemic)
        + order
        + _maybe("LIMIT", node.limit)
        + _maybe("CURSOR", node.cursor)
    )


def _sort_key(node: SortKey) -> str:
    return printed(node.key) + (" DESC" if node.descending else "")


def _guard(node: kml.Guard) -> str:
    plane = f" OF {node.plane}" if node.plane else ""
    facet = f" {printed(node.facet)}" if node.facet else ""
    return f" EXPECT VERSION {printed(node.version)}{plane}{facet}"


def _guards(guards: tuple[kml.Guard, ...]) -> str:
    return "".join(printed(guard) for guard in guards)


def _tail(node: kml.Tail) -> str:
    return _maybe("WHERE", node.where) + _maybe("LIMIT", node.limit) + _guards(node.guards)


def _entries(entries: tuple[kml.StructuralEntry, ...]) -> str:
    return "{ " + "".join(f"{printed(entry)} " for entry in entries) + "}"


def _entry(node: kml.StructuralEntry) -> str:
    options = f" {printed(node.options)}" if node.options else ""
    return f"({printed(node.field)}, {printed(node.target)}){options}"


def _names(names: tuple[str, ...]) -> str:
    return "{" + ", ".join(map(_name, names)) + "}"


def _actions(actions: tuple[kml.Action, ...]) -> str:
    return "".join(f" {printed(action)}" for action in actions)


def _create_concept(node: kml.CreateConcept) -> str:
    return (
        f"CREATE CONCEPT {printed(node.handle)} {{ TYPE {printed(node.type)}"
        + _maybe("CLIENT KEY", node.client_key)
        + _maybe("NAME", node.name)
        + _actions(node.actions)
        + " }"
    )


def _create_record(node: kml.CreateRecord) -> str:
    head = f"CREATE {node.kind} {printed(node.handle)} {{"
    return head + _maybe("CLIENT KEY", node.client_key) + _actions(node.actions) + " }"


def _upsert(node: kml.UpsertConcept) -> str:
    head = f"UPSERT CONCEPT {printed(node.handle)} {{ MATCH {printed(node.match)}"
    return head + _actions(node.actions) + " }" + _guards(node.guards)


def _ensure(node: kml.EnsureProposition) -> str:
    handle = f" {printed(node.handle)}" if node.handle else ""
    return f"ENSURE PROPOSITION{handle} {printed(node.proposition)}{_guards(node.guards)}"


def _assert(node: kml.Assert) -> str:
    handle = f" {printed(node.handle)}" if node.handle else ""
    claim = f"ASSERT{handle} {printed(node.proposition)} {_members(node.members)}"
    return claim + _maybe("SUPERSEDING", node.superseding)


def _update(node: kml.Update) -> str:
    return f"UPDATE {printed(node.target)}{_actions(node.actions)}{printed(node.tail)}"


def _transition(node: kml.Transition) -> str:
    return (
        f"TRANSITION {printed(node.target)} TO {printed(node.to)}"
        + _maybe("BY", node.by)
        + _actions(node.actions)
        + printed(node.tail)
    )


def _retention(node: kml.SetRetention) -> str:
    return f"SET RETENTION {printed(node.target)} {_members(node.members)}{printed(node.tail)}"


def _purge(node: kml.Purge) -> str:
    policy = _maybe("REFERENCE POLICY", node.reference_policy)
    return f'PURGE {printed(node.target)}{printed(node.tail)}{policy} CONFIRM "PURGE"'


def _purge_payload(node: kml.PurgePayload) -> str:
    return f'PURGE PAYLOAD {printed(node.target)}{printed(node.tail)} CONFIRM "PURGE"'


def _merge(node: kml.MergeConcept) -> str:
    return f"MERGE CONCEPT {printed(node.source)} INTO {printed(node.into)}{printed(node.tail)}"


def _define(node: kml.Define) -> str:
    kind = "PREDICATE" if node.symbol_kind == "predicate" else "CONCEPT TYPE"
    return f"DEFINE {kind} {printed(node.symbol)} {printed(node.definition)}"


def _mutate(node: kml.Mutate) -> str:
    return "MUTATE { " + "".join(f"{printed(one)} " for one in node.statements) + "}"


def _describe(node: meta.Describe) -> str:
    if node.to is not None and node.value is not None:
        return f"DESCRIBE {node.target} FROM {printed(node.value)} TO {printed(node.to)}"
    value = _maybe("BY IDEMPOTENCY KEY" if node.by_key else "", node.value)
    return (
        f"DESCRIBE {node.target}{value}"
        + _maybe("MODE", node.mode)
        + _maybe("AS OF SEQ", node.as_of)
        + _maybe("AT TIME", node.at_time)
        + _maybe("WITH", node.options)
    )


def _page(node: meta.List | meta.Search | meta.History) -> str:
    return _maybe("LIMIT", node.limit) + _maybe("CURSOR", node.cursor)


def _list(node: meta.List) -> str:
    return (
        f"LIST {node.target}"
        + _maybe("", node.value)
        + _maybe("DEPTH", node.depth)
        + _maybe("STATUS", node.status)
        + _page(node)
    )


def _search(node: meta.Search) -> str:
    return _search_options(node) + _maybe("AS OF SEQ", node.as_of) + _page(node)


def _preview(node: meta.Preview) -> str:
    return f"PREVIEW {node.target} {printed(node.value)}{_maybe('INTO', node.into)}"


def _history(node: meta.History) -> str:
    return (
        f"HISTORY {node.target}"
        + _maybe("", node.value)
        + _maybe("FROM SEQ", node.from_seq)
        + _maybe("TO SEQ", node.to_seq)
        + _page(node)
    )


def _changes(node: meta.Changes) -> str:
    start = _maybe("SINCE", node.since) + _maybe("AFTER SEQ", node.after_seq)
    return f"CHANGES{start}{_maybe('LIMIT', node.limit)}"


def _export(node: meta.ExportCapsule) -> str:
    return (
        f"EXPORT CAPSULE {printed(node.root)} WHERE {printed(node.where)}"
        + _maybe("WITH", node.options)
        + _maybe("AS OF SEQ", node.as_of)
    )


_PRINTERS: dict[type[t.Node], Callable[[Any], str]] = {
    t.Variable: lambda node: f"?{node.name}",
    t.Parameter: lambda node: f":{node.name}",
    t.Literal: _literal,
    t.Path: _path,
    t.ArrayValue: lambda node: f"[{_joined(node.items)}]",
    t.ArrayMatch: lambda node: f"[{_joined(node.items)}]",
    t.ObjectValue: lambda node: _members(node.members),
    t.ObjectMatch: lambda node: _members(node.members),
    t.Hops: _hops,
    t.PathStep: _step,
    t.PathPredicate: lambda node: _joined(node.steps, " | "),
    t.Triple: lambda node: f"({_joined((node.subject, node.predicate, node.object))})",
    t.TripleById: lambda node: f"(id: {printed(node.id)})",
    e.Unary: _unary,
    e.Binary: _binary,
    e.Call: lambda node: f"{node.name}({_joined(node.arguments)})",
    e.Aggregate: _aggregate,
    p.Block: _block,
    p.ConceptPattern: lambda node: f"{printed(node.variable)} {printed(node.match)}",
    p.PropositionPattern: _proposition,
    p.RecordPattern: lambda n: f"{printed(n.variable)} {n.kind} {printed(n.match)}",
    p.StructuralPattern: _structural,
    p.BeliefPattern: _belief,
    p.BeliefSlotPattern: lambda n: (
        f"{printed(n.variable)} BELIEF SLOT ({_joined((n.subject, n.predicate))})"
    ),
    p.SearchPattern: lambda n: (
        f"{printed(n.variable)} {_search_options(n)} LIMIT {printed(n.limit)}"
    ),
    p.Filter: lambda node: f"FILTER({printed(node.expression)})",
    p.NotBlock: lambda node: f"NOT {printed(node.block)}",
    p.OptionalBlock: lambda node: f"OPTIONAL {printed(node.block)}",
    p.UnionBlock: lambda node: f"UNION {printed(node.block)}",
    SortKey: _sort_key,
    Find: _find,
    kml.Guard: _guard,
    kml.SetFields: lambda node: f"SET FIELDS {_members(node.members)}",
    kml.SetAttributes: lambda node: f"SET ATTRIBUTES {_members(node.members)}",
    kml.SetFacet: lambda node: f"SET FACET {printed(node.facet)} {_members(node.members)}",
    kml.StructuralEntry: _entry,
    kml.SetStructural: lambda node: f"SET STRUCTURAL {_entries(node.entries)}",
    kml.UnsetAttributes: lambda node: f"UNSET ATTRIBUTES {_names(node.names)}",
    kml.UnsetFacet: lambda node: f"UNSET FACET {printed(node.facet)} {_names(node.names)}",
    kml.UnsetStructural: lambda node: f"UNSET STRUCTURAL {_entries(node.entries)}",
    kml.Tail: _tail,
    kml.CreateConcept: _create_concept,
    kml.UpsertConcept: _upsert,
    kml.EnsureProposition: _ensure,
    kml.Assert: _assert,
    kml.CreateRecord: _create_record,
    kml.Update: _update,
    kml.Transition: _transition,
    kml.SetRetention: _retention,
    kml.Purge: _purge,
    kml.PurgePayload: _purge_payload,
    kml.MergeConcept: _merge,
    kml.Define: _define,
    kml.Mutate: _mutate,
    meta.Describe: _describe,
    meta.List: _list,
    meta.Search: _search,
    meta.Verify: lambda node: f"VERIFY {node.target} {printed(node.value)}",
    meta.Validate: lambda node: (
        f"VALIDATE {node.target} {printed(node.value)}{_maybe('WITH', node.options)}"
    ),
    meta.Preview: _preview,
    meta.History: _history,
    meta.Changes: _changes,
    meta.ExportCapsule: _export,
}
