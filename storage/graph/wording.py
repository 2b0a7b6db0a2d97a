"""The words by which elements are found, for those whose writer gave none of its own.

A text holds what a person would look for: names and values, never ids. It is made when an element
is written and keeps the names of then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.clock import parse_text
from storage.errors import InvalidInput

#: The times of a concept that say when it took place, best first.
_TIMES = ("started_at", "created_at")
#: What messages label their parts with.
_LABELS = frozenset({"type", "role", "media_type"})


@dataclass(frozen=True, slots=True)
class Wording:
    """How a writer wants an element to be found.

    `text` is searched word by word and quoted to people; `embed_text` is what an embedder reads
    (None: the same). `at` is when it was said or took place, if that is known.
    """

    text: str
    embed_text: str | None = None
    at: datetime | None = None


def of_concept(name: str | None, key: str | None, doc: Mapping[str, Any]) -> str:
    """Name, aliases, key and every string among the attributes, one a line."""
    return _joined(name, *doc.get("aliases", ()), key, *strings(doc.get("attributes")))


def of_statement(subject: str, predicate: str, value: str, *, rejected: bool = False) -> str:
    """A proposition in words, or the claim that it does not hold."""
    words = predicate.rpartition("/")[2].replace("_", " ")
    return f"{subject} {'not ' if rejected else ''}{words} {value}"


def of_evidence(payload: Any) -> str:
    """Every string of a payload that is content and no label of a message's parts, one a line."""
    return _joined(*strings(payload, without=_LABELS))


def of_activity(activity_class: str, doc: Mapping[str, Any]) -> str:
    """The class of an activity and what its facets say."""
    return _joined(activity_class.replace("_", " "), *strings(doc.get("facets")))


def of_literal(value: Any) -> str:
    """A literal object as it is written."""
    match value:
        case str():
            return value
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def happened_at(doc: Mapping[str, Any]) -> datetime | None:
    """When a concept took place or was made, by its own attributes."""
    attributes = doc.get("attributes", {})
    for name in _TIMES:
        if isinstance(given := attributes.get(name), str):
            try:
                return parse_text(given)
            except InvalidInput:
                continue
    return None


def strings(value: Any, without: frozenset[str] = frozenset()) -> Iterator[str]:
    """The strings in a JSON value, in order, but not those of members named in `without`."""
    match value:
        case str():
            yield value
        case Mapping():
            for name, member in value.items():
                if name not in without:
                    yield from strings(member, without)
        case list() | tuple():
            for item in value:
                yield from strings(item, without)


def _joined(*texts: str | None) -> str:
    return "\n".join(text for text in texts if text and text.strip())
