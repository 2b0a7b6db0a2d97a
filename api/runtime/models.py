"""The shapes of the runtime inbox, as seed 003 section 4.6 has them; requests are closed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from storage.clock import parse_text
from storage.errors import InvalidInput
from storage.runtime.responses import MAX_EVENT_KEY
from storage.runtime.wakes import MOST

_CLOSED = ConfigDict(strict=True, extra="forbid")


def _key(text: str) -> str:
    if len(text.encode()) > MAX_EVENT_KEY:
        raise InvalidInput(f"An event_key has at most {MAX_EVENT_KEY} bytes.", field="event_key")
    return text


def _time(text: str) -> str:
    parse_text(text, field="observed_at")
    return text


def _said(text: str) -> str:
    if not text.strip():
        raise InvalidInput("The text is empty.")
    return text


EventKey = Annotated[str, Field(min_length=1, max_length=MAX_EVENT_KEY), AfterValidator(_key)]
_Name = Annotated[str, Field(min_length=1, max_length=256)]
_Ref = Annotated[str, Field(min_length=1, max_length=1024)]
_Said = Annotated[str, Field(min_length=1, max_length=16384, pattern=r"\S"), AfterValidator(_said)]
_Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class AttentionQuery(BaseModel):
    """Where to go on, and how many items to tell at most."""

    model_config = ConfigDict(extra="forbid")
    cursor: Annotated[str, Field(max_length=1024)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST)] | None = None


class RuntimeScope(BaseModel):
    """A space, and which one of that name it is."""

    space_id: str
    space_instance: str


class AttentionItem(BaseModel):
    """A wake; `decision` is the gate's DecisionRecord."""

    id: str
    wake_ref: str
    parent_id: str | None
    watch_ref: str
    fire_activity_ref: str
    summary: str
    state: Literal["pending", "running", "blocked", "completed", "cancelled"]
    reason: str | None
    decision: dict[str, Any] | None
    decision_ref: str | None
    attempt_ref: str | None
    dispatch_ref: str | None
    clarification: dict[str, Any] | None
    delivery: dict[str, Any] | None


class AttentionPage(BaseModel):
    """`complete` says that the walk over this snapshot has ended, and nothing more."""

    scope: RuntimeScope
    items: list[AttentionItem]
    next_cursor: str | None
    complete: bool


class Clarification(BaseModel):
    """The answer to what was asked."""

    model_config = _CLOSED
    kind: Literal["clarification"]
    event_key: EventKey
    answer: _Said


class AgentStatement(BaseModel):
    """What an agent says about a wake."""

    model_config = _CLOSED
    kind: Literal["agent_statement"]
    event_key: EventKey
    statement: _Said


AttentionResponse = Annotated[Clarification | AgentStatement, Field(discriminator="kind")]


class ResponseReceipt(BaseModel):
    """What came of a response."""

    receipt_id: str
    status: Literal["gate_opened", "recorded"]
    evidence_ref: str | None


class Measurement(BaseModel):
    """What was measured; `magnitude` is left open where nothing was."""

    model_config = _CLOSED
    kind: Literal["measurement"]
    terminal: bool
    outcome_status: Literal["success", "partial", "failure", "aborted", "unknown"]
    magnitude: Annotated[float, Field(ge=0, le=1)] | None = None
    payload: Any


class Learning(BaseModel):
    """Measurements of a learning attempt; no learning controller is installed."""

    model_config = _CLOSED
    kind: Literal["learning"]
    measurements: dict[str, Any]


class Utility(BaseModel):
    """A witness of what memory contributed; nothing here takes one."""

    model_config = _CLOSED
    witness_ref: _Ref | None = None
    witness: dict[str, Any] | None = None


class OutcomeInput(BaseModel):
    """A measurement by a registered observer."""

    model_config = _CLOSED
    space_instance: _Digest
    attempt_ref: _Ref
    observer_configuration_digest: _Digest
    event_key: EventKey
    observed_at: Annotated[
        str,
        Field(max_length=64, json_schema_extra={"format": "date-time"}),
        AfterValidator(_time),
    ]
    metric: _Name
    window: _Name
    observation: Annotated[Measurement | Learning, Field(discriminator="kind")]
    correction_of: EventKey | None = None
    safety_signal: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    utility: Utility | None = None


class ObservationReceipt(BaseModel):
    """What came of a measurement."""

    format: Literal["anda-brain:observation-receipt-v1"]
    receipt_id: str
    scope: RuntimeScope
    event_key: str
    body_digest: str
    observer: str
    received_at_ms: int
    observed_at: str
    status: Literal["recorded", "corrected", "late"]
    native_committed: bool
    learning_eligible: bool
    outcome_status: Literal["success", "partial", "failure", "aborted", "unknown"] | None
    outcome_ref: str | None
    observation_ref: str | None
    reason: str | None
    safety_pending: bool


class LearningStatus(BaseModel):
    """There is no learning controller; figures are for auditors, and there are none."""

    compiled: bool
    registered: bool
    bindings_ready: bool
    automatic_allowed: bool
    blocked_reasons: list[str]
    capacity: None = None
    last_pass: None = None


class RuntimeStatus(BaseModel):
    """Whether the inbox is open to this caller, and why not."""

    supported: bool
    configured: bool
    scope: RuntimeScope | None
    attention_enabled: bool
    actions_enabled: bool
    observation_enabled: bool
    observer_authenticated: bool
    blocked_reasons: list[str]
    visible_items: int
    inventory_complete: bool
    learning: LearningStatus
