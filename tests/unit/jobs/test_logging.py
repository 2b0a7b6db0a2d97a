"""Logs outlive an erasure: they tell where something went wrong, and never in whose words."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.services import ROOT

PROGRAM = """
import logging, structlog
from jobs.logging import configure_logging
configure_logging()
try:
    try:
        int("zibbergnash")
    except ValueError as error:
        raise RuntimeError("quoxlemire") from error
except RuntimeError:
    structlog.get_logger().exception("it.failed", job="job-1")
    logging.getLogger("elsewhere").exception("it failed elsewhere")
"""


def test_an_exception_is_told_by_types_and_places() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={"BRAINSTEM_LOG_JSON": "true", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "zibbergnash" not in done.stderr
    assert "quoxlemire" not in done.stderr
    first = json.loads(done.stderr.splitlines()[0])
    assert first["event"] == "it.failed"
    assert first["exception"].splitlines() == [
        "ValueError",
        "  <string>:7 in <module>",
        "RuntimeError",
        "  <string>:9 in <module>",
    ]
    assert "it failed elsewhere" in done.stderr
    assert done.stderr.count("ValueError") == 2
