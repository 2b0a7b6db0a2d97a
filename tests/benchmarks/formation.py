"""Built-in formation: messages per second of one core, the whole way into the store.

    ./deploy/bench formation [--quick] [--json]

Conversations of the shipped one's length are formed one after the other in one space, each with
words and times of its own. The figure counts all processor time, ours and PostgreSQL's, so that
it does not depend on what else the machine does; the peer is the encoder alone in the same run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from pipelines.formation.alone import form
from pipelines.formation.builtin import BuiltinEncoder
from pipelines.formation.capture import capture, conversation_of
from pipelines.formation.proposal import Background
from storage import conversations, spaces
from storage.clock import now
from storage.conversations import Conversation
from storage.database import Scope, database
from tests.services import ROOT, Services, started_services

SHIPPED = ROOT / "tests" / "data" / "conversation.json"


def talks(count: int) -> list[list[dict[str, Any]]]:
    """`count` conversations: the shipped one, its names and times shifted for each."""
    shipped = json.loads(SHIPPED.read_text(encoding="utf-8"))["messages"]
    return [
        [
            {
                **message,
                "name": f"{message['name']}{number % 20}",
                "timestamp": message["timestamp"] + number * 3_600_000,
            }
            for message in shipped
        ]
        for number in range(count)
    ]


def postgres_seconds(services: Services) -> float:
    """Processor time of the server and all its children so far."""
    assert services.postgres.process is not None
    group = services.postgres.process.pid
    total = 0.0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group or int(fields[3]) == group:
            total += sum(int(part) for part in fields[11:15])
    return total / 100.0


def encoder_alone(all_talks: list[list[dict[str, Any]]]) -> float:
    """Messages per processor second of the encoder without any store."""
    encoder, at = BuiltinEncoder(), now()
    records = [
        Conversation(
            1, "formation", None, "x", None, None, talk, [], [], {}, "", None, None, at, at
        )
        for talk in all_talks
    ]
    started = time.process_time()
    for record in records:
        encoder.encode(conversation_of(capture(record), {}), Background())
    return sum(map(len, all_talks)) / (time.process_time() - started)


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    parser = argparse.ArgumentParser(prog="deploy/bench formation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the work")
    parser.add_argument("--json", action="store_true", help="only the last line")
    options = parser.parse_args()
    all_talks = talks(20 if options.quick else 100)
    scope, encoder = Scope("bench"), BuiltinEncoder()
    with started_services() as services:
        with database().transaction(scope) as tx:
            spaces.create(tx, scope, owner="bench")
        form(database(), scope, all_talks[0], encoder)
        before = time.process_time() + postgres_seconds(services)
        started = time.perf_counter()
        for done, talk in enumerate(all_talks[1:], start=1):
            form(database(), scope, talk, encoder)
            if not options.json and done % 10 == 0:
                print(f"{done} of {len(all_talks) - 1} conversations", file=sys.stderr)
        wall = time.perf_counter() - started
        spent = time.process_time() + postgres_seconds(services) - before
        with database().transaction(scope) as tx:
            held = spaces.counts(tx, scope)
            assert conversations.list_page(tx, scope, "formation", before_id=None, limit=1)
    messages = sum(map(len, all_talks[1:]))
    figures = {
        "messages": messages,
        "messages_per_core_s": round(messages / spent, 1),
        "messages_per_wall_s": round(messages / wall, 1),
        "encoder_alone_per_core_s": round(encoder_alone(all_talks), 1),
        "concepts": held.concepts,
        "propositions": held.propositions,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
