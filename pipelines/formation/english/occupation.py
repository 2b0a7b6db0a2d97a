"""Work, membership and study: for whom, as what, where."""

from __future__ import annotations

import regex

from pipelines.formation.discourse import Discourse
from pipelines.formation.english.clauses import Clause
from pipelines.formation.english.names import ORGANISATION, is_name, is_organisation
from pipelines.formation.findings import ClaimStated, Finding
from pipelines.formation.lexicon import CLUB_NOUNS, LANGUAGES, OCCUPATIONS, SCHOOL_NOUNS, word_set
from pipelines.formation.likeness import names_part_of

_ORG = (
    r"(?:the |a company called |a (?:\w+ )?(?:company|firm|startup|start-up|agency|studio|"
    rf"school|shop|place) (?:called|named) )?(?-i:(?P<org>{ORGANISATION}))"
)
_ROLE_WORDS = r"(?:[a-z][\w'/-]* ){0,4}?[a-z][\w'/-]*"
_ACRONYM_ROLE = (
    r"(?:CEO|CTO|CFO|COO|CIO|VP|HR manager|QA engineer|UX designer|IT specialist|"
    r"[A-Z]{2,3} (?:engineer|designer|manager|specialist|technician|consultant))"
)
_HOW = (
    r"(?: (?:part-time|full-time|part time|full time|remotely|nights|freelance|mostly|now|here|"
    r"there|again|in [a-z]+(?: [a-z]+)?|as an? [a-z-]+(?: [a-z-]+){0,2}|night shifts|days|"
    r"from home|on weekends|on [a-z]+(?: [a-z]+)?))*"
)
_WORKS = regex.compile(
    r"(?i)^(?P<verb>(?:do not |does not |no longer |have not |has not )?(?:work|works|"
    r"working|freelance|freelances|"
    r"(?:am|is|are) (?:not |no longer )?(?:working|employed|freelancing|contracted)|"
    r"(?:have|has) (?:not )?(?:worked|been working|been employed)))"
    rf"(?P<how>{_HOW}) (?:for|at|with|over at|by) {_ORG}(?P<rest>.*)"
)
_IS_WITH = regex.compile(
    r"(?i)^(?P<verb>(?:am|is|have been|has been) (?P<neg>not |no longer )?)(?:with|at|"
    rf"employed at) {_ORG}(?P<rest>.*)"
)
_IS_ROLE = regex.compile(
    r"(?i)^(?P<verb>(?:am|is|have been|has been|became|have become|"
    r"has become) (?P<neg>not |no longer )?)(?:now )?(?:working as )?(?:an?|the|their|"
    rf"one of the|head of|chief) (?P<role>(?-i:{_ACRONYM_ROLE})|{_ROLE_WORDS})"
    rf"(?:(?: (?:at|for|with|in|of)) {_ORG}(?P<rest>.*)|(?P<tail>$|[,.;]| (?:by|in|and|at|"
    r"from|here|now|living|based|working|who|with|for|on|since|these|full|part)\b.*))"
)
_HEAD_OF = regex.compile(
    r"(?i)^(?:am|is|became|was (?:appointed|promoted to)) (?:now )?(?:the |"
    r"an? )?(?P<role>(?:head|director|vice president|vp|manager|lead|"
    rf"chief) of (?!the\b)[a-z]+(?: [a-z]+){{0,2}}?)(?: (?:at|for|with) {_ORG})?(?P<rest>$|"
    r"[,.;].*| (?:on|in|since|and|now|there|here)\b.*)"
)
_ROLE_ONLY = regex.compile(
    r"(?i)^(?:(?P<neg>do not |does not |no longer )?(?:work|works|working|(?:am|"
    r"is) (?:not |no longer )?(?:working|employed)|(?:have|has) (?:worked|"
    r"been working))(?: [a-z-]+)?? as (?:an?|the) "
    r"|(?:have|has) (?:got )?a job as (?:an?|the) |got a (?:new )?job as (?:an?|the) |"
    rf"was promoted to (?:the )?)(?P<role>(?-i:{_ACRONYM_ROLE})|"
    rf"(?:[a-z][\w'/-]* ){{0,3}}?[a-z][\w'/-]*?)"
    r"(?=$|[,.;]| (?:at|for|with|in|on|and|since|from|who|these|now|by|of)\b)(?: (?:at|"
    rf"for|with) {_ORG})?(?P<rest>.*)"
)
_JOINED = regex.compile(
    r"(?i)^(?:have |has )?(?:joined|started (?:a new job |a job |working |work |"
    r"my new job )?(?:at|for|with)|got (?:a |the |my )?(?:new )?job (?:at|with)|"
    r"(?:have|has) (?:got )?(?:a |the |my )?new job (?:at|with)|took (?:a|"
    r"the) (?:\w+ )?(?:job|position|role|post) (?:at|with)|was hired (?:by|at)|"
    r"got hired (?:by|at)|"
    r"switched (?:jobs )?to|changed jobs to|signed (?:on )?with|began (?:working |"
    rf"work )?(?:at|for|with)) {_ORG}(?P<rest>.*)"
)
_LEFT = regex.compile(
    r"(?i)^(?P<verb>(?:have |has )?(?:left|quit|resigned from|retired from|"
    r"stopped working (?:at|for|with)|finished (?:at|working (?:at|for))|"
    r"(?:was|got|were|have been|has been) (?:fired from|let go (?:from|by)|"
    r"laid off (?:from|by)|sacked (?:from|by)|made redundant (?:by|at|from))|"
    r"handed in my notice at|dropped out of|"
    r"(?:left|quit|resigned from|lost|gave up) (?:my|his|her|our|the) (?:old )?(?:job|"
    r"position|post|role|membership)(?: (?:at|with|in|for|"
    rf"of))))(?: the)? (?-i:(?P<org>{ORGANISATION}))(?P<rest>.*)"
)
_LEFT_CLUB = regex.compile(
    r"(?i)^(?:have |has )?(?:left|quit|resigned from|dropped out of) (?:the|our|"
    r"my) (?P<club>(?:[\w'-]+ ){0,3}?(?P<noun>" + "|".join(sorted(CLUB_NOUNS)) + r"))\b(?P<rest>.*)"
)
_LAST_DAY = regex.compile(
    r"(?i)^my last day (?:at work )?(?:at|with|"
    rf"for) (?:the )?(?-i:(?P<org>{ORGANISATION})) (?:was|is) (?P<rest>.*)"
)
_CONTRACT_ENDED = regex.compile(
    rf"(?i)^my (?:contract|job|time|employment|position|internship|stint) (?:with|at|for) (?:the )?"
    rf"(?-i:(?P<org>{ORGANISATION})) (?:has |is )?(?:ended|ends|over|finished|expired|came to an "
    rf"end|ran out)\b(?P<rest>.*)"
)
_EMPLOYER_IS = regex.compile(
    r"(?i)^(?:my|our) (?:new |current |present )?(?:employer|workplace|company)(?: is|"
    rf":)(?: now)?(?: called)? (?:the )?(?-i:(?P<org>{ORGANISATION}))(?P<rest>.*)"
)
_JOB_IS = regex.compile(
    r"(?i)^(?:my (?:new |current )?(?:job|profession|occupation|trade|job title|"
    r"day job) is (?:(?:that of )?an? |to be an? |"
    r"being an? )?)(?P<role>[a-z][\w'/ -]{2,40}?)(?=$|[,.;]| (?:at|for|with|in|and)\b)"
)
_MEMBER = regex.compile(
    r"(?i)^(?P<verb>(?:am|is|are|have been|has been|became|have become|"
    r"has become) (?P<neg>not |no longer )?)(?:an? |the )?(?:\w+ )?(?:member|part|"
    r"president|treasurer|chair|captain|secretary) (?:of|in|at) (?:the |our |my |"
    rf"a )?(?P<org>(?-i:{ORGANISATION})|"
    rf"(?:[\w'-]+ ){{0,3}}(?:{'|'.join(sorted(CLUB_NOUNS))})\b)(?P<rest>.*)"
)
_BELONGS = regex.compile(
    r"(?i)^(?P<neg>do not |does not |no longer )?(?:belongs?|have belonged|"
    rf"has belonged) to (?:the |our |a )?(?P<org>(?-i:{ORGANISATION})|"
    rf"(?:[\w'-]+ ){{0,3}}(?:{'|'.join(sorted(CLUB_NOUNS))})\b)(?P<rest>.*)"
)
_IN_CLUB = regex.compile(
    r"(?i)^(?P<verb>(?:(?:am|is|are) (?P<neg>not |no longer )?|(?:sing|sings|play|plays|"
    r"row|rows|dance|dances|run|runs|train|trains|volunteer|"
    rf"volunteers) (?:[\w']+ ){{0,3}}?))(?:in|on|with|for) (?:the|our|a|my local|"
    r"the "
    r"local) "
    rf"(?P<org>(?:[\w'’-]+ ){{0,4}}?(?P<noun>{'|'.join(sorted(CLUB_NOUNS))}))\b(?P<rest>.*)"
)
_DEGREE = (
    r"(?:ph\.?d\.?|doctorate|doctoral|master'?s?|bachelor'?s?|mba|msc|bsc|ba|ma|llb|llm|mphil|"
    r"dphil|"
    r"diploma|apprenticeship|degree|foundation year|a-levels?|undergrad(?:uate)?|postgrad(?:uate)?)"
)
_NTH = r"(?:\d(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|final|last|penultimate)"
_LEARNER = (
    r"(?:student|undergrad(?:uate)?|postgrad(?:uate)?|freshman|fresher|sophomore|junior|senior|"
    rf"{_NTH}[- ]year|(?:phd|doctoral|master'?s?) (?:candidate|researcher)|pupil|trainee teacher)"
)
_STUDIES = regex.compile(
    r"(?i)^(?P<verb>(?:do not |does not |no longer )?(?:study|studies|studying|(?:am|"
    r"is) (?:not |no longer )?(?:studying|enrolled|doing (?:my|his|her|a) [\w .'-]{2,30}?|"
    rf"an? (?:[\w'-]+ ){{0,4}}?{_LEARNER}|"
    r"majoring|minoring|reading (?!an?\b|the\b|my\b|some\b|aloud\b|up\b)\w+|"
    rf"in (?:my|his|her) {_NTH} (?:year|semester|term)|"
    rf"(?:working on|writing|pursuing|taking|finishing|completing) (?:my|his|her|an?) "
    rf"(?:[\w'-]+ ){{0,2}}?{_DEGREE}|doing (?:my |his |her |an? )?(?:[\w'-]+ ){{0,2}}?{_DEGREE}|"
    r"doing (?!an?\b|the\b|my\b|his\b|her\b|well\b|fine\b|ok\b|good\b|some\b|research\b|work\b|"
    r"this\b|that\b|it\b|something\b|volunteer)[a-z]+(?: (?:and )?[a-z]+)?(?= at\b))|"
    r"(?:have|has) been (?:studying|a student|enrolled)|majors? in))"
    rf"(?: [a-z][\w-]*(?: [a-z&][\w-]*){{0,4}}?)? (?:at|in|"
    rf"with) (?:the )?(?-i:(?P<org>{ORGANISATION}))(?P<rest>.*)"
)
_ATTENDS = regex.compile(
    r"(?i)^(?P<neg>do not |does not |no longer )?(?:attends?|go(?:es)? to|(?:am|"
    r"is) attending|started at|enrolled at|enrolled in|"
    rf"have enrolled at) (?:the )?(?-i:(?P<org>{ORGANISATION}))(?P<rest>.*)"
)
_TEACHES = regex.compile(
    rf"(?i)^(?:teach|teaches|am teaching|is teaching)(?: [a-z]+(?: [a-z]+){{0,3}})? at "
    rf"(?:the )?(?-i:(?P<org>{ORGANISATION}))(?P<rest>.*)"
)
_RUNS = regex.compile(
    r"(?i)^(?:am|is) (?:the )?(?:owner|founder|co-founder|head|director|ceo) (?:of|"
    rf"at) (?:the )?(?-i:(?P<org>{ORGANISATION}))(?P<rest>.*)"
)
_NO_EMPLOYERS = word_set(
    "home Home Python Java Excel Monday Tuesday Wednesday "
    "Thursday Friday Saturday Sunday SQL Linux Windows "
    "January February March April May June July August September "
    "October November December Christmas I "
    "English French German Spanish Italian GitHub Jira Slack "
    "Zoom Photoshop Kubernetes Docker React AWS HTML "
    "CSS JavaScript PDF PDFs Easter AM PM A The My"
)
_NO_ROLE_HEADS = word_set(
    "head assistant model agent guide operator captain principal student guard host"
)


def _organisation(raw: str) -> str | None:
    """An organisation's name, without what clearly no longer belongs to it."""
    words = raw.strip(" .,'’").split()
    while words and (
        words[-1].strip(".") in _NO_EMPLOYERS
        or words[-1] in ("and", "of", "for", "the", "de", "y", "&")
    ):
        words.pop()
    if words and words[-1].endswith(("'s", "’s")) and len(words) == 1:
        return None
    if not words or words[0] in _NO_EMPLOYERS or words[0].lower() in LANGUAGES:
        return None
    joined = " ".join(words)
    halves = regex.split(r" and ", joined)
    if len(halves) == 2 and is_organisation(halves[0]) and len(halves[0].split()) > 1:
        return halves[0]
    return joined


def _role(raw: str) -> str | None:
    """An occupation in the speaker's words, when its head noun is a known one."""
    words = regex.sub(
        r"(?i)^(?:self-employed|registered|qualified|full-time|part-time|fellow) ",
        "",
        raw.strip(),
    )
    parts = words.split()
    if not parts or len(parts) > 5:
        return None
    if parts[0].lower() in (
        "good",
        "bad",
        "terrible",
        "big",
        "huge",
        "great",
        "fast",
        "slow",
        "better",
        "retired",
        "former",
        "ex",
        "aspiring",
        "wannabe",
        "born",
        "natural",
        "careful",
        "nervous",
        "future",
        "lousy",
        "decent",
        "hobby",
        "amateur",
        "would-be",
        "keen",
        "heavy",
        "early",
        "night",
    ):
        return None
    if parts[-1][0].isupper() and not parts[-1].isupper() and not words.istitle():
        return None
    if len(parts) > 1 and words.istitle():
        return None  # "a German Shepherd"
    head = parts[-1].lower().strip(".,")
    head = head.split("/")[-1]
    if words.upper() in ("CEO", "CTO", "CFO", "COO", "CIO", "VP"):
        return words
    if head in OCCUPATIONS and not (
        len(parts) == 1 and head in _NO_ROLE_HEADS and head != "student"
    ):
        return words
    return None


def _works_there(between: str) -> bool:
    """Whether the words before "at" end in a trade: "a senior lecturer at …", "student advisor"."""
    words = between.split()[:-1]
    words = words[:-1] if words[-1:] == ["at"] else words
    return bool(words) and words[-1].lower() in OCCUPATIONS


def _is_club(organisation: str) -> bool:
    last = organisation.lower().split()[-1]
    return last in CLUB_NOUNS


def _is_school(organisation: str) -> bool:
    return any(w in SCHOOL_NOUNS for w in organisation.lower().split())


def _started(c: Clause, *, change: bool) -> str | None:
    found = c.date(past=True)
    if found is None:
        return None
    phrase = c.verb[found.start : found.end] or c.opening
    if regex.match(r"(?i)(?:starting|beginning|effective)\b", phrase.strip()):
        later = c.date(past=False)
        return later.iso if later else None
    if change or regex.match(r"(?i)(?:since|from|as of|as from|starting)\b", phrase.strip()):
        return found.iso
    opened = c.opening and regex.match(r"(?i)(?:since|from|as of|starting)\b", c.opening)
    return found.iso if opened else None


def read(c: Clause, memory: Discourse) -> list[Finding]:
    """`works_for`, `works_as`, `member_of` and `studies_at` claims of a clause."""
    if c.doubtful or c.conditional:
        return []
    found: list[Finding] = []
    verb = c.verb
    owner = memory.speaker(c.message)

    def state(
        predicate: str, value: str | None, kind: str, *, subject: str | None = None, **more: object
    ) -> None:
        if value:
            for one in (subject,) if subject else c.subjects:
                found.append(ClaimStated(one, predicate, value, kind, c.message, **more))  # type: ignore[arg-type]

    if not c.subjects:
        if m := _EMPLOYER_IS.match(c.text):
            state(
                "works_for",
                _organisation(m["org"]),
                "Organization",
                subject=owner,
                change="world_change" if regex.search(r"(?i)\bnew\b|\bnow\b", c.text) else None,
            )
        elif m := _LAST_DAY.match(c.text) or _CONTRACT_ENDED.match(c.text):
            organisation = _organisation(m["org"])
            when = c.date(past=" is " not in c.text and " ends" not in c.text)
            if organisation and when and when.due.date() <= c.at.date():
                state(
                    "works_for",
                    organisation,
                    "Organization",
                    subject=owner,
                    stance="reject",
                    valid_from=when.iso,
                    change="world_change",
                )
        elif m := _JOB_IS.match(c.text):
            state("works_as", _role(m["role"]), "string", subject=owner)
        return found

    if (m := _STUDIES.match(verb)) and not _works_there(verb[m.end("verb") : m.start("org")]):
        organisation = _organisation(m["org"])
        if organisation and (
            _is_school(organisation)
            or regex.match(r"(?i)[A-Z]{2,6}$", organisation)
            or regex.search(rf"(?i)stud|enrolled|\b{_DEGREE}\b|under", m["verb"])
        ):
            said = m["verb"].lower()
            negative = "not" in said or "no longer" in said
            if not (
                negative is False
                and regex.search(r"(?i)\bin\b", verb[m.start("org") - 8 : m.start("org")])
                and not _is_school(organisation)
            ):
                state(
                    "studies_at",
                    organisation,
                    "Organization",
                    stance="reject" if negative else "support",
                    valid_from=_started(c, change="longer" in said),
                    change="world_change"
                    if "no longer" in said or (c.now and not negative)
                    else None,
                )
        return found
    if m := _TEACHES.match(verb):
        state("works_for", _organisation(m["org"]), "Organization")
        return found
    if m := _ATTENDS.match(verb):
        organisation = _organisation(m["org"])
        if organisation and _is_school(organisation) and len(organisation.split()) > 1:
            state(
                "studies_at",
                organisation,
                "Organization",
                stance="reject" if m["neg"] else "support",
                valid_from=_started(c, change=True),
                change="world_change" if m["neg"] and "longer" in m["neg"] else None,
            )
            return found
    if m := _MEMBER.match(verb):
        raw = m["org"]
        organisation = _organisation(raw) if raw[0].isupper() else raw
        if organisation and "part of" in verb.lower() and not _is_club(organisation):
            organisation = None
        ended = (
            "no longer" in (m["neg"] or "")
            or regex.search(r"(?i)\bany ?more\b", m["rest"]) is not None
        )
        state(
            "member_of",
            organisation,
            "Organization",
            stance="reject" if m["neg"] else "support",
            valid_from=_started(c, change="became" in verb or "become" in verb or ended),
            change="world_change" if m["neg"] and ended else None,
        )
        return found
    if m := _BELONGS.match(verb):
        raw = m["org"]
        organisation = _organisation(raw) if raw[0].isupper() else raw
        if organisation and _is_club(organisation):
            state(
                "member_of",
                organisation,
                "Organization",
                stance="reject" if m["neg"] else "support",
                change="world_change" if m["neg"] and "longer" in m["neg"] else None,
            )
        return found
    if (
        (m := _IN_CLUB.match(verb))
        and m["noun"].lower()
        not in (
            "group",
            "network",
            "community",
            "board",
            "union",
            "gym",
            "chapter",
            "circle",
            "trio",
            "order",
            "federation",
            "council",
            "committee",
            "scouts",
            "cooperative",
            "association",
            "team",
        )
    ) or (m and m["org"][0].isupper()):
        organisation = m["org"]
        if len(organisation.split()) > 1 or m["noun"].lower() in ("choir", "orchestra", "band"):
            ended = (
                "no longer" in (m["neg"] or "")
                or regex.search(r"(?i)\bany ?more\b", m["rest"]) is not None
            )
            if not regex.match(r"(?i)\s*(?:chat|call|meeting|room|house|bar)\b", m["rest"]):
                state(
                    "member_of",
                    organisation,
                    "Organization",
                    stance="reject" if m["neg"] else "support",
                    change="world_change" if ended else None,
                )
        return found
    if m := _LEFT.match(verb):
        _leaving(c, memory, m, found)
        return found
    if m := _LEFT_CLUB.match(verb):
        if m["noun"].lower() in CLUB_NOUNS and m["noun"].lower() not in (
            "party",
            "group",
            "team",
            "gym",
        ):
            state(
                "member_of",
                m["club"],
                "Organization",
                stance="reject",
                valid_from=_started(c, change=True),
                change="world_change",
            )
        return found
    if m := _JOINED.match(verb):
        organisation = _organisation(m["org"])
        if organisation and not (
            verb.lower().startswith(("switched", "signed")) and not is_organisation(organisation)
        ):
            if regex.match(
                r"(?i)(?:the )?(?:meeting|call|zoom|channel|chat|room|party for)\b",
                verb[m.start("org") :],
            ):
                return found
            club = _is_club(organisation)
            school = (
                not club
                and "joined" not in verb
                and _is_school(organisation)
                and "job" not in verb
                and "work" not in verb
            )
            if (
                is_name(organisation)
                and len(organisation.split()) == 1
                and "joined" in verb.lower()
                and organisation in memory.named
            ):
                return found
            role = regex.search(
                r"(?i) as (?:an?|the|their) (?P<role>[a-z][\w' /-]{2,40}?)(?=$|[,.;]|"
                r" (?:on|in|at|last|this|since|and)\b)",
                m["rest"],
            )
            state(
                "member_of" if club else "studies_at" if school else "works_for",
                organisation,
                "Organization",
                valid_from=_started(c, change=True),
                change=None if club else "world_change",
            )
            if role and not club:
                state("works_as", _role(role["role"]), "string")
        else:
            club_words = regex.match(
                r"(?i)(?:have |has )?joined (?:the|a|our|my local|"
                r"the local) (?P<club>(?:[\w'-]+ ){1,3}(?P<noun>[a-z]+))\b",
                verb,
            )
            if club_words and club_words["noun"].lower() in CLUB_NOUNS - {"party", "group", "team"}:
                state(
                    "member_of",
                    club_words["club"],
                    "Organization",
                    valid_from=_started(c, change=True),
                )
        return found
    if m := regex.match(
        r"(?i)(?:have |has )?joined (?:the|a|our|my local|"
        r"the local) (?P<club>(?:[\w'-]+ ){1,3}?(?P<noun>[a-z]+))(?=$| (?:in|on|last|this|"
        r"at|and|yesterday|two|a)\b|,)",
        verb,
    ):
        if m["noun"].lower() in CLUB_NOUNS - {"party", "group", "team"}:
            state("member_of", m["club"], "Organization", valid_from=_started(c, change=True))
        return found
    if m := _WORKS.match(verb):
        organisation = _organisation(m["org"])
        if (
            organisation
            and " with " in verb[: m.start("org")]
            and not is_organisation(organisation)
        ):
            return found
        said = m["verb"].lower()
        negative = "not" in said or "no longer" in said
        ended = "no longer" in said or (
            negative and regex.search(r"(?i)\b(?:any ?more|any longer)\b", m["rest"]) is not None
        )
        if organisation:
            state(
                "works_for",
                organisation,
                "Organization",
                stance="reject" if negative else "support",
                valid_from=_started(c, change=ended),
                change="world_change" if ended or (c.now and not negative) else None,
            )
        role = regex.search(
            r"(?i) as (?:an?|the|their) (?P<role>[a-z][\w' /-]{2,40}?)(?=$|[,.;]| (?:at|"
            r"for|with|on|in|since|and|these)\b)",
            m["how"] + m["rest"],
        )
        if role and not negative:
            state("works_as", _role(role["role"]), "string")
        return found
    if m := _ROLE_ONLY.match(verb):
        negative = "not " in verb[:20] or "no longer" in verb[:20]
        role_name = _role(m["role"]) or (
            m["role"]
            if m["role"]
            .split()[-1]
            .endswith(("er", "or", "ist", "ian", "man", "woman", "ant", "eer"))
            and len(m["role"].split()) <= 3
            else None
        )
        ended = "no longer" in verb[:20] or (
            negative and regex.search(r"(?i)any ?more", verb) is not None
        )
        state(
            "works_as",
            role_name,
            "string",
            stance="reject" if negative else "support",
            valid_from=_started(c, change=False),
            change="world_change" if ended or c.now else None,
        )
        if m["org"]:
            state(
                "works_for",
                _organisation(m["org"]),
                "Organization",
                stance="reject" if negative else "support",
                change="world_change" if ended or c.now else None,
            )
        return found
    if m := _RUNS.match(verb):
        organisation = _organisation(m["org"])
        if (organisation and not is_name(organisation)) or (
            organisation and is_organisation(organisation)
        ):
            state("works_for", organisation, "Organization")
            title = regex.search(r"(?i)\b(owner|founder|co-founder|director|ceo)\b", verb)
            if title:
                state("works_as", title[1], "string")
        return found
    if m := _HEAD_OF.match(verb):
        state(
            "works_as",
            m["role"],
            "string",
            valid_from=_started(c, change=" became" in f" {verb[:8]}"),
        )
        state("works_for", _organisation(m["org"]) if m["org"] else None, "Organization")
        return found
    if m := _IS_ROLE.match(verb):
        role_name = _role(m["role"])
        negative, ended = (
            bool(m["neg"]),
            "no longer" in (m["neg"] or "") or regex.search(r"(?i)\bany ?more\b", verb) is not None,
        )
        organisation = _organisation(m["org"]) if m["org"] else None
        preposition = verb[m.end("role") :].split()[:1]
        if preposition in (["in"], ["of"]) and organisation and not is_organisation(organisation):
            organisation = None  # "a nurse in Leeds"
        student = role_name is not None and role_name.split()[-1].lower() in (
            "student",
            "undergraduate",
        )
        if organisation and m["role"].split()[-1].lower() in (
            "member",
            "fan",
            "patient",
            "customer",
            "client",
            "guest",
            "regular",
            "volunteer",
            "friend",
            "visitor",
            "user",
            "supporter",
            "alumnus",
            "graduate",
            "subscriber",
            "bit",
            "lot",
            "mess",
            "shareholder",
            "fellow",
        ):
            return found
        became = regex.match(r"(?i)(?:have |has )?bec[ao]me\b", verb) is not None
        fresh = (c.now or became) and not negative
        change = "world_change" if (ended and negative) or fresh else None
        state(
            "works_as",
            role_name,
            "string",
            stance="reject" if negative else "support",
            valid_from=_started(c, change="became" in verb[:12]),
            change=change,
        )
        if organisation and (role_name or is_organisation(organisation)):
            state(
                "studies_at" if student else "works_for",
                organisation,
                "Organization",
                stance="reject" if negative else "support",
                valid_from=_started(c, change=False),
                change=change,
            )
        return found
    if m := _IS_WITH.match(verb):
        organisation = _organisation(m["org"])
        if (
            organisation
            and " at " in verb[: m.start("org")] + " "
            and regex.match(r"(?i)(?:am|is) at\b", verb)
        ):
            return found  # "I am at Foo": where one is just now
        if organisation and is_organisation(organisation) and len(organisation.split()) > 1:
            negative = bool(m["neg"])
            state(
                "member_of" if _is_club(organisation) else "works_for",
                organisation,
                "Organization",
                stance="reject" if negative else "support",
                valid_from=_started(c, change=False),
                change="world_change" if "no longer" in (m["neg"] or "") else None,
            )
    return found


def _leaving(c: Clause, memory: Discourse, m: regex.Match[str], found: list[Finding]) -> None:
    organisation = _organisation(m["org"])
    if organisation is None:
        return
    said = m["verb"].lower()
    for subject in c.subjects:
        held = {
            predicate: [
                h
                for h in memory.earlier(memory.speaker(c.message), subject, predicate)
                if names_part_of(organisation, h.claim.object)
            ]
            for predicate in ("works_for", "member_of", "studies_at", "lives_in")
        }
        predicate = next((p for p, hs in held.items() if hs), None)
        if predicate is None:
            if regex.search(
                r"job|position|post\b|role|notice|fired|laid|sacked|redundant|working|"
                r"retired|let go|resigned",
                said,
            ):
                predicate = "works_for"
            elif _is_club(organisation) or "membership" in said:
                predicate = "member_of"
            elif "dropped out" in said:
                predicate = "studies_at"
            elif is_organisation(organisation):
                predicate = "works_for"
            else:
                return
        found.append(
            ClaimStated(
                subject,
                predicate,
                organisation,
                "Place" if predicate == "lives_in" else "Organization",
                c.message,
                stance="reject",
                valid_from=_started(c, change=True),
                change="world_change",
            )
        )
