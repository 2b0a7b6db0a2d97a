"""`GET /info`: what this server is."""

from __future__ import annotations

from typing import Any

from flask import Response

from api.memory.outputs import ServiceInfo
from api.negotiation import plain, preferred
from api.routes import MEDIA_PLAIN, Answer, Routes
from storage.settings import settings
from storage.version import VERSION

routes = Routes("service", tag="service")

DESCRIPTION = (
    "A self-hosted brain server for agents: it takes in what was said as durable jobs, remembers "
    "it with its sources and times, and answers from it."
)
#: Of the Memory Interface nothing is served yet, and the descriptor says so: no bundles.
TOKENIZER = "o200k_base@tiktoken-rs-0.12"
MAX_OUTPUT_TOKENS = 4096
MIN_RESPONSE_TOKENS = 256


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
        "memory_interface": {
            "kip_memory": "2.0",
            "bundles": [],
            "default_budget": {
                "max_output_tokens": MAX_OUTPUT_TOKENS,
                "deadline_ms": int(settings().wait_seconds * 1000),
            },
            "tokenizer": TOKENIZER,
            "minimum_response_tokens": MIN_RESPONSE_TOKENS,
        },
    }
    return plain(body, media=preferred())
