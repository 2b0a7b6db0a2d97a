import pytest

from tests.unit.formation.chinese_talk import encoded, told


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("我下周二去交水费。", "2026-12-08"),
        ("那我周四之前把场地订好。", "2026-12-03"),
        ("两天后我去体检。", "2026-12-02"),
        ("我1月8日去换驾照。", "2027-01-08"),
        ("我25号去取相机。", "2026-12-25"),
        ("我答应你周末去看奶奶。", "2026-12-06"),
        ("我月底之前把房租付清。", "2026-11-30"),
        ("我打算明年三月搬到昆明。", "2027-03-31"),
        ("周四上午九点有个面试。", "2026-12-03"),
        ("我后天上午九点约了牙医。", "2026-12-02"),
        ("提醒我明天晚上九点给花浇水。", "2026-12-01"),
        ("能不能提醒我明天取快递？", "2026-12-01"),
        ("明天把发票寄给你。", "2026-12-01"),
        ("我會在下週三寄出合約。", "2026-12-09"),
        ("我会把合同发给你。", "undated"),
        ("我来买蛋糕。", "undated"),
        ("我约了牙医。", "undated"),
    ],
)
def test_a_promise_plan_or_reminder_is_a_commitment_of_its_speaker(text: str, due: str) -> None:
    [line] = told(text)
    assert line.startswith("> 顾南 ")
    assert line.endswith(f" {due} pending")


def test_a_clock_time_is_kept() -> None:
    [made] = encoded("我星期三上午10点半去面试。").commitments
    assert made.due is not None
    assert made.due.isoformat() == "2026-12-02T10:30:00+00:00"


def test_each_promise_belongs_to_its_own_speaker() -> None:
    lines = told("我周三带相机。", "秦月|那我明天带三脚架。")
    assert lines == ["> 顾南 带相机 2026-12-02 pending", "> 秦月 带三脚架 2026-12-02 pending"]


@pytest.mark.parametrize(
    ("turns", "line"),
    [
        (["我明天去领蛋糕。", "蛋糕我不去领了。"], "> 顾南 去领蛋糕 2026-12-01 cancelled"),
        (["我周日去爬山。", "爬山取消了。"], "> 顾南 去爬山 2026-12-06 cancelled"),
        (["我周六带蛋糕。", "秦月|你不用带蛋糕了。"], "> 顾南 带蛋糕 2026-12-05 cancelled"),
        (["我周五交报告。", "报告交了。"], "> 顾南 交报告 2026-12-04 fulfilled"),
        (["我明天寄合同。", "合同已经寄出去了。"], "> 顾南 寄合同 2026-12-01 fulfilled"),
        (["我明天买牛奶。", "搞定了。"], "> 顾南 买牛奶 2026-12-01 fulfilled"),
        (["我周四交钥匙。", "抱歉，钥匙改到周六交。"], "> 顾南 交钥匙 2026-12-05 pending"),
        (["我周五去洗车。", "洗车推迟到下周一。"], "> 顾南 去洗车 2026-12-07 pending"),
        (["我明天买牛奶。", "秦月|牛奶买了吗？"], "> 顾南 买牛奶 2026-12-01 pending"),
        (["我明天买牛奶。", "还没买牛奶。"], "> 顾南 买牛奶 2026-12-01 pending"),
    ],
)
def test_a_later_word_settles_or_moves_a_commitment(turns: list[str], line: str) -> None:
    assert told(*turns) == [line]


@pytest.mark.parametrize(
    "text",
    [
        "我可能明天去取签证。",
        "如果下雨，我就取消野餐。",
        "我想明天去看电影。",
        "我明天有空。",
        "我明天休息。",
        "我会考虑的。",
        "让我想想。",
        "我得走了。",
        "我会游泳。",
        "我要一杯咖啡。",
        "我今天去了医院。",
        "我昨天交了报告。",
        "我每周日跑步。",
        "我妈说她明天来。",
        "你明天把书还我。",
        "周六聚餐去吃火锅怎么样？",
    ],
)
def test_what_nobody_promises_is_no_commitment(text: str) -> None:
    assert told(text) == []
