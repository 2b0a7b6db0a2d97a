"""What a probe searched for in vain, until the space changes."""

from pathlib import Path

from storage.migrations.running import run_sql, tenant_tables

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables("probe_miss")


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
