"""The supervisor: what dies starts again, what should stop stops, what was left is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy import supervisor
from deploy.embedded.folder import DataFolder
from deploy.embedded.process import birth
from deploy.services import postgres_of
from deploy.supervisor import PythonPart, Supervisor
from tests.services import wait_for

_SLEEPER = "import time; print('up', flush=True); time.sleep(600)"
_STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {_SLEEPER}"


class Watched:
    def __init__(self, tmp_path: Path) -> None:
        self.folder = DataFolder(tmp_path)
        self.folder.make()
        self.said: list[str] = []
        self.supervisor = Supervisor(self.folder, self.said.append)

    def part(self, name: str, code: str, grace: float = 5.0) -> PythonPart:
        log = self.folder.log(name)
        arguments = ["-c", code]
        return PythonPart(
            name, arguments, log, dict(os.environ), signal.SIGKILL, grace_seconds=grace
        )

    def children(self) -> dict[str, int]:
        return {child["name"]: child["pid"] for child in self.folder.read_state()["children"]}

    def watch_until(self, condition: Callable[[], object]) -> None:
        def watched() -> object:
            self.supervisor.watch()
            return condition()

        wait_for(watched)

    def starts(self, name: str) -> int:
        log = self.folder.log(name)
        return log.read_text().count("up\n") if log.exists() else 0


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    watched = Watched(tmp_path)
    yield watched
    watched.supervisor.stop(lambda: True)


def test_a_part_that_is_killed_starts_again(watched: Watched) -> None:
    watched.supervisor.keep(watched.part("one", _SLEEPER))
    watched.watch_until(lambda: watched.starts("one") == 1)
    first = watched.children()["one"]
    os.kill(first, signal.SIGKILL)
    watched.watch_until(lambda: watched.starts("one") == 2)
    assert watched.children()["one"] != first
    assert any("one ended (killed by SIGKILL)" in line for line in watched.said)


def test_a_database_that_answers_nobody_is_killed_and_starts_again(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(supervisor, "_LOOKS", 2)
    server = postgres_of(watched.folder)
    server.start()
    watched.supervisor.keep(server, server.process)
    watched.watch_until(server.is_ready)
    assert watched.said == []
    first = watched.children()["postgres"]
    os.kill(first, signal.SIGSTOP)
    watched.watch_until(lambda: watched.children()["postgres"] != first)
    watched.watch_until(server.is_ready)
    assert "postgres answers nobody and is killed" in watched.said


def test_a_part_that_keeps_dying_is_started_ever_more_rarely_and_named(watched: Watched) -> None:
    watched.supervisor.keep(watched.part("bad", "print('up', flush=True); raise SystemExit(3)"))
    watched.supervisor.keep(watched.part("good", _SLEEPER))
    watched.watch_until(lambda: watched.supervisor.unsteady() is not None)
    unsteady = watched.supervisor.unsteady()
    assert unsteady is not None
    assert unsteady.name == "bad"
    # four pauses, each twice the one before: no loop without rest
    assert watched.starts("bad") == 5
    assert watched.starts("good") == 1


def test_what_a_dead_part_started_dies_before_its_successor_starts(watched: Watched) -> None:
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    watched.supervisor.keep(watched.part("parent", code))
    log = watched.folder.log("parent")
    watched.watch_until(lambda: log.read_text().endswith("\n"))
    child = int(log.read_text().split()[0])
    os.kill(watched.children()["parent"], signal.SIGKILL)
    watched.watch_until(lambda: len(log.read_text().split()) == 2)
    assert birth(child) is None


def test_stop_kills_what_outlives_its_grace(watched: Watched) -> None:
    watched.supervisor.keep(watched.part("stubborn", _STUBBORN, grace=0.3))
    watched.watch_until(lambda: watched.starts("stubborn") == 1)
    pid = watched.children()["stubborn"]
    watched.supervisor.stop()
    assert birth(pid) is None
    assert watched.folder.read_state() == {}


def test_the_next_supervisor_ends_what_was_left_and_spares_strangers(watched: Watched) -> None:
    left, stranger = (
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], process_group=0)
        for _ in range(2)
    )
    try:
        watched.folder.write_state(
            {
                "children": [
                    {"name": "api", "pid": left.pid, "birth": birth(left.pid)},
                    {"name": "worker", "pid": stranger.pid, "birth": "another time"},
                ]
            }
        )
        watched.supervisor.end_leftovers()
        assert left.wait(10) == -signal.SIGKILL
        assert stranger.poll() is None
    finally:
        for process in (left, stranger):
            process.kill()
            process.wait()


def test_a_log_that_grew_too_long_is_cut_while_its_writer_goes_on(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "_LOG_BYTES", 100)
    monkeypatch.setattr(supervisor, "_LOG_SECONDS", 0.0)
    code = "import time\nwhile True: print('line', flush=True); time.sleep(0.001)"
    watched.supervisor.keep(watched.part("writer", code))
    log = watched.folder.log("writer")
    kept = log.with_name("writer.log.1")
    watched.watch_until(kept.exists)
    assert set(kept.read_text().split()) <= {"line", "lin", "li", "l"}
    watched.watch_until(lambda: log.stat().st_size > 0)
    assert log.read_bytes().startswith(b"line\n")
