"""An installation of before: its spaces are noted, so that maintenance brings their elements in."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from alembic import command
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from storage import migrations
from tests.services import Services


@pytest.fixture
def owned(services: Services) -> Iterator[str]:
    """The URL of a new, empty database whose owner is neither a superuser nor past row security."""
    name = f"upgrade_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(services.admin_url, autocommit=True) as admin:
        admin.execute(f"create role {name} login createrole password 'x'")
        for role in ("brainstem_app", "brainstem_ledger"):
            admin.execute(f"grant {role} to {name} with admin true, inherit false, set true")
        admin.execute(f"create database {name} owner {name}")
    base = make_url(services.admin_url).set(database=name)
    with psycopg.connect(base.render_as_string(hide_password=False), autocommit=True) as admin:
        admin.execute("create extension vector")
        admin.execute(f"alter schema public owner to {name}")
    yield base.set(username=name, password="x").render_as_string(hide_password=False)
    with psycopg.connect(services.admin_url, autocommit=True) as admin:
        admin.execute(f"drop database {name} with (force)")
        admin.execute(f"drop role {name}")


def upgrade(url: str, revision: str) -> None:
    """Bring the database to a revision, as its owner."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool)
    with engine.connect() as connection:
        config = migrations._config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def test_spaces_that_hold_something_are_noted_whoever_migrates(owned: str) -> None:
    upgrade(owned, "0005")
    with psycopg.connect(owned, autocommit=True) as owner:
        owner.execute("alter table space no force row level security")
        owner.execute(
            "insert into space (space_id, owner, head_seq) values ('old', 'a', 3), ('new', 'a', 0)"
        )
        owner.execute("alter table space force row level security")
    upgrade(owned, "head")
    with psycopg.connect(owned) as owner:
        for space, noted in (("old", 1), ("new", 0)):
            owner.execute("set role brainstem_app")
            owner.execute("select set_config('brainstem.space', %s, true)", (space,))
            assert owner.execute("select count(*) from search_backlog").fetchone() == (noted,)
            owner.rollback()
    with psycopg.connect(owned) as owner:
        forced = owner.execute(
            "select relforcerowsecurity from pg_class where relname = 'space'"
        ).fetchone()
    assert forced == (True,)
