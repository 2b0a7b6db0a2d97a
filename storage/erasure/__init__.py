"""Erasing what memory holds, with every copy of it in the house (contract memory-interface 9).

- `closure`    what goes with a target, and why something stays
- `traces`     ids and digests by which copies are known once the words are gone
- `quotations` marks by which the words are known where nothing says whose they are
- `elements`   taking a closure out of memory, a part a commit
- `copies`     the records and jobs that hold copies: cleaning them, and looking again
- `redaction`  what is left of a JSON value once its words are taken out
"""
