"""Spaces: what this server is, and what a space holds (seed 003 sections 4.1, 4.2, 4.5)."""
