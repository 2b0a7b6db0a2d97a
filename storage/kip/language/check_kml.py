"""Static checks of mutations: handles, targets, guards, and what is never rewritten."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from storage.kip.errors import (
    DanglingReference,
    DuplicateLocalHandle,
    DuplicateMutationTarget,
    EpistemicRevisionRequired,
    EvidenceCorrectionRequired,
    IdentitySelectorRequired,
    ImmutableField,
    InvalidSyntax,
    KipError,
    fault,
)
from storage.kip.language import check_values as values
from storage.kip.language.ast_expressions import Call
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
    Purge,
    PurgePayload,
    SetAttributes,
    SetFacet,
    SetFields,
    SetRetention,
    SetStructural,
    Tail,
    Transition,
    UnsetFacet,
    UnsetStructural,
    Update,
    UpsertConcept,
)
from storage.kip.language.ast_patterns import ElementKind
from storage.kip.language.ast_terms import (
    Literal,
    Member,
    Node,
    Path,
    PropositionTerm,
    Scalar,
    Symbol,
    Target,
    TripleById,
    Variable,
)
from storage.kip.language.check_define import define
from storage.kip.language.check_expressions import UPDATES, calls
from storage.kip.language.check_patterns import block, triples
from storage.kip.language.scopes import kinds_of
from storage.kip.language.walking import every, variables

MODES = frozenset({"observed", "stated", "inferred", "predicted", "hypothetical", "imported"})
STANCES = frozenset({"support", "reject", "uncertain"})
ACTIVITY_STATES = frozenset({"pending", "running", "completed", "failed", "cancelled"})
POLICIES = frozenset({"deny_if_referenced", "tombstone_reference", "authorized_cascade"})

#: States that TRANSITION moves to: those that need BY, those that take SET, the others.
_REPLACED = frozenset({"superseded", "corrected"})
_FINALIZED = frozenset({"running", "completed", "failed", "cancelled"})
_MOVES = _REPLACED | _FINALIZED | {"retracted", "archived", "tombstoned"}

_ASSERT_MEMBERS = (
    "by",
    "mode",
    "stance",
    "confidence",
    "at",
    "valid",
    "context",
    "evidence",
    "key",
)
#: Fields that the engine or governance keeps.
_PROTECTED = frozenset(
    {
        "_system",
        "governance",
        "id",
        "kind",
        "space_id",
        "space_seq",
        "tx_id",
        "merged_into",
        "plane_versions",
        "recording_validity",
        "dependency_validity",
        "canonical_subject",
        "canonical_object",
    }
)
#: Times among the core fields; a null says that there is none.
_TIMES = frozenset({"asserted_at", "observed_at", "started_at", "ended_at", "expires_at"})
#: Members of the facet MnemonicState that are shares of one.
_MNEMONIC = frozenset({"memory_strength", "salience", "utility"})
#: What UPDATE says when it meets an element whose fields or references never change.
_REWRITES: Mapping[ElementKind, tuple[type[KipError], str]] = {
    "ASSERTION": (
        EpistemicRevisionRequired,
        "A claim is never rewritten; the change is a new claim.",
    ),
    "EVIDENCE": (
        EvidenceCorrectionRequired,
        "Evidence is never rewritten; the change is new evidence that corrects it.",
    ),
    "PROPOSITION": (
        ImmutableField,
        "A proposition is its triple; another triple is another proposition.",
    ),
}

#: Handles of a transaction, and what kind of element each stands for.
Handles = Mapping[str, ElementKind]


def mutation(statement: Mutation) -> None:
    """Check a statement, or all of a MUTATE. Raises a `KipError` with an offset."""
    statements = statement.statements if isinstance(statement, Mutate) else (statement,)
    handles = _handles(statements)
    for one in statements:
        _statement(one, handles)


def _handles(statements: Iterable[Mutation]) -> Handles:
    handles: dict[str, ElementKind] = {}
    for statement in statements:
        handle: Variable | None
        kind: ElementKind
        match statement:
            case CreateConcept(handle) | UpsertConcept(handle):
                kind = "CONCEPT"
            case CreateRecord(kind, handle):
                pass
            case EnsureProposition(handle):
                kind = "PROPOSITION"
            case Assert(handle):
                kind = "ASSERTION"
            case _:
                continue
        if handle is None:
            continue
        if handle.name in handles:
            raise fault(DuplicateLocalHandle, f"?{handle.name} is defined twice.", handle.at)
        handles[handle.name] = kind
    return handles


def _statement(statement: Mutation, handles: Handles) -> None:
    match statement:
        case CreateConcept():
            values.text(statement.type, "TYPE")
            values.text(statement.client_key, "CLIENT KEY")
            _actions(statement.actions, handles)
        case CreateRecord():
            values.text(statement.client_key, "CLIENT KEY")
            _actions(statement.actions, handles)
        case UpsertConcept():
            _selector(statement)
            _known(statement.match, handles)
            _actions(statement.actions, handles)
            _guards(statement.guards)
        case EnsureProposition():
            _triple(statement.proposition, handles)
            _guards(statement.guards)
        case Assert():
            _triple(statement.proposition, handles)
            _assert(statement, handles)
        case Update():
            _update(statement, handles)
        case Transition():
            _transition(statement, handles)
        case SetRetention():
            bound = _tail(statement.tail)
            _known(statement.target, handles, bound)
            _retention(statement.members, handles, bound)
        case Purge():
            _known(statement.target, handles, _tail(statement.tail))
            values.choice(statement.reference_policy, "REFERENCE POLICY", POLICIES)
        case PurgePayload():
            _known(statement.target, handles, _tail(statement.tail))
        case MergeConcept():
            bound = _tail(statement.tail)
            _known(statement.source, handles, bound)
            _known(statement.into, handles, bound)
        case Define():
            define(statement)


def _known(node: Node, *scopes: Container[str]) -> None:
    """Every variable is a handle or bound by WHERE. Raises `DanglingReference`."""
    for variable in variables(node):
        if not any(variable.name in scope for scope in scopes):
            raise fault(
                DanglingReference,
                f"?{variable.name} is no handle of this transaction, and no WHERE binds it.",
                variable.at,
                hint="Define the handle, bind it in WHERE, or pass a :parameter.",
            )


def _tail(tail: Tail) -> frozenset[str]:
    """Check WHERE, LIMIT and guards; returns the names that WHERE binds."""
    bound = block(tail.where) if tail.where is not None else frozenset()
    values.count(tail.limit, "LIMIT")
    _guards(tail.guards)
    return bound


def _guards(guards: tuple[Guard, ...]) -> None:
    seen: set[object] = set()
    for guard in guards:
        values.count(guard.version, "EXPECT VERSION")
        values.text(guard.facet, "OF FACET")
        plane = (guard.plane, guard.facet)
        if plane in seen:
            raise fault(
                InvalidSyntax,
                "One plane is guarded twice.",
                guard.at,
                hint="Give each plane one EXPECT VERSION.",
            )
        seen.add(plane)


def _selector(statement: UpsertConcept) -> None:
    """A concept is found by id or key, each a literal or parameter."""
    members = statement.match.members
    identities = [one for one in members if one.name in ("id", "key")]
    for identity in identities:
        if not isinstance(identity.value, Scalar):
            raise fault(
                IdentitySelectorRequired,
                f"MATCH takes one {identity.name}: a literal or a parameter.",
                identity.at,
            )
        values.text(identity.value, identity.name)
    if not identities:
        named = values.member(members, "name")
        raise fault(
            InvalidSyntax if named else IdentitySelectorRequired,
            "A name never identifies a concept." if named else "MATCH names no concept.",
            named.at if named else statement.match.at,
            hint="MATCH {type: …, key: …} or MATCH {id: …}.",
        )
    if kind := values.member(members, "type"):
        _symbol(kind.value, "type")


def _symbol(value: object, what: str) -> None:
    if isinstance(value, Literal):
        values.text(value, what)


def _triple(triple: PropositionTerm, handles: Handles) -> None:
    if isinstance(triple, TripleById):
        raise fault(
            InvalidSyntax,
            "(id: …) finds a proposition; this statement states one.",
            triple.at,
            hint="Write (subject, predicate, object).",
        )
    triples(triple)
    if isinstance(triple.predicate, Variable):
        raise fault(
            InvalidSyntax,
            "A proposition has an exact predicate, never a variable.",
            triple.predicate.at,
            hint="Quote the predicate, or pass a :parameter.",
        )
    _known(triple, handles)


def _assert(statement: Assert, handles: Handles) -> None:
    for member in statement.members:
        if member.name not in _ASSERT_MEMBERS:
            raise fault(
                InvalidSyntax,
                f"ASSERT has no member {member.name!r}.",
                member.at,
                hint=f"It has {', '.join(_ASSERT_MEMBERS)}.",
            )
        _known(member, handles)
        _readless(member)
        _assert_member(member)
    for name, hint in (
        ("by", "Add by: who claims it."),
        ("mode", f"Add mode: one of {', '.join(sorted(MODES))}."),
    ):
        if values.member(statement.members, name) is None:
            raise fault(InvalidSyntax, f"ASSERT needs {name!r}.", statement.at, hint=hint)
    if statement.superseding is not None:
        _known(statement.superseding, handles)


def _assert_member(member: Member) -> None:
    given = member.value
    match member.name:
        case "mode":
            values.choice(given, "mode", MODES)
        case "stance":
            values.choice(given, "stance", STANCES)
        case "confidence":
            values.share(given, "confidence")
        case "at":
            values.time(given, "at", nullable=True)
        case "valid":
            values.interval(given)
        case "key":
            values.text(given, "key")


def _actions(actions: tuple[Action, ...], *scopes: Container[str]) -> None:
    """Check what a statement that creates or finds sets: nothing of it reads old values."""
    for action in actions:
        _known(action, *scopes)
        _readless(action)
    _set_once(actions)
    _set_values(actions)


def _readless(node: Node) -> None:
    """Only UPDATE computes values. Raises `InvalidSyntax`."""
    for part in (*every(node, Path), *every(node, Call)):
        raise fault(
            InvalidSyntax,
            "Only UPDATE computes values from what is there.",
            part.at,
            hint="Write the value, or pass it as a :parameter.",
        )


def _update(statement: Update, handles: Handles) -> None:
    bound = _tail(statement.tail)
    target = statement.target
    _known(target, handles, bound)
    for action in statement.actions:
        _known(action, handles, bound)
        calls(action, UPDATES)
        for path in every(action, Path):
            if path.variable != target:
                raise fault(
                    InvalidSyntax,
                    f"A value of UPDATE reads its own target alone, not ?{path.variable.name}.",
                    path.at,
                    hint="Read the other element first and pass the value as a :parameter.",
                )
    _set_once(statement.actions)
    _set_values(statement.actions)
    kind = _kind(target, statement.tail, bound, handles)
    if kind is not None and kind in _REWRITES:
        error, message = _REWRITES[kind]
        for action in statement.actions:
            if not isinstance(action, SetFacet | UnsetFacet):
                raise fault(error, message, action.at)


def _kind(
    target: Target, tail: Tail, bound: frozenset[str], handles: Handles
) -> ElementKind | None:
    """The kind of the element that a target stands for, if the text says."""
    if not isinstance(target, Variable):
        return None
    if target.name in bound:
        kinds = kinds_of(tail.where, target.name)
        return next(iter(kinds)) if len(kinds) == 1 else None
    return handles.get(target.name)


def _transition(statement: Transition, handles: Handles) -> None:
    bound = _tail(statement.tail)
    _known(statement.target, handles, bound)
    if statement.by is not None:
        _known(statement.by, handles, bound)
    _actions(statement.actions, handles, bound)
    values.choice(statement.to, "TO", _MOVES)
    if not isinstance(statement.to, Literal):
        return
    state = statement.to.value
    if state in _REPLACED and statement.by is None:
        raise fault(
            InvalidSyntax,
            f'A move to "{state}" needs BY.',
            statement.to.at,
            hint="Add BY what takes its place.",
        )
    if state not in _REPLACED and statement.by is not None:
        raise fault(
            InvalidSyntax,
            f'A move to "{state}" takes no BY.',
            statement.by.at,
            hint='BY goes with "superseded" and "corrected".',
        )
    if state not in _FINALIZED and statement.actions:
        raise fault(
            InvalidSyntax,
            f'A move to "{state}" sets nothing.',
            statement.actions[0].at,
            hint="SET goes with the states of activities.",
        )


def _retention(members: tuple[Member, ...], *scopes: Container[str]) -> None:
    for member in members:
        _known(member, *scopes)
        _readless(member)
        match member.name:
            case "retention_class" if member.value != Literal(None):
                values.text(member.value, member.name)
            case "expires_at":
                values.time(member.value, member.name, nullable=True)
            case "legal_hold":
                values.truth(member.value, member.name)


def _set_once(actions: tuple[Action, ...]) -> None:
    """No place gets two values. Raises `DuplicateMutationTarget`.

    UNSET beside SET of one name is no conflict: what counts is how the statement ends.
    """
    seen: set[tuple[str, Symbol | None, str]] = set()
    for action in actions:
        for plane, facet, name in _places(action):
            if (plane, facet, name) in seen:
                raise fault(DuplicateMutationTarget, f"{name!r} gets two values.", action.at)
            seen.add((plane, facet, name))


def _places(action: Action) -> list[tuple[str, Symbol | None, str]]:
    match action:
        case SetFields(members):
            return [("fields", None, member.name) for member in members]
        case SetAttributes(members):
            return [("attributes", None, member.name) for member in members]
        case SetFacet(facet, members):
            return [("facet", facet, member.name) for member in members]
    return []


def _set_values(actions: tuple[Action, ...]) -> None:
    for action in actions:
        match action:
            case SetFields(members):
                for member in members:
                    _field(member)
            case SetFacet(facet, members):
                values.text(facet, "FACET")
                if _is_mnemonic(facet):
                    for member in members:
                        if member.name in _MNEMONIC and member.value != Literal(None):
                            values.share(member.value, member.name)
            case UnsetFacet(facet):
                values.text(facet, "FACET")
            case SetStructural(entries) | UnsetStructural(entries):
                for entry in entries:
                    values.text(entry.field, "A structural field")
                    if entry.options is not None:
                        values.closed(entry.options, "A reference")
                        if index := values.member(entry.options.members, "index"):
                            values.count(index.value, "index")


def _is_mnemonic(facet: Symbol) -> bool:
    return (
        isinstance(facet, Literal)
        and isinstance(facet.value, str)
        and facet.value.rpartition("/")[2] == "MnemonicState"
    )


def _field(member: Member) -> None:
    given = member.value
    if member.name in _PROTECTED:
        raise fault(
            InvalidSyntax,
            f"{member.name!r} is kept by the engine; nothing writes it.",
            member.at,
            hint="Leave it out.",
        )
    if member.name in _TIMES:
        values.time(given, member.name, nullable=True)
    match member.name:
        case "mode":
            values.choice(given, "mode", MODES)
        case "stance":
            values.choice(given, "stance", STANCES)
        case "status":
            values.choice(given, "status", ACTIVITY_STATES)
        case "confidence":
            if given != Literal(None):
                values.share(given, "confidence")
        case "valid_time":
            values.interval(given)
