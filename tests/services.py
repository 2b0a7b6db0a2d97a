"""Real services for tests: one PostgreSQL and one Valkey of their own, and our own processes.

Nothing here is shared with a running Brainstem: the servers live in a new folder under /tmp, and
every process that is started here is dead when its test ends.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import httpx2
import psycopg
import redis
from psycopg import sql

from deploy.embedded.folder import DataFolder
from deploy.embedded.postgres import PostgresServer
from deploy.embedded.process import bound, end, log_tail, signal_group, spawn
from deploy.embedded.valkey import ValkeyServer

ROOT = Path(__file__).resolve().parent.parent

RestartMode = Literal["fast", "immediate", "kill"]


def wait_for(
    condition: Callable[[], object], *, seconds: float = 20.0, what: str = "the condition"
) -> None:
    """Return as soon as `condition()` is true; fail the test when it is not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come about within {seconds:g} s")
        time.sleep(0.02)


class Services:
    """The servers of one test session."""

    def __init__(self, data: Path, options: Mapping[str, str] | None = None) -> None:
        self.folder = DataFolder(data)
        self.folder.make()
        self.data = self.folder.path
        sockets = self.folder.sockets()
        self.sockets = sockets
        self.postgres = PostgresServer(
            self.folder.postgres,
            sockets,
            self.folder.log("postgres"),
            options={"shared_buffers": "128MB"} if options is None else options,
        )
        self.valkey = ValkeyServer(self.folder.valkey, sockets, self.folder.log("valkey"))
        # The kernel ends a bound child with the *thread* that started it: this one lives as long
        # as the session, whichever thread a test starts a process from.
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="starter")
        self._numbers = itertools.count(1)
        self._seeds: dict[str, bytes] = {}

    @property
    def database_url(self) -> str:
        """The database as Brainstem uses it (its owner, no superuser)."""
        return self.postgres.url

    @property
    def admin_url(self) -> str:
        """The same database as superuser, past row-level security: for looking and for faults."""
        return self.postgres.admin_url

    @property
    def redis_url(self) -> str:
        """Valkey's address."""
        return self.valkey.url

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to work on these services."""
        return {
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "BRAINSTEM_DATA": str(self.data),
        }

    # life

    def start(self) -> None:
        """Start both servers."""
        self._starter.submit(self.postgres.start).result()
        self._starter.submit(self.valkey.start).result()

    def close(self, *, keep: bool = False) -> None:
        """Stop both servers and remove everything; with `keep` the data stays, flushed."""
        self._starter.submit(self.valkey.stop).result()
        self._starter.submit(self.postgres.stop, "fast" if keep else "immediate").result()
        self._starter.shutdown()
        if not keep:
            shutil.rmtree(self.data, ignore_errors=True)
        shutil.rmtree(self.sockets, ignore_errors=True)

    # faults

    def stop_postgres(self, mode: RestartMode = "immediate") -> None:
        """Stop PostgreSQL; "kill" sends kill -9 to the postmaster alone."""
        if mode == "kill":
            assert self.postgres.process is not None
            self.postgres.process.kill()
            self.postgres.process.wait()
        else:
            self.postgres.stop(mode)

    def start_postgres(self) -> None:
        """Start PostgreSQL again and wait until it takes connections."""

        def restart() -> None:
            self.postgres.prepare()
            self.postgres.spawn()
            self.postgres.wait_ready()

        self._starter.submit(restart).result()

    def restart_postgres(self, mode: RestartMode = "immediate") -> None:
        """Stop in `mode` and start again."""
        self.stop_postgres(mode)
        self.start_postgres()

    def stop_redis(self) -> None:
        """Stop Valkey with its file flushed."""
        self.valkey.stop()

    def kill_redis(self, *, forget: bool = False) -> None:
        """kill -9 Valkey; with `forget` its append-only file goes too."""
        if self.valkey.process is not None:
            self.valkey.process.kill()
            self.valkey.process.wait()
        if forget:
            shutil.rmtree(self.valkey.folder, ignore_errors=True)

    def start_redis(self) -> None:
        """Start Valkey again and wait until it answers."""
        self._starter.submit(self.valkey.start).result()

    def redis(self) -> redis.Redis:
        """A new client; close it, or use it in a `with`."""
        return self.valkey.client()

    def mend(self) -> None:
        """Start whatever server a test left stopped or frozen."""
        for process in (self.postgres.process, self.valkey.process):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGCONT)
        if self.postgres.process is None or self.postgres.process.poll() is not None:
            self.start_postgres()
        if self.valkey.process is None or self.valkey.process.poll() is not None:
            self.start_redis()

    # contents

    def remember_seeds(self) -> None:
        """Note the rows that the migrations themselves put in, for `clear`."""
        with psycopg.connect(self.admin_url) as conn:
            for table in self._tables(conn):
                copied = sql.SQL("copy {} to stdout (format binary)").format(table)
                with conn.cursor() as cursor, cursor.copy(copied) as copy:
                    rows = b"".join(bytes(block) for block in copy)
                if conn.execute(sql.SQL("select 1 from {} limit 1").format(table)).fetchone():
                    self._seeds[table.as_string(conn)] = rows

    def clear(self) -> None:
        """Bring every table but that of keys back to what the migrations left, and empty Valkey."""
        with psycopg.connect(self.admin_url) as conn:
            tables = self._tables(conn)
            if tables:
                conn.execute(
                    sql.SQL("truncate {} restart identity cascade").format(
                        sql.SQL(", ").join(tables)
                    )
                )
            # foreign keys and triggers hold their tongue while seeds come back in any order
            conn.execute("set local session_replication_role = replica")
            for table in tables:
                rows = self._seeds.get(table.as_string(conn))
                if rows is not None:
                    copied = sql.SQL("copy {} from stdin (format binary)").format(table)
                    with conn.cursor() as cursor, cursor.copy(copied) as copy:
                        copy.write(rows)
        with self.redis() as client:
            client.flushall()

    @staticmethod
    def _tables(conn: psycopg.Connection) -> list[sql.Composed]:
        rows = conn.execute(
            """select n.nspname, c.relname from pg_class c join pg_namespace n
                 on n.oid = c.relnamespace
               where c.relkind in ('r', 'p') and not c.relispartition
                 and n.nspname !~ '^(pg_|information_schema)'
                 -- processes keep the installation's keys in memory, so they stay
                 and c.relname not in ('schema_revision', 'secret_key')
                 and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
               order by 1, 2"""
        ).fetchall()
        return [sql.SQL("{}").format(sql.Identifier(*row)) for row in rows]

    # processes

    def spawn(
        self,
        name: str,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        death: signal.Signals = signal.SIGKILL,
    ) -> Process:
        """Start `python ARGUMENTS…` on these services; the caller sees to its end."""
        log = self.folder.log(f"{name}-{next(self._numbers)}")
        environment = {
            **os.environ,
            **self.environment,
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            **(env or {}),
        }
        command = bound([sys.executable, *arguments], death)
        popen = self._starter.submit(
            lambda: spawn(command, log=log, env=environment, cwd=ROOT)
        ).result()
        return Process(name, popen, log)


class Process:
    """A process of ours under test; it leads a process group of its own."""

    def __init__(self, name: str, popen: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.popen = popen
        self.log = log

    @property
    def pid(self) -> int:
        """Its pid, which is also its process group."""
        return self.popen.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.popen.poll() is None

    @property
    def output(self) -> str:
        """What it printed so far (the last 100,000 characters)."""
        return log_tail(self.log, 100_000)

    def kill9(self) -> None:
        """kill -9 the process and all that it started, and wait."""
        signal_group(self.pid, signal.SIGKILL)
        self.popen.wait()

    def stop(self) -> None:
        """SIGSTOP the process and all that it started."""
        signal_group(self.pid, signal.SIGSTOP)

    def cont(self) -> None:
        """SIGCONT after `stop`."""
        signal_group(self.pid, signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM: ask it to stop gracefully; does not wait."""
        if self.alive:
            self.popen.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = 30.0) -> int:
        """Wait for its end and return the exit code; fails the test when time is over."""
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"{self.name} did not end within {seconds:g} s:\n{log_tail(self.log)}"
            ) from None

    def wait_for_output(self, text: str, *, seconds: float = 20.0) -> None:
        """Wait until it has printed `text`; fails the test when it ends or time is over."""

        def printed() -> bool:
            if text in self.output:
                return True
            assert self.alive, f"{self.name} ended early:\n{log_tail(self.log)}"
            return False

        wait_for(printed, seconds=seconds, what=f"{text!r} in the output of {self.name}")

    def close(self) -> None:
        """Make sure that nothing of it is left."""
        self.cont()
        self.kill9()


class Api:
    """A running API: its address, a client, and its process."""

    def __init__(self, process: Process, base_url: str) -> None:
        self.process = process
        self.base_url = base_url
        self.client = httpx2.Client(base_url=base_url, timeout=60.0)

    def wait_ready(self, *, seconds: float = 60.0) -> None:
        """Wait for `/healthz`; fails the test when the process ends or time is over."""

        def answers() -> bool:
            assert self.process.alive, f"the API ended:\n{log_tail(self.process.log)}"
            try:
                return self.client.get("/healthz").status_code == 200
            except httpx2.TransportError:
                return False

        wait_for(answers, seconds=seconds, what="the API's /healthz")

    def close(self) -> None:
        """End it."""
        self.client.close()
        end(self.process.popen, signal.SIGTERM, 8.0)


@contextlib.contextmanager
def running_api(services: Services, env: Mapping[str, str] | None = None) -> Iterator[Api]:
    """A gunicorn of one process with its own settings, answering; ended at exit."""
    port = free_port()
    settings = {"BRAINSTEM_PORT": str(port), "BRAINSTEM_API_PROCESSES": "1", **(env or {})}
    config = str(ROOT / "deploy" / "gunicorn_conf.py")
    arguments = ["-m", "gunicorn", "-c", config, "api.app:create_app()"]
    api = Api(services.spawn("api", arguments, env=settings), f"http://127.0.0.1:{port}")
    with contextlib.closing(api):
        api.wait_ready()
        yield api


def free_port() -> int:
    """A TCP port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def started_services(
    kept: Path | None = None, options: Mapping[str, str] | None = None
) -> Iterator[Services]:
    """Services in a new folder, migrated, and named in this process's environment.

    With `kept` they run on that folder, made if it is missing, and its data outlives them.
    `options` are PostgreSQL's, in place of the small ones that tests run with.
    """
    from storage import migrations, settings
    from storage.database import database

    folder = kept or Path(tempfile.mkdtemp(prefix="brainstem-test-", dir="/tmp"))
    services = Services(folder, options)
    before = dict(os.environ)
    try:
        services.start()
        os.environ.update(services.environment)
        settings.reload()
        migrations.upgrade()
        if kept is None:
            services.remember_seeds()
        yield services
    finally:
        database().close()
        services.close(keep=kept is not None)
        os.environ.clear()
        os.environ.update(before)
        settings.reload()
