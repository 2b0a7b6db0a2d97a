"""Model tokens by collection (`formation`, `recall`, `maintenance`) of each space."""

from __future__ import annotations

from typing import Protocol

from storage.database import Scope, Transaction


class Charge(Protocol):
    """Tokens and requests of one model run."""

    @property
    def collection(self) -> str:
        """What the run was for."""
        ...

    @property
    def input_tokens(self) -> int:
        """Tokens sent."""
        ...

    @property
    def output_tokens(self) -> int:
        """Tokens received."""
        ...

    @property
    def cached_tokens(self) -> int:
        """Tokens sent that the provider had cached."""
        ...

    @property
    def requests(self) -> int:
        """Requests made."""
        ...


def add(tx: Transaction, scope: Scope, charge: Charge) -> None:
    """Add one run's usage, in the transaction that ends its attempt; nothing when it is zero."""
    numbers = (charge.input_tokens, charge.output_tokens, charge.cached_tokens, charge.requests)
    if not any(numbers):
        return
    tx.execute(
        "insert into usage_total as u"
        " (space_id, collection, input_tokens, output_tokens, cached_tokens, requests)"
        " values (%s, %s, %s, %s, %s, %s)"
        " on conflict (space_id, collection) do update set"
        " input_tokens = u.input_tokens + excluded.input_tokens,"
        " output_tokens = u.output_tokens + excluded.output_tokens,"
        " cached_tokens = u.cached_tokens + excluded.cached_tokens,"
        " requests = u.requests + excluded.requests",
        (scope.space_id, charge.collection, *numbers),
    )


def totals(tx: Transaction, scope: Scope) -> dict[str, dict[str, int]]:
    """Usage of the space by collection, in the wire shape of seed 003 `Usage`."""
    rows = tx.execute(
        "select collection, input_tokens, output_tokens, cached_tokens, requests"
        " from usage_total where space_id = %s",
        (scope.space_id,),
    )
    zero = {"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "requests": 0}
    found = {name: dict(zero) for name in ("formation", "recall", "maintenance")}
    for collection, sent, received, cached, requests in rows:
        found[collection] = {
            "input_tokens": sent,
            "output_tokens": received,
            "cached_tokens": cached,
            "requests": requests,
        }
    return found
