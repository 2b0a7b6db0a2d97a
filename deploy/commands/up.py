"""`brainstem up`: everything on this machine, by one command."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from deploy.commands.options import DataOption
from deploy.commands.serve import API, APPLICATION
from deploy.embedded.folder import DataFolder
from deploy.embedded.process import log_tail
from deploy.services import postgres_of, use_addresses, use_data, valkey_of
from deploy.supervisor import PythonPart, Supervisor
from storage.errors import BrainError, Unavailable
from storage.settings import PROJECT_ROOT, settings
from storage.version import VERSION

#: Worker processes: name, queues, threads (None: as `BRAINSTEM_WORKER_THREADS` says). Callers wait
#: for the first kind, so long native work (embedding, files) has an interpreter of its own.
POOLS: tuple[tuple[str, str, int | None], ...] = (
    ("worker", "interactive,memory", None),
    ("worker-background", "files,knowledge,purge,system", 2),
)
#: How long everything may take until `/readyz` agrees, seconds.
_READY_SECONDS = 90.0
_WATCH_SECONDS = 0.1


class PortTaken(Unavailable):
    """Another program listens where the API should."""

    code = "port_taken"


class NotReady(Unavailable):
    """The parts run, but the whole did not get ready."""

    code = "not_ready"


class _StopRequested(BaseException):
    """A signal asked us to stop; no error, so no `except Exception` may catch it."""


class _Signals:
    """The first signal unwinds what is under way, and the next one hurries the stop."""

    def __init__(self) -> None:
        self.stopping = False
        self.hurry = False
        self._unwinds = False
        for what in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(what, self._received)

    def _received(self, number: int, frame: FrameType | None) -> None:
        self.hurry = self.stopping
        if not self.stopping:
            self.stopping = True
            if self._unwinds:
                raise _StopRequested

    def until_one_comes(self, work: Callable[[], None]) -> None:
        """Do `work`, or as much of it as there is time for until a signal comes.

        Before and after, signals are noted and unwind nothing.
        """
        try:
            self._unwinds = True
            if not self.stopping:
                work()
        except _StopRequested:
            pass
        finally:
            self._unwinds = False
            self.stopping = True


class _Demo(threading.Thread):
    """The demonstration beside the watching; `passed` is None while it runs."""

    def __init__(self, base_url: str, console: Console) -> None:
        super().__init__(name="demo", daemon=True)
        self._base_url = base_url
        self._console = console
        self.passed: bool | None = None

    def run(self) -> None:
        from deploy.demo import run

        try:
            self.passed = run(self._base_url, self._console)
        finally:
            if self.passed is None:
                self.passed = False


class Up:
    """One run of `brainstem up`."""

    def __init__(self, folder: DataFolder, console: Console) -> None:
        self._folder = folder
        self._console = console
        self._supervisor = Supervisor(folder, self._say)
        self._demo: _Demo | None = None
        self.failed = False
        host = settings().host
        self.base_url = f"http://{f'[{host}]' if ':' in host else host}:{settings().port}"

    @property
    def shown(self) -> bool:
        """Whether the demonstration ran and held what it promised."""
        return self._demo is not None and self._demo.passed is True

    def whole(self, *, demo: bool, stay: bool) -> None:
        """Start, demonstrate, serve; returns only without `stay`. Raises as `start` does."""
        self.start()
        if demo:
            shown = self._demo = _Demo(self.base_url, self._console)
            shown.start()
            self.serve(until=lambda: shown.passed is not None)
        if stay:
            self._announce()
            self.serve()

    def start(self) -> None:
        """Start everything and wait until the API says that it is ready.

        Raises `PortTaken`, `ServerFailed`, `NotReady` or `DatabaseUnavailable`.
        """
        began = time.monotonic()
        self._console.print(f"Brainstem {VERSION}, data in {self._folder.path}")
        self._supervisor.end_leftovers()
        _check_port()
        self._start_servers()
        from storage import migrations

        migrations.upgrade()
        self._say(f"schema at {migrations.state()[0]}")
        for part in self._parts():
            self._supervisor.keep(part)
        self._wait_ready()
        self._supervisor.publish(base_url=self.base_url)
        self._say(f"ready after {time.monotonic() - began:.1f} s")

    def serve(self, until: Callable[[], bool] = lambda: False) -> None:
        """Watch over everything until `until()` is true or a signal comes."""
        while not until():
            self._supervisor.watch()
            time.sleep(_WATCH_SECONDS)

    def stop(self, hurry: Callable[[], bool]) -> None:
        """Stop everything; `hurry()` turning true kills our own processes at once."""
        self._console.print("Stopping …")
        self._supervisor.stop(hurry)
        self._folder.remove_sockets()
        if self._demo is not None:
            self._demo.join(2.0)  # it gives the terminal its cursor back
        self._console.print("Stopped.")

    def _start_servers(self) -> None:
        if settings().database_url:
            self._say("PostgreSQL: DATABASE_URL")
        else:
            postgres = postgres_of(self._folder)
            postgres.prepare()
            self._supervisor.keep(postgres, postgres.spawn())
            postgres.wait_ready()
            postgres.ensure_database()
            use_addresses(DATABASE_URL=postgres.url)
            self._say("PostgreSQL: embedded")
        if settings().redis_url:
            self._say("Redis: REDIS_URL")
        else:
            valkey = valkey_of(self._folder)
            valkey.start()
            self._supervisor.keep(valkey, valkey.process)
            use_addresses(REDIS_URL=valkey.url)
            self._say("Valkey: embedded")
        self._supervisor.publish(
            database_url=settings().database_url, redis_url=settings().redis_url
        )

    def _parts(self) -> Iterator[PythonPart]:
        environment: Mapping[str, str] = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                part for part in (str(PROJECT_ROOT), os.environ.get("PYTHONPATH")) if part
            ),
            "PYTHONUNBUFFERED": "1",
            "BRAINSTEM_PORT": str(settings().port),
        }
        grace = settings().shutdown_seconds + 5.0

        def part(name: str, *arguments: str, death: signal.Signals = signal.SIGKILL) -> PythonPart:
            log = self._folder.log(name)
            return PythonPart(name, arguments, log, environment, death, grace_seconds=grace)

        # gunicorn's own children are ended by their master only, so it is asked and not killed
        yield part("api", *API, APPLICATION, death=signal.SIGTERM)
        for name, queues, threads in POOLS:
            count = str(threads or settings().worker_threads)
            yield part(name, "-m", "jobs.worker", "--queues", queues, "--threads", count)
        yield part("scheduler", "-m", "jobs.scheduler")

    def _wait_ready(self) -> None:
        import httpx2

        deadline = time.monotonic() + _READY_SECONDS
        with httpx2.Client(base_url=self.base_url, timeout=5.0, trust_env=False) as client:
            while True:
                self._supervisor.watch()
                try:
                    answer = client.get("/readyz")
                    if answer.status_code == 200:
                        return
                    said = answer.text[:500]
                except httpx2.TransportError as error:
                    said = str(error)
                dying = self._supervisor.unsteady()
                if dying is not None:
                    raise NotReady(f"{dying.name} keeps ending:\n{log_tail(dying.log)}")
                if time.monotonic() > deadline:
                    raise NotReady(f"Not ready after {_READY_SECONDS:g} s; /readyz says: {said}")
                time.sleep(_WATCH_SECONDS)

    def _announce(self) -> None:
        say = self._console.print
        say()
        say(f"Brainstem serves {self.base_url}", style="bold")
        for what, path in (("schema", "/openapi.json"), ("docs", "/docs"), ("metrics", "/metrics")):
            say(f"  {what:<8} {self.base_url}{path}")
        say(f"  logs     {self._folder.path / 'log'}", markup=False)
        if not settings().ed25519_pubkeys.strip():
            say("Nobody is asked who they are, so it listens on this machine only (loopback);")
            say("`brainstem keys new` and ED25519_PUBKEYS change that.")
        say("Ctrl-C stops it; the data stays.")

    def _say(self, text: str) -> None:
        self._console.print(f"  {text}", highlight=False, markup=False)


def _check_port() -> None:
    host, port = settings().host, settings().port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise PortTaken(
                f"{host}:{port} cannot be used for the API ({error.strerror}): "
                "choose another port with --port or BRAINSTEM_PORT."
            ) from None


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def up(
        data: DataOption = None,
        port: Annotated[int | None, typer.Option(help="Port of the API (BRAINSTEM_PORT).")] = None,
        demo: Annotated[
            bool, typer.Option("--demo/--no-demo", help="Show the main job on a real conversation.")
        ] = False,
        check: Annotated[
            bool, typer.Option("--check", help="Show it, stop everything, and exit 0 or 1.")
        ] = False,
    ) -> None:
        """Start PostgreSQL, Valkey, API, workers and scheduler here, and keep them running."""
        if port is not None:
            os.environ["BRAINSTEM_PORT"] = str(port)
        folder = use_data(data)
        console = Console(highlight=False, soft_wrap=True)
        signals = _Signals()
        with folder.locked():
            run = Up(folder, console)
            try:
                signals.until_one_comes(lambda: run.whole(demo=demo or check, stay=not check))
            except BrainError as error:
                print(f"brainstem: {error.message}", file=sys.stderr)
                run.failed = True
            finally:
                run.stop(lambda: signals.hurry)
        if run.failed or (check and not run.shown):
            raise typer.Exit(1)
