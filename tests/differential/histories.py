"""Random short histories of a space, each commit both as a change set and in the model.

Every step changes something, and only what the rules allow: refusals of writes are tested
elsewhere. Names, keys and values come from small pools, so that queries meet them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from storage.clock import to_text
from storage.graph.changes import (
    Change,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateConcept,
    CreateEvidence,
    DefineSymbol,
    EnsureProposition,
    Link,
    MergeConcept,
    Transition,
    UpdateConcept,
    Value,
)
from tests.differential.model import Graph, same

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
TYPES = ("Person", "Place", "Topic", "Organization", "Event", "Insight")
NAMES = ("ann", "bo", "Bo", "cy", "élan", "李", "zed")
TEXTS = ("a", "ab", "b", "B", "")
NUMBERS = (-1, 0, 1, 2, 2.5, 10)
#: predicate, type of the subject, what the object is: a type, "concept", "proposition", or literals
PREDICATES: tuple[tuple[str, str, Any], ...] = (
    ("lives_in", "Person", "Place"),
    ("knows", "Person", "Person"),
    ("member_of", "Person", "Organization"),
    ("interested_in", "Person", "Topic"),
    ("prefers", "Person", "concept"),
    ("same_as", "concept", "concept"),
    ("speaks", "Person", TEXTS),
    ("scored", "concept", NUMBERS),
    ("flagged", "concept", (True, False)),
    ("noted", "concept", "proposition"),
)
#: structural field, type of the source
FIELDS = (("involves", "Event"), ("mentions", "Event"), ("mentions", "Insight"))
DRAFTS = (
    DefineSymbol(
        "predicate",
        "scored",
        {
            "description": "The subject was given this number.",
            "subject": {"kinds": ["Concept"]},
            "object": {"literal_types": ["number"]},
        },
    ),
    DefineSymbol(
        "predicate",
        "flagged",
        {
            "description": "The subject is flagged, or is not.",
            "subject": {"kinds": ["Concept"]},
            "object": {"literal_types": ["boolean"]},
        },
    ),
    DefineSymbol(
        "predicate",
        "noted",
        {
            "description": "The subject took note of a statement.",
            "subject": {"kinds": ["Concept"]},
            "object": {"kinds": ["Proposition"]},
        },
    ),
)


@dataclass
class History:
    """What is committed, and what the space holds before the first commit and after each."""

    commits: list[tuple[Change, ...]] = field(default_factory=list)
    states: list[Graph] = field(default_factory=lambda: [Graph()])
    ids: list[dict[str, str]] = field(default_factory=list)

    def told(self) -> str:
        """The commits, one a line, for a failure's report."""
        return "\n".join(f"{seq + 1}: {one}" for seq, one in enumerate(self.commits))


class _Writer:
    """One commit in the making."""

    def __init__(self, graph: Graph, draw: Callable[..., Any]) -> None:
        self.graph, self.draw = graph, draw
        self.changes: list[Change] = []
        self.ids: dict[str, str] = {}

    def pick(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(list(choices)))

    def handle(self, element: str) -> str:
        handle = f"?h{len(self.ids) + 1}"
        self.ids[handle] = element
        return handle

    def ref(self, element: str) -> str:
        """How a change names an element: by handle if the same commit makes it."""
        return next((handle for handle, made in self.ids.items() if made == element), element)

    def active(self, kind: str, type_name: str | None = None) -> list[str]:
        """Ids of active elements, of a type if it is given."""
        ref = self.graph.schema.type(type_name).ref if type_name else None
        return [
            one["id"]
            for one in self.graph.of_kind(kind)
            if one["_system"]["state"] == "active" and ref in (None, one.get("schema_ref"))
        ]

    # what a commit may do

    def concept(self) -> None:
        type_name = self.pick(TYPES)
        name = self.draw(st.none() | st.sampled_from(NAMES))
        key = f"k{len(self.graph.documents)}" if self.draw(st.booleans()) else None
        attributes = self.draw(ATTRIBUTES)
        if type_name in ("Event", "Insight"):
            attributes = {"summary": self.pick(TEXTS), **attributes}
        facets = self.draw(FACETS)
        links: list[Link] = []
        fields = [name for name, source in FIELDS if source == type_name]
        targets = self.active("concept")
        made = self.graph.add_concept(
            type_name, name=name, key=key, attributes=attributes, facets=facets
        )
        if fields and targets:
            for target in self.draw(st.lists(st.sampled_from(targets), max_size=2, unique=True)):
                link = self.pick(fields)
                links.append(Link(link, self.ref(target)))
                self.graph.link(made["id"], link, target)
        self.changes.append(
            CreateConcept(
                self.handle(made["id"]),
                type_name,
                name=name,
                key=key,
                attributes=attributes,
                facets=facets,
                links=tuple(links),
            )
        )

    def proposition(self) -> str | None:
        predicate, subject_type, object_type = self.pick(PREDICATES)
        subjects = self._ends(subject_type)
        literal = isinstance(object_type, tuple)
        objects = object_type if literal else self._ends(object_type)
        if not subjects or not objects:
            return None
        subject, end = self.pick(subjects), self.pick(objects)
        object_ = end if literal else {"id": end}
        if self.graph.find_proposition(subject, predicate, object_) is not None:
            return None
        made = self.graph.add_proposition(subject, predicate, object_)
        handle = self.handle(made["id"])
        written = Value(end) if literal else self.ref(end)
        self.changes.append(EnsureProposition(handle, self.ref(subject), predicate, written))
        return str(made["id"])

    def _ends(self, what: str) -> list[str]:
        if what == "proposition":
            # ids are given in the order in which statements need one another
            return [one for one in self.active(what) if one not in self.ids.values()]
        if what == "concept":
            return self.active(what)
        return self.active("concept", what)

    def assertion(self) -> None:
        propositions, actors = self.active("proposition"), self.active("concept", "Person")
        if not propositions or not actors:
            return
        evidence = self.draw(
            st.lists(st.sampled_from(self.active("evidence")), max_size=2, unique=True)
            if self.active("evidence")
            else st.just([])
        )
        proposition, actor = self.pick(propositions), self.pick(actors)
        stance, mode = self.pick(("support", "reject")), self.pick(("stated", "observed"))
        confidence = self.draw(st.none() | st.sampled_from((0.25, 0.5, 1)))
        made = self.graph.add_assertion(
            proposition,
            actor,
            stance=stance,
            mode=mode,
            confidence=confidence,
            evidence=evidence,
            asserted_at=to_text(AT),
        )
        self.changes.append(
            CreateAssertion(
                self.handle(made["id"]),
                self.ref(proposition),
                self.ref(actor),
                mode,
                stance,
                confidence,
                AT,
                citations=tuple(Citation(self.ref(one)) for one in evidence),
            )
        )

    def evidence(self) -> None:
        evidence_class, payload = self.pick(("message", "document")), self.pick(TEXTS)
        made = self.graph.add_evidence(evidence_class, payload, media_type="text/plain")
        handle = self.handle(made["id"])
        self.changes.append(
            CreateEvidence(handle, evidence_class, payload, media_type="text/plain")
        )

    def activity(self) -> None:
        status = self.pick(("pending", "running", "completed"))
        targets = self.active("concept")
        inputs = [self.pick(targets)] if targets else []
        made = self.graph.add_activity("reflection", status)
        for one in inputs:
            self.graph.link(made["id"], "inputs", one)
        refs = tuple(self.ref(one) for one in inputs)
        self.changes.append(
            CreateActivity(self.handle(made["id"]), "reflection", status, inputs=refs)
        )

    def update(self) -> None:
        targets = [one for one in self.active("concept") if one not in self.ids.values()]
        if not targets:
            return
        target = self.pick(targets)
        attributes, name = self.draw(ATTRIBUTES), self.draw(st.none() | st.sampled_from(NAMES))
        present = self.graph.documents[target]
        changed = name not in (None, present["name"]) or any(
            attribute not in present["attributes"]
            or not same(present["attributes"][attribute], new)
            for attribute, new in attributes.items()
        )
        if not changed:
            return
        document = self.graph.touch(target)
        document["attributes"] |= attributes
        document["name"] = name or document["name"]
        self.changes.append(UpdateConcept(target, name=name, attributes=attributes))

    def end(self) -> None:
        """Archive, tombstone, or retract something."""
        targets = [
            one["id"]
            for one in self.graph.documents.values()
            if one["_system"]["state"] == "active" and one["id"] not in self.ids.values()
        ]
        if not targets:
            return
        target = self.pick(targets)
        document = self.graph.documents[target]
        retractable = document.get("lifecycle", {}).get("status") == "active"
        if document["kind"] == "assertion" and retractable and self.draw(st.booleans()):
            self.graph.touch(target)["lifecycle"]["status"] = "retracted"
            self.changes.append(Transition(target, "retracted"))
        else:
            state = self.pick(("archived", "tombstoned"))
            self.graph.touch(target)["_system"]["state"] = state
            self.changes.append(Transition(target, state))

    def merge(self) -> None:
        people = [one for one in self.active("concept", "Person") if one not in self.ids.values()]
        if len(people) < 2:
            return
        source, into = self.draw(
            st.lists(st.sampled_from(people), min_size=2, max_size=2, unique=True)
        )
        document = self.graph.touch(source)
        document["_system"]["state"] = "merged"
        document["merged_into"] = into
        self.graph.merged[source] = into
        self.changes.append(MergeConcept(source, into))


ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "n": st.sampled_from(NUMBERS),
        "s": st.sampled_from(TEXTS),
        "b": st.booleans(),
        "none": st.none(),
        "deep": st.fixed_dictionaries({"x": st.sampled_from(NUMBERS)}),
        "tags": st.lists(st.sampled_from(TEXTS), max_size=2),
    },
)
FACETS: st.SearchStrategy[dict[str, dict[str, Any]]] = st.just({}) | st.fixed_dictionaries(
    {"MnemonicState": st.fixed_dictionaries({"salience": st.sampled_from((0, 0.5, 1))})}
)


@st.composite
def histories(draw: Callable[..., Any], *, most: int = 8) -> History:
    """A space of a few commits; the first one defines the drafts."""
    history = History()
    graph = history.states[0].copy()
    for draft in DRAFTS:
        graph.schema = graph.schema.with_draft(draft)
    history.commits.append(DRAFTS)
    history.states.append(graph)
    history.ids.append({})
    first = (*(_Writer.concept,) * 5, *(_Writer.proposition,) * 3, _Writer.assertion)
    steps = st.sampled_from(
        (
            *(_Writer.concept, _Writer.proposition, _Writer.proposition, _Writer.assertion) * 2,
            *(_Writer.evidence, _Writer.activity, _Writer.update, _Writer.end, _Writer.merge),
        )
    )
    for _ in range(draw(st.integers(1, most))):
        writer = _Writer(history.states[-1].copy(), draw)
        some = first if len(history.commits) == 1 else draw(st.lists(steps, min_size=1, max_size=5))
        ended = False
        for step in some:
            # one element is changed once a commit, and nothing refers to what ends in it
            if step in (_Writer.end, _Writer.merge, _Writer.update):
                if ended or writer.changes:
                    continue
                ended = True
            elif ended:
                continue
            step(writer)
        if writer.changes:
            history.commits.append(tuple(writer.changes))
            history.states.append(writer.graph)
            history.ids.append(writer.ids)
    return history
