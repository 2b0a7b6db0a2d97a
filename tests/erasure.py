"""Looking for words everywhere that a Brainstem keeps anything, past its own code."""

from __future__ import annotations

from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier

from storage.database import Database, Scope
from storage.graph.changes import (
    Change,
    ChangeSet,
    Citation,
    CreateAssertion,
    CreateEvidence,
    EnsureProposition,
    UpsertConcept,
    Value,
)
from storage.graph.commit import commit
from tests.services import Services


def where(services: Services, *words: str) -> list[str]:
    """The columns of all tables of the database whose text has one of the words.

    Bytes are searched in their hexadecimal form.
    """
    found = []
    with psycopg.connect(services.admin_url, autocommit=True) as conn:
        columns = conn.execute(
            """
            select n.nspname, c.relname, array_agg(a.attname order by a.attnum)
              from pg_attribute a join pg_class c on c.oid = a.attrelid
              join pg_namespace n on n.oid = c.relnamespace
             where c.relkind in ('r', 'p', 'm') and a.attnum > 0 and not a.attisdropped
               and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
             group by 1, 2 order by 1, 2
            """
        ).fetchall()
        assert len(columns) > 20
        patterns = [f"%{form}%" for word in words for form in (word, word.encode().hex())]
        for schema, table, names in columns:
            for name in names:
                row = conn.execute(
                    SQL("select count(*) from {} where {}::text ilike any(%s)").format(
                        Identifier(schema, table), Identifier(name)
                    ),
                    (patterns,),
                ).fetchone()
                if row is not None and row[0]:
                    found.append(f"{table}.{name}")
    return found


def in_files(folder: Path, *words: str, but: tuple[str, ...] = ()) -> list[str]:
    """The files under a folder that have one of the words in them, whatever their format.

    Paths that begin with one of `but` (relative to the folder) are left out.
    """
    found = []
    needles = [word.lower().encode() for word in words]
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not path.is_file() or path.is_symlink() or name.startswith(but):
            continue
        data = path.read_bytes().lower()
        if any(needle in data for needle in needles):
            found.append(name)
    return found


def in_redis(services: Services, *words: str) -> list[str]:
    """The keys of Valkey whose name or value has one of the words in it."""
    found = []
    needles = [word.lower().encode() for word in words]
    with services.redis() as client:
        for key in client.scan_iter(count=1000):
            value = client.dump(key) or b""
            if any(needle in key.lower() or needle in value.lower() for needle in needles):
                found.append(key.decode(errors="replace"))
    return found


def claim_often(database: Database, scope: Scope, times: int, word: str = "somebody") -> str:
    """One claim that is made so many times, each time with a message of its own; its first id."""
    first = ""
    for start in range(0, times, 700):
        changes: list[Change] = [
            UpsertConcept("?p", type="Person", key="person:x", initial_name="X"),
            EnsureProposition("?t", "?p", "timezone", Value("+01:00")),
        ]
        for n in range(start, min(start + 700, times)):
            changes.append(CreateEvidence(f"?e{n}", "user_statement", f"message {n} of {word}"))
            cited = (Citation(f"?e{n}"),)
            changes.append(CreateAssertion(f"?a{n}", "?t", "?p", "stated", citations=cited))
        with database.transaction(scope) as tx:
            made = commit(tx, scope, "p", ChangeSet(tuple(changes)), tx_class="test")
        first = first or made.ids["?a0"]
    return first
