"""Every element is searchable: spaces of before have their elements brought in by maintenance."""

from pathlib import Path

from storage.migrations.running import run_sql, tenant_tables

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables("search_backlog")


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
