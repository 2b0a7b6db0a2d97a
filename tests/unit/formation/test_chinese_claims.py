import pytest

from tests.unit.formation.chinese_talk import encoded, told


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        # homes and origins
        ("我在杭州居住三年了。", ["顾南 lives_in 杭州"]),
        ("我们家住在西安。", ["顾南 lives_in 西安"]),
        ("我去年三月搬到了贵阳。", ["顾南 lives_in 贵阳 @2025-03"]),
        ("自从2020年5月以来，我一直住在合肥。", ["顾南 lives_in 合肥 @2020-05"]),
        ("我以前住在武汉，现在住在长沙。", ["顾南 lives_in 长沙"]),
        ("我不住在天津。", ["顾南 lives_in ¬天津"]),
        ("我住在成都市区。", ["顾南 lives_in 成都"]),
        ("我是厦门人，现在在杭州定居。", ["顾南 comes_from 厦门", "顾南 lives_in 杭州"]),
        ("我老家是洛阳。", ["顾南 comes_from 洛阳"]),
        # work, schools, clubs
        ("我在松果教育当老师。", ["顾南 works_for 松果教育", "顾南 works_as 老师"]),
        ("自2021年起我在云帆电子任职。", ["顾南 works_for 云帆电子 @2021"]),
        ("我是云杉银行的产品经理。", ["顾南 works_for 云杉银行", "顾南 works_as 产品经理"]),
        ("我上个月入职了蓝鲸传媒。", ["顾南 works_for 蓝鲸传媒 @2026-10"]),
        ("我上周五从远帆物流辞职了。", ["顾南 works_for ¬远帆物流 @2026-11-27"]),
        ("我在清源大学读研。", ["顾南 studies_at 清源大学"]),
        ("我退出了城南合唱团。", ["顾南 member_of ¬城南合唱团"]),
        ("我是羽毛球协会会员。", ["顾南 member_of 羽毛球协会"]),
        # body, tongue, name
        (
            "我对芒果、菠萝和猕猴桃都过敏。",
            [f"顾南 allergic_to {x}" for x in ("芒果", "菠萝", "猕猴桃")],
        ),
        ("我对牛奶不过敏。", ["顾南 allergic_to ¬牛奶"]),
        ("我的母语是粤语，还会说西班牙语。", ["顾南 speaks yue", "顾南 speaks es"]),
        ("我这边是UTC+8。", ["顾南 timezone +08:00"]),
        ("我的时区是 Asia/Shanghai。", ["顾南 timezone Asia/Shanghai"]),
        ("我是1990年5月3日出生的。", ["顾南 born_on 1990-05-03"]),
        ("今天是我生日！", ["顾南 born_on --11-30"]),
        ("我常年吃素。", ["顾南 follows_diet 素食"]),
        ("大家都叫我小鹿。", ["顾南 also_known_as 小鹿"]),
        # likes
        ("点外卖我更喜欢粤菜。", ["顾南 prefers 粤菜"]),
        ("我爱喝普洱，讨厌喝可乐。", ["顾南 prefers 普洱", "顾南 prefers ¬可乐"]),
        ("我宁可走路，也不坐地铁。", ["顾南 prefers 走路", "顾南 prefers ¬地铁"]),
        ("我从不喝咖啡。", ["顾南 prefers ¬咖啡"]),
        ("我最喜欢的水果是荔枝。", ["顾南 prefers 荔枝"]),
        ("我对股票不感兴趣。", ["顾南 interested_in ¬股票"]),
        ("我的爱好是攀岩和烘焙。", ["顾南 interested_in 攀岩", "顾南 interested_in 烘焙"]),
        # belongings
        ("我有一辆二手自行车，还有一架无人机。", ["顾南 owns 二手自行车", "顾南 owns 无人机"]),
        ("我养了一只叫雪球的兔子。", ["顾南 has_pet 雪球"]),
        ("我有一只橘猫，名字叫大福。", ["顾南 has_pet 大福"]),
        # people
        ("我妹妹李雪住在北京。", ["顾南 sibling_of 李雪", "李雪 lives_in 北京"]),
        ("我爸爸李国强是老师。", ["李国强 parent_of 顾南", "李国强 works_as 老师"]),
        ("周岩是我的上司。", ["顾南 reports_to 周岩"]),
        ("我有一个朋友叫陈默，住在杭州。", ["顾南 friend_of 陈默", "陈默 lives_in 杭州"]),
        ("我跟程诺结婚了。", ["顾南 partner_of 程诺"]),
        ("我女儿果果的生日是6月2日。", ["顾南 parent_of 果果", "果果 born_on --06-02"]),
        ("我表妹林溪刚毕业，她不吃辣。", ["顾南 relative_of 林溪", "林溪 prefers ¬辣"]),
        # traditional characters, Latin names
        ("我對海鮮過敏，也不喜歡吃榴槤。", ["顾南 allergic_to 海鮮", "顾南 prefers ¬榴槤"]),
        ("我搬到臺中了。", ["顾南 lives_in 臺中"]),
        ("我妹妹 Lena 住在柏林。", ["顾南 sibling_of Lena", "Lena lives_in 柏林"]),
    ],
)
def test_a_stated_fact_becomes_a_claim(text: str, claims: list[str]) -> None:
    assert told(text) == claims


def test_a_profile_is_read_line_by_line() -> None:
    text = "关于我：\n- 住在绍兴\n职业：木匠\n过敏：尘螨\n- 养了一只猫叫米粒"
    assert told(text) == [
        "顾南 lives_in 绍兴",
        "顾南 works_as 木匠",
        "顾南 allergic_to 尘螨",
        "顾南 has_pet 米粒",
    ]


def test_a_subject_may_be_left_out_in_an_answer_to_you() -> None:
    assert told("assistant|你对什么过敏？", "对花生过敏。") == ["顾南 allergic_to 花生"]
    assert told("何田|程诺最近在哪？", "住在拉萨呢。") == []


def test_two_fitting_persons_make_a_pronoun_nobody() -> None:
    ties = ["顾南 colleague_of 程诺", "顾南 colleague_of 季晨"]
    assert told("我同事程诺和季晨都来了，他住在长沙。") == ties


def test_an_unnamed_relative_is_no_subject_and_no_antecedent() -> None:
    assert told("我妈昨天来了，她对虾过敏。") == []


@pytest.mark.parametrize(
    ("turns", "claims"),
    [
        (["我对芒果过敏。", "更正一下，是菠萝，不是芒果。"], ["顾南 allergic_to 菠萝"]),
        (["我对芒果过敏。", "说错了，是菠萝。"], ["顾南 allergic_to 菠萝"]),
        (["我住在扬州。", "打错字了，我住在泰州。"], ["顾南 lives_in 泰州"]),
        (["我住在扬州。", "我说的是泰州，不是扬州。"], ["顾南 lives_in 泰州"]),
        (["我老板叫周岩。", "记错了，我老板叫周延，不是周岩。"], ["顾南 reports_to 周延"]),
        (["我的生日是3月18日。", "更正：是3月19日。"], ["顾南 born_on --03-19"]),
        (["我养了只狗叫豆豆。", "名字打错了，叫逗逗。"], ["顾南 has_pet 逗逗"]),
        (["我对草莓过敏。", "哈哈，开玩笑的，我什么都吃。"], []),
        (["我有一艘游艇。", "游艇的事是开玩笑的。"], []),
    ],
)
def test_a_correction_leaves_only_what_is_right(turns: list[str], claims: list[str]) -> None:
    assert told(*turns) == claims


def test_a_repetition_misheard_by_the_assistant_does_not_touch_the_statement() -> None:
    turns = ["我在松果教育上班。", "assistant|你在松树教育上班。", "不是松树教育，是松果教育。"]
    assert told(*turns) == ["顾南 works_for 松果教育"]


def test_a_move_keeps_the_former_home_and_points_to_it() -> None:
    proposal = encoded("我住在武汉。", "上周六我搬到长沙了。")
    before, after = proposal.claims
    assert (before.object, after.object, after.valid_from) == ("武汉", "长沙", "2026-11-28")
    assert after.change == "world_change"
    assert after.revises is not None
    assert after.revises.index == 0


def test_every_claim_cites_its_message_and_its_speaker() -> None:
    proposal = encoded("你好。", "何田|我住在成都。我养了一只猫叫豆花。")
    assert {(c.message, c.asserted_by) for c in proposal.claims} == {(1, "何田")}


@pytest.mark.parametrize(
    "text",
    [
        "我在湖州工作生活。",
        "我在湖州生活工作。",
        "我在湖州工作和生活。",
        "我在湖州上学、生活。",
        "我目前在湖州生活和工作。",
        "我在湖州居住工作三年了。",
        "我在湖州打拼生活了五年。",
        "我在湖州安家立业。",
    ],
)
def test_who_works_and_lives_somewhere_lives_there(text: str) -> None:
    assert told(text) == ["顾南 lives_in 湖州"]


@pytest.mark.parametrize(
    "text",
    [
        "我在湖州出差。",
        "我在华为工作生活。",
        "我曾在湖州工作生活。",
        "我想在湖州工作生活。",
        "我在腾讯工作生活很充实。",
    ],
)
def test_other_work_somewhere_is_no_home(text: str) -> None:
    assert not any("lives_in" in x for x in told(text))


def test_nicknames_with_a_letter_and_of_relatives() -> None:
    assert told("我的外号是老K。") == ["顾南 also_known_as 老K"]
    assert told("我弟弟林夏小名叫乐乐。") == ["顾南 sibling_of 林夏", "林夏 also_known_as 乐乐"]
    assert told("我女儿林朵朵，小名叫朵朵。") == [
        "顾南 parent_of 林朵朵",
        "林朵朵 also_known_as 朵朵",
    ]
