"""Memory as a product shows and changes it: typed functions for a host that embeds this (seed 9.1).

- `records`  one record for each claim, with its sources
- `changes`  prepare, look at, commit or discard a change of one record
- `watches`  a caller's own subscription to one record

Beside them a host has `jobs.product_intake`, which takes sources in with their identity, and
`storage.runtime.readiness`, which says whether a configuration is sound and its workflows are
installed. Before a host opens a space it calls `changes.recover`.

There is no route to these, and they authenticate nobody: the host checks whose records a caller may
see before it returns any of them, their previews, ids or sources. `caller` names who the host works
for; it owns the operations that are prepared under it.
"""
