"""Child processes of ours: none outlives its parent, and each writes to a log file."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from storage.errors import Unavailable


class ServerFailed(Unavailable):
    """A server or process of ours did not start or did not get ready."""

    code = "server_failed"
    default = "A server did not start; its log says why."


def package_folder(package: str) -> Path:
    """Where an installed package lies, found without importing it; `ServerFailed` if absent."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ServerFailed(f"The package {package} is not installed; install the lock file again.")
    return Path(next(iter(spec.submodule_search_locations)))


@functools.cache
def _setpriv() -> str | None:
    """The `setpriv` of util-linux when it knows `--pdeathsig`, else None."""
    path = shutil.which("setpriv") if sys.platform == "linux" else None
    if path is None:
        return None
    probe = subprocess.run([path, "--pdeathsig", "TERM", "--", "true"], capture_output=True)
    return path if probe.returncode == 0 else None


def bound(command: Sequence[str], death_signal: signal.Signals) -> list[str]:
    """`command`, made to receive `death_signal` from the kernel when its starter dies.

    The starter is the *thread* that spawns it, so spawn from one that lives as long as the child
    should. Without util-linux the command comes back as it is, and a later start ends what is left.
    """
    path = _setpriv()
    if path is None:
        return list(command)
    return [path, "--pdeathsig", death_signal.name.removeprefix("SIG"), "--", *command]


def spawn(
    command: Sequence[str],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: str | Path = "/",
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own (a terminal's Ctrl-C reaches only the parent)."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=cwd,
            env=None if env is None else dict(env),
            start_new_session=True,
        )


def log_tail(log: Path, characters: int = 1500) -> str:
    """The end of a log file, for an error message."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - characters))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def end(process: subprocess.Popen[bytes], stop: signal.Signals, grace: float) -> None:
    """Ask `process` to stop, wait `grace` seconds, then kill it and whatever it started."""
    if process.poll() is None:
        process.send_signal(stop)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    signal_group(process.pid, signal.SIGKILL)
    process.wait()


def signal_group(pid: int, what: signal.Signals) -> None:
    """Signal the process group that `pid` leads; silent when nothing of it is left."""
    # macOS answers EPERM for a group of zombies
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, what)


def birth(pid: int) -> str | None:
    """When a process began, in the system's own words; with the pid it names one process for good.

    None when no such process runs (a zombie does not run).
    """
    stat = Path(f"/proc/{pid}/stat")
    if stat.parent.parent.joinpath("self").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else fields[19]
    answer = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return answer.stdout.strip() or None


def processes_in(folder: Path, program: str) -> list[int]:
    """Processes that run `program` with `folder` as their working folder (empty without /proc)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (
                os.path.basename(os.readlink(entry / "exe")).split(" ")[0] == program
                and Path(os.readlink(entry / "cwd")) == folder
            ):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_until_gone(folder: Path, program: str, seconds: float) -> bool:
    """Wait for `processes_in` to find nothing; False when the time is over first."""
    deadline = time.monotonic() + seconds
    while processes_in(folder, program):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
