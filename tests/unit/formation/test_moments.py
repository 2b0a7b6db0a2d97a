"""How exactly a time was said, as an interval."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.formation.moments import interval
from pipelines.formation.reading import start_text, until_text
from storage.graph.validity import Bound, ValidTime

SAID = datetime(2026, 9, 10, 8, tzinfo=UTC)


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


def test_a_day_counts_from_its_beginning_and_until_includes_it() -> None:
    found = interval("2026-05-03", "2026-06-30", SAID)
    assert found == ValidTime(at(2026, 5, 3), at(2026, 7, 1))
    assert (start_text(found), until_text(found)) == ("2026-05-03", "2026-06-30")


def test_a_month_is_a_bound_that_speaking_of_it_closes() -> None:
    last = at(2021, 4, 1) - timedelta(milliseconds=1)
    assert interval("2021-03", None, SAID) == ValidTime(Bound(at(2021, 3, 1), last))
    assert interval("2026-09", None, SAID) == ValidTime(Bound(at(2026, 9, 1), SAID))
    ahead = interval("2026-12", None, SAID)
    assert ahead == ValidTime(Bound(at(2026, 12, 1), at(2027, 1, 1) - timedelta(milliseconds=1)))
    assert start_text(ahead) == "2026-12-01"


def test_a_year_and_an_instant() -> None:
    assert interval(None, "2019", SAID) == ValidTime(None, Bound(at(2019, 1, 1), at(2020, 1, 1)))
    exact = interval("2026-05-03T10:00:00.000Z", None, SAID)
    assert exact == ValidTime(at(2026, 5, 3, 10))
    assert start_text(exact) == "2026-05-03T10:00:00.000Z"


def test_nothing_said_is_nothing_stated() -> None:
    assert interval(None, None, SAID) == ValidTime()


@pytest.mark.parametrize(
    ("start", "until"),
    [("2026-13", None), ("soon", None), ("2026-05-03", "2026-05-01"), ("0000-01-01", None)],
)
def test_what_makes_no_sense_is_no_interval(start: str | None, until: str | None) -> None:
    assert interval(start, until, SAID) is None
