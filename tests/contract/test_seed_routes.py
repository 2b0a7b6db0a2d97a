"""Every route of seed 003 is served and documented, save those that this file names with a reason.

The list below is checked against the seed itself where that lies at hand.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.api.calling import new_client

SEED = Path(__file__).resolve().parents[3] / "shared" / "seeds" / "003_224924fb84e74e0a.txt"

#: Sections 3, 4.1, 4.2, 4.4, 4.5 and 4.6.
ROUTES = [
    "GET /favicon.ico",
    "GET /apple-touch-icon.webp",
    "GET /info",
    "GET /SKILL.md",
    "POST /v1/{space_id}/memory",
    "POST /v1/{space_id}/memory/sources",
    "GET /v1/{space_id}/memory/sources/{source_ref}",
    "GET /v1/{space_id}/memory/receipts/{receipt_ref}",
    "GET /v1/{space_id}/memory/plans/{plan_ref}",
    "POST /v1/{space_id}/formation",
    "POST /v1/{space_id}/recall",
    "POST /v1/{space_id}/recall_structured",
    "POST /v1/{space_id}/maintenance",
    "POST /v1/{space_id}/memory/pin",
    "POST /v1/{space_id}/memory/forget",
    "GET /v1/{space_id}/memory/attention",
    "GET /v1/{space_id}/schema/drafts",
    "POST /v1/{space_id}/schema/promote",
    "GET /v1/{space_id}/memory_status",
    "POST /v1/{space_id}/execute_kip_readonly",
    "POST /v1/{space_id}/get_or_init_user",
    "GET /v1/{space_id}/info",
    "GET /v1/{space_id}/status",
    "POST /v1/{space_id}/probe",
    "GET /v1/{space_id}/formation_status",
    "GET /v1/{space_id}/conversations/{conversation_id}",
    "GET /v1/{space_id}/conversations/{conversation_id}/delta",
    "GET /v1/{space_id}/conversations",
    "GET /v1/{space_id}/management/space_tokens",
    "POST /v1/{space_id}/management/add_space_token",
    "POST /v1/{space_id}/management/revoke_space_token",
    "PATCH /v1/{space_id}/management/update_space",
    "POST /v1/{space_id}/management/shadow_eval",
    "PATCH /v1/{space_id}/management/restart_formation",
    "GET /v1/{space_id}/management/space_byok",
    "PATCH /v1/{space_id}/management/space_byok",
    "POST /admin/create_space",
    "POST /admin/{space_id}/update_space_tier",
    "GET /v1/{space_id}/attention",
    "POST /v1/{space_id}/attention/{id}/responses",
    "POST /v1/{space_id}/outcomes",
    "GET /v1/{space_id}/runtime/status",
]

#: Section 4.3 is the wiki's, and comes with it. Section 5 (MCP) is `/mcp/{space_id}`.
WIKI = [
    "POST /v1/{space_id}/wiki/docs",
    "GET /v1/{space_id}/wiki/docs",
    "GET /v1/{space_id}/wiki/docs/{doc_id}",
    "GET /v1/{space_id}/wiki/docs/{doc_id}/content",
    "GET /v1/{space_id}/wiki/docs/{doc_id}/versions",
    "POST /v1/{space_id}/wiki/docs/{doc_id}/archive",
    "POST /v1/{space_id}/wiki/docs/{doc_id}/restore",
    "POST /v1/{space_id}/wiki/search",
    "POST /v1/{space_id}/wiki/verify",
    "GET /v1/{space_id}/wiki/events",
    "POST /v1/{space_id}/wiki/import",
    "GET /v1/{space_id}/wiki/export",
    "POST /v1/{space_id}/wiki/digest",
]

#: What of `ROUTES` is not served yet, and why. Whoever serves one takes it out.
NOT_YET: dict[str, str] = {}


def named(route: str) -> str:
    """A route without the names of its parameters, which are not part of it."""
    return re.sub(r"\{\w+\}", "{}", route)


@pytest.fixture
def served(database: Any) -> set[str]:
    document = new_client().get("/openapi.json").json
    return {
        named(f"{method.upper()} {path}")
        for path, methods in document["paths"].items()
        for method in methods
    }


def test_every_route_of_the_seed_is_served_or_named_as_missing(served: set[str]) -> None:
    missing = {route for route in ROUTES if named(route) not in served}
    assert missing - NOT_YET.keys() == set()


def test_no_route_is_named_as_missing_that_is_served(served: set[str]) -> None:
    assert NOT_YET.keys() <= set(ROUTES)
    assert [route for route in NOT_YET if named(route) in served] == []
    assert all(NOT_YET.values())


def test_the_wiki_and_mcp_are_served_whole_or_not_at_all(served: set[str]) -> None:
    there = {route for route in WIKI if named(route) in served}
    assert there in (set(), set(WIKI))


def test_the_lists_are_those_of_the_seed() -> None:
    if not SEED.is_file():
        pytest.skip("the seed is not at hand")
    text = SEED.read_text(encoding="utf-8")
    headings = "\n".join(line for line in text.splitlines() if line.startswith(("### ", "| `")))
    found = {
        f"{method} {path}"
        for method, path in re.findall(r"\b(GET|POST|PATCH|PUT|DELETE) ?`? ?(/[^`?\s]*)", headings)
    }
    # one heading names two: GET `/favicon.ico` and GET `/apple-touch-icon.webp`
    found = {route.replace("` ", " ").replace("`", "") for route in found}
    assert found == set(ROUTES) | set(WIKI)


def test_the_routes_of_the_seed_take_no_other_method_where_it_names_none(
    served: set[str],
) -> None:
    """A path of the seed has the seed's methods: a client that tries another gets a 405."""
    ours: dict[str, set[str]] = {}
    for route in served:
        method, path = route.split(" ", 1)
        ours.setdefault(path, set()).add(method)
    theirs: dict[str, set[str]] = {}
    for route in [*ROUTES, *WIKI]:
        method, path = named(route).split(" ", 1)
        theirs.setdefault(path, set()).add(method)
    assert {
        path: methods for path, methods in ours.items() if path in theirs and methods - theirs[path]
    } == {}
