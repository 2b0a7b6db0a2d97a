"""Which model a space uses, and what a configuration may say."""

import pytest

from pipelines.ports.models import ModelConfig, resolve
from storage.errors import InvalidInput
from storage.model_config import guard
from storage.settings import Settings

BYOK = {
    "family": "OpenAI",
    "model": "m-1",
    "api_base": "https://models.test/v1/",
    "api_key": "k",
}


def deployment(**fields: str) -> Settings:
    known = {"model_family": "", "model_name": "", "model_api_base": "", "model_api_key": ""}
    return Settings(**{**known, **fields})  # type: ignore[arg-type]


def test_without_any_configuration_there_is_no_model() -> None:
    assert resolve(None, deployment()) is None
    assert resolve(None, deployment(model_family="openai")) is None


def test_the_deployment_names_the_model_of_spaces_without_their_own() -> None:
    config = resolve(None, deployment(model_family="gemini", model_name="g-1", model_api_key="k"))
    assert config == ModelConfig("gemini", "g-1", api_key="k")
    assert config is not None
    assert config.base_url == "https://generativelanguage.googleapis.com"


def test_a_spaces_own_model_goes_before_the_deployments_unless_disabled() -> None:
    settings = deployment(model_family="deepseek", model_name="d-1")
    own = resolve(ModelConfig.from_mapping(BYOK), settings)
    assert own is not None
    assert (own.name, own.base_url) == ("openai/m-1", "https://models.test/v1")
    other = resolve(ModelConfig.from_mapping({**BYOK, "disabled": True}), settings)
    assert other is not None
    assert other.name == "deepseek/d-1"


def test_a_key_is_in_no_representation() -> None:
    config = ModelConfig.from_mapping({**BYOK, "api_key": "sk-very-secret"})
    assert "very-secret" not in repr(config)
    assert "very-secret" not in config.key_digest


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"family": ""}, "family"),
        ({"model": None}, "model"),
        ({"model": "a\nb"}, "model"),
        ({"api_key": 7}, "api_key"),
        ({"api_key": "schlüssel"}, "api_key"),
        ({"api_base": "https://models.example:port"}, "api_base"),
        ({"api_base": "http://[::1"}, "api_base"),
        ({"api_base": "ftp://models.example"}, "api_base"),
        ({"api_base": "models.example/v1"}, "api_base"),
        ({"api_base": "https://user:word@models.example"}, "api_base"),
        ({"api_base": "https://models.example/?key=1"}, "api_base"),
        ({"api_base": "", "family": "elsewhere"}, "api_base"),
        ({"effort": "huge"}, "effort"),
        ({"disabled": "no"}, "disabled"),
        ({"max_output": 0}, "max_output"),
        ({"context_window": True}, "context_window"),
        ({"label": "x" * 3000}, "label"),
    ],
)
def test_a_wrong_configuration_is_refused_by_field(change: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ModelConfig.from_mapping({**BYOK, **change})
    assert caught.value.data["field"] == field


def test_every_field_of_the_seed_is_read() -> None:
    config = ModelConfig.from_mapping(
        {
            **BYOK,
            "disabled": False,
            "label": "ours",
            "effort": "low",
            "bearer_auth": True,
            "stream": True,
            "context_window": 128_000,
            "max_output": 4096,
            "something_newer": 1,
        }
    )
    assert config == ModelConfig(
        "openai",
        "m-1",
        "https://models.test/v1/",
        "k",
        False,
        "ours",
        "low",
        True,
        True,
        128_000,
        4096,
    )


def test_the_wire_form_is_read_back_as_it_was() -> None:
    config = ModelConfig.from_mapping({**BYOK, "effort": "high", "max_output": 7})
    told = config.as_mapping()
    assert told["api_key"] == "k"
    assert "label" not in told
    assert ModelConfig.from_mapping(told) == config


def test_a_guarded_model_is_at_a_public_address_and_its_guard_is_not_on_the_wire() -> None:
    config = guard(ModelConfig.from_mapping(BYOK))
    assert config.guarded
    assert "guarded" not in config.as_mapping()
    assert not ModelConfig.from_mapping({**BYOK, "guarded": True}).guarded


@pytest.mark.parametrize(
    "base",
    [
        "https://mod els.test",
        "https://models.test/v 1",
        "https://models.test/v1\\@127.0.0.1",
        "https://models.test:0",
        "https://models.test\u00a0/v1",
    ],
)
def test_an_address_that_readers_take_for_different_ones_is_refused(base: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ModelConfig.from_mapping({**BYOK, "api_base": base})
    assert caught.value.data["field"] == "api_base"


@pytest.mark.parametrize(
    "base",
    [
        "http://models.test/v1",
        "https://127.0.0.1/v1",
        "https://[::1]:11434/v1",
        "https://localhost/v1",
        "https://169.254.169.254/latest",
        "https://valkey:6379",
    ],
)
def test_a_guarded_model_may_not_name_a_private_address(base: str) -> None:
    config = ModelConfig.from_mapping({**BYOK, "api_base": base})
    with pytest.raises(InvalidInput) as caught:
        guard(config)
    assert caught.value.data["field"] == "api_base"
