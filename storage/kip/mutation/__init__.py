"""Mutations: a checked tree becomes one change set, and that is committed whole or not at all.

`apply` is the way in. `compile` turns statements into operations of `storage.graph.changes`;
`references`, `values` and `selection` say what the parts of a statement stand for; `authority` and
`gates` say what may not be written although it could be.
"""
