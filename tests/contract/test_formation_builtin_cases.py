"""The built-in encoder against the labelled acceptance cases and their own scorer."""

from __future__ import annotations

import importlib.util
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipelines.formation.builtin import BuiltinEncoder
from pipelines.formation.outcome import active_items
from pipelines.formation.proposal import Background, Conversation, Utterance

SCENARIOS = Path(__file__).resolve().parents[3] / "shared" / "scenarios"
CASES = SCENARIOS / "formation-builtin.jsonl"
SCORER = SCENARIOS / "score_formation.py"

pytestmark = pytest.mark.skipif(
    not (CASES.exists() and SCORER.exists()), reason="no shared/scenarios beside the project"
)


@pytest.fixture(scope="module")
def scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score_formation", SCORER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CASES.read_text().splitlines() if line.strip()]


def _result(case: dict[str, Any]) -> dict[str, Any]:
    messages = tuple(
        Utterance(
            m["role"],
            m.get("name") or m["role"],
            m["content"],
            datetime.fromtimestamp(m["timestamp"] / 1000, UTC),
        )
        for m in case["messages"]
    )
    return active_items(BuiltinEncoder().encode(Conversation(messages), Background()))


def test_the_encoder_reaches_its_goals_on_the_labelled_cases(
    scorer: ModuleType, cases: list[dict[str, Any]]
) -> None:
    scores = [scorer.score_case(case, _result(case)) for case in cases]
    for language in ("en", "zh", "mixed"):
        figures = scorer.figures([s for s in scores if s.lang == language])
        assert figures["forbidden"] == 0, language
        assert figures["precision"] >= 0.95, language
        assert figures["strict_precision"] >= 0.95, language
        assert figures["recall_required"] >= 0.85, language
    changes = sum(s.changes_given for s in scores), sum(s.changes_right for s in scores)
    assert changes[0] == changes[1]
