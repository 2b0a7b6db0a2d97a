"""The shapes that records are bound to, against samples of the protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from storage.graph.errors import ConstraintViolation
from storage.graph.schema import builtin
from storage.graph.values import check_schema

SAMPLES = (
    Path(__file__).resolve().parents[4]
    / "shared"
    / "kip"
    / "vectors"
    / "cognitive-contracts.subset.json"
)


def bound_to(name: str) -> Mapping[str, Any] | None:
    schema = builtin()
    for table in (schema.symbols("facet"), schema.symbols("concept_type")):
        for symbol in table:
            if symbol.local_name == name:
                attributes = symbol.definition.get("attributes") or symbol.definition
                found: Mapping[str, Any] | None = attributes.get("value_schema")
                return found
    return None


def samples() -> dict[str, Any]:
    if not SAMPLES.exists():
        pytest.skip("the protocol's samples are not here")
    # the samples spell times without the milliseconds that memory asks for
    text = SAMPLES.read_text(encoding="utf-8").replace(":00:00Z", ":00:00.000Z")
    found: dict[str, Any] = json.loads(text)["records"]
    return found


def test_every_sample_fits_and_none_fits_without_a_member_or_with_another() -> None:
    checked = 0
    for name, record in samples().items():
        schema = bound_to(name)
        if schema is None:
            continue
        checked += 1
        check_schema(name, record, schema)
        for member in record:
            with pytest.raises(ConstraintViolation):
                check_schema(name, {k: v for k, v in record.items() if k != member}, schema)
        with pytest.raises(ConstraintViolation):
            check_schema(name, {**record, "something": "else"}, schema)
    assert checked >= 10


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("EvaluationRecord", {"from_status": "proposed"}),
        ("EvaluationRecord", {"attempt_refs": ["A1"]}),
        ("EvaluationRecord", {"trial_ref": None}),
        ("EvaluationRecord", {"comparison": {"status": "great", "effect": 1, "uncertainty": {}}}),
        ("TrialRecord", {"baseline_mode": "prospective"}),
        ("TrialRecord", {"quota": 1}),
        ("DependencyBasis", {"groups": []}),
        ("DecisionRecord", {"decision": "perhaps"}),
        ("AttemptRecord", {"started_at": "2026-09-06T12:00:00Z"}),
        ("OutcomeRecord", {"magnitude": 2}),
        ("CompressionRecord", {"source_refs": []}),
        ("LeaseState", {"fencing_token": 0}),
    ],
)
def test_a_record_that_contradicts_itself_does_not_fit(name: str, change: dict[str, Any]) -> None:
    schema = bound_to(name)
    assert schema is not None
    with pytest.raises(ConstraintViolation):
        check_schema(name, {**samples()[name], **change}, schema)
