"""What queries need of the tables: indexes that serve every shape, now and in history."""

from pathlib import Path

from storage.migrations.running import run_sql

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
