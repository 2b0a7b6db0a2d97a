"""The preconditions of a request: which state of the space it was written for."""

from __future__ import annotations

from dataclasses import dataclass

from storage.kip.errors import PreconditionFailed


@dataclass(slots=True)
class Expectations:
    """What the request expects; its own commits move it on, those of others break it."""

    seq: int | None
    env_version: int | None

    def check(self, head_seq: int, env_version: int) -> None:
        """Compare with the space. Raises `PreconditionFailed`."""
        if self.seq is not None and self.seq != head_seq:
            raise PreconditionFailed(
                f"The space is at sequence {head_seq}, not {self.seq}.",
                data={"precondition": "space_seq", "actual": head_seq},
            )
        if self.env_version is not None and self.env_version != env_version:
            raise PreconditionFailed(
                f"The schema environment is at version {env_version}, not {self.env_version}.",
                data={"precondition": "schema_environment_version", "actual": env_version},
            )

    def moved(self, seq: int, env_version: int) -> None:
        """An operation of the request has committed."""
        if self.seq is not None:
            self.seq = seq
        if self.env_version is not None:
            self.env_version = env_version
