"""What a run goes by, and what of a budget is kept for the answer."""

from __future__ import annotations

import pytest

from pipelines.maintenance.parameters import effective
from pipelines.maintenance.self_test import MOST_OUTPUT, reserve
from storage.memory_policy import MemoryPolicy


def test_explicit_values_come_first_then_the_policy_then_the_defaults() -> None:
    policy = MemoryPolicy(stale_event_threshold_days=9, orphan_max_count=8)
    assert effective(
        policy, {"orphan_max_count": 3, "unconsolidated_max_backlog": None}
    ).as_json() == {
        "stale_event_threshold_days": 9,
        "unconsolidated_max_backlog": 20,
        "orphan_max_count": 3,
    }


@pytest.mark.parametrize(
    ("budget", "kept"),
    [(1000, 250), (16_384, 4096), (16_380, 4095), (20_000, MOST_OUTPUT), (10**6, MOST_OUTPUT)],
)
def test_a_quarter_of_a_budget_is_kept_for_the_answer(budget: int, kept: int) -> None:
    assert reserve(budget) == kept
