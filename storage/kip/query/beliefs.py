"""BELIEF and BELIEF SLOT: targets to documents of what is believed, nothing of it stored.

`epistemic` reads what the query says of policy, contexts and time; `project` answers all targets of
a query at once, in a fixed number of statements. A candidate is always judged with its whole slot,
so that a single BELIEF and the BELIEF SLOT of the same basis agree (contract kip-engine section 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from typing import Literal as OneOf

from storage.graph.belief import SlotBelief
from storage.graph.errors import ResourceExhausted
from storage.graph.policies import policies
from storage.graph.schema import PredicateDef
from storage.graph.slots import Facts, Loader, SlotKey, Value
from storage.kip.language.ast_terms import Literal
from storage.kip.query.belief_documents import Writer
from storage.kip.query.belief_options import Epistemic, epistemic
from storage.kip.snapshot import Snapshot

__all__ = ["MAX_TARGETS", "BeliefTarget", "End", "Epistemic", "epistemic", "policies", "project"]

#: Targets that one query may project.
MAX_TARGETS = 20_000

#: One end of a tuple: the id of an element, or a literal.
End = str | Literal


@dataclass(frozen=True, slots=True)
class BeliefTarget:
    """What is to be believed or not; make one with the functions below.

    `predicate` is a name, lineage or exact ref.
    """

    shape: OneOf["proposition", "tuple", "candidates", "slot"]
    proposition: str | None = None
    subject: End | None = None
    predicate: str = ""
    object: End | None = None

    @classmethod
    def of_proposition(cls, proposition: str) -> BeliefTarget:
        """A stored proposition. An id that is no visible proposition gives no row."""
        return cls("proposition", proposition=proposition)

    @classmethod
    def of_tuple(cls, subject: End, predicate: str, object_: End) -> BeliefTarget:
        """A grounded tuple, stored or not: always one row."""
        return cls("tuple", subject=subject, predicate=predicate, object=object_)

    @classmethod
    def of_candidates(cls, subject: End, predicate: str) -> BeliefTarget:
        """A tuple whose object is open: a row for each value that is stored."""
        return cls("candidates", subject=subject, predicate=predicate)

    @classmethod
    def of_slot(cls, subject: End, predicate: str) -> BeliefTarget:
        """A slot: always one row."""
        return cls("slot", subject=subject, predicate=predicate)


@dataclass(slots=True)
class _Slot:
    """The facts of one slot, and the beliefs about its parts, each made once."""

    facts: Facts
    parts: dict[str, SlotBelief] = field(default_factory=dict)

    def of(self, key: str, given: Epistemic) -> SlotBelief:
        """The belief about the part of the slot that a value belongs to."""
        if key not in self.parts:
            keys = self.facts.part(key)
            believed = self.facts.projected(keys, given.question)
            self.parts |= dict.fromkeys(keys, believed)
        return self.parts[key]


def project(
    snapshot: Snapshot, targets: Sequence[BeliefTarget], given: Epistemic
) -> list[dict[str, Any] | list[dict[str, Any]]]:
    """For each target its document; a list of documents for `of_candidates`.

    A `of_proposition` target that is no visible proposition gives an empty list: no row. A
    candidate's document names its value under `object`: `{"id": …}`, or the literal itself.
    Raises `SchemaSymbolNotFound` and `SchemaSymbolAmbiguous` for a predicate, `ResourceExhausted`
    for too many targets.
    """
    if len(targets) > MAX_TARGETS:
        raise ResourceExhausted(f"A query projects at most {MAX_TARGETS} beliefs.")
    loader = Loader(
        snapshot.tx,
        snapshot.scope,
        snapshot.schema,
        snapshot.as_of,
        merges=given.identity_version > 0,
    )
    places = _places(loader, targets)
    slots = _slots(loader, places, given)
    writer = Writer(snapshot, given)
    return [
        _answer(target, place, slots, writer, given)
        for target, place in zip(targets, places, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a target lies: its slot (None for a literal subject), and its value if it names one."""

    predicate: PredicateDef
    slot: SlotKey | None
    value: Value | None = None


def _places(loader: Loader, targets: Sequence[BeliefTarget]) -> list[_Place | None]:
    """The place of each target; None for a proposition that is not there."""
    ids = {t.proposition for t in targets if t.proposition is not None}
    stored = {p.id: p for p in loader.by_id(ids)} if ids else {}
    ends = [end for t in targets for end in (t.subject, t.object) if isinstance(end, str)]
    loader.know(ends)
    predicates = {
        name: loader.predicate(name)
        for name in {
            *(p.lineage for p in stored.values()),
            *(t.predicate for t in targets if t.shape != "proposition"),
        }
    }
    loader.types_of(
        [
            t.object
            for t in targets
            if isinstance(t.object, str) and predicates[t.predicate].functional_by_type
        ]
    )

    def place(target: BeliefTarget) -> _Place | None:
        if target.shape == "proposition":
            found = stored.get(target.proposition or "")
            if found is None:
                return None
            predicate = predicates[found.lineage]
            slot = (loader.identity.of(found.subject), predicate.lineage)
            return _Place(
                predicate,
                slot,
                loader.value(predicate, found.object_id, found.object_lit, found.object_type),
            )
        predicate = predicates[target.predicate]
        named = target.object
        value = None if named is None else _value_of(loader, predicate, named)
        if not isinstance(target.subject, str):
            return _Place(predicate, None, value)
        return _Place(predicate, (loader.identity.of(target.subject), predicate.lineage), value)

    return [place(target) for target in targets]


def _value_of(loader: Loader, predicate: PredicateDef, end: End) -> Value:
    if isinstance(end, str):
        survivor = loader.identity.of(end)
        return loader.value(predicate, survivor, None, loader.types.get(survivor))
    return loader.value(predicate, None, end.value, None)


def _slots(
    loader: Loader, places: Sequence[_Place | None], given: Epistemic
) -> dict[SlotKey, _Slot]:
    """The facts of every slot that is asked about, also of those that hold nothing.

    A value that is asked about and was never stored is a candidate like the others; nothing speaks
    for it, so it changes nothing for them.
    """
    wanted = {place.slot: place.predicate for place in places if place and place.slot}
    stored = loader.of_slots(wanted) if wanted else []
    found = {
        (facts.subject, facts.predicate.lineage): facts
        for facts in loader.facts(stored, given.question, everything=True)
    }
    asked: dict[SlotKey, dict[str, Value]] = {slot: {} for slot in wanted}
    for place in places:
        if place and place.slot and place.value is not None:
            asked[place.slot][place.value.key] = place.value
    slots = {}
    for slot, predicate in wanted.items():
        facts = found.get(slot, Facts(slot[0], predicate))
        slots[slot] = _Slot(replace(facts, values={**asked[slot], **facts.values}))
    return slots


def _answer(
    target: BeliefTarget,
    place: _Place | None,
    slots: Mapping[SlotKey, _Slot],
    writer: Writer,
    given: Epistemic,
) -> dict[str, Any] | list[dict[str, Any]]:
    if place is None:
        return []
    if place.slot is None:
        assert isinstance(target.subject, Literal)
        if place.value is not None:
            return writer.nothing(target.subject.value, place.predicate, place.value)
        if target.shape == "slot":
            return writer.empty_slot(target.subject.value, place.predicate)
        return []
    slot = slots[place.slot]
    if place.value is not None:
        key = place.value.key
        return writer.candidate(slot.facts, slot.of(key, given), key, named=target.proposition)
    keys = [key for key, value in slot.facts.values.items() if value.propositions]
    if target.shape == "slot":
        return writer.slot(slot.facts, {key: slot.of(key, given) for key in keys})
    return [writer.candidate(slot.facts, slot.of(key, given), key) for key in keys]
