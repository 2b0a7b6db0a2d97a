"""Erasure plans, and fingerprints by which copies of a message are found."""

from pathlib import Path

from storage.migrations.running import run_sql, tenant_tables

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables("erasure_plan")


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
