"""What ASSERT stands for: ENSURE PROPOSITION, CREATE ASSERTION, and TRANSITION to replace one."""

from __future__ import annotations

from typing import cast

from storage.kip.language.ast_kml import (
    Action,
    Assert,
    CreateRecord,
    EnsureProposition,
    Mutate,
    Mutation,
    SetFields,
    SetStructural,
    StructuralEntry,
    Transition,
)
from storage.kip.language.ast_terms import (
    ArrayValue,
    Literal,
    Member,
    ObjectValue,
    Scalar,
    Value,
    Variable,
)
from storage.kip.language.check_values import member

#: Members of ASSERT, and the fields of the assertion that they set.
_FIELDS = {
    "by": "asserted_by",
    "mode": "mode",
    "stance": "stance",
    "confidence": "confidence",
    "at": "asserted_at",
    "valid": "valid_time",
    "context": "context_refs",
}


def statements(command: Mutation) -> tuple[Mutation, ...]:
    """What a command does, one transaction, without MUTATE and ASSERT.

    An ASSERT makes handles of its own, which no text can spell: `?a#proposition`, and `?3#assert`
    (3 its position) where it has none. `evidence` becomes citations with the role "support", a
    missing stance is "support".
    """
    written = command.statements if isinstance(command, Mutate) else (command,)
    plain: list[Mutation] = []
    for position, one in enumerate(written):
        plain.extend(_plain(one, position) if isinstance(one, Assert) else (one,))
    return tuple(plain)


def _plain(claim: Assert, position: int) -> tuple[Mutation, ...]:
    at = claim.at
    name = claim.handle.name if claim.handle else f"{position}#assert"
    handle = claim.handle or Variable(name, at=at)
    proposition = Variable(f"{name}#proposition", at=at)
    fields = [Member("proposition", proposition, at=at)]
    fields += [
        Member(_FIELDS[one.name], one.value, at=one.at)
        for one in claim.members
        if one.name in _FIELDS
    ]
    if member(claim.members, "stance") is None:
        fields.append(Member("stance", Literal("support", at=at), at=at))
    actions: list[Action] = [SetFields(tuple(fields), at=at)]
    if cited := member(claim.members, "evidence"):
        given = cast(Value, cited.value)
        found = given.items if isinstance(given, ArrayValue) else (given,)
        role = ObjectValue((Member("role", Literal("support", at=cited.at), at=cited.at),))
        actions.append(
            SetStructural(
                tuple(
                    StructuralEntry(Literal("evidence", at=cited.at), one, role, at=one.at)
                    for one in found
                ),
                at=cited.at,
            )
        )
    key = member(claim.members, "key")
    client_key = key.value if key and isinstance(key.value, Scalar) else None
    made: list[Mutation] = [
        EnsureProposition(proposition, claim.proposition, at=at),
        CreateRecord("ASSERTION", handle, client_key, tuple(actions), at=at),
    ]
    if claim.superseding is not None:
        made.append(Transition(claim.superseding, Literal("superseded", at=at), handle, at=at))
    return tuple(made)
