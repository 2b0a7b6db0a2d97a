"""Reads mutations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from storage.kip.errors import InvalidSyntax, fault
from storage.kip.language.ast_kml import (
    Action,
    Assert,
    CreateConcept,
    CreateRecord,
    Define,
    EnsureProposition,
    Guard,
    MergeConcept,
    Mutate,
    Mutation,
    Plane,
    Purge,
    PurgePayload,
    SetAttributes,
    SetFacet,
    SetFields,
    SetRetention,
    SetStructural,
    StructuralEntry,
    Tail,
    Transition,
    UnsetAttributes,
    UnsetFacet,
    UnsetStructural,
    Update,
    UpsertConcept,
)
from storage.kip.language.ast_patterns import RecordKind
from storage.kip.language.ast_terms import ObjectMatch, Scalar, Symbol, Variable
from storage.kip.language.parse_expressions import object_value, value
from storage.kip.language.parse_patterns import Patterns, where
from storage.kip.language.parse_terms import (
    field_name,
    listed,
    match_object,
    members,
    proposition,
    scalar,
    symbol,
    target,
    variable,
)
from storage.kip.language.reader import Reader
from storage.kip.language.tokens import Kind

_PLANES = ("ATTRIBUTES", "STRUCTURAL", "RETENTION", "FACET")
_GUARDS_LAST = "Guards come last: [WHERE] [LIMIT] EXPECT VERSION v [OF plane]."
_T = TypeVar("_T")


def mutation(r: Reader) -> Mutation:
    """The mutation that begins here."""
    reading = STATEMENTS.get(str(r.token.value)) if r.token.kind == Kind.WORD else None
    if reading is None:
        r.refuse("a statement", hint=f"One of {', '.join(STATEMENTS)}.")
    return reading(r)


def _mutate(r: Reader) -> Mutate:
    at = r.advance().at
    r.take_mark("{", "after MUTATE")
    statements: list[Mutation] = []
    while not r.skip_mark("}"):
        if r.is_mark(","):
            r.refuse("a statement or '}'", hint="Statements stand side by side, without commas.")
        if r.is_word("MUTATE") or r.is_word("DEFINE"):
            r.refuse("a statement of MUTATE", hint=f"{r.token.value} stands alone.")
        statements.append(mutation(r))
    return Mutate(tuple(statements), at=at)


def _create(r: Reader) -> Mutation:
    at = r.advance().at
    if r.skip_words("CONCEPT"):
        return _create_concept(r, at)
    for kind in ("EVIDENCE", "ASSERTION", "ACTIVITY"):
        if r.skip_words(kind):
            return _create_record(r, cast(RecordKind, kind), at)
    r.refuse("CONCEPT, EVIDENCE, ASSERTION or ACTIVITY")


def _create_concept(r: Reader, at: int) -> CreateConcept:
    handle = _handle(r)
    type_: Symbol | None = None
    client_key: Scalar | None = None
    name: Scalar | None = None
    actions: list[Action] = []
    r.take_mark("{", "after the handle")
    while not r.skip_mark("}"):
        start = r.token.at
        if r.skip_words("TYPE"):
            type_ = _once(type_, symbol(r, "a type"), "TYPE", start)
        elif r.skip_words("CLIENT", "KEY"):
            client_key = _once(client_key, scalar(r, "a client key"), "CLIENT KEY", start)
        elif r.skip_words("NAME"):
            name = _once(name, scalar(r, "a name"), "NAME", start)
        elif r.is_word("SET"):
            actions.append(_set(r))
        else:
            r.refuse("TYPE, CLIENT KEY, NAME, SET … or '}'")
    if type_ is None:
        raise fault(InvalidSyntax, "CREATE CONCEPT needs a TYPE.", at, hint='Add TYPE "…".')
    return CreateConcept(handle, type_, client_key, name, _each_once(actions), at=at)


def _create_record(r: Reader, kind: RecordKind, at: int) -> CreateRecord:
    handle = _handle(r)
    client_key: Scalar | None = None
    actions: list[Action] = []
    r.take_mark("{", "after the handle")
    while not r.skip_mark("}"):
        start = r.token.at
        if r.skip_words("CLIENT", "KEY"):
            client_key = _once(client_key, scalar(r, "a client key"), "CLIENT KEY", start)
        elif r.is_word("SET") and r.following().value != "ATTRIBUTES":
            actions.append(_set(r))
        else:
            r.refuse(
                "CLIENT KEY, SET FIELDS, SET FACET, SET STRUCTURAL or '}'",
                hint="TYPE, NAME and SET ATTRIBUTES are for concepts.",
            )
    return CreateRecord(kind, handle, client_key, _each_once(actions), at=at)


def _upsert(r: Reader) -> UpsertConcept:
    at = r.advance().at
    r.take_word("CONCEPT")
    handle = _handle(r)
    match: ObjectMatch | None = None
    actions: list[Action] = []
    r.take_mark("{", "after the handle")
    while not r.skip_mark("}"):
        start = r.token.at
        if r.skip_words("MATCH"):
            match = _once(match, match_object(r, paths=False), "MATCH", start)
        elif r.is_word("SET"):
            actions.append(_set(r))
        elif r.is_word("UNSET"):
            actions.append(_unset(r))
        else:
            r.refuse(
                "MATCH, SET …, UNSET … or '}'",
                hint="The type goes into MATCH; guards follow the closing brace.",
            )
    if match is None:
        match = ObjectMatch((), at=handle.at)
    return UpsertConcept(handle, match, _each_once(actions), _guards(r), at=at)


def _ensure(r: Reader) -> EnsureProposition:
    at = r.advance().at
    r.take_word("PROPOSITION")
    handle = _optional_handle(r)
    triple = proposition(r, paths=False)
    return EnsureProposition(handle, triple, _guards(r), at=at)


def _assert(r: Reader) -> Assert:
    at = r.advance().at
    handle = _optional_handle(r)
    triple = proposition(r, paths=False)
    given = members(r, value)
    replaced = target(r, "the claim that it replaces") if r.skip_words("SUPERSEDING") else None
    return Assert(handle, triple, given, replaced, at=at)


def _update(r: Reader) -> Update:
    at = r.advance().at
    changed = target(r, "what to update")
    actions: list[Action] = []
    while (r.is_word("SET") and not _begins_retention(r)) or r.is_word("UNSET"):
        actions.append(_set(r) if r.is_word("SET") else _unset(r))
    if not actions:
        hint = _GUARDS_LAST if r.is_word("EXPECT") else None
        r.refuse("SET … or UNSET …", hint=hint)
    return Update(changed, tuple(actions), _tail(r), at=at)


def _transition(r: Reader) -> Transition:
    at = r.advance().at
    if r.token.kind == Kind.WORD and r.following().kind in (Kind.PARAMETER, Kind.VARIABLE):
        r.refuse("what to move", hint="TRANSITION takes the target alone, without its kind.")
    moved = target(r, "what to move")
    r.take_word("TO")
    state = scalar(r, "a state")
    by = target(r, "what takes its place") if r.skip_words("BY") else None
    actions: list[Action] = []
    while r.is_word("SET") and not _begins_retention(r):
        if r.following().value not in ("FIELDS", "STRUCTURAL"):
            r.refuse("SET FIELDS, SET STRUCTURAL or the end", hint="A move sets nothing else.")
        actions.append(_set(r))
    return Transition(moved, state, by, _each_once(actions), _tail(r), at=at)


def _begins_retention(r: Reader) -> bool:
    """Whether SET begins the next statement of a MUTATE rather than an action of this one."""
    return r.following().value == "RETENTION"


def _set_retention(r: Reader) -> SetRetention:
    at = r.advance().at
    r.take_word("RETENTION", hint="SET begins a statement only in SET RETENTION.")
    kept = target(r, "what to retain")
    return SetRetention(kept, members(r, value), _tail(r), at=at)


def _purge(r: Reader) -> Purge | PurgePayload:
    at = r.advance().at
    if r.skip_words("PAYLOAD"):
        erased = target(r, "the evidence")
        tail = _tail(r)
        _confirm(r)
        return PurgePayload(erased, tail, at=at)
    erased = target(r, "what to purge")
    tail = _tail(r)
    policy = scalar(r, "a policy") if r.skip_words("REFERENCE", "POLICY") else None
    _confirm(r)
    return Purge(erased, tail, policy, at=at)


def _confirm(r: Reader) -> None:
    r.take_word("CONFIRM", hint='A purge ends with CONFIRM "PURGE".')
    if r.token.kind != Kind.STRING or r.token.value != "PURGE":
        r.refuse('"PURGE"', hint='A purge ends with CONFIRM "PURGE", exactly.')
    r.advance()


def _merge(r: Reader) -> MergeConcept:
    at = r.advance().at
    r.take_word("CONCEPT")
    source = target(r, "the concept to merge")
    r.take_word("INTO")
    into = target(r, "the concept that stays")
    return MergeConcept(source, into, _tail(r, limited=False), at=at)


def _define(r: Reader) -> Define:
    at = r.advance().at
    if r.skip_words("PREDICATE"):
        return Define("predicate", symbol(r, "a name"), object_value(r), at=at)
    if r.skip_words("CONCEPT", "TYPE"):
        return Define("concept_type", symbol(r, "a name"), object_value(r), at=at)
    r.refuse("PREDICATE or CONCEPT TYPE")


STATEMENTS: dict[str, Callable[[Reader], Mutation]] = {
    "ASSERT": _assert,
    "CREATE": _create,
    "UPSERT": _upsert,
    "ENSURE": _ensure,
    "UPDATE": _update,
    "TRANSITION": _transition,
    "SET": _set_retention,
    "PURGE": _purge,
    "MERGE": _merge,
    "DEFINE": _define,
    "MUTATE": _mutate,
}


def _set(r: Reader) -> Action:
    at = r.advance().at
    if r.skip_words("FIELDS"):
        return SetFields(members(r, value), at=at)
    if r.skip_words("ATTRIBUTES"):
        return SetAttributes(members(r, value), at=at)
    if r.skip_words("FACET"):
        return SetFacet(symbol(r, "a facet"), members(r, value), at=at)
    if r.skip_words("STRUCTURAL"):
        return SetStructural(_entries(r, options=True), at=at)
    r.refuse("FIELDS, ATTRIBUTES, FACET or STRUCTURAL")


def _unset(r: Reader) -> Action:
    at = r.advance().at
    if r.skip_words("ATTRIBUTES"):
        return UnsetAttributes(_names(r), at=at)
    if r.skip_words("FACET"):
        return UnsetFacet(symbol(r, "a facet"), _names(r), at=at)
    if r.skip_words("STRUCTURAL"):
        return UnsetStructural(_entries(r, options=False), at=at)
    r.refuse("ATTRIBUTES, FACET or STRUCTURAL", hint="Fields are set, never removed.")


def _names(r: Reader) -> tuple[str, ...]:
    r.take_mark("{")
    return listed(r, "}", field_name)


def _entries(r: Reader, *, options: bool) -> tuple[StructuralEntry, ...]:
    r.take_mark("{")
    entries: list[StructuralEntry] = []
    while not r.skip_mark("}"):
        at = r.take_mark("(", "or '}'", hint='References are ("field", target), side by side.').at
        field = symbol(r, "a structural field")
        r.take_mark(",", "after the field")
        pointed = value(r)
        r.take_mark(")", "after the target")
        given = object_value(r) if options and r.is_mark("{") else None
        entries.append(StructuralEntry(field, pointed, given, at=at))
    return tuple(entries)


def _tail(r: Reader, *, limited: bool = True) -> Tail:
    at = r.token.at
    block = where(r, Patterns.RAW) if r.skip_words("WHERE") else None
    limit = scalar(r, "a limit") if limited and r.skip_words("LIMIT") else None
    return Tail(block, limit, _guards(r), at=at)


def _guards(r: Reader) -> tuple[Guard, ...]:
    guards: list[Guard] = []
    while r.is_word("EXPECT"):
        at = r.advance().at
        r.take_word("VERSION", hint="States are not expected; EXPECT VERSION guards against races.")
        version = scalar(r, "a version")
        plane: Plane | None = None
        facet: Symbol | None = None
        if r.skip_words("OF"):
            if r.token.kind != Kind.WORD or r.token.value not in _PLANES:
                r.refuse("a plane", hint=f"One of {', '.join(_PLANES)}.")
            plane = cast(Plane, r.advance().value)
            facet = symbol(r, "a facet") if plane == "FACET" else None
        guards.append(Guard(version, plane, facet, at=at))
    return tuple(guards)


def _handle(r: Reader) -> Variable:
    return variable(r, "a handle such as ?x")


def _optional_handle(r: Reader) -> Variable | None:
    return _handle(r) if r.token.kind == Kind.VARIABLE else None


def _once(present: _T | None, found: _T, what: str, at: int) -> _T:
    if present is not None:
        raise fault(InvalidSyntax, f"{what} is given twice.", at, hint="Say it once.")
    return found


def _each_once(actions: list[Action]) -> tuple[Action, ...]:
    """Inside braces every clause comes once, but those of facets."""
    seen: set[type] = set()
    for action in actions:
        if isinstance(action, SetFacet | UnsetFacet):
            continue
        if type(action) in seen:
            raise fault(
                InvalidSyntax, "This clause is given twice.", action.at, hint="Put both into one."
            )
        seen.add(type(action))
    return tuple(actions)
