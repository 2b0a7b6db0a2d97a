"""Of whom a clause speaks: the speaker, kin of the speaker, somebody named, or nobody certain."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from pipelines.formation.chinese.names import is_name, name_end
from pipelines.formation.chinese.phrase import Phrase
from pipelines.formation.discourse import Discourse, Gender

#: so many names are looked for, the latest first
_REMEMBERED = 100
#: relation word -> predicate, whether the relative is its subject, gender
Tie = tuple[str, bool, Gender | None]


def _ties() -> dict[str, Tie]:
    table: dict[str, Tie] = {}

    def add(predicate: str, words: str, gender: Gender | None, reverse: bool = False) -> None:
        for word in words.split():
            table[word] = (predicate, reverse, gender)

    add(
        "sibling_of",
        "姐姐 妹妹 姐 妹 大姐 二姐 三姐 小妹 老妹 亲姐 亲妹 亲姐姐 亲妹妹 双胞胎妹妹 "
        "双胞胎姐姐 孪生姐姐 孪生妹妹",
        "f",
    )
    add(
        "sibling_of",
        "哥哥 弟弟 哥 弟 大哥 二哥 三哥 小弟 老弟 亲哥 亲弟 亲哥哥 亲弟弟 双胞胎弟弟 "
        "双胞胎哥哥 孪生哥哥 孪生弟弟",
        "m",
    )
    add("partner_of", "老公 丈夫 先生 男朋友 男友 未婚夫", "m")
    add("partner_of", "老婆 妻子 太太 女朋友 女友 未婚妻 媳妇 爱妻", "f")
    add("partner_of", "爱人 对象 伴侣 另一半 恋人 配偶", None)
    add("parent_of", "爸爸 爸 父亲 老爸 老爹", "m", True)
    add("parent_of", "妈妈 妈 母亲 老妈", "f", True)
    add("parent_of", "儿子 大儿子 小儿子", "m")
    add("parent_of", "女儿 闺女 大女儿 小女儿", "f")
    add("parent_of", "孩子 宝宝 娃", None)
    add(
        "relative_of",
        "爷爷 外公 姥爷 叔叔 叔父 小叔 舅舅 大舅 小舅 姑父 姑丈 姨父 姨丈 伯父 伯伯 大伯 "
        "表哥 表弟 堂哥 堂弟 堂兄 表兄 侄子 外甥 孙子 外孙 岳父 公公 姐夫 妹夫 女婿 小舅子 "
        "大舅子 小叔子",
        "m",
    )
    add(
        "relative_of",
        "奶奶 外婆 姥姥 姑姑 姑妈 姨妈 小姨 大姨 阿姨 舅妈 婶婶 伯母 表姐 表妹 堂姐 堂妹 "
        "侄女 外甥女 孙女 外孙女 岳母 婆婆 嫂子 嫂嫂 弟媳 弟妹 儿媳 儿媳妇 小姨子",
        "f",
    )
    add(
        "friend_of",
        "朋友 好友 好朋友 闺蜜 死党 发小 哥们 哥们儿 挚友 老朋友 密友 最好的朋友 最要好的朋友",
        None,
    )
    add("colleague_of", "同事 搭档 前台同事", None)
    add(
        "reports_to",
        "老板 上司 领导 经理 主管 上级 直属领导 直属上司 直属上级 顶头上司 部门经理 组长 "
        "总监 boss manager",
        None,
    )
    add("reports_to", "下属 下级 手下 助理 徒弟", None, True)
    add(
        "knows",
        "同学 室友 邻居 老师 导师 舍友 教练 房东 校友 队友 战友 师兄 师姐 师弟 师妹 客户 学生",
        None,
    )
    return table


TIES: dict[str, Tie] = _ties()
_KIN = "|".join(sorted(TIES, key=len, reverse=True))
_NOT_KIN = r"(?!圈|们|装|类|卡|会|群|价|头|节|团|关系|姐妹|家里|妻)"
_OWN = re.compile(
    r"^(?:我|本人)(?:们(?:公司|部门|组|家)?|家|现在|目前|自己)?的?\s*(?:大学|高中|初中"
    r"|小学|亲|最好的|好|新|公司的?|部门的?|现任|直属|顶头)?"
    rf"(?P<kin>{_KIN}){_NOT_KIN}"
)
_SELF = re.compile(r"^(?:我|本人)(?:本人|自己|个人|这人|这个人|这边)?(?!们|国|校|市|省|司)")
_OUR_HOUSE = re.compile(r"^我们家(?=[养有的在住])")
_OTHERS = re.compile(
    r"^(?:你们?|我们|咱们?|咱|他们|她们|它们?|大家|别人|人家|有人|有些人|有的人|人们"
    r"|很多人|许多人|谁|自己|这|那|该|某|每个人|所有人|全家|两人|双方)"
)
_NAMED = re.compile(
    r"^的?(?:名字|大名|小名|全名)?(?:叫做?|名叫|是叫|名字叫做?|名字是|取名叫?|名为)"
)
_JOINED = re.compile(r"^(?:、|和|跟|与|以及|还有)")


@dataclass(frozen=True, slots=True)
class Subject:
    """Who a clause is about. `name` is None where nobody certain is; `end` is where it ends.

    kind: self, named (third person), other (somebody, but not known), none (no subject said).
    `ties` are the relations that the subject phrase itself states: (relation word, tie, name).
    """

    kind: Literal["self", "named", "other", "none"]
    name: str | None
    end: int
    ties: tuple[tuple[str, Tie, str], ...] = ()


class People:
    """The persons known while a message is read."""

    def __init__(self, discourse: Discourse, message: int) -> None:
        self.discourse = discourse
        self.message = message
        self.speaker = discourse.speaker(message)

    def known(self) -> Iterable[str]:
        """Names that may be taken wherever they stand."""
        names = [s for s in self.discourse.speakers if s not in ("user", "assistant", "system")]
        return [*names, *islice(reversed(self.discourse.named), _REMEMBERED)]

    def meet(self, name: str, gender: Gender | None) -> None:
        """Notes that the message names a person."""
        if name != self.speaker:
            self.discourse.mention(name, self.message, gender)

    def kin(self, word: str) -> str | None:
        """The name that the speaker gave for a relation word, if they did."""
        return self.discourse.kin.get((self.speaker, word))

    def subject(self, clause: Phrase) -> Subject:
        """The subject phrase at the beginning of `clause`."""
        own = _OWN.match(clause.text)
        if own:
            return self._relative(clause, own)
        ours = _OUR_HOUSE.match(clause.text)
        if ours:
            return Subject("self", self.speaker, 2)
        self_ = _SELF.match(clause.text)
        if self_:
            return Subject("self", self.speaker, self_.end())
        if clause.text[:1] in ("他", "她") and not clause.text.startswith(("他们", "她们", "他人")):
            gender: Gender = "f" if clause.text[0] == "她" else "m"
            name = self.discourse.antecedent(self.message, gender)
            if name is None or "的" in name or clause.text[1:2] == "家":
                return Subject("other", None, 1)
            return Subject("named", name, 1)
        if _OTHERS.match(clause.text):
            return Subject("other", None, 0)
        end = name_end(clause.text, 0, self.known())
        if end is not None:
            name = clause.words[:end].strip()
            if name == self.speaker:
                return Subject("self", name, end)
            if _JOINED.match(clause.text[end:]):
                rest = clause.part(end + 1)
                second = name_end(rest.text, 0, self.known())
                self.meet(name, None)
                if second is not None:
                    self.meet(rest.words[:second].strip(), None)
                return Subject("other", None, 0)
            self.meet(name, None)
            return Subject("named", name, end)
        return Subject("none", None, 0)

    def _relative(self, clause: Phrase, own: re.Match[str]) -> Subject:
        word = own["kin"]
        tie = TIES[word]
        start = own.end()
        while clause.text[start : start + 1].isspace():
            start += 1
        rest = clause.text[start:]
        named = _NAMED.match(rest)
        if named:
            begin = start + named.end()
            begin += len(clause.text) - begin - len(clause.text[begin:].lstrip())
            end = name_end(clause.text, begin, self.known(), loose=True)
        elif rest.startswith("是"):
            begin = start + 1
            begin += len(clause.text) - begin - len(clause.text[begin:].lstrip())
            end = name_end(clause.text, begin, self.known())
            if end is not None and end != len(clause.text):
                end = None
        else:
            begin = start
            end = name_end(clause.text, begin, self.known())
        if end is None:
            known = self.kin(word)
            if known is None:
                self.discourse.mention(f"{self.speaker}的{word}", self.message, tie[2])
                return Subject("other", None, start)
            self.meet(known, tie[2])
            return Subject("named", known, start)
        name = clause.words[begin:end].strip()
        ties = [(word, tie, name)]
        self._learn(word, tie, name)
        more = _JOINED.match(clause.text[end:])
        if more:
            second = end + more.end()
            stop = name_end(clause.text, second, self.known())
            if stop is not None and is_name(clause.text[second:stop], self.known()):
                other = clause.words[second:stop].strip()
                self.meet(other, tie[2])
                return Subject("other", None, stop, (*ties, (word, tie, other)))
        return Subject("named", name, end, tuple(ties))

    def _learn(self, word: str, tie: Tie, name: str) -> None:
        self.meet(name, tie[2])
        self.discourse.kin[(self.speaker, word)] = name

    def introduce(self, word: str, name: str) -> tuple[str, Tie, str]:
        """Notes that a relation word stands for `name`, and answers the tie."""
        tie = TIES[word]
        self._learn(word, tie, name)
        return word, tie, name
