"""`brainstem kip run` and `kip suite` as an operator uses them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deploy.cli import build
from storage import settings
from storage.database import Database
from storage.errors import BrainError
from tests.services import Services

PERSON = 'CREATE CONCEPT ?ada { TYPE "Person" NAME "Ada" }'
NAMES = 'FIND(?c.name) WHERE { ?c {type: "Person"} }'


@dataclass(frozen=True)
class Told:
    """What a command has printed, and the one line of an error that ended it."""

    stdout: str
    stderr: str


class Cli:
    """The command line, in this process, on the session's services."""

    def __init__(self) -> None:
        self.space = f"cli_{uuid.uuid4().hex[:12]}"

    def kip(self, *arguments: str, given: str | bytes = b"", status: int = 0) -> Told:
        done = CliRunner().invoke(build(), ["kip", *arguments], input=given)
        assert done.exit_code == status, done.output
        error = done.exception
        if isinstance(error, BrainError):
            return Told(done.stdout, error.message)
        assert error is None or isinstance(error, SystemExit), done.output
        return Told(done.stdout, done.stderr)

    def run(self, *arguments: str, given: str | bytes = b"", status: int = 0) -> str:
        return self.kip("run", "--space", self.space, *arguments, given=given, status=status).stdout


@pytest.fixture
def cli(services: Services, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    for name, value in {**services.environment, "COLUMNS": "160"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BRAINSTEM_EMBEDDER", "none")
    settings.reload()
    yield Cli()
    monkeypatch.undo()
    settings.reload()


def test_a_missing_space_is_made_when_it_is_to_be_written(cli: Cli) -> None:
    refused = cli.kip("run", "--space", cli.space, NAMES, status=1)
    assert refused.stderr.startswith("There is no space")
    assert "--write" in refused.stderr
    shown = cli.run("--write", PERSON)
    assert "Committed as sequence 1. ?ada = C-1" in shown
    table = cli.run(NAMES)
    assert "?c.name" in table
    assert "Ada" in table
    assert "1 row" in table


def test_without_write_nothing_changes(cli: Cli) -> None:
    cli.run("--write", NAMES)
    shown = cli.run(PERSON, status=1)
    assert "ReadonlyViolation" in shown
    assert "--write" in shown
    assert "0 rows" in cli.run(NAMES)


def test_a_command_comes_from_a_file_or_from_standard_input(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "ada.kip"
    file.write_text(f"// a person\n{PERSON}\n", encoding="utf-8")
    cli.run("--write", "--file", str(file))
    assert json.loads(cli.run("--json", given=NAMES))["results"][0]["result"] == ["Ada"]
    whole = json.dumps({"operations": [NAMES, "LIST TYPES"], "execution": {"mode": "sequence"}})
    answer = json.loads(cli.run("--json", given=whole))
    assert [one["status"] for one in answer["results"]] == ["succeeded", "succeeded"]
    assert "no command" in cli.kip("run", "--space", cli.space, status=1).stderr


def test_parameters_and_dry_runs(cli: Cli) -> None:
    command = 'CREATE CONCEPT ?c { TYPE "Person" NAME :name }'
    given = ("--write", "--parameters", '{"name": "Ben"}', command)
    answer = json.loads(cli.run("--json", "--dry-run", *given))
    assert answer["results"][0]["result"]["effect"] == "would_commit"
    assert json.loads(cli.run("--json", NAMES))["results"][0]["result"] == []
    cli.run(*given)
    assert json.loads(cli.run("--json", NAMES))["results"][0]["result"] == ["Ben"]


def test_errors_say_where_and_what_to_do(cli: Cli) -> None:
    cli.run("--write", NAMES)
    shown = cli.run("FIND(?x WHERE", status=1)
    assert shown.startswith("InvalidSyntax (line 1, column 9): ")
    assert len(shown.splitlines()) == 2


def test_every_line_is_answered_with_one_line(cli: Cli) -> None:
    lines = [
        json.dumps({"command": PERSON}),
        json.dumps(
            {"command": "FIND(?c.name) WHERE { ?c {type: :t} }", "parameters": {"t": "Person"}}
        ),
        json.dumps(NAMES),
        "{broken",
        '{"command": "x", "command": "y"}',
        "",
        json.dumps({"command": "FIND("}),
        json.dumps([1]),
    ]
    shown = cli.run("--write", "--jsonl", given="\n".join(lines), status=1).splitlines()
    told: list[dict[str, Any]] = [json.loads(line) for line in shown]
    assert [one["status"] for one in told] == ["succeeded"] * 3 + ["failed"] * 4
    assert told[1]["results"][0]["result"] == ["Ada"]
    assert all(one["kip"] == "2.0" for one in told)
    assert "Ada" in cli.run("--jsonl", given=json.dumps(NAMES))


def test_a_folder_of_fixtures_is_run_and_counted(cli: Cli, tmp_path: Path) -> None:
    fixture = {
        "name": "small",
        "setup": [
            PERSON,
            {"command": "FIND(?c.id) WHERE { ?c {} }", "capture": {"ada": "/0"}},
        ],
        "cases": [
            {"name": "right", "command": NAMES, "expect": {"result": ["Ada"]}},
            {
                "name": "named",
                "command": "FIND(?c.id) WHERE { ?c {id: :ada} }",
                "expect": {"result": ["C:<1>"]},
            },
            {"name": "wrong", "command": NAMES, "expect": {"result": ["Ben"]}},
            {"name": "refused", "command": "FIND(", "expect": {"error": "InvalidSyntax"}},
            {
                "name": "looser",
                "command": "LIST TYPES",
                "expect": {"result_contains": [{"local_name": "Person"}]},
            },
            {
                "name": "not here",
                "command": NAMES,
                "envelope": {"requires": {"telepathy": True}},
                "expect": {"result": ["Ada"]},
            },
        ],
    }
    (tmp_path / "small.json").write_text(json.dumps(fixture), encoding="utf-8")
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    shown = cli.kip("suite", str(tmp_path), "--json", status=1).stdout.splitlines()
    counts, failed, total = (json.loads(line) for line in shown)
    assert counts == {
        "fixture": "small",
        "pending": False,
        "passed": 4,
        "failed": 1,
        "unsupported": 1,
    }
    assert (failed["case"], failed["expected"]) == ("wrong", {"result": ["Ben"]})
    assert failed["got"] == ["Ada"]
    assert total == {"passed": 4, "failed": 1, "unsupported": 1}
    readable = cli.kip("suite", str(tmp_path), status=1).stdout
    assert "4 passed, 1 failed, 1 unsupported" in readable
    assert "failed: wrong" in readable


def test_a_folder_without_fixtures_is_refused(cli: Cli, tmp_path: Path) -> None:
    assert "no fixtures" in cli.kip("suite", str(tmp_path), status=1).stderr
