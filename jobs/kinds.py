"""The kinds of work: their queue, lane, limits and payload. Adding a kind starts here.

Queues are pools of workers that operators scale each by itself (design section 3.3). A lane
orders work: at most one job of a lane runs at a time, in acceptance order (section 3.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from storage.errors import InvalidInput, NotFound

Queue = Literal["interactive", "memory", "files", "knowledge", "purge", "system"]
QUEUES: tuple[Queue, ...] = ("interactive", "memory", "files", "knowledge", "purge", "system")

#: The space of work that belongs to no tenant (schedules, retention).
SYSTEM_SPACE = "_system"


class Payload(BaseModel):
    """Base of payloads: closed, so that a misspelt member is an error and not a silent default."""

    model_config = ConfigDict(extra="forbid")


class ConversationPayload(Payload):
    """Work that a conversation record describes (formation, recall)."""

    conversation: int = Field(ge=1)


class FormationIntent(Payload):
    """What the Memory Interface wants made of a source (seed 003 section 3).

    `source_ref` is a staged source or an evidence; `after` are the jobs that must have succeeded.
    """

    operation: Literal["observe", "revise", "feedback"]
    source_ref: str
    source_digest: str
    scope: dict[str, Any] | None = None
    change_kind: Literal["correction", "world_change", "misrecorded", "unspecified"] | None = None
    target_ref: str | None = None
    decision_ref: str | None = None
    attempt_ref: str | None = None
    after: list[str] | None = None


class FormationPayload(ConversationPayload):
    """A formation, and what it is for where the Memory Interface asked for it."""

    intent: FormationIntent | None = None


class BriefingPayload(Payload):
    """A recall of the Memory Interface after the door (`pipelines.briefing.asked`).

    The question's `context` is not among it: that is kept nowhere.
    """

    mode: Literal["answer", "action", "resume", "attention"] = "answer"
    query: str | None = None
    goal: str | None = None
    target_ref: str | None = None
    detail: Literal["brief", "evidence"] | None = None
    scope: dict[str, Any] | None = None
    time: dict[str, Any] | None = None
    after: list[dict[str, Any]] | None = None
    written: list[str] | None = None
    attention_cursor: str | None = None
    max_output_tokens: int | None = None


class MaintenanceOverrides(Payload):
    """What one run goes by in place of the space's policy; the deprecated are dropped before."""

    stale_event_threshold_days: int | None = Field(None, ge=1, le=365)
    unconsolidated_max_backlog: int | None = Field(None, ge=1, le=10_000)
    orphan_max_count: int | None = Field(None, ge=1, le=10_000)


class MaintenancePayload(Payload):
    """What a maintenance run covers (seed 003, `MaintenanceInput`)."""

    conversation: int | None = Field(None, ge=1)
    trigger: Literal["scheduled", "threshold", "on_demand"] = "on_demand"
    scope: Literal["full", "quick", "daydream"] = "daydream"
    parameters: MaintenanceOverrides | None = None


class ShadowPayload(Payload):
    """A candidate policy, and how many recent recalls to replay under it."""

    policy: dict[str, Any]
    replay_sample: int = Field(ge=1, le=16)


class PurgePayload(Payload):
    """Elements to be erased, by id."""

    entities: list[str] = Field(min_length=1)


class ForgetPayload(Payload):
    """The erasure plan to carry out, by its handle."""

    plan: str


class EmptyPayload(Payload):
    """Work that needs no input."""


class RetentionPayload(Payload):
    """How long finished job rows stay; None: as the settings say."""

    days: float | None = Field(None, ge=0)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of job.

    `lane` is a name within the space, None where order does not matter. `batch` above 1 lets one
    message carry that many jobs, which one worker thread runs one after the other: only for work
    of a few milliseconds. `max_attempts` counts claims, save those that were given back.

    `reads` is for work that makes something of memory: what it has read is void once the processing
    epoch of the space has changed (`storage.epochs`), and the run is given back. "to_write": the
    epoch is held while it commits; "to_tell": it is looked at before the answer is.
    """

    name: str
    queue: Queue
    payload: type[Payload]
    lane: str | None = None
    max_attempts: int = 5
    batch: int = 1
    reads: Literal["to_write", "to_tell"] | None = None


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("formation", "memory", FormationPayload, lane="memory", reads="to_write"),
        Kind(
            "maintenance",
            "memory",
            MaintenancePayload,
            lane="memory",
            max_attempts=3,
            reads="to_write",
        ),
        Kind("recall", "interactive", ConversationPayload, max_attempts=3, reads="to_tell"),
        Kind("briefing", "interactive", BriefingPayload, max_attempts=3, reads="to_tell"),
        Kind(
            "shadow_eval",
            "interactive",
            ShadowPayload,
            lane="shadow_eval",
            max_attempts=2,
            reads="to_tell",
        ),
        Kind("purge", "purge", PurgePayload, lane="memory"),
        Kind("forget", "memory", ForgetPayload, lane="memory"),
        Kind("embed", "knowledge", EmptyPayload, lane="embed"),
        Kind("noop", "interactive", EmptyPayload, batch=32),
        Kind("retention", "system", RetentionPayload, lane="retention"),
        Kind("sweep", "system", EmptyPayload, lane="sweep"),
        Kind("maintain_spaces", "system", EmptyPayload, lane="maintain_spaces"),
    )
}


def kind_of(name: str) -> Kind:
    """The kind of that name; raises `NotFound`."""
    kind = KINDS.get(name)
    if kind is None:
        raise NotFound(f"There is no kind of job named {name!r}; known: {', '.join(KINDS)}.")
    return kind


def validated(kind: Kind, payload: dict[str, Any]) -> dict[str, Any]:
    """The payload as its model has it; raises `InvalidInput` naming the first wrong member."""
    try:
        return kind.payload.model_validate(payload).model_dump(mode="json", exclude_none=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidInput(
            f"The payload of a {kind.name} job is wrong: {first['msg']}.", field=place
        ) from None
