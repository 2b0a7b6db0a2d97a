"""The one packer: exact counts, required parts, and what stays in under larger limits."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.ports.tokens import count
from pipelines.recall.packing import Candidate, Choice, Packed, Required, compact, pack
from storage.errors import Fatal
from storage.kip.errors import ResultLimitExceeded

_SNIPPETS = [
    "Alice prefers dark mode",
    "她喜欢在晚上工作，不喜欢开会。",
    "👩‍👩‍👧‍👦🏳️‍🌈 emoji",
    "<|endoftext|>",
    "<|endofprompt|>",
    '"quoted" and \\ back \\\\ slashed \\"',
    "def f(x):\n\treturn {'a': [1, 2]}\r\n",
    "it's 'twas we'll they'd",
    '}],"items":[{"ref":',
    "123456789 +07:00 3.14",
    "Ünïcödé ñ \u0301\u0301 عربى हिन्दी ไทย",
    "\u2028\u2029\x00\x1f\x7f",
    "   \t  \n\n  ",
    "/////\r\n//",
    "s 't 're",
    "",
]
_text = st.one_of(
    st.text(max_size=80),
    st.lists(st.sampled_from(_SNIPPETS), max_size=6).map("".join),
)


def _entry(text: str, *, end: Any = False) -> dict[str, Any]:
    return {"ref": "bas-1#2", "text": text, "evidence_refs": ["E-1"], "action_eligible": end}


_SLOTS = ("items",)


def _candidate(channel: str, entry: dict[str, Any]) -> Candidate:
    return Candidate(channel, "items", entry)


def _frame(summary: str = "What is known.") -> Any:
    def frame(choice: Choice) -> dict[str, Any]:
        left = {channel: "incomplete" for channel in choice.omitted}
        return {
            "summary": summary,
            "items": [],
            "coverage": {"complete": not left, "channels": {"evidence": "complete"} | left},
        }

    return frame


@given(
    st.lists(_text, max_size=3),
    st.lists(_text, max_size=8),
    _text,
    st.sampled_from([False, True, None, 7, -3.25]),
)
@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_tokens_of_the_parts_are_those_of_the_whole(
    required: list[str], offered: list[str], summary: str, end: Any
) -> None:
    candidates = [_candidate("evidence", _entry(text, end=end)) for text in offered]
    packed = pack(
        _frame(summary), _SLOTS, [Required("items", _entry(t)) for t in required], candidates, 10**6
    )
    assert packed.tokens == count(packed.text) == count(compact(packed.document))
    assert json.loads(packed.text)["items"] == [
        *map(_entry, required),
        *(_entry(text, end=end) for text in offered),
    ]


@given(st.lists(_text, max_size=10), st.integers(60, 700))
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_limit_is_kept_or_refused_with_what_it_would_take(offered: list[str], limit: int) -> None:
    candidates = [_candidate("evidence", _entry(text)) for text in offered]
    required = [Required("items", _entry("never deploy on Fridays"))]
    refused: dict[str, Any] = {}
    packed: Packed | None
    try:
        packed = pack(_frame(), _SLOTS, required, candidates, limit)
    except ResultLimitExceeded as error:
        packed, refused = None, error.data
    if packed is None:
        needed = refused["required_tokens"]
        assert refused["max_output_tokens"] == limit < needed
        assert pack(_frame(), _SLOTS, required, candidates, needed).tokens == needed
        return
    assert count(packed.text) <= limit
    assert packed.document["items"][0] == required[0].entry
    left = len(offered) - len(packed.choice.kept)
    assert packed.choice.omitted == ({"evidence": left} if left else {})
    state = packed.document["coverage"]["channels"]["evidence"]
    assert state == ("incomplete" if left else "complete")


@given(st.randoms(use_true_random=False), st.integers(0, 40))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_in_under_a_limit_is_in_under_every_larger_one(
    source: random.Random, many: int
) -> None:
    def text() -> str:
        return " ".join(source.choices(_SNIPPETS, k=source.choice([1, 2, 3, 200])))

    candidates = [
        _candidate(source.choice(["evidence", "skills"]), _entry(text())) for _ in range(many)
    ]
    candidates.insert(source.randint(0, many), Candidate("evidence", text="a summary of it " * 9))
    before: frozenset[int] = frozenset()
    for limit in range(256, 4097, 128):
        packed = pack(_frame(), _SLOTS, [], candidates, limit)
        assert count(packed.text) <= limit
        assert before <= packed.choice.kept
        before = packed.choice.kept


@given(st.lists(_text, max_size=5), st.lists(_text, max_size=5))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_document_may_have_several_lists_also_inside(items: list[str], deep: list[str]) -> None:
    def frame(choice: Choice) -> dict[str, Any]:
        return {"a": "}],", "items": [], "details": {"basis": {"n": 1}, "elements": [], "z": 1}}

    candidates = [_candidate("evidence", _entry(text)) for text in items]
    candidates += [Candidate("details", "details.elements", _entry(text)) for text in deep]
    packed = pack(frame, ("items", "details.elements"), [], candidates, 10**6)
    assert packed.tokens == count(packed.text)
    read = json.loads(packed.text)
    assert read["items"] == list(map(_entry, items))
    assert read["details"] == {"basis": {"n": 1}, "elements": list(map(_entry, deep)), "z": 1}


def test_what_does_not_wait_is_taken_in_the_order_of_rank() -> None:
    long = [Candidate("attention", "items", _entry("word " * 400), waits=False) for _ in range(3)]
    short = [_candidate("evidence", _entry("short"))]
    packed = pack(_frame(), _SLOTS, [], [*long, *short], 1000)
    assert packed.choice.kept == {0, 1}


def test_entries_stand_in_the_order_of_rank_whatever_was_taken_first() -> None:
    candidates = [_candidate("evidence", _entry(f"{'long ' * 300}0"))] + [
        _candidate("evidence", _entry(f"short {n}")) for n in range(1, 30)
    ]
    small = pack(_frame(), _SLOTS, [], candidates, 600)
    assert 0 not in small.choice.kept
    assert len(small.choice.kept) > 5
    large = pack(_frame(), _SLOTS, [], candidates, 4096)
    assert [entry["text"][-1] for entry in large.document["items"]][:2] == ["0", "1"]
    assert len(large.document["items"]) == 30


def test_a_part_of_the_frame_is_told_when_it_is_kept() -> None:
    def frame(choice: Choice) -> dict[str, Any]:
        return {"summary": "long " * 50 if 0 in choice.kept else "short", "items": []}

    told = Candidate("evidence", text="long " * 50)
    assert pack(frame, _SLOTS, [], [told], 40).document["summary"] == "short"
    assert pack(frame, _SLOTS, [], [told], 400).document["summary"] == "long " * 50


def test_an_entry_that_cannot_be_counted_apart_is_a_fault_of_the_program() -> None:
    with pytest.raises(Fatal):
        pack(
            _frame(),
            _SLOTS,
            [Required("items", {"ref": "a", "text": "ends with a quote"})],
            [],
            4096,
        )


def test_a_thousand_candidates_are_counted_as_far_as_they_can_matter() -> None:
    texts = [f"Person {n} likes {n * 7} kinds of 茶 and coffee from place {n}" for n in range(1000)]
    candidates = [_candidate("evidence", _entry(text)) for text in texts]
    began = time.perf_counter()
    packed = pack(_frame(), _SLOTS, [], candidates, 4096)
    print(f"1,000 candidates to 4,096 tokens: {(time.perf_counter() - began) * 1000:.1f} ms")
    assert 4096 - 60 < packed.tokens <= 4096
