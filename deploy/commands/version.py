"""`brainstem version`: what is installed."""

from __future__ import annotations

import json
import platform

import typer

from deploy.commands.options import JsonOption
from storage.version import VERSION


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def version(as_json: JsonOption = False) -> None:
        """Print the version of Brainstem."""
        found = {"brainstem": VERSION, "python": platform.python_version()}
        print(json.dumps(found) if as_json else VERSION)
