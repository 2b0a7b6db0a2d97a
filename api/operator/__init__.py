"""The generic view of every job, and what operators and their tools read."""
