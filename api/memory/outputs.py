"""What the routes answer (seed 003 section 7): the models behind the OpenAPI document.

Handlers build plain data; the contract tests hold what they answer against these models.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")

ZERO_USAGE = {"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "requests": 0}


class RpcError(BaseModel):
    """What went wrong; `data.code` is stable."""

    message: str
    data: dict[str, Any]


class RpcResponse(BaseModel, Generic[T]):
    """The envelope of most answers."""

    result: T
    next_cursor: str | None = None


class Usage(BaseModel):
    """Tokens of language models; all zero where no model was used."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    requests: int


class Receipt(BaseModel):
    """The immutable receipt of an accepted job."""

    receipt_ref: str
    operation: str
    space_id: str
    accepted_seq: int


class AgentOutput(BaseModel):
    """What a run says. `job` and `receipt` tell where to follow it; more members may come."""

    model_config = ConfigDict(extra="allow")
    content: str
    conversation: int | None = None
    failed_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None
    job: str | None = None
    state: str | None = None
    receipt: Receipt | None = None


class MaintenanceAt(BaseModel):
    """When maintenance last ran, Unix milliseconds, by scope; 0: never."""

    daydream: int
    full: int
    quick: int
    start_at: int


class SpaceTier(BaseModel):
    """The tier of a space and when it was set (Unix milliseconds)."""

    tier: int
    updated_at: int


class FormationStatus(BaseModel):
    """How far formation and maintenance of a space are."""

    id: str
    concepts: int
    propositions: int
    conversations: int
    formation_processing: bool
    maintenance_processing: bool
    formation_processed_id: int
    maintenance_processed_id: int
    maintenance_at: MaintenanceAt


class SpaceHandle(BaseModel):
    """A space by its id."""

    id: str


class MemoryDescriptor(BaseModel):
    """What of the Memory Interface is served; a bundle is named when all of it is."""

    kip_memory: Literal["2.0"]
    bundles: list[Literal["memory_basic", "memory_experience", "memory_learning"]]
    default_budget: dict[str, int]
    tokenizer: str
    minimum_response_tokens: int
    default_space: SpaceHandle | None = None


class ServiceInfo(BaseModel):
    """What this server is."""

    name: str
    version: str
    sharding: int
    description: str
    memory_interface: MemoryDescriptor


class SpaceInfo(BaseModel):
    """State and statistics of a space."""

    id: str
    name: str | None = None
    description: str | None = None
    owner: str
    db_stats: dict[str, int | float | str | bool | None]
    concepts: int
    propositions: int
    conversations: int
    public: bool
    tier: SpaceTier
    formation_usage: Usage
    recall_usage: Usage
    maintenance_usage: Usage
    formation_processed_id: int
    maintenance_processed_id: int
    maintenance_at: MaintenanceAt
    memory_interface: MemoryDescriptor | None = None
    wiki_docs: int
    wiki_chunks: int
    wiki_versions: int
    wiki_queries: int
    wiki_digested: int
    wiki_stale_docs: int


ConversationStatus = Literal["submitted", "working", "idle", "completed", "failed", "cancelled"]


class Conversation(BaseModel):
    """The record of a run. Times are Unix milliseconds; `period` is its hour since 1970.

    `user` is the signed subject of who asked for it, or the brain's own principal; `caller` says
    whoever it was.
    """

    id: int = Field(alias="_id")
    user: str
    caller: str
    thread: str | None = None
    label: str | None = None
    messages: list[dict[str, Any]]
    resources: list[Any]
    artifacts: list[Any]
    status: ConversationStatus
    failed_reason: str | None = None
    period: int
    created_at: int
    updated_at: int
    usage: Usage
    extra: dict[str, Any] | None = None


class ConversationDelta(BaseModel):
    """What is new in a record beyond the offsets that the caller has consumed."""

    id: int = Field(alias="_id")
    messages: list[dict[str, Any]]
    artifacts: list[Any]
    status: ConversationStatus
    usage: Usage
    failed_reason: str | None = None
    updated_at: int
