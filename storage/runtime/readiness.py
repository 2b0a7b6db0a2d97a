"""Whether a runtime configuration is sound, and whether what it pins is installed.

Both only look at what they are given: no space is loaded, no model is run, no service is asked, and
no one is let in anywhere. To be ready is to be allowed nothing: each piece of work is checked for
itself, by its service and its permissions, when it is done (seed 003 section 9.1).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from storage.runtime.configuration import Fault, RuntimeConfiguration, SpaceRuntime, Workflow, parse

Gap = Literal["service_missing", "identity_mismatch", "calibration_unreviewed", "approvals_missing"]


@dataclass(frozen=True, slots=True)
class Validation:
    """What was found: with `errors` a process does not start; `warnings` are worth a look."""

    errors: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether a process starts with it."""
        return not self.errors


@dataclass(frozen=True, slots=True)
class Installed:
    """What a host says that it has installed.

    `services` are the digests of their identities by role, `reviewed` the digests of calibrations
    that somebody has looked at, `approvals` the approvers by the digest of the workflow that they
    approved (`Workflow.digest`), so that a workflow that has changed is approved by nobody.
    """

    services: Mapping[str, str] = field(default_factory=dict)
    reviewed: Collection[str] = ()
    approvals: Mapping[str, Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a workflow is not ready; `service` is the role of the one that is to blame, if one is."""

    workflow: str
    gap: Gap
    message: str
    service: str | None = None


@dataclass(frozen=True, slots=True)
class Readiness:
    """How far the pinned workflows are installed. It grants nothing."""

    workflows: tuple[str, ...]
    missing: tuple[Missing, ...]

    @property
    def ready(self) -> bool:
        """Whether there is a workflow, and every one is installed as it is pinned."""
        return bool(self.workflows) and not self.missing


def validate(raw: bytes) -> Validation:
    """Look at a runtime configuration as a file holds it, and at nothing else."""
    found = parse(raw)
    if not isinstance(found, RuntimeConfiguration):
        return Validation(errors=found)
    warnings = [
        Fault(f"spaces.{name}.{place}", message)
        for name, space in found.spaces.items()
        for place, message in _unsound(space)
    ]
    return Validation(warnings=tuple(warnings))


def product_readiness(runtime: SpaceRuntime, installed: Installed) -> Readiness:
    """How far what is installed fits the workflows that a space's configuration pins."""
    missing = [gap for workflow in runtime.workflows for gap in _missing(workflow, installed)]
    return Readiness(tuple(one.name for one in runtime.workflows), tuple(missing))


def _missing(workflow: Workflow, installed: Installed) -> list[Missing]:
    gaps = []
    for role, identity in workflow.services.items():
        there = installed.services.get(role)
        if there is None:
            message = f"No {role} is installed."
            gaps.append(Missing(workflow.name, "service_missing", message, role))
        elif there != identity:
            message = f"The {role} that is installed is not the one that is pinned."
            gaps.append(Missing(workflow.name, "identity_mismatch", message, role))
    calibration = workflow.calibration_digest
    if calibration is not None and calibration not in installed.reviewed:
        message = "Nobody has reviewed its calibration."
        gaps.append(Missing(workflow.name, "calibration_unreviewed", message))
    approved = len(set(installed.approvals.get(workflow.digest, ())))
    if approved < workflow.approvals:
        message = f"{approved} of {workflow.approvals} needed have approved it as it stands."
        gaps.append(Missing(workflow.name, "approvals_missing", message))
    return gaps


def _unsound(space: SpaceRuntime) -> list[tuple[str, str]]:
    """What is allowed and yet of no use: contracts and roles that nobody can use."""
    measuring = {one.principal for one in space.callers if "record_outcome" in one.roles}
    contracted = {one.principal for one in space.observers}
    found = [
        (f"observers.{number}", "no caller with the role record_outcome is its principal")
        for number, one in enumerate(space.observers)
        if one.principal not in measuring
    ]
    found += [
        (f"callers.{number}", "it may send measurements, and no observer contract is its own")
        for number, one in enumerate(space.callers)
        if "record_outcome" in one.roles and one.principal not in contracted
    ]
    return found
