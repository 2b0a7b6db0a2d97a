"""The people that a space knows, as the concepts that stand for them."""

from __future__ import annotations

from storage.database import Scope, Transaction
from storage.graph.changes import ChangeSet, UpsertConcept
from storage.graph.commit import commit
from storage.graph.keys import person_key

_HANDLE = "?person"


def get_or_init(
    tx: Transaction, scope: Scope, principal: str, user: str, *, name: str | None = None
) -> str:
    """The id of the Person whose principal is `user`, made when there is none.

    Formation names people by the same key, so that who speaks as `user` and who is looked up by
    it is one concept. With `name` the person is called so from now on; without, a known name
    stays, and a new person is called by `user` (seed 003, `get_or_init_user`).
    Raises `NotFound` for an unknown space.
    """
    made = commit(
        tx,
        scope,
        principal,
        ChangeSet(
            (
                UpsertConcept(
                    _HANDLE,
                    type="Person",
                    key=person_key(user),
                    name=name,
                    initial_name=None if name is not None else user,
                ),
            )
        ),
        tx_class="get_or_init_user",
    )
    return made.ids[_HANDLE]
