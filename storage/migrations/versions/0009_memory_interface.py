"""The Memory Interface: staged sources."""

from pathlib import Path

from storage.migrations.running import run_sql, tenant_tables

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables("staged_source")


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
