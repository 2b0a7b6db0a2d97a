"""What the speaker puts right or takes back: 不是芒果，是菠萝; 说错了; 开玩笑的."""

from __future__ import annotations

import re

from pipelines.formation.chinese import organizations as org
from pipelines.formation.chinese import preferences, traits
from pipelines.formation.chinese.clauses import Sentence
from pipelines.formation.chinese.folding import folded
from pipelines.formation.chinese.phrase import Phrase
from pipelines.formation.chinese.places import place
from pipelines.formation.dates_chinese import whole
from pipelines.formation.discourse import Discourse
from pipelines.formation.findings import ClaimCorrected, ClaimRetracted, Finding
from pipelines.formation.likeness import same_name

_SLIP = re.compile(
    r"更正|纠正|订正|修正一下|(?<![你他她们])(?:说|打|写|搞|记|弄|输|报|填|发|念)(?:错|反"
    r"|混|岔)|口误|笔误|手误|手滑|嘴瓢|^不对|^错了|^不不|^不$|^啊?不是$|说漏|^应该是|有误"
    r"|写反|不准确|搞混"
)
_RIGHT = re.compile(
    r"^(?:不对|不|哦|啊|噢|呃|抱歉|对不起|,|其实|我(?:刚才)?(?:说|指|想说|要说|打|写)?的?"
    r"|正确的|准确(?:地说|来说|说)|实际上?|而|应该|应|应当|该|更正为|更正:|改成|改为|那个"
    r"|名字|地址|地方|城市|公司|日期|生日|现在)*(?:应该)?(?<!不)(?:是|为|叫)(?:说)"
    r"?(?P<right>[^,]{1,24}?)(?:[,]?(?:而)?(?:不是|并非|不叫|not )(?P<wrong>[^,]{1,24}?))"
    r"?(?:才对|才是|啊|呀|哦|的)?$"
)
_WRONG = re.compile(
    (
        r"^(?:而|并|可|而且)?(?:不是|并非|不叫|not\s)(?P<wrong>[^,]{1,24}?)(?:[,]?(?:而)?(?:是"
        r"|叫)(?P<right>[^,]{1,24}?))?(?:啦|啊|哦)?$"
    ),
    re.I,
)
_SWAP = re.compile(
    r"^(?:把|将)?(?P<wrong>[^,]{1,16}?)(?:应该是|应为|应改为|要改成|改成|更正为|改为|是)"
    r"(?P<right>[^,]{1,16})$"
)
_BARE = re.compile(r"^[^,是不]{1,14}$")
_JOKE = re.compile(
    r"^(?:刚才|刚刚|上面|前面|那|那个|那句|这|其实|哈+|我|说的|都|只|只是|是|就是|在|说"
    r"|关于[^,]{1,14}|[^,]{1,12}?(?:的事情?|的话|的说法|那事儿?|这事儿?)|[^,]{0,10}?(?:那"
    r"|这)[句事件个]?[话事]?|的|呵+)*(?:(?:跟|和|逗|骗)(?:你|大家)(?:们)?(?:的|玩的|玩|呢"
    r"|呀|啦)*|(?:跟|和)?(?:你|大家)?(?:们)?开(?:个|了个)?玩笑(?:的|呢|啦|罢了|而已)?"
    r"|说着玩(?:的|呢)?|闹着玩(?:的|呢)?|瞎说(?:的)?|胡说(?:的)?|乱说(?:的)?|随口(?:一说"
    r"|说的|乱说的?)|编的|瞎编的|假的|不是真的|不算数?|不作数|别当真)(?:了|啦|啊|哈)?$"
    r"|^(?:就)?(?:当|算)我没说(?:过)?(?:吧|了)?$|(?:我)?收回(?:刚才|之前|前面|上面|我|那"
    r"|说)*的?(?:那句?|这句?)?(?:话|说法)|^别当真|^(?:请)?(?:忘掉|忘了|忽略|无视|不用管"
    r"|别管)(?:我)?(?:刚才|刚刚|上面|前面|之前)(?:说|那|写|的|我)"
)
#: said of a thing that the speaker claimed before, these take the claim back
_NOT_SO = re.compile(
    r"(?<!不是)(?<!没)(?<!没有)(?<!没在)(?<!不)(?<!不会)(?<!没跟你)(?<!不是在)(?:(?:(?:跟|和)"
    r"(?:你|大家))?开(?:个|了个)?玩笑|(?<![被受没])骗(?:你|大家|人)的?|逗你"
    r"|[瞎胡乱](?:说|编)|(?:是|都是|全是)?(?:我)?编的|是(?:假|吹牛)的|吹牛的?$|不是真的|别当真|"
    r"不算数?(?:了|$)|不作数|当我没说"
    r"|(?:撤回|收回)|(?:别|不要)(?:相信|信)我?|(?:说|话|说法|那[句条])[^,]{0,6}作废"
    r"|(?<!别)(?<!没)(?:忘掉|忘了|忘记)(?:我)?(?:刚才|刚刚|之前|上面)?[^,]{0,12}(?:说的?|那件事|"
    r"这件事|的事|的话)"
    r"|(?<!别)(?<!没)(?:忘掉|忘了|忘记)我(?:刚才|之前)?说|删(?:掉|除)?[^,]{0,10}(?:说的|记录|记忆|"
    r"信息)"
    r"|哪(?:里)?有什么)"
)
_IN_FACT_NOT = re.compile(
    r"(?:其实|实际上|根本|压根|事实上|坦白说|老实说)(?:我)?(?:就|并|还|可)?(?:没有?|不)(?!过|仅|"
    r"光|但|只)"
)
_ALL_BACK = re.compile(
    r"^(?:请|我|麻烦)*(?:撤回|收回)(?:我|你)?(?:刚才|刚刚|上面|上一|之前|那|上)*(?:说的?)?(?:的)?"
    r"(?:[那这上一]?[句条])?(?:话|消息|说法)?(?:吧|了)?$"
    r"|^(?:我)?(?:刚才|刚刚|上面|前面|之前)(?:说)?的?(?:那些?|这些?)?[句]?(?:话)?(?:都|"
    r"就)?当我没说(?:过)?(?:吧|了)?$"
    r"|^(?:我)?(?:刚才|刚刚|之前|上面)(?:说的?|的)?(?:那[句条些]?)?话?(?:都|就|请|请你|麻烦)*"
    r"(?:忽略|无视|作废)(?:吧|掉)?$"
    r"|^(?:我)?(?:刚才|刚刚|之前|上面)?(?:说的?|那[句条]话?)?(?:全|都)?(?:是|都是|全是)(?:吹牛|"
    r"瞎掰|扯淡|胡扯|骗人)的$"
)


#: what a speaker calls a claim: 养狗是骗你的
_TOPICS = {
    "has_pet": re.compile(
        r"养[^,]{0,3}(?:猫|狗|宠物|鸟|兔|鱼|龟|仓鼠)|(?:那只|这只)?(?:猫|狗|宠物)的?(?:事|那)"
    ),
    "allergic_to": re.compile(r"过敏"),
    "works_for": re.compile(r"工作的事|公司的事|换工作|上班的事"),
    "lives_in": re.compile(r"搬家|住哪|住的地方|地址"),
    "sibling_of": re.compile(r"(?:哥哥|弟弟|姐姐|妹妹)的?(?:事|那)"),
}


def slips(text: str) -> bool:
    """Whether a folded clause says that something said before was wrong."""
    return bool(_SLIP.search(text))


def denied(text: str) -> re.Match[str] | None:
    """不是芒果: the wrong value of a correction, in a folded clause."""
    return _WRONG.match(text)


def recast(predicate: str, words: str) -> tuple[str, str] | None:
    """Whether corrected words can be the object of a predicate, and which object they then are."""
    text = folded(words)
    while text and text[-1] in "了的啊呀哦呢啦":
        text, words = text[:-1], words[:-1]
    words = words.strip()
    if not words or re.search(r"[我你他她吗什么]|[!?]", text):
        return None
    match predicate:
        case "lives_in" | "comes_from" | "located_in":
            where = place(re.sub(r"^在", "", words), re.sub(r"^在", "", text))
            return (where, "Place") if where else None
        case "born_on":
            day = whole(text)
            return (day, "string") if day else None
        case "speaks":
            tag = traits.language(text)
            return (tag, "string") if tag else None
        case "timezone":
            zone = traits.zone(text)
            return (zone, "string") if zone else None
        case "allergic_to":
            name = traits.substance(re.sub(r"^对", "", words), re.sub(r"^对", "", text))
            return (name, "Substance") if name else None
        case "works_for":
            name = org.employer(text)
            return (words[: len(name)], "Organization") if name else None
        case "studies_at":
            name = org.school(text)
            return (words[: len(name)], "Organization") if name else None
        case "member_of":
            name = org.club(text)
            return (words[: len(name)], "Organization") if name else None
        case "prefers":
            return preferences.option(words, text)
        case _:
            return (words, "") if len(words) <= 20 else None


def read(
    sentence: Sentence, clauses: list[Phrase], discourse: Discourse, message: int, slipped: bool
) -> list[Finding]:
    """Elliptical corrections and retractions in the clauses of one sentence.

    `clauses` lack their connectives. `slipped` is set where this sentence, or the one before, says
    that something was wrong.
    """
    speaker = discourse.speaker(message)
    named = _about(sentence, speaker, discourse)
    for clause in clauses:
        if _JOKE.search(clause.text) or _ALL_BACK.search(clause.text):
            return [ClaimRetracted(message, named)]
        if named and (_NOT_SO.search(clause.text) or _IN_FACT_NOT.search(clause.text)):
            return [ClaimRetracted(message, named)]
    right: str | None = None
    wrong: str | None = None
    for clause in clauses:
        no = _WRONG.match(clause.text)
        if no:
            wrong = clause.said(no, "wrong")
            if no["right"]:
                right = clause.said(no, "right")
            continue
        yes = _RIGHT.match(clause.text)
        if yes and right is None:
            right = clause.said(yes, "right")
            if yes["wrong"]:
                wrong = clause.said(yes, "wrong")
    if slipped and right is None and wrong is None:
        for clause in clauses:
            swap = _SWAP.match(clause.text)
            if swap and not clause.text.startswith(("我", "他", "她")):
                right, wrong = clause.said(swap, "right"), clause.said(swap, "wrong")
    if slipped and right is None:
        rest = [c for c in clauses if not _SLIP.search(c.text) and not _WRONG.match(c.text)]
        if (
            len(rest) == 1
            and _BARE.match(rest[0].text)
            and not rest[0].text.startswith(("我", "抱歉", "对不起", "不好意思"))
        ):
            right = rest[0].words
    if right is None or not (slipped or wrong):
        return []
    return [ClaimCorrected(_trimmed(right), message, _trimmed(wrong) if wrong else None, recast)]


def _trimmed(words: str) -> str:
    """The value that the words name, without the verb or preposition around it.

    Without 过敏 behind it, 对虾 is a prawn.
    """
    words = words.strip(" 的了")
    value = re.sub(r"(?<=.)(?:上班|工作|任职|就职|过敏|過敏)$", "", words)
    rest = "." if value != words else ".."
    return re.sub(rf"^(?:在|对|對|叫|说)(?={rest})", "", value).strip(" 的了")


def _about(sentence: Sentence, speaker: str, discourse: Discourse) -> str | None:
    """The object of the speaker's own claim that the sentence names; None for all of the last."""
    text = sentence.whole.text
    for held in reversed(discourse.claims):
        named = folded(held.claim.object)
        own = held.state == "active" and same_name(held.claim.asserted_by, speaker)
        topic = _TOPICS.get(held.claim.predicate)
        tongue = held.claim.predicate == "speaks" and traits.names_language(text, held.claim.object)
        if own and (tongue or named in text or (topic is not None and topic.search(text))):
            return held.claim.object
    return None
