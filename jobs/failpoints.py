"""Named places at which a test may stop, kill or break a worker.

`BRAINSTEM_FAILPOINTS` holds comma-separated `name[/kind]=action`, where an action is

- `kill`: SIGKILL to this very process;
- `exit`: `os._exit(1)`, as a crashing native library would;
- `stop`: SIGSTOP to this process (the test sends SIGCONT);
- `error`: a transient error; `fatal`: a permanent one;
- `hold:PATH`: write PATH, then wait until it is removed.

A trailing `*N` limits the action to its first N times in this process. Without the variable a
failpoint costs one dictionary look-up.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from storage.errors import Fatal, Unavailable

NAMES = (
    "after_claim",
    "before_commit",
    "inside_commit",
    "after_commit_before_ack",
    "after_batch",
    "before_tick_commit",
)


@dataclass
class _Failpoint:
    action: str
    left: int


_lock = threading.Lock()


def _parse(text: str) -> dict[str, _Failpoint]:
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, action = part.partition("=")
        if name.split("/")[0] not in NAMES or not action:
            raise ValueError(f"unknown failpoint {part!r}; known: {', '.join(NAMES)}")
        action, _, times = action.partition("*")
        found[name] = _Failpoint(action, int(times or 2**31))
    return found


_failpoints = _parse(os.environ.get("BRAINSTEM_FAILPOINTS", ""))


def failpoint(name: str, kind: str) -> None:
    """Do what was asked for this place and kind of job; nothing by default."""
    if not _failpoints:
        return
    point = _failpoints.get(f"{name}/{kind}") or _failpoints.get(name)
    if point is None:
        return
    with _lock:
        if point.left <= 0:
            return
        point.left -= 1
    _act(point.action, name)


def _act(action: str, name: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
    elif action == "exit":
        os._exit(1)
    elif action == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif action == "error":
        raise Unavailable(f"failpoint {name}")
    elif action == "fatal":
        raise Fatal(f"failpoint {name}")
    elif action.startswith("hold:"):
        path = Path(action.removeprefix("hold:"))
        path.touch()
        while path.exists():
            time.sleep(0.01)
    else:
        raise ValueError(f"unknown failpoint action {action!r}")
