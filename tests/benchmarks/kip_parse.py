"""How many commands a second one core reads: tokens, trees, and checked trees.

    python -m tests.benchmarks.kip_parse [--json] [--seconds S]

The commands are those of the parser cases beside this checkout, else the valid commands of the
unit tests.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

from storage.kip.language.command import parse, read
from storage.kip.language.lexer import lex
from storage.kip.language.source import Source
from tests.unit.kip.commands import VALID

CASES = Path(__file__).resolve().parents[3] / "shared" / "kip" / "parse-cases.jsonl"


def commands() -> list[str]:
    """The texts that are read."""
    if not CASES.exists():
        return list(VALID)
    cases = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    return [case["text"] for case in cases if case["expect"] == "accept"]


def rate(work: Callable[[str], object], texts: list[str], seconds: float) -> float:
    """Commands a second of processor time."""
    done, begun = 0, time.process_time()
    while (spent := time.process_time() - begun) < seconds:
        for text in texts:
            work(text)
        done += len(texts)
    return done / spent


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    texts = commands()
    stages: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("lex", lambda text: lex(Source(text))),
        ("parse", parse),
        ("read", read),
    )
    rates = {name: round(rate(work, texts, options.seconds)) for name, work in stages}
    mean = round(sum(map(len, texts)) / len(texts))
    if options.json:
        print(json.dumps({"commands": len(texts), "mean_characters": mean, "per_second": rates}))
        return
    print(f"{len(texts)} commands of {mean} characters on average, commands/s of one core:")
    for name, found in rates.items():
        print(f"  {name:<6} {found:>8,}")


if __name__ == "__main__":
    main()
