"""Settlement: what becomes due in memory by time and by what was committed, decided by rule.

Every step works in the caller's transaction, takes the lock of the space before it looks, and
writes through `storage.graph.commit` alone. Steps are bounded; what they return says where to go
on. Nothing here writes `memory_strength`: strength decays when it is read.
"""
