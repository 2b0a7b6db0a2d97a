"""What durability costs: our ledger against bare Dramatiq and Procrastinate, in one run.

    ./deploy/bench ledger [--quick] [--json]

- accept: jobs/s through HTTP (`POST /v1/{space}/formation`, 8 clients) against `actor.send()`
  from 8 threads, and the accept latency p50 and p99;
- drain: a backlog of no-op jobs, one worker process of 8 threads, against the same number of
  bare Dramatiq messages and of Procrastinate jobs (concurrency 8);
- cold: from accept to receipt of a no-op on an idle system.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import dramatiq
import psycopg
from dramatiq.brokers.redis import RedisBroker

from jobs import dispatch, ledger, watch
from storage import spaces
from storage.database import Scope, database
from storage.principals import anonymous
from tests.services import ROOT, Services, free_port, started_services, wait_for

SPACE = "bench"
CLIENTS = 8


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the sorted values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def _body(number: int) -> bytes:
    return json.dumps(
        {
            "messages": [
                {
                    "role": "user",
                    "name": "Ana",
                    "content": f"Note {number}: "
                    + "the quarterly report is in the shared folder. " * 6,
                    "timestamp": 1_790_000_000_000 + number,
                }
            ]
        }
    ).encode()


def _client(port: int, space: str, count: int, results: Any) -> None:
    """Clients of one process: four threads, one kept connection each."""

    def one(thread: int) -> list[float]:
        conn = http.client.HTTPConnection("127.0.0.1", port)
        took = []
        for number in range(count):
            started = time.perf_counter()
            conn.request(
                "POST",
                f"/v1/{space}/formation",
                _body(thread * 1_000_000 + number),
                {"Content-Type": "application/json"},
            )
            answer = conn.getresponse()
            answer.read()
            if answer.status != 200:
                raise RuntimeError(f"accept answered {answer.status}")
            took.append(time.perf_counter() - started)
        return took

    with ThreadPoolExecutor(CLIENTS // 2) as pool:
        results.put([took for part in pool.map(one, range(CLIENTS // 2)) for took in part])


def bench_accept(services: Services, each: int) -> dict[str, float]:
    """Accepted jobs per second through HTTP, and their latency in milliseconds."""
    port = free_port()
    config = str(ROOT / "deploy" / "gunicorn_conf.py")
    api = services.spawn(
        "api",
        ["-m", "gunicorn", "-c", config, "api.app:create_app()"],
        env={"BRAINSTEM_PORT": str(port), "BRAINSTEM_API_PROCESSES": "2"},
    )
    try:
        wait_for(lambda: _ready(port), seconds=60, what="the API")
        context = get_context("spawn")
        results = context.Queue()
        _warm(port)
        processes = [
            context.Process(target=_client, args=(port, SPACE, each, results)) for _ in range(2)
        ]
        for process in processes:
            process.start()
        took = [one for _ in processes for one in results.get()]
        for process in processes:
            process.join()
        # threads run side by side: the rate is the mean rate of one client times their number
        rate = CLIENTS / statistics.fmean(took)
    finally:
        api.close()
    return {
        "accept_per_s": rate,
        "accept_p50_ms": percentile(took, 0.5) * 1000,
        "accept_p99_ms": percentile(took, 0.99) * 1000,
    }


def _ready(port: int) -> bool:
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        conn.request("GET", "/readyz")
        return conn.getresponse().status == 200
    except OSError:
        return False
    finally:
        conn.close()


def _warm(port: int) -> None:
    queue: Any = get_context("spawn").SimpleQueue()
    _client(port, SPACE, 25, queue)
    queue.get()


def bench_send(services: Services, each: int) -> dict[str, float]:
    """Bare `actor.send()` per second from 8 threads."""
    broker = RedisBroker(url=services.redis_url, namespace="peer", middleware=[])
    declare = dramatiq.actor(broker=broker, actor_name="peer_send", queue_name="send")
    actor = declare(_nothing)

    def one(_: int) -> None:
        for number in range(each):
            actor.send("x" * 300, number)

    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(one, range(CLIENTS)))
    rate = CLIENTS * each / (time.perf_counter() - started)
    broker.flush("send")
    return {"dramatiq_send_per_s": rate}


def _nothing(*args: Any) -> None:
    return None


def _accept_noops(count: int) -> None:
    for start in range(0, count, 500):
        with database().transaction(Scope(SPACE)) as tx:
            for _ in range(min(500, count - start)):
                ledger.accept(tx, anonymous(SPACE), "noop", {})


def bench_drain(services: Services, count: int) -> dict[str, float]:
    """No-op jobs per second, each claimed, run and finished durably."""
    _accept_noops(count)
    worker = services.spawn(
        "worker", ["-m", "jobs.worker", "--queues", "interactive", "--threads", "8"]
    )
    try:
        worker.wait_for_output("worker.started")
        started = time.perf_counter()
        _announce_queue()
        _until(lambda: _open_noops() == 0)
        rate = count / (time.perf_counter() - started)
    finally:
        worker.close()
    return {"drain_per_s": rate}


def _announce_queue() -> None:
    with database().ledger_statement() as tx:
        dispatch.send_runnable(tx, dispatch.sender().broker, [], [(SPACE, "interactive")])


def _open_noops() -> int:
    with database().ledger() as tx:
        row = tx.execute(
            "select count(*) from job where kind = 'noop' and state in ('accepted', 'running')"
        ).fetchone()
    assert row is not None
    return int(row[0])


def _until(done: Callable[[], bool]) -> None:
    while not done():
        time.sleep(0.02)


PEER_WORKER = """
import sys, threading, dramatiq
from dramatiq.brokers.redis import RedisBroker
broker = RedisBroker(url=sys.argv[1], namespace="peer", middleware=[])
left, done = int(sys.argv[2]), threading.Event()
lock = threading.Lock()
def work(*args):
    global left
    with lock:
        left -= 1
        if left == 0:
            done.set()
dramatiq.actor(work, broker=broker, actor_name="peer_work", queue_name="drain")
worker = dramatiq.Worker(broker, worker_threads=8, worker_timeout=50)
print("ready", flush=True)
sys.stdin.readline()
worker.start()
done.wait()
print("done", flush=True)
worker.stop()
"""


def bench_drain_dramatiq(services: Services, count: int) -> dict[str, float]:
    """Bare Dramatiq: one process of 8 threads drains no-op messages."""
    broker = RedisBroker(url=services.redis_url, namespace="peer", middleware=[])
    declare = dramatiq.actor(broker=broker, actor_name="peer_work", queue_name="drain")
    actor = declare(_nothing)
    for number in range(count):
        actor.send(number)
    return {
        "dramatiq_drain_per_s": _timed_peer([services.redis_url, str(count)], PEER_WORKER, count)
    }


PROCRASTINATE_WORKER = """
import asyncio, sys, procrastinate
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=sys.argv[1], max_size=12))
left = int(sys.argv[2])
@app.task(name="peer", queue="peer")
async def peer(number):
    global left
    left -= 1
    if left == 0:
        print("done", flush=True)
async def main():
    async with app.open_async():
        if sys.argv[3] == "fill":
            await app.schema_manager.apply_schema_async()
            for start in range(0, left, 500):
                rows = [{"number": n} for n in range(start, min(left, start + 500))]
                await peer.batch_defer_async(*rows)
            return
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await app.run_worker_async(
            queues=["peer"], concurrency=8, wait=False, install_signal_handlers=False)
asyncio.run(main())
"""


def bench_drain_procrastinate(services: Services, count: int) -> dict[str, float]:
    """Procrastinate: one process, concurrency 8, drains no-op jobs from PostgreSQL."""
    with psycopg.connect(services.admin_url, autocommit=True) as conn:
        conn.execute("drop database if exists procrastinate")
        conn.execute("create database procrastinate")
    url = psycopg.conninfo.make_conninfo(services.admin_url, dbname="procrastinate")
    arguments = [url, str(count)]
    subprocess.run([sys.executable, "-c", PROCRASTINATE_WORKER, *arguments, "fill"], check=True)
    rate = _timed_peer([*arguments, "work"], PROCRASTINATE_WORKER, count)
    with psycopg.connect(services.admin_url, autocommit=True) as conn:
        conn.execute("drop database procrastinate with (force)")
    return {"procrastinate_drain_per_s": rate}


def _timed_peer(arguments: list[str], program: str, count: int) -> float:
    peer = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert peer.stdin is not None
    assert peer.stdout is not None
    try:
        _expect(peer, "ready")
        started = time.perf_counter()
        peer.stdin.write("go\n")
        peer.stdin.flush()
        _expect(peer, "done")
        return count / (time.perf_counter() - started)
    finally:
        peer.kill()
        peer.wait()


def _expect(peer: subprocess.Popen[str], word: str) -> None:
    assert peer.stdout is not None
    for line in peer.stdout:
        if line.strip() == word:
            return
    raise RuntimeError(f"the peer ended before it said {word!r}")


def bench_cold(services: Services, rounds: int) -> dict[str, float]:
    """Accept to receipt of a no-op, the system idle in between, in milliseconds."""
    worker = services.spawn(
        "worker", ["-m", "jobs.worker", "--queues", "interactive,memory", "--threads", "8"]
    )
    scope, took = Scope(SPACE), []
    try:
        worker.wait_for_output("worker.started")
        idle = threading.Event()
        for _ in range(rounds + 3):
            idle.wait(0.4)
            started = time.perf_counter()
            with database().transaction(scope) as tx:
                job = ledger.accept(tx, anonymous(SPACE), "noop", {}).job
            dispatch.announce([job])
            ended = watch.wait_for(scope, job.id, 10.0)
            took.append((time.perf_counter() - started) * 1000)
            if ended is None or ended.state != "succeeded":
                raise RuntimeError("the no-op did not succeed")
    finally:
        worker.close()
    took = took[3:]
    return {"cold_p50_ms": percentile(took, 0.5), "cold_p95_ms": percentile(took, 0.95)}


def main() -> None:
    """Run all parts and print the figures; the last line is one JSON object."""
    parser = argparse.ArgumentParser(prog="deploy/bench ledger", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--json", action="store_true", help="only the last line")
    options = parser.parse_args()
    scale = 1 if options.quick else 10
    figures: dict[str, float] = {}
    with started_services() as services:
        with database().transaction(Scope(SPACE)) as tx:
            spaces.create(tx, Scope(SPACE), owner="bench")
        for part in (
            lambda: bench_cold(services, 8 * scale),
            lambda: bench_send(services, 125 * scale),
            lambda: bench_accept(services, 100 * scale),
            lambda: bench_drain_dramatiq(services, 1000 * scale),
            lambda: bench_drain(services, 1000 * scale),
            lambda: bench_drain_procrastinate(services, 300 * scale),
        ):
            figures |= part()
            if not options.json:
                print(figures, file=sys.stderr, flush=True)
    figures["accept_to_send_ratio"] = figures["accept_per_s"] / figures["dramatiq_send_per_s"]
    figures["drain_to_dramatiq_ratio"] = figures["drain_per_s"] / figures["dramatiq_drain_per_s"]
    figures["drain_to_procrastinate_ratio"] = (
        figures["drain_per_s"] / figures["procrastinate_drain_per_s"]
    )
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
