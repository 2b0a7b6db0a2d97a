"""What is put right by denying the old and saying the new, and employers that change."""

from datetime import UTC, datetime

import pytest

from pipelines.formation.builtin import BuiltinEncoder
from pipelines.formation.proposal import (
    Background,
    Claim,
    Conversation,
    KnownClaim,
    Proposal,
    Utterance,
)
from tests.unit.formation.chinese_talk import NOON, encoded, told

CORRECTIONS = [
    ("我对花生过敏。", "纠正一下，我不是对花生过敏，是对虾过敏", "allergic_to", "花生", "虾"),
    ("我对花生过敏。", "我不是对花生过敏，而是对虾过敏。", "allergic_to", "花生", "虾"),
    ("我对花生过敏。", "我不是对花生过敏而是对虾过敏。", "allergic_to", "花生", "虾"),
    ("我对花生过敏。", "说错了，我不对花生过敏，对虾过敏。", "allergic_to", "花生", "虾"),
    ("我对花生过敏。", "更正：我对虾过敏，不是花生", "allergic_to", "花生", "虾"),
    ("我在腾讯上班。", "说错了，我不是在腾讯上班，是在字节", "works_for", "腾讯", "字节"),
    ("我在腾讯上班。", "我不是在腾讯工作，我是在字节工作。", "works_for", "腾讯", "字节"),
    ("我在腾讯上班。", "说错了，我不在腾讯上班，在字节上班。", "works_for", "腾讯", "字节"),
    ("我住在杭州。", "不对，我不住杭州，住苏州", "lives_in", "杭州", "苏州"),
    ("我住在杭州。", "说错了，我不是住在杭州，是住在苏州。", "lives_in", "杭州", "苏州"),
    ("我来自长沙。", "更正，我不是长沙人，是株洲人。", "comes_from", "长沙", "株洲"),
    ("我会说法语。", "说错了，我不会说法语，会说德语。", "speaks", "fr", "de"),
]


def _with_known(text: str, predicate: str, value: str) -> Proposal:
    at = datetime(2026, 10, 1, tzinfo=UTC)
    held = KnownClaim("a1", "顾南", predicate, value, "Thing", "support", "顾南", at)
    said = Conversation((Utterance("user", "顾南", text, NOON),))
    return BuiltinEncoder().encode(said, Background(claims=(held,)))


@pytest.mark.parametrize(("first", "second", "predicate", "old", "new"), CORRECTIONS)
def test_denying_the_old_and_saying_the_new_corrects(
    first: str, second: str, predicate: str, old: str, new: str
) -> None:
    assert told(first, second) == [f"顾南 {predicate} {new}"]
    claims = encoded(first, second).claims
    assert [(c.object, c.change) for c in claims] == [(old, None), (new, "correction")]
    assert claims[1].revises is not None
    assert claims[1].revises.index == 0


@pytest.mark.parametrize(("first", "second", "predicate", "old", "new"), CORRECTIONS)
def test_a_claim_of_an_earlier_conversation_is_corrected_too(
    first: str, second: str, predicate: str, old: str, new: str
) -> None:
    (claim,) = _with_known(second, predicate, old).claims
    assert (claim.predicate, claim.object, claim.change) == (predicate, new, "correction")
    assert claim.revises is not None
    assert claim.revises.known == "a1"


def test_a_denied_value_is_never_taken_for_the_right_one() -> None:
    claims = encoded("我在阿里巴巴工作。", "更正一下，我不是在阿里上班，是在阿里云上班。").claims
    assert [c.object for c in claims] == ["阿里巴巴", "阿里云"]
    assert "虾" not in "".join(told("我对花生过敏。", "说错了，我不是对虾过敏。")).replace(
        "¬虾", ""
    )


def test_a_denial_that_corrects_ends_the_claim_although_the_new_comes_later() -> None:
    assert told("我住在杭州。", "说错了，我不住杭州。我住苏州。") == [
        "顾南 lives_in ¬杭州",
        "顾南 lives_in 苏州",
    ]


def test_a_contrast_corrects_only_its_own_speaker() -> None:
    turns = ["何田|我对花生过敏。", "说错了，我不是对花生过敏，是对虾过敏。"]
    assert "何田 allergic_to 花生" in told(*turns)
    assert "顾南 allergic_to 虾" in told(*turns)


def _changes(*turns: str) -> list[Claim]:
    return [c for c in encoded(*turns).claims if c.message == len(turns) - 1]


@pytest.mark.parametrize(
    "text",
    [
        "我现在在腾讯工作了。",
        "我跳槽到腾讯了。",
        "我去腾讯上班了。",
        "我入职腾讯了。",
        "我换工作了，现在在腾讯。",
    ],
)
def test_a_new_employer_starts_on_the_day_of_the_word_of_change(text: str) -> None:
    (claim,) = _changes("我在阿里巴巴工作。", text)
    assert (claim.object, claim.stance, claim.change) == ("腾讯", "support", "world_change")
    assert claim.valid_from == "2026-12-01"
    assert claim.revises is not None
    assert claim.revises.index == 0


@pytest.mark.parametrize(
    "text",
    [
        "我离开阿里，去了腾讯。",
        "我离开阿里了，加入了腾讯。",
        "我已经离开阿里巴巴，去腾讯了。",
        "我从阿里离职了，现在在腾讯上班。",
        "我不在阿里了，现在在腾讯上班。",
        "我从阿里跳槽到腾讯了。",
    ],
)
def test_leaving_ends_the_old_employer_and_begins_the_new(text: str) -> None:
    left, joined = _changes("我在阿里巴巴工作。", text)
    assert (left.object, left.stance, left.change) == ("阿里巴巴", "reject", "world_change")
    assert (joined.object, joined.stance, joined.change) == ("腾讯", "support", "world_change")
    assert left.valid_from == joined.valid_from == "2026-12-01"
    assert left.revises is not None
    assert left.revises.index == 0


def test_a_date_that_is_said_goes_before_the_day_of_the_message() -> None:
    (claim,) = _changes("我在阿里巴巴工作。", "我上个月跳槽到腾讯了。")
    assert claim.valid_from == "2026-11"


def test_without_an_earlier_employer_no_start_is_made_up() -> None:
    (claim,) = encoded("我现在在腾讯工作。").claims
    assert (claim.valid_from, claim.change) == (None, None)


def test_an_employer_said_again_gets_no_start() -> None:
    (claim,) = encoded("我在腾讯工作。", "我现在在腾讯工作了。").claims
    assert claim.valid_from is None


@pytest.mark.parametrize(
    "text",
    [
        "我离开派对，去了酒吧。",
        "我离开北京，去了上海。",
        "我离开家，去了超市。",
        "我辞职了，去了海边。",
    ],
)
def test_leaving_what_is_no_employer_of_the_speaker_says_nothing_of_work(text: str) -> None:
    assert told("我在阿里巴巴工作。", text) == ["顾南 works_for 阿里巴巴"]
