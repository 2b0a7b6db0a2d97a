"""The runtime inbox and what comes back from acting (seed 003 section 4.6)."""
