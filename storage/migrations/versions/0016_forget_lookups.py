"""Indexes for what a forget and a purge look for in a whole space."""

from pathlib import Path

from storage.migrations.running import run_sql

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
