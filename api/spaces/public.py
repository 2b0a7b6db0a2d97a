"""`/SKILL.md`, the guide for agents, and `/apple-touch-icon.webp` (seed 003 section 4.1).

The guide's words lie in `api/assets/SKILL.md`; every fact in it that may change (limits, version,
routes, intents) is filled in from what is served.
"""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Any

from flask import Response, current_app

from api.admission import authenticating
from api.memory.inputs import MAX_PARTS
from api.memory_interface.memory import INTENTS
from api.negotiation import MARKDOWN
from api.routes import Answer, Routes
from storage.settings import settings
from storage.version import VERSION

routes = Routes("public", tag="service")

_ASSETS = Path(__file__).resolve().parent.parent / "assets"
_CACHED = "max-age=300"


@routes.add(
    "GET",
    "/SKILL.md",
    summary="How an agent uses this server",
    answers={200: Answer(str, "A guide.", (MARKDOWN,))},
)
def skill() -> Response:
    """Written for agents; its routes, limits and version are those of this server."""
    limits = settings()
    template = Template((_ASSETS / "SKILL.md").read_text(encoding="utf-8"))
    text = template.substitute(
        version=VERSION,
        shard=limits.sharding,
        authentication=(
            "A public space is read without one."
            if authenticating()
            else "This server asks for none: it is for development, on its own machine."
        ),
        max_messages=limits.max_messages,
        max_message_chars=limits.max_message_chars,
        max_parts=MAX_PARTS,
        max_body_bytes=limits.max_body_bytes,
        max_query_chars=limits.max_query_chars,
        wait_seconds=f"{limits.wait_seconds:g}",
        intents=", ".join(f"`{name}`" for name in INTENTS) or "none of them yet",
        routes=_listed(current_app.extensions["openapi"]),
    )
    response = Response(text, content_type="text/markdown; charset=utf-8")
    response.headers["Cache-Control"] = _CACHED
    return response


@routes.add(
    "GET",
    "/apple-touch-icon.webp",
    summary="The icon for home screens",
    answers={200: Answer(str, "An icon.", ("image/webp",))},
)
def apple_touch_icon() -> Response:
    """The product's icon, 180 pixels wide."""
    icon = (_ASSETS / "apple-touch-icon.webp").read_bytes()
    response = Response(icon, content_type="image/webp")
    response.headers["Cache-Control"] = _CACHED
    return response


def _listed(document: dict[str, Any]) -> str:
    """The routes of an OpenAPI document as a table."""
    rows = ["| route | |", "|---|---|"]
    for path, methods in sorted(document["paths"].items()):
        for method, operation in methods.items():
            rows.append(f"| `{method.upper()} {path}` | {operation['summary']} |")
    return "\n".join(rows)
