"""What somebody owns, and their animals."""

from __future__ import annotations

import re

from pipelines.formation.chinese.names import name_end
from pipelines.formation.chinese.phrase import Phrase
from pipelines.formation.chinese.statement import Statement
from pipelines.formation.findings import ClaimStated

_ANIMAL = (
    r"(?:[㐀-鿿]{0,6}?(?:猫咪|猫|狗狗|狗|犬|兔子|兔|仓鼠|鹦鹉|八哥|金鱼|热带鱼|乌龟|龟"
    r"|小鸟|鸟|鱼|马|羊|鸡|鸭|鹅|蛇|蜥蜴|壁虎|刺猬|龙猫|豚鼠|荷兰猪|柯基|金毛|哈士奇|泰迪"
    r"|柴犬|边牧|拉布拉多|萨摩耶|布偶|英短|美短|橘猫|狸花|守宫|松鼠|貂|猪|羊驼|鸽子|蜘蛛))"
)
_COUNT = r"(?:(?P<n>[一二两三四五六七八九十几\d]{1,2}))?(?P<measure>只|条|匹|头|尾|缸|窝|对|群)?"
_KEEPS = re.compile(
    rf"^(?:家里?)?(?:还|也|新|又)?(?:养了|养着|养有|养过?(?P<past>过)?|领养了|收养了|捡了"
    rf"|买了|有了?)(?:{_COUNT})(?:名叫|叫做?)?(?P<called>[^,]{{1,8}}?的)"
    rf"?(?P<animal>{_ANIMAL})(?:,?(?:名字)?(?:叫做?|名叫|取名叫?|是)(?P<name>[^,]{{1,8}}))"
    rf"?$"
)
_MY_ANIMAL = re.compile(
    rf"^(?:家)?的?(?:家)?(?:那)?(?:只|条)?(?P<animal>{_ANIMAL})(?:的名字)?(?:叫做?|名叫"
    rf"|名字叫|名字是|取名叫?)(?P<name>[^,]{{1,8}})$"
)
_NAMED = re.compile(
    r"^(?:它)?(?:的)?(?:名字)?(?:叫做?|名叫|名字叫做?|名字是|取名叫?|起名叫?|是叫)"
    r"(?P<name>[^,]{1,8})$"
)
_UNITS = (
    "台|辆|架|把|部|套|艘|栋|幢|座|支|双|副|块|顶|张|枚|幅|本|件|间|艘|条|只|枝|匹|盏|床"
    "|箱|款|口|尊|所|处|盆|棵"
)
_OWNS = re.compile(
    rf"^(?:家里?)?(?:还|也)?(?P<verb>有|拥有|买了|新买了|入手了|买下了|攒钱买了|收藏了"
    rf"|收藏着|购入了|添置了|置办了)(?:了)?(?P<n>[一二两三四五六七八九十几好\d]{{0,3}})"
    rf"(?P<unit>{_UNITS}|个)(?P<thing>[^,]{{1,16}})$"
)
_MY_THING = re.compile(
    r"^的(?P<thing>车|汽车|座驾|手机|电脑|笔记本|笔记本电脑|相机|吉他|钢琴|自行车|摩托车"
    r"|平板|耳机|手表)(?:是|型号是|用的是)(?:一?[台辆架把部只块])(?P<what>[^,]{2,18})$"
)
_SOLD = re.compile(
    r"^(?:已经)?(?:把|将)(?P<thing>[^,]{1,12}?)(?:给)?(?:卖|扔|送人|转让|捐|弄丢|卖掉"
    r"|送给[^,]{1,6})(?:掉|出)?(?:了|掉了)$"
)
_ABSTRACT = re.compile(
    r"[我你她它谁哪什么这那□￼]|(?<!吉)他|照片|图片|[卡表]$|问题|想法|事|疑问|建议|机会"
    r"|肚子|手$|脑|心|时间|课$|会$|会议|消息|计划|办法|理由|感觉|关系|经验|朋友|同事|同学"
    r"|姐|妹|哥|弟|儿|女|孩|人$|毛病|习惯|爱好|目标|梦|假|票|快递|订单|任务|作业|考试|面试"
    r"|约|故事|秘密|优点|缺点|特点|好处|账号|邮件|信$|证$|病|伤|腿|眼|牙|嘴|脸|头发|头$"
    r"|力气|本事|债|贷款|单|预约|航班|方案|文件|报告|合同|数据|选择|请求|要求|意见|提议"
    r"|小忙|忙|要|没|需要|不|老板|领导|邻居|室友|饭|水$|茶$|咖啡$|活|梗|笑话|话"
)
_CONCRETE = re.compile(
    r"(?:相机|吉他|帐篷|无人机|烤箱|音箱|投影仪|望远镜|背包|花园|农场|书房|行李箱|键盘"
    r"|平板|手办|滑板|头盔|保险箱|冰箱|咖啡机|面包机|小院|院子|菜园|鱼缸|书架|工作台"
    r"|打印机|显微镜|电饭煲|账篷|车位|车库|店面|店铺|网店|小店)$"
)


def read(s: Statement) -> list[ClaimStated]:
    """Claims `owns` and `has_pet` of one statement."""
    text = s.core.text
    pet = _pet(s)
    if pet is not None:
        return pet
    match = _SOLD.match(text)
    if match:
        thing = s.core.said(match, "thing")
        return (
            []
            if _ABSTRACT.search(match["thing"])
            else [
                s.claim(
                    "owns", thing, "Thing", "reject", valid_from=s.start(), change="world_change"
                )
            ]
        )
    match = _MY_THING.match(text)
    if match and not _ABSTRACT.search(match["what"]):
        return [s.claim("owns", s.core.said(match, "what"), "Thing")]
    match = _OWNS.match(text)
    if match and not s.ahead():
        thing = match["thing"].strip()
        if thing.endswith("了"):
            return []
        if _ABSTRACT.search(thing) or (match["unit"] == "个" and not _CONCRETE.search(thing)):
            return []
        if match["unit"] in ("条", "只", "本", "件", "口", "张", "款") and len(thing) < 2:
            return []
        if not match["n"] and match["verb"] == "有" and match["unit"] in ("把", "间", "座", "处"):
            return []
        return [s.claim("owns", s.core.said(match, "thing"), "Thing")]
    return []


def names_the_pet(s: Statement, clause: Phrase, pet: ClaimStated) -> list[ClaimStated]:
    """叫芝麻 after 养了条狗: the animal's name takes the place of its kind."""
    match = _NAMED.match(clause.text)
    if not match:
        return []
    name = _name(clause, match)
    if name is None:
        return []
    return [s.claim("has_pet", name, "Animal", subject=pet.subject)]


def names_only(text: str) -> bool:
    """Whether a folded clause only names what the clause before brought up."""
    return bool(_NAMED.match(text))


def _name(phrase: Phrase, match: re.Match[str]) -> str | None:
    text = match["name"].strip()
    if name_end(text, 0, loose=True) != len(text):
        return None
    return phrase.said(match, "name")


def _pet(s: Statement) -> list[ClaimStated] | None:
    match = _MY_ANIMAL.match(s.core.text)
    if match:
        name = _name(s.core, match)
        return [s.claim("has_pet", name, "Animal")] if name else []
    match = _KEEPS.match(s.core.text)
    if not match or s.ahead() or match["past"]:
        return None
    verb = s.core.text.lstrip("家里还也新又")
    if verb.startswith(("有", "买")) and not (match["measure"] or match["n"]):
        return None
    if re.search(r"[我你他她它这那的]", match["animal"]):
        return None
    if match["name"]:
        name = _name(s.core, match)
    elif match["called"]:
        called = match["called"].removesuffix("的")
        start = match.start("called")
        named = re.search(r"(?:名叫|叫做?)$", s.core.text[:start])
        name = s.core.words[start : start + len(called)].strip() if named else None
        if name is None:
            name = s.core.said(match, "animal")
    else:
        name = s.core.said(match, "animal")
    return [s.claim("has_pet", name, "Animal")] if name else []
