"""Reciprocal rank fusion."""

from __future__ import annotations

from datetime import UTC, datetime

from storage.search.bm25 import Hit
from storage.search.fusion import Weights, fuse


def hit(id: int, day: int = 1) -> Hit:
    return Hit(id, f"E-{id}", 1.0, f"text {id}", datetime(2026, 1, day, tzinfo=UTC))


def test_what_both_lanes_find_goes_first() -> None:
    fused = fuse([hit(1), hit(2)], [hit(3), hit(2)], Weights(), 10)
    assert fused[0].document_id == 2
    assert {h.document_id for h in fused} == {1, 2, 3}


def test_the_newer_of_equals_goes_first() -> None:
    fused = fuse([hit(1, day=1)], [hit(2, day=9)], Weights(), 10)
    assert [h.document_id for h in fused] == [2, 1]


def test_recency_never_beats_a_better_rank() -> None:
    lexical = [hit(1, day=1), *(hit(i, day=i) for i in range(2, 20))]
    assert fuse(lexical, [], Weights(), 10)[0].document_id == 1


def test_one_lane_alone_keeps_its_order_and_the_limit_holds() -> None:
    lexical = [hit(i) for i in range(50)]
    assert [h.document_id for h in fuse(lexical, [], Weights(recency=0), 5)] == [0, 1, 2, 3, 4]


def test_what_answering_claims_cite_is_lifted() -> None:
    lexical = [hit(i) for i in range(1, 30)]
    assert fuse(lexical, [], Weights(), 5, cited=[hit(25)])[0].document_id == 25
    assert fuse(lexical, [], Weights(claims=0), 5, cited=[hit(25)])[0].document_id == 1
    assert fuse([], [], Weights(), 5, cited=[hit(7)])[0].document_id == 7


def test_weights_are_the_spaces_own_and_nonsense_is_the_default() -> None:
    given = {"recall": {"weights": {"vector": 3, "lexical": "much", "recency": True}}}
    assert Weights.of(given) == Weights(vector=3.0)
    assert Weights.of({"recall": {"weights": {"lexical": float("nan")}}}) == Weights()
    assert Weights.of({"recall": None}) == Weights()
    lanes = ([hit(1)], [hit(2)])
    assert fuse(*lanes, Weights(vector=3.0), 1)[0].document_id == 2
    assert fuse(*lanes, Weights(lexical=3.0), 1)[0].document_id == 1
