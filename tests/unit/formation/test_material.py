"""What is handed over to be translated or polished claims nothing, whatever the languages."""

from __future__ import annotations

import pytest

from pipelines.formation.masking import GONE, awaits_material, readable
from tests.unit.formation.spoken import formed


@pytest.mark.parametrize(
    "text",
    [
        "请翻译成中文: I work for Moonrise Bakery and I will quit next week.",
        "请翻译成中文：I live in Oslo.",
        "请把下面这句翻译成中文：\nI live in Oslo and I'm allergic to nuts.",
        "翻译：I live in Oslo.",
        "帮我翻译 I live in Oslo.",
        "把这句话译成中文。I live in Oslo.",
        "英译中: I live in Oslo.",
        "帮我润色一下：I work for Acme Ltd and I like it.",
        "I live in Oslo 用中文怎么说？",
        "我住在成都，I work for Acme Ltd，请翻译成英文。",
        "Translate to Chinese: 我在上海工作，对花生过敏。",
        "Translate to Chinese：我住在成都。",
        "Please translate this:\n我住在成都。我明天交报告。",
        "Translation please: 我养了一只猫叫咪咪。",
        "How do you say 我住在成都 in English?",
        "用英文怎么说：我住在成都",
    ],
)
def test_text_to_be_translated_claims_nothing(text: str) -> None:
    assert formed(text) == set()


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("I work as a translator and I live in Oslo.", "Ann lives_in Oslo"),
        ("I live in Oslo. Please translate this: I live in Rome.", "Ann lives_in Oslo"),
        ("我做翻译工作，住在成都。", "Ann lives_in 成都"),
        ("我最近在翻译一本小说。我住在成都。", "Ann lives_in 成都"),
        ("我在翻译公司上班，住在成都。", "Ann lives_in 成都"),
        ("我喜欢翻译，住在成都。", "Ann lives_in 成都"),
    ],
)
def test_a_translators_own_facts_count(text: str, item: str) -> None:
    assert item in formed(text)


def test_the_text_may_come_in_the_next_message() -> None:
    assert formed("请翻译成中文:", "I work for Moonrise Bakery.") == set()
    assert formed("Please translate this:", "我住在成都。") == set()
    assert formed(
        "请翻译成中文。", "@Aide: 好的，请发给我。", "I live in Rome.", "I live in Oslo."
    ) == {"Ann lives_in Oslo"}


def test_masking_keeps_the_order_and_the_lines() -> None:
    assert readable("请翻译成中文：\nI live in Oslo.\n\nBye.") == (
        f"请翻译成中文{GONE}\n{GONE}\n\n{GONE}"
    )
    assert awaits_material("请翻译成英文。")
    assert not awaits_material("我在翻译公司上班。")
