"""Random histories and random queries: the store and a model in memory give the same rows."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from storage import spaces
from storage.database import Database, Scope
from storage.graph.changes import ChangeSet
from storage.graph.commit import commit
from storage.kip.errors import KipError
from storage.kip.language.ast_kql import Find
from storage.kip.language.ast_terms import Literal
from storage.kip.language.command import read
from storage.kip.language.printer import printed
from storage.kip.query.find import find
from storage.kip.snapshot import open_snapshot
from tests.differential.evaluator import Refused, TooMuch, answer
from tests.differential.histories import AT, History, histories
from tests.differential.model import frozen
from tests.differential.queries import queries

#: How many queries each history is asked.
ASKED = 6


def written(database: Database, history: History) -> Scope:
    """A new space with that history; its ids are those of the model."""
    scope = Scope(f"diff_{uuid.uuid4().hex[:16]}")
    with database.transaction(scope) as tx:
        spaces.create(tx, scope, owner="tester")
    for seq, changes in enumerate(history.commits, start=1):
        with database.transaction(scope) as tx:
            made = commit(tx, scope, "tester", ChangeSet(changes), tx_class="test", at=AT)
        assert made.seq == seq
        for handle, element in history.ids[seq - 1].items():
            assert made.ids[handle] == element
    return scope


def found_in_store(database: Database, scope: Scope, query: Find) -> list[Any] | str:
    """The rows that the store finds, elements as `{"$element": id}`; or the error's code."""
    seq = query.as_of.value if isinstance(query.as_of, Literal) else None
    try:
        with database.transaction(scope, snapshot=True) as tx:
            snapshot = open_snapshot(tx, scope, as_of=seq)  # type: ignore[arg-type]
            rows = find(snapshot, query, caller="tester").rows
    except KipError as error:
        return error.code
    return [_short(row, len(query.projections)) for row in rows]


def found_in_model(history: History, query: Find) -> list[Any] | str:
    """The rows that the model finds, or the error's code."""
    seq = query.as_of.value if isinstance(query.as_of, Literal) else -1
    try:
        return answer(history.states[seq], query)  # type: ignore[index]
    except (Refused, KipError) as refused:
        return refused.code


def _short(row: Any, width: int) -> Any:
    """A row with whole elements shortened to their ids."""
    if width > 1:
        return [_short(part, 1) for part in row]
    if isinstance(row, dict) and "id" in row and "kind" in row:
        return {"$element": row["id"]}
    return row


def compare(history: History, query: Find, store: list[Any] | str, model: list[Any] | str) -> None:
    """Same error, or same rows; in order as far as ORDER BY says."""
    if isinstance(store, str) or isinstance(model, str):
        assert store == model
        return
    assert len(store) == len(model)
    if not query.order_by:
        assert _counted(store) == _counted(model)
        return
    # rows that sort alike may come in any order, and LIMIT may cut through them
    assert [_keys(query, row) for row in store] == [_keys(query, row) for row in model]
    everything = found_in_model(history, replace(query, limit=None))
    assert not _counted(store) - _counted(everything)


def _counted(rows: Sequence[Any]) -> Counter[Any]:
    return Counter(frozen(row) for row in rows)


def _keys(query: Find, row: Any) -> list[Any]:
    parts = row if len(query.projections) > 1 else [row]
    places = [query.projections.index(one.key) for one in query.order_by]
    return [frozen(parts[place]) for place in places]


def check(database: Database, examples: int, *, seed: bool) -> None:
    """Try that many histories, always the same ones with `seed`."""

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=seed,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(histories(), st.data())
    def agree(history: History, data: st.DataObject) -> None:
        scope = written(database, history)
        last = len(history.commits)
        for _ in range(ASKED):
            seq = data.draw(st.none() | st.integers(0, last), label="as of")
            query = data.draw(queries(history.states[-1 if seq is None else seq]), label="query")
            query = replace(query, as_of=None if seq is None else Literal(seq))
            text = printed(query)
            assert read(text).statement == query
            try:
                model = found_in_model(history, query)
            except TooMuch:
                continue
            store = found_in_store(database, scope, query)
            note(f"{history.told()}\n\n{text}\n\nstore: {store}\nmodel: {model}")
            compare(history, query, store, model)

    agree()


# a disagreement takes minutes to shrink
@pytest.mark.timeout(900)
def test_store_and_model_find_the_same_rows(database: Database) -> None:
    check(database, 250, seed=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_store_and_model_find_the_same_rows_at_length(database: Database) -> None:
    check(database, 2000, seed=False)
