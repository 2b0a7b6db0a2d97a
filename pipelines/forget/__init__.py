"""Erasing by a plan: memory first, then every copy, and at last a look at all of it."""
