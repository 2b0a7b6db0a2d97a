"""`/openapi.json`, the page `/docs` that renders it, and `/favicon.ico`; no outside host."""

from __future__ import annotations

from pathlib import Path

from flask import Response, current_app

from api.negotiation import plain
from api.routes import Answer, Routes

routes = Routes("documents", tag="service")

_ASSETS = Path(__file__).resolve().parent.parent / "assets"
_TYPES = {
    "docs.html": "text/html; charset=utf-8",
    "docs.css": "text/css; charset=utf-8",
    "docs.js": "text/javascript; charset=utf-8",
    "favicon.ico": "image/x-icon",
}
#: The page loads what this server serves, and nothing else.
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@routes.add(
    "GET",
    "/openapi.json",
    summary="This document",
    answers={200: Answer(dict, "OpenAPI 3.1.", ("application/json",))},
)
def openapi_json() -> Response:
    """Every route, with every error that it may answer."""
    return plain(current_app.extensions["openapi"])


@routes.add(
    "GET",
    "/docs",
    summary="This document, rendered",
    answers={200: Answer(str, "A page.", ("text/html",))},
)
def docs() -> Response:
    """Needs no outside host and no build step."""
    return _asset("docs.html")


@routes.add(
    "GET",
    "/docs/docs.css",
    summary="The style of /docs",
    answers={200: Answer(str, "A style sheet.", ("text/css",))},
)
def docs_css() -> Response:
    """Part of the page."""
    return _asset("docs.css")


@routes.add(
    "GET",
    "/docs/docs.js",
    summary="The script of /docs",
    answers={200: Answer(str, "A script.", ("text/javascript",))},
)
def docs_js() -> Response:
    """Part of the page."""
    return _asset("docs.js")


@routes.add(
    "GET",
    "/favicon.ico",
    summary="The icon",
    answers={200: Answer(str, "An icon.", ("image/x-icon",))},
)
def favicon() -> Response:
    """The product's icon."""
    return _asset("favicon.ico")


def _asset(name: str) -> Response:
    response = Response((_ASSETS / name).read_bytes(), content_type=_TYPES[name])
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["Cache-Control"] = "max-age=300"
    return response
