"""The runtime inbox, and the requests of product hosts."""

from pathlib import Path

from storage.migrations.running import run_sql, tenant_tables

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables(
        "runtime_wake",
        "runtime_gate",
        "runtime_dispatch",
        "runtime_response",
        "runtime_outcome",
        "runtime_conflict",
        "product_request",
        "product_watch",
    )


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
