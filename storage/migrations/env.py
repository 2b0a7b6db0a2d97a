"""Alembic's entry: runs the revisions on the connection that `storage.migrations` hands over."""

from alembic import context

from storage.migrations import VERSION_TABLE

connection = context.config.attributes["connection"]
context.configure(
    connection=connection, transaction_per_migration=True, version_table=VERSION_TABLE
)
with context.begin_transaction():
    context.run_migrations()
connection.commit()
