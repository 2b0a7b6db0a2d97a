"""The shapes of the runtime inbox, as seed 003 section 4.6 has them; requests are closed."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from storage.clock import parse_text
from storage.errors import InvalidInput
from storage.runtime.responses import MAX_EVENT_KEY
from storage.runtime.wakes import MOST

_CLOSED = ConfigDict(strict=True, extra="forbid")


def _key(text: str) -> str:
    if len(text.encode()) > MAX_EVENT_KEY:
        raise InvalidInput(f"An event_key has at most {MAX_EVENT_KEY} bytes.", field="event_key")
    return text


def _unit(text: str) -> str:
    if len(text.encode()) > MAX_EVENT_KEY:
        raise InvalidInput(
            f"A sampling_unit has at most {MAX_EVENT_KEY} bytes.", field="utility.witness"
        )
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
_Share = Annotated[float, Field(ge=-1, le=1)]
_Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class AttentionQuery(BaseModel):
    """Where to go on, and how many items to tell at most."""

    model_config = ConfigDict(extra="forbid")
    cursor: Annotated[str, Field(max_length=1024)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST)] | None = None


class RuntimeScope(BaseModel):
    """A space, and which one of that name it is."""

    model_config = _CLOSED
    space_id: _Name
    space_instance: _Digest


class RecallReceiptRef(BaseModel):
    """Which receipt the host keeps of a delivery; it tells nothing of what was delivered."""

    model_config = _CLOSED
    id: _Name
    digest: _Digest
    scope: RuntimeScope


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


class WitnessedElement(BaseModel):
    """The one element of memory that was used, in the version that was delivered."""

    model_config = _CLOSED
    id: Annotated[str, Field(pattern=r"^[CPAEX]-[1-9][0-9]{0,17}$")]
    version: Annotated[int, Field(ge=0, le=2**53)]
    content_digest: _Digest


class ContributionWitness(BaseModel):
    """What one element of memory contributed, as an instrument measured it; an effect with bounds.

    Kept with the measurement as it was told. Nothing here turns it into a score.
    """

    model_config = _CLOSED
    format: Literal["anda-brain:single-contribution-v1"]
    contract_digest: _Digest
    sampling_unit: Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_unit)]
    attempt_ref: _Ref
    decision_ref: _Ref
    recall_receipt: RecallReceiptRef
    target: WitnessedElement
    effect: _Share
    lower_bound: _Share
    upper_bound: _Share
    confidence: Annotated[float, Field(ge=0, lt=1)]
    isolated_contribution: bool

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if not self.lower_bound <= self.effect <= self.upper_bound:
            raise InvalidInput("The bounds of an effect have it between them.", field="utility")
        return self


class Utility(BaseModel):
    """A witness of what memory contributed: one that comes along, or evidence that is here."""

    model_config = _CLOSED
    witness_ref: Annotated[str, Field(pattern=r"^E-[1-9][0-9]{0,17}$")] | None = None
    witness: ContributionWitness | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.witness_ref is None) == (self.witness is None):
            raise InvalidInput("Give either witness or witness_ref.", field="utility")
        return self


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
    #: What answers the safety signal; only a learning controller writes one, and there is none.
    safety_evaluation_ref: str | None = None


class UtilityStatus(BaseModel):
    """Whether measured contributions change the utility of memory."""

    configured: bool
    automatic: bool
    apply: bool
    calibrated: bool
    ranking: bool
    running: bool
    reason: str | None


class LearningAutomation(BaseModel):
    """What a learning controller may begin on its own."""

    trials: bool
    reviews: bool
    archive: bool
    safety: bool


class LearningStorage(BaseModel):
    """The limits of a learning controller's records."""

    maximum_records: int
    maximum_reserved_bytes: int


class LearningCapacity(BaseModel):
    """How full a learning controller is."""

    hot_jobs: int
    maximum_hot_jobs: int
    archived_jobs: int
    retained_identities: int
    reserved_bytes: int
    storage: LearningStorage


class LearningPass(BaseModel):
    """What the last pass of a learning controller did."""

    started_at_ms: int
    finished_at_ms: int
    enrolled: int
    driven: int
    observed: int
    settled: int
    archived: int
    reviews_checked: int
    reviews_enrolled: int
    safety_resolved: int
    blocked: list[str]


class LearningStatus(BaseModel):
    """Whether a learning controller is at work; `capacity` and `last_pass` are for auditors."""

    compiled: bool
    registered: bool
    registration_enabled: bool
    bindings_ready: bool
    automatic_allowed: bool
    running: bool
    automation: LearningAutomation
    blocked_reasons: list[str]
    capacity: LearningCapacity | None
    last_pass: LearningPass | None


class EvaluatorPin(BaseModel):
    """Which evaluator, with which configuration."""

    id: str
    digest: str


class SemanticPass(BaseModel):
    """What the last pass over Watches of text did."""

    scanned: int
    calls: int
    input_tokens: int
    advanced: int
    fired: int
    expired: int
    deferred: int
    reason: str | None


class SemanticAttentionStatus(BaseModel):
    """Whether Watches whose condition is text are evaluated; `last_pass` is for auditors."""

    configured: bool
    automatic: bool
    running: bool
    pin: EvaluatorPin | None
    reason: str | None
    last_pass: SemanticPass | None


class TrustStatus(BaseModel):
    """Whether verified facts change how far sources are trusted.

    `governor_authorized` is about the configured governor, and permits the caller nothing.
    """

    configured: bool
    automatic: bool
    apply: bool
    automatic_apply: bool
    calibrated: bool
    governor_authorized: bool
    running: bool
    reason: str | None


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
    utility: UtilityStatus
    learning: LearningStatus
    semantic_attention: SemanticAttentionStatus
    trust: TrustStatus
