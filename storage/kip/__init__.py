"""KIP 2.0, the language of memory, from text to PostgreSQL and back.

- `language`  text to a checked tree; needs no database
- `query`     FIND: the tree to SQL, to rows
- `mutation`  KML: the tree to a change set of `storage.graph`, which is committed whole
- `meta`      DESCRIBE, LIST, SEARCH, VALIDATE, PREVIEW, HISTORY, CHANGES
- `protocol`  request envelopes to response envelopes, over the three

`errors` has every code that the language knows.
"""
