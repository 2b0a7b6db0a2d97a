"""Retained bases of recalls, and what was raised to attention, found by its class."""

from pathlib import Path

from storage.migrations.running import run_sql, tenant_tables

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables("recall_base", "recall_base_element")


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
