"""From a proposal to a change set: what the host makes of what an encoder found.

The encoder names words; here they become people, concepts, propositions and assertions, each citing
the message that it was taken from, with that message's time (seed 003 section 1). What the schema
cannot carry is left out with a warning, never bent. Everything can be written again: evidence is
recognised by its digest, a claim by its evidence, commitments and constraints by a key out of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from pipelines.formation import likings
from pipelines.formation.capture import SPEAKING, Captured
from pipelines.formation.moments import interval
from pipelines.formation.proposal import (
    ChangeKind,
    Claim,
    ClaimRef,
    Commitment,
    Constraint,
    KnownClaim,
    Proposal,
    Retraction,
)
from pipelines.formation.reading import Reading
from pipelines.formation.reviews import schema_review
from pipelines.formation.vocabulary import Refused, Vocabulary
from storage.canonical import digest
from storage.clock import to_text
from storage.graph.changes import (
    Change,
    ChangeSet,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateEvidence,
    EnsureProposition,
    Link,
    Ref,
    Transition,
    UpdateConcept,
    UpsertConcept,
    Value,
)
from storage.graph.keys import concept_key, folded, person_key
from storage.graph.validity import UNSTATED, Bound, ValidTime
from storage.graph.wording import Wording

#: Predicates with many values of which a new one, told as a change, ends the one before.
_ONE_AFTER_ANOTHER = frozenset(
    {"works_for", "works_as", "reports_to", "studies_at", "follows_diet"}
)
#: Characters of a name that a concept keeps.
_NAME = 500


@dataclass(frozen=True, slots=True)
class Source:
    """Where a formation comes from: its record, its encoder, and when the run began and ended.

    `change` is the kind of revision that it writes. With `bare`, a conversation in which nothing
    was found leaves its messages alone.
    """

    conversation: int
    topic: str | None
    encoder: str
    model: str | None
    started_at: datetime
    ended_at: datetime
    change: ChangeKind | None = None
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """A change set and what to do once it is committed.

    `evidence` and `formed` are what decides the disposition.
    """

    changes: ChangeSet
    evidence: tuple[Ref, ...]
    formed: tuple[Ref, ...]
    event: Ref | None
    warnings: tuple[str, ...]


def evidence_only(captured: Sequence[Captured]) -> Written:
    """Store the messages and interpret nothing."""
    return _Writer(captured, None, None).written(None)


def reference(captured: Captured, about: Mapping[str, Any]) -> Written:
    """Record that an existing evidence was handed over for something, without its words again.

    `about` is what it was handed over for; the same for the same is one record.
    """
    assert captured.evidence is not None
    change = CreateEvidence(
        _fresh(0),
        captured.evidence_class,
        None,
        content_ref=captured.evidence,
        content_digest=digest({"evidence": captured.evidence, "about": dict(about)}),
        observed_at=captured.utterance.at,
        links=(Link("source", captured.evidence),),
        once=True,
    )
    return Written(ChangeSet((change,)), (_fresh(0),), (), None, ())


def write(
    captured: Sequence[Captured], proposal: Proposal, reading: Reading, source: Source
) -> Written:
    """Store the messages and what the encoder found in them."""
    return _Writer(captured, reading, source).written(proposal)


@dataclass(slots=True)
class _Writer:
    captured: Sequence[Captured]
    reading: Reading | None
    source: Source | None
    changes: list[Change] = field(default_factory=list)
    concepts: dict[tuple[str, str], Ref] = field(default_factory=dict)
    products: dict[int, list[Ref]] = field(default_factory=lambda: defaultdict(list))
    ended: dict[Ref, Transition] = field(default_factory=dict)
    wording: dict[Ref, Wording] = field(default_factory=dict)
    withdrawn: list[Ref] = field(default_factory=list)
    revised: list[tuple[Ref, Ref, int]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: the predicates under which claims of the proposal are kept, by position
    kept_as: dict[int, str] = field(default_factory=dict)
    #: what the proposal itself denies: predicate and object
    denied: set[tuple[str, str]] = field(default_factory=set)

    def written(self, proposal: Proposal | None) -> Written:
        self._capture()
        event = None
        drafts: list[Change] = []
        if proposal is not None and self.reading is not None and self.source is not None:
            vocabulary = Vocabulary(self.reading.schema)
            made = self._claims(proposal, vocabulary)
            for retraction in proposal.retractions:
                self._attempt("retraction", self._retract, retraction, made)
            for commitment in proposal.commitments:
                self._attempt("commitment", self._commitment, commitment)
            for constraint in proposal.constraints:
                self._attempt("constraint", self._constraint, constraint)
            self._extraction(self.source)
            if self._tells(self.source):
                event = self._event(proposal)
            self._provenance(self.source, event)
            self.changes += self.ended.values()
            drafts += vocabulary.drafts
            drafts += [
                schema_review(symbol, f"?r{index}", self.source.ended_at)
                for index, symbol in enumerate(vocabulary.drafts)
            ]
            self.warnings += proposal.warnings
        formed = [ref for refs in self.products.values() for ref in refs]
        return Written(
            ChangeSet((*drafts, *self.changes), self.wording),
            tuple(_fresh(i) for i, c in enumerate(self.captured) if c.evidence is None),
            (*dict.fromkeys([*formed, *self.ended, *self.withdrawn]),),
            event,
            tuple(self.warnings),
        )

    @property
    def _revision(self) -> ChangeKind | None:
        return None if self.source is None else self.source.change

    def _tells(self, source: Source) -> bool:
        """Whether the conversation itself is worth an event.

        A repair tells of none, and a source that is handed over again was told of the first time.
        """
        if not source.bare:
            return True
        found = self.products or self.ended or self.withdrawn
        return source.change != "misrecorded" and bool(found) and not self._told_before()

    def _told_before(self) -> bool:
        known = frozenset[str]() if self.reading is None else self.reading.interpreted
        return all(message.digest in known for message in self.captured)

    # --- messages and people ------------------------------------------------------------------

    def _capture(self) -> None:
        previous = ""
        for index, message in enumerate(self.captured):
            if message.evidence is not None:
                continue
            spoken = message.utterance
            turn = f"{spoken.speaker}: {spoken.text}"
            links: tuple[Link, ...] = ()
            if message.role in SPEAKING:
                links = (Link("source", self._person(spoken.speaker)),)
            self.changes.append(
                CreateEvidence(
                    _fresh(index),
                    message.evidence_class,
                    message.payload,
                    content_digest=message.digest,
                    media_type="application/json",
                    observed_at=spoken.at,
                    links=links,
                    once=True,
                )
            )
            embedded = f"{previous}\n{turn}" if previous else turn
            self.wording[_fresh(index)] = Wording(turn, embedded, spoken.at)
            previous = turn

    def _person(self, name: str) -> Ref:
        return self._concept("Person", name)

    def _concept(self, type_name: str, name: str) -> Ref:
        """The concept of that type and name, mentioned once however often it is said."""
        key = concept_key(type_name, name)
        handle = self.concepts.get((type_name, key))
        if handle is None:
            handle = self.concepts[type_name, key] = f"?c{len(self.concepts)}"
            self.changes.append(
                UpsertConcept(
                    handle, type=type_name, key=key, initial_name=" ".join(name.split())[:_NAME]
                )
            )
        return handle

    # --- claims -------------------------------------------------------------------------------

    def _claims(self, proposal: Proposal, vocabulary: Vocabulary) -> dict[int, Claim]:
        """Write what can be written; returns those claims by their position."""
        made: dict[int, Claim] = {}
        self.denied = {
            (claim.predicate, folded(claim.object))
            for claim in proposal.claims
            if claim.stance == "reject"
        }
        for index, claim in enumerate(proposal.claims):
            before = vocabulary.mark()
            try:
                self._claim(index, claim, vocabulary, made)
            except Refused as refusal:
                vocabulary.reset(before)
                self.warnings.append(f"claim {index} is left out: {refusal}")
            else:
                made[index] = claim
        return made

    def _claim(
        self, index: int, claim: Claim, vocabulary: Vocabulary, made: Mapping[int, Claim]
    ) -> None:
        said_at = self._message(claim.message).utterance.at
        _require_words(claim.subject, claim.object, claim.asserted_by)
        stored = self.kept_as[index] = self._stored(claim, made)
        predicate = vocabulary.predicate(stored, literal=claim.object_type == "string")
        subject_type = vocabulary.subject_type(predicate, claim.subject_type)
        object_type = vocabulary.object_type(predicate, claim.object_type)
        valid = interval(claim.valid_from, claim.valid_until, said_at)
        if valid is None:
            self.warnings.append(f"claim {index} has no usable time; it is kept without one")
            valid = UNSTATED
        if self._revision == "world_change" and valid.start is None:
            # some time before it was told; the instant of the change is not made up
            valid = ValidTime(Bound(latest=said_at), valid.until)
        handle, proposition = f"?a{index}", f"?p{index}"
        self.changes.append(
            EnsureProposition(
                proposition,
                self._concept(subject_type, claim.subject),
                predicate.lineage,
                Value(claim.object.strip())
                if object_type is None
                else self._concept(object_type, claim.object),
            )
        )
        corrected = self._corrected(claim, made) if claim.change == "correction" else None
        self.changes.append(
            CreateAssertion(
                handle,
                proposition,
                self._person(claim.asserted_by),
                "stated",
                claim.stance,
                confidence=min(1.0, max(0.0, claim.confidence)),
                asserted_at=said_at,
                valid=valid,
                interval_of=corrected[0] if corrected and valid == UNSTATED else None,
                citations=(Citation(self._evidence(claim.message)),),
                once=True,
            )
        )
        if corrected is not None:
            self._replace(*corrected, handle, claim)
        self.products[claim.message].append(handle)
        told = replace(claim, predicate=stored)
        self.wording[handle] = Wording(_sentence(told), at=said_at)
        self._end_former(index, claim, valid, vocabulary, made)

    def _stored(self, claim: Claim, made: Mapping[int, Claim]) -> str:
        """The predicate that a claim is kept under: that of what it corrects, ends or repeats.

        Else its own, save for what is merely liked beside another of its kind (`likings`).
        """
        if claim.predicate != likings.PREFERS or self.reading is None:
            return claim.predicate
        found = None if claim.revises is None else self._referred(claim.revises, made)
        if found is not None and (claim.change == "correction" or claim.stance == "reject"):
            was = found[1]
            if isinstance(was, KnownClaim):
                return was.stored or was.predicate
            return self.kept_as[claim.revises.index or 0] if claim.revises else claim.predicate
        others: list[tuple[Claim | KnownClaim, str]] = [
            (known, known.stored or known.predicate)
            for known in self.reading.background.claims
            if _of_one(claim, known)
        ]
        others += [
            (made[number], kept)
            for number, kept in self.kept_as.items()
            if number in made and _of_one(claim, made[number])
        ]
        for other, kept in others:
            if folded(other.object) == folded(claim.object):
                return kept
        text = self._message(claim.message).utterance.text
        beside = any(
            kept == likings.PREFERS
            and other.stance == "support"
            and other.object_type == claim.object_type
            for other, kept in others
        )
        liked = claim.stance == "support" and claim.change is None
        if beside and liked and likings.merely_liked(text, claim.object):
            return likings.LIKES
        return claim.predicate

    def _end_former(
        self,
        index: int,
        claim: Claim,
        valid: ValidTime,
        vocabulary: Vocabulary,
        made: Mapping[int, Claim],
    ) -> None:
        """Deny from the change on what a new value takes the place of: "my new boss is Sofia".

        Where a predicate takes one value at a time, the new value ends the old by itself. A
        revision of the Memory Interface writes what it was asked to and no more.
        """
        if (
            self._revision is not None
            or claim.change != "world_change"
            or claim.stance != "support"
            or claim.predicate not in _ONE_AFTER_ANOTHER
        ):
            return
        found = self._corrected(claim, made)
        if found is None or found[1].stance != "support":
            return
        former = found[1]
        if (former.predicate, folded(former.object)) in self.denied:
            return
        said_at = self._message(claim.message).utterance.at
        predicate = vocabulary.predicate(former.predicate, literal=former.object_type == "string")
        object_type = vocabulary.object_type(predicate, former.object_type)
        proposition, handle = f"?fp{index}", f"?fa{index}"
        self.changes.append(
            EnsureProposition(
                proposition,
                self._concept(
                    vocabulary.subject_type(predicate, claim.subject_type), former.subject
                ),
                predicate.lineage,
                Value(former.object.strip())
                if object_type is None
                else self._concept(object_type, former.object),
            )
        )
        self.changes.append(
            CreateAssertion(
                handle,
                proposition,
                self._person(claim.asserted_by),
                "stated",
                "reject",
                confidence=min(1.0, max(0.0, claim.confidence)),
                asserted_at=said_at,
                valid=ValidTime(valid.start or Bound(latest=said_at)),
                citations=(Citation(self._evidence(claim.message)),),
                once=True,
            )
        )
        self.products[claim.message].append(handle)
        denied = replace(
            claim, object=former.object, object_type=former.object_type, stance="reject"
        )
        self.wording[handle] = Wording(_sentence(denied), at=said_at)

    def _corrected(
        self, claim: Claim, made: Mapping[int, Claim]
    ) -> tuple[Ref, Claim | KnownClaim] | None:
        """The claim that this one replaces, when it is its speaker's own."""
        found = None if claim.revises is None else self._referred(claim.revises, made)
        if found is None or folded(found[1].asserted_by) != folded(claim.asserted_by):
            return None
        return found

    def _referred(
        self, ref: ClaimRef, made: Mapping[int, Claim]
    ) -> tuple[Ref, Claim | KnownClaim] | None:
        if ref.index is not None and ref.index in made:
            return f"?a{ref.index}", made[ref.index]
        if ref.known is not None and self.reading is not None:
            for known in self.reading.background.claims:
                if known.id == ref.known:
                    return known.id, known
        return None

    def _replace(self, old: Ref, was: Claim | KnownClaim, new: Ref, claim: Claim) -> None:
        """Supersede within the slot; a claim about something else is only taken back."""
        same_slot = (folded(was.subject), was.predicate) == (
            folded(claim.subject),
            claim.predicate,
        )
        if same_slot:
            self.ended[old] = Transition(old, "superseded", by=new)
            if self._revision == "correction" and self.source is not None:
                self.revised.append((old, new, claim.message))
        else:
            self.ended[old] = Transition(old, "retracted")

    def _retract(self, retraction: Retraction, made: Mapping[int, Claim]) -> None:
        found = self._referred(retraction.claim, made)
        speaker = self._message(retraction.message).utterance.speaker
        if found is None or folded(found[1].asserted_by) != folded(speaker):
            raise Refused("it takes back no claim of its speaker")
        self.ended.setdefault(found[0], Transition(found[0], "retracted"))

    def _attempt(self, what: str, step: Callable[..., None], *arguments: Any) -> None:
        """Take a step, or note why it is left out."""
        try:
            step(*arguments)
        except Refused as refusal:
            self.warnings.append(f"a {what} is left out: {refusal}")

    # --- commitments and constraints ----------------------------------------------------------

    def _commitment(self, commitment: Commitment) -> None:
        _require_words(commitment.summary, commitment.by, commitment.owed_to or "-")
        message = self._message(commitment.message)
        said_at = message.utterance.at
        changed: dict[str, Any] = {"status": commitment.status}
        if commitment.due is not None:
            changed["due_at"] = to_text(commitment.due)
        if commitment.status == "fulfilled":
            changed["completed_at"] = to_text(said_at)
        if commitment.revises is not None:
            self._revise(commitment, changed)
            return
        by = self._person(commitment.by)
        key = self._key("commitment", message, person_key(commitment.by), commitment.summary)
        links = [Link("committed_to", by)]
        if commitment.owed_to is not None:
            links.append(Link("owed_to", self._person(commitment.owed_to)))
        initial = {
            "summary": commitment.summary,
            "created_at": to_text(said_at),
            **changed,
        }
        assert self.reading is not None
        if key in self.reading.settled:
            # what other messages made of it since is newer than this one
            changed = {k: v for k, v in changed.items() if commitment.status != "pending"}
        handle = f"?k{len(self.changes)}"
        self.changes.append(
            UpsertConcept(
                handle,
                type="Commitment",
                key=key,
                initial_attributes=initial,
                attributes=changed,
                links=tuple(links),
            )
        )
        self.products[commitment.message].append(handle)
        self._describe_commitment(handle, commitment, said_at)

    def _revise(self, commitment: Commitment, changed: dict[str, Any]) -> None:
        """Move on a commitment that memory holds, unless the message was heard before."""
        assert self.reading is not None
        message = self._message(commitment.message)
        known = {c.id for c in self.reading.background.commitments}
        if message.digest in self.reading.interpreted or commitment.revises not in known:
            return
        assert commitment.revises is not None
        self.changes.append(UpdateConcept(commitment.revises, attributes=changed))
        self.products[commitment.message].append(commitment.revises)
        self._describe_commitment(commitment.revises, commitment, message.utterance.at)

    def _describe_commitment(self, ref: Ref, commitment: Commitment, at: datetime) -> None:
        text = f"{commitment.by}: {commitment.summary}"
        if commitment.due is not None:
            text += f" ({to_text(commitment.due)[:10]})"
        self.wording[ref] = Wording(text, at=at)

    def _constraint(self, constraint: Constraint) -> None:
        assert self.reading is not None
        if constraint.withdraws is not None:
            if constraint.withdraws in {c.id for c in self.reading.background.constraints}:
                self.changes.append(Transition(constraint.withdraws, "archived"))
                self.withdrawn.append(constraint.withdraws)
            return
        _require_words(constraint.text, constraint.by)
        message = self._message(constraint.message)
        handle = f"?i{len(self.changes)}"
        self.changes.append(
            UpsertConcept(
                handle,
                type="Insight",
                key=self._key("constraint", message, constraint.text),
                initial_attributes={
                    "summary": constraint.text,
                    "insight_class": "constraint",
                    "scope": "standing",
                    "created_at": to_text(message.utterance.at),
                },
                links=(Link("about", self._person(constraint.by)),),
            )
        )
        self.products[constraint.message].append(handle)
        self.wording[handle] = Wording(
            f"{constraint.by}: {constraint.text}", at=message.utterance.at
        )

    def _key(
        self, what: Literal["commitment", "constraint"], message: Captured, *words: str
    ) -> str:
        """A key out of the message and what was understood, so that it is found when sent again."""
        return f"{what}:{digest([message.digest, *map(folded, words)])}"

    # --- the conversation itself --------------------------------------------------------------

    def _event(self, proposal: Proposal) -> Ref:
        assert self.source is not None
        times = [c.utterance.at for c in self.captured]
        summary = proposal.summary.replace("\x00", "").strip() or self._plain_summary()
        attributes = {
            "summary": summary,
            "event_class": "conversation",
            "started_at": to_text(min(times)),
            "ended_at": to_text(max(times)),
        }
        if self.source.topic:
            attributes["context_summary"] = self.source.topic
        speakers = dict.fromkeys(c.utterance.speaker for c in self.captured if c.role in SPEAKING)
        self.changes.append(
            UpsertConcept(
                "?event",
                type="Event",
                key=f"conversation:{self.source.conversation}",
                initial_attributes=attributes,
                links=tuple(
                    Link("involves", person)
                    for person in dict.fromkeys(self._person(name) for name in speakers)
                ),
            )
        )
        self.wording["?event"] = Wording(summary, at=min(times))
        return "?event"

    def _plain_summary(self) -> str:
        names = dict.fromkeys(c.utterance.speaker for c in self.captured)
        return f"{len(self.captured)} messages of {', '.join(names)}."[:_NAME]

    def _provenance(self, source: Source, event: Ref | None) -> None:
        """Record which claim a message put in the place of which, and what told of it all."""
        for number, (old, new, index) in enumerate(self.revised):
            self.changes.append(
                CreateActivity(
                    f"?b{number}",
                    "belief_revision",
                    "completed",
                    source.started_at,
                    source.ended_at,
                    inputs=(self._evidence(index),),
                    outputs=(new, old),
                    parameters_digest=_parameters(source),
                    only_with_effect=True,
                )
            )
        if event is None:
            return
        self.changes.append(
            CreateActivity(
                "?xs",
                "summarization",
                "completed",
                source.started_at,
                source.ended_at,
                inputs=tuple(self._evidence(index) for index in range(len(self.captured))),
                outputs=(event,),
                parameters_digest=_parameters(source),
                only_with_effect=True,
            )
        )

    def _extraction(self, source: Source) -> None:
        """Record which message made what, so that it can be shown, and forgotten with it."""
        for index, outputs in sorted(self.products.items()):
            self.changes.append(
                CreateActivity(
                    f"?x{index}",
                    "extraction",
                    "completed",
                    source.started_at,
                    source.ended_at,
                    inputs=(self._evidence(index),),
                    outputs=tuple(dict.fromkeys(outputs)),
                    parameters_digest=_parameters(source),
                    only_with_effect=True,
                )
            )

    def _evidence(self, index: int) -> Ref:
        """The evidence that a message has become, or has been all along."""
        return self.captured[index].evidence or _fresh(index)

    def _message(self, index: int) -> Captured:
        if not 0 <= index < len(self.captured):
            raise Refused("it cites no message of this conversation")
        return self.captured[index]


def _of_one(claim: Claim, other: Claim | KnownClaim) -> bool:
    """Whether two claims are of one subject in one respect."""
    return (folded(other.subject), other.predicate) == (folded(claim.subject), claim.predicate)


def _fresh(index: int) -> Ref:
    return f"?e{index}"


def _parameters(source: Source) -> str:
    return digest({"encoder": source.encoder, "model": source.model})


def _require_words(*texts: str) -> None:
    """Raises `Refused` for a text without words, or with what the store cannot hold."""
    if not all(text.strip() for text in texts):
        raise Refused("it names nothing")
    if any("\x00" in text for text in texts):
        raise Refused("it contains a NUL character")


def _sentence(claim: Claim) -> str:
    """A claim in words, for finding it."""
    words = claim.predicate.replace("_", " ")
    middle = words if claim.stance == "support" else f"not {words}"
    return f"{claim.subject} {middle} {claim.object}"
