"""What the Memory Interface costs: accepting an observe, forgetting what much rests on, memory.

    ./deploy/bench memory_interface [--quick] [--json] [--only accept forget worker] [--embed]

- accept: `POST /v1/{space}/memory` observe, 8 clients that each staged their sources before, next
  to `POST /v1/{space}/formation` with the same words, in turns, no worker running. Both write one
  job and one record; the observe looks its source, scope and suppressions up besides.
- forget: a claim with 100 and with 1,000 recorded dependents (inferred claims, each of a process
  whose DependencyBasis pins it, each citing a message of its own) in a space of other claims:
  until the plan is accepted, until it is `completed` (cleaned and looked at), and reading the plan.
- worker: the memory that the worker of `brainstem up` holds after so many of 20,000 small
  conversations, given over HTTP to 20 spaces; flat is what is wanted. Without vectors; with
  `--embed` they are made as well, and the background worker, which makes them, is measured, too.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg

from storage import spaces
from storage.canonical import digest
from storage.database import Scope, database
from storage.graph.changes import (
    Change,
    ChangeSet,
    Citation,
    CreateActivity,
    CreateAssertion,
    CreateEvidence,
    EnsureProposition,
    Link,
    UpsertConcept,
    Value,
)
from storage.graph.commit import commit
from storage.graph.keys import person_key
from storage.kip.query.beliefs import BeliefTarget, epistemic, project
from storage.kip.snapshot import open_snapshot
from tests.benchmarks import search
from tests.benchmarks.ledger import CLIENTS, percentile
from tests.services import Services, running_api, started_services

SPACE = "bench"
AT = datetime(2026, 9, 1, 9, tzinfo=UTC)
#: The worker processes of `brainstem up`: their queues and threads.
WORKERS = {"memory": ("interactive,memory", 8), "background": ("files,knowledge,purge,system", 2)}
WITHOUT_VECTORS = {"BRAINSTEM_EMBEDDER": "none"}
#: Conversations that are handed over at a time, and spaces that they go to.
_STRETCH, _SPACES = 1_000, 20


class Connection:
    """One kept connection to a space."""

    def __init__(self, base_url: str, space: str) -> None:
        self._http = http.client.HTTPConnection(base_url.removeprefix("http://"), timeout=180)
        self._space = space

    def close(self) -> None:
        """Close it."""
        self._http.close()

    def call(self, method: str, path: str, body: bytes | None = None) -> Any:
        """The JSON of an answer; raises `RuntimeError` for any status but 200."""
        headers = {"Content-Type": "application/json"}
        self._http.request(method, f"/v1/{self._space}/{path}", body, headers)
        answer = self._http.getresponse()
        told = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path} answered {answer.status}: {told[:500]!r}")
        return json.loads(told)


def _words(number: int) -> str:
    return f"Note {number}: " + "the quarterly report is in the shared folder. " * 6


def _intent(operation: str, key: str, deadline_ms: int = 0, **given: Any) -> bytes:
    body: dict[str, Any] = {
        "kip_memory": "2.0",
        "operation": operation,
        "idempotency_key": key,
        "input": given,
    }
    if deadline_ms:
        body["budget"] = {"deadline_ms": deadline_ms}
    return json.dumps(body).encode()


# accept


def _clients(base_url: str, path: str, bodies: Sequence[Sequence[bytes]]) -> list[float]:
    """Clients of one process, a thread and a kept connection each; seconds of every accept."""

    def one(mine: Sequence[bytes]) -> list[float]:
        took = []
        with closing(Connection(base_url, SPACE)) as connection:
            for body in mine:
                started = time.perf_counter()
                told = connection.call("POST", path, body)
                took.append(time.perf_counter() - started)
                if told.get("status", "pending") != "pending":
                    raise RuntimeError(f"{path} answered {told}")
        return took

    with ThreadPoolExecutor(len(bodies)) as pool:
        return [took for part in pool.map(one, bodies) for took in part]


def _prepared(base_url: str, path: str, numbers: Sequence[int]) -> list[bytes]:
    """The requests to be measured; for an observe its source is staged now."""
    messages = [
        [{"role": "user", "name": "Ana", "content": _words(n), "timestamp": 1_790_000_000_000 + n}]
        for n in numbers
    ]
    if path == "formation":
        return [json.dumps({"messages": said}).encode() for said in messages]
    bodies = []
    with closing(Connection(base_url, SPACE)) as connection:
        for number, said in zip(numbers, messages, strict=True):
            source = {"messages": said, "idempotency_key": f"source-{number}"}
            told = connection.call("POST", "memory/sources", json.dumps(source).encode())
            bodies.append(
                _intent("observe", f"observe-{number}", source_ref=told["result"]["source_ref"])
            )
    return bodies


def _accepts(
    processes: ProcessPoolExecutor, base_url: str, path: str, first: int, each: int
) -> list[float]:
    """Seconds of every accept of `CLIENTS` clients, half of them in each of two processes."""
    mine = [range(first + each * n, first + each * (n + 1)) for n in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        bodies = list(pool.map(lambda numbers: _prepared(base_url, path, numbers), mine))
    parts = processes.map(partial(_clients, base_url, path), [bodies[::2], bodies[1::2]])
    return [took for part in parts for took in part]


def bench_accept(services: Services, each: int, rounds: int = 3) -> dict[str, float]:
    """Accepts a second of 8 clients, and their latency in milliseconds, of both ways in turns."""
    took: dict[str, list[float]] = {"memory": [], "formation": []}
    numbers = itertools.count(step=each * CLIENTS)
    with (
        running_api(services, {"BRAINSTEM_API_PROCESSES": "2"}) as api,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
    ):
        for path in took:
            # both processes, both of the API, and its connections are up before they are measured
            _accepts(processes, api.base_url, path, next(numbers), 10)
        for _ in range(rounds):
            for path, found in took.items():
                found += _accepts(processes, api.base_url, path, next(numbers), each)
    figures = {}
    for name, found in (("observe", took["memory"]), ("formation", took["formation"])):
        # threads run side by side: the rate is the mean rate of one client times their number
        figures[f"{name}_accept_per_s"] = CLIENTS / statistics.fmean(found)
        for share in (50, 95, 99):
            figures[f"{name}_accept_p{share}_ms"] = percentile(found, share / 100) * 1000
    figures["observe_to_formation_p99_ratio"] = (
        figures["observe_accept_p99_ms"] / figures["formation_accept_p99_ms"]
    )
    return figures


# forget


def _write(*changes: Change) -> dict[str, str]:
    scope = Scope(SPACE)
    with database().transaction(scope) as tx:
        return dict(commit(tx, scope, "anonymous", ChangeSet(changes), tx_class="bench").ids)


def _claim(number: int, person: str, text: str, mode: Any) -> list[Change]:
    """A claim about somebody's time zone, with the message that tells it."""
    who, said, slot = f"?s{number}", f"?e{number}", f"?p{number}"
    payload = {"role": "user", "content": text}
    return [
        UpsertConcept(who, type="Person", key=person_key(person), initial_name=person),
        CreateEvidence(
            said,
            "user_statement",
            payload,
            content_digest=digest(payload),
            media_type="application/json",
            observed_at=AT,
            links=(Link("source", who),),
        ),
        EnsureProposition(slot, who, "timezone", Value("+07:00")),
        CreateAssertion(
            f"?a{number}", slot, who, mode, asserted_at=AT, citations=(Citation(said),)
        ),
    ]


def _premise(label: str, dependents: int) -> str:
    """A claim that so many others were inferred from; its assertion's id."""
    made = _write(*_claim(0, f"Root {label}", f"{label}: I am on UTC+7.", "stated"))
    premise, person = made["?a0"], made["?s0"]
    pins = [{"id": premise, "version": 1}]
    with database().transaction(Scope(SPACE), snapshot=True) as tx:
        snapshot = open_snapshot(tx, Scope(SPACE))
        candidates = BeliefTarget.of_candidates(person, "timezone")
        read = project(snapshot, [candidates], epistemic(snapshot, None, None))
    basis = {
        "basis_seq": snapshot.seq,
        "groups": [{"role": "all_of", "pins": pins}],
        "policy_basis": read[0][0]["basis"],  # type: ignore[index]
    }
    for start in range(0, dependents, 100):
        changes: list[Change] = []
        for number in range(start, min(start + 100, dependents)):
            text = f"{label}: colleague {number} works the hours that Root keeps."
            changes += _claim(number, f"{label} colleague {number}", text, "inferred")
            changes.append(
                CreateActivity(
                    f"?x{number}",
                    "inference",
                    "completed",
                    AT,
                    AT,
                    outputs=(f"?a{number}",),
                    facets={"DependencyBasis": basis},
                )
            )
        _write(*changes)
    return premise


def bench_forget(
    services: Services, sizes: Sequence[int], rounds: int, others: int
) -> dict[str, float]:
    """Milliseconds (medians) to accept, complete and read a plan, by how much goes along."""
    search.fill(Scope(SPACE), search.facts(others))
    figures: dict[str, float] = {}
    with (
        workers(services, ["memory"], WITHOUT_VECTORS),
        running_api(services, WITHOUT_VECTORS) as api,
        closing(Connection(api.base_url, SPACE)) as connection,
    ):
        for size in sizes:
            measured = [_forgotten(services, connection, size, n) for n in range(rounds)]
            for at, name in enumerate(("accept", "completed", "plan_read")):
                figures[f"forget_{size}_{name}_ms"] = statistics.median(
                    one[at] * 1000 for one in measured
                )
    return figures


def _forgotten(
    services: Services, connection: Connection, size: int, number: int
) -> tuple[float, float, float]:
    label = f"Case {size}-{number}"
    premise = _premise(label, size)
    with psycopg.connect(services.admin_url, autocommit=True) as admin:
        admin.execute("analyze")

    def ask(deadline_ms: int) -> Any:
        body = _intent("forget", label, deadline_ms, target_ref=premise, mode="semantic")
        return connection.call("POST", "memory", body)

    started = time.perf_counter()
    told = ask(0)
    accepted = time.perf_counter() - started
    if told["status"] == "pending":
        # under the same key: this waits for the end, and is woken by it
        told = ask(120_000)
    completed = time.perf_counter() - started
    if told["status"] != "succeeded":
        raise RuntimeError(f"the forget was not completed: {told}")
    path = f"memory/plans/{told['result']['plan_ref']}"
    read = []
    for _ in range(11):
        started = time.perf_counter()
        plan = connection.call("GET", path)["result"]["plan"]
        read.append(time.perf_counter() - started)
    if plan["status"] != "completed":
        raise RuntimeError(f"the plan is {plan['status']}")
    left = _left(label)
    if left:
        raise RuntimeError(f"{left} messages of {label} are still there")
    return accepted, completed, statistics.median(read)


def _left(label: str) -> int:
    """Messages of a case that can still be found."""
    with database().transaction(Scope(SPACE)) as tx:
        row = tx.execute(
            "select count(*) from evidence where space_id = %s and payload::text like %s",
            (SPACE, f"%{label}:%"),
        ).fetchone()
    assert row is not None
    return int(row[0])


# memory of workers


@contextmanager
def workers(
    services: Services, names: Sequence[str], env: Mapping[str, str]
) -> Iterator[dict[str, int]]:
    """Worker processes as `brainstem up` starts them; their process groups by name."""
    with ExitStack() as started:
        groups = {}
        for name in names:
            queues, threads = WORKERS[name]
            arguments = ["-m", "jobs.worker", "--queues", queues, "--threads", str(threads)]
            process = services.spawn(f"worker-{name}", arguments, env=env)
            started.callback(process.close)
            process.wait_for_output("worker.started", seconds=60)
            groups[name] = process.pid
        yield groups


def resident_mb(group: int) -> float:
    """What the processes of a group hold in memory, in MiB."""
    pages = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(folder.name)) == group:
                pages += int((folder / "statm").read_text().split()[1])
        except OSError:  # it has ended meanwhile
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def bench_worker(
    services: Services, marks: Sequence[int], embed: bool, told: Callable[[str], None]
) -> dict[str, float]:
    """MiB of each worker after so many formations, and how many were formed in a second."""
    names = [f"small_{number}" for number in range(_SPACES)]
    for name in names:
        with database().transaction(Scope(name)) as tx:
            spaces.create(tx, Scope(name), owner="bench")
    facts = search.facts(marks[-1])
    figures: dict[str, float] = {}
    began = time.monotonic()
    measured = list(WORKERS) if embed else ["memory"]
    env = {} if embed else WITHOUT_VECTORS
    with workers(services, measured, env) as groups, running_api(services, env) as api:
        stretch = min(_STRETCH, marks[0])
        for start in range(0, marks[-1], stretch):
            _give(api.base_url, names, facts[start : start + stretch])
            while _waiting():
                time.sleep(0.25)
            done = start + stretch
            if done in marks:
                held = {name: resident_mb(group) for name, group in groups.items()}
                told(f"{done} formations: {held}")
                for name, value in held.items():
                    figures[f"{name}_worker_mb_at_{done}"] = value
    figures["formations_per_s"] = marks[-1] / (time.monotonic() - began)
    for name in measured:
        # by the first mark everything is loaded and every pool is full
        last, first = (figures[f"{name}_worker_mb_at_{mark}"] for mark in (marks[-1], marks[0]))
        figures[f"{name}_worker_growth_mb"] = last - first
    return figures


def _give(base_url: str, names: Sequence[str], facts: Sequence[search.Fact]) -> None:
    def one(place: int) -> None:
        mine = names[place::4]
        with closing(http.client.HTTPConnection(base_url.removeprefix("http://"))) as connection:
            for number, fact in enumerate(facts[place::4]):
                said = {"role": "user", "name": fact.speaker, "content": fact.text}
                connection.request(
                    "POST",
                    f"/v1/{mine[number % len(mine)]}/formation",
                    json.dumps({"messages": [said]}),
                    {"Content-Type": "application/json"},
                )
                answer = connection.getresponse()
                words = answer.read()
                if answer.status != 200:
                    raise RuntimeError(f"formation answered {answer.status}: {words[:500]!r}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(4)))


def _waiting() -> int:
    with database().ledger() as tx:
        row = tx.execute(
            "select count(*) filter (where state in ('accepted', 'running')),"
            " count(*) filter (where state in ('failed', 'cancelled')) from job"
            " where kind in ('formation', 'embed') and space_id like 'small_%'"
        ).fetchone()
    assert row is not None
    if row[1]:
        raise RuntimeError(f"{row[1]} jobs failed")
    return int(row[0])


def main() -> None:
    """Run all parts and print the figures; the last line is one JSON object."""
    parser = argparse.ArgumentParser(prog="deploy/bench memory_interface", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument(
        "--only", nargs="+", choices=("accept", "forget", "worker"), help="these parts alone"
    )
    parser.add_argument("--embed", action="store_true", help="worker: make vectors, too")
    options = parser.parse_args()

    def told(text: str) -> None:
        if not options.json:
            print(text, file=sys.stderr, flush=True)

    quick = options.quick
    parts: dict[str, Callable[[Services], dict[str, float]]] = {
        "accept": lambda services: bench_accept(services, 25 if quick else 125),
        "forget": lambda services: (
            bench_forget(services, (100,), 2, 1_000)
            if quick
            else bench_forget(services, (100, 1_000), 3, 20_000)
        ),
        "worker": lambda services: bench_worker(
            services,
            (200, 500, 1_000) if quick else (2_000, 5_000, 10_000, 15_000, 20_000),
            options.embed,
            told,
        ),
    }
    figures: dict[str, float] = {}
    for name, part in parts.items():
        if options.only and name not in options.only:
            continue
        with started_services(options={}) as services:
            scope = Scope(SPACE)
            with database().transaction(scope) as tx:
                spaces.create(tx, scope, owner="bench")
            measured = part(services)
        told(str({name: round(value, 1) for name, value in measured.items()}))
        figures |= measured
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
