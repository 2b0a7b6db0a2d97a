"""Maintenance: cursors and reports of upkeep, stages of a run, progress of Watches, counters."""

from pathlib import Path

from alembic import op

from storage.database import LEDGER_ROLE
from storage.migrations.running import run_sql, tenant_tables

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables(
        "memory_upkeep", "maintenance_stage", "watch_progress", "self_test_result", "memory_metric"
    )
    # cron finds the spaces in which something falls due: when, never what
    op.execute(f"grant select (space_id, next_due) on memory_upkeep to {LEDGER_ROLE}")
    op.execute(
        f"create policy memory_upkeep_ledger on memory_upkeep for select to {LEDGER_ROLE}"
        " using (true)"
    )


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
