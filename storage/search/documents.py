"""What the search index holds: one document an element, of one kind, with the text it is found by.

Two texts, because the two lanes want different ones (measured on real dialogue): words are matched
best in the element's own text, while a vector gains by the words around it. For a message, `text`
is `Speaker: words` and `embed_text` is the previous message followed by it.

Recall reads the first five kinds. The others hold the rest of the elements for SEARCH, which reads
concepts, commitments, constraints and events as one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

DocumentKind = Literal[
    "evidence",
    "claim",
    "commitment",
    "constraint",
    "event",
    "concept",
    "proposition",
    "activity",
]

#: Every kind of document, in the order of `DocumentKind`.
KINDS: tuple[DocumentKind, ...] = get_args(DocumentKind)


@dataclass(frozen=True, slots=True)
class Document:
    """One searchable element.

    `text` is analysed into the terms of the lexical index and shown by whoever quotes the hit;
    `embed_text` is what an embedder reads; it may equal `text`. `at` is when the thing was said
    or happened (aware, UTC), None when unknown. `kind` is one of `KINDS`.
    """

    element_id: str
    kind: str
    text: str
    embed_text: str
    at: datetime | None
