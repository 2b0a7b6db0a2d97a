"""`brainstem token …`: credentials for callers."""

from __future__ import annotations

import os
import time
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Credentials for callers.")
    app.add_typer(group, name="token", no_args_is_help=True)

    @group.callback()
    def credentials() -> None:
        """Credentials for callers."""

    @group.command("mint")
    def mint(
        subject: Annotated[str, typer.Option("--sub", help="Whose token it is.")],
        audience: Annotated[str, typer.Option("--aud", help="The space, or * for any.")],
        scope: Annotated[str, typer.Option(help="read, write or *.")] = "*",
        hours: Annotated[float, typer.Option(min=0.001, max=87_600)] = 24.0,
    ) -> None:
        """Sign a token (CWT) with the key in BRAINSTEM_SIGNING_KEY and print it."""
        from storage.credentials import cwt

        key = os.environ.get("BRAINSTEM_SIGNING_KEY", "")
        if not key:
            raise typer.BadParameter("set BRAINSTEM_SIGNING_KEY; `brainstem keys new` makes one")
        print(
            cwt.mint(
                key,
                subject=subject,
                audience=audience,
                scope=scope,
                seconds=hours * 3600,
                at=time.time(),
            )
        )
