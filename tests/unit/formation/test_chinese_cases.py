"""The shared acceptance cases in Chinese and in two languages, by their own scorer."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.formation.builtin import BuiltinEncoder
from pipelines.formation.outcome import active_items
from pipelines.formation.proposal import Background, Conversation, Utterance

SCENARIOS = Path(__file__).resolve().parents[4] / "shared" / "scenarios"


def test_chinese_and_mixed_cases_reach_the_aims(tmp_path: Path) -> None:
    if not (SCENARIOS / "formation-builtin.jsonl").exists():
        pytest.skip("the shared scenarios are not beside the repository")
    encoder = BuiltinEncoder()
    cases, results = tmp_path / "cases.jsonl", tmp_path / "results.jsonl"
    with cases.open("w") as kept, results.open("w") as formed:
        for line in (SCENARIOS / "formation-builtin.jsonl").read_text().splitlines():
            case = json.loads(line)
            if case["lang"] == "en":
                continue
            messages = tuple(
                Utterance(
                    m["role"],
                    m.get("name") or m["role"],
                    m["content"],
                    datetime.fromtimestamp(m["timestamp"] / 1000, UTC),
                )
                for m in case["messages"]
            )
            proposal = encoder.encode(Conversation(messages), Background())
            kept.write(line + "\n")
            formed.write(json.dumps({"id": case["id"], **active_items(proposal)}) + "\n")
    bounds = ["--min-precision", "0.95", "--min-recall-required", "0.85", "--max-forbidden", "0"]
    scored = subprocess.run(
        [sys.executable, SCENARIOS / "score_formation.py", cases, results, "--show", *bounds],
        capture_output=True,
        text=True,
    )
    assert scored.returncode == 0, scored.stdout + scored.stderr
