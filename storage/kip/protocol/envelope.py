"""The strict request envelope: what it may hold, and what this server does with it.

Unknown members are errors everywhere but in `parameters`, `requires` and `extensions`, whose names
are the sender's (contract kip-engine section 7). Nothing here looks into a command.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, cast

from storage.graph.validity import instant
from storage.kip.errors import (
    InvalidRequestEnvelope,
    ResourceExhausted,
    UnsupportedCapability,
    UnsupportedIsolation,
    UnsupportedProtocolVersion,
)
from storage.kip.language.literals import SAFE_INTEGER
from storage.kip.language.source import MAX_BYTES, MAX_COMMANDS, MAX_DEPTH

Mode = Literal["independent", "sequence", "atomic"]
OnError = Literal["stop", "continue"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_CAPABILITY = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*", re.ASCII)
_EXTENSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._/-]*", re.ASCII)
_UNKEEPABLE = re.compile("[\x00\ud800-\udfff]")

_REQUEST = frozenset(
    {
        "kip",
        "request_id",
        "space",
        "execution",
        "read",
        "ingest",
        "preconditions",
        "operations",
        "parameters",
        "context",
        "requires",
        "options",
        "extensions",
    }
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One command of a request, as it came; `ast` stands for one that came as a tree."""

    op_id: str | None
    language: Literal["KQL", "KML", "META"] | None
    command: str | None
    ast: Mapping[str, Any] | None
    parameters: Mapping[str, Any]
    idempotency_key: str | None


@dataclass(frozen=True, slots=True)
class IngestEntry:
    """What the transport saw and the request wants remembered; `key` is what commands call it."""

    key: str
    evidence_class: str
    payload: Any
    media_type: str | None
    observed_at: datetime | None
    source_actor: Mapping[str, str] | None
    client_key: str | None
    facets: Mapping[str, Mapping[str, Any]]
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is well formed; `parameters` of operations hold the shared ones already."""

    operations: tuple[Operation, ...]
    request_id: str | None = None
    space_id: str | None = None
    space_uri: str | None = None
    mode: Mode = "independent"
    on_error: OnError = "stop"
    execution: Mapping[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None
    snapshot_token: str | None = None
    ingest: tuple[IngestEntry, ...] = ()
    expected_seq: int | None = None
    expected_env_version: int | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    requires: Mapping[str, Any] = field(default_factory=dict)
    dry_run: bool = False
    deadline_ms: int | None = None


def parse(raw: Mapping[str, Any]) -> Request:
    """Check a strict envelope (see `normalise`).

    Raises `InvalidRequestEnvelope`, `UnsupportedProtocolVersion`, `UnsupportedIsolation`,
    `UnsupportedCapability` (critical extensions, atomic mode, artifacts), `ResourceExhausted` for
    what is over a budget, and `TypeMismatch` or `ConstraintViolation` for times.
    """
    check_tree(raw)
    if raw.get("kip") != "2.0":
        if not isinstance(raw.get("kip"), str):
            raise InvalidRequestEnvelope('kip says the version: "2.0".')
        raise UnsupportedProtocolVersion("This server speaks KIP 2.0.")
    _members(raw, _REQUEST, "The request")
    _extensions(raw, "the request")
    shared = _parameters(raw.get("parameters"), "parameters")
    operations = _operations(raw, shared)
    given = _execution(raw, len(operations))
    space = _object(raw, "space", {"id", "uri"})
    read = _object(raw, "read", {"snapshot_token", "extensions"})
    expected = _object(
        raw, "preconditions", {"space_seq", "schema_environment_version", "extensions"}
    )
    options = _object(raw, "options", {"dry_run", "deadline_ms", "extensions"})
    if "space" in raw and not space:
        raise InvalidRequestEnvelope("space names an id or a uri.")
    return Request(
        operations,
        request_id=_text(raw, "request_id", 256),
        space_id=_text(space, "id", 512),
        space_uri=_text(space, "uri", 2048),
        mode=given.get("mode", "independent"),
        on_error=given.get("on_error", "stop"),
        execution={name: given[name] for name in given if name != "extensions"},
        idempotency_key=_text(given, "idempotency_key", 1024),
        snapshot_token=_text(read, "snapshot_token", 8192),
        ingest=_ingest(raw, shared, operations),
        expected_seq=_count(expected, "space_seq", 0),
        expected_env_version=_count(expected, "schema_environment_version", 0),
        context=_context(raw),
        requires=_requires(raw),
        dry_run=_flag(options, "dry_run"),
        deadline_ms=_count(options, "deadline_ms", 1),
    )


def check_tree(value: Any) -> None:
    """Refuse what JSON cannot say and memory cannot keep, wherever it is in the request.

    Raises `ResourceExhausted` for what is nested deeper than `MAX_DEPTH`, `InvalidRequestEnvelope`
    for NUL characters, lone surrogates, numbers that are not finite, and what is no JSON at all.
    """
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            match item:
                case None | bool() | int():
                    pass
                case str():
                    _check_text(item)
                case float():
                    if not math.isfinite(item):
                        raise InvalidRequestEnvelope("A number of the request is not finite.")
                case Mapping():
                    for name in item:
                        if not isinstance(name, str):
                            raise InvalidRequestEnvelope("Names in a request are strings.")
                        _check_text(name)
                    below.extend(item.values())
                case list() | tuple():
                    below.extend(item)
                case _:
                    raise InvalidRequestEnvelope("The request holds what is no JSON.")
        if not below:
            return
        level = below
    raise ResourceExhausted(f"The request is nested deeper than {MAX_DEPTH} levels.")


def keepable(text: str) -> bool:
    """Whether a text has neither NUL characters nor lone surrogates."""
    return _UNKEEPABLE.search(text) is None


def _check_text(text: str) -> None:
    if not keepable(text):
        raise InvalidRequestEnvelope("Text must not hold NUL characters or lone surrogates.")


def _operations(raw: Mapping[str, Any], shared: Mapping[str, Any]) -> tuple[Operation, ...]:
    given = raw.get("operations")
    if not isinstance(given, list) or not given:
        raise InvalidRequestEnvelope("operations is an array of at least one operation.")
    if len(given) > MAX_COMMANDS:
        raise ResourceExhausted(f"A request may have {MAX_COMMANDS} commands; this one has more.")
    operations = tuple(_operation(one, shared) for one in given)
    ids = [one.op_id for one in operations if one.op_id is not None]
    if len(ids) != len(set(ids)):
        raise InvalidRequestEnvelope("Two operations have the same op_id.")
    size = sum(len(one.command.encode()) for one in operations if one.command is not None)
    if size > MAX_BYTES:
        raise ResourceExhausted(
            f"The commands of a request may have {MAX_BYTES} bytes; these have more.",
            data={"hint": "Split the request, or pass long values as parameters."},
        )
    return operations


def _operation(raw: Any, shared: Mapping[str, Any]) -> Operation:
    if not isinstance(raw, Mapping):
        raise InvalidRequestEnvelope("An operation is an object, or one command as a string.")
    _members(
        raw,
        frozenset(
            {
                "op_id",
                "language",
                "command",
                "ast",
                "parameters",
                "idempotency_key",
                "options",
                "extensions",
            }
        ),
        "An operation",
    )
    if ("command" in raw) == ("ast" in raw):
        raise InvalidRequestEnvelope("An operation has either a command or an ast.")
    command, ast = raw.get("command"), raw.get("ast")
    if "command" in raw and not (isinstance(command, str) and command):
        raise InvalidRequestEnvelope("A command is a string that is not empty.")
    if "ast" in raw and not isinstance(ast, Mapping):
        raise InvalidRequestEnvelope("An ast is an object.")
    language = raw.get("language")
    if language not in (None, "KQL", "KML", "META") or ("language" in raw and language is None):
        raise InvalidRequestEnvelope("language is KQL, KML or META.")
    _extensions(raw, "an operation")
    _object(raw, "options", {"extensions"})
    own = _parameters(raw.get("parameters"), "parameters of an operation")
    return Operation(
        op_id=_text(raw, "op_id", 256),
        language=language,
        command=command,
        ast=ast,
        parameters={**shared, **own},
        idempotency_key=_text(raw, "idempotency_key", 1024, nullable=True),
    )


def _execution(raw: Mapping[str, Any], operations: int) -> dict[str, Any]:
    given = _object(
        raw, "execution", {"mode", "on_error", "isolation", "idempotency_key", "extensions"}
    )
    if not given:
        if operations > 1:
            raise InvalidRequestEnvelope(
                "Several operations need execution.mode.",
                data={"hint": 'Say {"mode": "independent"} or {"mode": "sequence"}.'},
            )
        return {}
    if given.get("mode") not in ("independent", "sequence", "atomic"):
        raise InvalidRequestEnvelope("execution.mode is independent, sequence or atomic.")
    if given.get("on_error", "stop") not in ("stop", "continue"):
        raise InvalidRequestEnvelope("execution.on_error is stop or continue.")
    isolation = _text(given, "isolation", 64)
    if isolation not in (None, "serializable"):
        raise UnsupportedIsolation("Transactions are serializable here, and nothing else.")
    if given["mode"] == "atomic":
        if given.get("on_error") == "continue":
            raise InvalidRequestEnvelope("What is atomic cannot go on after an error.")
        raise UnsupportedCapability(
            "A batch of operations is not atomic here.",
            data={"hint": "MUTATE {…} joins any number of mutations in one transaction."},
        )
    return dict(given)


def _ingest(
    raw: Mapping[str, Any], shared: Mapping[str, Any], operations: tuple[Operation, ...]
) -> tuple[IngestEntry, ...]:
    if "ingest" not in raw:
        return ()
    block = _object(raw, "ingest", {"evidence", "extensions"})
    given = block.get("evidence")
    if not isinstance(given, list) or not given:
        raise InvalidRequestEnvelope("ingest.evidence is an array of at least one entry.")
    entries = tuple(_entry(one) for one in given)
    keys = [entry.key for entry in entries]
    if len(keys) != len(set(keys)):
        raise InvalidRequestEnvelope("Two entries of ingest have the same key.")
    taken = set(shared).union(*(operation.parameters for operation in operations))
    for key in keys:
        if key in taken:
            raise InvalidRequestEnvelope(f"{key!r} is a parameter and an ingested entry at once.")
    return entries


def _entry(raw: Any) -> IngestEntry:
    if not isinstance(raw, Mapping):
        raise InvalidRequestEnvelope("An entry of ingest is an object.")
    _members(
        raw,
        frozenset(
            {
                "key",
                "evidence_class",
                "payload",
                "payload_artifact",
                "media_type",
                "observed_at",
                "source_actor",
                "client_key",
                "facets",
                "extensions",
            }
        ),
        "An entry of ingest",
    )
    _extensions(raw, "an entry of ingest")
    key = _text(raw, "key", 256)
    if key is None or _NAME.fullmatch(key) is None:
        raise InvalidRequestEnvelope("An entry of ingest needs a key that a parameter can have.")
    evidence_class = _text(raw, "evidence_class", 256)
    if evidence_class is None:
        raise InvalidRequestEnvelope("An entry of ingest needs an evidence_class.")
    if ("payload" in raw) == ("payload_artifact" in raw):
        raise InvalidRequestEnvelope("An entry of ingest has a payload or a payload_artifact.")
    if "payload_artifact" in raw:
        _text(raw, "payload_artifact", 8192)
        raise UnsupportedCapability("This server takes payloads inline.")
    observed = None
    if "observed_at" in raw:
        observed = instant(raw["observed_at"], "observed_at")
    return IngestEntry(
        key=key,
        evidence_class=evidence_class,
        payload=raw["payload"],
        media_type=_text(raw, "media_type", 256),
        observed_at=observed,
        source_actor=_actor(raw),
        client_key=_text(raw, "client_key", 1024),
        facets=_facets(raw),
        raw=raw,
    )


def _actor(raw: Mapping[str, Any]) -> Mapping[str, str] | None:
    if "source_actor" not in raw:
        return None
    given = raw["source_actor"]
    if (
        not isinstance(given, Mapping)
        or given.keys() not in ({"id"}, {"type", "key"})
        or not all(isinstance(value, str) and value for value in given.values())
    ):
        raise InvalidRequestEnvelope(
            'source_actor names an element: {"id": …} or {"type": …, "key": …}.'
        )
    return cast(Mapping[str, str], given)


def _facets(raw: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    given = raw.get("facets", {})
    if not isinstance(given, Mapping) or not all(
        isinstance(values, Mapping) for values in given.values()
    ):
        raise InvalidRequestEnvelope("facets is an object of objects.")
    return cast(Mapping[str, Mapping[str, Any]], given)


def _context(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    given = _object(raw, "context", {"purpose", "risk", "locale", "client", "extensions"})
    for name, most in (("purpose", 256), ("risk", 128), ("locale", 64), ("client", 256)):
        _text(given, name, most)
    return given


def _requires(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    given = raw.get("requires", {})
    if not isinstance(given, Mapping):
        raise InvalidRequestEnvelope("requires is an object.")
    for name in given:
        if _CAPABILITY.fullmatch(name) is None:
            raise InvalidRequestEnvelope(f"{name!r} is no name of a capability.")
    return given


def _parameters(given: Any, what: str) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidRequestEnvelope(f"{what} is an object.")
    for name in given:
        if _NAME.fullmatch(name) is None:
            raise InvalidRequestEnvelope(
                f"{name!r} is no name of a parameter.",
                data={"hint": "Leave the colon out; letters, digits and _ make a name."},
            )
    return given


def _object(raw: Mapping[str, Any], name: str, known: set[str]) -> Mapping[str, Any]:
    """A member that is an object, {} where it is absent."""
    if name not in raw:
        return {}
    given = raw[name]
    if not isinstance(given, Mapping):
        raise InvalidRequestEnvelope(f"{name} is an object.")
    _members(given, frozenset(known), name)
    _extensions(given, name)
    return given


def _members(raw: Mapping[str, Any], known: frozenset[str], what: str) -> None:
    for name in raw:
        if name not in known:
            raise InvalidRequestEnvelope(
                f"{what} has no member {name!r}.",
                data={"hint": f"It has {', '.join(sorted(known))}."},
            )


def _extensions(raw: Mapping[str, Any], what: str) -> None:
    """No extension is known here: a critical one refuses the request, others mean nothing."""
    if "extensions" not in raw:
        return
    given = raw["extensions"]
    if not isinstance(given, Mapping):
        raise InvalidRequestEnvelope(f"extensions of {what} is an object.")
    for name, value in given.items():
        if _EXTENSION.fullmatch(name) is None:
            raise InvalidRequestEnvelope(
                f"{name!r} is no name of an extension.",
                data={"hint": "Extensions are named namespace/name."},
            )
        if not isinstance(value, Mapping):
            raise InvalidRequestEnvelope(f"The extension {name!r} is an object.")
        critical = value.get("critical", False)
        if not isinstance(critical, bool):
            raise InvalidRequestEnvelope(f"critical of the extension {name!r} is true or false.")
        if critical:
            raise UnsupportedCapability(f"This server does not know the extension {name!r}.")


def _text(raw: Mapping[str, Any], name: str, most: int, *, nullable: bool = False) -> str | None:
    value = raw.get(name)
    if name not in raw or (nullable and value is None):
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= most:
        raise InvalidRequestEnvelope(f"{name} is a string of 1 to {most} characters.")
    return value


def _count(raw: Mapping[str, Any], name: str, least: int) -> int | None:
    if name not in raw:
        return None
    value = raw[name]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= SAFE_INTEGER:
        raise InvalidRequestEnvelope(f"{name} is a whole number of at least {least}.")
    return value


def _flag(raw: Mapping[str, Any], name: str) -> bool:
    value = raw.get(name, False)
    if not isinstance(value, bool):
        raise InvalidRequestEnvelope(f"{name} is true or false.")
    return value
