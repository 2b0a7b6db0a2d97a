"""Chinese names and things in English sentences, and clauses that switch between the two."""

from __future__ import annotations

import pytest

from tests.unit.formation.spoken import formed


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (
            "My younger brother 常乐 is allergic to 花生, and I live in 厦门.",
            {"Ann sibling_of 常乐", "常乐 allergic_to 花生", "Ann lives_in 厦门"},
        ),
        ("My sister 林夏 lives in 成都.", {"Ann sibling_of 林夏", "林夏 lives_in 成都"}),
        ("My friend 小明 likes 火锅.", {"Ann friend_of 小明", "小明 prefers 火锅"}),
        ("My boss is 王伟.", {"Ann reports_to 王伟"}),
        (
            "My wife 李娜 works for 腾讯 as an engineer.",
            {"Ann partner_of 李娜", "李娜 works_for 腾讯", "李娜 works_as engineer"},
        ),
        ("常乐 is my brother.", {"Ann sibling_of 常乐"}),
        ("王伟 lives in 北京.", {"王伟 lives_in 北京"}),
        ("I have a cat called 咪咪.", {"Ann has_pet 咪咪"}),
        ("Everyone calls me 小雨.", {"Ann also_known_as 小雨"}),
        ("厦门 is my home.", {"Ann lives_in 厦门"}),
        ("豆浆 is my favourite drink.", {"Ann prefers 豆浆"}),
        ("我 live in 杭州", {"Ann lives_in 杭州"}),
        ("我 am allergic to 花生。", {"Ann allergic_to 花生"}),
        ("我的 sister 林夏 lives in 成都.", {"Ann sibling_of 林夏", "林夏 lives_in 成都"}),
        ("I'm allergic to peanuts，我老公住在上海。", {"Ann allergic_to peanuts"}),
        (
            "I'm allergic to peanuts，but I love shrimp。",
            {"Ann allergic_to peanuts", "Ann prefers shrimp"},
        ),
        ("以后请 always reply in English。", {"rule: 以后请 always reply in English。"}),
    ],
)
def test_each_name_and_thing_is_found(text: str, items: set[str]) -> None:
    assert formed(text) == items


@pytest.mark.parametrize(
    "text",
    [
        "My colleague 王伟 said he lives in 北京.",
        "Does 王伟 live in 北京?",
        "火锅 is great.",
        "I met 王伟 in 北京。",
        "If 我 live in 杭州, I am happy.",
    ],
)
def test_hearsay_questions_and_things_stay_out(text: str) -> None:
    assert formed(text) == set()


def test_a_thing_in_han_characters_is_no_antecedent() -> None:
    assert formed("I like 豆浆.", "She lives in Oslo.") == {"Ann prefers 豆浆"}
