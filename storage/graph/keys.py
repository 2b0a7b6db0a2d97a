"""How a concept is keyed when all that is known of it is its type and a name.

`person:alice`, `place:new york`, `drink:black coffee`: the type in snake case, and the name without
differences of case, width and spacing. Two things of one type and one name are one concept until
somebody tells them apart (a merge joins what this keeps apart; nothing splits it by itself).
"""

from __future__ import annotations

import re
import unicodedata

from storage.canonical import digest_bytes

#: Names longer than this are keyed by a digest, so that keys fit an index.
_LONG = 200


def folded(name: str) -> str:
    """A name without differences of case, width and spacing."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def concept_key(type_name: str, name: str) -> str:
    """The key of a concept of that type (a local name) and name."""
    prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type_name).lower()
    text = folded(name)
    return f"{prefix}:{text if len(text) <= _LONG else digest_bytes(text.encode())}"


def person_key(name: str) -> str:
    """The key of a person of that name."""
    return concept_key("Person", name)
