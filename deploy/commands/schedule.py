"""`brainstem schedule …` and `brainstem cron run NAME`: what runs when."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import typer

from deploy.commands.options import DataOption, JsonOption
from deploy.services import attach
from storage.clock import to_text
from storage.errors import InvalidInput

NameArgument = Annotated[str, typer.Argument(help="The schedule's name.")]


def register(app: typer.Typer) -> None:
    """Add the two groups."""
    schedules = typer.Typer(help="Schedules: rows that become jobs when they fall due.")
    cron = typer.Typer(help="For a system's own cron and Kubernetes CronJobs.")
    app.add_typer(schedules, name="schedule", no_args_is_help=True)
    app.add_typer(cron, name="cron", no_args_is_help=True)

    @schedules.command("add")
    def add(
        name: NameArgument,
        cron_expression: Annotated[str, typer.Argument(metavar="CRON", help="As '17 * * * *'.")],
        kind: Annotated[str, typer.Argument(help="The kind of job.")],
        space: Annotated[str | None, typer.Option(help="The space; none: the system's.")] = None,
        timezone: Annotated[str, typer.Option(help="The zone the expression is read in.")] = "UTC",
        payload: Annotated[str, typer.Option(help="The job's payload, as JSON.")] = "{}",
        catch_up: Annotated[
            Literal["once", "skip"], typer.Option(help="After a downtime: run once, or not.")
        ] = "once",
        jitter: Annotated[int, typer.Option(help="Spread ticks over so many seconds.")] = 0,
        data: DataOption = None,
    ) -> None:
        """Add a schedule."""
        attach(data)
        from jobs import schedule
        from jobs.kinds import SYSTEM_SPACE
        from storage.database import database

        with database().ledger() as tx:
            schedule.add(
                tx,
                name,
                cron_expression,
                kind,
                space_id=space or SYSTEM_SPACE,
                timezone=timezone,
                payload=_json_object(payload),
                catch_up=catch_up,
                jitter_seconds=jitter,
            )
        print(f"{name} next runs {_when(schedule.next_tick(cron_expression, timezone, _now()))}.")

    @schedules.command("list")
    def list_schedules(data: DataOption = None, as_json: JsonOption = False) -> None:
        """Show all schedules."""
        attach(data)
        from storage.database import database
        from storage.schedules import all_schedules

        with database().ledger() as tx:
            found = all_schedules(tx)
        if as_json:
            rows = [
                {
                    "name": one.name,
                    "cron": one.cron,
                    "timezone": one.timezone,
                    "kind": one.kind,
                    "space": one.space_id,
                    "catch_up": one.catch_up,
                    "jitter_seconds": one.jitter_seconds,
                    "paused": one.paused,
                    "next_due": one.next_due and to_text(one.next_due),
                    "last_due": one.last_due and to_text(one.last_due),
                    "last_job": one.last_job,
                }
                for one in found
            ]
            print(json.dumps({"schedules": rows}))
            return
        for one in found:
            state = "paused" if one.paused else f"next {_when(one.next_due)}"
            print(f"{one.name:<20} {one.cron:<18} {one.timezone:<16} {one.kind:<18} {state}")

    @schedules.command("pause")
    def pause(
        name: NameArgument,
        resume: Annotated[bool, typer.Option("--resume", help="Let it run again.")] = False,
        data: DataOption = None,
    ) -> None:
        """Pause a schedule, or let it run again."""
        attach(data)
        from jobs import schedule
        from storage.database import database

        with database().ledger() as tx:
            schedule.pause(tx, name, paused=not resume)
        print(f"{name} {'runs again' if resume else 'is paused'}.")

    @schedules.command("remove")
    def remove(name: NameArgument, data: DataOption = None) -> None:
        """Delete a schedule."""
        attach(data)
        from jobs import schedule
        from storage.database import database

        with database().ledger() as tx:
            schedule.remove(tx, name)
        print(f"{name} is gone.")

    @schedules.command("run")
    def run(name: NameArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
        """Run a schedule's job now, beside its ticks."""
        attach(data)
        _run(name, None, as_json)

    @cron.command("run")
    def cron_run(
        name: NameArgument,
        key: Annotated[
            str | None,
            typer.Option(help="Runs of one key are one; none: one run a minute."),
        ] = None,
        data: DataOption = None,
        as_json: JsonOption = False,
    ) -> None:
        """Run a schedule's job from outside; a second call within the same minute is the first."""
        attach(data)
        _run(name, key or f"{_now():%Y-%m-%dT%H:%MZ}", as_json)


def _run(name: str, key: str | None, as_json: bool) -> None:
    from jobs import dispatch, schedule
    from storage.database import database

    with database().ledger() as tx:
        accepted = schedule.run_now(tx, name, key=key)
    dispatch.announce([accepted.job])
    dispatch.flush()
    if as_json:
        print(json.dumps({"job": accepted.job.id, "created": accepted.created}))
    else:
        print(f"{accepted.job.id} {'accepted' if accepted.created else 'was accepted before'}.")


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"The payload is no JSON: {error}.", field="payload") from None
    if not isinstance(value, dict):
        raise InvalidInput("The payload must be a JSON object.", field="payload")
    return value


def _now() -> datetime:
    return datetime.now(UTC)


def _when(at: datetime | None) -> str:
    return to_text(at) if at else "never"
