"""HISTORY and CHANGES: transactions in the order in which they were committed, as envelopes.

An envelope names what changed and never says to what, so that nothing erased lives on in it.
"""

from __future__ import annotations

from typing import Any

from storage.graph import transactions
from storage.graph.errors import NotFoundOrNotVisible
from storage.kip.language.ast_meta import Changes, History
from storage.kip.meta.answered import Answered, Asking, Cursors, limit_of, needed, whole

#: Envelopes of one page; each may name many elements.
MAX_ENVELOPES = 500


def history(asking: Asking, statement: History) -> Answered:
    """The transactions of a space, or those that changed an element and what they did to it.

    FROM SEQ and TO SEQ are both included. Raises `NotFoundOrNotVisible` for an unknown element.
    """
    snapshot = asking.snapshot
    element = needed(statement.value) if statement.target == "ELEMENT" else None
    if element is not None and not transactions.knows(snapshot.tx, snapshot.scope, element):
        raise NotFoundOrNotVisible(f"There is no element {element!r} here.")
    first, last = whole(statement.from_seq), whole(statement.to_seq)
    cursors = Cursors(asking, f"HISTORY {statement.target}", [element, first, last], pinned=None)
    through = snapshot.seq if last is None else min(last, snapshot.seq)
    after, through = cursors.read(statement.cursor) or ((first or 0) - 1, through)
    limit = min(limit_of(statement.limit), MAX_ENVELOPES)
    found = transactions.between(
        snapshot.tx,
        snapshot.scope,
        after=after,
        through=through,
        limit=limit + 1,
        element=element,
    )
    page = found[:limit]
    more = len(found) > limit > 0
    return Answered(
        [one.envelope() for one in page],
        cursors.make([page[-1].seq, through]) if more else None,
    )


def changes(asking: Asking, statement: Changes) -> Answered:
    """The transactions after a sequence, or after where a cursor had come.

    There is always a cursor to go on by: with it, a follower that has caught up gets what comes.
    """
    snapshot = asking.snapshot
    cursors = Cursors(asking, "CHANGES", None, pinned=None)
    if statement.since is not None:
        after = cursors.read(statement.since)
    else:
        after = whole(statement.after_seq)
    limit = min(limit_of(statement.limit), MAX_ENVELOPES)
    page = transactions.between(
        snapshot.tx, snapshot.scope, after=after, through=snapshot.seq, limit=limit
    )
    through = page[-1].seq if page else after
    return Answered([_streamed(one) for one in page], cursors.make(through))


def _streamed(record: transactions.Record) -> dict[str, Any]:
    """An envelope of the stream; every entry is there, whoever follows it."""
    return {**record.envelope(), "coverage": {"through_seq": record.seq, "complete": True}}
