"""`brainstem migrate`: bring the schema up to date."""

from __future__ import annotations

import json

import typer

from deploy.commands.options import DataOption, JsonOption
from deploy.services import attach


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def migrate(data: DataOption = None, as_json: JsonOption = False) -> None:
        """Bring the database's schema to the newest revision; safe to run twice and at once."""
        attach(data)
        from storage import migrations

        before, _ = migrations.state()
        migrations.upgrade()
        after, newest = migrations.state()
        if as_json:
            print(json.dumps({"before": before, "after": after, "newest": newest}))
        elif before == after:
            print(f"The schema is at {after} already.")
        else:
            print(f"The schema went from {before or 'nothing'} to {after}.")
