"""Belief out of the store: load whole slots in a fixed number of statements, then project them.

A slot is a subject and a predicate, of one object type where the predicate says so. Candidates are
named by their object key (`storage.graph.state.object_key`), which identifies a value within it.
Merged concepts are one: their propositions are one slot, and equal values one candidate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from storage.database import Scope, Transaction
from storage.graph.belief import Belief, Claim, Question, Shape, SlotBelief, project
from storage.graph.belief_claims import (
    Record,
    StoredProposition,
    in_order,
    propositions,
    records,
)
from storage.graph.belief_dependencies import Validity, dependency_validity
from storage.graph.belief_identity import DISTINCT, Identity, identity_of, identity_version
from storage.graph.belief_roots import Provenance, provenance
from storage.graph.belief_trust import trust_classes
from storage.graph.policies import UNKNOWN, policy_of
from storage.graph.schema import PredicateDef, Schema, environment
from storage.graph.state import object_key
from storage.graph.symbols import SymbolKind

#: A slot by its subject and the lineage of its predicate.
SlotKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Slot:
    """A projected slot. `propositions` maps object keys to the propositions that are stored."""

    subject: str
    predicate: PredicateDef
    belief: SlotBelief
    propositions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Value:
    """A candidate of a slot: an object, and the stored propositions that say it.

    `type` is the lineage of a concept's type. `propositions` begin with the one that names subject
    and object as they are now, if there is one.
    """

    key: str
    id: str | None
    literal: Any
    type: str | None
    predicate_ref: str
    propositions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that bears on one slot: its values, and what is claimed of them.

    `said` has the assertions about each value in order of their ids, `records` all of them by id,
    `claims` those that may count.
    """

    subject: str
    predicate: PredicateDef
    values: Mapping[str, Value] = field(default_factory=dict)
    said: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    records: Mapping[str, Record] = field(default_factory=dict)
    claims: Mapping[str, Claim] = field(default_factory=dict)

    def part(self, key: str) -> Sequence[str]:
        """The values that compete with one, itself among them."""
        if not self.predicate.functional_by_type:
            return list(self.values)
        return [one for one, value in self.values.items() if value.type == self.values[key].type]

    def parts(self) -> list[list[str]]:
        """The values of the slot, those together that compete."""
        if not self.predicate.functional_by_type:
            return [list(self.values)]
        found: dict[str, list[str]] = defaultdict(list)
        for key, value in self.values.items():
            found[value.type or ""].append(key)
        return [found[kind] for kind in sorted(found)]

    def projected(self, keys: Sequence[str], question: Question) -> SlotBelief:
        """What is believed of some values that compete, or do not concern each other."""
        claims = [
            self.claims[record.id]
            for key in keys
            for record in self.said.get(key, ())
            if record.id in self.claims
        ]
        return project(claims, keys, question, self.shape(keys))

    def shape(self, keys: Sequence[str]) -> Shape:
        """How those values bear on each other."""
        declared = self.predicate.definition
        negations = {}
        if declared.get("boolean_completeness"):
            yes, no = object_key(None, True), object_key(None, False)
            negations = {one: other for one, other in ((yes, no), (no, yes)) if one in keys}
        return Shape(
            functional=takes_one(self.predicate),
            overlap_conflicts=self.predicate.temporal_conflict != "none",
            complete=bool(declared.get("complete")),
            negations=negations,
        )


def takes_one(predicate: PredicateDef) -> bool:
    """Whether a slot of that predicate (or a part of one) takes one value at a time."""
    return predicate.functional or predicate.functional_by_type


def beliefs(
    tx: Transaction,
    scope: Scope,
    propositions: Collection[str],
    question: Question,
    *,
    schema: Schema | None = None,
    seq: int | None = None,
) -> dict[str, Belief]:
    """What is believed of each proposition; unknown ids are left out.

    A predicate that takes many values is projected candidate by candidate, so `slot_status` then
    speaks of the one value alone; `slot_of` sees the whole slot.
    """
    if not propositions:
        return {}
    schema = schema or environment(tx, scope)
    loader = Loader(tx, scope, schema, seq)
    question = loader.as_it_is(question)
    targets = loader.by_id(propositions)
    single = {
        (loader.identity.of(p.subject), loader.predicate(p.lineage).lineage)
        for p in targets
        if _needs_rivals(loader.predicate(p.lineage))
    }
    rivals = loader.of_slots(single) if single else []
    stored = {p.id: p for p in (*targets, *rivals)}
    wanted = {p.id for p in targets}
    found: dict[str, Belief] = {}
    for facts in loader.facts(stored.values(), question):
        alone = not _needs_rivals(facts.predicate)
        for part in [[key] for key in facts.values] if alone else facts.parts():
            if not any(p in wanted for key in part for p in facts.values[key].propositions):
                continue
            belief = facts.projected(part, question)
            for key in part:
                for proposition in facts.values[key].propositions:
                    if proposition in wanted:
                        found[proposition] = belief.candidates[key]
    return found


def slot_of(
    tx: Transaction,
    scope: Scope,
    subject: str,
    predicate: str,
    question: Question,
    *,
    object_id: str | None = None,
    literal: Any = None,
    object_type: str | None = None,
    schema: Schema | None = None,
    seq: int | None = None,
) -> Slot:
    """The whole slot of a subject and a predicate.

    With `object_id` or `literal`, that value is a candidate even when it was never stored, and the
    slot is that of its type where the predicate divides it by type; `object_type` (a lineage)
    chooses the part without naming a value. Raises `SchemaSymbolNotFound`.
    """
    schema = schema or environment(tx, scope)
    loader = Loader(tx, scope, schema, seq)
    definition = loader.predicate(predicate)
    loader.know([subject, object_id])
    question = loader.as_it_is(question)
    key = (loader.identity.of(subject), definition.lineage)
    stored = loader.of_slots({key})
    facts = next(iter(loader.facts(stored, question)), Facts(key[0], definition))
    if object_id is not None or literal is not None:
        if object_id is not None:
            loader.types_of([object_id])
            object_type = loader.types.get(loader.identity.of(object_id))
        asked = loader.value(definition, object_id, literal, object_type)
        facts = replace(facts, values={asked.key: asked} | dict(facts.values))
        keys = facts.part(asked.key)
    elif definition.functional_by_type and object_type is not None:
        keys = [key for key, value in facts.values.items() if value.type == object_type]
    else:
        keys = list(facts.values)
    belief = facts.projected(keys, question)
    return Slot(
        subject,
        definition,
        belief,
        {key: facts.values[key].propositions[0] for key in keys if facts.values[key].propositions},
    )


def _needs_rivals(predicate: PredicateDef) -> bool:
    return takes_one(predicate) or bool(predicate.definition.get("boolean_completeness"))


class Loader:
    """Reads what bears on slots, at present or at `seq`, each kind of thing in one statement.

    `merges` says whether anything was merged (`identity_version`); without, nothing is looked up.
    """

    def __init__(
        self,
        tx: Transaction,
        scope: Scope,
        schema: Schema,
        seq: int | None,
        *,
        merges: bool | None = None,
    ) -> None:
        self.tx, self.scope, self.schema, self.seq = tx, scope, schema, seq
        self.identity: Identity = DISTINCT
        self.merges = bool(identity_version(tx, scope, seq)) if merges is None else merges
        self.types: dict[str, str | None] = {}
        self._promoted = {(one.kind, one.from_lineage): one.to_lineage for one in schema.maps}

    def predicate(self, symbol: str) -> PredicateDef:
        """The predicate of that name, lineage or ref: of one that was promoted, what it came to."""
        found = self.schema.predicate(symbol)
        return self.schema.predicate(self._came_to("predicate", found.lineage))

    def _came_to(self, kind: SymbolKind, lineage: str) -> str:
        seen: set[str] = set()
        while (later := self._promoted.get((kind, lineage))) is not None and lineage not in seen:
            seen.add(lineage)
            lineage = later
        return lineage

    def _type(self, lineage: str | None) -> str | None:
        return None if lineage is None else self._came_to("concept_type", lineage)

    def know(self, elements: Iterable[str | None]) -> None:
        """Learn what elements are the same as."""
        if self.merges:
            wanted = {one for one in elements if one is not None}
            found = identity_of(self.tx, self.scope, wanted, self.seq)
            if found.survivors:
                self.identity = Identity({**self.identity.survivors, **found.survivors})

    def as_it_is(self, question: Question) -> Question:
        """The question with its contexts as what they are merged into."""
        if not (self.merges and question.contexts):
            return question
        self.know(question.contexts)
        return replace(question, contexts=self.identity.all_of(question.contexts))

    def by_id(self, ids: Collection[str]) -> list[StoredProposition]:
        """Propositions by id; unknown and deleted ones are left out."""
        found = propositions(self.tx, self.scope, self.seq, ids=sorted(ids))
        self.know(one for p in found for one in (p.subject, p.object_id))
        return found

    def of_slots(self, slots: Collection[SlotKey]) -> list[StoredProposition]:
        """All propositions of some slots, whose subjects are known."""
        members = self.identity.members([subject for subject, _ in slots])
        wanted = sorted(
            (member, lineage)
            for subject, predicate in slots
            for member in members[self.identity.of(subject)]
            for lineage in self.schema.lineages("predicate", predicate)
        )
        found = propositions(self.tx, self.scope, self.seq, slots=wanted)
        self.know(p.object_id for p in found)
        return found

    def value(
        self, predicate: PredicateDef, object_id: str | None, literal: Any, type_: str | None
    ) -> Value:
        """A value that may never have been stored; `type_` is the lineage of its type."""
        survivor = None if object_id is None else self.identity.of(object_id)
        return Value(
            object_key(survivor, literal), survivor, literal, self._type(type_), predicate.ref
        )

    def types_of(self, elements: Collection[str]) -> None:
        """Look the types of elements up, all at once."""
        unknown = sorted({self.identity.of(one) for one in elements} - set(self.types))
        if not unknown:
            return
        self.types |= dict.fromkeys(unknown)
        rows = self.tx.execute(
            "select e.id, e.type_lineage from unnest(%s::text[]) as w(id)"
            " join lateral (select id, type_lineage from element e"
            " where e.space_id = %s and e.id = w.id limit 1) e on true",
            (unknown, self.scope.space_id),
        )
        self.types |= {element: self._type(lineage) for element, lineage in rows}

    def facts(
        self, stored: Iterable[StoredProposition], question: Question, *, everything: bool = False
    ) -> list[Facts]:
        """What bears on the slots of some propositions, by slot.

        `everything` also loads the assertions that no longer count.
        """
        groups: dict[SlotKey, list[StoredProposition]] = defaultdict(list)
        for p in stored:
            groups[self.identity.of(p.subject), self.predicate(p.lineage).lineage].append(p)
        parts = {
            slot: self._values(slot[0], self.predicate(slot[1]), members)
            for slot, members in groups.items()
        }
        every = [p.id for members in groups.values() for p in members]
        about: dict[str, list[Record]] = defaultdict(list)
        for record in records(self.tx, self.scope, every, self.seq, everything=everything):
            about[record.proposition].append(record)
        self.know(
            one
            for said in about.values()
            for record in said
            for one in (record.actor, *record.contexts)
        )
        sources = self._sources(
            [r for said in about.values() for r in said if not r.void], question
        )
        found = []
        for (subject, lineage), values in parts.items():
            said = {
                key: sorted(
                    (record for p in value.propositions for record in about[p]),
                    key=lambda record: in_order(record.id),
                )
                for key, value in values.items()
            }
            claims = {
                record.id: self._claim(record, key, subject, sources)
                for key, about_it in said.items()
                for record in about_it
                if not record.void
            }
            all_said = {record.id: record for about_it in said.values() for record in about_it}
            found.append(Facts(subject, self.predicate(lineage), values, said, all_said, claims))
        return found

    def _values(
        self, subject: str, predicate: PredicateDef, members: Sequence[StoredProposition]
    ) -> dict[str, Value]:
        """The values that propositions of one slot name."""
        by_key: dict[str, list[StoredProposition]] = defaultdict(list)
        for p in members:
            key = p.object_key
            if p.object_id is not None:
                key = object_key(self.identity.of(p.object_id), None)
            by_key[key].append(p)

        def as_it_is(p: StoredProposition) -> tuple[bool, int, str]:
            merged = p.subject != subject or (
                p.object_id is not None and self.identity.of(p.object_id) != p.object_id
            )
            return merged, len(p.id), p.id

        values = {}
        for key in sorted(by_key):
            first, *_ = ordered = sorted(by_key[key], key=as_it_is)
            values[key] = Value(
                key,
                None if first.object_id is None else self.identity.of(first.object_id),
                first.object_lit,
                self._type(first.object_type),
                first.predicate_ref,
                tuple(p.id for p in ordered),
            )
        return values

    def _sources(self, counting: Sequence[Record], question: Question) -> _Sources:
        """What the assertions that may count rest on."""
        inferred = [record.id for record in counting if record.mode == "inferred"]
        validity = dependency_validity(self.tx, self.scope, inferred, self.seq) if inferred else {}
        policy = policy_of(question.policy)
        trust: Mapping[str, str] = {}
        if policy.uses_trust:
            actors = {self.identity.of(record.actor) for record in counting}
            trust = trust_classes(self.tx, self.scope, actors, policy.id, self.seq)
        cited = {one for record in counting for one in (record.evidence or (record.id,))}
        return _Sources(provenance(self.tx, self.scope, cited, self.seq), validity, trust)

    def _claim(self, record: Record, key: str, subject: str, sources: _Sources) -> Claim:
        actor = self.identity.of(record.actor)
        roots, weak = _roots(record, actor, sources.provenance)
        stands = sources.validity.get(record.id, "current")
        return Claim(
            id=record.id,
            proposition=key,
            actor=actor,
            stance=record.stance,
            mode=record.mode,
            bounds=record.bounds,
            contexts=self.identity.all_of(record.contexts) if record.contexts else _NOWHERE,
            own=actor == subject,
            weak=weak if stands == "current" else f"dependency_{stands}",
            roots=roots,
            trust=sources.trust.get(actor, UNKNOWN),
        )


_NOWHERE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Sources:
    """Where claims come from, whether inferences still stand, and how far actors are trusted."""

    provenance: Provenance
    validity: Mapping[str, Validity]
    trust: Mapping[str, str]


def _roots(record: Record, actor: str, known: Provenance) -> tuple[frozenset[str], str]:
    """The independent sources behind a claim, and why they do not bear it, if they do not."""
    if not record.evidence and record.id not in known.derived:
        return frozenset({f"testimony:{actor}"}), ""
    roots = known.roots(record.evidence or (record.id,))
    if not record.evidence and roots <= {record.id}:
        roots = frozenset({f"testimony:{actor}"})
    if not roots:
        return roots, "circular_provenance"
    corrected = bool(record.evidence) and known.corrected.issuperset(record.evidence)
    return roots, "evidence_corrected" if corrected else ""
