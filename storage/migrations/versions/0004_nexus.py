"""Transactions of the Cognitive Nexus: channels, control changes, environments by digest."""

from pathlib import Path

from storage.migrations.running import run_sql

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
