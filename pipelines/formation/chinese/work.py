"""Employers, occupations, memberships and schools."""

from __future__ import annotations

import re
from dataclasses import replace

from pipelines.formation.chinese import organizations as org
from pipelines.formation.chinese.statement import Statement
from pipelines.formation.findings import ClaimStated
from pipelines.formation.likeness import names_part_of
from pipelines.formation.proposal import Change

_ROLE_END = re.compile(
    r"(?:师|员|经理|总监|工程师|医生|大夫|护士|护士长|老师|教师|教授|讲师|律师|司机|厨师"
    r"|编辑|记者|会计|出纳|设计师|店长|主管|顾问|助理|秘书|翻译|作家|画家|导演|演员|摄影师"
    r"|警察|军人|农民|工人|学生|研究生|博士生|本科生|实习生"
    r"|研究员|科学家|分析师|销售|客服|前台|保安|保姆|策划|运营|产品|站长|馆长|院长|校长"
    r"|主任|创始人|老板|博主|主播|歌手|音乐家|木匠|裁缝|画师|编剧|主编|飞行员|空姐|空乘"
    r"|船长|列车长|消防员|法官|检察官|公务员|程序员|开发|测试|前端|后端|架构师|产品经理"
    r"|合伙人|董事|董事长|总裁|总经理"
    r"|CEO|CTO|CFO|COO|HR|PM|[Ee]ngineer|[Dd]eveloper|[Dd]esigner|[Mm]anager|自由职业者?"
    r"|个体户|志愿者|教练|兽医|牙医|中医|药剂师|画手|建筑师|花匠|园丁|渔民|导游|调酒师"
    r"|咖啡师|面包师|化妆师|美容师|理发师|快递员|图书管理员|管理员|社工|技工|电工|水管工"
    r"|焊工|学者|家庭主妇|全职妈妈)$"
)
_NO_ROLE = re.compile(
    r"[我你她它谁哪这那的]|(?<!吉)他|不|^(?:好|坏|新|老|大|小|女|男|优秀|普通|合格|一般)"
    r"(?:学生|[人员])?$|^(?:成员|会员|一员|队员|团员|社员|党员|球员|人员|动员|复员|全员"
    r"|官员|演员表|要员|议员们|雇员|员工|职员|管理员)$|唯一|最|像|似|迷$|粉丝"
)
_AT_AS = re.compile(
    r"^在(?P<org>[^,]{2,24}?)(?:里|里面|那边|这边)?(?:做|当|担任|任职?|干|出任)"
    r"(?:了?[\d一二两三四五六七八九十]+年的?)?(?:一?[名个位])?(?P<role>[^,]{2,14}?)(?:了)"
    r"?$"
)
_AT = re.compile(
    r"^在(?P<org>[^,]{2,24}?)(?:里|里面|那边|这边)?(?:上班|工作|任职|就职|供职|打工|干活"
    r"|做事|搬砖|谋职|效力|服务)(?:了?(?:已经|快|都)?[\d一二两三四五六七八九十半]+(?:多)"
    r"?(?:个)?[年月](?:多)?了?|着|了)?"
    r"(?:,?(?:是|做|当|担任)(?:一?[名个位])?(?P<role>[^,]{2,14}))?$"
)
_WITH = re.compile(
    r"^(?:就职于|任职于|供职于|效力于|受雇于|就职在|任职在|服务于)(?P<org>[^,]{2,24}?)"
    r"(?:,?(?:担任|任|做|当)(?P<role>[^,]{2,12}))?$"
)
_FOR = re.compile(r"^(?:为|给|帮|替)(?P<org>[^,]{2,20}?)(?:工作|打工|效力|干活)(?:了)?$")
_JOINED = re.compile(
    r"^(?:也|就)?(?:入职到?|加入到?|加盟|跳槽到了?|跳槽去了?|跳槽至|跳到|跳去|转到|转去"
    r"|转职到|被调到|调到|调去|进入?|去了?|到了?|应聘到|受聘于|换到)(?P<done>了)"
    r"?(?P<org>[^,]{2,24}?)(?P<work>(?:来|去)?(?:上班|工作|任职|就职|实习|公司))?"
    r"(?:(?:,)?(?:做|当|担任|任)(?:一?[名个位])?(?P<role>[^,]{2,12}?))?(?P<done2>了)?$"
)
#: 从阿里跳槽到腾讯: the employer that is left, before the verb
_FROM_JOB = re.compile(r"^从(?P<old>[^,]{2,20}?)(?=跳槽到|跳槽去|跳到|跳去|转到|换到|入职)")
_JOIN_VERB = re.compile(
    r"^(?:也|就)?(?P<verb>入职|加入|加盟|跳槽|跳[到去]|转|被?调|进入?|去|到|应聘|受聘|换)"
)
_COMPANY_IS = re.compile(
    r"^的?(?:公司|单位|雇主|东家|工作单位)(?:现在|目前)?(?:是|叫做?|名叫)(?P<org>[^,]{2,24})$"
)
_STAFF = re.compile(r"^是(?P<org>[^,]{2,24}?)(?:公司)?的(?:一?[名个位])?(?P<role>[^,的]{2,12})$")
_IS_ROLE = re.compile(
    r"^(?:是|做|当|干)(?P<mark>(?:一?[名位])|一个|个)?(?P<role>[^,]{2,14}?)(?P<de>的|工作的)?$"
)
_NOT_ROLE = re.compile(
    r"^(?:不是|并不是|并非|不再是|已不是|不当|不做|不再当)(?:一?[名个位])"
    r"?(?P<role>[^,]{2,12}?)(?P<end>了)?$"
)
_JOB = re.compile(
    r"^的?(?:职业|工作|职位|岗位|本职工作|本行|职务|头衔)(?:是|:)(?:一?[名个位])"
    r"?(?P<role>[^,]{2,14})$|^(?:从事|做着?)(?P<role2>[^,]{2,12})(?:的)?(?:工作|行业)$"
    r"|^(?:担任|任|升任|升为|升职为|升职成了?|转行做了?|转行当了?|改行做了?|改行当了?)"
    r"(?:了)?(?:一?[名个位])?(?P<role3>[^,]{2,14}?)(?:了)?$"
    r"|^当(?:了)?[\d一二两三四五六七八九十几]{1,3}多?年的?(?P<role4>[^,]{2,10}?)了?$"
)
_LEFT = re.compile(
    r"^(?:从|自)(?P<org>[^,]{2,24}?)(?:离职|辞职|离开|跳槽|退休|裸辞|毕业|被裁|被优化|走人"
    r"|走)(?:出来|掉)?(?:了)?$"
    r"|^(?:离开|辞别|告别|离职|辞去|退出|辞掉|辞(?!职))(?P<done>了)?(?P<org2>[^,]{2,24}?)"
    r"(?:的(?:工作|职位|职务|岗位))?(?P<done2>了)?$"
    r"|^(?:把|将)(?P<org3>[^,]{2,24}?)的?(?:工作|职位)(?:给)?(?:辞|辞掉|辞了|辞掉了)(?:了)"
    r"?$|^被(?P<org4>[^,]{2,24}?)(?:裁|辞退|解雇|开除|优化)(?:掉)?了$"
)
_NOT_AT = re.compile(
    r"^(?P<no>不|没有?|并不|并没有?|并未|不再|没再)(?:是)?在(?P<org>[^,]{2,24}?)(?:那边"
    r"|那儿|这边|里)?(?:上班|工作|任职|就职|干|做|打工|供职|上过班|工作过|任职过|干过)"
    r"(?P<end>了)?$"
    r"|^(?P<no2>不|没|不再)在(?P<org2>[^,]{2,24}?)(?P<end2>了)$"
)
_MEMBER = re.compile(
    r"^是(?:(?:我们?)?(?:学校|公司|小区|社区|当地|本地|单位|大学|村)里?的)"
    r"?(?P<org>[^,]{2,24}?)的?(?:一名|一个|一位)?(?:正式|新|老|资深|终身|荣誉)?(?:成员"
    r"|会员|队员|团员|社员|一员|理事|队长|副?社长|副?团长|会长|主唱|鼓手|贝斯手|吉他手"
    r"|键盘手|指挥|志愿者|主力|前锋|守门员|后卫|秘书长)$"
)
_NOT_MEMBER = re.compile(
    r"^(?:不再是|不是|已不是|并不是|并非)(?P<org>[^,]{2,24}?)的?(?:成员|会员|队员|团员"
    r"|社员|一员|人)(?P<end>了)?$"
)
_QUIT = re.compile(
    r"^(?:退出|退)(?P<done>了)?(?P<org>[^,]{2,24}?)(?P<done2>了)?$"
    r"|^从(?P<org2>[^,]{2,24}?)(?:退出|退会|退队|退社|退团)(?:来)?了?$"
)
_PLAYS_IN = re.compile(
    r"^在(?:(?:我们?)?(?:学校|公司|小区|社区|当地|本地|单位|大学|村)里?的)"
    r"?(?P<org>[^,]{2,20}?)(?:里)?(?:唱歌|唱[^,]{1,4}|打鼓|踢球|打球|拉琴|拉[^,]{1,4}|弹琴"
    r"|弹[^,]{1,4}|担任[^,]{1,5}|当主唱|吹[^,]{1,4})$"
)
_JOINED_CLUB = re.compile(
    r"^(?:报名)?(?:加入|参加|进入?|入)(?:到)?(?P<done>了)?(?:(?:我们?)?(?:学校|公司|小区"
    r"|社区|当地|本地|单位|大学|村)里?的)?(?P<org>[^,]{2,24}?)(?P<done2>了)?$"
)
_STUDIES = re.compile(
    r"^(?:就读于|就读在|就读|求学于|在读于)(?P<org>[^,]{2,24}?)(?:[^,]{0,8}?(?:专业|系))?$"
    r"|^在(?P<org2>[^,]{2,24}?)(?:里)?(?:读书|念书|上学|读研|读博|读研究生|读博士|读硕士"
    r"|读本科|读[^,]{1,8}?(?:专业|系|学|班)?|念[^,]{1,8}|上课|(?<![大中小文科同放])学(?!院"
    r"|校)习?[^,]{0,10}|求学|深造|留学|就读|上[大高初]?[一二三四])$"
    r"|^是(?P<org3>[^,]{0,20}?(?:大学|学院|中学|小学|高中|学校|附中|[一二三四]中|清华|北大"
    r"|复旦|师大|科大|交大|浙大|University|College))(?:的)?(?:一名)?(?:[^,的]{0,8}?(?:系"
    r"|专业)的?)?(?:在读)?(?:[大研高初][一二三四])?(?:的)?(?:学生|本科生|研究生|博士生"
    r"|硕士生|新生|在读生|在校生|留学生)$"
    r"|^(?:读|上|念)(?:的是|了)?(?P<org4>[^,]{2,16})$|^(?:考上|考入|考进|考取|转学到)"
    r"(?:了)?(?P<org5>[^,]{2,20}?)(?:了)?$"
)
_NOT_STAFF = re.compile(
    r"^(?:不是|并不是|并非|不再是|已不是)(?P<org>[^,]{2,24}?)的(?:员工|职员|雇员|正式员工|人)(?P<end>了)?$"
)
_NOT_STUDIES = re.compile(
    r"^(?:不|没有?|不再)在(?P<org>[^,]{2,24}?)(?:读书|念书|上学|读研|读博|学习|就读)(?P<end>了)?$"
)
#: 换工作了，现在在腾讯: the employer alone, after the word that the work changed
_BARE_AT = re.compile(r"^在(?P<org>[^,]{2,16}?)(?:了|那边|这边)?$")
_LEAVES = re.compile(
    r"^(?:离职|辞职|辞了?工作|跳槽|换了?(?:份|个)?新?(?:工作|公司|东家|单位)|被裁员?)了$"
)
#: where somebody goes besides to work: 去了海边
_ELSEWHERE = re.compile(
    r"[边滩山海岛吧馆厅店场站园家校院村镇县城国洲原林湖河江乡寺庙市]$|旅|玩|休|度假|散步|留学|读|看"
)
_INTERN = re.compile(r"^在(?P<org>[^,]{2,24}?)(?:里)?实习$")


def leaves(text: str, claims: list[ClaimStated]) -> bool:
    """Whether a clause (folded, without its subject) or its claims say that a job was left."""
    ended = any(
        c.predicate == "works_for" and c.stance == "reject" and c.change == "world_change"
        for c in claims
    )
    return ended or bool(_LEAVES.match(text))


def read(s: Statement) -> list[ClaimStated]:
    """Claims `works_for`, `works_as`, `member_of` and `studies_at` of one statement."""
    text = s.core.text
    for rule in (_denied, _left, _member, _study, _joined, _work, _occupation):
        found = rule(s, text)
        if found is not None:
            return found
    return []


def _said(s: Statement, match: re.Match[str], *groups: str) -> tuple[str, str]:
    """The first matched group in the speaker's words, and folded."""
    for group in groups:
        if match[group]:
            return s.core.said(match, group), match[group].strip()
    return "", ""


def _named(s: Statement, words: str, text: str, kind: str) -> str | None:
    check = {"employer": org.employer, "school": org.school, "club": org.club}[kind]
    name = check(text)
    return words[: len(name)].strip() if name else None


def _role(
    s: Statement, match: re.Match[str], group: str, *, sure: bool = False
) -> ClaimStated | None:
    text = (match[group] or "").strip()
    if not 2 <= len(text) <= 14 or _NO_ROLE.search(text):
        return None
    if not sure and not _ROLE_END.search(text):
        return None
    return s.claim("works_as", s.core.said(match, group), "string")


def _denied(s: Statement, text: str) -> list[ClaimStated] | None:
    match = _NOT_AT.match(text)
    if match:
        name = _named(s, *_said(s, match, "org", "org2"), "employer")
        short = match["org2"] is not None
        held = _held(s, _said(s, match, "org", "org2")[1])
        if held and (match["end"] or match["end2"]):
            return [_over(s, "works_for", held, True)]
        if name is None or (short and not org.looks_like_company(name)):
            return [] if name is None else None
        ended = bool(match["end"] or match["end2"] or (match["no"] or "").endswith("再"))
        return [_over(s, "works_for", name, ended)]
    match = _NOT_STAFF.match(text)
    if match:
        name = _named(s, *_said(s, match, "org"), "employer")
        if name and org.looks_like_company(name):
            return [_over(s, "works_for", name, bool(match["end"]) or "再" in text[:3])]
    match = _NOT_MEMBER.match(text)
    if match:
        name = _named(s, *_said(s, match, "org"), "club")
        member = text[-1] != "人" or (name is not None and org.looks_like_club(name))
        return [_over(s, "member_of", name, bool(match["end"]))] if name and member else []
    match = _NOT_STUDIES.match(text)
    if match:
        name = _named(s, *_said(s, match, "org"), "school")
        return [_over(s, "studies_at", name, bool(match["end"]))] if name else []
    return None


def _held(s: Statement, folded: str) -> str | None:
    """The employer named before that folded words mean: 阿里 after 阿里巴巴."""
    name = folded.removesuffix("公司") or folded
    return next((e for e in s.employers if len(name) > 1 and names_part_of(name, e)), None)


def _begun(s: Statement, name: str) -> str | None:
    """The day of the message where `name` takes the place of an employer named before.

    Without an earlier employer the words tell of no change that anybody could date.
    """
    held = s.employers and not any(names_part_of(name, e) for e in s.employers)
    return s.day() if held else None


def _over(s: Statement, predicate: str, name: str, ended: bool) -> ClaimStated:
    if ended:
        start = s.start()
        if start is None and predicate == "works_for" and name in s.employers:
            start = s.day()
        return s.claim(
            predicate, name, "Organization", "reject", valid_from=start, change="world_change"
        )
    return s.claim(predicate, name, "Organization", "reject")


def _left(s: Statement, text: str) -> list[ClaimStated] | None:
    match = _QUIT.match(text)
    if match:
        words, folded = _said(s, match, "org", "org2")
        name = _named(s, words, folded, "club")
        done = match["done"] or match["done2"] or match["org2"] or s.dates
        if name and done and org.looks_like_club(name):
            return [_over(s, "member_of", name, True)]
    match = _LEFT.match(text)
    if not match or s.ahead():
        return None
    words, folded = _said(s, match, "org", "org2", "org3", "org4")
    name = _named(s, words, folded, "employer")
    if "毕业" in text:
        return []
    held = _held(s, folded)
    if held:
        return [_over(s, "works_for", held, True)]
    if name is None:
        return []
    if org.looks_like_club(name):
        return [_over(s, "member_of", name, True)]
    sure = match["org"] or match["org3"] or match["org4"] or text.startswith(("辞", "离职"))
    if sure or org.looks_like_company(name):
        return [_over(s, "works_for", name, True)]
    return []


def _member(s: Statement, text: str) -> list[ClaimStated] | None:
    if s.ahead():
        return None
    match = _MEMBER.match(text) or _PLAYS_IN.match(text)
    if match:
        name = _named(s, *_said(s, match, "org"), "club")
        if name is None or (match.re is _PLAYS_IN and not org.looks_like_club(name)):
            return None
        return [s.claim("member_of", name, "Organization", valid_from=s.since())]
    match = _JOINED_CLUB.match(text)
    if match and (match["done"] or match["done2"] or s.now or s.start()):
        name = _named(s, *_said(s, match, "org"), "club")
        if (
            name
            and org.looks_like_club(name)
            and not re.search(r"聚会|会议|大会|晚会|年会|音乐会|婚", name)
        ):
            return [s.claim("member_of", name, "Organization", valid_from=s.start())]
    return None


def _study(s: Statement, text: str) -> list[ClaimStated] | None:
    match = _STUDIES.match(text)
    if not match or s.ahead():
        return None
    name = _named(s, *_said(s, match, "org", "org2", "org3", "org4", "org5"), "school")
    if name is None:
        return None
    start = s.start() if match["org5"] else s.since()
    if (
        s.dated()
        and not match["org5"]
        and not all(d.iso and len(d.iso) == 4 and d.ahead for d in s.dates if d.role != "since")
    ):
        return []
    return [s.claim("studies_at", name, "Organization", valid_from=start)]


def _joined(s: Statement, text: str) -> list[ClaimStated] | None:
    source = _FROM_JOB.match(text)
    if source:
        s = replace(s, core=s.core.part(source.end()))
        text = s.core.text
    match = _JOINED.match(text)
    if not match or s.ahead():
        return None
    held = _held(s, source["old"]) if source else None
    done = (
        match["done"]
        or match["done2"]
        or s.now
        or s.start()
        or re.match(r"跳槽到了|跳槽去了|去了|到了", text)
    )
    name = _named(s, *_said(s, match, "org"), "employer")
    begins = _JOIN_VERB.match(text)
    if name is None or not done or begins is None:
        return None
    verb = begins["verb"]
    sure = bool(match["work"]) or verb.endswith(("入职", "跳槽", "应聘", "受聘"))
    weak = verb.endswith(("去", "到", "进", "进入", "换", "转"))
    moved = s.left and bool(s.employers)
    if (
        not sure
        and not moved
        and (weak or not org.looks_like_company(name) or org.looks_like_school(name))
    ):
        return None
    if org.looks_like_club(name) and not sure:
        return None
    if moved and not sure and not org.looks_like_company(name) and _ELSEWHERE.search(name):
        return None
    start = s.start() or _begun(s, name)
    found = [s.claim("works_for", name, "Organization", valid_from=start, change="world_change")]
    if held:
        found.insert(0, _over(s, "works_for", held, True))
    role = _role(s, match, "role")
    return [*found, role] if role else found


def _work(s: Statement, text: str) -> list[ClaimStated] | None:
    if s.ahead():
        return None
    match = _BARE_AT.match(text) if s.left and s.now and not _AT.match(text) else None
    if match:
        name = _named(s, *_said(s, match, "org"), "employer")
        start = _begun(s, name) if name else None
        if name and start and not _ELSEWHERE.search(name):
            return [
                s.claim("works_for", name, "Organization", valid_from=start, change="world_change")
            ]
    for pattern in (_AT, _AT_AS, _WITH, _FOR, _COMPANY_IS, _INTERN, _STAFF):
        match = pattern.match(text)
        if not match:
            continue
        found: list[ClaimStated] = []
        role = None
        if "role" in pattern.groupindex:
            role = _role(s, match, "role", sure=False)
        if pattern in (_AT_AS, _STAFF) and role is None:
            if pattern is _STAFF and re.search(
                r"的(?:员工|职员|雇员|正式员工|老员工|新员工)$", text
            ):
                role = None
            else:
                continue
        name = _named(s, *_said(s, match, "org"), "employer")
        if (
            pattern is _STAFF
            and name
            and not (org.looks_like_company(name) or org.looks_like_school(name))
        ):
            name = None
        if s.dated() and not all(
            d.iso and len(d.iso) == 4 and d.ahead for d in s.dates if d.role != "since"
        ):
            return []
        if name:
            change: Change | None = "world_change" if s.now or s.since() else None
            changed = s.left or (s.now and text.endswith("了"))
            start = s.since() or (_begun(s, name) if changed else None)
            found.append(
                s.claim("works_for", name, "Organization", valid_from=start, change=change)
            )
        if role:
            found.append(role)
        return found
    return None


def _occupation(s: Statement, text: str) -> list[ClaimStated] | None:
    if s.ahead() or s.dated():
        return None
    match = _NOT_ROLE.match(text)
    if match:
        role = _role(s, match, "role")
        ended = bool(match["end"]) or "再" in text[:3]
        change: Change | None = "world_change" if ended else None
        return [replace(role, stance="reject", change=role.change or change)] if role else None
    match = _JOB.match(text)
    if match:
        for group in ("role", "role2", "role3", "role4"):
            role = _role(s, match, group, sure=group == "role")
            if role:
                return [role]
        return None
    match = _IS_ROLE.match(text)
    if match:
        role = _role(s, match, "role")
        if role is None and match["de"] and text.startswith(("做", "是做", "干")):
            words = match["role"].removeprefix("做")
            if 2 <= len(words) <= 8 and not _NO_ROLE.search(words):
                said = s.core.said(match, "role")
                return [s.claim("works_as", said[len(said) - len(words) :], "string")]
            return None
        if role is None or (text.startswith(("做", "干")) and len(match["role"]) > 8):
            return None
        return [role]
    return None
