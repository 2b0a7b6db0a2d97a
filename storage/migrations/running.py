"""What revisions are made of: a file of SQL beside the revision, and tenant tables."""

from __future__ import annotations

from pathlib import Path

from alembic import op

from storage.database import APP_ROLE, LEDGER_ROLE


def run_sql(path: Path) -> None:
    """Execute a whole SQL file as it stands (no bind parameters, `:` and `%` are literal)."""
    connection = op.get_bind().connection
    cursor = connection.cursor()
    cursor.execute(path.read_text(encoding="utf-8"))
    cursor.close()


def tenant_tables(*names: str) -> None:
    """Put tables behind row-level security: the application role sees its bound space only.

    Security is forced, so that even the owner obeys it; an unbound transaction sees no row.
    """
    for name in names:
        op.execute(
            f"""
            alter table {name} enable row level security;
            alter table {name} force row level security;
            create policy {name}_tenant on {name} to {APP_ROLE}
                using (space_id = current_setting('brainstem.space', true))
                with check (space_id = current_setting('brainstem.space', true));
            grant select, insert, update, delete on {name} to {APP_ROLE};
            """
        )


def ledger_tables(*names: str) -> None:
    """Let the ledger role see tables across spaces (job rows, workers, schedules: no content)."""
    for name in names:
        op.execute(
            f"""
            alter table {name} enable row level security;
            alter table {name} force row level security;
            create policy {name}_ledger on {name} to {LEDGER_ROLE} using (true) with check (true);
            grant select, insert, update, delete on {name} to {LEDGER_ROLE};
            """
        )
