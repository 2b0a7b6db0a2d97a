"""Whether an answer is the one that a conformance fixture expects.

Ids are the engine's own, so they are renamed in the order in which a walk by sorted names meets
them; what differs from run to run (times, transactions, digests, scores) is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import permutations
from typing import Any

from storage.canonical import canonical_json

#: What an engine makes up, and no fixture can expect.
_VOLATILE = frozenset(
    {
        "authorization_view",
        "committed_at",
        "content_digest",
        "created_at",
        "created_tx",
        "score",
        "tx_id",
        "updated_at",
        "updated_tx",
        "valid_at",
    }
)
_ID = re.compile(r"([A-Z])-[A-Za-z0-9_]+", re.ASCII)
#: Rows up to which another order of the same rows is looked for one by one.
_FEW = 7


def normalised(value: Any, names: dict[str, str] | None = None) -> Any:
    """The value with its ids renamed and what is volatile left out; `names` goes on from before."""
    names = {} if names is None else names
    if isinstance(value, str):
        found = _ID.fullmatch(value)
        if found is None:
            return value
        return names.setdefault(value, f"{found[1]}:<{len(names) + 1}>")
    if isinstance(value, list):
        return [normalised(item, names) for item in value]
    if isinstance(value, Mapping):
        return {
            name: normalised(value[name], names) for name in sorted(value) if name not in _VOLATILE
        }
    return value


def same(actual: Any, expected: Any, *, ordered: bool) -> bool:
    """Whether the two say the same; without `ordered`, whatever the order of the outermost rows."""
    wanted = _text(expected)
    if _text(normalised(actual)) == wanted:
        return True
    if ordered or not isinstance(actual, list) or not isinstance(expected, list):
        return False
    if len(actual) != len(expected):
        return False
    rows = sorted(_text(row) for row in expected)
    if sorted(_text(row) for row in normalised(actual)) == rows:
        return True
    if len(actual) > _FEW:
        return False
    # which row comes first decides how ids are renamed
    return any(_text(normalised(list(one))) == wanted for one in permutations(actual))


def contains(actual: Any, expected: Any) -> bool:
    """Whether everything that is expected is there; more may be."""
    if isinstance(expected, list):
        return isinstance(actual, list) and all(
            any(contains(item, one) for item in actual) for one in expected
        )
    if isinstance(expected, Mapping):
        return isinstance(actual, Mapping) and all(
            name in actual and contains(actual[name], one) for name, one in expected.items()
        )
    return _text(actual) == _text(expected)


def flattened(answer: Mapping[str, Any]) -> tuple[str | None, Any]:
    """The code of a response's error (the request's, else the first result's), else its result."""
    error = answer.get("error")
    results = answer.get("results") or [{}]
    error = error or results[0].get("error")
    if error:
        return error["code"], None
    return None, results[0].get("result")


def pointed(value: Any, pointer: str) -> Any:
    """What a JSON Pointer (RFC 6901) points at; raises `LookupError`."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and name.isascii() and name.isdigit():
            value = value[int(name)]
        elif isinstance(value, Mapping):
            value = value[name]
        else:
            raise LookupError(pointer)
    return value


def _text(value: Any) -> str:
    return canonical_json(value)
