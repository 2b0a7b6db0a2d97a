"""Family, friends and people at work: the ties that a clause states."""

from __future__ import annotations

import re

from pipelines.formation.chinese.names import is_name, name_end
from pipelines.formation.chinese.persons import TIES, People, Tie
from pipelines.formation.chinese.phrase import Phrase
from pipelines.formation.chinese.statement import Statement
from pipelines.formation.findings import ClaimStated
from pipelines.formation.proposal import Change

_KIN = "|".join(sorted(TIES, key=len, reverse=True))
_HAS = re.compile(
    rf"^有(?:了)?(?:[一两二三]?(?:个|位|名))?(?:[^,]{{0,4}}?)(?P<kin>{_KIN})(?:(?:名字)"
    rf"?(?:叫做?|名叫|名字叫|名字是)(?P<name>.{{1,12}}))?$"
)
_NAMED = re.compile(r"^(?:他|她)?(?:的)?(?:名字)?(?:叫做?|名叫|名字叫做?|名字是)(?P<name>.{1,12})$")
_IS_MY = re.compile(
    rf"^(?:就)?是(?:我|本人)(?:们(?:公司|部门|组)?|家|现在)?的?(?:大学|高中|初中|小学|亲"
    rf"|最好的|好|新|一个|一位|直属|顶头)*(?P<kin>{_KIN})$"
)
_PAIR = re.compile(
    r"^(?:和|跟|与|同)(?P<names>.{1,20}?)(?:是|都是|成了|成为了?)(?:多年的?|要好的|大学"
    r"|高中|老|好|最好的|很好的|一对)*(?P<tie>同事|朋友|好友|闺蜜|夫妻|两口子|姐妹|兄弟"
    r"|兄妹|姐弟|情侣|恋人|同学|室友|邻居|搭档|双胞胎|亲戚)$"
    r"|^(?:和|跟|与)(?P<married>.{1,10}?)(?:结婚|结为夫妻|订婚|在一起|谈恋爱|领证)"
    r"(?:[^,]{0,5})?了$|^(?:嫁给了?|娶了)(?P<spouse>.{1,10})$"
)
_PAIR_TIES = {
    "同事": "colleague_of",
    "搭档": "colleague_of",
    "朋友": "friend_of",
    "好友": "friend_of",
    "闺蜜": "friend_of",
    "夫妻": "partner_of",
    "两口子": "partner_of",
    "情侣": "partner_of",
    "恋人": "partner_of",
    "姐妹": "sibling_of",
    "兄弟": "sibling_of",
    "兄妹": "sibling_of",
    "姐弟": "sibling_of",
    "双胞胎": "sibling_of",
    "亲戚": "relative_of",
    "同学": "knows",
    "室友": "knows",
    "邻居": "knows",
}
_WITH_ME = re.compile(
    r"^(?P<name>[^,]{1,12}?)(?:和|跟|与)我(?:都)?是(?:多年的?|要好的|大学|高中|老|好|最好的|一对)*"
    rf"(?P<tie>{'|'.join(_PAIR_TIES)})$"
)
_REPORTS = re.compile(r"^(?:直接)?(?:向|对)(?P<name>.{1,8}?)(?:汇报|负责)(?:工作)?$")
_KNOWS = re.compile(
    r"^(?:早就|很早就)?认识(?:了)?(?P<name>.{1,12}?)"
    r"(?:[\d一二三四五六七八九十很好]{1,3}(?:多)?年)?(?:了)?$"
)


def of_subject(
    person: str,
    message: int,
    tie: Tie,
    name: str,
    change: Change | None = None,
    replaces: str | None = None,
) -> ClaimStated:
    """The claim that `name` stands in a relation to a person."""
    predicate, reverse, _ = tie
    subject, object_ = (name, person) if reverse else (person, name)
    return ClaimStated(
        subject, predicate, object_, "Person", message, change=change, replaces=replaces
    )


def read(s: Statement, people: People) -> list[ClaimStated]:
    """Ties that one statement holds; notes the persons it names."""
    text = s.core.text
    if s.own:
        match = _HAS.match(text)
        if match:
            if not match["name"]:
                return []
            return introduced(s, people, match["kin"], s.core.said(match, "name"), match["name"])
        match = _PAIR.match(text)
        if match:
            return _pair(s, people, match)
        match = _REPORTS.match(text)
        if match and is_name(match["name"], people.known()):
            name = s.core.said(match, "name")
            people.meet(name, None)
            return [s.claim("reports_to", name, "Person")]
        match = _KNOWS.match(text)
        if match and is_name(match["name"], people.known()):
            name = s.core.said(match, "name")
            people.meet(name, None)
            return [s.claim("knows", name, "Person")]
        return []
    match = _IS_MY.match(text)
    if match:
        _, tie, name = people.introduce(match["kin"], s.subject)
        return [of_subject(s.speaker, s.message, tie, name, s.change, s.replaces)]
    return []


def with_speaker(s: Statement, people: People, clause: Phrase) -> list[ClaimStated]:
    """罗杉和我是同事: the speaker stands second."""
    match = _WITH_ME.match(clause.text)
    if not match or not is_name(match["name"], people.known()):
        return []
    name = clause.said(match, "name")
    people.meet(name, None)
    return [s.claim(_PAIR_TIES[match["tie"]], name, "Person", subject=s.speaker)]


def introduced(s: Statement, people: People, word: str, words: str, text: str) -> list[ClaimStated]:
    """我有个妹妹叫李雪: the tie and the name."""
    if name_end(text.strip(), 0, people.known(), loose=True) != len(text.strip()):
        return []
    _, tie, name = people.introduce(word, words.strip())
    return [of_subject(s.speaker, s.message, tie, name, s.change, s.replaces)]


def awaits_name(text: str) -> str | None:
    """The relation word of 我有个妹妹, whose name the next clause may give."""
    match = _HAS.match(text)
    return match["kin"] if match and not match["name"] else None


def naming(text: str) -> re.Match[str] | None:
    """叫李雪, 她叫李雪."""
    return _NAMED.match(text)


def _pair(s: Statement, people: People, match: re.Match[str]) -> list[ClaimStated]:
    if match["names"]:
        predicate, group = _PAIR_TIES[match["tie"]], "names"
    else:
        predicate, group = "partner_of", "married" if match["married"] else "spouse"
    text = match[group]
    found, last = [], 0
    for piece in re.finditer(r"[^、和跟与]+", text):
        last = match.start(group) + piece.start()
        if not is_name(piece[0], people.known()):
            return []
        name = s.core.words[last : last + len(piece[0])].strip()
        people.meet(name, None)
        found.append(s.claim(predicate, name, "Person"))
    return found
