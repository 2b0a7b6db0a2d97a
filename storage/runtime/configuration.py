"""`BRAIN_RUNTIME_CONFIG`: a JSON file that says who is let into the runtime inbox of which space.

    {
      "format": "brainstem:runtime-configuration-v1",
      "spaces": {
        "sp1": {
          "callers": [
            {"principal": "ana", "cwt_subject": "ana", "audience": "all", "roles": ["auditor"]},
            {"principal": "bot", "space_token_digest": "sha256:<hex>", "audience": ["C-12"]},
            {"principal": "gauge", "cwt_subject": "gauge", "audience": [],
             "roles": ["record_outcome"]}
          ],
          "observers": [
            {"principal": "gauge", "configuration_digest": "sha256:<hex>",
             "control_domain": "instruments", "task_family": "reminders",
             "metric": "delivery", "window": "durable_inbox_v1", "lateness_seconds": 86400}
          ]
        }
      }
    }

`callers` maps real credentials to native principals. A space token is named by the SHA-256 of its
full value (`printf %s "$TOKEN" | sha256sum`), so that another token of the same name inherits
nothing. `audience` is "all", or ids of Watches, or of Concepts that Watches are assigned to; the
Person that stands for a caller (`actor`, else the principal's name) is always in it. Roles:
`auditor` sees figures of the runtime's own, `record_outcome` may send measurements (signed tokens
only).

`observers` are the registered contracts of measuring; `configuration_digest` is the digest of the
observer's method, and names the contract in a request. `control_domain` is who controls the
instrument; it must not be the domain that controls the action. The file is read once, when the
process starts; a file that is wrong stops the start (`brainstem runtime check FILE` says all that
is wrong with it, without starting anything).

`workflows`, where a space has any, pin the isolated workflows that its host means to install:

    {"name": "skills", "services": {"controller": "sha256:<hex>", "judge": "sha256:<hex>"},
     "calibration_digest": "sha256:<hex>", "approvals": 2}

They grant nothing and start nothing; `readiness` tells how far what is installed fits them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from storage import strict_json
from storage.canonical import digest
from storage.errors import InvalidInput

FORMAT = "brainstem:runtime-configuration-v1"
#: Longest file, in bytes.
MAX_BYTES = 1024 * 1024

_Name = Annotated[str, Field(min_length=1, max_length=256)]
_Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
_Ref = Annotated[str, Field(pattern=r"^C-[1-9][0-9]{0,17}$")]
Role = Literal["auditor", "record_outcome"]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Mapping(_Closed):
    """One credential, and the native principal that its holder is."""

    principal: _Name
    cwt_subject: _Name | None = None
    space_token_digest: _Digest | None = None
    actor: _Name | None = None
    audience: Literal["all"] | Annotated[tuple[_Ref, ...], Field(max_length=1000)]
    roles: Annotated[tuple[Role, ...], Field(max_length=2)] = ()

    @model_validator(mode="after")
    def _one_credential(self) -> Self:
        if (self.cwt_subject is None) == (self.space_token_digest is None):
            raise ValueError("a caller has either cwt_subject or space_token_digest")
        if self.cwt_subject is None and "record_outcome" in self.roles:
            raise ValueError("record_outcome needs a signed token")
        return self


class ObserverContract(_Closed):
    """What an observer may measure, and how late it may tell."""

    principal: _Name
    configuration_digest: _Digest
    control_domain: _Name
    task_family: _Name
    metric: _Name
    window: _Name
    lateness_seconds: Annotated[float, Field(gt=0, le=31_536_000)]

    @property
    def digest(self) -> str:
        """The digest of the whole contract."""
        return digest(self.model_dump())


class Workflow(_Closed):
    """An isolated workflow of a host: its services by role, each with the digest of its identity.

    `calibration_digest` is of the calibration that somebody must have reviewed, where it has one;
    `approvals` is how many must have approved the workflow as it stands here.
    """

    name: _Name
    services: Annotated[dict[_Name, _Digest], Field(min_length=1, max_length=64)]
    calibration_digest: _Digest | None = None
    approvals: Annotated[int, Field(ge=0, le=16)] = 0

    @property
    def digest(self) -> str:
        """The digest of all that is pinned: what an approval is of."""
        return digest(self.model_dump())


class SpaceRuntime(_Closed):
    """The inbox of one space."""

    callers: Annotated[tuple[Mapping, ...], Field(max_length=1000)]
    observers: Annotated[tuple[ObserverContract, ...], Field(max_length=1000)] = ()
    workflows: Annotated[tuple[Workflow, ...], Field(max_length=100)] = ()

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        keys = [one.cwt_subject or one.space_token_digest for one in self.callers]
        if len(set(keys)) < len(keys):
            raise ValueError("a credential is mapped twice")
        # a principal is one holder: else two callers would share event keys and receipts
        if len({one.principal for one in self.callers}) < len(keys):
            raise ValueError("a principal is mapped twice")
        contracts = [(one.principal, one.configuration_digest) for one in self.observers]
        if len(set(contracts)) < len(contracts):
            raise ValueError("an observer contract is registered twice")
        if len({one.name for one in self.workflows}) < len(self.workflows):
            raise ValueError("a workflow is named twice")
        return self

    @property
    def digest(self) -> str:
        """What cursors are bound to: another configuration has another digest."""
        return digest(self.model_dump())

    def contract(self, principal: str, configuration_digest: str) -> ObserverContract | None:
        """The registered contract of an observer."""
        for one in self.observers:
            if (one.principal, one.configuration_digest) == (principal, configuration_digest):
                return one
        return None


class RuntimeConfiguration(_Closed):
    """The whole file."""

    format: Literal["brainstem:runtime-configuration-v1"]
    spaces: Annotated[dict[str, SpaceRuntime], Field(max_length=10_000)]


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a configuration, and where: names of members, never a value."""

    place: str
    message: str


def parse(raw: bytes) -> RuntimeConfiguration | tuple[Fault, ...]:
    """The configuration that a file holds, else all that is wrong with it; nothing else is done."""
    if len(raw) > MAX_BYTES:
        return (Fault("", "the file is larger than 1 MiB"),)
    try:
        given = strict_json.decode(raw.decode(), InvalidInput, "configuration")
    except InvalidInput as error:
        return (Fault("", error.message.rstrip(".")),)
    except (UnicodeDecodeError, RecursionError):
        return (Fault("", "the file is no JSON in UTF-8"),)
    try:
        return RuntimeConfiguration.model_validate(given)
    except ValidationError as error:
        return tuple(
            Fault(".".join(str(part) for part in one["loc"]), one["msg"])
            for one in error.errors(include_url=False, include_input=False)
        )


@lru_cache(maxsize=4)
def read(path: Path) -> RuntimeConfiguration:
    """The configuration in a file; raises `ValueError` that names the first place, and no value."""
    try:
        found = parse(path.read_bytes())
    except OSError as error:
        raise ValueError(f"BRAIN_RUNTIME_CONFIG cannot be read: {error.strerror}.") from None
    if isinstance(found, RuntimeConfiguration):
        return found
    place = f", {found[0].place}" if found[0].place else ""
    raise ValueError(f"BRAIN_RUNTIME_CONFIG{place}: {found[0].message}.")


def of_space(path: Path | None, space_id: str) -> SpaceRuntime | None:
    """The inbox of a space; None where none is configured."""
    return None if path is None else read(path).spaces.get(space_id)
