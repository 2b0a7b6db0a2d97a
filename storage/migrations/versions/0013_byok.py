"""Models that spaces bring themselves."""

from pathlib import Path

from storage.migrations.running import run_sql, tenant_tables

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables("space_byok")


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
