"""`brainstem runtime`: look at a runtime configuration without starting anything."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from deploy.commands.options import JsonOption
from storage.errors import InvalidInput

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="What BRAIN_RUNTIME_CONFIG is to name.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="The runtime inbox's configuration.", no_args_is_help=True)
    app.add_typer(group, name="runtime")

    @group.command()
    def check(file: FileArgument, as_json: JsonOption = False) -> None:
        """Say all that is wrong with a configuration; exit code 1 where that stops a start.

        Nothing is loaded, asked or granted.
        """
        from storage.runtime.readiness import validate

        try:
            found = validate(file.read_bytes())
        except OSError as error:
            raise InvalidInput(f"The file cannot be read: {error.strerror}.") from None
        if as_json:
            print(json.dumps({"valid": found.valid, **asdict(found)}))
        else:
            for kind, faults in (("error", found.errors), ("warning", found.warnings)):
                for fault in faults:
                    print(f"{kind}: {fault.place or 'the file'}: {fault.message}")
            print("valid" if found.valid else "not valid")
        if not found.valid:
            sys.exit(1)
