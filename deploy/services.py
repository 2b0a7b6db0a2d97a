"""Which database and Redis a command works on: named ones, running ones, or ones of its own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from deploy.embedded.folder import DataFolder
from deploy.embedded.postgres import PostgresServer
from deploy.embedded.valkey import ValkeyServer
from storage.errors import Unavailable
from storage.settings import reload, settings


class NotRunning(Unavailable):
    """The command needs services, and there are none to be found."""

    code = "not_running"
    default = (
        "Nothing runs on this data folder: start `brainstem up` first, "
        "or set DATABASE_URL and REDIS_URL."
    )


def use_data(data: Path | None) -> DataFolder:
    """Settle the data folder for this process and its children (None: as the environment says)."""
    folder = DataFolder(data or settings().data)
    os.environ["BRAINSTEM_DATA"] = str(folder.path)
    reload()
    return folder


def use_addresses(**addresses: str) -> None:
    """Make `DATABASE_URL` and `REDIS_URL` this process's settings and its children's."""
    os.environ.update(addresses)
    reload()


def attach(data: Path | None = None) -> DataFolder:
    """Work on the named services, else on those of the `brainstem up` of the data folder.

    Raises `NotRunning` when an address is still missing.
    """
    folder = use_data(data)
    state = folder.read_state() if folder.is_locked() else {}
    found = {
        name: settings_value or state.get(name.lower(), "")
        for name, settings_value in (
            ("DATABASE_URL", settings().database_url),
            ("REDIS_URL", settings().redis_url),
        )
    }
    if not all(found.values()):
        raise NotRunning()
    use_addresses(**found)
    return folder


@contextlib.contextmanager
def attached(data: Path | None = None) -> Iterator[DataFolder]:
    """As `attach`; where nothing runs, start servers on the data folder for as long as it lasts.

    For commands that need a migrated store but no `brainstem up`. Raises `AlreadyRunning` when
    another command of this kind holds the folder.
    """
    try:
        folder = attach(data)
    except NotRunning:
        folder = use_data(data)
    else:
        yield folder
        return
    with folder.locked(), contextlib.ExitStack() as stack:
        stack.callback(folder.remove_sockets)
        if not settings().database_url:
            postgres = postgres_of(folder)
            stack.callback(postgres.stop)
            postgres.start()
            use_addresses(DATABASE_URL=postgres.url)
        if not settings().redis_url:
            valkey = valkey_of(folder)
            stack.callback(valkey.stop)
            valkey.start()
            use_addresses(REDIS_URL=valkey.url)
        from storage import migrations
        from storage.database import database

        migrations.upgrade()
        stack.callback(database().close)
        yield folder


def postgres_of(folder: DataFolder) -> PostgresServer:
    """The embedded PostgreSQL of a data folder."""
    return PostgresServer(folder.postgres, folder.sockets(), folder.log("postgres"))


def valkey_of(folder: DataFolder) -> ValkeyServer:
    """The embedded Valkey of a data folder."""
    return ValkeyServer(folder.valkey, folder.sockets(), folder.log("valkey"))
