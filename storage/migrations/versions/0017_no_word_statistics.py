"""No statistics of values in columns that hold what somebody said."""

from pathlib import Path

from storage.migrations.running import run_sql

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
