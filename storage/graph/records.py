"""The shapes that the cognitive-memory profile binds its records to, as JSON Schema.

Packages name them `urn:kip:2.0:schema:cognitive-records#/$defs/<Record>`; nothing is fetched from
anywhere, so a package that names anything else cannot be installed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

COMMON = "urn:kip:2.0:schema:common"
RECORDS = "urn:kip:2.0:schema:cognitive-records"

_Schema = dict[str, Any]
_SAFE = 2**53 - 1
_TEXT: _Schema = {"type": "string", "minLength": 1}
_FREE: _Schema = {}
_MAP: _Schema = {"type": "object"}
_FLAG: _Schema = {"type": "boolean"}
_SHARE: _Schema = {"type": "number", "minimum": 0, "maximum": 1}
_PIN: _Schema = {"$ref": f"{COMMON}#/$defs/ArtifactPin"}
_DIGEST: _Schema = {"$ref": f"{COMMON}#/$defs/Digest"}
_TIME: _Schema = {"$ref": f"{COMMON}#/$defs/Timestamp"}
_BASIS: _Schema = {"$ref": "#/$defs/Basis"}


def _number(least: int) -> _Schema:
    return {"type": "integer", "minimum": least, "maximum": _SAFE}


def _one_of(*words: str) -> _Schema:
    return {"enum": list(words)}


def _or_null(schema: _Schema) -> _Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(item: _Schema = _TEXT, least: int = 0, *, unique: bool = False) -> _Schema:
    made: _Schema = {"type": "array", "items": item, "minItems": least}
    return {**made, "uniqueItems": True} if unique else made


def _map_of(value: _Schema, least: int = 0) -> _Schema:
    return {"type": "object", "additionalProperties": value, "minProperties": least}


def _record(optional: Iterable[str] = (), /, **members: _Schema) -> _Schema:
    """An object of exactly these members, all of them required but the `optional` ones."""
    without = set(optional)
    return {
        "type": "object",
        "properties": members,
        "required": [name for name in members if name not in without],
        "additionalProperties": False,
    }


#: The statuses that a verdict may move a skill to, by the one it has.
VERDICTS = {
    "proposed": ("proposed", "trialed", "revoked"),
    "trialed": ("trialed", "adopted", "revoked"),
    "adopted": ("adopted", "trialed", "revoked"),
    "revoked": ("revoked", "trialed"),
}
_STANDING = _one_of(*VERDICTS)
_OUTCOME = _one_of("success", "partial", "failure", "aborted", "unknown")
_CHANNELS = (
    "constraints",
    "commitments",
    "dependencies",
    "failures",
    "experiences",
    "skills",
    "evidence",
)


def _when(member: str, value: str, then: _Schema) -> _Schema:
    return {"if": {"properties": {member: {"const": value}}, "required": [member]}, "then": then}


_TRIAL = _record(
    ("baseline_mode", "enrollment"),
    revision_refs=_list(least=1),
    basis=_BASIS,
    rule=_PIN,
    parameters=_PIN,
    baseline_attempt_refs=_list(),
    baseline_outcome_refs=_list(),
    comparability=_record(
        method=_one_of("paired", "stratified", "randomized", "off_policy"),
        environment_digest=_DIGEST,
        strata_weights=_map_of(_SHARE),
        metric=_TEXT,
        minimum_effect={"type": "number", "minimum": 0},
        uncertainty_rule=_TEXT,
        missingness_policy=_TEXT,
        observer_control_digest=_DIGEST,
        sampling_unit=_TEXT,
        correlation_policy=_TEXT,
    ),
    quota=_number(2),
    observation_window=_TEXT,
    replay_artifact=_PIN,
    evaluation_policy=_record(id=_TEXT, version=_TEXT, content_digest=_DIGEST),
    baseline_mode=_one_of("fixed", "prospective"),
    enrollment=_PIN,
)
_EVALUATION = _record(
    ("cohort_artifact",),
    trial_ref=_or_null(_TEXT),
    revision_refs=_list(least=1),
    from_status=_STANDING,
    to_status=_STANDING,
    rule_digest=_DIGEST,
    parameters_digest=_DIGEST,
    cutoff=_TIME,
    attempt_refs=_list(unique=True),
    outcome_refs=_list(unique=True),
    excluded_samples=_list(_record(ref=_TEXT, reason=_TEXT)),
    missing_attempt_refs=_list(),
    comparison=_record(
        status=_one_of("improved", "not_improved", "insufficient", "safety_failure", "withdrawal"),
        effect=_or_null({"type": "number"}),
        uncertainty=_MAP,
    ),
    replay_artifact=_PIN,
    cohort_artifact=_PIN,
)

_DEFS: dict[str, _Schema] = {
    "Basis": {
        "type": "object",
        "required": ["space_id", "snapshot_seq", "schema_environment_version", "policy"],
        "properties": {
            "space_id": _TEXT,
            "snapshot_seq": _number(0),
            "schema_environment_version": _number(0),
            "policy": {"type": "object", "required": ["id", "version"]},
            "context_refs": _list(),
        },
    },
    "SkillRevision": _record(
        ("applicability", "preconditions", "success_criteria", "recovery"),
        task_family=_TEXT,
        applicability=_FREE,
        preconditions=_FREE,
        procedure=_FREE,
        success_criteria=_FREE,
        recovery=_FREE,
        behavior_digest=_DIGEST,
    ),
    "DependencyBasis": {
        **_record(
            ("queries",),
            basis_seq=_number(0),
            groups=_list(
                _record(
                    role=_one_of("all_of", "any_of", "context"),
                    pins=_list(
                        _record(("planes",), id=_TEXT, version=_number(1), planes=_map_of(_FREE)),
                        1,
                    ),
                )
            ),
            policy_basis=_BASIS,
            queries=_list({"$ref": "#/$defs/QueryDependency"}, 1),
        ),
        "anyOf": [{"properties": {"groups": {"minItems": 1}}}, {"required": ["queries"]}],
    },
    "QueryDependency": _record(
        kind=_one_of("belief", "slot", "query"),
        selector=_PIN,
        result_digest=_DIGEST,
        change_token=_TEXT,
        expectation=_one_of("snapshot", "accepted", "empty", "complete"),
        authorization_view=_TEXT,
    ),
    "DecisionRecord": _record(
        ("rationale",),
        decision=_one_of("act", "ask", "defer", "silence"),
        rationale=_or_null(_TEXT),
        retrieved_refs=_list(),
        used_refs=_list(),
        applied_revisions=_list(),
        basis=_BASIS,
    ),
    "AttemptRecord": _record(
        ("assignment",),
        attempt_id=_TEXT,
        decision_ref=_TEXT,
        applied_revisions=_list(),
        trial_ref=_or_null(_TEXT),
        context=_MAP,
        environment_digest=_DIGEST,
        tool_versions=_map_of(_TEXT),
        selection_policy=_PIN,
        preconditions_satisfied=_one_of("yes", "no", "unknown"),
        started_at=_TIME,
        assignment=_record(
            enrollment=_PIN, unit_id=_TEXT, arm=_one_of("control", "treatment"), assigned_at=_TIME
        ),
    ),
    "OutcomeRecord": _record(
        ("magnitude",),
        task_family=_TEXT,
        attempt_ref=_or_null(_TEXT),
        metric=_TEXT,
        window=_TEXT,
        terminal=_FLAG,
        observation_key=_TEXT,
        observer_config_digest=_DIGEST,
        outcome_status=_OUTCOME,
        magnitude=_or_null(_SHARE),
    ),
    "TrialRecord": {
        **_TRIAL,
        **_when(
            "baseline_mode",
            "prospective",
            {
                "required": ["enrollment"],
                "properties": {
                    "baseline_attempt_refs": {"maxItems": 0},
                    "baseline_outcome_refs": {"maxItems": 0},
                },
            },
        ),
    },
    "EvaluationRecord": {
        **_EVALUATION,
        "allOf": [
            *(
                _when("from_status", was, {"properties": {"to_status": _one_of(*may)}})
                for was, may in VERDICTS.items()
            ),
            _when("to_status", "adopted", {"properties": {"trial_ref": _TEXT}}),
            _when(
                "from_status",
                "trialed",
                _when(
                    "to_status",
                    "adopted",
                    {
                        "properties": {
                            "attempt_refs": {"minItems": 2},
                            "comparison": {"properties": {"status": {"const": "improved"}}},
                        }
                    },
                ),
            ),
        ],
    },
    "WatchState": _record(
        arm_generation=_number(1),
        armed_seq=_number(0),
        condition_digest=_DIGEST,
        authorization_view=_TEXT,
        consumed_seq=_number(0),
        matched=_FLAG,
    ),
    "LeaseState": _record(
        owner=_TEXT, fencing_token=_number(1), expires_at=_TIME, attempt_count=_number(1)
    ),
    "CompressionRecord": _record(
        source_refs=_list(least=1),
        extractor_version=_TEXT,
        schema_version=_TEXT,
        preserved_fields=_list(),
        known_omissions=_list(),
        reencoding_eligible=_FLAG,
    ),
    "RecallCoverage": _record(
        ("plans",),
        basis=_BASIS,
        channels={
            **_map_of(_record(completed=_FLAG, truncated=_FLAG)),
            "required": list(_CHANNELS),
        },
        unverified_preconditions=_list(),
        action_eligible=_FLAG,
        plans=_map_of(_MAP),
    ),
    "MemoryScope": _record(task_ref=_or_null(_TEXT), context_refs=_list(unique=True)),
    "RecordingRepair": _record(
        source_ref=_TEXT,
        source_digest=_DIGEST,
        source_locator=_TEXT,
        invalidated_refs=_list(least=1, unique=True),
        replacement_refs=_list(),
        reason=_one_of("extraction_error", "attribution_error"),
        expected_versions=_map_of(_number(1), 1),
    ),
    "ProcedureAssessment": _record(
        revision_ref=_TEXT,
        basis=_BASIS,
        criterion=_MAP,
        evidence_refs=_list(),
        result=_TEXT,
        purpose=_TEXT,
        grants_standing=_FLAG,
    ),
    "RestoreReport": _record(
        source_capsule=_MAP,
        mode=_TEXT,
        source_history_retained=_FLAG,
        mapping_artifact=_MAP,
        current_validation=_TEXT,
        authority_transferred=_FLAG,
        missing_artifacts=_list(_FREE),
    ),
}

#: Every document that a `value_schema` may refer to.
DOCUMENTS: tuple[tuple[str, _Schema], ...] = (
    (
        COMMON,
        {
            "$id": COMMON,
            "$defs": {
                "ArtifactPin": _record(artifact_ref=_TEXT, content_digest=_DIGEST),
                "Digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
                "Timestamp": {
                    "type": "string",
                    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$",
                },
            },
        },
    ),
    (RECORDS, {"$id": RECORDS, "$defs": _DEFS}),
)
