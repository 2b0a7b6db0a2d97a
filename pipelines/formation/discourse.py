"""The state of one conversation while it is read: what is held so far, and who was spoken of.

The framework that both languages share. `BuiltinEncoder` gives each message to a reader
(`english.read`, `chinese.read`), which may look things up here (and note the persons it meets, by
`mention`), and folds the findings it answers with `apply`. `proposal` then tells the outcome.

Readers get masked text: code, addresses, quoted mail and quoted speech are already gone
(`masking.readable`); `masking.QUOTED` stands where a quotation was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal, assert_never

from pipelines.formation.findings import (
    ClaimCorrected,
    ClaimRetracted,
    ClaimStated,
    CommitmentChanged,
    CommitmentMade,
    ConstraintGiven,
    ConstraintWithdrawn,
    Finding,
)
from pipelines.formation.likeness import names_part_of, overlap, plain, same_name, terms
from pipelines.formation.proposal import (
    Background,
    Claim,
    ClaimRef,
    Commitment,
    Constraint,
    Conversation,
    Retraction,
)

Gender = Literal["f", "m"]

#: predicates with one value at a time: a dated second value is a change of the world
ONE_VALUE = frozenset({"lives_in", "located_in", "timezone", "born_on"})
#: a pronoun reaches back over at most so many messages
_REACH = 3
#: an unnamed claim is corrected or taken back within so many messages of the speaker
_SOON = 3
#: a text that was announced comes in the next message, or after one answer
_ANSWERED = 2
#: claims of one predicate, the latest first, among which an earlier one is looked for
_LOOKED_AT = 100
#: within this time a denial without a word of change takes the denied claim back
_A_DAY = timedelta(days=1)
#: the share of a hint's words that must occur in what it refers to
_LIKE = 0.5


@dataclass(slots=True)
class HeldClaim:
    """A claim as it stands now. `known` is its element id when memory held it before."""

    claim: Claim
    state: Literal["active", "superseded", "retracted"] = "active"
    known: str | None = None
    retracted_in: int | None = None


@dataclass(slots=True)
class HeldCommitment:
    """A commitment as it stands now; `known` is set when memory held it, `touched` when changed."""

    commitment: Commitment
    known: str | None = None
    touched: bool = False


@dataclass(slots=True)
class HeldConstraint:
    """A standing instruction as it stands now; `withdrawn_in` is the message that took it back."""

    constraint: Constraint
    known: str | None = None
    withdrawn_in: int | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """A person named in a message, in the order of the text."""

    name: str
    message: int
    gender: Gender | None = None


class Discourse:
    """Mutable; made per conversation. Nothing here depends on a language."""

    def __init__(self, conversation: Conversation, background: Background) -> None:
        self.conversation = conversation
        self.speakers: frozenset[str] = frozenset(m.speaker for m in conversation.messages)
        self._mentions: dict[int, dict[Mention, None]] = {}
        #: everybody mentioned, the latest last
        self.named: dict[str, None] = {}
        self._genders: dict[str, Gender] = {}
        #: what a reader remembers from message to message, under names of its own
        self.scratch: dict[str, int] = {}
        #: the place named last as somebody's home or origin, for "which is in …"
        self.place: str | None = None
        #: (speaker, word for the relation, lower case) -> name: "my sister" after "my sister Ana"
        self.kin: dict[tuple[str, str], str] = {}
        self.claims: list[HeldClaim] = [
            HeldClaim(
                Claim(
                    subject=k.subject,
                    predicate=k.predicate,
                    object=k.object,
                    object_type=k.object_type,
                    stance=k.stance,
                    asserted_by=k.asserted_by,
                    message=-1,
                ),
                known=k.id,
            )
            for k in background.claims
        ]
        self._of: dict[str, list[HeldClaim]] = {}
        for held in self.claims:
            self._of.setdefault(held.claim.predicate, []).append(held)
        self.commitments: list[HeldCommitment] = [
            HeldCommitment(
                Commitment(summary=k.summary, by=k.by, message=-1, due=k.due), known=k.id
            )
            for k in background.commitments
        ]
        self.constraints: list[HeldConstraint] = [
            HeldConstraint(Constraint(text=k.text, by=k.by, message=-1), known=k.id)
            for k in background.constraints
        ]

    # --- what readers ask ---------------------------------------------------------------------

    def speaker(self, message: int) -> str:
        """Who spoke the message."""
        return self.conversation.messages[message].speaker

    def at(self, message: int) -> datetime:
        """When the message was observed (UTC); relative dates count from here."""
        return self.conversation.messages[message].at

    def mention(self, name: str, message: int, gender: Gender | None = None) -> None:
        """Notes that a person was named; call it in the order of the text, for every person."""
        found = Mention(name, message, gender)
        self.named.pop(name, None)
        self.named[name] = None
        self._mentions.setdefault(message, {})[found] = None
        if gender:
            self._genders[plain(name)] = gender

    def gender(self, name: str) -> Gender | None:
        """The gender that an earlier mention of `name` gave, if any."""
        return self._genders.get(plain(name))

    def antecedent(
        self, message: int, gender: Gender | None, *, besides: str | None = None
    ) -> str | None:
        """The one person whom a third-person pronoun can mean, or None when none or several fit.

        `besides` is a name that is surely another person's, or no person's.

        Looks at the nearest message, at most three back, that names any fitting person besides its
        speaker; two fitting persons there make the pronoun ambiguous.
        """
        for number in range(message, max(-1, message - _REACH), -1):
            fitting: list[str] = []
            for m in self._mentions.get(number, ()):
                known = m.gender or self.gender(m.name)
                if gender and known and known != gender:
                    continue
                if same_name(m.name, self.speaker(message)):
                    continue
                if besides is not None and same_name(m.name, besides):
                    continue
                if not any(same_name(m.name, n) for n in fitting):
                    fitting.append(m.name)
                    if len(fitting) > 1:
                        return None
            if fitting:
                return fitting[0]
        return None

    def earlier(self, speaker: str, subject: str, predicate: str) -> list[HeldClaim]:
        """The active claims of a speaker in a slot, the latest first."""
        return [
            h
            for h in islice(reversed(self._of.get(predicate, ())), _LOOKED_AT)
            if h.state == "active"
            and same_name(h.claim.asserted_by, speaker)
            and same_name(h.claim.subject, subject)
        ]

    def own_claims(self, speaker: str, message: int) -> list[HeldClaim]:
        """The active claims of the speaker's latest message with any, among their last three.

        `message` counts among the three; a slip is put right soon or by name. Where there is none,
        it is the claim that the conversation was handed over to correct.
        """
        recent = [
            i
            for i in range(message, -1, -1)
            if same_name(self.conversation.messages[i].speaker, speaker)
        ][:_SOON]
        last = -1
        found: list[HeldClaim] = []
        for h in self.claims:
            if h.state != "active" or h.known or h.claim.message not in recent:
                continue
            if h.claim.message > last:
                last, found = h.claim.message, [h]
            elif h.claim.message == last:
                found.append(h)
        return found or self._to_correct(speaker)

    def _to_correct(self, speaker: str) -> list[HeldClaim]:
        purpose = self.conversation.purpose
        if purpose is None or purpose.change != "correction" or purpose.target is None:
            return []
        return [
            h
            for h in self.claims
            if h.known == purpose.target.id
            and h.state == "active"
            and same_name(h.claim.asserted_by, speaker)
        ]

    def open_commitments(self, by: str | None) -> list[HeldCommitment]:
        """The pending commitments of a person (of anybody, for None), the latest first."""
        return [
            h
            for h in reversed(self.commitments)
            if h.commitment.status == "pending" and (by is None or same_name(h.commitment.by, by))
        ]

    def hold_known(self, held: HeldClaim) -> None:
        """Adds a claim that memory turns out to hold, as older than everything said here."""
        self.claims.insert(0, held)
        self._of.setdefault(held.claim.predicate, []).insert(0, held)

    def expect_material(self, message: int) -> None:
        """Notes that the speaker's next message is a text to be translated, no statement."""
        self.scratch["material"] = message

    def is_material(self, message: int) -> bool:
        """Whether the message is the text that its speaker announced just before."""
        announced = self.scratch.get("material")
        if announced is None or not 0 < message - announced <= _ANSWERED:
            return False
        between = (self.speaker(i) for i in range(announced + 1, message))
        return same_name(self.speaker(announced), self.speaker(message)) and not any(
            same_name(name, self.speaker(message)) for name in between
        )

    # --- folding ------------------------------------------------------------------------------

    def apply(self, finding: Finding) -> None:
        """Folds one finding into the state; findings come in the order of the text."""
        match finding:
            case ClaimStated():
                self._state(finding)
            case ClaimCorrected():
                self._correct(finding)
            case ClaimRetracted():
                self._retract(finding)
            case CommitmentMade():
                self._commit(finding)
            case CommitmentChanged():
                self._change(finding)
            case ConstraintGiven():
                self._constrain(finding)
            case ConstraintWithdrawn():
                self._release(finding)
            case _:
                assert_never(finding)

    def _state(self, f: ClaimStated) -> None:
        speaker = self.speaker(f.message)
        claim = Claim(
            subject=f.subject,
            predicate=f.predicate,
            object=f.object,
            object_type=f.object_type,
            stance=f.stance,
            asserted_by=speaker,
            message=f.message,
            subject_type=f.subject_type,
            valid_from=f.valid_from,
            valid_until=f.valid_until,
            confidence=f.confidence,
        )
        slot = self.earlier(speaker, f.subject, f.predicate)
        target: HeldClaim | None = None
        change = f.change
        if change == "correction":
            others = [h for h in slot if not same_name(h.claim.object, f.object)]
            if f.replaces is not None:
                others = [h for h in others if names_part_of(f.replaces, h.claim.object)]
            if not others and f.stance == "reject":
                others = [
                    h
                    for h in slot
                    if h.claim.stance == "support" and names_part_of(f.object, h.claim.object)
                ]
            target = others[0] if others else None
        elif f.stance == "reject":
            held = [
                h
                for h in slot
                if h.claim.stance == "support" and names_part_of(f.object, h.claim.object)
            ]
            if change == "world_change" and held:
                target = held[0]
                claim = replace(claim, object=target.claim.object)
            elif change is None:
                self._deny(held, f.message)
        elif change == "world_change" or (f.valid_from and f.predicate in ONE_VALUE):
            others = [
                h
                for h in slot
                if h.claim.stance == "support" and not same_name(h.claim.object, f.object)
            ]
            if f.replaces is not None:
                others = [h for h in others if names_part_of(f.replaces, h.claim.object)] or others
            target, change = (others[0], "world_change") if others else (None, None)
        if target is None:
            change = None
        if change is None and self._said_before(claim, slot):
            return
        self._hold(claim, target, change)

    def _deny(self, held: list[HeldClaim], message: int) -> None:
        """Takes back what the speaker said a moment ago and now says is not so.

        A denial within a day, with no word of a change ("no longer"), says that it never was so;
        a later one may as well tell of a change, and leaves the earlier claim to its time.
        """
        for h in held:
            if h.known or h.claim.message == message:
                continue
            if self.at(message) - self.at(h.claim.message) <= _A_DAY:
                h.state, h.retracted_in = "retracted", message

    def _said_before(self, claim: Claim, slot: list[HeldClaim]) -> bool:
        for h in slot:
            same = same_name(h.claim.object, claim.object) and h.claim.stance == claim.stance
            if not same or h.known:
                continue
            if claim.valid_from and not h.claim.valid_from:
                h.claim = replace(h.claim, valid_from=claim.valid_from)
            return True
        return False

    def _hold(
        self,
        claim: Claim,
        target: HeldClaim | None,
        change: Literal["correction", "world_change"] | None,
    ) -> None:
        if target is not None and change is not None:
            claim = replace(claim, change=change, revises=self._reference(target))
            if change == "correction":
                target.state = "superseded"
        held = HeldClaim(claim)
        self.claims.append(held)
        self._of.setdefault(claim.predicate, []).append(held)

    def _reference(self, held: HeldClaim) -> ClaimRef:
        if held.known:
            return ClaimRef(known=held.known)
        return ClaimRef(index=[h for h in self.claims if not h.known].index(held))

    def _correct(self, f: ClaimCorrected) -> None:
        speaker = self.speaker(f.message)
        if f.wrong is None:
            candidates = self.own_claims(speaker, f.message)
        else:
            candidates = [
                h
                for h in reversed(self.claims)
                if h.state == "active"
                and same_name(h.claim.asserted_by, speaker)
                and names_part_of(f.wrong, h.claim.object)
            ]
        fits: list[tuple[HeldClaim, tuple[str, str]]] = []
        for h in candidates:
            value: tuple[str, str] | None = (f.right, h.claim.object_type)
            if f.recast is not None:
                value = f.recast(h.claim.predicate, f.right)
            if value is not None and not same_name(value[0], h.claim.object):
                fits.append((h, value))
        if not fits or (f.wrong is None and len(fits) > 1):
            return
        target, (right, kind) = fits[0]
        if names_part_of(f.right, target.claim.object):
            return
        claim = replace(
            target.claim,
            object=right,
            object_type=kind if kind else target.claim.object_type,
            asserted_by=speaker,
            message=f.message,
            change=None,
            revises=None,
        )
        self._hold(claim, target, "correction")

    def _retract(self, f: ClaimRetracted) -> None:
        speaker = self.speaker(f.message)
        if f.about is None:
            held = self.own_claims(speaker, f.message)
        else:
            held = [
                h
                for h in self.claims
                if h.state == "active"
                and same_name(h.claim.asserted_by, speaker)
                and (
                    same_name(h.claim.object, f.about)
                    or overlap(f.about, f"{h.claim.object} {h.claim.predicate}") >= _LIKE
                    or overlap(h.claim.object, f.about) >= 1.0
                )
            ]
        for h in held:
            h.state, h.retracted_in = "retracted", f.message

    def _commit(self, f: CommitmentMade) -> None:
        made = Commitment(
            summary=f.summary, by=f.by, message=f.message, due=f.due, owed_to=f.owed_to
        )
        for h in self.open_commitments(f.by):
            likeness = overlap(f.summary, h.commitment.summary)
            back = overlap(h.commitment.summary, f.summary)
            if (f.moves and max(likeness, back) >= _LIKE) or min(likeness, back) >= 0.8:
                h.commitment = replace(
                    h.commitment,
                    due=f.due or h.commitment.due,
                    message=f.message if h.known else h.commitment.message,
                )
                h.touched = True
                return
        self.commitments.append(HeldCommitment(made))

    def _change(self, f: CommitmentChanged) -> None:
        held = self.open_commitments(f.by)
        if f.about is not None and terms(f.about):
            about = f.about

            def share(h: HeldCommitment) -> float:
                return max(
                    overlap(about, h.commitment.summary), overlap(h.commitment.summary, about)
                )

            held = sorted((h for h in held if share(h) >= _LIKE), key=share, reverse=True)
        if not held:
            return
        h = held[0]
        h.commitment = replace(
            h.commitment,
            status=f.status or h.commitment.status,
            due=f.due or h.commitment.due,
            message=f.message if h.known else h.commitment.message,
        )
        h.touched = True

    def _constrain(self, f: ConstraintGiven) -> None:
        by = self.speaker(f.message)
        for h in self.constraints:
            if h.withdrawn_in is None and same_name(h.constraint.text, f.text):
                return
        self.constraints.append(HeldConstraint(Constraint(text=f.text, by=by, message=f.message)))

    def _release(self, f: ConstraintWithdrawn) -> None:
        by = self.speaker(f.message)
        held = [
            h
            for h in reversed(self.constraints)
            if h.withdrawn_in is None and same_name(h.constraint.by, by)
        ]
        if f.about is not None and terms(f.about):
            about = f.about

            def share(h: HeldConstraint) -> float:
                return overlap(about, h.constraint.text)

            held = sorted((h for h in held if share(h) > 0), key=share, reverse=True)
        if held:
            held[0].withdrawn_in = f.message

    # --- the outcome --------------------------------------------------------------------------

    def outcome(
        self,
    ) -> tuple[
        tuple[Claim, ...], tuple[Retraction, ...], tuple[Commitment, ...], tuple[Constraint, ...]
    ]:
        """Claims, retractions, commitments and constraints, as a `Proposal` carries them."""
        own = [h for h in self.claims if not h.known]
        claims = tuple(h.claim for h in own)
        retractions = tuple(
            Retraction(self._reference(h), h.retracted_in)
            for h in self.claims
            if h.state == "retracted" and h.retracted_in is not None
        )
        commitments = tuple(
            replace(h.commitment, revises=h.known)
            for h in self.commitments
            if not h.known or h.touched
        )
        constraints = tuple(
            replace(h.constraint, message=h.withdrawn_in, withdraws=h.known)
            if h.known and h.withdrawn_in is not None
            else h.constraint
            for h in self.constraints
            if (h.known is None) == (h.withdrawn_in is None)
        )
        return claims, retractions, commitments, constraints


#: a language's reader: findings of `conversation.messages[index]`, in the order of the text
Reader = Callable[[Conversation, int, Discourse], list[Finding]]

__all__ = [
    "ClaimCorrected",
    "ClaimRetracted",
    "ClaimStated",
    "CommitmentChanged",
    "CommitmentMade",
    "ConstraintGiven",
    "ConstraintWithdrawn",
    "Discourse",
    "Finding",
    "Gender",
    "HeldClaim",
    "HeldCommitment",
    "HeldConstraint",
    "Mention",
    "Reader",
]
