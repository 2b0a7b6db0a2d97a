"""How a model of a provider is configured, by a deployment or by a space (seed 003 section 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, get_args
from urllib.parse import SplitResult, urlsplit

from storage.addresses import names_private
from storage.errors import InvalidInput

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
MAX_TEXT = 2048
#: tokens that a window or an answer may have
MAX_COUNT = 100_000_000


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A model of a provider, as a deployment or a space configures it (seed 003 section 7).

    `family` is openai, anthropic, gemini, deepseek or mimo; any other name is a service that
    speaks OpenAI's chat completions and must name its `api_base`. `context_window` and
    `max_output` count tokens. `bearer_auth` sends the key as `Authorization: Bearer` where the
    family has a header of its own for it. `stream` asks for the answer in pieces, for services that
    answer in no other way; pipelines get it whole all the same.

    `guarded` is ours, not part of the wire form: the service is reached by https and at a public
    address or not at all, because it was not the operator who named it.
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
    guarded: bool = False

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
        if not config.api_key.isascii():
            raise InvalidInput("api_key must be plain ASCII.", field="api_key")
        address = _address(config.base_url)
        if address is None or address.scheme not in {"http", "https"} or not address.hostname:
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

    def as_mapping(self) -> dict[str, Any]:
        """The wire form, with the key in it; what is not set is left out."""
        told = {name: getattr(self, name) for name in self.__slots__ if name != "guarded"}
        return {name: value for name, value in told.items() if value is not None}


def guard(config: ModelConfig) -> ModelConfig:
    """`config`, guarded; raises `InvalidInput` where its address is plainly not a public one."""
    address = urlsplit(config.base_url)
    if address.scheme != "https" or names_private(address.hostname or ""):
        raise InvalidInput(
            "api_base must be an https address on the public internet; the operator of this server"
            " may allow others (BRAINSTEM_BYOK_PRIVATE).",
            field="api_base",
        )
    return replace(config, guarded=True)


def _address(url: str) -> SplitResult | None:
    """`url` in parts; None for what is no URL at all, such as one with a port that is no number,
    and for what readers of URLs take for different ones.
    """
    if "\\" in url or any(character.isspace() for character in url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return None if port == 0 else parts


def _text(value: Mapping[str, Any], name: str, *, required: bool) -> str:
    text = value.get(name)
    if text is None and not required:
        return ""
    if not isinstance(text, str) or len(text) > MAX_TEXT or not text.isprintable():
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
    if isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= MAX_COUNT:
        raise InvalidInput(f"{name} must be a positive number of tokens.", field=name)
    return count
