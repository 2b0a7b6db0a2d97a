"""Members that a query names and no element has: they match nothing and read null, and are told.

The language lets a query name any member, so this is a caveat beside the answer and no error.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_patterns import ConceptPattern, RecordPattern, SearchPattern
from storage.kip.language.ast_terms import Path
from storage.kip.language.walking import every
from storage.kip.query.fields import FIELDS

_KINDS = {"ASSERTION": "A", "EVIDENCE": "E", "ACTIVITY": "X"}
#: What patterns select by beside the members of a document.
_SELECTORS = {"C": {"state", "type"}, "A": {"state"}, "E": {"state"}, "X": {"state"}}
_CALLED = {"C": "A concept", "A": "An assertion", "E": "An evidence", "X": "An activity"}


def unknown_members(statement: Find) -> list[dict[str, Any]]:
    """A KIP warning for each first member of a pattern or path that its kind does not have."""
    kinds: dict[str, str] = {}
    found: dict[tuple[str, str], None] = {}
    for clause, kind in _patterns(statement):
        kinds[clause.variable.name] = kind
        for member in clause.match.members:
            if member.name not in _SELECTORS[kind] and member.name not in FIELDS[kind]:
                found[kind, member.name] = None
    searched = {clause.variable.name for clause in every(statement, SearchPattern)}
    for path in every(statement, Path):
        known = kinds.get(path.variable.name)
        if known and path.variable.name not in searched and path.steps[0] not in FIELDS[known]:
            found[known, path.steps[0]] = None
    return [_warning(kind, name) for kind, name in found]


def _patterns(statement: Find) -> Iterator[tuple[ConceptPattern | RecordPattern, str]]:
    for concept in every(statement, ConceptPattern):
        yield concept, "C"
    for record in every(statement, RecordPattern):
        yield record, _KINDS[record.kind]


def _warning(kind: str, name: str) -> dict[str, Any]:
    known = [member for member in FIELDS[kind] if "." not in member]
    close = ["schema_ref"] if name == "type" else get_close_matches(name, known, 1)
    if close:
        hint = f" Did you mean {close[0]}?"
    elif kind == "C":
        hint = f" An attribute is written attributes: {{{name}: …}} or .attributes.{name}."
    else:
        hint = ""
    return {
        "code": "UnknownMember",
        "message": f"{_CALLED[kind]} has no member {name}, so it matches nothing.{hint}",
        "details": {"member": name},
    }
