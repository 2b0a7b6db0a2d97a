"""The adapter against a provider that speaks the real dialects: each family, each way to fail."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel, Field

from pipelines.formation.proposal import Usage
from pipelines.ports import pydantic_ai_models
from pipelines.ports.models import ModelConfig, Question, Tool
from pipelines.ports.pydantic_ai_models import PydanticAIModel, redacted
from storage.errors import (
    BrainError,
    Cancelled,
    DatabaseUnavailable,
    ModelMisbehaved,
    ModelRateLimited,
    ModelRejected,
    ModelUnavailable,
)
from tests import providers
from tests.providers import (
    DIALECTS,
    Answer,
    Body,
    CallTool,
    Drip,
    HangUp,
    Held,
    Provider,
    Silence,
    Status,
    Step,
    Text,
)
from tests.services import ROOT

provider = providers.provider

FAMILIES = list(DIALECTS)
ONE_OF_EACH = ["openai", "anthropic", "gemini"]


class Colours(BaseModel):
    """The colours of a text."""

    colours: list[str] = Field(min_length=1)


class Where(BaseModel):
    """Where to look."""

    place: str


QUESTION = Question(instructions="Name the colours.", prompt="A red door.", answer=Colours)
RED = Answer({"colours": ["red"]})


def model(provider: Provider, family: str = "openai", timeout: float = 10.0) -> PydanticAIModel:
    return PydanticAIModel("space", provider.config(family), timeout=timeout)


def failure(provider: Provider, family: str, *steps: Step, timeout: float = 10.0) -> BrainError:
    provider.script(*steps)
    with pytest.raises(BrainError) as caught:
        model(provider, family, timeout).ask(QUESTION)
    assert not provider.unscripted
    return caught.value


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_answers_with_the_right_path_key_and_usage(
    provider: Provider,
    family: str,
) -> None:
    provider.script(RED)
    charged: list[Usage] = []
    completion = model(provider, family).ask(QUESTION, charge=charged.append)
    assert completion.answer == Colours(colours=["red"])
    assert completion.model == f"{family}/scripted-1"
    assert completion.usage == Usage(120, 30, 40, 1)
    assert charged == [completion.usage]
    (request,) = provider.requests
    assert request.dialect == DIALECTS[family]
    assert request.key == "test-key-0123456789"
    assert request.model == "scripted-1"
    assert request.tools == ["answer"]
    assert "Name the colours." in request.text
    assert "A red door." in request.text
    assert request.headers["accept-encoding"] == "identity"
    assert not request.body.get("stream")


@pytest.mark.parametrize("family", FAMILIES)
def test_an_answer_that_comes_in_pieces_is_the_same_answer(provider: Provider, family: str) -> None:
    provider.script(RED)
    charged: list[Usage] = []
    config = provider.config(family, stream=True)
    asked = PydanticAIModel("space", config, timeout=10)
    completion = asked.ask(QUESTION, charge=charged.append)
    assert completion.answer == Colours(colours=["red"])
    assert completion.usage == Usage(120, 30, 40, 1)
    assert charged == [completion.usage]
    (request,) = provider.requests
    assert request.body.get("stream") or "stream" in request.path


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_guarded_model_never_reaches_a_private_address(
    provider: Provider, family: str, host: str
) -> None:
    port = provider.url.rpartition(":")[2]
    config = provider.config(family, api_base=f"https://{host}:{port}", guarded=True)
    with pytest.raises(ModelRejected):
        PydanticAIModel("space", config, timeout=10).ask(QUESTION)
    config = provider.config(family, guarded=True)
    with pytest.raises(ModelRejected):
        PydanticAIModel("space", config, timeout=10).ask(QUESTION)
    assert provider.requests == []


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("host", ["no-such-host.invalid", f"{'x' * 64}.test"])
def test_a_guarded_model_whose_name_means_nothing_now_is_unavailable(
    provider: Provider, family: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve = socket.getaddrinfo

    def unknown(name: str, *given: Any, **more: Any) -> Any:
        if name == host:
            # as the resolver tells it, be it away or without an answer; a label that is too long
            # does not get so far
            name.encode("idna")
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return resolve(name, *given, **more)

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    config = provider.config(family, api_base=f"https://{host}", guarded=True)
    with pytest.raises(ModelUnavailable):
        PydanticAIModel("space", config, timeout=10).ask(QUESTION)


def test_a_guarded_request_goes_to_the_address_that_was_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All addresses of a name count, and TLS goes on checking the name."""

    def resolver(*addresses: str) -> None:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 443)) for each in addresses]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    request = httpx2.Request("POST", "https://models.test/v1/x")
    resolver("93.184.216.34", "1.1.1.1")
    asyncio.run(pydantic_ai_models._pin(request))
    assert request.url.host == "93.184.216.34"
    assert request.headers["host"] == "models.test"
    assert request.extensions["sni_hostname"] == "models.test"
    resolver("93.184.216.34", "10.0.0.1")
    with pytest.raises(pydantic_ai_models._NotPublic):
        asyncio.run(pydantic_ai_models._pin(httpx2.Request("POST", "https://models.test/v1/x")))


@pytest.mark.parametrize(
    ("family", "base"),
    [
        ("anthropic", "/v1"),
        ("anthropic", ""),
        ("gemini", "/v1beta/models"),
        ("gemini", "/v1beta"),
        ("gemini", ""),
        ("deepseek", ""),
        ("deepseek", "/v1/"),
    ],
)
def test_a_base_with_or_without_its_version_reaches_the_service(
    provider: Provider, family: str, base: str
) -> None:
    provider.script(RED)
    config = provider.config(family, api_base=provider.url + base)
    PydanticAIModel("space", config, timeout=10).ask(QUESTION)
    path = provider.requests[0].path
    assert path.count("/v1") == (0 if family == "deepseek" and not base else 1)


@pytest.mark.parametrize("family", ["anthropic", "gemini"])
def test_bearer_auth_sends_the_key_as_a_bearer(provider: Provider, family: str) -> None:
    provider.script(RED)
    config = provider.config(family, bearer_auth=True)
    PydanticAIModel("space", config, timeout=10).ask(QUESTION)
    assert provider.requests[0].headers["authorization"] == "Bearer test-key-0123456789"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_space_without_a_key_never_borrows_the_operators(
    provider: Provider, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI", "DEEPSEEK")
    for name in names:
        monkeypatch.setenv(f"{name}_API_KEY", "operators-own-key")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "operators-own-key")
    for name in ("ORG_ID", "PROJECT_ID", "ADMIN_KEY"):
        monkeypatch.setenv(f"OPENAI_{name}", "operators-own-key")
    for name in ("OPENAI", "ANTHROPIC"):
        extra = "x-house: operators-own-key\nauthorization: Bearer operators-own-key"
        monkeypatch.setenv(f"{name}_CUSTOM_HEADERS", extra)
    for bearer in (False, True):
        provider.script(RED)
        config = provider.config(family, api_key="", bearer_auth=bearer)
        PydanticAIModel("space", config, timeout=10).ask(QUESTION)
        provider.script(RED)
        config = provider.config(family, bearer_auth=bearer)
        PydanticAIModel("space", config, timeout=10).ask(QUESTION)
        without, with_key = provider.requests[-2:]
        assert "operators-own-key" not in str(without) + str(with_key)
        assert not without.key
        assert with_key.key == "test-key-0123456789"


@pytest.mark.parametrize("family", ONE_OF_EACH)
def test_a_model_may_look_things_up_before_it_answers(provider: Provider, family: str) -> None:
    asked: list[str] = []

    def look(where: Where) -> str:
        asked.append(where.place)
        return "a green door"

    provider.script(CallTool("look", {"place": "cellar"}), Answer({"colours": ["green"]}))
    tool = Tool("look", "Says what is at a place.", Where, look)
    question = Question("Name the colours.", "Look!", Colours, tools=(tool,))
    completion = model(provider, family).ask(question)
    assert asked == ["cellar"]
    assert completion.answer.colours == ["green"]
    assert completion.usage == Usage(240, 60, 80, 2)
    assert sorted(provider.requests[0].tools) == ["answer", "look"]
    assert "green door" in provider.requests[1].results[-1]


@pytest.mark.parametrize("family", ONE_OF_EACH)
def test_wrong_tool_arguments_go_back_to_the_model_and_not_to_the_tool(
    provider: Provider, family: str
) -> None:
    asked: list[str] = []

    def look(where: Where) -> str:
        asked.append(where.place)
        return "nothing"

    provider.script(CallTool("look", {"plaice": 7}), CallTool("look", {"place": "attic"}), RED)
    tool = Tool("look", "Says what is at a place.", Where, look)
    model(provider, family).ask(Question("i", "p", Colours, tools=(tool,)))
    assert asked == ["attic"]
    assert "place" in str(provider.requests[1].body)


@pytest.mark.parametrize("family", ONE_OF_EACH)
@pytest.mark.parametrize("fault", [DatabaseUnavailable(), KeyError("ours")])
def test_what_a_tool_raises_ends_the_question_as_it_is(
    provider: Provider, family: str, fault: Exception
) -> None:
    def look(_: Where) -> str:
        raise fault

    provider.script(CallTool("look", {"place": "cellar"}))
    charged: list[Usage] = []
    tool = Tool("look", "Says what is at a place.", Where, look)
    with pytest.raises(type(fault)) as caught:
        model(provider, family).ask(
            Question("i", "p", Colours, tools=(tool,)), charge=charged.append
        )
    assert caught.value is fault
    assert charged == [Usage(120, 30, 40, 1)]


@pytest.mark.parametrize("family", ONE_OF_EACH)
def test_a_model_that_never_comes_to_an_answer_is_stopped(provider: Provider, family: str) -> None:
    provider.otherwise = CallTool("look", {"place": "cellar"})
    charged: list[Usage] = []
    tool = Tool("look", "Says what is at a place.", Where, lambda _: "nothing")
    with pytest.raises(ModelMisbehaved):
        model(provider, family).ask(
            Question("i", "p", Colours, tools=(tool,), max_requests=3), charge=charged.append
        )
    assert len(provider.requests) == 3
    assert charged == [Usage(360, 90, 120, 3)]


@pytest.mark.parametrize("family", ONE_OF_EACH)
@pytest.mark.parametrize(
    "wrong", [Answer({"colours": 7}), Answer({"colours": []}), Text("red, I think")]
)
def test_an_unusable_answer_may_be_mended_once(
    provider: Provider, family: str, wrong: Step
) -> None:
    provider.script(wrong, RED)
    completion = model(provider, family).ask(QUESTION)
    assert completion.answer.colours == ["red"]
    assert completion.usage.requests == 2


@pytest.mark.parametrize("family", ONE_OF_EACH)
@pytest.mark.parametrize("wrong", [Answer({"colours": 7}), Text("red, I think")])
def test_two_unusable_answers_are_misbehaviour_and_are_paid_for(
    provider: Provider, family: str, wrong: Step
) -> None:
    provider.script(wrong, wrong)
    charged: list[Usage] = []
    with pytest.raises(ModelMisbehaved):
        model(provider, family).ask(QUESTION, charge=charged.append)
    assert charged == [Usage(240, 60, 80, 2)]


@pytest.mark.parametrize("family", ONE_OF_EACH)
@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 529])
def test_a_passing_fault_is_unavailable_and_not_retried_in_secret(
    provider: Provider, family: str, code: int
) -> None:
    error = failure(provider, family, Status(code, retry_after="7"))
    assert type(error) is (ModelRateLimited if code == 429 else ModelUnavailable)
    assert error.retry
    assert error.retry_after == 7
    assert len(provider.requests) == 1


@pytest.mark.parametrize("family", ONE_OF_EACH)
@pytest.mark.parametrize(("sent", "kept"), [(None, None), ("soon", None), ("999999", 3600)])
def test_retry_after_is_taken_with_care(
    provider: Provider, family: str, sent: str | None, kept: float | None
) -> None:
    assert failure(provider, family, Status(429, retry_after=sent)).retry_after == kept


@pytest.mark.parametrize("family", ONE_OF_EACH)
@pytest.mark.parametrize("code", [400, 401, 403, 404, 422, 307])
def test_a_lasting_refusal_is_rejected(provider: Provider, family: str, code: int) -> None:
    error = failure(provider, family, Status(code, headers={"location": "/elsewhere"}))
    assert type(error) is ModelRejected
    assert not error.retry
    assert len(provider.requests) == 1


@pytest.mark.parametrize("family", ONE_OF_EACH)
@pytest.mark.parametrize("step", [HangUp("head"), HangUp("body")])
def test_a_connection_that_breaks_is_unavailable(
    provider: Provider, family: str, step: Step
) -> None:
    assert type(failure(provider, family, step)) is ModelUnavailable
    assert len(provider.requests) == 1


@pytest.mark.parametrize("family", ONE_OF_EACH)
@pytest.mark.parametrize("step", [Silence(), Drip()])
def test_a_provider_that_takes_too_long_is_unavailable(
    provider: Provider, family: str, step: Step
) -> None:
    # the first use of a family loads its client, which may take longer than the time-out
    provider.script(RED)
    model(provider, family).ask(QUESTION)
    assert type(failure(provider, family, step, timeout=0.5)) is ModelUnavailable
    assert len(provider.requests) == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_a_service_that_is_not_there_is_unavailable(family: str) -> None:
    config = ModelConfig(family, "m", api_base="http://127.0.0.1:9/v1", api_key="k")
    with pytest.raises(ModelUnavailable):
        PydanticAIModel("space", config, timeout=5).ask(QUESTION)


@pytest.mark.parametrize("family", ONE_OF_EACH)
@pytest.mark.parametrize(
    "body",
    [
        Body(b"<html>a proxy's page</html>", "text/html"),
        Body(b'{"choices": '),
        Body(b"{}"),
        Body(b"[]"),
        Body(b"null"),
        Body(b""),
        Body(b'{"choices": [{"message": 7}], "content": 7, "candidates": 7}'),
        Body(b"\xff\xfe\x00garbage"),
    ],
)
def test_a_body_that_is_no_answer_is_an_error_of_the_port(
    provider: Provider, family: str, body: Body
) -> None:
    provider.otherwise = body
    with pytest.raises((ModelMisbehaved, ModelUnavailable, ModelRejected)) as caught:
        model(provider, family).ask(QUESTION)
    assert caught.value.retry
    assert len(provider.requests) <= 2


@pytest.mark.parametrize("family", ONE_OF_EACH)
def test_a_response_is_read_up_to_a_limit(provider: Provider, family: str) -> None:
    provider.script(Answer({"colours": ["red"]}, padding=7 * 1024 * 1024))
    assert model(provider, family).ask(QUESTION).answer.colours == ["red"]
    endless = Answer({"colours": ["red"]}, padding=9 * 1024 * 1024)
    assert type(failure(provider, family, endless)) is ModelUnavailable


@pytest.mark.parametrize("family", ONE_OF_EACH)
def test_a_compressed_response_is_not_read(provider: Provider, family: str) -> None:
    packed = Answer({"colours": ["red"]}, gzipped=True)
    assert type(failure(provider, family, packed)) is ModelUnavailable


@pytest.mark.parametrize("family", ONE_OF_EACH)
def test_another_thread_can_stop_a_question(provider: Provider, family: str) -> None:
    provider.script(Silence())
    stop = threading.Event()

    def checkpoint() -> None:
        if stop.is_set():
            raise Cancelled

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(model(provider, family, 60).ask, QUESTION, checkpoint=checkpoint)
        provider.wait_for_requests(1)
        stop.set()
        with pytest.raises(Cancelled):
            asked.result(timeout=20)
    with provider.arrived:
        assert provider.arrived.wait_for(lambda: provider.in_flight == 0, 20), "still connected"


@pytest.mark.parametrize("family", ONE_OF_EACH)
def test_many_threads_share_a_model(provider: Provider, family: str) -> None:
    provider.otherwise = RED
    shared = model(provider, family)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: shared.ask(QUESTION).answer.colours, range(48)))
    assert answers == [["red"]] * 48


@pytest.mark.parametrize("family", ONE_OF_EACH)
def test_nothing_of_a_providers_words_or_of_a_key_leaves_the_port(
    provider: Provider, family: str, caplog: pytest.LogCaptureFixture
) -> None:
    provider.key = "another-key"
    with caplog.at_level(logging.INFO), pytest.raises(ModelRejected) as caught:
        model(provider, family).ask(QUESTION)
    assert caught.value.message == ModelRejected.default
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "incorrect API key provided" in caplog.text
    assert "test-key-0123456789" not in caplog.text


def test_what_looks_like_a_key_is_blotted_out() -> None:
    text = redacted(
        "Bearer abc.def sk-proj-abcdefgh1234567 AIzaSyA1234567890\nold my-own", "my-own"
    )
    assert text == "Bearer [key] [key] [key] old [key]" or "abc.def" not in text
    for secret in ("abc.def", "abcdefgh1234", "AIzaSyA1234567890", "my-own", "\n"):
        assert secret not in text


def test_settings_reach_the_wire(provider: Provider) -> None:
    for family in ONE_OF_EACH:
        provider.script(RED)
        config = provider.config(family, max_output=777)
        PydanticAIModel("space", config, timeout=10).ask(QUESTION)
        assert "777" in str(provider.requests[-1].body)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("effort", ["minimal", "max"])
def test_every_effort_is_taken_by_every_family(
    provider: Provider, family: str, effort: str
) -> None:
    provider.script(RED)
    config = provider.config(family, effort=effort)
    answer = PydanticAIModel("space", config, timeout=10).ask(QUESTION).answer
    assert answer.colours == ["red"]


def test_clients_are_kept_apart_by_space_and_key_and_the_oldest_are_closed(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pydantic_ai_models, "_KEPT", 2)
    clients = pydantic_ai_models._Clients()
    first = provider.config()
    with clients.lease("a", first) as one, clients.lease("a", first) as same:
        assert one is same
        (kept,) = clients._kept.values()
        for space, key in (("b", "k1"), ("b", "k2"), ("c", "k2")):
            with clients.lease(space, provider.config(api_key=key)) as other:
                assert other is not one
        assert len(clients._kept) == 2
        assert not kept.http.is_closed, "closed while it was in use"
    pydantic_ai_models._loop().submit(_nothing()).result(5)
    assert kept.http.is_closed


async def _nothing() -> None:
    """A turn of the loop."""


FORKED = """
import os, sys
from tests.providers import running, Answer
from tests.unit.ports.test_models_over_http import QUESTION, model
with running() as provider:
    provider.otherwise = Answer({"colours": ["red"]})
    for family in ("openai", "anthropic", "gemini"):
        model(provider, family).ask(QUESTION)
    pid = os.fork()
    if pid == 0:
        for family in ("openai", "anthropic", "gemini"):
            assert model(provider, family).ask(QUESTION).answer.colours == ["red"]
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_asks_with_a_loop_and_clients_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


LAZY = """
import sys
import pipelines.ports.models, pipelines.ports.admission
assert "pydantic_ai" not in sys.modules
from pipelines.ports.pydantic_ai_models import PydanticAIModel
assert not {"openai", "anthropic", "google.genai"} & sys.modules.keys(), "an SDK was imported"
"""


def test_a_family_costs_nothing_before_it_is_used() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LAZY], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_an_answer_that_comes_after_a_wait_is_still_an_answer(provider: Provider) -> None:
    until = threading.Event()
    provider.script(Held(until, RED))
    glances = []

    def checkpoint() -> None:
        glances.append(1)
        until.set()

    assert model(provider).ask(QUESTION, checkpoint=checkpoint).answer.colours == ["red"]
    assert glances
