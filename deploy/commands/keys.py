"""`brainstem keys …`: keys that sign the tokens of callers."""

from __future__ import annotations

import json

import typer


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Keys that sign the tokens of callers.")
    app.add_typer(group, name="keys", no_args_is_help=True)

    @group.command("new")
    def new(json_output: bool = typer.Option(False, "--json", help="As JSON.")) -> None:
        """Make a pair of Ed25519 keys; nothing is stored.

        The server gets the public one as ED25519_PUBKEYS, whoever issues tokens keeps the other
        one as BRAINSTEM_SIGNING_KEY (`brainstem token mint` reads it there).
        """
        from storage.credentials import cwt

        private, public = cwt.new_key()
        if json_output:
            print(json.dumps({"signing_key": private, "public_key": public}))
            return
        print(f"ED25519_PUBKEYS={public}")
        print(f"BRAINSTEM_SIGNING_KEY={private}")
