"""Allergies, languages, time zones, birthdays, diets and nicknames."""

from __future__ import annotations

import re

from pipelines.formation.chinese.listing import items
from pipelines.formation.chinese.names import name_end
from pipelines.formation.chinese.phrase import Phrase
from pipelines.formation.chinese.statement import Statement
from pipelines.formation.dates_chinese import whole, zone_offset
from pipelines.formation.findings import ClaimStated
from pipelines.formation.proposal import Change, Stance

_ALLERGIC = re.compile(
    r"^(?P<no>不|并不|没有)?(?:会)?对(?P<what>[^,]{1,40}?)(?:都|也|很|会|非常|特别|严重"
    r"|重度|中度|轻度|有点儿?|有些|有严重的?|有轻微的?|有轻度的?|有重度的?|极度|一直"
    r"|从小就?|天生|其实|是|会有|有|已经|现在|完全|就|真的|超级|高度|极其|确实|起|产生"
    r"|全都|的|容易|轻微)*(?P<no2>不再|不|没有|没)?(?:会)?过敏(?:的|史|症|体质|反应|症状)"
    r"?(?P<end>了)?(?:,)?$"
    r"|^的?过敏[源原](?:是|有|包括|:)(?P<what2>[^,]{1,40})$|^(?:有)?(?:严重的?)"
    r"?(?P<what3>[㐀-鿿]{1,6}?)过敏(?:症|史)?$|^(?:一)(?:吃|喝|碰|闻|接触|沾)(?:到)"
    r"?(?P<what4>[^,]{1,12}?)(?:就|便)(?:会)?(?:全身|浑身|皮肤)?过敏$"
)
_NO_ALLERGEN = re.compile(
    r"[我你他她谁哪什么这那□￼]|周[一二三四五六日]|星期|早起|加班|开会|工作|上班|数学|老板"
    r"|学习|人$|虚伪|谎|谣言|傻|蠢|情|爱|套路|婚|考试|[的地]时候|问题|不|废话|油腻|尴尬"
    r"|对|^的|^(?:会|很|有|严重|容易|皮肤|体质|药物史|轻度|重度|季节性?|换季|都|也|花式|过)$"
    r"|社交|恋爱|起床|运动$|话$"
)
#: a BCP 47 tag, then its names
_TONGUES = """
zh 中文 汉语 华语 普通话 国语 四川话 东北话 Mandarin Chinese
en 英语 英文 English
ja 日语 日文 Japanese
fr 法语 法文 French
de 德语 德文 German
es 西班牙语 西班牙文 西语 Spanish
pt 葡萄牙语 葡萄牙文 葡语 Portuguese
ru 俄语 俄文 Russian
ko 韩语 韩文 朝鲜语 Korean
yue 粤语 广东话 广州话 白话 Cantonese
nan 闽南语 闽南话 台语 潮汕话
hak 客家话 客家语
wuu 上海话 吴语 温州话 苏州话
ar 阿拉伯语 阿拉伯文 Arabic
it 意大利语 意大利文 意语 Italian
th 泰语 泰文
vi 越南语 越语
id 印尼语 印度尼西亚语
ms 马来语
tr 土耳其语
pl 波兰语
nl 荷兰语
sv 瑞典语
fi 芬兰语
no 挪威语
da 丹麦语
is 冰岛语
cs 捷克语
sk 斯洛伐克语
el 希腊语
he 希伯来语
hi 印地语
bn 孟加拉语
ur 乌尔都语
ta 泰米尔语
fa 波斯语
uk 乌克兰语
hu 匈牙利语
ro 罗马尼亚语
bg 保加利亚语
sr 塞尔维亚语
hr 克罗地亚语
mn 蒙古语 蒙语
bo 藏语
ug 维吾尔语 维语
kk 哈萨克语
la 拉丁语
eo 世界语
my 缅甸语
km 柬埔寨语 高棉语
lo 老挝语
fil 菲律宾语
tl 他加禄语
ne 尼泊尔语
et 爱沙尼亚语
lv 拉脱维亚语
lt 立陶宛语
sw 斯瓦希里语
ka 格鲁吉亚语
hy 亚美尼亚语
ga 爱尔兰语
cy 威尔士语
ca 加泰罗尼亚语
eu 巴斯克语
sgn 手语
"""
_LANGUAGES = {
    name: tag for tag, *names in map(str.split, _TONGUES.strip().splitlines()) for name in names
}
_TONGUE = re.compile("|".join(sorted(_LANGUAGES, key=len, reverse=True)))
_FLUENT = (
    r"(?:一口|流利的?|一点儿?|一些|点儿?|简单的?|地道的?|标准的?|基础的?|基本的?|日常|几句"
    r"|两三门外语:?|两门外语:?|三门外语:?|两种语言:?|三种语言:?|三门语言:?)*"
)
_SPEAKS = re.compile(
    rf"^的?(?P<no>不(?:太|怎么)?|并不)?(?:(?:会|能|可以)(?:流利地?|熟练地?|用)?(?:说|讲"
    rf"|听说|听|使用)?|说|讲|懂|通晓|精通|掌握|熟练掌握|略懂|学会了?|用)"
    rf"{_FLUENT}(?P<what>[^,]{{2,40}}?)(?:(?:交流|沟通|对话|聊天)|都会|也行|(?:这)"
    rf"?[两二三四五]种语言|了)?$"
    r"|^的?(?:母语|第一语言|第二语言|工作语言|家乡话)(?:是|为|:)(?P<what2>[^,]{2,30})$"
    r"|^(?:的)?(?P<what3>[㐀-鿿]{2,6})(?:说|讲)得(?:很|挺|还|非常|比较|相当)?(?:好|流利|溜"
    r"|不错|可以|地道|标准).{0,2}$|^(?:是)?(?P<what4>[㐀-鿿]{2,6})母语者?$"
)
_NATIVE_NOT = re.compile(r"^的?母语(?:不是|并非)(?P<what>[^,]{2,10})$")
_ZONE = re.compile(
    r"^的?(?:所在(?:的)?|电脑|手机)?时区(?:是|为|在|:|用的?是?|设(?:的)?是)"
    r"?\s*(?P<zone>[A-Za-z0-9_/+:\-−]{2,40}|(?:UTC|GMT)\s*[+\-−]\s*\d{1,2}(?::?\d{2})?"
    r"|[东西][一二三四五六七八九十]{1,2}时?区|北京时间)$"
    r"|^(?:用|按|在|处于|位于|是)(?:的是)?\s*(?P<zone2>(?:UTC|GMT)"
    r"\s*[+\-−]\s*\d{1,2}(?::?\d{2})?|[东西][一二三四五六七八九十]{1,2}时?区)(?:时区)?$"
)
_IANA = re.compile(
    r"(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)"
    r"/[A-Za-z_+\-0-9/]{2,30}"
)
_BIRTHDAY = re.compile(
    r"^的?\s*(?:阳历|公历)?(?:生日|出生日期|出生日|生辰|birthday)\s*(?:是|在|为|:|就是)"
    r"?(?P<day>[^,]{3,16}?)(?:的|号)?$"
    r"|^(?:是)?(?:出生于|生于|出生在|出生|诞生于|生在)(?P<day2>[^,]{3,16})$|^(?:是)?(?:在"
    r"|于)?(?P<day3>[^,]{3,16}?)(?:那天)?(?:出生|出世|生|诞生|过生日|的生日)(?:的|了)?$"
)
_MINE = re.compile(r"^(?:就)?是(?:我|本人)的?(?:生日|出生日期)$")
_DIET = re.compile(
    r"^(?:是|吃|坚持|开始|改|当|做|信奉|奉行)*(?:个|一个|一名|了)?(?P<diet>纯素食主义者?"
    r"|纯素者?|严格素食|素食主义者?|素食者?|素食|吃素|素|全素|蛋奶素|奶素|清真|清真食品"
    r"|清真餐|生酮|生酮饮食|低碳饮食|无麸质饮食?|无麸质|犹太洁食|鱼素|弹性素食|长斋)(?:的"
    r"|了|食品|餐|饮食|者|主义)*(?:[\d一二两三四五六七八九十几多]+年了?)?$"
)
_NOT_DIET = re.compile(
    r"^(?:不是|不再|并不)(?:个|再)?(?:吃素|素食|素食者|素食主义者)(?P<end>了)?$|^(?:不)"
    r"吃素(?P<end2>了)?$"
)
_CALLED = re.compile(
    r"^(?:的?(?:昵称|外号|绰号|小名|网名|花名|笔名|英文名|别名|艺名|曾用名|乳名)(?:是"
    r"|叫做?|为|:)|(?:又名|又叫|别名|也叫|人称|外号|绰号|小名叫?|英文名|自称))"
    r"(?P<name>[^,]{1,14})$"
    r"|^叫做?(?P<own>[^,]{1,14})$|^的?(?:名字|姓名|全名|真名|本名)(?:是|叫做?)(?P<own2>[^,]{1,14})$"
)
_PEOPLE_CALL = re.compile(
    r"^(?:大家|朋友们?|同事们?|同学们?|家里?人|家人|熟人|别人|身边的?人|他们|你们?"
    r"|公司里?的?人|以后|老友)*(?:一般|平时|习惯|平常|通常|总是|一直|从小|可以|以后|直接"
    r"|也|就|都|还)*(?:叫|喊|称呼?|管)我(?:的)?(?:叫)?(?:做|为|作)?(?P<name>[^,]{1,12}?)"
    r"(?:就好|就行|就可以|吧|即可|就好了|好了)?$"
)
_NO_NICKNAME = re.compile(r"[我你他她它谁什么这那吗□￼]|起床|吃|去|来|回|不|一声|过|了$|做")


def read(s: Statement) -> list[ClaimStated]:
    """Claims of one statement about the body, the tongue and the name of its subject."""
    text = s.core.text
    if "过敏" in text:
        return _allergy(s)
    if "时区" in text or "区" in text or "UTC" in text or "GMT" in text:
        found = _zone(s)
        if found:
            return found
    if "生" in text or "日" in text or "birthday" in text:
        found = _birthday(s)
        if found:
            return found
    if (
        "素" in text
        or "清真" in text
        or "生酮" in text
        or "麸" in text
        or "斋" in text
        or "洁食" in text
        or "低碳" in text
    ):
        found = _diet(s)
        if found:
            return found
    if _TONGUE.search(text):
        found = _speaks(s)
        if found:
            return found
    return _called(s)


def substance(words: str, text: str) -> str | None:
    """The allergen that the words name, or None for what nobody can be allergic to in earnest."""
    text = text.strip()
    if not text or len(text) > 12 or _NO_ALLERGEN.search(text):
        return None
    while words and words[-1] in "类等":
        words = words[:-1]
    return words.strip() or None


def names_language(text: str, tag: str) -> bool:
    """Whether a folded text names the language of a BCP 47 tag."""
    return any(_LANGUAGES[name] == tag for name in _TONGUE.findall(text))


def language(text: str) -> str | None:
    """The BCP 47 tag of the language that folded `text` names and nothing else."""
    return _LANGUAGES.get(text.strip())


def zone(text: str) -> str | None:
    """`text` as IANA name or as offset (+08:00)."""
    text = text.strip().replace("−", "-")
    if _IANA.fullmatch(text) or text in ("UTC", "GMT"):
        return text
    if text == "北京时间":
        return "Asia/Shanghai"
    offset = zone_offset(text)
    if offset is None:
        return None
    minutes = int(offset.total_seconds()) // 60
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _allergy(s: Statement) -> list[ClaimStated]:
    match = _ALLERGIC.match(s.core.text)
    if not match:
        return []
    group = next(g for g in ("what", "what2", "what3", "what4") if match[g])
    start = match.start(group)
    what = s.core.part(start, match.end(group))
    for head in ("吃", "喝"):
        if what.text.startswith(head) and len(what.text) > 2:
            what = what.part(1)
    denied = bool(match["no"] or match["no2"])
    found = []
    for item in items(what):
        name = substance(item.words, item.text)
        if name is None:
            return []
        if denied and (match["end"] or match["no2"] == "不再"):
            found.append(
                s.claim(
                    "allergic_to",
                    name,
                    "Substance",
                    "reject",
                    valid_from=s.start(),
                    change="world_change",
                )
            )
        else:
            found.append(
                s.claim("allergic_to", name, "Substance", "reject" if denied else "support")
            )
    return found


def _speaks(s: Statement) -> list[ClaimStated]:
    negated = _NATIVE_NOT.match(s.core.text)
    if negated:
        return []
    match = _SPEAKS.match(s.core.text)
    if not match:
        return []
    group = next(g for g in ("what", "what2", "what3", "what4") if match[g])
    tags = []
    for item in items(s.core.part(match.start(group), match.end(group))):
        text = re.sub(rf"^(?:(?:也|还)?(?:会|能)?(?:说|讲)?){_FLUENT}", "", item.text)
        text = re.sub(r"(?:都|也)?(?:会|行|可以)?$", "", text)
        tag = language(text)
        if tag is None:
            return []
        tags.append(tag)
    stance: Stance = "reject" if match["no"] else "support"
    return [s.claim("speaks", tag, "string", stance) for tag in dict.fromkeys(tags)]


def _zone(s: Statement) -> list[ClaimStated]:
    match = _ZONE.match(s.core.text)
    value = zone(match["zone"] or match["zone2"]) if match else None
    change: Change | None = "world_change" if s.now else None
    return [s.claim("timezone", value, "string", change=change)] if value else []


def _birthday(s: Statement) -> list[ClaimStated]:
    for text in (s.full.text, s.core.text):
        match = _BIRTHDAY.match(text)
        if match:
            day = whole(_no_weekday(match["day"] or match["day2"] or match["day3"]))
            if day:
                return [s.claim("born_on", day, "string")]
    return _birthday_then(s.subject, s) if re.match(r"^过?生日$", s.core.text) else []


def birthday_of_speaker(s: Statement) -> list[ClaimStated]:
    """3月18日是我的生日, 今天是我生日: the day stands where the subject would."""
    return _birthday_then(s.speaker, s) if _MINE.match(s.core.text) else []


def _birthday_then(subject: str, s: Statement) -> list[ClaimStated]:
    days = [d for d in s.dates if d.role == "at" and d.iso and len(d.iso) == 10]
    if len(days) != 1:
        return []
    said = whole(s.clause.text[days[0].start : days[0].end].strip())
    return [s.claim("born_on", said or f"--{(days[0].iso or '')[5:]}", "string", subject=subject)]


def _no_weekday(text: str) -> str:
    return (
        re.sub(r"[,(]?(?:周|星期)[一二三四五六日天]\)?$", "", text.strip())
        .removeprefix("在")
        .removeprefix("于")
    )


def _diet(s: Statement) -> list[ClaimStated]:
    denied = _NOT_DIET.match(s.core.text)
    if denied:
        ended = denied["end"] or denied["end2"]
        return [
            s.claim(
                "follows_diet", "素食", "string", "reject", change="world_change" if ended else None
            )
        ]
    match = _DIET.match(s.core.text)
    if not match:
        return []
    diet = match["diet"]
    plain = {
        "素": "素食",
        "吃素": "素食",
        "素食主义": "素食",
        "素食主义者": "素食",
        "素食者": "素食",
        "长斋": "素食",
        "纯素食主义": "纯素",
        "纯素食主义者": "纯素",
        "纯素者": "纯素",
    }
    change: Change | None = "world_change" if s.now else None
    return [
        s.claim(
            "follows_diet", plain.get(diet, diet), "string", valid_from=s.since(), change=change
        )
    ]


def _called(s: Statement) -> list[ClaimStated]:
    match = _CALLED.match(s.core.text)
    if not match:
        return []
    group = next((g for g in ("name", "own", "own2") if match[g]), "name")
    if group == "own" and s.implied and s.change:
        return []
    return _nickname(s.subject, s, s.core, match, group)


def called_by_others(s: Statement, clause: Phrase) -> list[ClaimStated]:
    """大家都叫我小鹿: the nickname of the speaker, said with somebody else as the subject."""
    match = _PEOPLE_CALL.match(clause.text)
    return _nickname(s.speaker, s, clause, match, "name") if match else []


def _nickname(
    subject: str, s: Statement, phrase: Phrase, match: re.Match[str], group: str
) -> list[ClaimStated]:
    name, text = phrase.said(match, group), match[group]
    if not name or name == subject or _NO_NICKNAME.search(text):
        return []
    mixed = re.fullmatch(r"[㐀-鿿]{1,3}[A-Za-z]{1,2}|[A-Za-z]{1,12}[㐀-鿿]{1,2}", text)
    if mixed and mixed[0][0] in "老小阿大" + mixed[0][0].upper():
        return [s.claim("also_known_as", name, "string", subject=subject)]
    if re.search(r"[㐀-鿿]", text) and (
        len(text) > 5 or name_end(text, 0, loose=True) != len(text)
    ):
        return []
    return [s.claim("also_known_as", name, "string", subject=subject)]
