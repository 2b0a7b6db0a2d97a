"""The one id scheme: a prefix that names the kind, and a UUIDv7 (RFC 9562) in hex.

Ids sort by the time they were made, which keeps index inserts local. Elements of a space have
their own counters (`C-7`, `P-3`; see `storage.graph`), and conversations are integers, because
seed 003 says so.
"""

from __future__ import annotations

import os
import re
import threading
import time

_lock = threading.Lock()
_last = 0
_SHAPE = re.compile(r"[a-z]{3}-[0-9a-f]{32}", re.ASCII)


def new_id(prefix: str) -> str:
    """A new id such as `job-0198f2…`; within one process ids grow strictly."""
    global _last
    with _lock:
        # 48 bits of milliseconds and 12 bits of counter, as section 6.2, method 3 allows
        stamp = time.time_ns() * 4096 // 1_000_000
        _last = stamp = max(stamp, _last + 1)
    value = ((stamp >> 12) & (2**48 - 1)) << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64
    value |= 0b10 << 62 | int.from_bytes(os.urandom(8)) >> 2
    return f"{prefix}-{value:032x}"


def is_id(text: str, prefix: str) -> bool:
    """Whether `text` has the shape of an id of that kind; says nothing about existence."""
    return text.startswith(prefix) and _SHAPE.fullmatch(text) is not None
