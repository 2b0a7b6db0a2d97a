"""The Cognitive Nexus: elements, their versions, claims, evidence, references, schema."""

from pathlib import Path

from storage.migrations.running import run_sql, tenant_tables

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Apply this revision."""
    run_sql(Path(__file__).with_suffix(".sql"))
    tenant_tables(
        "commit_record",
        "idem",
        "element",
        "element_ver",
        "proposition",
        "assertion",
        "evidence",
        "activity",
        "edge",
        "merge_link",
        "schema_package",
        "schema_env",
        "draft_symbol",
        "lineage_map",
        "trust_record",
        "exposure",
        "source_suppression",
    )


def downgrade() -> None:
    """Not offered: migrations are forward only."""
    raise NotImplementedError("migrations are forward only; restore a backup instead")
