"""Compact records: what a memory packet says of an element (seed 003, "Recall budget contract").

A record keeps the element's id, version and source. Long texts that are no part of what must be
told are left out and named in `recall_detail`, so that who needs them can read the element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pipelines.recall.evidence import passage, speaker_and_words
from pipelines.recall.packing import compact
from storage.clock import to_text
from storage.graph.claims import ClaimView
from storage.graph.symbols import local_name
from storage.search.bm25 import Hit

#: Where a record was read; the others of the contract (`UNCHECKED`) are not read here.
Channel = Literal["primer", "counterparty", "kip", "procedures"]
Priority = Literal["required", "warning", "relevant", "unproven_procedure"]

#: The fixed words for why a budgeted recall has nothing to deliver.
Failure = Literal[
    "recall_output_budget_exhausted",
    "recall_required_read_incomplete",
    "recall_context_budget_exhausted",
    "recall_deadline_reached",
    "recall_model_unavailable",
    "recall_planner_incomplete",
    "recall_procedure_window_incomplete",
]

#: Characters of a value that an optional record tells whole.
_SHORT = 600
#: Characters of a message that is told whole; of a longer one a passage is told.
_MESSAGE = 1000
#: Members of a stored document that say where it is kept, not what it says.
_KEPT_APART = frozenset(
    {
        "id", "kind", "key", "name", "schema_ref", "space_id", "attributes", "_system",
        "governance", "retention", "merged_into", "canonical_id",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """An item of a packet. `apt`: without a planner it counts as an answer's candidate."""

    id: str
    channel: Channel
    priority: Priority
    content: Mapping[str, Any]
    version: int | None = None
    apt: bool = True

    @property
    def required(self) -> bool:
        """Whether the packet cannot be without it."""
        return self.priority in ("required", "warning")

    def entry(self) -> dict[str, Any]:
        """The wire form; it ends with a number or null, as the packer asks."""
        return {
            "id": self.id,
            "channel": self.channel,
            "priority": self.priority,
            "content": self.content,
            "version": self.version,
        }


def warning(reason: str, meaning: str) -> Record:
    """Something that the reader of a packet must know of it; never a provider's own words."""
    content = {"reason": reason, "meaning": meaning}
    return Record(f"warning:{reason}", "primer", "warning", content)


def of_claim(view: ClaimView, version: int | None) -> Record:
    """A claim with what is believed of it; both ends by name."""
    content: dict[str, Any] = {
        "type": "Assertion",
        "subject": view.subject,
        "predicate": view.predicate,
        "object": view.object,
        "stance": view.stance,
        "status": view.belief.status,
        "asserted_by": view.asserted_by,
        "asserted_at": to_text(view.asserted_at),
    }
    valid = view.valid.as_json()
    if valid is not None:
        content["valid_time"] = valid
    if view.confidence is not None:
        content["confidence"] = view.confidence
    content["source"] = list(view.evidence)
    return Record(view.id, "kip", "relevant", content, version)


def of_message(
    hit: Hit, version: int | None, rarity: Mapping[str, float], *, supported: bool
) -> Record:
    """What somebody said: whole, or of a long message the passage that is on topic."""
    speaker, words = speaker_and_words(hit.text)
    content: dict[str, Any] = {"type": "Evidence"}
    if hit.at is not None:
        content["observed_at"] = to_text(hit.at)
    if len(words) <= _MESSAGE:
        content["text"] = words
    else:
        content["excerpt"] = passage(hit.text, rarity)
        content["recall_detail"] = {"omitted": ["payload"], "characters": len(words)}
    content["source"] = [speaker] if speaker else []
    return Record(hit.element_id, "kip", "relevant", content, version, apt=supported)


def of_concept(
    document: Mapping[str, Any],
    *,
    channel: Channel = "kip",
    priority: Priority = "relevant",
    source: Sequence[str] = (),
    people: Mapping[str, Any] | None = None,
    apt: bool = True,
) -> Record:
    """A concept's document. Of a required one every attribute is told, however long.

    `source` are the messages that it was taken from; without any, how it came in is told.
    `people` are members beside the attributes, such as who owes a promise.
    """
    whole = priority in ("required", "warning")
    attributes: dict[str, Any] = {}
    omitted: list[str] = []
    for name, value in sorted((document.get("attributes") or {}).items()):
        if value is None or value == [] or value == {}:
            continue
        if whole or len(compact(value)) <= _SHORT:
            attributes[name] = value
        else:
            omitted.append(f"attributes.{name}")
    omitted += sorted(name for name, value in document.items() if value and name not in _KEPT_APART)
    system = document.get("_system") or {}
    content: dict[str, Any] = {"type": local_name(document.get("schema_ref") or "")}
    if document.get("name"):
        content["name"] = document["name"]
    if attributes:
        content["attributes"] = attributes
    content.update(people or {})
    content["source"] = list(source) or [(system.get("origin") or {}).get("channel") or "unknown"]
    if omitted:
        content["recall_detail"] = {"omitted": omitted}
    return Record(document["id"], channel, priority, content, system.get("version"), apt)


def of_procedure(document: Mapping[str, Any]) -> Record:
    """The check of a procedure as it stands now; it must be told whenever its skill was found.

    Nothing here evaluates skills, so that none is recommended: a stored status grants nothing.
    """
    kind = local_name(document.get("schema_ref") or "")
    stored = (document.get("attributes") or {}).get("status")
    content = {
        "type": kind,
        "ref": document["id"],
        "status": stored,
        "standing": "revoked" if stored == "revoked" else "unproven",
        "recommendation_allowed": False,
    }
    version = (document.get("_system") or {}).get("version")
    return Record(f"check:{document['id']}", "procedures", "warning", content, version)


def is_procedure(document: Mapping[str, Any]) -> bool:
    """Whether a document describes how something is done."""
    return local_name(document.get("schema_ref") or "") in ("Skill", "SkillRevision")
