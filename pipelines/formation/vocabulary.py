"""From the local names of a proposal to symbols of the space's schema, drafting what it lacks.

What the installed packages name goes under their name. The rest becomes draft vocabulary, defined
in the commit that first uses it. A claim that no symbol can carry is refused, not bent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from storage.graph.changes import DefineSymbol
from storage.graph.errors import KipError
from storage.graph.schema import MAX_DRAFTS, PredicateDef, Schema, local_name

_PERSON = "kip://profiles/cognitive-memory@2.0.0/Person"
_PLACE = "kip://domains/general@1.0.0/Place"
_ORGANIZATION = "kip://domains/general@1.0.0/Organization"

#: The type of a thing whose own type cannot be had.
FALLBACK_TYPE = "Thing"

_NAMED_BY_WORDS: Mapping[str, Any] = {"literal_types": ["string"]}
_ANY_CONCEPT: Mapping[str, Any] = {"kinds": ["Concept"]}
_PEOPLE: Mapping[str, Any] = {"concept_types": [_PERSON]}

#: Draft predicates with a known meaning: description, object, functional.
_DRAFTS: Mapping[str, tuple[str, Mapping[str, Any], bool]] = {
    "allergic_to": ("The subject has an allergy to the substance.", _ANY_CONCEPT, False),
    "likes": (
        "The subject likes the object, others of its kind perhaps as well.",
        _ANY_CONCEPT,
        False,
    ),
    "owns": ("The subject owns the thing.", _ANY_CONCEPT, False),
    "has_pet": ("The subject keeps the animal.", _ANY_CONCEPT, False),
    "sibling_of": ("Subject and object are siblings.", _PEOPLE, False),
    "partner_of": ("Subject and object are a couple.", _PEOPLE, False),
    "friend_of": ("Subject and object are friends.", _PEOPLE, False),
    "colleague_of": ("Subject and object work together.", _PEOPLE, False),
    "relative_of": ("Subject and object are family, in a way not named elsewhere.", _PEOPLE, False),
    "parent_of": ("The subject is a parent of the object.", _PEOPLE, False),
    "reports_to": ("The object is the subject's manager.", _PEOPLE, False),
    "born_on": (
        "The subject's day of birth: YYYY-MM-DD, or --MM-DD without a year.",
        _NAMED_BY_WORDS,
        True,
    ),
    "comes_from": (
        "The place where the subject comes from or was born.",
        {"concept_types": [_PLACE]},
        False,
    ),
    "works_as": ("The subject's occupation or role.", _NAMED_BY_WORDS, False),
    "studies_at": (
        "The subject studies at the school.",
        {"concept_types": [_ORGANIZATION]},
        False,
    ),
    "follows_diet": ("The diet that the subject keeps.", _NAMED_BY_WORDS, False),
    "also_known_as": ("Another name of the subject.", _NAMED_BY_WORDS, False),
}

_TYPE_NAME = re.compile(r"[A-Z][A-Za-z0-9]{0,63}", re.ASCII)


class Refused(Exception):
    """No symbol carries this claim; the message says why."""


class Vocabulary:
    """The schema of a space as a proposal grows it; `drafts` are the definitions to commit."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.drafts: list[DefineSymbol] = []

    def mark(self) -> tuple[Schema, int]:
        """Where the vocabulary stands, for `reset`."""
        return self.schema, len(self.drafts)

    def reset(self, mark: tuple[Schema, int]) -> None:
        """Forget what was drafted since `mark`."""
        self.schema = mark[0]
        del self.drafts[mark[1] :]

    def predicate(self, name: str, *, literal: bool) -> PredicateDef:
        """The predicate of a claim, drafted when it is new. Raises `Refused`."""
        if not self.schema.knows_predicate(name):
            known = _DRAFTS.get(name)
            if known is not None:
                description, target, functional = known
                subject: Mapping[str, Any] = _PEOPLE
            else:
                description = f"{name.replace('_', ' ')} (as first said in a conversation)."
                target = _NAMED_BY_WORDS if literal else _ANY_CONCEPT
                functional, subject = False, _ANY_CONCEPT
            self._draft(
                "predicate",
                name,
                {
                    "description": description,
                    "subject": dict(subject),
                    "object": dict(target),
                    "functional": functional,
                },
            )
        try:
            return self.schema.predicate(name)
        except KipError as error:
            raise Refused(error.message) from None

    def subject_type(self, predicate: PredicateDef, name: str) -> str:
        """The local type name of a claim's subject. Raises `Refused` when it cannot be one."""
        found = self._concept_type(name)
        if not predicate.subject.takes("C", self.schema.type(found).lineage):
            raise Refused(f"a {name} cannot be the subject of {local_name(predicate.ref)}")
        return found

    def object_type(self, predicate: PredicateDef, name: str) -> str | None:
        """The local type name of a claim's object; None when it is a literal.

        Where the predicate takes one type only, that is the object's, whatever the text called it.
        """
        if predicate.object.literals:
            if "string" not in predicate.object.literals:
                raise Refused(f"{local_name(predicate.ref)} takes no text")
            return None
        wanted = FALLBACK_TYPE if name == "string" else name
        if predicate.object.refs:
            for ref in predicate.object.refs:
                if local_name(ref) == wanted:
                    return wanted
            return local_name(predicate.object.refs[0])
        return self._concept_type(wanted)

    def _concept_type(self, name: str) -> str:
        """A type that a bare name can be of: itself, else the fallback."""
        if self.schema.knows_type(name):
            return name if self._needs_nothing(name) else self._concept_type(FALLBACK_TYPE)
        if _TYPE_NAME.fullmatch(name) is None or self.schema.drafts >= MAX_DRAFTS:
            if name == FALLBACK_TYPE:
                raise Refused("the space has no room for further vocabulary")
            return self._concept_type(FALLBACK_TYPE)
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
        self._draft(
            "concept_type",
            name,
            {"description": f"A kind of {words}, as first named in a conversation."},
        )
        return name

    def _needs_nothing(self, name: str) -> bool:
        try:
            definition = self.schema.type(name)
        except KipError:
            return False
        required = any(member.get("required") for member in definition.fields.values())
        return not required and not self.schema.required_fields(definition.lineage)

    def _draft(
        self,
        symbol_kind: Literal["concept_type", "predicate"],
        name: str,
        definition: dict[str, Any],
    ) -> None:
        symbol = DefineSymbol(symbol_kind, name, definition, if_absent=True)
        try:
            self.schema = self.schema.with_draft(symbol)
        except KipError as error:
            raise Refused(error.message) from None
        self.drafts.append(symbol)
