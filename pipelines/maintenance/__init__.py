"""Maintenance: what keeps a space's memory in order between conversations.

Three scopes (seed 003, `MaintenanceInput`), each doing what the one before it does and more:

- `daydream`  the search index kept true; settlement (Watches, due promises, retention, corrections,
              the exposure log); the self-test
- `quick`     that, without the self-test: the state of affairs and what is urgent (Events that
              wait, concepts without ties, open tasks, the schema in use)
- `full`      all of it: settlement, the state of affairs, the self-test, and what a configured
              model makes of Events that wait
"""
