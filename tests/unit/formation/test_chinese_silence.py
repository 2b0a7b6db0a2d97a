"""What states nothing must leave nothing: the encoder's precision in Chinese."""

import pytest

from tests.unit.formation.chinese_talk import encoded, told


@pytest.mark.parametrize(
    "text",
    [
        # questions
        "你还记得我住在汕头还是潮州吗？",
        "我是不是跟你说过我住在桂林？",
        "你知道我对什么过敏吗？",
        "我住在哪里来着？",
        # suppositions and wishes
        "假如我在青禾科技上班，会有折扣吗？",
        "要是能住在大理就好了。",
        "我真希望自己会说法语。",
        "等我有钱了，我就搬到大理。",
        "我好像对花粉过敏。",
        # hearsay
        "秦月告诉我她对花生过敏。",
        "听说程诺搬去厦门了。",
        "医生说我对青霉素过敏。",
        "群里有人说“我住在火星”。",
        "程诺：我住在太原。",
        # texts to translate, fiction, role play, dreams
        "把这句话翻译成英文：我住在柏林。",
        "我住在柏林，这句用英语怎么说？",
        "我们来玩角色扮演：我是船长，住在月球，养了三条龙。",
        "小说开头：我住在巴黎，我有一只猫叫雪球。",
        "我梦见我住在东京。",
        # irony and figures of speech
        "呵呵，我最喜欢加班了。",
        "太好了，又是周一，我最爱周一了。",
        "我可不是吃素的。",
        "我对周一过敏。",
        "我活在梦里。",
        "我快住在公司了。",
        # people in general, other subjects
        "很多人喜欢喝奶茶。",
        "对花生过敏的人不能吃这个。",
        "服务器住在法兰克福。",
        "你住在北京。",
        "我们公司在上海。",
        # a spot, an adverb or a town is no home and no employer
        "我住在公司附近。",
        "我家在三楼。",
        "我家在装修。",
        "我在努力工作。",
        "我在上海工作。",
        "我在医院上班。",
        "白天在公司上班。",
        # past
        "我以前住在重庆。",
        "我在上海住了三年。",
        "我毕业于清源大学。",
        # no option, no thing
        "我喜欢你。",
        "我喜欢这首歌。",
        "我有一个问题。",
        "我有一肚子火。",
        "我是一个很懒的人。",
        # chat
        "嗯嗯，好的～",
        "祝你生日快乐，永远开心。",
        "我加入购物车了。",
        "我弟弟高兴地说他考上了清源大学。",
    ],
)
def test_nothing_is_formed_from(text: str) -> None:
    assert told(text) == []


def test_a_role_play_lasts_until_it_is_ended() -> None:
    opening = "我们来玩角色扮演，你来当船长。"
    assert told(opening, "我住在月球。") == []
    assert told(opening, "不玩了，说正经的。", "我住在荆州。") == ["顾南 lives_in 荆州"]


@pytest.mark.parametrize(
    "text",
    ["我" * 300_000, "我住在成都，" * 50_000, "“我" * 100_000, "2023年" * 80_000, "我 " * 200_000],
)
def test_a_huge_message_is_read_in_bounded_clauses(text: str) -> None:
    assert len(encoded(text).claims) <= 1


def test_odd_characters_raise_nothing() -> None:
    assert told("我住在\x00\ud83d，。！？「」『』（（（：：我叫") == []
