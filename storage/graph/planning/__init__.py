"""From a change set to a write set: resolve, validate, and find out what really changes.

`planner` runs the stages in order; each of the other modules is one of them.
"""
