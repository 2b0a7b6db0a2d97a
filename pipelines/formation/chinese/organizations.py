"""What can be the name of an employer, a school or a club, and what is only a common noun."""

from __future__ import annotations

import re

from pipelines.formation.chinese.places import is_known

_CLUB = re.compile(
    r"(?:合唱团|乐团|乐队|俱乐部|协会|学会|社团|球队|舞团|剧团|剧社|诗社|书社|读书会|车队"
    r"|车友会|商会|工会|联盟|联合会|同好会|社区|志愿队|志愿者队|救援队|跑团|公会|战队|帮"
    r"|校友会|话剧社|摄影社|[^,]社|[^,]队|[^,]团|[^,]会|[^,]党)$"
)
_SCHOOL = re.compile(
    r"(?:大学|学院|中学|小学|高中|初中|学校|附中|附小|[一二三四五六七八九十]中|外国语"
    r"|商学院|研究生院|幼儿园|技校|师大|科大|理工|职高|职院|党校"
    r"|[北清复交浙武南厦山川人中华央]大|清华|University|College|School|Institute|Academy)$"
    r"|^(?:清华|北大|复旦|交大|浙大|人大|武大|中大|哈佛|耶鲁|剑桥|牛津|麻省理工|斯坦福|MIT)$"
)
_COMPANY = re.compile(
    r"(?:公司|集团|科技|物流|教育|出版社|银行|医院|局|研究所|研究院|设计院|厂|商店|书店"
    r"|工作室|事务所|中心|传媒|网络|地产|航空|汽车|电子|软件|影业|餐厅|咖啡|报社|电视台"
    r"|基金会|制药|建筑|设计|金融|证券|保险|食品"
    r"|能源|通信|医药|文化|游戏|互动|智能|重工|化工|机械|电力|铁路|快递|超市|酒店|律所"
    r"|诊所|杂志社|通讯社|图书馆|博物馆|美术馆|实业|贸易|国际|资本|投资|咨询|广告|数码"
    r"|信息|技术|材料|生物|制造|农业|环保|家居|服饰|旅行社|旅游|药房|药业|股份|商贸|控股"
    r"|云|Inc|Ltd|Labs?|Studio|Group|Media|Tech|Systems?|Bank|Hospital|Maps|Surveys|Trust)"
    r"$"
)
_COMMON = re.compile(
    r"^(?:一[家个所间]|这[家个里儿边]|那[家个里儿边]|某|同一|家$|家里|公司$|单位$|医院$"
    r"|学校$|银行$|大学$|工厂$|外地|国外|国内|海外|本地|办公室|线上|网上|远程|户外|路上"
    r"|车上|店里|外面|附近|隔壁|楼|自己|朋友|别人|他|她|我|你|咱|小公司|大公司|大厂$|外企$"
    r"|国企$|民企$|私企$|互联网|政府|事业单位|创业公司|初创|餐厅$|工地|(?:港口|机场|车站|码头|工厂|饭店|商场|超市|景区|街道|社区|厂里|门诊|前台|后厨|车间|仓库|市区)$|农村|城里|乡下)"
    r"|^(?:认真|努力|拼命|加班|专心|忙着|继续|兼职|全职|轮班|业余|好好|老老实实|踏实|辛苦"
    r"|埋头|居家|在家|周末|晚上|早上|白天|夜里|平时|过年|春节|假期|工作日|安心|一起|跟|和"
    r"|为了|给|通过|努力地|默默|不停|一边|开心|快乐|正常)"
    r"|[我你他她它谁哪什么吗呢]|[的地得]$|[□￼␣]|^.{0,3}行业$|^.{0,2}部门?$|^.{0,8}(?:方面"
    r"|领域|岗位|期间|时间|时候)$|^(?:大家庭|团队|组织|群|项目)"
)
_SHAPE = re.compile(r"[㐀-鿿A-Za-z0-9À-ɏ&·'’. -]{2,30}")


def employer(words: str) -> str | None:
    """The organisation to work for that folded `words` name; None for a mere noun."""
    name = words.strip().removesuffix("里").removesuffix("这边").removesuffix("那边")
    if not _SHAPE.fullmatch(name) or _COMMON.search(name) or is_known(name):
        return None
    return name


def school(words: str) -> str | None:
    """The school that folded `words` name."""
    name = words.strip().removesuffix("里")
    if not _SHAPE.fullmatch(name) or _COMMON.search(name):
        return None
    latin = re.search(r"[A-Z][A-Za-z]", name) is not None
    if len(name) < 2 or not (_SCHOOL.search(name) or latin):
        return None
    bare = re.fullmatch(
        r"(?:一所|这所|那所)?(?:重点|普通|师范|职业|国外|私立|公立)?(?:大学|学院|中学|小学"
        r"|高中|初中|学校|幼儿园)",
        name,
    )
    return None if bare else name


def club(words: str) -> str | None:
    """The club, team or society that folded `words` name."""
    name = words.strip()
    if not _SHAPE.fullmatch(name) or _COMMON.search(name) or len(name) < 3:
        return None
    return name


def looks_like_club(words: str) -> bool:
    """Whether the name ends as those of clubs and teams do (and not as those of companies)."""
    return bool(_CLUB.search(words)) and not _COMPANY.search(words)


def looks_like_company(words: str) -> bool:
    """Whether the name ends as those of companies do, or is a Latin name."""
    return bool(_COMPANY.search(words)) or re.search(r"^[A-Z][A-Za-z]", words) is not None


def looks_like_school(words: str) -> bool:
    """Whether the name ends as those of schools do."""
    return bool(_SCHOOL.search(words))
