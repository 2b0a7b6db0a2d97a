"""How much a query may ask for; DESCRIBE CAPABILITIES publishes these."""

from __future__ import annotations

#: Rows of one answer; what is beyond is behind a cursor.
MAX_ROWS = 10_000
#: Hops that a path may name as its upper bound.
MAX_HOPS = 32
#: Elements that the walk of one path may reach from one end.
MAX_REACHED = 100_000
#: Hits that one SEARCH pattern may ask for.
MAX_HITS = 200
#: Beliefs and slots that one query may project.
MAX_BELIEFS = 2_000
#: Solutions that a query with beliefs may hold while it is worked out.
MAX_SOLUTIONS = 10_000
#: Letters of a regular expression.
MAX_REGEX = 500
#: Tables that one statement may join.
MAX_SOURCES = 100
#: Values that one statement may carry, and letters that one expression may come to in SQL.
MAX_VALUES = 20_000
MAX_EXPRESSION = 100_000
#: Milliseconds that one statement may take.
STATEMENT_MILLIS = 10_000
