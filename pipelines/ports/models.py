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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from pipelines.formation.proposal import Usage
from pipelines.work import Work
from storage import byok
from storage.model_config import ModelConfig
from storage.settings import Settings

Answer = TypeVar("Answer", bound=BaseModel)


def model_of(work: Work, settings: Settings) -> LanguageModel | None:
    """The model that works for the space of this run; None where none is configured.

    Raises `InvalidInput` when the deployment's configuration is not usable and `ByokUnreadable`
    when the space's own cannot be opened.
    """
    with work.read() as tx:
        config = resolve(byok.find(tx, work.scope), settings)
    return None if config is None else language_model(work.scope.space_id, config, settings)


def resolve(own: ModelConfig | None, settings: Settings) -> ModelConfig | None:
    """A space's own model unless there is none or it is disabled, else the deployment's.

    None when neither names one: then the built-in encoder and extraction do the work. Raises
    `InvalidInput` when the deployment's configuration is not usable.
    """
    if own is not None and not own.disabled:
        return own
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
