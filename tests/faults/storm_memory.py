"""A client of the Memory Interface in the storm: it stages, observes, forgets, and asks for upkeep.

What it was told is held against the database afterwards: an observed source is in memory once, a
forgotten one nowhere, and the receipts that were read on the way never take anything back.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2
import psycopg

_PHASES = ("recorded", "processed", "available")


@dataclass
class Intent:
    """One mutation, and what is known of its outcome."""

    space: str
    operation: str
    key: str
    input: dict[str, Any]
    receipt_ref: str | None = None
    told: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Source:
    """Something said, how it was observed, and how it was forgotten again."""

    space: str
    key: str
    canary: str
    ref: str | None = None
    observe: Intent | None = None
    forget: Intent | None = None


class MemoryClient:
    """One client; `number` makes its keys and words its own."""

    def __init__(self, url: str, spaces: Sequence[str], number: int, seed: float) -> None:
        self._url, self._spaces, self._number = url, spaces, number
        self._rng = random.Random(seed)
        self._sources: list[Source] = []
        self._upkeep: list[tuple[str, str]] = []
        self._refused: list[str] = []
        self.observed = self.forgotten = 0

    # while it storms

    def run(self, stop: threading.Event) -> None:
        """Ask until `stop`; what has no answer is left for `settle`."""
        with httpx2.Client(base_url=self._url, timeout=5) as http:
            turn = 0
            while not stop.is_set():
                turn += 1
                space = self._rng.choice(self._spaces)
                canary = f"cellar {self._number:02d}x{turn:05d}"
                source = Source(space, f"m{self._number}-{turn}", canary)
                self._sources.append(source)
                self._observe(http, source)
                if self._rng.random() < 0.2:
                    self._observe(http, source)
                for old in self._rng.choices(self._sources, k=3):
                    self._look(http, old)
                    if self._is_available(old) and self._rng.random() < 0.3:
                        self._forget(http, old)
                if self._rng.random() < 0.03:
                    self._maintain(http, space, f"u{self._number}-{turn}")
                stop.wait(self._rng.random() * 0.1)

    def settle(self, http: httpx2.Client) -> int:
        """Ask again for what had no answer; how much that was."""
        unknown = 0
        for source in self._sources:
            if source.observe is None or source.observe.receipt_ref is None:
                unknown += 1
                self._observe(http, source)
            if source.forget is not None and source.forget.receipt_ref is None:
                unknown += 1
                self._send(http, source.forget)
        for space, key in self._upkeep:
            self._maintain(http, space, key, again=True)
        return unknown

    def _observe(self, http: httpx2.Client, source: Source) -> None:
        if source.ref is None:
            body = {
                "messages": [
                    {
                        "role": "user",
                        "name": f"Keeper{self._number}",
                        "content": f"The wine is in {source.canary}. I live in Tartu.",
                        "timestamp": 1_790_000_000_000,
                    }
                ],
                "idempotency_key": source.key,
            }
            answer = self._post(http, f"/v1/{source.space}/memory/sources", body)
            if answer is None:
                return
            source.ref = answer["result"]["source_ref"]
        if source.observe is None:
            wanted = {"source_ref": source.ref}
            source.observe = Intent(source.space, "observe", source.key, wanted)
        self._send(http, source.observe)

    def _forget(self, http: httpx2.Client, source: Source) -> None:
        if source.forget is None:
            wanted = {"target_ref": source.ref, "mode": "semantic"}
            source.forget = Intent(source.space, "forget", source.key, wanted)
        self._send(http, source.forget)

    def _send(self, http: httpx2.Client, intent: Intent) -> None:
        body = {
            "kip_memory": "2.0",
            "operation": intent.operation,
            "idempotency_key": intent.key,
            "input": intent.input,
            "budget": {"deadline_ms": self._rng.choice((1, 500))},
        }
        answer = self._post(http, f"/v1/{intent.space}/memory", body)
        if answer is None:
            return
        receipt = answer.get("receipt")
        if receipt is None:
            self._refused.append(f"{intent.operation} {intent.key} was refused: {answer}")
            return
        if intent.receipt_ref not in (None, receipt["receipt_ref"]):
            self._refused.append(f"{intent.operation} {intent.key} stands for two receipts")
        intent.receipt_ref = receipt["receipt_ref"]
        intent.told.append(answer["progress"])

    def _look(self, http: httpx2.Client, source: Source) -> None:
        for intent in (source.observe, source.forget):
            if intent is None or intent.receipt_ref is None:
                continue
            path = f"/v1/{intent.space}/memory/receipts/{intent.receipt_ref}"
            try:
                answer = http.get(path)
            except httpx2.HTTPError:
                continue
            if answer.status_code == 200:
                intent.told.append(answer.json()["result"]["progress"])
            elif answer.status_code != 503:
                self._refused.append(f"a receipt answers {answer.status_code}: {answer.text}")

    def _post(self, http: httpx2.Client, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """The answer, None where there was none or the server was not available."""
        try:
            answer = http.post(path, json=body)
        except httpx2.HTTPError:
            return None
        if answer.status_code == 200:
            return dict(answer.json())
        if answer.status_code != 503:
            self._refused.append(f"{path} answers {answer.status_code}: {answer.text[:300]}")
        return None

    @staticmethod
    def _is_available(source: Source) -> bool:
        told = source.observe.told if source.observe is not None else []
        return any(one["phase"] == "available" for one in told)

    def _maintain(self, http: httpx2.Client, space: str, key: str, *, again: bool = False) -> None:
        if not again:
            self._upkeep.append((space, key))
        body = {"trigger": "on_demand", "scope": "quick"}
        headers = {"Idempotency-Key": key}
        try:
            answer = http.post(f"/v1/{space}/maintenance", json=body, headers=headers)
        except httpx2.HTTPError:
            return
        # 409: something is formed there just now
        if answer.status_code not in (200, 409, 503):
            self._refused.append(f"upkeep answers {answer.status_code}: {answer.text[:300]}")

    # the reckoning

    def check(self, conn: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
        """What was lost, doubled or told falsely, as counts of the verdict and sentences."""
        words = Counter(
            (row[0], row[1])
            for row in conn.execute(
                "select space_id, substring(payload::text from 'cellar [0-9]{2}x[0-9]{5}')"
                " from evidence where payload::text like '%%cellar%%'"
            )
        )
        jobs = {
            row[0]: row[1:] for row in conn.execute("select receipt_ref, state, error from job")
        }
        for told in self._refused:
            yield "false_receipts", told
        for source in self._sources:
            yield from self._check_source(source, words, jobs)

    def _check_source(
        self, source: Source, words: Counter[tuple[str, str]], jobs: dict[str, Any]
    ) -> Iterator[tuple[str, str]]:
        found = words[source.space, source.canary]
        forgotten = False
        for intent in (source.observe, source.forget):
            if intent is None:
                continue
            job = jobs.get(intent.receipt_ref or "")
            if job is None:
                yield "lost", f"{intent.operation} {intent.key}: no job"
                continue
            if job[0] != "succeeded":
                yield "lost", f"{intent.operation} {intent.key} is {job[0]}: {job[1]}"
            forgotten = forgotten or intent.operation == "forget"
            yield from _taken_back(intent)
        if source.observe is None:
            yield "lost", f"{source.key} was never observed"
        elif forgotten and found:
            yield "false_receipts", f"{source.canary} was forgotten and is in memory"
        elif not forgotten and found != 1:
            yield ("doubled" if found else "lost"), f"{source.canary} is {found} times in memory"
        self.observed += 1
        self.forgotten += forgotten


def _taken_back(intent: Intent) -> Iterator[tuple[str, str]]:
    """What a later answer about a receipt says less than an earlier one."""
    for earlier, later in zip(intent.told, intent.told[1:], strict=False):
        if "failed" in (earlier["phase"], later["phase"]):
            yield "false_receipts", f"{intent.operation} {intent.key} was told failed"
            continue
        back = _PHASES.index(later["phase"]) < _PHASES.index(earlier["phase"])
        if back or (earlier["phase"] == "available" and later != earlier):
            yield "false_receipts", f"{intent.key} was {earlier}, then {later}"
