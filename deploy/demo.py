"""The main job on a real conversation, over HTTP only: formation, its receipt, three recalls."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from storage.settings import PROJECT_ROOT

SPACE = "demo"
#: A FormationInput, and the questions to ask: of each set of words an answer must hold one.
CONVERSATION = PROJECT_ROOT / "tests" / "data" / "conversation.json"
QUESTIONS = PROJECT_ROOT / "tests" / "data" / "questions.json"
_FOLLOW_SECONDS = 120.0
_POLL_SECONDS = 0.1
_CITATION = re.compile(r"\[(\d+)\]")
_TERMINAL = ("succeeded", "failed", "cancelled")


class DemoFailed(Exception):
    """The server did not do what it promises; the text says what it did instead."""


def run(base_url: str, console: Console) -> bool:
    """Send the conversation, follow its receipt, ask; True when every answer held what it must."""
    with httpx2.Client(base_url=base_url, timeout=60.0, trust_env=False) as client:
        try:
            _make_space(client)
            _form(client, console)
            answered = [_ask(client, console, question) for question in _load(QUESTIONS)]
        except (DemoFailed, httpx2.HTTPError) as error:
            console.print(Text(f"The demonstration failed: {error}", style="bold red"))
            return False
    if all(answered):
        console.print(Text("\nAll answers hold what they must.", style="green"))
        return True
    missed = answered.count(False)
    console.print(Text(f"\n{missed} of {len(answered)} answers are wrong.", style="bold red"))
    return False


def _make_space(client: httpx2.Client) -> None:
    """Make the space, unless an earlier start did."""
    space = {"space_id": SPACE, "user": "demo", "tier": 0}
    response = client.post("/admin/create_space", json=space)
    if response.status_code != 409:
        _result(response)


def _form(client: httpx2.Client, console: Console) -> None:
    conversation = _load(CONVERSATION)
    messages = conversation["messages"]
    speakers = sorted({message["name"] for message in messages})
    console.print(
        f"\nA conversation of {' and '.join(speakers)}, {len(messages)} messages from "
        f"{_day(messages[0]['timestamp'])} to {_day(messages[-1]['timestamp'])}: "
        f"POST /v1/{SPACE}/formation"
    )
    accepted = _result(client.post(f"/v1/{SPACE}/formation", json=conversation))
    job_id, number = accepted["job"], accepted["conversation"]
    console.print(Text(f"  accepted as conversation {number}, job {job_id}"))
    job = _follow(client, console, job_id)
    if job["state"] != "succeeded":
        raise DemoFailed(f"the job ended as {job['state']}: {json.dumps(job.get('error'))}")
    kept = _result(client.get(f"/v1/{SPACE}/conversations/{number}"))
    if kept["status"] != "completed":
        raise DemoFailed(f"the job succeeded, but its conversation is {kept['status']}")


def _follow(client: httpx2.Client, console: Console, job_id: str) -> dict[str, Any]:
    columns = (TextColumn("  {task.description:<10}"), BarColumn(), TimeElapsedColumn())
    deadline = time.monotonic() + _FOLLOW_SECONDS
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("accepted", total=1.0)
        while True:
            job = _result(client.get(f"/v1/{SPACE}/jobs/{job_id}"))
            done = 1.0 if job["state"] in _TERMINAL else _share(job)
            progress.update(bar, description=job["state"], completed=done)
            if job["state"] in _TERMINAL:
                return job
            if time.monotonic() > deadline:
                raise DemoFailed(f"the job is still {job['state']} after {_FOLLOW_SECONDS:g} s")
            time.sleep(_POLL_SECONDS)


def _share(job: dict[str, Any]) -> float:
    """How much of a running job is done, 0 to 1."""
    steps = job["progress"].get("steps") or {}
    return min(1.0, steps["done"] / steps["total"]) if steps.get("total") else 0.0


def _ask(client: httpx2.Client, console: Console, question: dict[str, Any]) -> bool:
    began = time.perf_counter()
    answer = _result(client.post(f"/v1/{SPACE}/recall", json={"query": question["query"]}))
    took = (time.perf_counter() - began) * 1000
    console.print()
    console.print(Text(f"{question['query']}", style="bold"), Text(f"({took:.0f} ms)", style="dim"))
    console.print(Text(f"  {answer['content']}".replace("\n", "\n  ")))
    sources = _cited(answer)
    for number, source in sources.items():
        at = _day(source["at"]) if source.get("at") else "no date"
        said = f"{source.get('speaker') or 'unknown'}, {at}: {source['text']}"
        console.print(Text(f"    [{number}] {source['ref']}, {said}", style="dim"))
    content = answer["content"]
    missing = [words for words in question["expect"] if not any(w in content for w in words)]
    for words in missing:
        console.print(Text(f"    this answer lacks: {' or '.join(words)}", style="red"))
    if not sources:
        console.print(Text("    this answer cites nothing", style="red"))
    return bool(sources) and not missing


def _cited(answer: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The sources that the answer names as `[1]`, in the order in which it names them."""
    sources = answer["sources"]
    numbers = [int(number) for number in _CITATION.findall(answer["content"])]
    return {number: sources[number - 1] for number in numbers if 0 < number <= len(sources)}


def _result(response: httpx2.Response) -> Any:
    """The `result` of an RpcResponse; raises `DemoFailed` for any other answer."""
    if response.status_code != 200:
        path, said = response.request.url.path, response.text[:500]
        raise DemoFailed(f"{path} answered {response.status_code}: {said}")
    return response.json()["result"]


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _day(at: int | str) -> str:
    if isinstance(at, int):
        return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d}"
    return at[:10]
