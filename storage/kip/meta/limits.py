"""The bounds that callers meet, each by its name; a bound is kept where it is enforced."""

from __future__ import annotations

from typing import Any

from storage.graph import finding
from storage.graph.schema import MAX_DRAFTS
from storage.kip.language import source
from storage.kip.meta import answered, changes, dependents
from storage.kip.mutation import limits as mutation
from storage.kip.query import limits as query


def limits() -> dict[str, Any]:
    """Every bound of DESCRIBE CAPABILITIES and of the primer."""
    return {
        "command_bytes": source.MAX_BYTES,
        "command_depth": source.MAX_DEPTH,
        "commands_per_request": source.MAX_COMMANDS,
        "query_rows": query.MAX_ROWS,
        "path_hops": query.MAX_HOPS,
        "path_reached": query.MAX_REACHED,
        "search_pattern_hits": query.MAX_HITS,
        "beliefs_per_query": query.MAX_BELIEFS,
        "solutions_with_beliefs": query.MAX_SOLUTIONS,
        "regex_characters": query.MAX_REGEX,
        "statement_ms": query.STATEMENT_MILLIS,
        "statements_per_mutation": mutation.MAX_STATEMENTS,
        "targets_per_statement": mutation.MAX_TARGETS,
        "operations_per_transaction": mutation.MAX_OPERATIONS,
        "page_rows": answered.MAX_PAGE,
        "default_page_rows": answered.PAGE,
        "search_ranked_hits": finding.MAX_RANKED,
        "search_query_characters": finding.MAX_QUERY,
        "search_query_words": finding.MAX_TERMS,
        "change_envelopes_per_page": changes.MAX_ENVELOPES,
        "dependents_depth": dependents.MAX_DEPTH,
        "dependents_reached": dependents.MAX_REACHED,
        "draft_symbols": MAX_DRAFTS,
    }
