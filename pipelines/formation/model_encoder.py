"""The model encoder: a language model proposes, and the host takes only what the messages say.

The model sees masked messages (`masking.readable`) as data and answers one typed object; it has no
way to write, and its tools only read. Each item of the answer is then checked on its own: it must
cite a message that it was given, quote it, and use names that the text holds; predicates and types
come from a bounded vocabulary; dates must parse. What passes becomes a finding and is folded by the
same `Discourse` as the built-in rules' findings, so that a correction reaches only the same
speaker's earlier claim in the same slot. Who asserts and when is never the model's to say: it is
the speaker and the time of the cited message. What fails is dropped with a warning, never mended
into something else, except that a change without ground becomes a plain claim (design section 5.1).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, Protocol

import regex
from pydantic import BaseModel, Field

from pipelines.formation import prompts
from pipelines.formation.discourse import ONE_VALUE, Discourse, HeldClaim
from pipelines.formation.findings import (
    ClaimStated,
    CommitmentChanged,
    CommitmentMade,
    ConstraintGiven,
    ConstraintWithdrawn,
    Finding,
)
from pipelines.formation.gates import TurnRefused
from pipelines.formation.grounding import (
    ADDITION,
    AUTHORITY,
    CANCELLATION,
    CHANGE,
    CORRECTION,
    ENDING,
    FIRST_PERSON,
    FULFILMENT,
    MOVING,
    NEGATION,
    RETRACTION,
    SECOND_PERSON,
    STANDING,
    THIRD_PERSON,
    UNFULFILLED,
    WEAK_CORRECTION,
    WITHDRAWAL,
    Said,
    birthday,
    due_instant,
    is_question,
    share,
    spoken_language,
    stated_period,
    time_zone,
)
from pipelines.formation.likeness import names_part_of, same_name
from pipelines.formation.masking import readable
from pipelines.formation.prompts import PREDICATES, Line
from pipelines.formation.proposal import (
    Background,
    Change,
    Claim,
    Conversation,
    KnownClaim,
    Proposal,
    Purpose,
    Usage,
)
from pipelines.formation.purposes import fitted
from pipelines.formation.summary import summary_of
from pipelines.ports.models import Charge, Checkpoint, LanguageModel, Question, Tool, total
from storage.clock import to_text

#: characters of messages in one question; a context window given in tokens may lower it
_WINDOW = 24_000
#: characters that one token of the context window is taken for, and the share that messages may use
_PER_TOKEN, _OF_CONTEXT = 1.0, 0.4
#: messages of the previous window that are shown again for understanding
_EARLIER = 3
#: how many messages back a pronoun, or the words of a commitment, may reach
_NEAR = 12
#: what memory holds and is shown, per kind
_SHOWN = 60

#: items of one conversation, beyond which the rest is dropped
MAX_CLAIMS, MAX_COMMITMENTS, MAX_CONSTRAINTS = 400, 100, 50
#: predicates outside the vocabulary that one conversation may bring
MAX_DRAFTS = 8
#: characters
MAX_NAME, MAX_SUMMARY, MAX_CONSTRAINT, MAX_DESCRIPTION = 120, 300, 500, 600
_MAX_WARNINGS = 100
#: what a tool hands to the model: items, and characters of each
_TOOL_ITEMS, _TOOL_CHARACTERS = 20, 400
#: a due date lies at most so far after its message
_FARTHEST = timedelta(days=365 * 60)

#: confidence of a claim that a model proposed; a model's own idea of it is not asked for
_CONFIDENCE = 0.8

_PREDICATE = regex.compile(r"[a-z][a-z0-9]{0,23}(?:_[a-z0-9]{1,24}){0,5}")
_TYPE = regex.compile(r"[A-Z][A-Za-z0-9]{0,47}")
#: predicates that would act on the memory itself, or on who may do what
_FORBIDDEN_PREDICATE = regex.compile(
    r"same_as|caused_by|(?:.*_)?(?:admin|root|sudo|permissions?|privileges?|authority|authori[sz]ed|"
    r"access|password|secret|credentials?|token|trusts?|trusted|owner_of|instance_of)(?:_.*)?"
)
#: types that memory keeps for its own machinery
_MACHINERY = frozenset(
    {
        "Activity",
        "Assertion",
        "Commitment",
        "Concept",
        "Event",
        "Evidence",
        "Experience",
        "ExperienceStep",
        "Insight",
        "Proposition",
        "SelfModel",
        "Skill",
        "SkillRevision",
        "SleepTask",
        "Watch",
        "WorkingState",
    }
)


# --- what the model answers -----------------------------------------------------------------------


class ClaimItem(BaseModel):
    """A stated fact."""

    message: int
    quote: str
    subject: str
    predicate: str
    object: str
    subject_type: str = "Person"
    object_type: str = ""
    stance: Literal["support", "reject"] = "support"
    valid_from: str | None = None
    valid_until: str | None = None
    change: Literal["none", "correction", "world_change"] = "none"
    replaces: str | None = None


class RetractionItem(BaseModel):
    """A statement taken back."""

    message: int
    quote: str
    subject: str
    predicate: str
    object: str


class CommitmentItem(BaseModel):
    """A promise, obligation, appointment, reminder or plan, or what became of one."""

    message: int
    quote: str
    summary: str
    by: str
    due: str | None = None
    owed_to: str | None = None
    change: Literal["new", "moved", "fulfilled", "cancelled"] = "new"


class ConstraintItem(BaseModel):
    """A standing order to the assistant."""

    message: int
    text: str
    withdraws: bool = False


class Answer(BaseModel):
    """Everything that the messages state."""

    claims: list[ClaimItem] = Field(default_factory=list)
    retractions: list[RetractionItem] = Field(default_factory=list)
    commitments: list[CommitmentItem] = Field(default_factory=list)
    constraints: list[ConstraintItem] = Field(default_factory=list)
    summary: str = ""


Item = ClaimItem | RetractionItem | CommitmentItem | ConstraintItem


# --- what the model may look up -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Remembered:
    """A passage of memory that a search found."""

    text: str
    speaker: str
    at: datetime


class MemoryTools(Protocol):
    """What the host lets a model read while it works; called from another thread."""

    def search_memory(self, query: str) -> Sequence[Remembered]:
        """Passages that match, the best first."""
        ...

    def read_claims(self, person: str) -> Sequence[KnownClaim]:
        """The current claims about a person."""
        ...


class SearchMemory(BaseModel):
    """What to look for."""

    query: str = Field(max_length=500, description="words to look for")


class ReadClaims(BaseModel):
    """Whose claims to read."""

    person: str = Field(max_length=200, description="a person's name as the conversation has it")


class ModelEncoder:
    """Proposes memory with a language model. Make one per run: `checkpoint` belongs to the run.

    `charge` is told the usage of each question once, also when the run fails; `Proposal.usage`
    repeats the sum for the record.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        memory: MemoryTools | None = None,
        checkpoint: Checkpoint | None = None,
        charge: Charge | None = None,
    ) -> None:
        self._model = model
        self._memory = memory
        self._checkpoint = checkpoint
        self._charge = charge
        self.id = f"model-{prompts.VERSION}"

    def encode(self, conversation: Conversation, background: Background) -> Proposal:
        """Asks the model once per window of messages; raises what `LanguageModel.ask` raises.

        Raises `TurnRefused` for an answer that is not of the history that its purpose names.
        """
        masked = replace(
            conversation,
            messages=tuple(
                replace(m, text=readable(m.text)) if m.role in ("user", "assistant") else m
                for m in conversation.messages
            ),
        )
        host = _Host(masked, background)
        usage: list[Usage] = []
        for lines in _windows(masked, self._window()):
            if self._checkpoint is not None:
                self._checkpoint()
            looked_up: list[KnownClaim] = []
            completion = self._model.ask(
                Question(
                    instructions=prompts.instructions(masked.purpose),
                    prompt=host.material(lines),
                    answer=Answer,
                    tools=self._tools(looked_up),
                ),
                checkpoint=self._checkpoint,
                charge=self._charge,
            )
            usage.append(completion.usage)
            _hold_to(masked.purpose, completion.answer)
            host.learn(looked_up)
            host.take(completion.answer, _citable(masked.purpose, lines))
        proposal = _for_purpose(host.proposal(), masked.purpose, background)
        return replace(proposal, usage=total(*usage), model=self._model.config.name)

    def _window(self) -> int:
        tokens = self._model.config.context_window
        if tokens is None:
            return _WINDOW
        return max(1_000, min(_WINDOW, int(tokens * _PER_TOKEN * _OF_CONTEXT)))

    def _tools(self, looked_up: list[KnownClaim]) -> tuple[Tool, ...]:
        memory = self._memory
        if memory is None:
            return ()

        def search(asked: SearchMemory) -> str:
            found = memory.search_memory(asked.query)[:_TOOL_ITEMS]
            return json.dumps(
                [
                    {
                        "text": r.text[:_TOOL_CHARACTERS],
                        "speaker": r.speaker[:MAX_NAME],
                        "at": to_text(r.at),
                    }
                    for r in found
                ],
                ensure_ascii=False,
            )

        def read(asked: ReadClaims) -> str:
            known = memory.read_claims(asked.person)[:_TOOL_ITEMS]
            looked_up.extend(known)
            return json.dumps(
                [
                    {
                        "subject": k.subject[:_TOOL_CHARACTERS],
                        "predicate": k.predicate,
                        "object": k.object[:_TOOL_CHARACTERS],
                        "stance": k.stance,
                        "asserted_by": k.asserted_by[:_TOOL_CHARACTERS],
                    }
                    for k in known
                ],
                ensure_ascii=False,
            )

        return (
            Tool("search_memory", "Finds passages in memory by their words.", SearchMemory, search),
            Tool("read_claims", "Reads what memory holds about a person.", ReadClaims, read),
        )


def _hold_to(purpose: Purpose | None, answer: Answer) -> None:
    """Refuse what another kind of revision would write, rather than guess what was meant."""
    if purpose is None or purpose.change not in ("world_change", "unspecified", "misrecorded"):
        return
    if answer.retractions or any(claim.change == "correction" for claim in answer.claims):
        raise TurnRefused(f"A turn of kind {purpose.change} supersedes and retracts nothing.")


def _citable(purpose: Purpose | None, lines: Sequence[Line]) -> set[int]:
    """The messages that items may be taken from; a repair takes them from the source alone."""
    shown = {line.message for line in lines if not line.earlier}
    return shown & {0} if purpose is not None and purpose.change == "misrecorded" else shown


def _for_purpose(proposal: Proposal, purpose: Purpose | None, background: Background) -> Proposal:
    if purpose is None:
        return proposal
    if purpose.change == "world_change" and len(proposal.claims) > 1:
        raise TurnRefused("A change of the world is written as one claim.")
    return fitted(proposal, purpose, background)


def _windows(conversation: Conversation, size: int) -> Iterator[list[Line]]:
    """The messages that may form memory, in runs of about `size` characters."""
    window: list[Line] = []
    used = 0
    for index, message in enumerate(conversation.messages):
        if message.role not in ("user", "assistant") or not message.text.strip():
            continue
        for piece in _pieces(message.text, size):
            if window and used + len(piece) > size:
                yield window
                shown = [line for line in window if len(line.text) <= size // 8]
                window = [replace(line, earlier=True) for line in shown[-_EARLIER:]]
                used = 0
            window.append(Line(index, piece))
            used += len(piece)
    if any(not line.earlier for line in window):
        yield window


def _pieces(text: str, size: int) -> Iterator[str]:
    """`text` in pieces of at most `size` characters, cut at a line's or a sentence's end."""
    while len(text) > size:
        cut = max(text.rfind(mark, size // 2, size) for mark in ("\n", ". ", "。", "! ", "? "))
        cut = cut + 1 if cut > 0 else size
        yield text[:cut]
        text = text[cut:]
    if text.strip():
        yield text


class _Refused(Exception):
    """An item is not what the messages say; the text tells why, without their words."""


class _Host:
    """Decides over the model's items; one per conversation, which is masked."""

    def __init__(self, conversation: Conversation, background: Background) -> None:
        self._conversation = conversation
        self._background = background
        self._memory = Discourse(conversation, background)
        self._said = [
            Said(m.text if m.role in ("user", "assistant") else "") for m in conversation.messages
        ]
        self._warnings: list[str] = []
        self._drafts: set[str] = set()
        self._descriptions: list[str] = []
        self._known = {k.id for k in background.claims}

    # --- before a question ---------------------------------------------------------------------

    def material(self, lines: Sequence[Line]) -> str:
        """The prompt: the window's messages, and what of memory bears on them."""
        window = Said("\n".join(line.text for line in lines))
        speakers = {self._conversation.messages[line.message].speaker for line in lines}
        claims = [
            k
            for k in self._background.claims
            if any(same_name(k.subject, s) or same_name(k.asserted_by, s) for s in speakers)
            or window.names(k.subject)
        ]
        claims.sort(key=lambda k: k.asserted_at, reverse=True)
        held = [
            KnownClaim(
                "",
                h.claim.subject,
                h.claim.predicate,
                h.claim.object,
                h.claim.object_type,
                h.claim.stance,
                h.claim.asserted_by,
                self._conversation.messages[h.claim.message].at,
            )
            for h in self._memory.claims
            if h.known is None and h.state == "active"
        ]
        return prompts.material(
            self._conversation,
            lines,
            [*held[-_SHOWN:], *claims[:_SHOWN]],
            self._background.commitments[-_SHOWN:],
            self._background.constraints[-_SHOWN:],
        )

    def learn(self, looked_up: Iterable[KnownClaim]) -> None:
        """Claims that the model has read: what a message says may correct them, too."""
        for k in looked_up:
            if k.id in self._known:
                continue
            self._known.add(k.id)
            claim = Claim(
                subject=k.subject,
                predicate=k.predicate,
                object=k.object,
                object_type=k.object_type,
                stance=k.stance,
                asserted_by=k.asserted_by,
                message=-1,
            )
            self._memory.hold_known(HeldClaim(claim, known=k.id))

    # --- after it ------------------------------------------------------------------------------

    def take(self, answer: Answer, citable: set[int]) -> None:
        """Folds the items of one answer, in the order of the messages that they cite."""
        items: list[Item] = [
            *answer.claims,
            *answer.retractions,
            *answer.commitments,
            *answer.constraints,
        ]
        for item in sorted(items, key=lambda i: i.message):
            kind = type(item).__name__.removesuffix("Item").lower()
            try:
                if item.message not in citable:
                    raise _Refused("it cites no message of this window")
                self._one(item)
            except _Refused as why:
                self._warn(f"{kind} of message {item.message} dropped: {why}")
        if description := _clean(answer.summary, MAX_DESCRIPTION):
            self._descriptions.append(description)

    def _one(self, item: Item) -> None:
        match item:
            case ClaimItem():
                self._claim(item)
            case RetractionItem():
                self._retraction(item)
            case CommitmentItem():
                self._fold(self._commitment(item), self._memory.commitments, MAX_COMMITMENTS)
            case ConstraintItem():
                self._fold(self._constraint(item), self._memory.constraints, MAX_CONSTRAINTS)

    def _fold(self, finding: Finding, held: Sequence[object], most: int) -> None:
        if len(held) - self._held_before(held) >= most:
            raise _Refused("there are too many of them")
        self._memory.apply(finding)

    def _held_before(self, held: Sequence[object]) -> int:
        return sum(1 for h in held if getattr(h, "known", None) is not None)

    def _warn(self, text: str) -> None:
        if len(self._warnings) < _MAX_WARNINGS:
            self._warnings.append(text)

    # --- claims --------------------------------------------------------------------------------

    def _claim(self, item: ClaimItem) -> None:
        said, speaker = self._said[item.message], self._memory.speaker(item.message)
        sentence = self._quoted(said, item.quote)
        if is_question(sentence):
            raise _Refused("its sentence is a question")
        predicate = self._predicate(item.predicate)
        subject = self._subject(item.subject, item.message)
        if self._assistant(item.message) and not same_name(subject, speaker):
            raise _Refused("what an assistant says about others is no claim")
        object_, object_type = self._object(item, predicate, said)
        if AUTHORITY.search(f"{item.predicate.replace('_', ' ')} {object_}"):
            raise _Refused("authority is not laid down in a conversation")
        if item.stance == "reject" and not NEGATION.search(said.text):
            raise _Refused("nothing in the message denies it")
        begins = self._period(item.valid_from, "start", item.message)
        ends = self._period(item.valid_until, "end", item.message)
        if begins and ends and ends < begins[: len(ends)]:
            ends = None
            self._warn(f"claim of message {item.message}: an end before its start was left out")
        change = self._change(item, predicate, subject, object_, speaker, begins)
        if predicate not in PREDICATES:
            self._drafts.add(predicate)
        self._fold(
            ClaimStated(
                subject=subject,
                predicate=predicate,
                object=object_,
                object_type=object_type,
                message=item.message,
                stance=item.stance,
                subject_type=self._subject_type(item, predicate),
                valid_from=begins,
                valid_until=ends,
                change=change,
                replaces=_clean(item.replaces or "", MAX_NAME) if change else None,
                confidence=_CONFIDENCE,
            ),
            self._memory.claims,
            MAX_CLAIMS,
        )

    def _predicate(self, name: str) -> str:
        if name in PREDICATES:
            return name
        if not _PREDICATE.fullmatch(name) or _FORBIDDEN_PREDICATE.fullmatch(name):
            raise _Refused("its predicate is none that a conversation may bring")
        if name not in self._drafts and len(self._drafts) >= MAX_DRAFTS:
            raise _Refused("the conversation brings too many new predicates")
        return name

    def _subject(self, name: str, message: int) -> str:
        """The subject as a clean name that the message, or its pronouns, can mean."""
        subject = _clean(name, MAX_NAME)
        if subject is None:
            raise _Refused("its subject is no name")
        said, speaker = self._said[message], self._memory.speaker(message)
        if same_name(subject, speaker):
            answers = message > 0 and self._answers(message)
            if FIRST_PERSON.search(said.text) or said.names(subject) or answers:
                return speaker
            if any("一" <= c <= "鿿" for c in said.text) and not self._others(said, speaker):
                return speaker  # Chinese leaves "I" out
            raise _Refused("the message does not speak of its speaker")
        if said.names(subject):
            return subject
        before = range(max(0, message - _NEAR), message)
        if THIRD_PERSON.search(said.text) and any(self._said[i].names(subject) for i in before):
            return subject
        if SECOND_PERSON.search(said.text) and any(
            same_name(self._memory.speaker(i), subject) for i in before
        ):
            return subject
        raise _Refused("its subject is not in the message")

    def _others(self, said: Said, speaker: str) -> bool:
        """Whether the text names any other person that is known here."""
        people = set(self._memory.speakers) | {h.claim.subject for h in self._memory.claims}
        return any(said.names(p) for p in people if not same_name(p, speaker))

    def _answers(self, message: int) -> bool:
        """Whether a message answers a question of somebody else."""
        asked = self._said[message - 1]
        other = self._memory.speaker(message - 1)
        return asked.asks and not same_name(other, self._memory.speaker(message))

    def _subject_type(self, item: ClaimItem, predicate: str) -> str:
        if predicate == "located_in":
            return "Place"
        if predicate in PREDICATES:
            return "Person"
        return self._type(item.subject_type or "Person")

    def _type(self, name: str) -> str:
        if not _TYPE.fullmatch(name) or name in _MACHINERY:
            raise _Refused("it names a type that a conversation may not bring")
        return name

    def _object(self, item: ClaimItem, predicate: str, said: Said) -> tuple[str, str]:
        """The object and its type; the message, or the question that it answers, must say it."""
        value = _clean(item.object, MAX_NAME)
        if value is None:
            raise _Refused("its object is no name")
        expected = PREDICATES[predicate][0] if predicate in PREDICATES else ""
        literal: dict[str, Callable[[str, Said], str | None]] = {
            "speaks": spoken_language,
            "timezone": time_zone,
            "born_on": birthday,
        }
        if predicate in literal:
            exact = literal[predicate](value, said)
            if exact is None:
                raise _Refused("the message does not say its object")
            return exact, "string"
        answered = (
            item.message > 0
            and self._answers(item.message)
            and self._said[item.message - 1].names(value)
        )
        if same_name(value, self._memory.speaker(item.message)):
            if not (FIRST_PERSON.search(said.text) or said.names(value)):
                raise _Refused("its object is not in the message")
        elif not said.names(value) and not answered:
            raise _Refused("its object is not in the message")
        if expected:
            return value, expected
        if item.object_type == "string" and predicate != "prefers":
            return value, "string"
        return value, self._type(item.object_type or "Thing")

    def _period(self, text: str | None, which: str, message: int) -> str | None:
        if not text:
            return None
        period = stated_period(text)
        if period is None or not self._said[message].dated:
            self._warn(f"claim of message {message}: its {which} is not in the message, left out")
            return None
        return period

    def _change(
        self,
        item: ClaimItem,
        predicate: str,
        subject: str,
        object_: str,
        speaker: str,
        begins: str | None,
    ) -> Change | None:
        """The change that the message really makes to the same speaker's claim in this slot."""
        if item.change == "none":
            return None
        said = self._said[item.message]
        earlier = [
            h
            for h in self._memory.earlier(speaker, subject, predicate)
            if (item.change == "world_change" and item.stance == "reject")
            or not same_name(h.claim.object, object_)
        ]
        replaces = _clean(item.replaces or "", MAX_NAME)
        if replaces:
            earlier = [h for h in earlier if names_part_of(replaces, h.claim.object)]
        elif len(earlier) > 1 and predicate not in ONE_VALUE and item.stance == "support":
            earlier = []
        why = None
        if not earlier:
            why = "the same speaker holds no earlier claim in that slot"
        elif not self._says_so(item, predicate, said, begins, earlier[0].claim.object):
            why = "the message does not say so"
        if why:
            self._warn(
                f"claim of message {item.message}: taken as a plain claim, no {item.change}: {why}"
            )
            return None
        return item.change

    def _says_so(
        self, item: ClaimItem, predicate: str, said: Said, begins: str | None, earlier: str
    ) -> bool:
        if ADDITION.search(said.sentence(item.quote)):
            return item.change == "correction" and bool(
                CORRECTION.search(said.text) and said.names(earlier)
            )
        if item.change == "correction":
            if CORRECTION.search(said.text):
                return True
            if said.names(earlier):
                return bool(NEGATION.search(said.text) or WEAK_CORRECTION.search(said.text))
            return predicate in ONE_VALUE and WEAK_CORRECTION.search(said.text) is not None
        if predicate in ONE_VALUE:
            return begins is not None or CHANGE.search(said.text) is not None
        return ENDING.search(said.text) is not None

    # --- the other kinds -------------------------------------------------------------------------

    def _retraction(self, item: RetractionItem) -> None:
        said, speaker = self._said[item.message], self._memory.speaker(item.message)
        self._quoted(said, item.quote)
        if not RETRACTION.search(said.text):
            raise _Refused("nothing in the message takes anything back")
        held = [
            h
            for h in self._memory.earlier(speaker, item.subject, item.predicate)
            if same_name(h.claim.object, item.object)
        ]
        if not held:
            raise _Refused("the same speaker holds no such claim")
        held[0].state, held[0].retracted_in = "retracted", item.message

    def _commitment(self, item: CommitmentItem) -> Finding:
        said, speaker = self._said[item.message], self._memory.speaker(item.message)
        self._quoted(said, item.quote)
        summary, by = _clean(item.summary, MAX_SUMMARY), _clean(item.by, MAX_NAME)
        if summary is None or by is None:
            raise _Refused("it has no summary or nobody who is to act")
        near = self._said[max(0, item.message - _NEAR) : item.message + 1]
        if same_name(by, speaker):
            by = speaker
        elif self._assistant(item.message):
            raise _Refused("an assistant commits nobody but itself")
        elif not any(s.names(by) for s in near) and by not in self._memory.speakers:
            raise _Refused("who is to act is not in the conversation")
        due = self._due(item)
        if item.change == "fulfilled":
            if not FULFILMENT.search(said.text) or UNFULFILLED.search(said.sentence(item.quote)):
                raise _Refused("the message does not say that it is done")
            return CommitmentChanged(item.message, by, about=summary, status="fulfilled")
        if item.change == "cancelled":
            if not CANCELLATION.search(said.text):
                raise _Refused("the message does not say that it is off")
            return CommitmentChanged(item.message, by, about=summary, status="cancelled")
        if share(summary, near) < 0.8 or not said.share(summary):
            raise _Refused("its summary is not in the words of the conversation")
        owed_to = _clean(item.owed_to or "", MAX_NAME)
        if owed_to not in self._memory.speakers and not any(s.names(owed_to or "") for s in near):
            owed_to = None
        return CommitmentMade(
            summary=summary,
            by=by,
            message=item.message,
            due=due,
            owed_to=owed_to,
            moves=item.change == "moved" and MOVING.search(said.text) is not None,
        )

    def _due(self, item: CommitmentItem) -> datetime | None:
        if not item.due:
            return None
        due = due_instant(item.due.strip())
        at = self._conversation.messages[item.message].at
        if due is None or not self._said[item.message].dated or not at <= due <= at + _FARTHEST:
            self._warn(
                f"commitment of message {item.message}: its due is not in the message, left out"
            )
            return None
        return due

    def _constraint(self, item: ConstraintItem) -> Finding:
        said = self._said[item.message]
        text = _clean(item.text, MAX_CONSTRAINT)
        if text is None:
            raise _Refused("it has no text")
        if self._assistant(item.message):
            raise _Refused("an assistant gives itself no orders")
        if item.withdraws:
            if not WITHDRAWAL.search(said.text) or not said.share(text):
                raise _Refused("nothing in the message takes an order back")
            return ConstraintWithdrawn(message=item.message, about=text)
        if said.share(text) < 0.9:
            raise _Refused("it is not in the speaker's words")
        if not STANDING.search(said.text):
            raise _Refused("nothing in the message says that it holds from now on")
        if AUTHORITY.search(said.sentence(text)) or AUTHORITY.search(text):
            raise _Refused("authority is not laid down in a conversation")
        return ConstraintGiven(text=text, message=item.message)

    # --- shared ----------------------------------------------------------------------------------

    def _assistant(self, message: int) -> bool:
        return self._conversation.messages[message].role == "assistant"

    def _quoted(self, said: Said, quote: str) -> str:
        """The sentence of the quote; an item must quote its message."""
        if len(quote) > 2_000 or not said.quotes(quote):
            raise _Refused("its quote is not in the message")
        return said.sentence(quote)

    def proposal(self) -> Proposal:
        """What all answers together leave, with a summary in the conversation's words."""
        claims, retractions, commitments, constraints = self._memory.outcome()
        return Proposal(
            claims=claims,
            retractions=retractions,
            commitments=commitments,
            constraints=constraints,
            summary=self._summary(),
            warnings=tuple(self._warnings),
            notes={"prompt": str(prompts.VERSION)},
        )

    def _summary(self) -> str:
        """The model's description where its words are the conversation's, else an extract."""
        text = " ".join(self._descriptions)[:MAX_DESCRIPTION]
        about = Said(" ".join([*self._memory.speakers, self._conversation.topic or ""]))
        if text and share(text, [*self._said, about]) >= 0.7:
            return text
        return summary_of(self._conversation)


def _clean(text: str, most: int) -> str | None:
    """`text` on one line, or None when it is empty, too long or holds what cannot be printed."""
    if len(text) > most * 4:
        return None
    joined = " ".join(text.split())
    return joined if joined and len(joined) <= most and joined.isprintable() else None
