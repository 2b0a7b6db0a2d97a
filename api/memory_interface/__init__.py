"""The KIP Memory Interface, level `memory_basic` (seed 003 section 3)."""
