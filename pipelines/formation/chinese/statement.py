"""A clause that states something, with its subject resolved, as the rules of a topic read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from pipelines.formation.chinese.phrase import Phrase
from pipelines.formation.dates_chinese import DatePhrase
from pipelines.formation.findings import ClaimStated
from pipelines.formation.proposal import Change, Stance

_ADVERB = re.compile(
    r"^(?:现在|目前|如今|眼下|当前|平时|平常|一直以来|一直|已经|早就|早已|刚刚|刚才"
    r"|刚(?!才)|才刚|才(?!能|华)|也|还是|还(?!给|了|书|钱|车|款|清|债|你|他们?钱|她们?钱)|都|就是"
    r"(?=喜|爱|讨"
    r"|在|住)|就(?!职|业|读|任)|其实|确实|真的|的确|最近|近来|这几年|这些年"
    r"|从小|天生|主要|一般|通常|经常|常常|常年|长期|仍然|仍|依然|依旧|又|自己|一个人|独自"
    r"|[跟和](?:家人|父母|爸妈|室友|老公|老婆|男友|女友|先生|太太|孩子|爱人|朋友|同学|猫"
    r"|狗)(?:们)?(?:一起)?"
    r"|至今|终于|总算|正式|正(?!在|常|宗|方)|本来就|同时|另外|人(?=在|住)|毕业后|毕业以后"
    r"|大学毕业后|婚后|后来|顺便|顺带|非常荣幸|目前为止|身体|说实话|老实说|坦白说|不瞒你说"
    r"|向来|历来|生来|倒(?!闭|在)|可(?=喜|爱|讨|不|是)|本来(?!是)|永远|始终|总是|从来(?=不"
    r"|没)|从(?=不)|绝对|根本|压根|完全|平日里?|每天(?=住)|实际上|事实上|特地|专门)\s*"
)
_NOW = re.compile(r"现在|目前|如今|眼下|已经|刚|改|后来|终于|不再|正式")
#: words at the head of a clause that are no part of the statement
CONNECTIVE = re.compile(
    r"^(?:这位?是(?=我)|对了|另外|还有(?=[,:]|$|我)|然后|而且|并且|所以|因为|由于|但是|但(?!凡|愿)"
    r"|不过(?!敏|是|去|来)|可是|可(?=我)|其实|说实话|说真的|老实说|坦白说|不瞒你说"
    r"|顺便(?:说一下|说一句|说|提一下|提一句|一提|告诉你)?|那么|那(?=我|就|行|好)|嗯+|哦+"
    r"|噢|啊+|哈+|唉|诶|好的?(?=我|,|$|那)|好吧|好嘞|行(?=我|,|$|那)|是的|是啊|对(?=,|$"
    r"|我)"
    r"|没错|没事|没问题|当然|请?(?:你)?(?:帮我|先|也|都|务必)?(?:记住|记一下|记下来?"
    r"|记得(?=我(?!(?:明|后|下|周))))(?:一下)?[:,]?|提醒一下|告诉(?:你|大家)(?:一声|一下"
    r"|们)?|我?(?:想)?(?:跟|和|向)(?:你|大家|你们)(?:说|讲|汇报|介绍)(?:一下|一声|过)?"
    r"|我(?:之前|刚才|刚刚|上次)?说过|我(?:得|要|想|先)?说(?:明|一下|一句)?(?=我)"
    r"|补充(?:一(?:下|句|点))?|备注|通知|答案?(?=,|$)|更新一下|介绍一下(?:我?自己)?"
    r"|首先|其次|最后|第[一二三四五]|此外|总之|话说|目前的?情况是|情况是这样的?|是这样的?"
    r"|你好|您好|大家好|hi|hello|嗨|哈喽|早上好|早|晚上好|下午好|谢谢|多谢|抱歉|对不起"
    r"|不好意思|新年好|至于我|以及|又及|注意|友情提示|小提示|而(?=我)|因(?=我)|虽然|尽管"
    r"|毕竟|既然|反正|幸好|可惜|遗憾的是|好消息是|坏消息是|事实是|答案是|我(?:觉得|认为"
    r"|感觉|发现)(?=我)|众所周知|你(?:也|们)?知道的?(?:,|$)|告知一下|通知一下|报告一下"
    r"|宣布一下)\s*[:,]?\s*"
)


@dataclass(slots=True)
class Statement:
    """`core` is the clause less connectives, dates, subject and adverbs; `full` keeps the dates.

    `implied` is True where the clause names no subject itself. `change` is what the wording of the
    sentence says about an earlier claim. `at` is when it was said (UTC). `employers` are those
    that the speaker named for the subject before; `left` tells that the sentence has the subject
    leave their work.
    """

    subject: str
    speaker: str
    core: Phrase
    full: Phrase
    clause: Phrase
    dates: tuple[DatePhrase, ...]
    message: int
    implied: bool
    now: bool
    at: datetime
    change: Change | None = None
    replaces: str | None = None
    employers: tuple[str, ...] = ()
    left: bool = False

    @property
    def own(self) -> bool:
        """Whether the speaker speaks of themselves."""
        return self.subject == self.speaker

    def start(self) -> str | None:
        """The date from which the clause says its fact holds, for a move or a beginning."""
        since = next((d for d in self.dates if d.role == "since" and not d.ahead), None)
        past = next((d for d in self.dates if d.role == "at"), None)
        chosen = since or past
        return chosen.iso if chosen else None

    def day(self) -> str:
        """The day of the message (UTC), on which a change holds that carries no date."""
        return self.at.date().isoformat()

    def since(self) -> str | None:
        """The date after 从 or before 起/开始: a state may carry only such a date."""
        return next((d.iso for d in self.dates if d.role == "since" and not d.ahead), None)

    def dated(self) -> bool:
        """Whether a date other than a beginning stands in the clause (今年 counts as now)."""
        return any(d.role != "since" for d in self.dates)

    def ahead(self) -> bool:
        """Whether the clause names a time that is still to come."""
        return any(d.ahead and not d.running for d in self.dates)

    def claim(
        self,
        predicate: str,
        object_: str,
        object_type: str,
        stance: Stance = "support",
        *,
        valid_from: str | None = None,
        change: Change | None = None,
        replaces: str | None = None,
        subject: str | None = None,
    ) -> ClaimStated:
        """The finding that this clause states the fact; its own change of wording goes first."""
        return ClaimStated(
            subject=subject or self.subject,
            predicate=predicate,
            object=object_,
            object_type=object_type,
            message=self.message,
            stance=stance,
            valid_from=valid_from,
            change=self.change or change,
            replaces=self.replaces or replaces,
            confidence=0.8 if self.implied else 0.9,
        )


def without_adverbs(core: Phrase) -> tuple[Phrase, bool]:
    """`core` from its verb on, and whether an adverb before it says that things changed."""
    now = False
    for _ in range(6):
        match = _ADVERB.match(core.text)
        if not match:
            break
        now = now or bool(_NOW.search(match[0]))
        core = core.part(match.end())
    return core.bare(), now


def without_connectives(clause: Phrase) -> Phrase:
    """`clause` less the words that only join it to what went before."""
    for _ in range(4):
        match = CONNECTIVE.match(clause.text)
        if not match or match.end() == len(clause.text):
            break
        clause = clause.part(match.end()).bare()
    return clause
