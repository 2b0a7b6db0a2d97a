"""What the cognitive-memory profile asks of skills beyond the shape of their attributes.

A Skill is an identity; how it behaves is written in immutable SkillRevisions. Its standing moves
with a recorded verdict only, under a guard, so that no writer promotes what was not evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable

from storage.graph.errors import ConstraintViolation, VersionConflict
from storage.graph.planning.planned import Planned
from storage.graph.schema import Schema, TypeDef

_PROFILE = "kip://profiles/cognitive-memory"
SKILL = f"{_PROFILE}/Skill"
REVISION = f"{_PROFILE}/SkillRevision"
_RECORD = "EvaluationRecord"


def check_behaviour(schema: Schema, definition: TypeDef, names: Iterable[str]) -> None:
    """Refuse fields of a revision on a Skill. Raises `ConstraintViolation`."""
    if definition.lineage != SKILL:
        return
    behaviour = schema.type(REVISION).fields
    for name in names:
        if name in behaviour:
            raise ConstraintViolation(f"{name} belongs to a SkillRevision, not to the Skill.")


def check_standing(skill: Planned, verdicts: Iterable[tuple[Planned, frozenset[str]]]) -> None:
    """Hold a Skill's status against the verdicts of its commit, each with its outputs.

    Raises `VersionConflict` for a change without a guard, `ConstraintViolation` for one without a
    verdict that says just that.
    """
    status = skill.doc.get("attributes", {}).get("status")
    if skill.before is None:
        if status != "proposed":
            raise ConstraintViolation("A new Skill is proposed; it has not been evaluated yet.")
        return
    if "attributes.status" not in skill.touched:
        return
    if not skill.guarded:
        raise VersionConflict(
            f"The status of {skill.id} changes under a guard only.",
            data={"plane": None, "actual": skill.before.version},
        )
    was = skill.before.doc.get("attributes", {}).get("status")
    for activity, outputs in verdicts:
        for ref, record in activity.doc.get("facets", {}).items():
            if (
                ref.endswith(f"/{_RECORD}")
                and skill.id in outputs
                and (record.get("from_status"), record.get("to_status")) == (was, status)
            ):
                return
    raise ConstraintViolation(f"No recorded verdict moves {skill.id} from {was} to {status}.")
