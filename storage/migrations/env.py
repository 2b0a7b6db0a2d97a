"""Alembic's entry: runs the revisions on the connection that `storage.migrations` hands over."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(
    connection=connection, transaction_per_migration=True, version_table="schema_revision"
)
with context.begin_transaction():
    context.run_migrations()
connection.commit()
