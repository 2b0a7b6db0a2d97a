"""Recall of the Memory Interface: briefings whose items the host builds (seed 003 section 3)."""
