"""How much one transaction may do; published by DESCRIBE CAPABILITIES."""

from __future__ import annotations

#: Statements of one MUTATE, ASSERT counting once.
MAX_STATEMENTS = 1_000
#: Elements that one statement may select.
MAX_TARGETS = 10_000
#: Operations that all statements of a transaction may come to.
MAX_OPERATIONS = 20_000
