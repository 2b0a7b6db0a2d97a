"""Ties between persons: family, friends, work; also says who was mentioned, for pronouns."""

from __future__ import annotations

import regex

from pipelines.formation.discourse import Discourse
from pipelines.formation.english.clauses import Clause
from pipelines.formation.english.kinship import KIN, KIN_PLURAL, Tie, kin_word, tie_of
from pipelines.formation.english.names import NAME, gender_of, is_name
from pipelines.formation.findings import ClaimStated, Finding

_ADJECTIVES = (
    r"(?:(?P<adj>(?:best|good|dear|close|old|new|current|younger|older|elder|eldest|"
    r"youngest|oldest|"
    r"little|big|baby|twin|half|step|only|beloved|lovely|long-time|longtime|great|direct|"
    r"second|first|"
    r"middle|other|dear old|school|childhood|\w+-year-old|german|french|work|former|ex|late|future|"
    r"imaginary|previous|almost|line|team|project)) ){0,2}"
)
_GONE = regex.compile(
    r"(?i)\b(?:former|ex|late|future|imaginary|previous|almost|old (?=boss|manager))"
)
_MY_KIN_NAME = regex.compile(
    r"(?i)\b(?:my|"
    rf"our) (?P<adjs>{_ADJECTIVES.replace('?P<adj>', '?:')})(?P<kin>{KIN})(?:, (?=(?:called|"
    rf"named)\b)|, (?=(?-i:{NAME})$)| )"
    r"(?:(?:is |was )?(?:called|named) |is |"
    rf"\()?(?-i:(?P<name>{NAME}))(?P<after>'s\b)?(?P<also>,? and (?-i:(?P<two>{NAME})))?"
)
_MY_KIN_PLURAL = regex.compile(
    r"(?i)\b(?:(?:my|our) (?:two |three |four |five )?|(?P<have>ha(?:ve|s) (?:got )?(?:two|"
    r"three|four|five|\d) )|(?P<of>is one of my ))"
    rf"(?:{_ADJECTIVES.replace('?P<adj>', '?:')})(?P<kin>{KIN_PLURAL})\b(?:,|"
    r" are(?: called| named)?|:| called| named)? "
    rf"(?-i:(?P<names>{NAME}(?:(?:, | and |, and ){NAME})*))"
)
_NAME_MY_KIN = regex.compile(
    rf"(?P<name>{NAME}), (?i:(?:my|"
    rf"our)) (?P<adjs>(?i:{_ADJECTIVES.replace('?P<adj>', '?:')}))(?P<kin>(?i:{KIN}))(?=,|"
    r"$| (?:is|was|has|who|and)\b)"
)
_IS_MY_KIN = regex.compile(
    r"(?i)^(?:is|was) (?P<neg>not |no longer )?(?:my|"
    rf"our) (?P<adjs>{_ADJECTIVES.replace('?P<adj>', '?:')})(?P<kin>{KIN})\b"
    r"(?!'s)(?P<rest>.*)"
)
_IS_KIN_OF_MINE = regex.compile(
    r"(?i)^(?:is|was) (?P<neg>not )?(?:a|an|one of my|"
    rf"one of our) (?P<adjs>{_ADJECTIVES.replace('?P<adj>', '?:')})"
    rf"(?P<kin>{KIN}|{KIN_PLURAL})s?\b(?: (?P<of>of (?:mine|ours)|from (?:work|school|uni))|$)"
)
_KIN_NAME_IS = regex.compile(
    rf"(?i)^(?:my|our) (?P<adjs>{_ADJECTIVES.replace('?P<adj>', '?:')})(?P<kin>{KIN})(?:'s|"
    rf" is) (?:first )?name is (?-i:(?P<name>{NAME}))"
)
_NAME_OF_KIN = regex.compile(
    rf"(?i)^the name of my (?P<adjs>)(?P<kin>{KIN}) is (?-i:(?P<name>{NAME}))"
)
_HAVE_KIN = regex.compile(
    r"(?i)^(?:have|has)(?: got)? (?:a|an|"
    rf"one) (?P<adjs>{_ADJECTIVES.replace('?P<adj>', '?:')})(?P<kin>{KIN}),? "
    rf"(?:(?:who is |whose name is )?(?:called|named)? ?)(?-i:(?P<name>{NAME}))"
)
_KIN_NO_LONGER = regex.compile(
    rf"(?i)^(?:my|our) (?P<adjs>)(?P<kin>{KIN}) is (?:not|no longer) (?-i:(?P<name>{NAME}))"
)
_IS_NAMES_KIN = regex.compile(
    r"(?i)^(?:am|"
    r"is) "
    rf"(?-i:(?P<name>{NAME}))'s "
    rf"(?P<adjs>{_ADJECTIVES.replace('?P<adj>', '?:')})(?P<kin>{KIN})\b(?!'s)"
)
_NAMES_KIN_NAME = regex.compile(
    rf"(?P<owner>{NAME})'s "
    rf"(?P<adjs>(?i:{_ADJECTIVES.replace('?P<adj>', '?:')}))(?P<kin>(?i:{KIN})) "
    rf"(?P<name>{NAME})(?!'s)"
)
_KIN_TO_NAME = regex.compile(
    rf"(?i)^(?:am|is) (?:the|a) (?P<kin>{KIN}) (?:of|to) (?-i:(?P<name>{NAME}))"
)
_MARRIED = regex.compile(
    r"(?i)^(?:am|is|have been|has been|got|am getting|"
    r"is getting) (?P<neg>not )?(?:now )?(?:happily )?(?:married to|engaged to|dating|"
    rf"in a relationship with) (?-i:(?P<name>{NAME}))"
)
_MARRIED_PAST = regex.compile(rf"(?i)^(?:married|have married|has married) (?-i:(?P<name>{NAME}))")
_REPORTS = regex.compile(
    r"(?i)^(?P<neg>do not |does not |no longer )?(?:have to )?reports? (?:directly "
    rf")?to (?:(?-i:(?P<name>{NAME}))|(?P<me>me|us)\b)"
)
_KNOWS = regex.compile(
    r"(?i)^(?:know|knows|have known|has known|have met|"
    rf"met) (?-i:(?P<name>{NAME}))(?: (?:from|through|since|very well|well|personally|via|"
    r"for \w+ years|at|in|as)\b|$)"
)
_WORK_WITH = regex.compile(
    r"(?i)^(?:work|works|am working|is working) (?:closely )?(?:together )?with "
    rf"(?-i:(?P<name>{NAME}))(?=$|,| (?:at|on|in|every|and|for)\b)"
)
_TOGETHER = regex.compile(
    r"(?i)^are (?:(?P<sib>siblings|brothers|sisters|twins|brother and sister)|"
    r"(?P<mar>married|engaged|a couple|partners|together|dating)|(?P<col>colleagues|"
    r"coworkers|co-workers|teammates)|(?P<fri>(?:good |best |close |old )?friends|mates)|"
    r"(?P<rel>cousins|related))\b"
)
#: "Alina and I broke up", "I broke up with Alina"
_PARTED = regex.compile(
    r"(?i)^(?:have |has |just |recently )*(?:broke up|broken up|split up|separated|divorced|"
    r"got divorced|called off (?:our|the) (?:engagement|wedding))"
    rf"(?: (?:with|from))?(?: (?-i:(?P<name>{NAME})))?(?=$|[,.;]| )"
)
_CALLING = regex.compile(r"(?i)\bcalls? $")
_HOST = {
    "sib": "sibling_of",
    "mar": "partner_of",
    "col": "colleague_of",
    "fri": "friend_of",
    "rel": "relative_of",
}


def _tied(
    c: Clause,
    tie: Tie,
    speaker: str,
    name: str,
    *,
    reject: bool = False,
    change: bool = False,
    confidence: float = 0.9,
) -> ClaimStated:
    subject, other = (name, speaker) if tie.inverse else (speaker, name)
    return ClaimStated(
        subject=subject,
        predicate=tie.predicate,
        object=other,
        object_type="Person",
        message=c.message,
        stance="reject" if reject else "support",
        change="world_change" if change else None,
        confidence=confidence,
    )


def _clean(name: str) -> str | None:
    """A person's name, cut where capitals go on into something else; None when it is none."""
    words = name.split()
    while words and not is_name(" ".join(words)):
        words.pop()
    return " ".join(words) if words else None


def read(c: Clause, memory: Discourse) -> list[Finding]:
    """Claims of family, friendship and work ties in a clause that states something."""
    if c.doubtful:
        return []
    speaker = memory.speaker(c.message)
    found: list[Finding] = []
    text = c.text

    def tie_to(
        kin: str, adjs: str, raw: str, *, reject: bool = False, change: bool = False
    ) -> None:
        tie, name = tie_of(kin), _clean(raw)
        if tie is None or name is None or name == speaker or (adjs and _GONE.search(adjs)):
            return
        if adjs and regex.search(r"(?i)\bdirect\b", adjs) and tie.predicate != "reports_to":
            return
        memory.mention(name, c.message, tie.gender or gender_of(name))
        if not reject:
            memory.kin[(speaker, kin_word(kin))] = name
        fresh = regex.search(r"(?i)\bnew\b", adjs or "") is not None or c.now
        found.append(
            _tied(
                c,
                tie,
                speaker,
                name,
                reject=reject,
                change=change or (fresh and tie.predicate == "reports_to"),
            )
        )

    if "my " in text.lower() or "our " in text.lower():
        gone = _KIN_NO_LONGER.match(text)
        if gone:
            tie_to(gone["kin"], "", gone["name"], reject=True, change="no longer" in text)
            return found
        for m in _MY_KIN_NAME.finditer(text):
            if m["kin"].lower() in ("child", "kid", "twin") and m["two"]:
                continue
            name = m["name"]
            if _CALLING.search(text, 0, m.start()) and len(name.split()) == 2:
                name = name.split()[0]  # "we call my brother Tom Tommy"
            tie_to(m["kin"], m["adjs"], name)
        for m in _MY_KIN_PLURAL.finditer(text):
            for name in regex.split(r", and |, | and ", m["names"]):
                tie_to(m["kin"], "", name)
        for m in _NAME_MY_KIN.finditer(text):
            tie_to(m["kin"], m["adjs"], m["name"])
        m = _KIN_NAME_IS.match(text) or _NAME_OF_KIN.match(text)
        if m:
            tie_to(m["kin"], m["adjs"], m["name"])
    elif (m := _MY_KIN_PLURAL.search(text)) and m["have"] and len(c.subjects) == 1:
        for name in regex.split(r", and |, | and ", m["names"]):
            if c.first:
                tie_to(m["kin"], "", name)
            elif (tie := tie_of(m["kin"])) is not None and (other := _clean(name)) is not None:
                found.append(_tied(c, tie, c.subjects[0], other))
    if "'s " in text:
        for m in _NAMES_KIN_NAME.finditer(text):
            tie, owner, name = tie_of(m["kin"]), _clean(m["owner"]), _clean(m["name"])
            if tie and owner and name and not _GONE.search(m["adjs"]):
                found.append(_tied(c, tie, owner, name))
    verb = c.verb
    if not c.subjects:
        return found
    one = c.subjects[0]
    if (m := _PARTED.match(verb)) and (m["name"] or len(c.subjects) == 2):
        other = _clean(m["name"]) if m["name"] else c.subjects[1]
        if other is not None and other != one:
            found.append(
                ClaimStated(
                    one,
                    "partner_of",
                    other,
                    "Person",
                    c.message,
                    stance="reject",
                    change="world_change",
                )
            )
        return found
    if not c.first:
        if m := _IS_MY_KIN.match(verb):
            past = verb.lower().startswith("was") and not m["neg"]
            ended = bool(m["neg"]) and (
                "longer" in m["neg"] or regex.search(r"any ?more|any longer", m["rest"]) is not None
            )
            if not past and not (
                m["rest"] and regex.match(r"(?i) (?:any|favourite)", m["rest"]) and not m["neg"]
            ):
                for name in c.subjects:
                    tie_to(m["kin"], m["adjs"], name, reject=bool(m["neg"]), change=ended)
        elif m := _IS_KIN_OF_MINE.match(verb):
            if m["of"] or "one of my" in verb or "one of our" in verb:
                for name in c.subjects:
                    if not verb.lower().startswith("was"):
                        tie_to(m["kin"], m["adjs"], name, reject=bool(m["neg"]))
        elif (m := _REPORTS.match(verb)) and m["me"] == "me":
            found.append(
                ClaimStated(
                    one,
                    "reports_to",
                    speaker,
                    "Person",
                    c.message,
                    stance="reject" if m["neg"] else "support",
                )
            )
    if c.first and (m := _HAVE_KIN.match(verb)):
        tie_to(m["kin"], m["adjs"], m["name"])
    if m := _IS_NAMES_KIN.match(verb):
        tie, name = tie_of(m["kin"]), _clean(m["name"])
        if tie and name and not _GONE.search(m["adjs"]):
            # "Ana is Tom's mother": Ana is the parent; "Ana is Tom's manager": Tom reports to Ana
            found.append(_tied(c, tie, name, one))
    elif m := _KIN_TO_NAME.match(verb):
        tie, name = tie_of(m["kin"]), _clean(m["name"])
        if tie and name:
            found.append(_tied(c, tie, name, one))
    elif (m := _MARRIED.match(verb) or _MARRIED_PAST.match(verb)) and not regex.match(
        r"(?:am|is) getting", verb
    ):
        name = _clean(m["name"])
        if name:
            memory.mention(name, c.message)
            reject = bool(m.groupdict().get("neg"))
            found.append(
                ClaimStated(
                    one,
                    "partner_of",
                    name,
                    "Person",
                    c.message,
                    stance="reject" if reject else "support",
                )
            )
    elif (m := _REPORTS.match(verb)) and m["name"]:
        name = _clean(m["name"])
        if name:
            memory.mention(name, c.message)
            ended = (m["neg"] or "").lower().startswith("no longer") or (
                m["neg"] and regex.search(r"any ?more", verb)
            )
            found.append(
                ClaimStated(
                    one,
                    "reports_to",
                    name,
                    "Person",
                    c.message,
                    stance="reject" if m["neg"] else "support",
                    change="world_change" if ended or (c.now and not m["neg"]) else None,
                )
            )
    elif m := _KNOWS.match(verb):
        name = _clean(m["name"])
        if name and not verb.lower().startswith("met"):
            memory.mention(name, c.message)
            found.append(ClaimStated(one, "knows", name, "Person", c.message))
    elif m := _WORK_WITH.match(verb):
        name = _clean(m["name"])
        if name:
            memory.mention(name, c.message)
            found.append(
                ClaimStated(one, "colleague_of", name, "Person", c.message, confidence=0.8)
            )
    if len(c.subjects) == 2 and (m := _TOGETHER.match(verb)):
        kind = next(k for k, v in m.groupdict().items() if v)
        found.append(ClaimStated(c.subjects[0], _HOST[kind], c.subjects[1], "Person", c.message))
    return found
