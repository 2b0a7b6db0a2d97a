"""Likes, dislikes and interests; each option is typed by its kind."""

from __future__ import annotations

import re

from pipelines.formation.chinese.listing import items
from pipelines.formation.chinese.phrase import Phrase
from pipelines.formation.chinese.statement import Statement
from pipelines.formation.findings import ClaimStated
from pipelines.formation.proposal import Stance

_DEGREE = (
    r"(?:真的?|最|更|很|非常|特别|比较|超级?|挺|蛮|尤其|十分|相当|还是|比起[^,]{1,10}|向来"
    r"|一向|一直|都|也|就|可|格外|越来越|偏|确实|其实|相对|平时|从小就?|特|极其?|极度|老"
    r"|好)*"
)
_VERB = r"(?P<verb>吃|喝|坐|住|听|看|用|穿|玩|读|选|点|养|买|带|开|骑|打|去|做|在)?"
_LIKES = re.compile(
    rf"^{_DEGREE}(?:喜欢|喜爱|爱(?!人|情|心|好|国|上|尔|护|惜)|偏爱|钟爱|热爱|偏好|中意"
    rf"|钟情于?|酷爱|倾向于?|爱上了?|喜欢上了?)(?:的是)?(?P<what>[^,]{{1,30}})$"
)
_DISLIKES = re.compile(
    rf"^{_DEGREE}(?:(?:不|从不|并不|从来不)(?:是)?(?:太|怎么|大|是很|是特别|很|那么|再)"
    rf"?(?:喜欢|爱|喜爱|中意|待见)|讨厌|厌恶|反感|受不了|忍受不了|无法忍受|不能忍受"
    rf"|最?烦(?!恼|躁|人)|最?恨|嫌弃|抵触|吃不惯|喝不惯|吃不来|喝不来|不感冒)"
    rf"(?P<what>[^,]{{1,30}})$"
)
_NEVER = re.compile(
    r"^(?:从来|从|一向|向来|绝对|坚决|一直|都|一点|一口)*(?:不(?:再)?(?P<verb>吃|喝|碰|抽)"
    r"|(?:饮食)?忌口?)(?P<what>[^,]{1,20})$"
)
_ONLY = re.compile(
    r"^(?:一直|从来|向来|平时)?(?:只|总是|永远)(?P<verb>吃|喝|坐|用|穿|听|住)(?P<what>[^,]{2,20})$"
)
_RATHER = re.compile(
    r"^(?:宁愿|宁可|宁肯|情愿)(?P<what>[^,]{2,20}?)(?:,?(?:也|都)?(?:不愿意?|不想|不要|不)"
    r"(?P<not>[^,]{1,20}))?$"
)
_RATHER_NOT = re.compile(r"^(?:也|都)?(?:绝)?(?:不愿意?|不想|不要|不)(?P<not>[^,]{1,20})$")
_THAN = re.compile(
    r"^(?P<what>[^,]{1,24}?)(?:,?而不(?:是|喜欢|爱)|,?胜过|多过|多于|甚于|超过|,?不(?:是"
    r"|喜欢|爱)|远胜)(?P<not>[^,]{1,20})$"
)
_FAVOURITE = re.compile(
    r"^的?(?:最爱|最喜欢的?(?:[^,]{0,8}?)|最爱的?(?:[^,]{0,8}?)|心头好)(?:就|一直|还|永远"
    r"|当然)?是(?P<what>[^,]{1,20})$"
)
_HATED = re.compile(
    r"^的?最(?:讨厌|不喜欢|烦|怕吃)的?(?:[^,]{0,8}?)(?:就|一直|还)?是(?P<what>[^,]{1,20})$"
)
_INTEREST = re.compile(
    rf"^(?P<no>不|并不)?(?:一直|最近|从小)?对(?P<what>[^,]{{1,24}}?){_DEGREE}(?:也|都|一直"
    rf"|有点|有些|颇|产生了?|起了|充满|抱有|已经|现在|完全|根本|毫|并|实在|真)"
    rf"*(?:(?P<no2>不(?:太|怎么|是很)?|没有?(?:什么|啥|太大的?|任何)?|毫无|提不起)?(?:再)"
    rf"?(?:感|有|浓厚的?|很大的?|极大的?)*)(?:兴趣|着迷|入迷|上瘾|痴迷|情有独钟)(?P<end>了)"
    rf"?$"
)
_KEEN = re.compile(
    r"^的?(?:(?:业余)?(?:爱好|兴趣|兴趣爱好|业余爱好)(?:是|有|包括|:)|(?:迷上|沉迷|痴迷"
    r"|热衷|醉心|着迷|沉醉|迷)(?:了|于)*)(?P<what>[^,]{1,30})$"
)
_IS_MY_HOBBY = re.compile(
    r"^(?P<what>[^,]{2,10}?)(?:一直|始终|就|也)?是我(?:最大)?的(?:业余)?(?:爱好|兴趣)(?:之一)?$"
)
_PLACE_OF_VERB = re.compile(rf"^{_VERB}(?:了|着)?(?P<rest>.+)$")
_NOT_AN_OPTION = re.compile(
    r"[我你她它谁哪咱□￼␣]|(?<!吉)他|什么|怎么|这|那(?!么)|吗|呢|[!?]|自己|别人|人家|和?人$"
    r"|男生|女生|某|一个人$|^(?:的|了|过|着|上|到|在一起|一切|所有|得|死|笑|哭|生气|说|干"
    r"|做|玩|吃|喝|看|来|去|不|讲话|惹|管|不起|理|发脾气|心|慕|好|面子|莫能助|谁|一下|一点"
    r"|现在)$|^的|^(?:上|过)(?:了)?$|不得|得(?:要命|不行|很|慌)|死了"
)
_TRAIL = re.compile(
    r"(?:之类的?|什么的|等等?|啥的|这类|这种|了|啊|呀|呢|啦|哦|的话|就是|嘛|多一点|多一些"
    r"|一点|一些|比较多|哈)$"
)
_KINDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"座|位子|位置|靠窗|过道|上铺|下铺|中铺", "Seat"),
        (
            (
                r"茶|咖啡|拿铁|美式|可乐|啤酒|酒$|果汁|奶昔|汽水|豆浆|牛奶|饮料|矿泉水|热水|冰水|开水"
                r"|温水"
            ),
            "Drink",
        ),
        (
            (
                r"菜|饭|面$|面条|肉|鱼|虾|蟹|果$|瓜|莲|豆|糖|甜|辣|酸|咸|汤|粥|饺|包子|糕|饼|火锅|烧烤"
                r"|蛋|葱|姜|蒜|香菜|芹|茄|辛|零食|巧克力|冰淇淋|寿司|披萨|海鲜|榴|梨|桃|橙|苹果|花生"
                r"|粉$|料理"
            ),
            "Food",
        ),
        (r"电话|会议|通话|开会", "CallTime"),
        (r"音乐|爵士|摇滚|民谣|古典乐|歌$|曲$", "Music"),
        (r"电影|片$|剧$|综艺|动漫", "Film"),
        (r"书$|小说|漫画|诗$", "Book"),
        (r"色$|模式$|主题$|字体$|界面", "Appearance"),
        (
            (
                r"爬山|跑步|游泳|滑雪|徒步|骑行|钓鱼|打球|足球|篮球|羽毛球|网球|瑜伽|摄影|画画|唱歌"
                r"|跳舞|旅行|旅游|露营|下棋|写作|做饭|烘焙|园艺|编程"
            ),
            "Activity",
        ),
        (r"猫|狗|鸟|兔", "Animal"),
        (r"早上|上午|下午|晚上|清晨|夜里|中午", "Time"),
    )
)
_BY_VERB = {
    "吃": "Food",
    "喝": "Drink",
    "坐": "Seat",
    "听": "Music",
    "看": "Film",
    "穿": "Clothing",
    "玩": "Activity",
}


def read(s: Statement) -> list[ClaimStated]:
    """Claims `prefers` and `interested_in` of one statement."""
    text = s.core.text
    interest = _INTEREST.match(text) or _KEEN.match(text)
    if interest:
        return _interest(s, interest)
    plain: tuple[tuple[re.Pattern[str], Stance], ...] = (
        (_HATED, "reject"),
        (_FAVOURITE, "support"),
        (_DISLIKES, "reject"),
    )
    for pattern, stance in plain:
        match = pattern.match(text)
        if match:
            return _options(s, s.core.part(match.start("what"), match.end("what")), stance)
    match = _LIKES.match(text)
    if match:
        liked = s.core.part(match.start("what"), match.end("what"))
        than = _THAN.match(liked.text)
        if than:
            return [
                *_options(s, liked.part(than.start("what"), than.end("what")), "support"),
                *_options(s, liked.part(than.start("not"), than.end("not")), "reject"),
            ]
        return _options(s, liked, "support")
    match = _RATHER.match(text)
    if match:
        found = _options(s, s.core.part(match.start("what"), match.end("what")), "support")
        if match["not"]:
            found += _options(s, s.core.part(match.start("not"), match.end("not")), "reject")
        return found
    match = _NEVER.match(text)
    if match and not s.dates:
        return _options(
            s, s.core.part(match.start("what"), match.end("what")), "reject", match["verb"] or "吃"
        )
    match = _ONLY.match(text)
    if match and not s.dates:
        return _options(
            s, s.core.part(match.start("what"), match.end("what")), "support", match["verb"]
        )
    return []


def hobby_of_speaker(s: Statement, clause: Phrase) -> list[ClaimStated]:
    """摄影是我的爱好: the interest stands where the subject would."""
    match = _IS_MY_HOBBY.match(clause.text)
    if not match or _NOT_AN_OPTION.search(match["what"]):
        return []
    name = clause.said(match, "what")
    return [s.claim("interested_in", name, "Topic", subject=s.speaker)]


def rather_not(s: Statement, clause: Phrase) -> list[ClaimStated]:
    """也不吃… after 宁愿…: what is refused."""
    match = _RATHER_NOT.match(clause.text)
    return _options(s, clause.part(match.start("not"), match.end("not")), "reject") if match else []


def is_choice(text: str) -> bool:
    """Whether a folded core opens a choice whose refused side may follow in the next clause."""
    return bool(re.match(r"^(?:宁愿|宁可|宁肯|情愿)", text))


def option(words: str, text: str) -> tuple[str, str] | None:
    """The option that the words name and its type, without the verb that goes with it."""
    phrase = Phrase(text, words).bare()
    while True:
        trail = _TRAIL.search(phrase.text)
        if not trail or trail.start() == 0:
            break
        phrase = phrase.part(0, trail.start()).bare()
    verb = ""
    match = _PLACE_OF_VERB.match(phrase.text)
    if match and match["verb"]:
        verb = match["verb"]
        rest = match["rest"]
        keep = {
            "吃": 1,
            "喝": 1,
            "坐": 2,
            "住": 2,
            "听": 2,
            "看": 2,
            "用": 2,
            "穿": 2,
            "玩": 2,
            "读": 2,
            "养": 1,
            "选": 2,
            "点": 2,
        }
        if (
            verb in keep
            and len(rest) >= keep[verb]
            and not rest.startswith(("书", "戏", "法", "意"))
        ):
            phrase = phrase.part(match.start("rest"))
    text = phrase.text
    if not text or len(text) > 16 or _NOT_AN_OPTION.search(text):
        return None
    if len(text) == 1 and text not in "猫狗鱼茶酒肉虾姜葱蒜辣甜糖蟹书花雪雨醋面粥":
        return None
    kind = next((k for p, k in _KINDS if p.search(text)), _BY_VERB.get(verb, "Option"))
    if verb in ("吃", "喝"):
        kind = _BY_VERB[verb]
    return phrase.words, kind


def _options(s: Statement, what: Phrase, stance: Stance, verb: str = "") -> list[ClaimStated]:
    found = []
    for item in items(what):
        chosen = option(verb + item.words, verb + item.text)
        if chosen is None:
            return []
        found.append(s.claim("prefers", chosen[0], chosen[1], stance))
    return found


def _interest(s: Statement, match: re.Match[str]) -> list[ClaimStated]:
    denied = match.re is _INTEREST and bool(match["no"] or match["no2"])
    stance: Stance = "reject" if denied else "support"
    found = []
    for item in items(s.core.part(match.start("what"), match.end("what"))):
        phrase = item
        while True:
            trail = _TRAIL.search(phrase.text)
            if not trail or trail.start() == 0:
                break
            phrase = phrase.part(0, trail.start()).bare()
        if not phrase.text or len(phrase.text) > 16 or _NOT_AN_OPTION.search(phrase.text):
            return []
        found.append(s.claim("interested_in", phrase.words, "Topic", stance))
    return found
