"""Requests and answers of KIP: one JSON envelope in, one out (contract kip-engine section 7).

`execute` is the way in. `normalise` turns the looser forms that clients send into the strict one,
`envelope` checks that, `operations` classifies what is asked, `reading` and `writing` run it, each
operation in a transaction of its own, and `answers` says what came of it. `ingest` makes evidence
of what came along with a request, `snapshots` holds reads at one coordinate.
"""
