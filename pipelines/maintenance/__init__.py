"""Maintenance: what keeps a space's memory in order between conversations."""
