"""What running a query asks of the database before and beside the query itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from storage.kip.errors import ExecutionTimeout, ResourceExhausted
from storage.kip.query.limits import MAX_REACHED, STATEMENT_MILLIS
from storage.kip.snapshot import Snapshot

#: What `kip_exhausted()` raises (migration 0005).
_EXHAUSTED = "KX001"
#: Classes of states: out of resources, beyond a limit of the program.
_TOO_MUCH = ("53", "54")


def has_merges(snapshot: Snapshot) -> bool:
    """Whether any concept of the space was merged at the snapshot."""
    row = snapshot.tx.execute(
        "select exists (select from merge_link where space_id = %s and seq_from <= %s)",
        (snapshot.scope.space_id, snapshot.seq),
    ).fetchone()
    assert row is not None
    return bool(row[0])


def begin(snapshot: Snapshot) -> bool:
    """Bound the time of what follows in the transaction, or leave a tighter bound as it is.

    Probes of an index are priced for what they are where the working set is in memory: with the
    stock price, a read of a type's thousands goes through a whole table. Returns `has_merges`.
    """
    row = snapshot.tx.execute(
        "select exists (select from merge_link where space_id = %s and seq_from <= %s),"
        " set_config('statement_timeout', least(%s, nullif(extract(epoch from"
        " current_setting('statement_timeout')::interval) * 1000, 0))::bigint::text, true),"
        " set_config('random_page_cost', '1.1', true)",
        (snapshot.scope.space_id, snapshot.seq, STATEMENT_MILLIS),
    ).fetchone()
    assert row is not None
    return bool(row[0])


@contextmanager
def bounded() -> Iterator[None]:
    """Turn the bounds that a statement runs into to errors. The transaction is lost then.

    Raises `ExecutionTimeout`, `ResourceExhausted`.
    """
    try:
        yield
    except psycopg.errors.QueryCanceled:
        raise ExecutionTimeout("The query took too long; constrain it more.") from None
    except psycopg.Error as error:
        if (error.sqlstate or "").startswith(_TOO_MUCH):
            raise ResourceExhausted("The query is too large; ask for less at once.") from None
        if error.sqlstate == _EXHAUSTED:
            raise ResourceExhausted(f"A path reaches more than {MAX_REACHED} elements.") from None
        raise
