"""The runtime inbox: wakes that wait for a decision, answers to them, and what came of acting.

- `configuration`  who is let in: `BRAIN_RUNTIME_CONFIG`
- `readiness`      whether that file is sound, and what it pins is installed
- `callers`        a configured caller, and the instance of a space
- `wakes`          what is in the inbox, and who may see it
- `gates`          decisions about wakes, as the host's gate records them
- `attempts`       acting on a decision, as the host's dispatcher records it
- `responses`      answers to asks, and statements of agents
- `outcomes`       measurements by registered observers
- `conflicts`      events that were told twice, differently
- `audit`          what observers told, for a trusted host
- `product_requests`, `record_watches`  what an embedding host keeps for `pipelines.product`

Contract memory-interface section 13, seed 003 section 4.6. Nothing in here decides or acts: a
`watch_fire` Activity is recorded as a wake by the commit that makes it, and a host that has a gate
records what it decided with `gates.decide` and `attempts.dispatch`.
"""
