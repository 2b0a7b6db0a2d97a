"""`brainstem jobs …`: what an operator sees and does of the queues, past the HTTP interface."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer

from deploy.commands.options import DataOption, JsonOption
from deploy.services import attach
from storage.database import Transaction
from storage.errors import NotFound
from storage.principals import Principal

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The job's id.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Look at the job ledger, cancel and restart jobs.")
    app.add_typer(group, name="jobs", no_args_is_help=True)

    @group.command("status")
    def status(data: DataOption = None, as_json: JsonOption = False) -> None:
        """Open jobs by queue, kind and state, and the workers."""
        attach(data)
        from storage import jobs as table
        from storage.database import database
        from storage.settings import settings

        with database().ledger() as tx:
            census = table.census(tx)
            workers = table.workers(tx, lease_seconds=settings().lease_seconds)
        alive = [one for one in workers if one.alive]
        if as_json:
            open_jobs = [
                {"queue": queue, "kind": kind, "state": state, "jobs": count}
                for queue, kind, state, count in census
            ]
            shown = [
                {"id": w.id, "host": w.host, "pid": w.pid, "role": w.role, "queues": w.queues}
                for w in alive
            ]
            print(json.dumps({"open": open_jobs, "workers": shown}))
            return
        for queue, kind, state, count in census:
            print(f"{queue:<12} {kind:<16} {state:<9} {count:>8}")
        if not census:
            print("No open jobs.")
        for one in alive:
            queues = ",".join(one.queues) or "-"
            print(f"{one.role:<12} {one.host}:{one.pid} threads {one.threads} queues {queues}")

    @group.command("show")
    def show(job_id: JobArgument, data: DataOption = None) -> None:
        """One job with its timeline, as JSON."""
        attach(data)
        from jobs import receipts
        from storage import jobs as table
        from storage.database import Scope, database

        with database().ledger() as tx:
            job = table.get_any(tx, job_id)
            if job is None:
                raise NotFound("There is no such job.")
            events = table.events(tx, Scope(job.space_id), job.id)
        told = {
            **receipts.view(job),
            "space_id": job.space_id,
            "timeline": receipts.timeline(events),
            "attempts": receipts.attempts(events),
        }
        print(json.dumps(told, indent=2, ensure_ascii=False))

    @group.command("cancel")
    def cancel(job_id: JobArgument, data: DataOption = None) -> None:
        """Cancel a job in any state."""
        attach(data)
        from jobs import dispatch, ledger
        from storage.database import database

        with database().ledger() as tx:
            told = ledger.cancel(tx, _operator(tx, job_id), job_id)
        dispatch.announce(told)
        dispatch.flush()
        print(f"{job_id} {'is told to stop' if told else 'had ended'}.")

    @group.command("retry")
    def retry(job_id: JobArgument, data: DataOption = None) -> None:
        """Restart a failed or cancelled job as a new one linked to it."""
        attach(data)
        from jobs import dispatch, ledger
        from storage.database import Scope, database

        with database().ledger() as tx:
            operator = _operator(tx, job_id)
        with database().transaction(Scope(operator.space_id)) as tx:
            accepted = ledger.retry(tx, operator, job_id)
        dispatch.announce([accepted.job])
        dispatch.flush()
        print(accepted.job.id)

    @group.command("noop")
    def noop(
        space: Annotated[str, typer.Option(help="The space.")] = "_system",
        data: DataOption = None,
    ) -> None:
        """Send a job that does nothing through everything, and say how long it took."""
        attach(data)
        from jobs import dispatch, ledger, watch
        from storage.database import Scope, database
        from storage.principals import system

        started = time.perf_counter()
        with database().transaction(Scope(space)) as tx:
            job = ledger.accept(tx, system(space), "noop", {}).job
        dispatch.announce([job])
        ended = watch.wait_for(Scope(space), job.id, 10.0)
        took = (time.perf_counter() - started) * 1000
        state = ended.state if ended else "gone"
        print(f"{job.id} {state} after {took:.1f} ms")
        raise typer.Exit(0 if state == "succeeded" else 1)


def _operator(tx: Transaction, job_id: str) -> Principal:
    from storage import jobs as table

    job = table.get_any(tx, job_id)
    if job is None:
        raise NotFound("There is no such job.")
    return Principal("$operator", "operator", job.space_id, frozenset({"*"}))
