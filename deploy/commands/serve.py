"""`brainstem api`, `brainstem worker`, `brainstem scheduler`: one kind of process in front.

They work on `DATABASE_URL` and `REDIS_URL`, or on the services of a running `brainstem up`. Each
becomes the process it names, so that a supervisor's signals reach it directly.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from deploy.commands.options import DataOption
from deploy.services import attach
from storage.settings import PROJECT_ROOT, settings

#: What gunicorn runs.
API = ("-m", "gunicorn", "-c", str(PROJECT_ROOT / "deploy" / "gunicorn_conf.py"))
APPLICATION = "api.app:create_app()"


def become(*arguments: str) -> NoReturn:
    """Replace this process by `python ARGUMENTS…`, our packages on its path."""
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(PROJECT_ROOT), *([path] if path else [])])
    os.execv(sys.executable, [sys.executable, *arguments])


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command()
    def api(
        data: DataOption = None,
        port: Annotated[int | None, typer.Option(help="BRAINSTEM_PORT.")] = None,
    ) -> None:
        """Serve the API."""
        attach(data)
        if port is not None:
            os.environ["BRAINSTEM_PORT"] = str(port)
        become(*API, APPLICATION)

    @app.command()
    def worker(
        queues: Annotated[
            str | None, typer.Option(help="Queues to work on, by comma (default: all).")
        ] = None,
        threads: Annotated[
            int | None, typer.Option(help="Jobs at a time (BRAINSTEM_WORKER_THREADS).")
        ] = None,
        data: DataOption = None,
    ) -> None:
        """Run jobs, of all queues or of those that are named."""
        attach(data)
        count = str(threads or settings().worker_threads)
        named = ("--queues", queues) if queues else ()
        become("-m", "jobs.worker", "--threads", count, *named)

    @app.command()
    def scheduler(data: DataOption = None) -> None:
        """Send committed jobs, find lost ones, and start what is scheduled; any number may run."""
        attach(data)
        become("-m", "jobs.scheduler")
