"""`brainstem space …`: make and list spaces, past the HTTP interface."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from deploy.commands.options import DataOption, JsonOption
from deploy.services import attach


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Spaces, the tenants.")
    app.add_typer(group, name="space", no_args_is_help=True)

    @group.command("create")
    def create(
        space_id: Annotated[str, typer.Argument(metavar="SPACE")],
        owner: Annotated[str, typer.Option(help="The principal that owns it.")] = "anonymous",
        data: DataOption = None,
    ) -> None:
        """Create a space."""
        attach(data)
        from storage import spaces
        from storage.database import database

        scope = spaces.scope_of(space_id)
        with database().transaction(scope) as tx:
            spaces.create(tx, scope, owner=owner)
        print(f"{space_id} is there.")

    @group.command("list")
    def list_spaces(data: DataOption = None, as_json: JsonOption = False) -> None:
        """Show all spaces and the sequence of their last commit."""
        attach(data)
        from storage.database import database

        with database().ledger() as tx:
            rows = tx.execute("select space_id, head_seq from space order by 1").fetchall()
        if as_json:
            print(json.dumps({"spaces": [{"space_id": s, "head_seq": q} for s, q in rows]}))
            return
        for space_id, head_seq in rows:
            print(f"{space_id:<40} {head_seq:>10}")
