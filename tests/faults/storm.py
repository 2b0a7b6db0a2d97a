"""The fault storm: real clients against real processes while everything is being killed.

Method, after Jepsen: clients record what they asked and what they were told (ok, refused, or
unknown when the answer was lost); a nemesis, seeded, breaks one thing after another; then all is
healed, and the whole history is checked against the database. Run by itself it prints progress on
standard error and one JSON object as its last line:

    python -m tests.faults.storm --seed 7 --seconds 60 --json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx2
import psycopg

from jobs.broker import LedgerBroker, message_of
from storage.jobs import get_any
from tests.faults.conftest import FAST
from tests.faults.storm_memory import MemoryClient
from tests.services import ROOT, Process, Services, free_port, started_services, wait_for

SPACES = ("storm_a", "storm_b", "storm_c", "storm_d")
CLIENTS = 3
MEMORY_CLIENTS = 2
#: Kinds of jobs that the clients ask for.
KINDS = ["formation", "forget", "maintenance"]
#: After the storm everything that was accepted must end within this time, in seconds.
HEAL_SECONDS = 180.0
_WORKERS = 3
_SCHEDULERS = 2


@dataclass
class Asked:
    """One request of a client and what is known of its outcome."""

    space: str
    key: str
    canary: str
    body: dict[str, Any]
    job: str | None = None
    cancelled: bool = False
    receipts: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Verdict:
    """What the storm found: how much it was, and four counts that must be zero.

    `unknown` requests had no answer and were settled by asking again with their key.
    """

    jobs: int = 0
    kills: int = 0
    lost: int = 0
    doubled: int = 0
    stuck: int = 0
    false_receipts: int = 0
    unknown: int = 0
    observed: int = 0
    forgotten: int = 0
    maintained: int = 0
    notes: list[str] = field(default_factory=list)

    def line(self) -> str:
        """The last line of the command."""
        told = asdict(self)
        told["notes"] = told["notes"][:20]
        return json.dumps(told)

    @property
    def clean(self) -> bool:
        """Whether every promise was kept."""
        return not (self.lost or self.doubled or self.stuck or self.false_receipts)


class Fleet:
    """The processes under fire."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.port = free_port()
        self.lock = threading.Lock()
        self.workers = [self._worker() for _ in range(_WORKERS)]
        self.schedulers = [self._scheduler() for _ in range(_SCHEDULERS)]
        self.api = self._api()
        self.kills = 0

    @property
    def url(self) -> str:
        """Where the API listens."""
        return f"http://127.0.0.1:{self.port}"

    def _worker(self) -> Process:
        arguments = ["-m", "jobs.worker", "--queues", "interactive,memory,knowledge"]
        env = {**FAST, "BRAINSTEM_EMBEDDER": "none"}
        return self.services.spawn("worker", [*arguments, "--threads", "4"], env=env)

    def _scheduler(self) -> Process:
        return self.services.spawn("scheduler", ["-m", "jobs.scheduler"], env=FAST)

    def _api(self) -> Process:
        env = {**FAST, "BRAINSTEM_PORT": str(self.port), "BRAINSTEM_API_PROCESSES": "1"}
        env["BRAINSTEM_EMBEDDER"] = "none"
        config = str(ROOT / "deploy" / "gunicorn_conf.py")
        arguments = ["-m", "gunicorn", "-c", config, "api.app:create_app()"]
        return self.services.spawn("api", arguments, env=env)

    def kill_worker(self, index: int) -> None:
        """kill -9 one worker and start another."""
        self.workers[index].close()
        self.workers[index] = self._worker()
        self.kills += 1

    def kill_scheduler(self, index: int) -> None:
        """kill -9 one scheduler and start another."""
        self.schedulers[index].close()
        self.schedulers[index] = self._scheduler()
        self.kills += 1

    def kill_api(self) -> None:
        """kill -9 the API with all its processes and start it again."""
        self.api.close()
        self.api = self._api()
        self.kills += 1

    def mend(self) -> None:
        """Everything runs again."""
        self.services.mend()
        for process in (*self.workers, *self.schedulers, self.api):
            process.cont()
        for index, process in enumerate(self.workers):
            if not process.alive:
                self.workers[index] = self._worker()
        for index, process in enumerate(self.schedulers):
            if not process.alive:
                self.schedulers[index] = self._scheduler()
        if not self.api.alive:
            self.api = self._api()

    def close(self) -> None:
        """Nothing runs any more."""
        for process in (*self.workers, *self.schedulers, self.api):
            process.close()


class Storm:
    """One run."""

    def __init__(self, services: Services, seed: int, seconds: float) -> None:
        self.services, self.seconds = services, seconds
        self.rng = random.Random(seed)
        self.fleet = Fleet(services)
        self.asked: list[Asked] = []
        self.memory: list[MemoryClient] = []
        self.verdict = Verdict()
        self._stop = threading.Event()

    def run(self, say: Callable[[str], None]) -> Verdict:
        """Let the storm rage, heal, and check."""
        try:
            self._make_spaces()
            clients = [
                threading.Thread(target=self._client, args=(random.Random(self.rng.random()), n))
                for n in range(CLIENTS)
            ]
            for n in range(MEMORY_CLIENTS):
                self.memory.append(MemoryClient(self.fleet.url, SPACES, n, self.rng.random()))
                clients.append(threading.Thread(target=self.memory[-1].run, args=(self._stop,)))
            for client in clients:
                client.start()
            self._rage(say)
            self._stop.set()
            for client in clients:
                client.join()
            self.fleet.mend()
            say(f"healed; waiting for {len(self.asked)} requests to end")
            self._settle()
            self._check()
        finally:
            self._stop.set()
            self.fleet.close()
        self.verdict.kills = self.fleet.kills
        return self.verdict

    def _make_spaces(self) -> None:
        with httpx2.Client(base_url=self.fleet.url, timeout=10) as http:
            wait_for(lambda: self._up(http), seconds=60, what="the API")
            for space in SPACES:
                body = {"user": "storm", "space_id": space, "tier": 0}
                http.post("/admin/create_space", json=body).raise_for_status()

    @staticmethod
    def _up(http: httpx2.Client) -> bool:
        with contextlib.suppress(httpx2.HTTPError):
            return http.get("/readyz").status_code == 200
        return False

    # clients

    def _client(self, rng: random.Random, number: int) -> None:
        with httpx2.Client(base_url=self.fleet.url, timeout=5) as http:
            turn = 0
            while not self._stop.is_set():
                turn += 1
                space = rng.choice(SPACES)
                canary = f"locker {number:02d}x{turn:05d}"
                asked = Asked(
                    space=space,
                    key=f"{number}-{turn}",
                    canary=canary,
                    body={
                        "messages": [
                            {
                                "role": "user",
                                "name": f"Worker{number}",
                                "content": f"The spare keys are in {canary}. I live in Tartu.",
                                "timestamp": 1_790_000_000_000 + turn,
                            }
                        ]
                    },
                )
                self.asked.append(asked)
                self._ask(http, asked)
                if rng.random() < 0.15:
                    self._ask(http, asked)
                if rng.random() < 0.05 and asked.job:
                    self._cancel(http, asked)
                if rng.random() < 0.3:
                    self._poll(http, rng.choice(self.asked[-50:]))
                self._stop.wait(rng.random() * 0.06)

    def _ask(self, http: httpx2.Client, asked: Asked) -> None:
        try:
            answer = http.post(
                f"/v1/{asked.space}/formation",
                json=asked.body,
                headers={"Idempotency-Key": asked.key},
            )
        except httpx2.HTTPError:
            return
        if answer.status_code == 200:
            job = answer.json()["result"]["job"]
            if asked.job not in (None, job):
                self._note("doubled", f"key {asked.key} stands for {asked.job} and {job}")
            asked.job = job
        elif answer.status_code != 503:
            self._note("false_receipts", f"answer {answer.status_code}: {answer.text[:200]}")

    def _cancel(self, http: httpx2.Client, asked: Asked) -> None:
        asked.cancelled = True
        with contextlib.suppress(httpx2.HTTPError):
            http.post(f"/v1/{asked.space}/jobs/{asked.job}/cancel")

    def _poll(self, http: httpx2.Client, asked: Asked) -> None:
        if asked.job is None:
            return
        try:
            answer = http.get(f"/v1/{asked.space}/jobs/{asked.job}")
        except httpx2.HTTPError:
            return
        if answer.status_code == 200:
            asked.receipts.append(answer.json()["result"])
        elif answer.status_code != 503:
            self._note("lost", f"receipt of {asked.job}: {answer.status_code}")

    # the nemesis

    def _rage(self, say: Callable[[str], None]) -> None:
        nemeses: list[tuple[str, Callable[[], None]]] = [
            ("kill worker", lambda: self.fleet.kill_worker(self.rng.randrange(_WORKERS))),
            ("kill worker", lambda: self.fleet.kill_worker(self.rng.randrange(_WORKERS))),
            ("kill scheduler", lambda: self.fleet.kill_scheduler(self.rng.randrange(_SCHEDULERS))),
            ("kill api", self.fleet.kill_api),
            ("freeze worker", self._freeze_worker),
            ("flush redis", self._flush),
            ("kill redis", self._kill_redis),
            ("restart postgres", lambda: self.services.restart_postgres("immediate")),
            ("duplicate deliveries", self._duplicate),
        ]
        end = time.monotonic() + self.seconds
        order: list[int] = []
        while time.monotonic() < end:
            if not order:
                order = list(range(len(nemeses)))
                self.rng.shuffle(order)
            name, strike = nemeses[order.pop()]
            say(f"{max(0, end - time.monotonic()):5.1f} s left, {len(self.asked)} asked: {name}")
            strike()
            self._stop.wait(0.5 + self.rng.random() * 2.0)

    def _freeze_worker(self) -> None:
        process = self.fleet.workers[self.rng.randrange(_WORKERS)]
        process.stop()
        self._stop.wait(float(FAST["BRAINSTEM_LEASE_SECONDS"]) * 2)
        process.cont()
        self.fleet.kills += 1

    def _flush(self) -> None:
        with self.services.redis() as client:
            client.flushall()
        self.fleet.kills += 1

    def _kill_redis(self) -> None:
        self.services.kill_redis(forget=self.rng.random() < 0.5)
        self._stop.wait(self.rng.random())
        self.services.start_redis()
        self.fleet.kills += 1

    def _duplicate(self) -> None:
        recent = [asked.job for asked in self.asked[-30:] if asked.job]
        with psycopg.connect(self.services.admin_url) as conn:
            jobs = [job for job_id in recent if (job := get_any(conn, job_id))]
        broker = LedgerBroker()
        for job in jobs * 3:
            if job.dispatched_at is not None:
                broker.enqueue(message_of(job.kind, job.queue, [job]))

    # the reckoning

    def _settle(self) -> None:
        """Ask again what had no answer, then wait until every job has ended."""
        with httpx2.Client(base_url=self.fleet.url, timeout=10) as http:
            wait_for(lambda: self._up(http), seconds=60, what="the API")
            for asked in self.asked:
                if asked.job is None:
                    self.verdict.unknown += 1
                    self._ask(http, asked)
            for client in self.memory:
                self.verdict.unknown += client.settle(http)
        deadline = time.monotonic() + HEAL_SECONDS
        while time.monotonic() < deadline:
            with psycopg.connect(self.services.admin_url) as conn:
                row = conn.execute(
                    "select count(*) from job where finished_at is null and kind = any(%s)",
                    (KINDS,),
                ).fetchone()
            if row == (0,):
                return
            time.sleep(0.2)

    def _check(self) -> None:
        with psycopg.connect(self.services.admin_url) as conn:
            jobs = {
                row[0]: row[1:]
                for row in conn.execute(
                    "select id, state, receipt_ref, kind, fence, error from job"
                    " where kind = any(%s)",
                    (KINDS,),
                )
            }
            keys = Counter(
                row[0]
                for row in conn.execute(
                    "select space_id || '/' || operation || '/' || idem_key from job"
                    " where idem_key is not null and kind = any(%s)",
                    (KINDS,),
                )
            )
            evidence = Counter(
                (row[0], row[1])
                for row in conn.execute(
                    "select space_id, substring(payload::text from 'locker [0-9]{2}x[0-9]{5}')"
                    " from evidence where payload::text like '%%locker%%'"
                )
            )
            endings = Counter(
                row[0]
                for row in conn.execute(
                    "select job_id from job_event where event in"
                    " ('succeeded', 'failed', 'cancelled', 'poisoned')"
                )
            )
            replayed = self._replay(conn)
            self._check_sequences(conn)
            for client in self.memory:
                for what, text in client.check(conn):
                    self._note(what, text)
        self.verdict.jobs = len(jobs)
        self.verdict.observed = sum(client.observed for client in self.memory)
        self.verdict.forgotten = sum(client.forgotten for client in self.memory)
        for key, count in keys.items():
            if count > 1:
                self._note("doubled", f"{count} jobs for key {key}")
        for asked in self.asked:
            self._check_one(asked, jobs, evidence, endings)
        for job_id, (state, _, kind, _, error) in jobs.items():
            self.verdict.maintained += kind == "maintenance" and state == "succeeded"
            if kind == "maintenance" and state in ("failed", "cancelled"):
                self._note("lost", f"maintenance {job_id} is {state}: {error}")
            if state in ("accepted", "running"):
                self._note("stuck", f"{job_id} is {state}")
            if replayed.get(job_id) != state:
                self._note("false_receipts", f"{job_id}: events say {replayed.get(job_id)}")

    def _check_one(
        self,
        asked: Asked,
        jobs: dict[str, Any],
        evidence: Counter[tuple[str, str]],
        endings: Counter[str],
    ) -> None:
        found = evidence[(asked.space, asked.canary)]
        if found > 1:
            self._note("doubled", f"{asked.canary} is {found} times in memory")
        if asked.job is None or asked.job not in jobs:
            self._note("lost", f"{asked.key}: no job")
            return
        state, receipt_ref, _, _, error = jobs[asked.job]
        if state == "succeeded" and found == 0:
            self._note("false_receipts", f"{asked.job} succeeded, its evidence is not there")
        if state != "succeeded" and found:
            self._note("false_receipts", f"{asked.job} is {state}, its evidence is there")
        if state == "failed" or (state == "cancelled" and not asked.cancelled):
            self._note("lost", f"{asked.job} is {state}: {error}")
        if endings[asked.job] > 1:
            self._note("doubled", f"{asked.job} ended {endings[asked.job]} times")
        for earlier in asked.receipts:
            if earlier["receipt"]["receipt_ref"] != receipt_ref or (
                earlier["progress"]["phase"] != "recorded" and earlier["state"] != state
            ):
                self._note("false_receipts", f"{asked.job} was told {earlier['progress']}")

    @staticmethod
    def _replay(conn: psycopg.Connection[Any]) -> dict[str, str]:
        """The state of each job by its events alone."""
        after = {
            "accepted": "accepted",
            "claimed": "running",
            "retry_scheduled": "accepted",
            "released": "accepted",
            "lease_expired": "accepted",
            "succeeded": "succeeded",
            "failed": "failed",
            "poisoned": "failed",
            "cancelled": "cancelled",
        }
        states: dict[str, str] = {}
        for job_id, event in conn.execute("select job_id, event from job_event order by id"):
            if event in after:
                states[job_id] = after[event]
        return states

    def _check_sequences(self, conn: psycopg.Connection[Any]) -> None:
        """Each space's commits are numbered from 1 without a gap."""
        for space_id, commits, last, head in conn.execute(
            "select s.space_id, count(c.space_seq), coalesce(max(c.space_seq), 0), s.head_seq"
            " from space s left join commit_record c using (space_id)"
            " where s.space_id = any(%s) group by s.space_id, s.head_seq",
            (list(SPACES),),
        ):
            if not commits == last == head:
                self._note("lost", f"{space_id}: {commits} commits, last {last}, head {head}")

    def _note(self, what: str, text: str) -> None:
        setattr(self.verdict, what, getattr(self.verdict, what) + 1)
        self.verdict.notes.append(f"{what}: {text}")


def run_storm(seed: int, seconds: float, say: Callable[[str], None]) -> Verdict:
    """One storm on services of its own."""
    with started_services() as services:
        return Storm(services, seed, seconds).run(say)


def main() -> None:
    """The command `deploy/storm`."""
    parser = argparse.ArgumentParser(prog="deploy/storm", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", action="store_true", help="only the last line")
    options = parser.parse_args()

    def say(text: str) -> None:
        if not options.json:
            print(text, file=sys.stderr, flush=True)

    verdict = run_storm(options.seed, options.seconds, say)
    print(verdict.line(), flush=True)
    sys.exit(0 if verdict.clean else 1)


if __name__ == "__main__":
    main()
