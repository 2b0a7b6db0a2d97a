"""Who a source is to the host that hands it over: its conversation, and those before it.

The host names it, never the words: nothing that is said in a message reaches these ids. Of the
sources that memory was made of, digests of the ids are kept (table `evidence_identity`), by which a
source that was excluded is refused however its words have changed, and so is every later
conversation that comes of it (seed 003 section 9.1).

The finer the ids, the finer the exclusion: excluded is what `conversation_id` names, and refused is
all that names it, as itself, as its parent or in its chain.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from storage.canonical import digest
from storage.database import Scope, Transaction
from storage.errors import InvalidInput

#: Longest id, in characters, and longest chain.
MAX_ID, MAX_CHAIN = 256, 64
#: The member of a conversation record's `extra` that holds it; no request can set it.
MEMBER = "source_identity"


@dataclass(frozen=True, slots=True)
class SourceIdentity:
    """A source as its host knows it.

    `parent_id` is the conversation that this one goes on from, `chain_ids` are all before it, the
    oldest first. Raises `InvalidInput` for what is empty or too long.
    """

    conversation_id: str
    parent_id: str | None = None
    chain_ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.chain_ids) > MAX_CHAIN:
            raise InvalidInput(f"A chain has at most {MAX_CHAIN} conversations.")
        for one in self._all:
            if not one.strip() or len(one) > MAX_ID or "\0" in one:
                raise InvalidInput(f"The id of a conversation has 1 to {MAX_ID} characters.")

    @property
    def _all(self) -> list[str]:
        parent = () if self.parent_id is None else (self.parent_id,)
        return [self.conversation_id, *parent, *self.chain_ids]

    @property
    def own_digest(self) -> str:
        """What this source is excluded by."""
        return _digest(self.conversation_id)

    @property
    def excluded_by(self) -> frozenset[str]:
        """Each of them refuses this source."""
        return frozenset(map(_digest, self._all))

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the record of a conversation keeps it."""
        return {
            "conversation_id": self.conversation_id,
            "parent_id": self.parent_id,
            "chain_ids": list(self.chain_ids),
        }

    @classmethod
    def of(cls, extra: Mapping[str, Any]) -> SourceIdentity | None:
        """The identity of a conversation record; None for one that no host has named."""
        kept = extra.get(MEMBER)
        if kept is None:
            return None
        return cls(kept["conversation_id"], kept["parent_id"], tuple(kept["chain_ids"]))


def note(tx: Transaction, scope: Scope, evidence: Collection[str], identity_digest: str) -> None:
    """Keep that evidence came, too, by a source of that digest."""
    tx.execute(
        "insert into evidence_identity (space_id, evidence_id, identity_digest)"
        " select %s, id, %s from unnest(%s::text[]) as n(id) on conflict do nothing",
        (scope.space_id, identity_digest, sorted(evidence)),
    )


def digests_of(tx: Transaction, scope: Scope, evidence: Collection[str]) -> set[str]:
    """By what the sources of some evidence are excluded."""
    rows = tx.execute(
        "select distinct identity_digest from evidence_identity"
        " where space_id = %s and evidence_id = any(%s)",
        (scope.space_id, sorted(evidence)),
    )
    return {found for (found,) in rows}


def _digest(conversation_id: str) -> str:
    return digest({"source_identity": conversation_id})
