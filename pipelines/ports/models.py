"""The language-model port: which model a space uses, what it is asked, what it answers.

A pipeline asks a `Question` with a typed answer (and tools, which are plain functions) and gets a
`Completion`. Adapters speak to a provider; the one we have is `pydantic_ai_models`. Three errors
leave the port, and none carries a provider's own words (seed 003 sections 4.6, 7 and 10):

- `ModelUnavailable`: 408, 425, 429, every 5xx (529 too), no answer in time, a connection that
  broke. The job runs again later; `retry_after` is what the provider asked for, in seconds.
- `ModelRejected`: any other refusal (400, 401, 403, 404, ...), or content that the provider will
  not answer. It stays so until somebody changes the configuration or the input.
- `ModelMisbehaved`: an answer that cannot be used, twice in a row, or a run that never came to one.

A model call never happens inside a database transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar, cast, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel

from pipelines.formation.proposal import Usage
from storage.errors import InvalidInput
from storage.settings import Settings

Effort = Literal["minimal", "low", "medium", "high", "max"]

#: where a family's own service answers, for a configuration without `api_base`
API_BASES: Mapping[str, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
    "deepseek": "https://api.deepseek.com",
    "mimo": "https://api.xiaomimimo.com/v1",
}
#: characters that the texts of a configuration may have
_TEXT_LIMIT = 2048

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A model of a provider, as a deployment or a space configures it (seed 003 section 7).

    `family` is openai, anthropic, gemini, deepseek or mimo; any other name is a service that
    speaks OpenAI's chat completions and must name its `api_base`. `context_window` and
    `max_output` count tokens. `bearer_auth` sends the key as `Authorization: Bearer` where the
    family has a header of its own for it. `stream` is kept for its owner and changes nothing: a
    pipeline needs whole answers, and the adapter streams only where a provider insists.
    """

    family: str
    model: str
    api_base: str = ""
    api_key: str = field(default="", repr=False)
    disabled: bool = False
    label: str | None = None
    effort: Effort | None = None
    bearer_auth: bool = False
    stream: bool = False
    context_window: int | None = None
    max_output: int | None = None

    @property
    def base_url(self) -> str:
        """`api_base` without its trailing slash, or the family's own service."""
        return (self.api_base or API_BASES.get(self.family, "")).rstrip("/")

    @property
    def name(self) -> str:
        """`family/model`, as receipts and records name the model."""
        return f"{self.family}/{self.model}"

    @property
    def key_digest(self) -> str:
        """Tells two keys apart without revealing either."""
        return hashlib.sha256(self.api_key.encode()).hexdigest()

    @classmethod
    def from_mapping(cls, value: Mapping[str, Any]) -> ModelConfig:
        """Reads the wire form; raises `InvalidInput` naming the first field that is wrong.

        Unknown members are ignored, because clients of other versions send some.
        """
        texts = {
            name: _text(value, name, required=name in {"family", "model"})
            for name in ("family", "model", "api_base", "api_key", "label")
        }
        effort = value.get("effort")
        if effort is not None and effort not in get_args(Effort):
            raise InvalidInput(
                f"effort must be one of {', '.join(get_args(Effort))}.", field="effort"
            )
        config = cls(
            family=texts["family"].lower(),
            model=texts["model"],
            api_base=texts["api_base"],
            api_key=texts["api_key"],
            label=texts["label"] or None,
            effort=cast("Effort | None", effort),
            disabled=_flag(value, "disabled"),
            bearer_auth=_flag(value, "bearer_auth"),
            stream=_flag(value, "stream"),
            context_window=_count(value, "context_window"),
            max_output=_count(value, "max_output"),
        )
        address = urlsplit(config.base_url)
        if address.scheme not in {"http", "https"} or not address.hostname:
            raise InvalidInput(
                "api_base must be an http or https address"
                + ("" if config.api_base else f" (the family {config.family!r} has no default)")
                + ".",
                field="api_base",
            )
        if address.username or address.password or address.query or address.fragment:
            raise InvalidInput(
                "api_base must have no credentials, query or fragment.", field="api_base"
            )
        return config


def _text(value: Mapping[str, Any], name: str, *, required: bool) -> str:
    text = value.get(name)
    if text is None and not required:
        return ""
    if not isinstance(text, str) or len(text) > _TEXT_LIMIT or not text.isprintable():
        raise InvalidInput(f"{name} must be a printable text.", field=name)
    if required and not text.strip():
        raise InvalidInput(f"{name} must not be empty.", field=name)
    return text.strip()


def _flag(value: Mapping[str, Any], name: str) -> bool:
    flag = value.get(name)
    if flag is not None and not isinstance(flag, bool):
        raise InvalidInput(f"{name} must be true or false.", field=name)
    return bool(flag)


def _count(value: Mapping[str, Any], name: str) -> int | None:
    count = value.get(name)
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= 100_000_000:
        raise InvalidInput(f"{name} must be a positive number of tokens.", field=name)
    return count


def resolve(space_settings: Mapping[str, Any], settings: Settings) -> ModelConfig | None:
    """The model of a space: its own (`byok`) unless that is disabled, else the deployment's.

    None when neither names one: then the built-in encoder and extraction do the work. Raises
    `InvalidInput` when a configuration is not usable.
    """
    own = space_settings.get("byok")
    if own:
        config = ModelConfig.from_mapping(own)
        if not config.disabled:
            return config
    if not (settings.model_family and settings.model_name):
        return None
    return ModelConfig.from_mapping(
        {
            "family": settings.model_family,
            "model": settings.model_name,
            "api_base": settings.model_api_base,
            "api_key": settings.model_api_key,
        }
    )


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call while it works on a question; it must only read.

    `parameters` describes and checks the arguments; `call` gets an instance of it, on another
    thread than the asker's, and answers text. A `BrainError` that it raises ends the question.
    """

    name: str
    description: str
    parameters: type[BaseModel]
    call: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Question(Generic[Answer]):
    """What a model is asked: our `instructions`, the material in `prompt`, the type of the answer.

    `max_requests` bounds the round trips of one question, tool calls and second tries included.
    """

    instructions: str
    prompt: str
    answer: type[Answer]
    tools: tuple[Tool, ...] = ()
    max_requests: int = 8


@dataclass(frozen=True, slots=True)
class Completion(Generic[Answer]):
    """A usable answer, what it cost, and which model gave it."""

    answer: Answer
    usage: Usage
    model: str


Checkpoint = Callable[[], None]
Charge = Callable[[Usage], None]


class LanguageModel(Protocol):
    """A configured model, ready to be asked from any thread."""

    @property
    def config(self) -> ModelConfig:
        """The configuration that it was made from."""
        ...

    def ask(
        self,
        question: Question[Answer],
        *,
        checkpoint: Checkpoint | None = None,
        charge: Charge | None = None,
    ) -> Completion[Answer]:
        """Asks and waits; several threads may ask at once.

        `checkpoint` is called a few times a second while waiting; what it raises abandons the
        question and leaves here. `charge` is told the usage exactly once per question of which the
        provider answered any request, be the whole a success, a failure or abandoned;
        `Completion.usage` repeats it.
        Raises `ModelUnavailable`, `ModelRejected` or `ModelMisbehaved`.
        """
        ...


def total(*parts: Usage) -> Usage:
    """The sum of several usages."""
    return Usage(
        input_tokens=sum(p.input_tokens for p in parts),
        output_tokens=sum(p.output_tokens for p in parts),
        cached_tokens=sum(p.cached_tokens for p in parts),
        requests=sum(p.requests for p in parts),
    )


def language_model(space_id: str, config: ModelConfig, settings: Settings) -> LanguageModel:
    """The model of a space, behind the limit that all processes share (`LLM_MAX_CONCURRENCY`).

    Cheap to call again: clients are kept. The first call loads the client library (seconds).
    """
    from pipelines.ports.admission import model_slots
    from pipelines.ports.pydantic_ai_models import PydanticAIModel

    return PydanticAIModel(
        space_id,
        config,
        timeout=settings.model_timeout_seconds,
        slots=model_slots(settings.llm_max_concurrency),
    )
