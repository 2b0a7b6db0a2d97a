"""What observers told, for a trusted host: bounded pages, in the order in which they were taken.

A host looks here for signals of danger that wait for an answer, those that came too late among
them, and for verifications of facts that measurements announce. An announcement is a hint where to
look: whether an action succeeded says nothing about how far a source is to be trusted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from psycopg.rows import class_row

from storage.database import Scope, Transaction
from storage.errors import InvalidInput
from storage.runtime.outcomes import COLUMNS, Receipt

#: Receipts of a page at most.
MOST = 50
_EVIDENCE = re.compile(r"E-[1-9][0-9]{0,17}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Page:
    """Some receipts, and after which one to go on; None when all were walked."""

    items: tuple[Receipt, ...]
    position: str | None


@dataclass(frozen=True, slots=True)
class Announcement:
    """A verification that the payload of a measurement names; nobody has looked at it yet."""

    receipt_id: str
    outcome_ref: str
    verification_ref: str


def receipts(
    tx: Transaction,
    scope: Scope,
    *,
    after: str = "",
    limit: int = MOST,
    safety_pending: bool = False,
) -> Page:
    """Receipts of measurements after one, oldest first; of late and corrected ones, too.

    With `safety_pending` those alone whose safety signal nobody has answered. Raises
    `InvalidInput` for a limit beyond `MOST`.
    """
    if not 1 <= limit <= MOST:
        raise InvalidInput(f"A page has 1 to {MOST} receipts.", field="limit")
    rows = (
        tx.cursor(row_factory=class_row(Receipt))
        .execute(
            f"select {COLUMNS} from runtime_outcome where space_id = %s and receipt_id > %s"
            " and (safety_pending or not %s) order by receipt_id limit %s",
            (scope.space_id, after, safety_pending, limit + 1),
        )
        .fetchall()
    )
    items = tuple(rows[:limit])
    return Page(items, items[-1].receipt_id if len(rows) > limit else None)


def announced(
    tx: Transaction, scope: Scope, *, after: str = "", limit: int = MOST
) -> tuple[tuple[Announcement, ...], str | None]:
    """Verifications that a page of measurements announces, and after which receipt to go on.

    What was erased announces nothing any more; a reference that is none is left out.
    """
    page = receipts(tx, scope, after=after, limit=limit)
    refs = [item.outcome_ref for item in page.items if item.outcome_ref is not None]
    rows = tx.execute(
        "select id, payload #>> '{inline,measured,trust_verification_ref}' from evidence"
        " where space_id = %s and id = any(%s)",
        (scope.space_id, refs),
    )
    named = {id: ref for id, ref in rows if ref is not None and _EVIDENCE.fullmatch(ref)}
    found = tuple(
        Announcement(item.receipt_id, item.outcome_ref, named[item.outcome_ref])
        for item in page.items
        if item.outcome_ref in named and item.outcome_ref is not None
    )
    return found, page.position
