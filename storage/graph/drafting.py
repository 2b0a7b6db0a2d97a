"""What DEFINE may define: the vocabulary that a space adds by itself (contract section 2).

The style of names is no rule of the language; a host that lets a model define words holds it to one
(formation does).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from storage.graph.changes import DefineSymbol
from storage.graph.errors import ConstraintViolation

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
#: What a definition may say, of a type, of an attribute, of a predicate.
TYPE_MEMBERS = frozenset({"description", "attributes"})
ATTRIBUTE_MEMBERS = frozenset({"type", "description"})
_ATTRIBUTE_TYPES = frozenset(
    {"null", "string", "timestamp", "boolean", "integer", "number", "array", "object"}
)
PREDICATE_MEMBERS = frozenset(
    {
        "description",
        "subject",
        "object",
        "functional",
        "functional_by",
        "open_world",
        "complete",
        "boolean_completeness",
        "temporal_conflict",
    }
)
FLAGS = ("functional", "open_world", "complete", "boolean_completeness")
_END_MEMBERS: Mapping[str, frozenset[str]] = {
    "subject": frozenset({"concept_types", "kinds"}),
    "object": frozenset({"concept_types", "kinds", "literal_types", "nullable", "format"}),
}
_KINDS = frozenset({"Concept", "Proposition", "Assertion", "Evidence", "Activity"})
_LITERALS = frozenset({"string", "number", "boolean", "integer"})


def check_draft(symbol: DefineSymbol) -> None:
    """Raises `ConstraintViolation` for a definition that a draft may not have."""
    if _NAME.fullmatch(symbol.name) is None:
        raise ConstraintViolation(
            f"{symbol.name!r} is no name: 1 to 64 letters, digits and '_', no digit first."
        )
    definition = symbol.definition
    description = definition.get("description")
    if not isinstance(description, str) or not description.strip():
        raise ConstraintViolation(f"{symbol.name} needs a description.")
    if symbol.symbol_kind == "concept_type":
        _members(definition, TYPE_MEMBERS, "A type")
        _check_attributes(definition.get("attributes"))
    else:
        _members(definition, PREDICATE_MEMBERS, "A predicate")
        _check_predicate(definition)


def _members(value: Mapping[str, Any], known: frozenset[str], what: str) -> None:
    if unknown := set(value) - known:
        raise ConstraintViolation(f"{what} has no member {sorted(unknown)[0]!r}.")


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConstraintViolation(f"{what} is an object.")
    return value


def _check_attributes(attributes: Any) -> None:
    if attributes is None:
        return
    _members(_object(attributes, "attributes"), frozenset({"open", "fields"}), "attributes")
    if not isinstance(attributes.get("open", True), bool):
        raise ConstraintViolation("open is true or false.")
    for name, field in _object(attributes.get("fields", {}), "fields").items():
        _members(_object(field, name), ATTRIBUTE_MEMBERS, f"A draft's attribute {name!r}")
        types = field.get("type", "string")
        types = [types] if isinstance(types, str) else types
        if not isinstance(types, list) or not set(map(str, types)) <= _ATTRIBUTE_TYPES:
            raise ConstraintViolation(f"{name!r} has no such type.")


def _check_predicate(definition: Mapping[str, Any]) -> None:
    for flag in FLAGS:
        if not isinstance(definition.get(flag, False), bool):
            raise ConstraintViolation(f"{flag} is true or false.")
    if definition.get("open_world") is False or definition.get("complete") is True:
        raise ConstraintViolation("A draft predicate is open-world and never complete.")
    for end, members in _END_MEMBERS.items():
        if end not in definition:
            continue
        given = _object(definition[end], end)
        _members(given, members, end)
        _check_list(given, "kinds", _KINDS)
        _check_list(given, "literal_types", _LITERALS)
        _check_list(given, "concept_types", None)


def _check_list(given: Mapping[str, Any], member: str, known: frozenset[str] | None) -> None:
    words = given.get(member, [])
    if not isinstance(words, list | tuple) or not all(
        isinstance(word, str) and (known is None or word in known) for word in words
    ):
        raise ConstraintViolation(f"{member} holds {', '.join(sorted(known or {'names'}))}.")
