"""Text that a deployment adds to our instructions for models (seed 003 section 9.4).

A folder holds `formation.md`, `recall.md` and `maintenance.md`, as many of them as are wanted.
They are read once a process, so that all of its runs are told the same.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

Agent = Literal["formation", "recall", "maintenance"]

#: How every segment begins.
HEADING = "# A."
#: Bytes of one segment.
MAX_BYTES = 128 * 1024


@lru_cache(maxsize=4)
def read(folder: Path) -> dict[str, str]:
    """The segments of `folder` by agent; raises `ValueError` naming the file that is wrong."""
    if not folder.is_dir():
        raise ValueError(f"prompts: there is no folder {folder}")
    found: dict[str, str] = {}
    for file in sorted(folder.glob("*.md")):
        if file.stem not in get_args(Agent):
            raise ValueError(f"{file.name}: segments are {', '.join(get_args(Agent))}, each .md")
        raw = file.read_bytes()
        if len(raw) > MAX_BYTES:
            raise ValueError(f"{file.name} has more than {MAX_BYTES} bytes")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{file.name} is not UTF-8") from None
        if not text.startswith(HEADING):
            raise ValueError(f"{file.name} must begin with {HEADING!r}")
        found[file.stem] = text.strip()
    return found
