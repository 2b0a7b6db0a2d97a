"""Purge: chosen elements are erased for good."""
