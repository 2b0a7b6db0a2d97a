"""How work is kept, ordered, run and reported: the durable job ledger and its workers."""
