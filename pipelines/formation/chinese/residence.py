"""Where somebody lives, and where they come from."""

from __future__ import annotations

import re

from pipelines.formation.chinese.phrase import Phrase
from pipelines.formation.chinese.places import is_known, is_town, place
from pipelines.formation.chinese.statement import Statement
from pipelines.formation.findings import ClaimStated
from pipelines.formation.proposal import Change, Stance

_FOR_YEARS = (
    r"(?:已经|都|也|快|有)*(?:[\d一二两三四五六七八九十几半]{1,3}(?:多|来)?(?:个)?(?:年"
    r"|月)(?:多|半)?)"
)
_LIVES = re.compile(
    r"^(?:家)?(?:居住在|定居在|定居于|定居到了?|常住在?|现居|长居|长住|旅居|蜗居在?|住在"
    r"|在住|家住|安家在|落户在?|生活在|扎根在?|家在|(?:人)?住(?P<bare>))"
    rf"(?P<place>[^,]{{2,24}}?)(?:居住|生活)?(?:{_FOR_YEARS})?(?:了)?$"
)
_LIVES_AT = re.compile(
    rf"^(?:家)?在(?P<place>[^,]{{2,20}}?)(?:居住|定居|生活|安家|安了家|落户|落脚|住|扎根)"
    rf"(?:着|下来|下)?(?:了?{_FOR_YEARS}了|了)?$"
)
#: 在湖州工作生活: who works and lives there
_DO = r"(?:工作|学习|上班|上学|读书|求学|打拼|奋斗|创业|发展|打工|生活|居住|定居|安家|住)"
_LIVES_AND_WORKS = re.compile(
    rf"^(?:家)?在(?P<place>[^,]{{2,14}}?)(?=(?:工作|学习|上班|上学|读书|求学|打拼|奋斗|创业|发展|"
    rf"打工)?(?:和|与|、|并|及|兼|,)?"
    rf"(?:生活|居住|定居|安家|住))(?P<acts>{_DO}(?:(?:和|与|、|并且?|及|兼|,)?{_DO}){{1,2}}|"
    rf"安家立业|成家立业)"
    rf"(?:着|下来)?(?:了?{_FOR_YEARS}了?|了)?$"
)
_MOVED = re.compile(
    r"^(?:从(?P<old>[^,]{2,12}?))?(?:全家|举家|一家人?)?(?:搬家到|搬到|搬去|搬来|搬进|搬回"
    r"|搬至|迁居到?|迁到|迁往|迁至|移居到?|移民到?|定居到|落户到|搬家去)(?P<done1>了)"
    r"?(?P<place>[^,]{2,20}?)"
    r"(?:(?:来|去)?(?:居住|住|生活|定居|发展))?(?P<done2>了|的)?$"
)
_MOVED_HOUSE = re.compile(
    r"^(?:把家|家)(?:从[^,]{2,12}?)?搬(?:到|去|来)(?P<done1>了)?(?P<place>[^,]{2,20}?)"
    r"(?P<done2>了)?$"
)
_NOT = re.compile(
    r"^(?P<no>不|没有?|并不|并没有?|没在|不再)(?:再|是)?(?:居住在|住在|定居在|生活在|住过"
    r"|住)(?P<place>[^,]{2,20}?)(?P<end>了)?$"
    r"|^(?P<no2>不|没|并不|并没有?|不再)在(?P<place2>[^,]{2,20}?)(?:住过|居住过|生活过|住"
    r"|居住|生活|定居)(?P<end2>了)?$"
)
_FROM = re.compile(
    r"^(?:的?(?:老家|家乡|故乡|祖籍|籍贯)(?:是|在)(?:的)?|来自于?|出生在|出生于|生在|生于"
    r"|祖籍|籍贯)(?:是)?(?P<place>[^,]{2,16}?)(?:的|人|长大)?$"
)
_NATIVE = re.compile(
    r"^是(?:个|一个|土生土长的|地道的|地地道道的|正宗的|纯正的)?(?P<place>[^,]{2,12}?)"
    r"(?:本地)?(?:人|来的|那边的人|的)$"
)
_CAME = re.compile(r"^(?:是)?(?:从)(?P<place>[^,]{2,12}?)(?:来的|过来的)$")
_NOT_NATIVE = re.compile(r"^(?:不是|并不是|并非)(?P<place>[^,]{2,12}?)(?:本地)?人$")
_BORN_THERE = re.compile(r"^(?:是)?在(?P<place>[^,]{2,12}?)(?:出生|出世)(?:长大)?(?:的)?$")
_HOME = re.compile(
    r"^的?(?:家|住址|住处|住所|现居地|居住地|常住地)(?:现在|目前)?(?:是|在|就在)"
    r"(?P<place>[^,]{2,20}?)$"
)


def read(s: Statement) -> list[ClaimStated]:
    """Claims `lives_in` and `comes_from` of one statement."""
    core = s.core
    for pattern in (_FROM, _CAME, _BORN_THERE, _NATIVE, _NOT_NATIVE):
        match = pattern.match(core.text)
        if match:
            return _origin(s, match, pattern)
    moved = _MOVED.match(core.text) or _MOVED_HOUSE.match(core.text)
    if moved:
        return _move(s, moved)
    denied = _NOT.match(core.text)
    if denied:
        group = "place" if denied["place"] else "place2"
        where = _place(core, denied, group)
        ended = denied["end"] or denied["end2"] or "再" in (denied["no"] or denied["no2"] or "")
        if where is None:
            return []
        if ended:
            return [
                s.claim(
                    "lives_in",
                    where,
                    "Place",
                    "reject",
                    valid_from=s.start(),
                    change="world_change",
                )
            ]
        return [s.claim("lives_in", where, "Place", "reject")]
    match = (
        _LIVES_AND_WORKS.match(core.text)
        or _LIVES.match(core.text)
        or _LIVES_AT.match(core.text)
        or _HOME.match(core.text)
    )
    if not match or s.ahead() or (s.dated() and not _this_year(s)):
        return []
    where = _place(core, match, "place")
    if where is None:
        return []
    if match.re is _LIVES and match["bare"] is not None and not is_known(match["place"]):
        return []
    if match.re is _LIVES_AND_WORKS and not is_town(match["place"]):
        return []  # 在腾讯工作生活: an employer
    change: Change | None = "world_change" if s.now or s.since() else None
    return [s.claim("lives_in", where, "Place", valid_from=s.since(), change=change)]


def _this_year(s: Statement) -> bool:
    return all(
        d.role == "since" or (d.iso is not None and len(d.iso) == 4 and d.ahead) for d in s.dates
    )


def _place(core: Phrase, match: re.Match[str], group: str) -> str | None:
    return place(core.said(match, group), match[group].strip())


def _origin(s: Statement, match: re.Match[str], pattern: re.Pattern[str]) -> list[ClaimStated]:
    text = match["place"].strip()
    where = place(s.core.said(match, "place"), text)
    if where is None or (pattern in (_NATIVE, _NOT_NATIVE, _CAME) and not is_known(text)):
        return []
    stance: Stance = "reject" if pattern is _NOT_NATIVE else "support"
    return [s.claim("comes_from", where, "Place", stance)]


def _move(s: Statement, match: re.Match[str]) -> list[ClaimStated]:
    where = _place(s.core, match, "place")
    if where is None or s.ahead():
        return []
    past = any(d.iso and not d.ahead for d in s.dates) or match["done1"] or match["done2"]
    if not (past or s.now or s.since()):
        return []
    return [s.claim("lives_in", where, "Place", valid_from=s.start(), change="world_change")]
