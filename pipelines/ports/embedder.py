"""The embedder of a worker: a local one (`storage.search.embedder`) or an endpoint that is asked.

It is made at first use, or when the worker starts by `warm`.
"""

from __future__ import annotations

import os
import threading
from functools import lru_cache
from typing import Any

import httpx2
import numpy as np

from storage.database import in_transaction
from storage.errors import Fatal, ModelRejected, ModelUnavailable
from storage.search.embedder import Embedder, Kind, local_embedder, readable, unit_rows
from storage.settings import settings


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
        body = {"model": self._model, "input": [readable(text) or " " for text in texts]}
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


_lock = threading.Lock()


def process_embedder() -> Embedder | None:
    """The process's embedder by its settings, made once; None when vectors are switched off.

    Raises `Fatal` when the settings name an embedder that cannot be made.
    """
    chosen = settings()
    if chosen.embedder != "openai":
        return local_embedder()
    with _lock:
        return _endpoint(
            chosen.embedder_api_base, chosen.embedder_model, chosen.embedder_api_key, os.getpid()
        )


def warm() -> None:
    """Load the process's embedder and embed one word, so that the first query need not wait."""
    chosen = process_embedder()
    if chosen is not None and settings().embedder != "openai":
        chosen.embed(["warm"], "query")


@lru_cache(maxsize=2)
def _endpoint(base_url: str, model: str, api_key: str, pid: int) -> Endpoint:
    return Endpoint(base_url, model, api_key, settings().model_timeout_seconds)


def _rows(response: httpx2.Response, expected: int) -> np.ndarray:
    try:
        data: list[dict[str, Any]] = sorted(response.json()["data"], key=lambda item: item["index"])
        rows = np.asarray([item["embedding"] for item in data], dtype=np.float32)
    except (ValueError, KeyError, TypeError) as error:
        raise ModelRejected("The embedding endpoint's answer could not be read.") from error
    if rows.ndim != 2 or rows.shape[0] != expected or not np.isfinite(rows).all():
        raise ModelRejected("The embedding endpoint's answer does not fit the request.")
    return unit_rows(rows)


def _seconds(header: str | None) -> float | None:
    return float(header) if header and header.isdigit() else None
