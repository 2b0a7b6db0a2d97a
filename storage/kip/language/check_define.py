"""Static checks of DEFINE: a draft describes itself, stays open, and requires nothing."""

from __future__ import annotations

from storage.graph.drafting import ATTRIBUTE_MEMBERS, FLAGS, PREDICATE_MEMBERS, TYPE_MEMBERS
from storage.kip.errors import ConstraintViolation, TypeMismatch, fault
from storage.kip.language import check_values as values
from storage.kip.language.ast_kml import Define
from storage.kip.language.ast_terms import Literal, Member, ObjectValue

_ATTRIBUTES = frozenset({"open", "fields"})


def define(statement: Define) -> None:
    """Check a definition. Raises `ConstraintViolation`, `TypeMismatch`, `InvalidSyntax`."""
    body = statement.definition
    values.closed(body, "A definition")
    values.text(statement.symbol, "The name")
    predicate = statement.symbol_kind == "predicate"
    _only(body.members, PREDICATE_MEMBERS if predicate else TYPE_MEMBERS, "A definition")
    description = values.member(body.members, "description")
    if description is None:
        raise fault(
            ConstraintViolation,
            "A definition needs a description.",
            statement.at,
            hint='Add description: "…", saying what the name means.',
        )
    values.text(description.value, "The description")
    if predicate:
        _predicate(body.members)
    elif attributes := values.member(body.members, "attributes"):
        _attributes(attributes)


def _predicate(members: tuple[Member, ...]) -> None:
    for flag in FLAGS:
        if given := values.member(members, flag):
            values.truth(given.value, flag)
    for name, refused in (("open_world", False), ("complete", True)):
        given = values.member(members, name)
        if given and given.value == Literal(refused):
            raise fault(
                ConstraintViolation,
                "A draft predicate is open-world and never complete.",
                given.at,
                hint=f"Leave {name} out.",
            )
    if given := values.member(members, "temporal_conflict"):
        choices = frozenset({"overlapping_valid_time", "none"})
        values.choice(given.value, "temporal_conflict", choices)
    if given := values.member(members, "functional_by"):
        values.choice(given.value, "functional_by", frozenset({"object_type"}))


def _attributes(attributes: Member) -> None:
    for member in _object(attributes):
        if member.name not in _ATTRIBUTES:
            raise fault(
                ConstraintViolation,
                f"Draft attributes have no {member.name!r}: none is ever required.",
                member.at,
                hint="Say open and fields, or neither.",
            )
        if member.name == "open":
            values.truth(member.value, "open")
        else:
            for field in _object(member):
                _only(_object(field), ATTRIBUTE_MEMBERS, f"The field {field.name!r}")


def _object(member: Member) -> tuple[Member, ...]:
    if isinstance(member.value, Literal):
        raise fault(TypeMismatch, f"{member.name!r} takes an object.", member.value.at)
    return member.value.members if isinstance(member.value, ObjectValue) else ()


def _only(members: tuple[Member, ...], known: frozenset[str], what: str) -> None:
    for member in members:
        if member.name not in known:
            raise fault(
                ConstraintViolation,
                f"{what} has no member {member.name!r}.",
                member.at,
                hint=f"It has {', '.join(sorted(known))}.",
            )
