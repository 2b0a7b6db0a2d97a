"""The command line `brainstem`.

To add a group of commands: write `deploy/commands/NAME.py` with `register(app)`, and name it in
`GROUPS`. Import what is heavy inside the command, so that `brainstem --help` stays quick.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import NoReturn

import psycopg
import redis
import typer
from dramatiq.errors import BrokerConnectionError
from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError

from storage.errors import BrainError

#: Modules of `deploy.commands`, in the order in which `--help` shows them.
GROUPS = (
    "up",
    "serve",
    "migrate",
    "doctor",
    "runtime",
    "space",
    "jobs",
    "schedule",
    "encode",
    "kip",
    "keys",
    "token",
    "version",
)


def build() -> typer.Typer:
    """The command line with every group registered."""
    app = typer.Typer(
        name="brainstem",
        help="A self-hosted, durable brain server.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for name in GROUPS:
        import_module(f"deploy.commands.{name}").register(app)
    return app


def main() -> None:
    """Run the command line; an error of ours is one line and exit code 1."""
    try:
        build()(prog_name="brainstem")
    except BrainError as error:
        _fail(error.message)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the settings"
        _fail(f"{place}: {first['msg']}")
    except (psycopg.Error, SQLAlchemyError):
        _fail("The database cannot be used: check DATABASE_URL and that the server is running.")
    except (redis.RedisError, BrokerConnectionError):
        _fail("Redis cannot be used: check REDIS_URL and that the server is running.")


def _fail(message: str) -> NoReturn:
    print(f"brainstem: {message}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
