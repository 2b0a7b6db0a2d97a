"""Lines whose label says whose words they are: a profile of one's own, or somebody else's words."""

from __future__ import annotations

import re

from pipelines.formation.chinese.folding import folded
from pipelines.formation.chinese.names import is_name

_OWN_PROFILE = re.compile(
    r"^\W*(?:(?:这是|以下是|下面是|先(?:做|来)?(?:个)?)?(?:我|本人)?的?(?:个人|基本)"
    r"?(?:资料|信息|档案|简介|情况|画像|名片|自我介绍)|关于我(?:自己)?|自我介绍(?:一下)?"
    r"|(?:先)?介绍一下(?:我)?自己|我的(?:基本|个人)?(?:资料|信息|情况|档案|简介))(?:如下)"
    r"?\s*:?\s*$"
)
_FOREIGN = re.compile(
    r"(?:留言|邮件|原文|例子|示例|例如|对话|台词|日记|转发|转自|转述|来信|的信|消息|评论"
    r"|短信|微信|聊天记录|内容如下|写道|说|引用|摘录|节选|他|她|客户|用户|同事|朋友|文案"
    r"|模板|样例|简历|翻译|译文|范文|题目|阅读材料).{0,8}:\s*$"
)
_LABEL = re.compile(
    r"^(?P<mark>\W*(?:\d{1,2}[.、)]\s*)?)(?P<key>[^:\s,]{1,10}?)\s*:\s*(?P<value>.*)$"
)
_KEYS = {
    "我住在": "现居 现居地 住址 居住地 所在地 所在城市 城市 常住地 现居城市 居住城市 住处",
    "我的职业是": "职业 岗位 职位 职务",
    "我的公司是": "公司 单位 工作单位 雇主 就职公司 任职公司",
    "我就读于": "学校 院校 就读学校",
    "我的生日是": "生日 出生日期 出生年月日",
    "我的过敏源是": "过敏 过敏源 过敏原 过敏史 食物过敏",
    "我的爱好是": "爱好 兴趣 兴趣爱好",
    "我会说": "语言 会说 掌握语言 使用语言",
    "我的母语是": "母语",
    "我的时区是": "时区",
    "我的老家是": "籍贯 老家 家乡",
    "我的昵称是": "昵称 外号 绰号",
    "我喜欢": "喜欢 喜好",
    "我不喜欢": "不喜欢 讨厌",
}
_SPELLED = {key: head for head, keys in _KEYS.items() for key in keys.split()}
#: keys that name the sort of remark, not a person
_REMARK_WORDS = (
    "更正 补充 通知 答 回答 备注 注意 更新 提醒 好消息 坏消息 另外 结论 总结 事实 情况 "
    "原因 计划 今天 明天"
)
_REMARK = frozenset(_REMARK_WORDS.split())


def own_lines(text: str, speaker: str) -> str:
    """The message without lines of others; a profile of one's own is spelled out as sentences.

    The number of lines stays. A heading that announces somebody else's words closes what follows
    up to an empty line.
    """
    if ":" not in text and "：" not in text and "资料" not in text and "介绍" not in text:
        return text
    kept: list[str] = []
    profile = closed = False
    for line in text.split("\n"):
        form = folded(line)
        if not form.strip():
            closed = False
            kept.append("")
            continue
        if _OWN_PROFILE.match(form):
            profile, closed = True, False
            kept.append("")
            continue
        if _FOREIGN.search(form):
            closed, profile = True, False
        if closed:
            kept.append("")
            continue
        label = _LABEL.match(form)
        if label:
            key = label["key"]
            if profile and key in _SPELLED and label["value"]:
                start = label.start("value")
                kept.append(f"- {_SPELLED[key]}{line[start:]}")
                continue
            if key in _REMARK:
                kept.append(line[: label.end("key")] + "，" + line[label.start("value") :])
                continue
            if key in (folded(speaker), "我", "本人"):
                kept.append(line[label.start("value") :])
                continue
            if is_name(key) or key in (
                "他",
                "她",
                "客户",
                "用户",
                "对方",
                "助手",
                "甲",
                "乙",
                "A",
                "B",
                "Q",
                "A1",
            ):
                kept.append("")
                continue
        kept.append(line)
    return "\n".join(kept)


def has_own_profile(text: str) -> bool:
    """Whether the message announces a profile of its speaker, or lists sentences about 我."""
    return any(_OWN_PROFILE.match(folded(line)) for line in text.split("\n")[:40]) or bool(
        re.search(r"(?m)^\s*(?:[-*•·]|\(?\d{1,2}[.、)])\s*我", text)
    )
