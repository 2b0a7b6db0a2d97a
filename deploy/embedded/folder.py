"""The data folder: what lies where, whose it is, and who runs on it.

    lock             held (flock) by the one `brainstem up` that runs on the folder
    postgres/        the PostgreSQL cluster
    valkey/          the append-only file
    log/NAME.log     what each process prints
    run/state.json   addresses of the running services, and the processes started for them

Sockets lie in a short folder under /tmp, because a socket's path may have 107 bytes only.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from storage.errors import Conflict, Unavailable

_TMP = Path("/tmp")


class AlreadyRunning(Conflict):
    """Another `brainstem up` holds the data folder."""

    code = "already_running"
    default = "Brainstem already runs on this data folder."


class UnsafeFolder(Unavailable):
    """A folder that must be ours belongs to somebody else."""

    code = "unsafe_folder"


class DataFolder:
    """One data folder, made at first use with mode 0700."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().resolve()

    @property
    def postgres(self) -> Path:
        """The PostgreSQL cluster."""
        return self.path / "postgres"

    @property
    def valkey(self) -> Path:
        """Valkey's append-only file."""
        return self.path / "valkey"

    def log(self, name: str) -> Path:
        """The log file of a process."""
        return self.path / "log" / f"{name}.log"

    def make(self) -> None:
        """Create the folder if it is missing; raises `UnsafeFolder` when it cannot be written."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in ("log", "run"):
                (self.path / name).mkdir(exist_ok=True)
        except OSError as error:
            raise UnsafeFolder(
                f"The data folder {self.path} cannot be made: {error.strerror}. "
                "Choose another with --data or BRAINSTEM_DATA."
            ) from error

    def sockets(self) -> Path:
        """A private folder with a short name for this data folder's sockets."""
        folder = self._socket_folder
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
        # root may meet the folder as it gave it to the account that PostgreSQL runs under
        ours = os.geteuid() in (found.st_uid, 0)
        if not stat.S_ISDIR(found.st_mode) or not ours or found.st_mode & 0o077:
            raise UnsafeFolder(f"{folder} is not a private folder of ours; remove it.")
        return folder

    def remove_sockets(self) -> None:
        """Remove the folder of sockets once no server uses it."""
        with contextlib.suppress(OSError):
            self._socket_folder.rmdir()

    @property
    def _socket_folder(self) -> Path:
        key = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]
        return _TMP / f"brainstem-{os.geteuid()}-{key}"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder; raises `AlreadyRunning` at once when another process does.

        The kernel drops the lock with its process, so nothing is left behind by kill -9.
        """
        self.make()
        with (self.path / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                state = self.read_state()
                where = f" and serves {state['base_url']}" if state.get("base_url") else ""
                pid = f" (process {state['pid']})" if state.get("pid") else ""
                raise AlreadyRunning(
                    f"Brainstem already runs on {self.path}{pid}{where}. "
                    "Stop it, or choose another folder with --data."
                ) from None
            yield

    def is_locked(self) -> bool:
        """Whether a `brainstem up` runs on the folder now."""
        try:
            with (self.path / "lock").open("a+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def read_state(self) -> dict[str, Any]:
        """What the last `brainstem up` wrote down; {} when nothing readable is there."""
        try:
            state = json.loads((self.path / "run" / "state.json").read_text())
        except (OSError, ValueError):
            return {}
        return state if isinstance(state, dict) else {}

    def write_state(self, state: dict[str, Any]) -> None:
        """Write the state at one stroke, readable by its owner only."""
        target = self.path / "run" / "state.json"
        draft = target.with_suffix(".new")
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(state, indent=1))
        draft.replace(target)
