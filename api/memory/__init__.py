"""Memory: formation, recall, maintenance and the records of their runs (seed 003)."""
