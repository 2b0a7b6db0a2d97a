"""What an encoder proposes from captured messages; the host decides what of it is written.

An encoder (built-in rules or a language model) sees a `Conversation` and the `KnownClaim`s that
memory already holds about its people, and answers a `Proposal`. It never touches the store: the
formation pipeline turns the proposal into a change set (design section 5.1).

Names in a proposal are the words of the text. `message` fields are indexes into
`Conversation.messages`, so that every item cites the message it was taken from and carries that
message's time (seed 003 section 1, "memory semantics").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

Stance = Literal["support", "reject"]
Change = Literal["correction", "world_change"]
ChangeKind = Literal["correction", "world_change", "misrecorded", "unspecified"]
CommitmentStatus = Literal["pending", "fulfilled", "cancelled", "expired", "blocked"]


@dataclass(frozen=True, slots=True)
class Utterance:
    """One captured message, as an encoder reads it.

    `speaker` is the message's `name`, else its role. `at` is when it was observed (aware, UTC,
    whole milliseconds). `text` joins the text parts of the content; other parts are not seen.
    """

    role: Literal["system", "user", "assistant", "tool"]
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a caller of the Memory Interface wants made of a source.

    `change` says which history a revision writes; None for a plain observation. `target` is the
    claim that it is about, where it names one. Of a `misrecorded` one, message 0 is the source that
    `target` was taken from, and the others report the mistake. `scope` has the handles in which
    memory is formed; they select nothing and are no words of the conversation.
    """

    change: ChangeKind | None = None
    target: KnownClaim | None = None
    scope: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of one formation, oldest first as sent."""

    messages: tuple[Utterance, ...]
    topic: str | None = None
    counterparty: str | None = None
    agent: str | None = None
    purpose: Purpose | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One stated fact: `asserted_by` says that subject-predicate-object holds (or does not).

    `predicate` is a local name (`lives_in`, `prefers`, ...). `object_type` is a concept type's
    local name (`Place`, `Organization`, `Drink`, ...) or "string" for a literal object.
    `valid_from`/`valid_until` are ISO texts exactly as precise as the message says
    ("2021-03", "2026-12-01"), or None when it says nothing. `change` tells what the claim does
    to `revises`, the earlier claim that it replaces: `correction` (that claim never held and is
    superseded), `world_change` (both stay, each for its time), None (a plain new claim).
    """

    subject: str
    predicate: str
    object: str
    object_type: str
    stance: Stance
    asserted_by: str
    message: int
    subject_type: str = "Person"
    valid_from: str | None = None
    valid_until: str | None = None
    change: Change | None = None
    revises: ClaimRef | None = None
    confidence: float = 0.9


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """Names a claim: by position in this proposal, or by the element id of a `KnownClaim`."""

    index: int | None = None
    known: str | None = None


@dataclass(frozen=True, slots=True)
class Retraction:
    """The speaker takes an earlier claim back without putting another in its place."""

    claim: ClaimRef
    message: int


@dataclass(frozen=True, slots=True)
class Commitment:
    """A promise, obligation, appointment or reminder; `by` is who is to act.

    `due` is an aware UTC instant (end of the named day, 23:59:59.999, when only a day is said),
    or None. When a later message moves, fulfils or cancels it, the encoder emits one Commitment
    with the last status and due; `revises` names a commitment that memory already holds.
    """

    summary: str
    by: str
    message: int
    due: datetime | None = None
    status: CommitmentStatus = "pending"
    owed_to: str | None = None
    revises: str | None = None


@dataclass(frozen=True, slots=True)
class Constraint:
    """A standing instruction that binds the assistant from now on, in the speaker's words.

    `withdraws` names a constraint that memory already holds and that this message takes back
    (then `text` repeats it and nothing new is stored).
    """

    text: str
    by: str
    message: int
    withdraws: str | None = None


@dataclass(frozen=True, slots=True)
class KnownClaim:
    """A claim that memory already holds, offered to the encoder for corrections and changes.

    `stored` is the predicate that it is kept under, where that is another (`likings`).
    """

    id: str
    subject: str
    predicate: str
    object: str
    object_type: str
    stance: Stance
    asserted_by: str
    asserted_at: datetime
    stored: str | None = None


@dataclass(frozen=True, slots=True)
class KnownCommitment:
    """A commitment that memory already holds and that is still open."""

    id: str
    summary: str
    by: str
    due: datetime | None


@dataclass(frozen=True, slots=True)
class KnownConstraint:
    """A standing instruction that memory already holds."""

    id: str
    text: str
    by: str


@dataclass(frozen=True, slots=True)
class Background:
    """What memory already holds about the people of a conversation."""

    claims: tuple[KnownClaim, ...] = ()
    commitments: tuple[KnownCommitment, ...] = ()
    constraints: tuple[KnownConstraint, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What a model run cost, in tokens and requests; all zero for the built-in encoder."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Proposal:
    """All that an encoder found in one conversation."""

    claims: tuple[Claim, ...] = ()
    retractions: tuple[Retraction, ...] = ()
    commitments: tuple[Commitment, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    summary: str = ""
    usage: Usage = Usage()
    model: str | None = None
    warnings: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)


class Encoder(Protocol):
    """Turns captured messages into a proposal; pure with respect to the store."""

    id: str

    def encode(self, conversation: Conversation, background: Background) -> Proposal:
        """Propose memory from `conversation`; raises `storage.errors.BrainError` on failure."""
        ...
