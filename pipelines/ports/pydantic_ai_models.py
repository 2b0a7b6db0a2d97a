"""The adapter between the language-model port and pydantic-ai, with the families' own SDKs below.

What took measuring (design section 11):

- A client belongs to one event loop. All calls of a process run on one loop in one daemon thread,
  made at first use and anew in a forked child.
- The SDKs try again by themselves, which multiplies time-outs and hides a 429 from the ledger: off.
- Clients are kept by (space, family, base URL, key, model), the least recently used closed first
  and only when nobody uses it. A new key makes a new client.
- A family's SDK is imported when its first model is made (one to three seconds each).

What a provider sends is untrusted: no redirect is followed (it would carry the key elsewhere), a
response is read up to `_RESPONSE_LIMIT` bytes and never decompressed, and a provider's words go to
the log only, with keys blotted out.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import socket
import threading
from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
from pydantic import ValidationError
from pydantic_ai import Agent, RunContext, ToolOutput, exceptions
from pydantic_ai import Tool as AgentTool
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RunUsage, UsageLimits

from pipelines.formation.proposal import Usage
from pipelines.ports.admission import Slots
from pipelines.ports.models import (
    Answer,
    Charge,
    Checkpoint,
    Completion,
    ModelConfig,
    Question,
    Tool,
)
from storage.addresses import is_public
from storage.database import in_transaction
from storage.errors import (
    Fatal,
    ModelMisbehaved,
    ModelRateLimited,
    ModelRejected,
    ModelUnavailable,
)

log = logging.getLogger(__name__)

#: clients kept open per process
_KEPT = 64
#: bytes of one response, headers aside; answers are a few hundred kilobytes at the very most
_RESPONSE_LIMIT = 8 * 1024 * 1024
#: seconds between two looks at the asker's checkpoint
_GLANCE = 0.25
#: seconds that a call which is over may need to leave the loop
_GRACE = 5.0
#: the longest wait that a provider's Retry-After may ask for, seconds
_LONGEST_RETRY_AFTER = 3600.0
#: how often a model may try an answer again that did not fit its type
_SECOND_TRIES = 1
#: characters of a provider's message that are worth logging
_LOGGED = 500
#: asks to slow down
_RATE_LIMITED = 429
#: statuses whose text tells of keys, quotas and names; others' may quote what was asked, and logs
#: hold no content
_ABOUT_ACCESS = frozenset({401, 402, 403, 404, _RATE_LIMITED})
#: others below 500 that may pass too
_PASSING = frozenset({408, 409, 425})
#: the key that the SDKs are given; `_Wire` sends the real one
_PLACEHOLDER = "-"

_KEYLIKE = re.compile(
    r"(?i)\b(bearer\s+)\S+|\b(?:sk|pk|key|ak|AIza)[-_A-Za-z0-9*.]{12,}|\b[A-Za-z0-9_-]{40,}"
)

T = TypeVar("T")


class PydanticAIModel:
    """A `LanguageModel` of any family; make one per use, what is dear is kept per process.

    `timeout` is for a whole question, in seconds, not counting the wait for a slot.
    """

    def __init__(
        self, space_id: str, config: ModelConfig, *, timeout: float, slots: Slots | None = None
    ) -> None:
        self._space_id = space_id
        self._config = config
        self._timeout = timeout
        self._slots = slots

    @property
    def config(self) -> ModelConfig:
        """The configuration that it was made from."""
        return self._config

    def ask(
        self,
        question: Question[Answer],
        *,
        checkpoint: Checkpoint | None = None,
        charge: Charge | None = None,
    ) -> Completion[Answer]:
        """See `LanguageModel.ask`."""
        if in_transaction():
            raise Fatal("A model was asked inside a database transaction.")
        spent = RunUsage()
        slot = self._slots.slot(checkpoint) if self._slots else contextlib.nullcontext()
        with _clients().lease(self._space_id, self._config) as model, slot:
            try:
                answer = self._wait(self._run(model, question, spent), checkpoint)
            finally:
                if charge is not None and spent.requests:
                    charge(_usage(spent))
        return Completion(answer=answer, usage=_usage(spent), model=self._config.name)

    async def _run(self, model: Model, question: Question[Answer], spent: RunUsage) -> Answer:
        agent = Agent(
            model,
            output_type=ToolOutput(question.answer, name="answer"),
            instructions=question.instructions,
            tools=[_tool(t) for t in question.tools],
            retries={"tools": 2, "output": _SECOND_TRIES},
            model_settings=self._settings(),
        )
        async with asyncio.timeout(self._timeout):
            result = await agent.run(
                question.prompt,
                usage=spent,
                usage_limits=UsageLimits(request_limit=question.max_requests),
                infer_name=False,
                event_stream_handler=_read_through if self._config.stream else None,
            )
        return result.output

    def _settings(self) -> ModelSettings:
        settings = ModelSettings(timeout=self._timeout)
        if self._config.max_output:
            settings["max_tokens"] = self._config.max_output
        if self._config.effort:
            settings["thinking"] = self._config.effort
        return settings

    def _wait(self, run: Coroutine[Any, Any, T], checkpoint: Checkpoint | None) -> T:
        future = _loop().submit(run)
        try:
            # the loop ends every run in time; should it be stuck itself, this thread gives up
            remaining = self._timeout + _GRACE
            while remaining > 0:
                try:
                    return future.result(timeout=_GLANCE)
                except TimeoutError:
                    if future.done():
                        raise
                remaining -= _GLANCE
                if checkpoint is not None:
                    checkpoint()
            raise TimeoutError
        except _ToolFault as error:
            raise error.fault from None
        except Exception as error:
            if mapped := self._mapped(error):
                raise mapped from None
            raise
        finally:
            future.cancel()

    def _mapped(self, error: Exception) -> Exception | None:
        """The port's error for one of the client library or the transport; None for any other."""
        problem: Exception | None = None
        status = getattr(error, "status_code", None)
        match error:
            case _ if _not_public(error):
                problem = ModelRejected()
            case exceptions.ModelHTTPError():
                passing = error.status_code >= 500 or error.status_code in _PASSING
                wait = error.retry_after
                if wait is not None:
                    wait = min(max(wait, 0.0), _LONGEST_RETRY_AFTER)
                if error.status_code == _RATE_LIMITED:
                    problem = ModelRateLimited(retry_after=wait)
                else:
                    problem = ModelUnavailable(retry_after=wait) if passing else ModelRejected()
            case exceptions.ContentFilterError():
                problem = ModelRejected("The model provider declined to answer this content.")
            case exceptions.UnexpectedModelBehavior() | exceptions.UsageLimitExceeded():
                problem = ModelMisbehaved()
            case exceptions.ModelRequestRejectedError() | exceptions.ModelQuotaExceededError():
                problem = ModelRejected()
            case exceptions.ModelAPIError() if _redirect(error):
                problem = ModelRejected()
            case exceptions.ModelAPIError() | exceptions.RunCancelled() | TimeoutError():
                problem = ModelUnavailable()
            case httpx2.HTTPError():
                problem = ModelUnavailable()
            case exceptions.UserError():
                problem = ModelRejected()
            case ValidationError() | ValueError() | KeyError() | TypeError() | AttributeError():
                # a body that is no answer of the dialect makes an SDK stumble in its own way
                problem = ModelMisbehaved()
        if problem is not None:
            log.warning(
                "model call failed: %s, status %s, %s: %s",
                self._config.name,
                status,
                type(error).__name__,
                redacted(str(error), self._config.api_key) if status in _ABOUT_ACCESS else "-",
            )
        return problem


def _not_public(error: BaseException | None) -> bool:
    """Whether the call was ended by `_pin`, however the SDK has wrapped that."""
    while error is not None:
        if isinstance(error, _NotPublic):
            return True
        error = error.__cause__ or error.__context__
    return False


def _redirect(error: exceptions.ModelAPIError) -> bool:
    """Whether the provider pointed elsewhere, which is never followed: the key would go along."""
    response = getattr(error.__cause__, "response", None)
    return 300 <= (getattr(response, "status_code", None) or 0) < 400


def redacted(text: str, key: str) -> str:
    """`text` for the log: one line, cut, without `key` and without anything that looks like one."""
    if key:
        text = text.replace(key, "[key]")
    text = _KEYLIKE.sub("[key]", text)
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= _LOGGED else text[:_LOGGED] + "…"


async def _read_through(context: RunContext[Any], pieces: AsyncIterable[Any]) -> None:
    """Take an answer in pieces to its end; the library puts them together."""
    async for _ in pieces:
        pass


def _usage(spent: RunUsage) -> Usage:
    """All families alike: `input_tokens` holds the cached ones, as seed 003 section 7 counts."""
    return Usage(
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cached_tokens=spent.cache_read_tokens,
        requests=spent.requests,
    )


class _ToolFault(Exception):
    """What a tool raised, so that it is not taken for a fault of the model or the library."""

    def __init__(self, fault: Exception) -> None:
        super().__init__()
        self.fault = fault


def _tool(tool: Tool) -> AgentTool[None]:
    async def call(**arguments: Any) -> str:
        try:
            checked = tool.parameters.model_validate(arguments)
        except ValidationError as error:
            raise exceptions.ModelRetry(
                "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            ) from None
        try:
            return await asyncio.to_thread(tool.call, checked)
        except Exception as fault:
            raise _ToolFault(fault) from fault

    return AgentTool.from_schema(
        call,
        name=tool.name,
        description=tool.description,
        json_schema=tool.parameters.model_json_schema(),
    )


# --- the loop -------------------------------------------------------------------------------------


class _Loop:
    """One event loop in one daemon thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="models", daemon=True).start()

    def submit(self, run: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(run, self._loop)


# --- the clients ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Client:
    """A model and the HTTP client below it; `users` are the calls under way."""

    model: Model
    http: httpx2.AsyncClient
    users: int = 0
    evicted: bool = False


class _Clients:
    """The models of a process, the least recently used first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, ...], _Client] = OrderedDict()

    @contextlib.contextmanager
    def lease(self, space_id: str, config: ModelConfig) -> Iterator[Model]:
        """The model of `config` for one call; not closed before the block ends."""
        client = self._take(space_id, config)
        try:
            yield client.model
        finally:
            with self._lock:
                client.users -= 1
                unused = client.evicted and not client.users
            if unused:
                _loop().submit(client.http.aclose())

    def _take(self, space_id: str, config: ModelConfig) -> _Client:
        key = (
            space_id,
            config.family,
            config.base_url,
            config.key_digest,
            config.model,
            str(config.bearer_auth),
            str(config.guarded),
        )
        closable: list[_Client] = []
        with self._lock:
            client = self._kept.get(key)
            if client is None:
                http = _Wire(config)
                client = self._kept[key] = _Client(_model(config, http), http)
            self._kept.move_to_end(key)
            client.users += 1
            while len(self._kept) > _KEPT:
                _, old = self._kept.popitem(last=False)
                old.evicted = True
                if not old.users:
                    closable.append(old)
        for old in closable:
            _loop().submit(old.http.aclose())
        return client


_process_lock = threading.Lock()
_process_loop: _Loop | None = None
_process_clients: _Clients | None = None


def _after_fork() -> None:
    # the parent's threads do not exist here: neither its loop nor a lock that one of them held
    global _process_lock, _process_loop, _process_clients
    _process_lock, _process_loop, _process_clients = threading.Lock(), None, None


os.register_at_fork(after_in_child=_after_fork)


def _loop() -> _Loop:
    global _process_loop
    with _process_lock:
        if _process_loop is None:
            _process_loop = _Loop()
        return _process_loop


def _clients() -> _Clients:
    global _process_clients
    with _process_lock:
        if _process_clients is None:
            _process_clients = _Clients()
        return _process_clients


# --- the wire -------------------------------------------------------------------------------------


class _Bounded(httpx2.AsyncByteStream):
    """A response body that ends with an error beyond the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._stream:
            read += len(chunk)
            if read > _RESPONSE_LIMIT:
                raise httpx2.RemoteProtocolError("the response is larger than any answer")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


#: request headers that reach a provider; the SDKs take others from the operator's environment
_SENT = re.compile(
    r"host|accept|connection|content-(?:type|length)|user-agent|anthropic-(?:version|beta)"
    r"|x-goog-api-client|x-stainless-.+|transfer-encoding"
)


def _credentials(config: ModelConfig) -> dict[str, str]:
    """The header that carries the key of a configuration; none without a key."""
    if not config.api_key:
        return {}
    if config.family == "anthropic" and not config.bearer_auth:
        return {"x-api-key": config.api_key}
    if config.family == "gemini" and not config.bearer_auth:
        return {"x-goog-api-key": config.api_key}
    return {"authorization": f"Bearer {config.api_key}"}


class _Wire(httpx2.AsyncClient):
    """What the SDKs send through: puts the key on, keeps foreign headers off, bounds responses.

    The SDKs themselves never see a key. Left alone they would look for one in the environment, and
    a space's own base URL would be sent the operator's.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(
            follow_redirects=False,
            timeout=httpx2.Timeout(600.0, connect=10.0),
            limits=httpx2.Limits(max_connections=100, max_keepalive_connections=10),
        )
        self._headers_of_ours = {
            **_credentials(config),
            "user-agent": "brainstem",
            "accept-encoding": "identity",
        }
        self._guarded = config.guarded

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        for name in list(request.headers):
            if not _SENT.fullmatch(name.lower()):
                del request.headers[name]
        request.headers.update(self._headers_of_ours)
        if self._guarded:
            await _pin(request)
        streamed = options.pop("stream", False)
        response = await super().send(request, stream=True, **options)
        try:
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise httpx2.RemoteProtocolError("a compressed response was not asked for")
            if isinstance(response.stream, httpx2.AsyncByteStream):
                response.stream = _Bounded(response.stream)
            if not streamed:
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response


class _NotPublic(Exception):
    """The service of a guarded configuration is not on the public internet."""


async def _pin(request: httpx2.Request) -> None:
    """Point a request at a public address of its host, which stays the name that TLS checks.

    The name is resolved once, here, so that it cannot mean something else when it is connected to.
    """
    host, port = request.url.host, request.url.port or 443
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        # what the client itself would say, so that the SDKs take it for what it is
        raise httpx2.ConnectError("the name was not resolved", request=request) from error
    addresses = [str(each[4][0]) for each in found]
    if request.url.scheme != "https" or not all(map(is_public, addresses)):
        raise _NotPublic
    request.extensions = {**request.extensions, "sni_hostname": host}
    request.url = request.url.copy_with(host=addresses[0])


def _model(config: ModelConfig, http: httpx2.AsyncClient) -> Model:
    match config.family:
        case "anthropic":
            return _anthropic(config, http)
        case "gemini":
            return _gemini(config, http)
        case _:
            return _openai(config, http)


def _openai(config: ModelConfig, http: httpx2.AsyncClient) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.deepseek import DeepSeekProvider
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    client = AsyncOpenAI(
        api_key=_PLACEHOLDER,
        base_url=config.base_url,
        max_retries=0,
        http_client=http,
    )
    match config.family:
        case "openai":
            return OpenAIChatModel(config.model, provider=OpenAIProvider(openai_client=client))
        case "deepseek":
            return OpenAIChatModel(config.model, provider=DeepSeekProvider(openai_client=client))
        case family:
            service = OpenAICompatibleProvider(family, openai_client=client)
            return OpenAIChatModel(config.model, provider=service)


def _anthropic(config: ModelConfig, http: httpx2.AsyncClient) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(
        api_key=_PLACEHOLDER,
        # the SDK adds the version itself, configurations often carry it
        base_url=config.base_url.removesuffix("/v1"),
        max_retries=0,
        http_client=http,
    )
    return AnthropicModel(config.model, provider=AnthropicProvider(anthropic_client=client))


def _gemini(config: ModelConfig, http: httpx2.AsyncClient) -> Model:
    from google.genai.types import HttpRetryOptions
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(
        api_key=_PLACEHOLDER,
        http_client=http,
        base_url=re.sub(r"/v1(?:beta|alpha)?(?:/models)?$", "", config.base_url),
        retry_options=HttpRetryOptions(attempts=1),
    )
    return GoogleModel(config.model, provider=provider)
