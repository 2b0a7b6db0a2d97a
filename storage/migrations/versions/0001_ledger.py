"""Roles, spaces, the job ledger, conversations and schedules."""

from pathlib import Path

from storage.migrations.running import ledger_tables, run_sql, tenant_tables

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables("space", "job", "job_event", "conversation", "usage_total", "secret_key")
    ledger_tables("job", "job_event", "worker", "schedule", "leader")


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
