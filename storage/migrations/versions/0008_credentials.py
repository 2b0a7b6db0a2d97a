"""Tokens of spaces."""

from pathlib import Path

from storage.migrations.running import run_sql, tenant_tables

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables("space_token")


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
