"""The search engine: collections, documents, terms, postings and vectors."""

from pathlib import Path

from storage.migrations.running import run_sql, tenant_tables

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables(
        "search_collection",
        "search_document",
        "search_term",
        "search_posting",
        "search_embedding",
        "search_vector",
    )


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
