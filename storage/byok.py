"""The model that a space brings itself (BYOK), sealed at rest. Table `space_byok`."""

from __future__ import annotations

from dataclasses import replace

from storage.database import Scope, Transaction
from storage.errors import Unavailable
from storage.model_config import ModelConfig
from storage.sealing import NotSealed, seal, unseal


class ByokUnreadable(Unavailable):
    """The space's own model was sealed under another key than this installation has now."""

    code = "byok_unreadable"
    default = (
        "The model of this space was sealed under another key: restore BRAINSTEM_SECRET_KEY, or "
        "set the model again."
    )


def find(tx: Transaction, scope: Scope) -> ModelConfig | None:
    """The space's own model with its key, or None; raises `ByokUnreadable`."""
    row = tx.execute(
        "select sealed from space_byok where space_id = %s", (scope.space_id,)
    ).fetchone()
    if row is None:
        return None
    try:
        told = unseal(_bound(scope), row[0], purpose="secret")
    except NotSealed:
        raise ByokUnreadable() from None
    return replace(ModelConfig.from_mapping(told["model"]), guarded=told["guarded"])


def put(tx: Transaction, scope: Scope, config: ModelConfig) -> None:
    """Keep `config` as the space's own model, in place of any before."""
    told = {"model": config.as_mapping(), "guarded": config.guarded}
    tx.execute(
        "insert into space_byok (space_id, sealed) values (%s, %s)"
        " on conflict (space_id) do update set sealed = excluded.sealed, updated_at = now()",
        (scope.space_id, seal(_bound(scope), told, purpose="secret")),
    )


def _bound(scope: Scope) -> list[str]:
    """A sealed model that is moved to another space opens nothing there."""
    return ["byok", scope.space_id]
