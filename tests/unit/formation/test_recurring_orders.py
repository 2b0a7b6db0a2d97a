"""Orders that recur bind the assistant; habits of people do not."""

from __future__ import annotations

import pytest

from tests.unit.formation.spoken import formed


@pytest.mark.parametrize(
    "text",
    [
        "Every Monday morning, send me a list of the open invoices.",
        "Send me a list of the open invoices every Monday.",
        "Each Friday, summarise my week.",
        "Every day at 8, give me the weather.",
        "On Mondays, send me the agenda.",
        "Once a week, remind me to water the plants.",
        "Remind me every Sunday to water the plants.",
        "At the end of each month, email me a report of my spending.",
        "Could you send me a digest every Friday?",
        "I want you to send me the headlines every morning.",
        "Before every meeting, send me the agenda.",
    ],
)
def test_a_recurring_order_is_a_rule(text: str) -> None:
    assert formed(text) == {f"rule: {text}"}


@pytest.mark.parametrize(
    "text",
    [
        "每周一早上把未付发票的清单发给我",
        "每周一发给我未付发票清单",
        "每天晚上问我今天过得怎么样",
        "每周三提醒我倒垃圾",
        "请每周五总结一下我的工作",
        "每个月底给我一份支出报告",
    ],
)
def test_a_recurring_order_in_chinese_is_a_rule(text: str) -> None:
    assert formed(text + "。") == {f"rule: {text}"}


@pytest.mark.parametrize(
    "text",
    [
        "I send a list to my boss every Monday.",
        "Every Monday my boss sends me a list.",
        "Every Monday morning, I go jogging.",
        "Every day is a gift.",
        "Every day, give thanks.",
        "Every evening, tell your kids you love them.",
        "Every Monday morning the alarm wakes me.",
        "Do you send me a list every Monday?",
        "Send me the list on Monday.",
        "Each of you, send me a list.",
        "Always up at six, never use an alarm.",
        "Never use a hairdryer myself.",
        "Always pay in cash, I do.",
        "Always use a pencil, that's how I draw.",
        "Every Sunday, call my mum, that's my ritual.",
        "每周一老板给我发清单。",
        "每周日我都给我妈发消息。",
        "每周一早上我去跑步。",
        "每天都给花浇水。",
        "我每天早上喝咖啡。",
        "每次出差都带电脑。",
        "以后我只用公制单位。",
    ],
)
def test_habits_and_single_orders_are_none(text: str) -> None:
    assert formed(text) == set()


def test_among_people_an_order_binds_no_assistant() -> None:
    assert formed("Bob: Send me a list every Monday.", "Ann: I can do that.") == set()


def test_a_rule_is_taken_back_at_once() -> None:
    assert formed("Every Monday, send me the figures.", "Forget that.") == set()
    assert (
        formed(
            "Every Monday, send me a list of the open invoices.",
            "Stop sending me the invoices list.",
        )
        == set()
    )
