"""The command line: what it offers, and how it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.cli import GROUPS, build
from storage.settings import PROJECT_ROOT


def brainstem(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user would, without the test session's services."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    return subprocess.run(
        [sys.executable, "-m", "deploy.cli", *arguments],
        env={**inherited, "PYTHONPATH": str(PROJECT_ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_every_command_file_is_registered() -> None:
    files = {path.stem for path in (PROJECT_ROOT / "deploy" / "commands").glob("*.py")}
    assert files - {"__init__", "options"} == set(GROUPS)


def test_help_names_every_command() -> None:
    shown = CliRunner().invoke(build(), ["--help"]).output
    for command in ("up", "api", "worker", "scheduler", "migrate", "doctor", "version"):
        assert f" {command} " in shown


def test_version_is_that_of_the_project() -> None:
    with (PROJECT_ROOT / "pyproject.toml").open("rb") as file:
        expected = tomllib.load(file)["project"]["version"]
    assert brainstem("version").stdout.strip() == expected
    assert json.loads(brainstem("version", "--json").stdout)["brainstem"] == expected


def test_a_command_without_services_says_in_one_line_what_to_do(tmp_path: Path) -> None:
    answer = brainstem("migrate", "--data", str(tmp_path / "none"))
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr.startswith("brainstem: ")
    assert "brainstem up" in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_doctor_reports_what_is_missing_and_fails(tmp_path: Path) -> None:
    answer = brainstem("doctor", "--json", "--data", str(tmp_path))
    report = json.loads(answer.stdout)
    status = {check["check"]: check["status"] for check in report["checks"]}
    assert answer.returncode == 1
    assert report["healthy"] is False
    assert status["python"] == "ok"
    assert status["database"] == status["redis"] == "fail"


def test_doctor_tells_an_unreachable_database_from_a_missing_one(tmp_path: Path) -> None:
    answer = brainstem(
        "doctor",
        "--json",
        "--data",
        str(tmp_path),
        DATABASE_URL="postgresql://nobody@127.0.0.1:9/none",
        REDIS_URL="redis://127.0.0.1:9/0",
    )
    checks = json.loads(answer.stdout)["checks"]
    details = {check["check"]: check["detail"] for check in checks if check["status"] == "fail"}
    assert answer.returncode == 1
    assert "refused" in details["database"]
    assert "refused" in details["redis"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_the_api_binds_to_loopback_only(host: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", "import deploy.gunicorn_conf"],
        env={**os.environ, "PYTHONPATH": str(PROJECT_ROOT), "BRAINSTEM_HOST": host},
        capture_output=True,
        text=True,
    )
    assert answer.returncode != 0
    assert "loopback" in answer.stderr


@pytest.mark.parametrize(
    ("host", "bind"),
    [("127.0.0.1", "127.0.0.1:9"), ("::1", "[::1]:9"), ("localhost", "localhost:9")],
)
def test_the_api_takes_any_loopback_address(host: str, bind: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", "import deploy.gunicorn_conf as c; print(c.bind)"],
        env={
            **os.environ,
            "PYTHONPATH": str(PROJECT_ROOT),
            "BRAINSTEM_HOST": host,
            "BRAINSTEM_PORT": "9",
        },
        capture_output=True,
        text=True,
    )
    assert answer.stdout.strip() == bind
