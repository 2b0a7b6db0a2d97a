"""The schema's history: forward only, serialised across machines, safe to run twice."""

from __future__ import annotations

import time
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import NullPool

from storage.settings import settings

_HERE = Path(__file__).resolve().parent
#: Advisory lock of all migrations; polled, because waiting inside the lock call deadlocks with
#: CREATE INDEX CONCURRENTLY of the holder.
_LOCK = 0x627261696E
#: Where the database's revision is kept.
VERSION_TABLE = "schema_revision"


def _url() -> URL:
    return make_url(settings().database_url).set(drivername="postgresql+psycopg")


def _engine() -> Engine:
    return create_engine(_url(), poolclass=NullPool)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_HERE).replace("%", "%%"))
    return config


def upgrade() -> None:
    """Bring the database to the newest revision; concurrent callers take turns."""
    engine = _engine()
    with engine.connect() as lock:
        while not lock.scalar(text("select pg_try_advisory_lock(:k)"), {"k": _LOCK}):
            lock.rollback()
            time.sleep(0.2)
        lock.commit()
        try:
            with engine.connect() as connection:
                config = _config()
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        finally:
            lock.rollback()
            lock.execute(text("select pg_advisory_unlock(:k)"), {"k": _LOCK})
            lock.commit()
    engine.dispose()


def state() -> tuple[str | None, str | None]:
    """The database's revision and the newest one known here."""
    engine = _engine()
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        current = context.get_current_revision()
    engine.dispose()
    return current, ScriptDirectory.from_config(_config()).get_current_head()
