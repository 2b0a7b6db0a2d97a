"""The processes of `brainstem up`: started in order, watched, restarted, stopped in order.

Whatever dies is started again, after a pause that grows while it keeps dying; a server that is
alive and answers nobody for a minute is killed, so that it is started again. When this process
itself is killed, the kernel ends its children; what it could not end is written down in the data
folder with its time of birth, and the next start ends it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from deploy.embedded.folder import DataFolder
from deploy.embedded.process import birth, bound, signal_group, spawn
from storage.errors import BrainError

#: Pause before the n-th restart in a row, seconds; the count starts anew after `_STEADY` seconds.
_FIRST_PAUSE, _LONGEST_PAUSE, _STEADY = 0.2, 10.0, 30.0
#: A log file is cut when it grows beyond this, its last part kept as NAME.log.1.
_LOG_BYTES = 32 * 1024 * 1024
_LOG_SECONDS = 60.0
#: How often a server is asked whether it hangs, and how often in a row it must, to be killed.
_LOOK_SECONDS, _LOOKS = 5.0, 12


class Part(Protocol):
    """One process that the supervisor keeps alive."""

    name: str
    stop_signal: signal.Signals
    grace_seconds: float
    log: Path

    def prepare(self) -> None:
        """Clear the way for a start, at the first one and after each death."""

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start it."""


@dataclass
class PythonPart:
    """A process of our own code, run by the interpreter that runs us."""

    name: str
    arguments: Sequence[str]
    log: Path
    environment: Mapping[str, str]
    #: What the kernel sends it when the supervisor dies.
    death_signal: signal.Signals
    stop_signal: signal.Signals = signal.SIGTERM
    grace_seconds: float = 30.0

    def prepare(self) -> None:
        """Nothing stands in the way of a new process: the old one's group was killed."""

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start it."""
        command = bound([sys.executable, *self.arguments], self.death_signal)
        return spawn(command, log=self.log, env=self.environment)


@dataclass
class _Kept:
    part: Part
    process: subprocess.Popen[bytes]
    started: float
    deaths: int = 0
    due: float | None = None
    looked: float = 0.0
    hung: int = 0

    def hangs(self, now: float) -> bool:
        """Whether a part that can say so has been found hanging often enough to be ended."""
        hangs: Callable[[], bool] | None = getattr(self.part, "hangs", None)
        if hangs is None or now - self.looked < _LOOK_SECONDS:
            return False
        self.hung = self.hung + 1 if hangs() else 0
        # counted from its answer: a look at a hanging server takes its time
        self.looked = time.monotonic()
        return self.hung >= _LOOKS

    def pause(self) -> float:
        """Count one more death; seconds to wait before the next start."""
        self.deaths += 1
        return min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (self.deaths - 1))


class Supervisor:
    """Keeps parts alive; use from one thread, the main one."""

    def __init__(self, folder: DataFolder, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._say = say
        self._kept: list[_Kept] = []
        self._state: dict[str, Any] = {"pid": os.getpid()}
        self._logs_checked = time.monotonic()

    def end_leftovers(self) -> None:
        """Kill what an earlier supervisor started and could not end; call while holding the lock.

        The servers are left to their own `prepare`, which lets them write their data first.
        """
        for child in self._folder.read_state().get("children", []):
            is_server = child["name"] in ("postgres", "valkey")
            if not is_server and birth(child["pid"]) == child["birth"]:
                signal_group(child["pid"], signal.SIGKILL)

    def keep(self, part: Part, process: subprocess.Popen[bytes] | None = None) -> None:
        """Start `part` (or take its running `process`) and keep it alive from now on."""
        if process is None:
            part.prepare()
            process = part.spawn()
        self._kept.append(_Kept(part, process, time.monotonic()))
        self._write_state()

    def publish(self, **addresses: str) -> None:
        """Write addresses down for the other commands."""
        self._state.update(addresses)
        self._write_state()

    def watch(self) -> None:
        """Look at every part once: note deaths, and restart what is due."""
        now = time.monotonic()
        for kept in self._kept:
            if kept.due is None and kept.process.poll() is not None:
                if now - kept.started > _STEADY:
                    kept.deaths = 0
                kept.due = now + kept.pause()
                signal_group(kept.process.pid, signal.SIGKILL)
                self._say(
                    f"{kept.part.name} ended ({_fate(kept.process.returncode)}); "
                    f"starting it again, see {kept.part.log}"
                )
            if kept.due is None and kept.hangs(now):
                self._say(f"{kept.part.name} answers nobody and is killed")
                signal_group(kept.process.pid, signal.SIGKILL)
                kept.hung = 0
            if kept.due is not None and now >= kept.due:
                self._restart(kept)
        if now - self._logs_checked > _LOG_SECONDS:
            self._logs_checked = now
            self._cut_logs()

    def unsteady(self) -> Part | None:
        """A part that dies again and again, if there is one."""
        return next((kept.part for kept in self._kept if kept.deaths >= 5), None)

    def _restart(self, kept: _Kept) -> None:
        try:
            kept.part.prepare()
            kept.process = kept.part.spawn()
        except (BrainError, OSError) as error:
            self._say(f"{kept.part.name} cannot be started: {error}")
            kept.due = time.monotonic() + kept.pause()
            return
        kept.started, kept.due = time.monotonic(), None
        self._write_state()

    def stop(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """Stop our own processes together, then the servers in reverse order of their start.

        A part that outlives its grace is killed; `hurry()` turning true ends all waiting.
        """
        servers = [kept for kept in self._kept if not isinstance(kept.part, PythonPart)]
        ours = [kept for kept in self._kept if isinstance(kept.part, PythonPart)]
        for group in [ours, *([server] for server in reversed(servers))]:
            for kept in group:
                with contextlib.suppress(ProcessLookupError):
                    kept.process.send_signal(kept.part.stop_signal)
            for kept in group:
                deadline = time.monotonic() + kept.part.grace_seconds
                while kept.process.poll() is None and time.monotonic() < deadline:
                    # a database is always given the time to write down what it promised
                    if hurry() and group is ours:
                        break
                    time.sleep(0.05)
                if kept.process.poll() is None:
                    self._say(f"{kept.part.name} did not stop in time and is killed")
                signal_group(kept.process.pid, signal.SIGKILL)
                kept.process.wait()
        self._kept.clear()
        self._state = {}
        self._write_state()

    def _write_state(self) -> None:
        children = [
            {"name": k.part.name, "pid": k.process.pid, "birth": birth(k.process.pid)}
            for k in self._kept
        ]
        self._folder.write_state({**self._state, "children": children} if self._state else {})

    def _cut_logs(self) -> None:
        for kept in self._kept:
            log = kept.part.log
            if log.exists() and log.stat().st_size > _LOG_BYTES:
                # its writer appends to the open file, so it is emptied and not replaced
                shutil.copyfile(log, log.with_name(f"{log.name}.1"))
                os.truncate(log, 0)


def _fate(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    return f"killed by {signal.Signals(-code).name}"
