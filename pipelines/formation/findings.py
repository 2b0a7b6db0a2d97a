"""What one message of a conversation says, as the rules of a language read it.

A reader (`english.read`, `chinese.read`) answers a list of findings in the order of the text; the
`Discourse` folds them, one by one, into what is held at the end. Whoever speaks the message asserts
a finding: findings name no asserter. Every `message` is an index into `Conversation.messages`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from pipelines.formation.proposal import Change, CommitmentStatus, Stance

#: (predicate, words of the text) -> (object, object type), or None where the words cannot be one
Recast = Callable[[str, str], tuple[str, str] | None]


@dataclass(frozen=True, slots=True)
class ClaimStated:
    """A whole fact: subject, predicate and object are all said (or resolved by the rules).

    `change` is what the wording says: "correction" ("sorry, my boss is Kirsten, not Karin"),
    "world_change" ("I moved to", "now", "no longer", "left"), None for a plain statement. It takes
    effect only where the same speaker holds an earlier claim in the same slot; else the claim is
    a plain one. `replaces` are the words of the earlier object, where the text gives them.
    """

    subject: str
    predicate: str
    object: str
    object_type: str
    message: int
    stance: Stance = "support"
    subject_type: str = "Person"
    valid_from: str | None = None
    valid_until: str | None = None
    change: Change | None = None
    replaces: str | None = None
    confidence: float = 0.9


@dataclass(frozen=True, slots=True)
class ClaimCorrected:
    """An elliptical correction: "no, Aarhus", "I meant Brisbane, not Melbourne".

    Applies to the speaker's own earlier claim whose object matches `wrong`; without `wrong`, to the
    only claim of their last message that made any, to whose predicate `right` can be recast.
    Where nothing fits, nothing happens: a misheard repetition by another speaker is not corrected.
    """

    right: str
    message: int
    wrong: str | None = None
    recast: Recast | None = None


@dataclass(frozen=True, slots=True)
class ClaimRetracted:
    """The speaker takes back what they said: "that about the van was a joke", "forget that".

    `about` holds words of the claim; None means all that their last message claimed.
    """

    message: int
    about: str | None = None


@dataclass(frozen=True, slots=True)
class CommitmentMade:
    """A promise, obligation, appointment, reminder or own plan; `by` is who is to act.

    `moves` is True when the wording says that an earlier one is moved ("on Saturday instead"):
    then the earlier one of the same person about the same thing gets the new `due`.
    """

    summary: str
    by: str
    message: int
    due: datetime | None = None
    owed_to: str | None = None
    moves: bool = False


@dataclass(frozen=True, slots=True)
class CommitmentChanged:
    """An earlier commitment is fulfilled, cancelled or gets another `due`.

    `about` holds words of it; None means the latest open one. `by` restricts it to one person's
    (None: anybody's, "you needn't bring the cake any more"). Without a match nothing happens.
    """

    message: int
    by: str | None
    about: str | None = None
    status: CommitmentStatus | None = None
    due: datetime | None = None


@dataclass(frozen=True, slots=True)
class ConstraintGiven:
    """A standing instruction to the assistant, in the speaker's words."""

    text: str
    message: int


@dataclass(frozen=True, slots=True)
class ConstraintWithdrawn:
    """The speaker takes a standing instruction back; `about` holds words of it, None: the last."""

    message: int
    about: str | None = None


Finding = (
    ClaimStated
    | ClaimCorrected
    | ClaimRetracted
    | CommitmentMade
    | CommitmentChanged
    | ConstraintGiven
    | ConstraintWithdrawn
)
