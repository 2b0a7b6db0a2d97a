"""A space in memory: what it held after each of its commits, as whole documents.

Plain dictionaries and lists, copied whole from one commit to the next; nothing here is fast, and
nothing is shared with the store but the vocabulary (`storage.graph.schema`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from storage.graph.schema import Schema, builtin, lineage_of

#: Letters of ids, and the kind as a document names it.
KINDS = {"C": "concept", "P": "proposition", "A": "assertion", "E": "evidence", "X": "activity"}


@dataclass
class Edge:
    """A structural reference."""

    source: str
    ref: str
    target: str
    index: int | None = None
    role: str | None = None

    @property
    def lineage(self) -> str:
        """The field without its version."""
        return lineage_of(self.ref)


@dataclass
class Graph:
    """Everything that a space holds after one commit."""

    schema: Schema = field(default_factory=builtin)
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    merged: dict[str, str] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)

    def copy(self) -> Graph:
        """The same graph, free to change."""
        return Graph(
            self.schema,
            copy.deepcopy(self.documents),
            copy.deepcopy(self.edges),
            dict(self.merged),
            dict(self.counters),
        )

    def canonical(self, element: str) -> str:
        """The element that this one is merged into, itself if it is not."""
        while element in self.merged:
            element = self.merged[element]
        return element

    def of_kind(self, kind: str) -> Iterator[dict[str, Any]]:
        """The documents of a kind."""
        return (one for one in self.documents.values() if one["kind"] == kind)

    def _new(self, letter: str, **fields: Any) -> dict[str, Any]:
        number = self.counters[letter] = self.counters.get(letter, 0) + 1
        document = {
            "id": f"{letter}-{number}",
            "kind": KINDS[letter],
            **fields,
            "_system": {"version": 1, "state": "active"},
        }
        self.documents[document["id"]] = document
        return document

    def add_concept(
        self,
        type_name: str,
        *,
        name: str | None = None,
        key: str | None = None,
        attributes: dict[str, Any] | None = None,
        facets: dict[str, dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """A new concept."""
        return self._new(
            "C",
            schema_ref=self.schema.type(type_name).ref,
            name=name,
            key=key,
            attributes=dict(attributes or {}),
            facets={self.schema.facet(k).ref: dict(v) for k, v in (facets or {}).items()},
        )

    def find_proposition(self, subject: str, predicate: str, object_: Any) -> str | None:
        """The proposition of a tuple as it would be written now, if there is one."""
        lineage = self.schema.predicate(predicate).lineage
        for one in self.of_kind("proposition"):
            if (
                one["subject"]["id"] == subject
                and lineage_of(one["predicate_ref"]) == lineage
                and same(one["object"], object_)
            ):
                return str(one["id"])
        return None

    def add_proposition(self, subject: str, predicate: str, object_: Any) -> dict[str, Any]:
        """A new proposition; an element as its object is `{"id": …}`."""
        return self._new(
            "P",
            subject={"id": subject},
            predicate_ref=self.schema.predicate(predicate).ref,
            object=object_,
        )

    def add_assertion(
        self,
        proposition: str,
        actor: str,
        *,
        stance: str = "support",
        mode: str = "stated",
        confidence: float | None = None,
        evidence: list[str] | None = None,
        asserted_at: str | None = None,
    ) -> dict[str, Any]:
        """A new, active assertion."""
        made = self._new(
            "A",
            proposition={"id": proposition},
            asserted_by={"id": actor},
            stance=stance,
            mode=mode,
            confidence=confidence,
            asserted_at=asserted_at,
            evidence=[{"id": one, "role": "support"} for one in evidence or ()],
            lifecycle={"status": "active"},
        )
        for one in evidence or ():
            self.edges.append(Edge(made["id"], "evidence", one, role="support"))
        return made

    def add_evidence(self, evidence_class: str, payload: Any, **more: Any) -> dict[str, Any]:
        """A new, active evidence."""
        return self._new(
            "E",
            evidence_class=evidence_class,
            payload={"inline": payload},
            lifecycle={"status": "active"},
            **more,
        )

    def add_activity(self, activity_class: str, status: str) -> dict[str, Any]:
        """A new activity."""
        return self._new("X", activity_class=activity_class, status=status)

    def link(self, source: str, name: str, target: str, index: int | None = None) -> None:
        """A structural reference that its source is created with."""
        self.edges.append(Edge(source, self.schema.structural(name).ref, target, index))

    def touch(self, element: str) -> dict[str, Any]:
        """The document of an element that changes in this commit."""
        document = self.documents[element]
        document["_system"]["version"] += 1
        return document


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are one: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    return bool(left == right)


def frozen(value: Any) -> Any:
    """A JSON value that can be hashed, equal for values that are the same."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return ("array", *map(frozen, value))
    if isinstance(value, dict):
        return ("object", *sorted((k, frozen(v)) for k, v in value.items()))
    return value


def read(document: Any, steps: tuple[str, ...], schema: Schema) -> Any:
    """What a dot path reads; None where there is nothing. Facets go by lineage."""
    at = document
    for place, step in enumerate(steps):
        if not isinstance(at, dict):
            return None
        if place == 1 and steps[0] == "facets":
            lineage = schema.facet(step).lineage
            step = next((ref for ref in at if lineage_of(ref) == lineage), step)
        at = at.get(step)
    return at
