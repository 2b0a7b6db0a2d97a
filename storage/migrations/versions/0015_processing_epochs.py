"""Processing epochs, and exclusions by the identity of a source."""

from pathlib import Path

from storage.migrations.running import run_sql, tenant_tables

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables("evidence_identity")


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
