"""What counts as PostgreSQL being away, and what is a fault of the statement."""

from __future__ import annotations

import psycopg
import pytest

from storage.database import Database, Scope, is_outage


def test_too_many_values_are_no_outage(database: Database, space: str) -> None:
    values = list(range(70_000))
    places = ",".join(["%s"] * len(values))
    with (
        pytest.raises(psycopg.OperationalError) as caught,
        database.transaction(Scope(space)) as tx,
    ):
        tx.execute(f"select 1 where 1 in ({places})", values)
    assert not is_outage(caught.value)
