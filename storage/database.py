"""The way to PostgreSQL: pools, transactions, and the binding of a transaction to its tenant.

Two roles work on the tables, and neither owns them nor may bypass row-level security:

- `brainstem_app` sees the rows of the one space its transaction is bound to, and nothing when
  unbound (design section 4). API handlers and pipelines use it.
- `brainstem_ledger` sees job rows, schedules and workers of all spaces, and nothing else. Claim,
  heartbeat, sweep and schedules use it, because a job id arrives without its space.

Sessions start in their role by a startup option, so that the role is also what RESET returns to.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, LiteralString, cast

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Composed
from psycopg_pool import ConnectionPool, PoolTimeout

from storage.errors import DatabaseUnavailable
from storage.settings import settings

APP_ROLE = "brainstem_app"
LEDGER_ROLE = "brainstem_ledger"

# One round trip each; the value is quoted by the driver, not by us.
_BEGIN = SQL("begin")
_BEGIN_BOUND = SQL("begin; select set_config('brainstem.space', {}, true)")
_BEGIN_SNAPSHOT = SQL(
    "begin isolation level repeatable read read only;"
    " select set_config('brainstem.space', {}, true)"
)

#: A connection that was not used for so long may have been cut off meanwhile: no server restarts
#: faster than that.
_RESTED_SECONDS = 0.05

#: A transaction as pipelines and stores receive it.
Transaction = Connection[TupleRow]


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant that a statement works for; every store function takes one first."""

    space_id: str


def conninfo(role: str | None = None, *, durable: bool = True, **extra: Any) -> str:
    """The connection string, its session started in `role` (None: the login role itself).

    Commits of a session that is not `durable` may be lost by a crash of PostgreSQL: for marks
    that are found out to be missing anyway.
    """
    url = settings().database_url
    if not url:
        raise DatabaseUnavailable(
            "No database is configured: set DATABASE_URL or use `brainstem up`."
        )
    known = conninfo_to_dict(url)
    options = f"{known.pop('options', '') or ''} -c timezone=UTC -c jit=off"
    config = settings()
    if role:
        # a frozen or vanished holder must not keep its locks, and nobody waits for ever for one
        options += (
            f" -c role={role} -c lock_timeout={int(config.lock_seconds * 1000)}"
            f" -c idle_in_transaction_session_timeout="
            f"{int(config.idle_transaction_seconds * 1000)}"
            " -c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
        )
    if not durable:
        options += " -c synchronous_commit=off"
    known.setdefault("connect_timeout", 5)
    known.setdefault("target_session_attrs", "read-write")
    known.setdefault("keepalives_idle", 15)
    known.setdefault("keepalives_interval", 5)
    known.setdefault("keepalives_count", 3)
    known.setdefault("application_name", "brainstem")
    return make_conninfo(**{**known, "options": options.strip(), **extra})


class Database:
    """The pools of one process; opened at first use, and anew in a forked child."""

    def __init__(self, *, size: int | None = None) -> None:
        self._size = size
        self._pools: dict[tuple[str, bool], ConnectionPool[Connection[TupleRow]]] = {}
        self._used: weakref.WeakKeyDictionary[Transaction, float] = weakref.WeakKeyDictionary()
        self._pid = os.getpid()
        self._lock = threading.Lock()

    def pool(self, role: str, *, durable: bool = True) -> ConnectionPool[Connection[TupleRow]]:
        """The pool of `role`, open; a child process never uses its parent's sockets."""
        with self._lock:
            if self._pid != os.getpid():
                self._pools, self._pid = {}, os.getpid()
            pool = self._pools.get((role, durable))
            if pool is None:
                size = self._size or settings().worker_pool_size
                pool = ConnectionPool(
                    conninfo(role, durable=durable),
                    min_size=1,
                    max_size=size,
                    timeout=3.0,
                    max_idle=300.0,
                    reconnect_timeout=10.0,
                    kwargs={"autocommit": True},
                    open=True,
                    name=role,
                )
                self._pools[role, durable] = pool
            return pool

    def _begin(self, role: str, opening: SQL | Composed) -> Transaction:
        """A pooled connection inside a new transaction.

        A connection that proves broken here, before any work was done on it, is replaced, so
        that a restart of PostgreSQL costs its callers no error.
        """
        pool = self.pool(role)
        for _ in range(4):
            conn = pool.getconn()
            try:
                conn.execute(opening)
            except psycopg.OperationalError as error:
                conn.close()
                pool.putconn(conn)
                if not is_outage(error):
                    raise
                pool.check()
            else:
                return conn
        raise DatabaseUnavailable(retry_after=2.0)

    @contextlib.contextmanager
    def _transaction(self, role: str, opening: SQL | Composed) -> Iterator[Transaction]:
        with _outages():
            conn = self._begin(role, opening)
            _open.count = getattr(_open, "count", 0) + 1
            try:
                yield conn
                conn.commit()
            except BaseException as error:
                if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
                    # the server has become a standby; the pool shall look for the writable one
                    conn.close()
                with contextlib.suppress(psycopg.Error):
                    conn.rollback()
                raise
            finally:
                _open.count -= 1
                self.pool(role).putconn(conn)

    @contextlib.contextmanager
    def transaction(self, scope: Scope, *, snapshot: bool = False) -> Iterator[Transaction]:
        """One transaction of the application role, bound to `scope`.

        `snapshot` asks for one read-only REPEATABLE READ view of the space. Raises
        `DatabaseUnavailable` when PostgreSQL is away; if that happens while committing, the
        outcome is unknown and the caller must look before it repeats anything.
        """
        opening = (_BEGIN_SNAPSHOT if snapshot else _BEGIN_BOUND).format(scope.space_id)
        with self._transaction(APP_ROLE, opening) as tx:
            yield tx

    @contextlib.contextmanager
    def ledger(self) -> Iterator[Transaction]:
        """One transaction of the ledger role, over the job tables of all spaces."""
        with self._transaction(LEDGER_ROLE, _BEGIN) as tx:
            yield tx

    @contextlib.contextmanager
    def ledger_statement(self, *, durable: bool = True) -> Iterator[Transaction]:
        """A ledger connection on which each statement commits by itself, in one round trip.

        What is not `durable` may be forgotten when PostgreSQL crashes; see `conninfo`.
        """
        with _outages():
            pool = self.pool(LEDGER_ROLE, durable=durable)
            conn = self._rested(pool)
            try:
                yield conn
            except psycopg.OperationalError:
                pool.check()
                raise
            finally:
                self._used[conn] = time.monotonic()
                pool.putconn(conn)

    def _rested(self, pool: ConnectionPool[Connection[TupleRow]]) -> Transaction:
        """A pooled connection; one that has rested is asked first whether it still lives."""
        for _ in range(4):
            conn = pool.getconn()
            if time.monotonic() - self._used.get(conn, 0.0) < _RESTED_SECONDS:
                return conn
            try:
                conn.execute("select")
                return conn
            except psycopg.OperationalError:
                conn.close()
                pool.putconn(conn)
                pool.check()
        raise DatabaseUnavailable(retry_after=2.0)

    def close(self) -> None:
        """Close all pools; a later use opens them again."""
        with self._lock:
            pools, self._pools = self._pools, {}
        for pool in pools.values():
            pool.close(timeout=2.0)


def in_transaction() -> bool:
    """Whether this thread has a transaction open; calls to the outside must not be made then."""
    return bool(getattr(_open, "count", 0))


@contextlib.contextmanager
def _outages() -> Iterator[None]:
    """Turn what says that PostgreSQL is away into `DatabaseUnavailable`."""
    try:
        yield
    except PoolTimeout as error:
        raise DatabaseUnavailable(retry_after=2.0) from error
    except psycopg.Error as error:
        if is_outage(error):
            raise DatabaseUnavailable(retry_after=2.0) from error
        raise


#: What PostgreSQL says when it ends a session or cannot serve it, beside broken connections.
_AWAY = (
    PoolTimeout,
    psycopg.errors.AdminShutdown,
    psycopg.errors.CannotConnectNow,
    psycopg.errors.IdleInTransactionSessionTimeout,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.ReadOnlySqlTransaction,
)


def is_outage(error: BaseException) -> bool:
    """Whether `error` says that the server is away rather than that the statement was wrong."""
    if isinstance(error, _AWAY):
        return True
    # the driver refuses too many values by itself, in an error like that of a broken connection
    if "number of parameters" in str(error):
        return False
    # no SQLSTATE: the connection itself broke; 57P and 08: shutdown and connection faults; 53: no
    # disk, memory or connections left
    return isinstance(error, psycopg.OperationalError) and (
        error.sqlstate is None or error.sqlstate[:2] in {"53", "08"} or error.sqlstate[:3] == "57P"
    )


_open = threading.local()
_database = Database()


def database() -> Database:
    """The process's database."""
    return _database


def size_pools(size: int) -> None:
    """Set how many connections each role's pool may hold (before first use)."""
    _database._size = size


def sql(text: str) -> LiteralString:
    """Mark a statement built from our own constants as literal; values always go as parameters."""
    return cast(LiteralString, text)
