"""CREATE EVIDENCE, CREATE ASSERTION, CREATE ACTIVITY, ENSURE PROPOSITION, and UPDATE of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, cast

from storage.canonical import canonical_json, digest_bytes
from storage.graph import changes as graph
from storage.graph.errors import (
    ActivityTerminal,
    ConstraintViolation,
    ImmutableField,
    KipError,
    SchemaFieldNotFound,
    TypeMismatch,
)
from storage.graph.symbols import Endpoint
from storage.graph.validity import UNSTATED, ValidTime, instant
from storage.kip.errors import (
    EpistemicRevisionRequired,
    EvidenceCorrectionRequired,
    InvalidSyntax,
    fault,
)
from storage.kip.language import ast_kml as kml
from storage.kip.language.ast_terms import ArrayValue, Literal, Member, Node, Triple
from storage.kip.mutation.concepts import Written, guards, link, text_of, written
from storage.kip.mutation.references import References, is_id
from storage.kip.mutation.values import Values

_ASSERTION = frozenset(
    {
        "proposition",
        "asserted_by",
        "stance",
        "mode",
        "confidence",
        "asserted_at",
        "valid_time",
        "context_refs",
    }
)
_EVIDENCE = frozenset({"evidence_class", "payload", "content_digest", "media_type", "observed_at"})
_ACTIVITY = frozenset({"activity_class", "status", "started_at", "ended_at", "parameters_digest"})
#: Core structural fields of an activity.
_ENDS = ("inputs", "outputs", "associated_actors")
#: Why a record is not updated, by kind.
_REWRITES: Mapping[str, tuple[type[KipError], str]] = {
    "P": (ImmutableField, "A proposition is its triple; another triple is another proposition."),
    "A": (EpistemicRevisionRequired, "A claim is never rewritten; the change is a new claim."),
    "E": (
        EvidenceCorrectionRequired,
        "Evidence is never rewritten; the change is new evidence that corrects it.",
    ),
}


def ensure(
    statement: kml.EnsureProposition, references: References, handle: str
) -> graph.EnsureProposition:
    """A proposition, found or made.

    A string where an object goes is a literal where the predicate takes strings. An id is its
    element where the predicate takes elements alone, and where it does not say what it takes.
    """
    triple = statement.proposition
    assert isinstance(triple, Triple)
    predicate = text_of(cast(Any, triple.predicate))
    definition = references.snapshot.schema.predicate(predicate)
    target: graph.Ref | graph.Value | graph.Elsewhere
    match triple.object:
        case Literal(value) if not _names_element(value, definition.object, references):
            target = graph.Value(value)
        case node if (elsewhere := references.nonlocal_id(node)) is not None:
            target = graph.Elsewhere(elsewhere)
        case node:
            target = references.of(node, {})
    return graph.EnsureProposition(
        handle,
        references.of(triple.subject, {}),
        predicate,
        target,
        guards=guards(statement.guards, references),
    )


def _names_element(value: object, end: Endpoint, references: References) -> bool:
    """Whether a literal object is the id of an element rather than a value."""
    if not isinstance(value, str) or not is_id(value):
        return False
    return references.exists(value) if end.anything else not end.takes_literal(value)


def create(
    statement: kml.CreateRecord, references: References, corrects: graph.Ref | None
) -> graph.CreateAssertion | graph.CreateEvidence | graph.CreateActivity:
    """A new record. `corrects` is the assertion whose interval a claim without one takes.

    Raises `SchemaFieldNotFound` for a field that the kind does not have, `ConstraintViolation`
    for one that is missing, `InvalidSyntax` for what only concepts have.
    """
    fields: dict[str, Member] = {}
    for action in statement.actions:
        if isinstance(action, kml.SetFields):
            fields |= {member.name: member for member in action.members}
        elif not isinstance(action, kml.SetFacet | kml.SetStructural):
            raise fault(InvalidSyntax, "A record has fields, facets and references.", action.at)
    made = written(
        [action for action in statement.actions if not isinstance(action, kml.SetFields)],
        references,
        {},
    )
    handle = f"?{statement.handle.name}"
    client_key = text_of(statement.client_key)
    match statement.kind:
        case "ASSERTION":
            return _assertion(statement, fields, made, references, handle, client_key, corrects)
        case "EVIDENCE":
            return _evidence(statement, fields, made, references, handle, client_key)
        case _:
            return _activity(statement, fields, made, references, handle, client_key)


def _assertion(
    statement: kml.CreateRecord,
    fields: Mapping[str, Member],
    made: Written,
    references: References,
    handle: str,
    client_key: str | None,
    corrects: graph.Ref | None,
) -> graph.CreateAssertion:
    _only(fields, _ASSERTION, "An assertion")
    _needed(fields, ("proposition", "asserted_by", "mode"), statement, "An assertion")
    plain = _plain(fields, references, without=("proposition", "asserted_by", "context_refs"))
    confidence = plain.get("confidence")
    if confidence is not None and (
        isinstance(confidence, bool) or not isinstance(confidence, int | float)
    ):
        raise TypeMismatch("confidence is a number.")
    return graph.CreateAssertion(
        handle,
        references.of(cast(Node, fields["proposition"].value), {}),
        references.of(cast(Node, fields["asserted_by"].value), {}),
        _text(plain, "mode"),
        stance=_text(plain, "stance") if plain.get("stance") is not None else "support",
        confidence=confidence,
        asserted_at=_time(plain, "asserted_at"),
        valid=ValidTime.from_json(plain["valid_time"]) if "valid_time" in plain else UNSTATED,
        interval_of=corrects if "valid_time" not in fields else None,
        contexts=_contexts(fields.get("context_refs"), references),
        citations=tuple(
            graph.Citation(one.target, cast(Any, one.role or "support"))
            for one in made.links
            if one.field == "evidence"
        ),
        client_key=client_key,
        facets=made.facets,
        links=tuple(one for one in made.links if one.field != "evidence"),
    )


def _evidence(
    statement: kml.CreateRecord,
    fields: Mapping[str, Member],
    made: Written,
    references: References,
    handle: str,
    client_key: str | None,
) -> graph.CreateEvidence:
    _only(fields, _EVIDENCE, "Evidence")
    _needed(fields, ("evidence_class", "payload"), statement, "Evidence")
    plain = _plain(fields, references)
    payload, content_ref = _kept(plain["payload"])
    digest = _optional_text(plain, "content_digest")
    if digest is None and content_ref is None:
        digest = content_digest(payload)
    return graph.CreateEvidence(
        handle,
        _text(plain, "evidence_class"),
        payload,
        content_digest=digest,
        content_ref=content_ref,
        media_type=_optional_text(plain, "media_type"),
        observed_at=_time(plain, "observed_at"),
        client_key=client_key,
        facets=made.facets,
        links=made.links,
    )


def _kept(payload: Any) -> tuple[Any, str | None]:
    """What is kept here of a payload, and the name of what is kept elsewhere.

    `{mode: "external", content_ref: …}` says that the bytes are elsewhere, `{mode: "inline",
    inline: …}` is how a query shows what is here; everything else is the payload itself.
    """
    match payload:
        case {"mode": "external", "content_ref": ref, **rest} if not rest:
            return None, _text({"content_ref": ref}, "content_ref")
        case {"mode": "inline", "inline": inline, **rest} if not rest:
            return inline, None
    return payload, None


def content_digest(payload: Any) -> str:
    """What a payload is known by where nobody said: of a string its bytes, else its JSON."""
    text = payload if isinstance(payload, str) else canonical_json(payload)
    return digest_bytes(text.encode("utf-8", "surrogatepass"))


def _activity(
    statement: kml.CreateRecord,
    fields: Mapping[str, Member],
    made: Written,
    references: References,
    handle: str,
    client_key: str | None,
) -> graph.CreateActivity:
    _only(fields, _ACTIVITY, "An activity")
    _needed(fields, ("activity_class",), statement, "An activity")
    plain = _plain(fields, references)
    ends = {
        name: tuple(dict.fromkeys(one.target for one in made.links if one.field == name))
        for name in _ENDS
    }
    return graph.CreateActivity(
        handle,
        _text(plain, "activity_class"),
        status=cast(Any, plain.get("status") or "pending"),
        started_at=_time(plain, "started_at"),
        ended_at=_time(plain, "ended_at"),
        inputs=ends["inputs"],
        outputs=ends["outputs"],
        associated_actors=ends["associated_actors"],
        parameters_digest=_optional_text(plain, "parameters_digest"),
        client_key=client_key,
        facets=made.facets,
        links=tuple(one for one in made.links if one.field not in _ENDS),
    )


def update(
    target: graph.Ref, kind: str, made: Written, checks: tuple[graph.Guard, ...], status: str | None
) -> graph.UpdateRecord:
    """Changes to the facets of a record; nothing else of it ever changes.

    Raises `ImmutableField`, `EpistemicRevisionRequired`, `EvidenceCorrectionRequired`, and
    `ActivityTerminal` for an activity that has ended.
    """
    if not made.only_facets:
        if kind == "X" and status in ("completed", "failed", "cancelled"):
            raise ActivityTerminal(f"{target} is {status}.")
        error, message = _REWRITES.get(
            kind, (ImmutableField, "An activity changes by TRANSITION until it has ended.")
        )
        raise error(message)
    return graph.UpdateRecord(
        target, facets=made.facets, unset_facets=made.unset_facets, guards=checks
    )


def finalized(
    statement: kml.Transition, references: References, row: Mapping[str, str]
) -> tuple[datetime | None, datetime | None, tuple[graph.Link, ...]]:
    """Start, end and references that a transition of an activity sets."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    links: tuple[graph.Link, ...] = ()
    for action in statement.actions:
        match action:
            case kml.SetFields(members):
                fields = {member.name: member for member in members}
                _only(fields, frozenset({"started_at", "ended_at"}), "A transition")
                plain = _plain(fields, references)
                started_at = _time(plain, "started_at") or started_at
                ended_at = _time(plain, "ended_at") or ended_at
            case kml.SetStructural(entries):
                links += tuple(link(entry, references, row) for entry in entries)
            case _:
                raise fault(
                    InvalidSyntax, "A transition sets fields and references alone.", action.at
                )
    return started_at, ended_at, links


def _contexts(given: Member | None, references: References) -> tuple[graph.Ref, ...]:
    if given is None or given.value == Literal(None):
        return ()
    items: Iterable[Node]
    match given.value:
        case ArrayValue(items):
            pass
        case node:
            items = (node,)
    return tuple(dict.fromkeys(references.of(item, {}) for item in items))


def _plain(
    fields: Mapping[str, Member], references: References, *, without: tuple[str, ...] = ()
) -> dict[str, Any]:
    members = [member for name, member in fields.items() if name not in without]
    return Values(references.snapshot.schema).members(members)


def _only(fields: Mapping[str, Member], known: frozenset[str], what: str) -> None:
    for name, given in fields.items():
        if name not in known:
            raise fault(
                SchemaFieldNotFound,
                f"{what} has no field {name!r}.",
                given.at,
                hint=f"It has {', '.join(sorted(known))}; SET STRUCTURAL refers to elements.",
            )


def _needed(
    fields: Mapping[str, Member], names: tuple[str, ...], statement: kml.CreateRecord, what: str
) -> None:
    for name in names:
        if name not in fields:
            raise fault(ConstraintViolation, f"{what} needs {name}.", statement.at)


def _time(fields: Mapping[str, Any], name: str) -> datetime | None:
    value = fields.get(name)
    return None if value is None else instant(value, name)


def _text(fields: Mapping[str, Any], name: str) -> Any:
    value = fields.get(name)
    if not isinstance(value, str):
        raise TypeMismatch(f"{name} is a string.")
    if not value:
        raise ConstraintViolation(f"{name} is empty.")
    return value


def _optional_text(fields: Mapping[str, Any], name: str) -> str | None:
    return None if fields.get(name) is None else cast(str, _text(fields, name))
