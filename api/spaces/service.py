"""`GET /info`: what this server is."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.memory.outputs import ServiceInfo
from api.memory_interface.memory import INTENTS
from api.negotiation import plain, preferred
from api.routes import MEDIA_PLAIN, Answer, Routes
from storage.kip.meta import memory_interface
from storage.settings import settings
from storage.version import VERSION

routes = Routes("service", tag="service")

DESCRIPTION = (
    "A self-hosted brain server for agents: it takes in what was said as durable jobs, remembers "
    "it with its sources and times, and answers from it."
)

# what the descriptor says is what the intents' own register holds when it is asked
memory_interface.served_by(lambda: INTENTS)


@routes.add(
    "GET",
    "/info",
    summary="What this server is",
    answers={200: Answer(ServiceInfo, "Without an envelope.", MEDIA_PLAIN)},
)
def info() -> Response:
    """Name, version and shard, and what of the Memory Interface is offered."""
    body: dict[str, Any] = {
        "name": "brainstem",
        "version": VERSION,
        "sharding": settings().sharding,
        "description": DESCRIPTION,
        "memory_interface": memory_interface.descriptor(),
    }
    return plain(body, media=preferred())
