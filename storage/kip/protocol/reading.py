"""Runs what only reads: each operation on one view of the space that holds still."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from storage.database import database
from storage.graph.transactions import uri
from storage.kip.language.ast_kml import Mutation
from storage.kip.language.ast_kql import Find
from storage.kip.language.command import Statement
from storage.kip.meta.run import answer, writes
from storage.kip.protocol.answers import Outcome
from storage.kip.protocol.caller import Caller
from storage.kip.protocol.deadlines import Deadline
from storage.kip.protocol.expectations import Expectations
from storage.kip.query.find import find
from storage.kip.snapshot import Snapshot, open_snapshot
from storage.kip.snapshot_tokens import snapshot_token


def read(
    caller: Caller,
    statement: Statement,
    *,
    deadline: Deadline,
    expected: Expectations,
    as_of: int | None,
    parameters: Mapping[str, Any],
) -> Outcome:
    """The outcome of a query or of a META command, at `as_of` (None: the present).

    Raises what the command deserves, and `PreconditionFailed`.
    """
    assert not isinstance(statement, Mutation)
    tries = not isinstance(statement, Find) and writes(statement)
    deadline.left()
    with database().transaction(caller.scope, snapshot=not tries) as tx:
        if deadline.asked or not isinstance(statement, Find):
            # FIND has a limit of its own, which is lower than any that nobody asked for
            deadline.hold(tx)
        snapshot = open_snapshot(tx, caller.scope, as_of=as_of)
        expected.check(snapshot.head_seq, snapshot.schema_env_version)
        if isinstance(statement, Find):
            found = find(snapshot, statement, caller=caller.principal)
            outcome = _outcome(snapshot, found.rows, found.next_cursor, found.context)
            return replace(outcome, warnings=found.warnings)
        told = answer(
            snapshot,
            statement,
            caller=caller.principal,
            authority=caller.authority,
            parameters=parameters,
        )
        return _outcome(snapshot, told.result, told.next_cursor, told.context)


def _outcome(
    snapshot: Snapshot, result: Any, next_cursor: str | None, context: Mapping[str, Any]
) -> Outcome:
    here = {
        "space_id": uri(snapshot.scope.space_id),
        "snapshot_seq": context.get("snapshot_seq", snapshot.seq),
        "schema_environment_version": context.get(
            "schema_environment_version", snapshot.schema_env_version
        ),
    }
    token = snapshot_token(snapshot.scope, here["snapshot_seq"])
    return Outcome(
        "succeeded",
        result=result,
        next_cursor=next_cursor,
        context={**context, **here},
        snapshot={**here, "snapshot_token": token},
    )
