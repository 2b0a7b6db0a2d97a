"""Filling a JSON document up to a number of tokens, exactly (contract memory-interface 10.1).

A document is a frame with lists in it, its slots. Required entries are always there; candidates
come by rank, and what is left out is told to the frame, which marks it. Counted is the whole:
compact JSON, nothing escaped that need not be, as ordinary text of o200k_base.

Counts add up. The encoding first cuts text into pieces by a pattern, in which no piece goes on from
a letter or digit to a bracket, comma or quote, and none looks back. An entry begins `{"` and a
letter, and ends with a letter or digit and `}`; so what lies between two entries, `},{"`, is always
one piece of its own, and every entry costs the same wherever it stands.

Which candidates are taken does not depend on luck: they stand in one order that no limit changes,
and the longest beginning of it that fits is taken. So all that is in under a limit is in under
every larger one. The order is that of rank, save that a candidate larger than all that stands
before it waits until it is not: one long text does not keep out everything else.
"""

from __future__ import annotations

import heapq
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.ports.tokens import count
from storage.errors import Fatal
from storage.kip.errors import ResultLimitExceeded

#: Tokens up to which a candidate never waits.
_SMALL = 256
#: What stands before an entry: the first one, and any other.
_FIRST, _BETWEEN = '":[{"', '},{"'
_ENTRY = re.compile(r'\{"[A-Za-z].*[A-Za-z0-9]\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Required:
    """An entry that is always there. `slot` is a member of the document, or `member.member`."""

    slot: str
    entry: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may be left out; `channel` is what its absence counts against.

    `entry` goes into the list `slot`; its last member is a number, true, false or null. Without one
    the frame itself says `text` when it is among the kept (a summary, say). `waits` is False for
    what must come in the order of rank, however large.
    """

    channel: str
    slot: str = ""
    entry: Mapping[str, Any] | None = None
    text: str = ""
    waits: bool = True


@dataclass(frozen=True, slots=True)
class Choice:
    """Which candidates are in, by their place in rank, and how many of each channel are not."""

    kept: frozenset[int]
    omitted: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Packed:
    """A document that keeps to its limit: `text` is its compact JSON, of `tokens` tokens."""

    document: dict[str, Any]
    text: str
    tokens: int
    choice: Choice


#: The document for a choice, with a list in every slot; entries are added to those lists.
Frame = Callable[[Choice], Mapping[str, Any]]


def compact(value: Any) -> str:
    """Compact JSON in the order of its members, as it is counted and sent."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def pack(
    frame: Frame,
    slots: Sequence[str],
    required: Sequence[Required],
    candidates: Sequence[Candidate],
    limit: int,
) -> Packed:
    """The fullest document of at most `limit` tokens.

    Each of `slots` is a list of the frame, empty there: it gets the `required` entries, then what
    is kept of `candidates`, which are given best first. Raises `ResultLimitExceeded` with
    `required_tokens` where not even the required fits.
    """
    order: list[int] = []
    # tokens of the required entries, then of one more candidate each
    sums = [sum(_cost(one.entry) for one in required)]
    for place, cost in _in_order(candidates):
        if sums[-1] > limit:
            break
        order.append(place)
        sums.append(sums[-1] + (0 if candidates[place].entry is None else cost))
    every = Counter(candidate.channel for candidate in candidates)
    needed: int | None = None
    for n in range(len(order), -1, -1):
        if n and sums[n] > limit:
            continue
        choice = _choice(candidates, order[:n], every)
        entries = _entries(slots, required, candidates, choice)
        members = frame(choice)
        total = sums[n] + _around(members, entries)
        if total <= limit:
            return _packed(_filled(members, entries), choice, total)
        needed = total if needed is None else min(needed, total)
    raise ResultLimitExceeded(
        "What must be told does not fit the number of tokens asked for.",
        data={"required_tokens": needed, "max_output_tokens": limit},
    )


def _in_order(candidates: Sequence[Candidate]) -> Iterator[tuple[int, int]]:
    """Places and costs of candidates in the order in which they are taken."""
    before = 0
    waiting: list[tuple[int, int]] = []
    for place, candidate in enumerate(candidates):
        cost = count(candidate.text) if candidate.entry is None else _cost(candidate.entry)
        while waiting and waiting[0][0] <= before:
            size, at = heapq.heappop(waiting)
            before += size
            yield at, size
        if candidate.waits and cost > max(before, _SMALL):
            heapq.heappush(waiting, (cost, place))
            continue
        before += cost
        yield place, cost
    while waiting:
        size, at = heapq.heappop(waiting)
        yield at, size


def _choice(candidates: Sequence[Candidate], taken: Sequence[int], every: Counter[str]) -> Choice:
    omitted = every - Counter(candidates[place].channel for place in taken)
    return Choice(frozenset(taken), dict(omitted))


_Entries = Mapping[str, list[Mapping[str, Any]]]


def _entries(
    slots: Sequence[str],
    required: Sequence[Required],
    candidates: Sequence[Candidate],
    choice: Choice,
) -> _Entries:
    found: dict[str, list[Mapping[str, Any]]] = {slot: [] for slot in slots}
    for one in required:
        found[one.slot].append(one.entry)
    for place in sorted(choice.kept):
        entry = candidates[place].entry
        if entry is not None:
            found[candidates[place].slot].append(entry)
    return found


def _cost(entry: Mapping[str, Any]) -> int:
    """What an entry adds wherever it stands, but for what is special about the first."""
    text = compact(entry)
    if _ENTRY.fullmatch(text) is None:
        raise Fatal("An entry begins with a name and ends with a number or a constant.")
    return count(_BETWEEN) + count(text[2:-1])


def _around(members: Mapping[str, Any], entries: _Entries) -> int:
    """Tokens of all but the entries: of each stretch from one filled list to the next."""
    stretches = [""]
    _walk(members, "", entries, stretches)
    first = count(_FIRST) - count(_BETWEEN)
    return sum(map(count, stretches)) + first * (len(stretches) - 1)


def _walk(members: Mapping[str, Any], path: str, entries: _Entries, stretches: list[str]) -> None:
    """Add the text of an object to the last stretch, and begin another after each filled list."""
    inside = {slot.split(".")[0] for slot in entries if "." in slot} if not path else set()
    stretches[-1] += "{"
    for index, (name, value) in enumerate(members.items()):
        stretches[-1] += ("," if index else "") + f'"{name}'
        if entries.get(path + name):
            stretches.append("}]")
        elif name in inside:
            stretches[-1] += '":'
            _walk(value, f"{name}.", entries, stretches)
        else:
            stretches[-1] += f'":{compact(value)}'
    stretches[-1] += "}"


def _filled(members: Mapping[str, Any], entries: _Entries) -> dict[str, Any]:
    document = dict(members)
    for slot, found in entries.items():
        outer, _, inner = slot.partition(".")
        document[outer] = {**document[outer], inner: found} if inner else found
    return document


def _packed(document: dict[str, Any], choice: Choice, total: int) -> Packed:
    text = compact(document)
    if count(text) != total:
        raise Fatal("The tokens of a document do not add up to those of its parts.")
    return Packed(document, text, total, choice)
