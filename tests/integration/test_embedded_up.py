"""`brainstem up` as a user meets it: the demonstration, kills, restarts, and clear refusals."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from deploy.commands.up import POOLS
from deploy.embedded.folder import DataFolder
from deploy.embedded.process import birth
from jobs.kinds import QUEUES
from storage.settings import PROJECT_ROOT
from tests.services import Process, free_port, wait_for

#: Generous, because a busy machine starts six interpreters at once here.
_START_SECONDS = 120.0


class Up:
    """`brainstem up` on one data folder, started as often as a test wants."""

    def __init__(self, data: Path) -> None:
        self.folder = DataFolder(data)
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.processes: list[Process] = []

    def start(self, *options: str) -> Process:
        log = self.folder.path.parent / f"up-{len(self.processes)}.log"
        environment = {
            key: value
            for key, value in os.environ.items()
            if key not in ("DATABASE_URL", "REDIS_URL", "BRAINSTEM_DATA")
        }
        environment |= {"PYTHONPATH": str(PROJECT_ROOT), "BRAINSTEM_API_PROCESSES": "1"}
        arguments = ["--data", str(self.folder.path), "--port", str(self.port), *options]
        with log.open("wb") as output:
            popen = subprocess.Popen(
                [sys.executable, "-m", "deploy.cli", "up", *arguments],
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        process = Process("up", popen, log)
        self.processes.append(process)
        return process

    def serve(self) -> Process:
        process = self.start()
        process.wait_for_output(f"Brainstem serves {self.base_url}", seconds=_START_SECONDS)
        return process

    def children(self) -> dict[str, int]:
        return {child["name"]: child["pid"] for child in self.folder.read_state()["children"]}

    def is_ready(self) -> bool:
        try:
            return httpx2.get(f"{self.base_url}/readyz", timeout=5.0).status_code == 200
        except httpx2.TransportError:
            return False

    def remember(self, text: str) -> None:
        """Form one message and wait for its receipt."""
        with httpx2.Client(base_url=f"{self.base_url}/v1/up", timeout=30.0) as client:
            space = {"space_id": "up", "user": "ada", "tier": 0}
            made = httpx2.post(f"{self.base_url}/admin/create_space", json=space)
            assert made.status_code in (200, 409), made.text
            message = {"role": "user", "name": "Ada", "content": text}
            answer = client.post("/formation", json={"messages": [message]})
            assert answer.status_code == 200, answer.text
            job = f"/jobs/{answer.json()['result']['job']}"
            wait_for(
                lambda: client.get(job).json()["result"]["state"] == "succeeded",
                seconds=60.0,
                what="the receipt",
            )

    def recall(self, query: str) -> str:
        with httpx2.Client(base_url=f"{self.base_url}/v1/up", timeout=60.0) as client:
            answer = client.post("/recall", json={"query": query})
            assert answer.status_code == 200, answer.text
            return str(answer.json()["result"]["content"])


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    up = Up(tmp_path / "data")
    yield up
    for process in up.processes:
        if process.alive:
            process.terminate()
            process.wait(60.0)
        process.close()
    for path in up.folder.sockets().iterdir():
        path.unlink()
    up.folder.remove_sockets()


def test_the_worker_pools_cover_every_queue_once() -> None:
    queues = [queue for _, queues, _ in POOLS for queue in queues.split(",")]
    assert sorted(queues) == sorted(QUEUES)


def test_check_shows_the_main_job_twice_on_the_same_data_and_leaves_nothing_running(
    up: Up,
) -> None:
    for _ in range(2):
        process = up.start("--check")
        assert process.wait(_START_SECONDS) == 0, process.output
        assert len(re.findall(r"\[\d+\] \S+, (?:Lena|Tomas), 2026-03-\d\d: ", process.output)) >= 3
        assert not up.folder.is_locked()
        assert up.folder.read_state() == {}
        assert not up.is_ready()


def test_it_survives_kill_9_of_every_process_and_of_itself(up: Up) -> None:
    first = up.serve()
    up.remember("I live in Turin.")
    for name in up.children():
        pid = up.children()[name]
        os.kill(pid, signal.SIGKILL)
        wait_for(
            lambda name=name, pid=pid: up.children()[name] != pid and up.is_ready(),  # type: ignore[misc]
            seconds=60.0,
            what=f"the recovery of {name}",
        )
    up.remember("I own a red kayak.")
    left = up.children()
    first.popen.kill()
    first.popen.wait()
    up.serve()
    assert not [name for name, pid in left.items() if birth(pid) is not None]
    assert "Turin" in up.recall("Where does Ada live?")
    assert "kayak" in up.recall("What does Ada own?")


def test_other_commands_find_it_a_second_start_is_refused_and_a_signal_stops_it(up: Up) -> None:
    process = up.serve()
    environment = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL")}
    environment["PYTHONPATH"] = str(PROJECT_ROOT)

    def brainstem(*arguments: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "deploy.cli", *arguments, "--json"]
        command += ["--data", str(up.folder.path)]
        answer = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return dict(json.loads(answer.stdout))

    schema = brainstem("migrate")
    assert schema["before"] == schema["after"] == schema["newest"]
    report = brainstem("doctor")
    assert report["healthy"] is True
    details = {check["check"]: check["detail"] for check in report["checks"]}
    assert details["workers"] == f"1 scheduler, {len(POOLS)} worker"

    second = up.start()
    assert second.wait(60.0) == 1
    assert f"already runs on {up.folder.path}" in second.output
    assert up.base_url in second.output
    assert up.is_ready()

    children, sockets = up.children(), up.folder.sockets()
    process.popen.send_signal(signal.SIGINT)
    assert process.wait(60.0) == 0
    assert "Stopped." in process.output
    assert not sockets.exists()
    assert "did not stop in time" not in process.output
    assert not [name for name, pid in children.items() if birth(pid) is not None]


@pytest.fixture
def taken(up: Up) -> Iterator[Callable[[], None]]:
    with socket.socket() as other:

        def take() -> None:
            other.bind(("127.0.0.1", up.port))
            other.listen()

        yield take


def test_a_taken_port_is_named_and_nothing_is_started(up: Up, taken: Callable[[], None]) -> None:
    taken()
    process = up.start()
    assert process.wait(60.0) == 1
    assert f"127.0.0.1:{up.port}" in process.output
    assert "--port" in process.output
    assert not up.folder.postgres.exists()
