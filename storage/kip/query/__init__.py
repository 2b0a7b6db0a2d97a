"""KQL: a checked tree becomes one SQL statement, its rows become the answer.

Follow a query through `blocks` (what binds what), `patterns` (clauses to table expressions),
`compile` (the one statement) and `find` (run, page, project).
"""
