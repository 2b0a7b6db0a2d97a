"""FIND: run a query, page it, and lay out its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from storage.canonical import digest
from storage.clock import parse_text, to_text
from storage.database import sql
from storage.kip.errors import HistoricalSnapshotUnavailable, TypeMismatch
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_terms import Literal
from storage.kip.query import compile as compiling
from storage.kip.query import cursors, layout, searches
from storage.kip.query.beliefs import epistemic
from storage.kip.query.compile import Compiled, Output
from storage.kip.query.documents import documents
from storage.kip.query.layout import portable
from storage.kip.query.limits import MAX_ROWS
from storage.kip.query.mixed import Solver, has_beliefs
from storage.kip.query.session import begin, bounded
from storage.kip.query.unknown_members import unknown_members
from storage.kip.snapshot import Snapshot, open_snapshot


@dataclass(frozen=True, slots=True)
class Found:
    """An answer: one value a row for one projection, a list a row for several."""

    rows: list[Any]
    next_cursor: str | None = None
    context: dict[str, Any] = field(default_factory=dict)
    warnings: list[dict[str, Any]] = field(default_factory=list)


def find(snapshot: Snapshot, statement: Find, *, caller: str) -> Found:
    """Answer a query at its snapshot; a cursor goes on at the snapshot of the first page.

    Raises what the query deserves, among it `CursorInvalid`, `CursorMismatch`,
    `CursorTypeMismatch`, `ResourceExhausted` and `ExecutionTimeout`. After the last two the
    transaction is lost.
    """
    query = digest(repr(replace(statement, cursor=None, limit=None)))
    space_id = snapshot.scope.space_id
    after: Any = None
    if statement.cursor is not None:
        token = statement.cursor.value if isinstance(statement.cursor, Literal) else None
        page = cursors.read(token, caller, space_id, "kql", query)
        snapshot = _at(snapshot, page.seq, page.state["t"])
        after = page.state["k"]
    elif statement.as_of is not None:
        seq = _count(statement.as_of)
        if seq != snapshot.seq:
            snapshot = _at(snapshot, seq, to_text(snapshot.read_at))
    limit = MAX_ROWS if statement.limit is None else min(_count(statement.limit), MAX_ROWS)
    with bounded():
        merges = begin(snapshot)
        hits = searches.run(snapshot, statement.where)
        believing = has_beliefs(statement.where)
        if believing or statement.epistemic is not None:
            given = epistemic(snapshot, statement.epistemic, statement.for_time)
        if believing:
            solver = Solver(snapshot, statement, given, merges=merges, hits=hits)
            answer, state = layout.page(solver, statement, limit=limit, after=after)
        else:
            answer, state = _page(snapshot, statement, merges, hits, limit, after)
    next_cursor = None
    if state is not None and answer:
        held = {"k": state, "t": to_text(snapshot.read_at)}
        next_cursor = cursors.write(
            caller, space_id, "kql", query, cursors.Page(snapshot.seq, held)
        )
    context = {
        "space_id": space_id,
        "snapshot_seq": snapshot.seq,
        "schema_environment_version": snapshot.schema_env_version,
    }
    return Found(answer, next_cursor, context, unknown_members(statement))


def check(snapshot: Snapshot, statement: Find) -> None:
    """Refuse what `find` would refuse, without reading the answer."""
    find(snapshot, replace(statement, limit=Literal(0)), caller="")


def _page(
    snapshot: Snapshot,
    statement: Find,
    merges: bool,
    hits: Mapping[int, Any],
    limit: int,
    after: Sequence[Any] | None,
) -> tuple[list[Any], list[Any] | None]:
    """The rows of a page, and the keys of its last one if there are more."""
    compiled = compiling.query(
        snapshot, statement, merges=merges, hits=hits, limit=limit, after=after
    )
    rows = snapshot.tx.execute(sql(compiled.sql), compiled.parameters).fetchall()
    more = compiled.paged and len(rows) > limit
    rows = rows[:limit]
    answer = _Cells(snapshot, merges, compiled).rows(rows)
    last = [_plain(cell) for cell in rows[-1][compiled.keys_at :]] if more and rows else None
    return answer, last


def _at(snapshot: Snapshot, seq: int, read_at: str) -> Snapshot:
    if not 0 <= seq <= snapshot.head_seq:
        raise HistoricalSnapshotUnavailable(f"This space has no state at sequence {seq}.")
    return open_snapshot(
        snapshot.tx, snapshot.scope, as_of=seq, read_at=parse_text(read_at, field="read_at")
    )


def _count(node: Any) -> int:
    assert isinstance(node, Literal)
    assert isinstance(node.value, int)
    return node.value


class _Cells:
    """Turns the columns of rows into values."""

    def __init__(self, snapshot: Snapshot, merges: bool, compiled: Compiled) -> None:
        self.snapshot, self.merges, self.compiled = snapshot, merges, compiled
        self.documents: Mapping[str, Any] = {}

    def rows(self, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The rows as they are answered."""
        outputs = self.compiled.outputs
        wanted = {
            row[output.columns[0]]
            for output in outputs
            if output.what in ("element", "either")
            for row in rows
            if row[output.columns[0]] is not None
        }
        if wanted:
            self.documents = documents(self.snapshot, wanted, merges=self.merges)
        if len(outputs) == 1:
            return [self._cell(outputs[0], row) for row in rows]
        return [[self._cell(output, row) for output in outputs] for row in rows]

    def _cell(self, output: Output, row: tuple[Any, ...]) -> Any:
        cells = [row[column] for column in output.columns]
        match output.what:
            case "json" | "count":
                return cells[0]
            case "element":
                return None if cells[0] is None else self.documents.get(cells[0])
            case "either":
                return cells[1] if cells[0] is None else self.documents.get(cells[0])
            case "sum" | "avg":
                value, wrong = cells
                if wrong:
                    raise TypeMismatch(f"{output.what.upper()} takes numbers.")
                return portable(value)
        number, text, numbers, texts, all_ = cells
        if numbers + texts != all_ or (numbers and texts):
            raise TypeMismatch("MIN and MAX take numbers or strings, not both.")
        return text if texts else portable(number)


def _plain(cell: Any) -> Any:
    """A key's value as a cursor keeps it."""
    return str(cell) if isinstance(cell, Decimal) else cell
