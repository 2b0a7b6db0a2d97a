"""Intervals: what is written, what is refused, and the bounds that follow."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from storage.graph.errors import ConstraintViolation, TypeMismatch
from storage.graph.validity import Bound, Bounds, ValidTime

SAID = datetime(2026, 5, 1, tzinfo=UTC)
JUNE = datetime(2026, 6, 1, tzinfo=UTC)
JULY = datetime(2026, 7, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    [
        None,
        {"from": "2026-06-01T00:00:00.000Z"},
        {"until": {"latest": "2026-06-01T00:00:00.000Z"}},
        {
            "from": {
                "earliest": "2026-06-01T00:00:00.000Z",
                "latest": "2026-07-01T00:00:00.000Z",
            },
            "until": "2027-01-01T00:00:00.000Z",
        },
    ],
)
def test_an_interval_reads_back_as_it_was_written(written: dict[str, Any] | None) -> None:
    assert ValidTime.from_json(written).as_json() == written


@pytest.mark.parametrize(
    ("error", "written"),
    [
        (TypeMismatch, "2026"),
        (TypeMismatch, {"from": 0}),
        (ConstraintViolation, {"from": "2026-06-01T00:00:00Z"}),
        (ConstraintViolation, {"from": "2026-06-01T00:00:00.000Z\n"}),
        (ConstraintViolation, {"from": "2026-02-30T00:00:00.000Z"}),
        (ConstraintViolation, {"from": "2026-01-01T24:00:00.000Z"}),
        (ConstraintViolation, {"from": "2026-06-01T08:00:00.000+08:00"}),
        (ConstraintViolation, {"from": {}}),
        (ConstraintViolation, {"from": {"earliest": None}}),
        (ConstraintViolation, {"since": "2026-06-01T00:00:00.000Z"}),
    ],
)
def test_other_spellings_are_refused(error: type[Exception], written: Any) -> None:
    with pytest.raises(error):
        ValidTime.from_json(written)


def test_a_missing_start_means_by_the_time_it_was_said() -> None:
    assert Bounds.of(ValidTime(), SAID) == Bounds(None, SAID, None, None, SAID, False)


def test_the_start_key_is_the_exact_start_else_the_latest_else_the_time_of_the_claim() -> None:
    assert Bounds.of(ValidTime(JUNE), SAID).start_key == JUNE
    assert Bounds.of(ValidTime(Bound(JUNE, JULY)), SAID).start_key == JULY
    assert Bounds.of(ValidTime(Bound(JUNE)), SAID).start_key == SAID


def test_an_interval_that_ends_before_it_begins_is_refused() -> None:
    ValidTime(JUNE, JULY).check(SAID)
    ValidTime(None, JUNE).check(JULY)
    for wrong in (ValidTime(JULY, JUNE), ValidTime(JUNE, JUNE), ValidTime(Bound(JULY, JUNE))):
        with pytest.raises(ConstraintViolation):
            wrong.check(SAID)
