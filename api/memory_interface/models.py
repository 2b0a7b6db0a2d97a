"""The shapes of the Memory Interface: closed, so that a misspelt member is an error.

Requests are validated here; what they mean, `api.memory_interface.intake` decides.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from api.memory.inputs import MAX_PARTS, Message, Timestamp, texts_of
from storage.clock import parse_text, to_text
from storage.errors import InvalidInput, TooLarge
from storage.settings import settings

Intent = Literal["observe", "recall", "revise", "feedback", "forget"]
Bundle = Literal["memory_basic", "memory_experience", "memory_learning"]
ChangeKind = Literal["correction", "world_change", "misrecorded", "unspecified"]
ForgetMode = Literal["payload_only", "semantic"]
RecallMode = Literal["answer", "action", "resume", "attention"]

MAX_SAFE = 2**53 - 1
#: Messages of one staged source.
MAX_SOURCE_MESSAGES = 16
#: Entries of any list of a request.
MAX_ENTRIES = 128

_CLOSED = ConfigDict(strict=True, extra="forbid")
_CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


def _canonical(text: str) -> str:
    try:
        known = _CANONICAL.fullmatch(text) is not None and to_text(parse_text(text)) == text
    except InvalidInput:
        known = False
    if not known:
        raise ValueError("a time is written YYYY-MM-DDTHH:mm:ss.SSSZ and exists")
    return text


def _unique(entries: list[Any]) -> list[Any]:
    if len(set(entries)) != len(entries):
        raise InvalidInput("An entry comes twice.")
    return entries


Ref = Annotated[str, Field(min_length=1, max_length=1024)]
Text = Annotated[str, Field(min_length=1, max_length=4096)]
Refs = Annotated[list[Ref], Field(max_length=MAX_ENTRIES), AfterValidator(_unique)]
Sequence_ = Annotated[int, Field(ge=0, le=MAX_SAFE)]
Count = Annotated[int, Field(ge=1, le=MAX_SAFE)]
CanonicalTime = Annotated[str, AfterValidator(_canonical)]


class Scope(BaseModel):
    """Exact handles of the task and the contexts that memory is asked or formed in."""

    model_config = _CLOSED
    task_ref: Ref | None = None
    context_refs: Refs | None = None


class Budget(BaseModel):
    """How long an answer may be, and how long the caller waits."""

    model_config = _CLOSED
    max_output_tokens: Count | None = None
    deadline_ms: Count | None = None
    tokenizer: Text | None = None


class SpaceRef(BaseModel):
    """The space of the path, said again."""

    model_config = _CLOSED
    id: Ref


class Request(BaseModel):
    """One intent; `input` is of its own shape."""

    model_config = _CLOSED
    kip_memory: Literal["2.0"]
    request_id: Ref | None = None
    operation: Intent
    space: SpaceRef | None = None
    scope: Scope | None = None
    budget: Budget | None = None
    idempotency_key: Ref | None = None
    requires: Annotated[list[Bundle] | None, AfterValidator(lambda v: v and _unique(v))] = None
    input: dict[str, Any]


class ObserveInput(BaseModel):
    """Form memory from a source."""

    model_config = _CLOSED
    source_ref: Ref


class ReviseInput(BaseModel):
    """What was remembered was wrong, or the world has changed."""

    model_config = _CLOSED
    source_ref: Ref
    target_ref: Ref | None = None
    change_kind: ChangeKind | None = None


class FeedbackInput(BaseModel):
    """A reaction to a decision or an attempt; never an outcome."""

    model_config = _CLOSED
    source_ref: Ref
    decision_ref: Ref | None = None
    attempt_ref: Ref | None = None


class ForgetInput(BaseModel):
    """What to erase, and how far."""

    model_config = _CLOSED
    target_ref: Ref
    mode: ForgetMode


class TimePoint(BaseModel):
    """When in the world, and at which state of memory."""

    model_config = _CLOSED
    valid_at: CanonicalTime | None = None
    as_of_seq: Sequence_ | None = None

    @model_validator(mode="after")
    def _says_one(self) -> TimePoint:
        if self.valid_at is None and self.as_of_seq is None:
            raise ValueError("say valid_at or as_of_seq")
        return self


class RecallInput(BaseModel):
    """A question, a briefing to expand, or the attention that came up."""

    model_config = _CLOSED
    query: Text | None = None
    target_ref: Ref | None = None
    mode: RecallMode | None = None
    goal: Text | None = None
    context: Text | None = None
    after: Refs | None = None
    detail: Literal["brief", "evidence"] | None = None
    time: TimePoint | None = None
    attention_cursor: Ref | None = None

    @model_validator(mode="after")
    def _asks_something(self) -> RecallInput:
        if self.query is None and self.target_ref is None and self.mode != "attention":
            raise ValueError("say query, target_ref or mode attention")
        return self


INPUTS: dict[str, type[BaseModel]] = {
    "observe": ObserveInput,
    "recall": RecallInput,
    "revise": ReviseInput,
    "feedback": FeedbackInput,
    "forget": ForgetInput,
}


class SourceOrder(BaseModel):
    """Where a source stands in its stream, as the host attests it."""

    model_config = _CLOSED
    stream_ref: Ref
    event_ref: Ref
    ordinal: Sequence_
    predecessor_receipts: Refs | None = None


def _source_messages(messages: list[Message]) -> list[Message]:
    most = settings().max_message_chars
    for index, message in enumerate(messages):
        field = f"messages.{index}.content"
        if isinstance(message["content"], list) and len(message["content"]) > MAX_PARTS:
            raise TooLarge(f"A message has at most {MAX_PARTS} parts.", field=field)
        if sum(map(len, texts_of(message))) > most:
            raise TooLarge(f"A message has at most {most} characters.", field=field)
    if not any(text.strip() for message in messages for text in texts_of(message)):
        raise InvalidInput("At least one message must hold text.", field="messages")
    return messages


class StageSourceInput(BaseModel):
    """What was observed: up to 16 messages, each with its own time where it has one."""

    model_config = _CLOSED
    messages: Annotated[
        list[Message],
        Field(min_length=1, max_length=MAX_SOURCE_MESSAGES),
        AfterValidator(_source_messages),
    ]
    observed_at: Timestamp | None = None
    kind: Literal["message", "tool_trace", "artifact"] = "message"
    order: SourceOrder | None = None
    idempotency_key: Ref


class StagedSourceRef(BaseModel):
    """The handle of a staged source."""

    source_ref: str
    source_digest: str
    captured_at: str


class StagedSource(StagedSourceRef):
    """A staged source as its stager sees it; an erased one has no messages."""

    observed_at: str
    kind: Literal["message", "tool_trace", "artifact"]
    state: Literal["staged", "captured", "erased"]
    evidence_refs: list[str]
    messages: list[dict[str, Any]] | None = None
    order: dict[str, Any] | None = None


class MemoryReceipt(BaseModel):
    """What was accepted; never changes."""

    receipt_ref: str
    operation: Literal["observe", "revise", "feedback", "forget"]
    space_id: str
    accepted_seq: int


class MemoryProgress(BaseModel):
    """How far it is."""

    receipt_ref: str
    phase: Literal["recorded", "processed", "available", "failed"]
    disposition: Literal["formed", "evidence_only", "skipped", "erased"] | None = None
    resolved_seq: int | None = None
    available_seq: int | None = None
    reason: str | None = None
    error: dict[str, Any] | None = None


class ReceiptView(BaseModel):
    """A receipt, how far its work is, and what came of it."""

    receipt: MemoryReceipt
    progress: MemoryProgress
    result: dict[str, Any]
    warnings: list[str]


class MemoryResponse(BaseModel):
    """The answer to a request; look at `status`, HTTP says 200 whatever came of it."""

    model_config = ConfigDict(extra="allow")
    kip_memory: Literal["2.0"]
    request_id: str | None = None
    operation: str | None = None
    status: Literal["succeeded", "pending", "partial", "failed"]
    receipt: MemoryReceipt | None = None
    progress: MemoryProgress | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    warnings: list[str]
