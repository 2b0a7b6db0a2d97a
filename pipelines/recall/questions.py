"""What a question asks for, read from its words: predicates, people, promises, rules, the past.

A small lexicon, in English and Chinese, from question words to the predicates of memory. It only
steers: it widens the search for claims by the words that claims are kept under, and says which
claims can be an answer. A question that it does not know is answered from evidence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import regex

from pipelines.recall.ties import PET, Tie, tie_in
from storage.search.analyser import terms

Language = Literal["en", "zh"]

#: predicate -> (English pattern on whole words, Chinese pattern)
_LEXICON: dict[str, tuple[str, str]] = {
    "lives_in": (
        r"liv(?:e|es|ed|ing)|resid\w+|based|home|address|move[sd]?|moving|hometown",
        r"住|定居|搬|家在|安家",
    ),
    "located_in": (r"located|situated", r"位于|坐落"),
    "works_for": (
        r"work(?:s|ed|ing|place)?|employ\w+|compan(?:y|ies)|job|office|firm",
        r"上班|工作|公司|任职|就职|单位|雇主",
    ),
    "works_as": (
        r"work(?:s|ed|ing)? as|jobs?|profession|occupation|career|role|title|living"
        r"|what (?:do|does|did|is) (?:\S+ ){1,3}do(?:ing)?(?= for|\W*$)",
        r"职业|工作|职位|岗位|职务|做什么的|干什么的|是做什么",
    ),
    "member_of": (
        r"members?|membership|clubs?|teams?|groups?|societ(?:y|ies)|associations?|belongs?|join\w*",
        r"成员|会员|俱乐部|社团|协会|队|加入|参加了",
    ),
    "knows": (r"knows?|knew|met|acquaint\w+", r"认识|熟人"),
    "timezone": (r"time ?zones?", r"时区"),
    "speaks": (
        r"speaks?|speaking|spoke|languages?|mother tongue|fluent|bilingual",
        r"语言|母语|说什么语|会说|会讲|讲什么|说哪",
    ),
    "interested_in": (
        r"interest(?:s|ed)?|hobb(?:y|ies)|passions?|into|keen",
        r"兴趣|爱好|感兴趣|业余",
    ),
    "prefers": (
        r"prefer\w*|likes?|liked|lov(?:e|es|ed|ing)|enjoy\w*|favou?rites?|hates?|dislikes?"
        r"|drinks?|eats?|seat",
        r"喜欢|偏好|爱(?!人|好)|最爱|喜好|讨厌|更喜|想喝|想吃|爱喝|爱吃|不吃|不喝",
    ),
    "allergic_to": (
        r"allerg\w+|intoleran\w+|(?:can't|cannot|can not|shouldn't|mustn't|not allowed to|avoid)"
        r"(?: \S+){0,3}? (?:eat|drink|eating|drinking)",
        r"过敏|不耐受|不能[吃喝]|忌口",
    ),
    "owns": (
        r"owns?|owned|possess\w*|belongings|cars?|bikes?|houses?|boats?|ha(?:s|ve) got",
        r"拥有|有什么|有没有|的车|车|房子",
    ),
    "has_pet": (r"pets?|dogs?|cats?|animals?|pupp(?:y|ies)|kittens?", r"宠物|养|猫|狗"),
    "sibling_of": (
        r"siblings?|brothers?|sisters?|twins?",
        r"兄弟|姐妹|哥哥|弟弟|姐姐|妹妹|兄妹|姐弟",
    ),
    "partner_of": (
        r"partners?|wife|husband|spouse|married|marry|girlfriend|boyfriend|fianc\w+|engaged",
        r"妻子|丈夫|老婆|老公|伴侣|爱人|对象|女朋友|男朋友|女友|男友|配偶|结婚|未婚",
    ),
    "friend_of": (r"friends?|buddy|buddies|pals?", r"朋友|好友|闺蜜"),
    "colleague_of": (r"colleagues?|co-?workers?|team-?mates?|works? with", r"同事"),
    "relative_of": (
        r"relatives?|famil(?:y|ies)|uncles?|aunts?|cousins?|nephews?|nieces?|grand\w+|in-law\w*",
        r"亲戚|家人|叔叔|阿姨|舅|姑|姨|表|堂|爷爷|奶奶|外公|外婆",
    ),
    "parent_of": (
        r"parents?|mother|father|mum|mom|dad|sons?|daughters?|child|children|kids?|bab(?:y|ies)",
        r"孩子|儿子|女儿|父母|父亲|母亲|爸|妈",
    ),
    "reports_to": (
        r"reports?|reporting|boss(?:es)?|managers?|manages?|supervis\w+|leads?",
        r"上司|老板|经理|汇报|领导|主管",
    ),
    "born_on": (
        r"birthdays?|born|birth|age|old|turn(?:s|ed|ing)? \d+",
        r"生日|出生|多大|几岁|年龄|[\d一二三四五六七八九十]岁",
    ),
    "comes_from": (
        r"comes? from|came from|from|origin\w*|hometown|native|born",
        r"来自|哪里人|哪儿人|老家|家乡|籍贯|出生",
    ),
    "studies_at": (
        r"stud(?:y|ies|ied|ying|ents?)|universit(?:y|ies)|schools?|colleges?|degrees?|ph\.?d"
        r"|doctorate|master'?s|bachelor'?s|graduat(?:e|es|ed|ing)",
        r"读书|学校|大学|上学|就读|念书|学习|博士|硕士|毕业",
    ),
    "follows_diet": (
        r"diets?|vegetarian|vegan|eats?|eating|dietary|pescatarian",
        r"素食|饮食|忌口|吃素|吃什么|纯素",
    ),
    "also_known_as": (
        r"nick-?names?|called|alias(?:es)?|known as|goes by",
        r"外号|昵称|绰号|别名|小名|叫什么|又叫",
    ),
}
#: where nothing else is asked, the question word itself says a little
_FALLBACK: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        r"where(?:'s| is| are| was)(?: \w+){1,3}(?=\W*$)",
        r"在哪[里儿]?(?=\W*$)",
        ("lives_in", "located_in", "works_for", "studies_at"),
    ),
)
_COMMITMENT = (
    r"promis\w*|commit\w*|agreed? to|going to|plan(?:s|ned|ning)?|to-?dos?|tasks?|remind\w*"
    r"|deadlines?|due|appointments?|supposed to|owes?|pledg\w*|upcoming|ha(?:ve|s) to|needs? to"
    r"|will(?= (?:\S+ ){1,2}(?:do|bring|send|make|buy))",
    r"答应|承诺|保证|计划|打算|要做|待办|提醒|截止|预约|安排|约定|约好|准备做|该做|到期",
)
_CONSTRAINT = (
    r"rules?|instructions?|guidelines?|standing orders?|should you|must you|are you (?:to|supposed)"
    r"|asked you|told you",
    r"规则|规矩|要求你|指示|叮嘱|嘱咐|让你一直|应该怎么|注意什么",
)
_PAST = (
    r"used to|previous(?:ly)?|former(?:ly)?|earlier|in the past|originally|back then|before"
    r"|no longer|history",
    r"以前|曾|之前|过去|原来|从前|原先|当时",
)
#: The counterparty: who asks says "I", and an agent that asks for them says "this user".
_FIRST_PERSON = (
    r"i|me|my|mine|myself|i'm|i've|(?:this|the(?: current)?|current) user(?:'s)?",
    r"我(?!们)|(?:这个|这位|该|当前|此|本)用户",
)
_ABOUT = (
    r"(?:know|remember|tell me|heard|facts|info(?:rmation)?|everything|anything)\b"
    r".*\b(?:about|of|on)|who (?:is|was|are|am)|describe|profile|summari[sz]e",
    r"知道.*什么|了解.*什么|记得.*什么|介绍|是谁|关于",
)
#: "Who is Ana's landlord?" is not about Ana
_SOMEBODY_OF = regex.compile(
    r"(?i)\bwho(?:'s| is| was| are) (?:(?:my|our|his|her|their)\b|(?:[\w.'-]+ ){0,3}?[\w.-]+'s? \w"
    r"|the \w+ of\b)|的[^，。？?]{1,8}是谁"
)
#: what only a point in time, or an age, can answer
_WHEN = (
    r"when|what time|(?:what|which) (?:date|day|month|year)|since when|how long",
    r"什么时候|何时|哪天|哪一天|几号|几点|几月|哪年|多久",
)
_WHETHER = regex.compile(
    r"(?i)^\W*(?:is|are|was|were|am|do|does|did|has|have|can|could|will|would|should)\b|吗\W*$|是不是|有没有"
)
_DENYING = (r"dislikes?|hates?|not|can't|cannot|doesn't|don't|never|avoid\w*", r"不|讨厌|没")
_HOBBIES = (r"hobb(?:y|ies)|pastimes?|(?:spare|free) time|for fun", r"爱好|业余|消遣")
_ACTIVITIES = frozenset(terms("activity sport hobby exercise game music art")) | {"activity"}
_HOW_OLD = (r"how old|what age", r"多大|几岁|年龄|年纪")
#: whether what was promised is asked for also where it is done by now
_PROMISED = (
    r"did|has|have (?:\S+ ){1,3}(?:promised|agreed|committed)|promised|agreed",
    r"(?:答应|承诺|保证)(?:了|过)",
)
#: predicates whose words mean nearly the same: "children" is answered by "two kids"
_ALIKE = (
    "allergic_to", "born_on", "has_pet", "parent_of", "partner_of", "sibling_of", "speaks",
    "studies_at",
)  # fmt: skip
#: German, of which no claims are made: its asking words, and words that mean nearly the same
_GERMAN = regex.compile(
    r"(?i)^\W*(?:wo|wer|wem|wen|wann|wie|warum|weshalb|wieso|wessen|welche[rsnm]?|woher|wohin|wo(?:r)?"
    r"(?:gegen|mit|für|von|an|auf|zu)|was (?!is\b|the\b)\w+|hat|ist|sind|kann|mag|trinkt|isst)\b"
    r"(?!.*\b(?:the|is|does|did|do)\b)"
)
_GERMAN_ASKING = frozenset(
    terms(
        "wo wer wem wen wann wie warum weshalb wieso wessen welche welcher welches welchen welchem "
        "woher wohin wogegen womit wofür wovon woran worauf wozu was ist sind war waren hat haben "
        "hatte wird werden kann mag macht heißt von vom der die das dem den des ein eine einen "
        "einem einer mein meine meinen sein seine seinen ihr ihre ihren im in am an auf bei beim "
        "mit für und oder gegen zu zum zur nach aus er sie es ich du wir jetzt noch denn gerade"
    )
)
_GERMAN_ALIKE = (
    r"wohn\w*|leb(?:e|t|st|en)|umgezogen|gezogen|ziehe|adresse",
    r"arbeite\w*|beruf\w*|job|firma|angestellt|tätig",
    r"allerg\w*|unverträglich\w*|verträgt",
    r"termin\w*|verabred\w*|treffen",
    r"heiß\w*|nam(?:e|en)|genannt",
    r"studier\w*|studium|uni(?:versität)?|hochschule|schule",
    r"verheiratet|frau|mann|ehefrau|ehemann|partner(?:in)?|freund(?:in)?|verlobt",
    r"kind(?:er)?|sohn|tochter|söhne|töchter",
    r"geburtstag|geboren|alt|alter",
)
#: the kind of thing asked for: "which drink does …", "favourite colour"
_KIND = regex.compile(
    r"\bfavou?rite (?:kind of |sort of |type of )?(?P<kind>\w+)"
    r"|\b(?:what|which)(?: kind of| sort of| type of|'s the)? (?P<kind>\w+) "
    r"(?:do|does|did|would|is|are|was|has|have|should)\b"
    r"|\bto (?P<kind>drink|eat)\b"
    r"|\bwhat (?:do|does|did|can|can't|could|should|shouldn't|would|won't) [^?]*?"
    r"\b(?P<kind>drink|eat)\b(?!\s+(?:for|with|at|in|on)\b)",
    regex.IGNORECASE,
)
_KIND_ZH = regex.compile(
    r"[喝吃坐听看穿玩](?=什么|哪)|什么(?P<kind>颜色|饮料|音乐|电影|运动|水果|季节|食物)"
)
#: words for kinds -> the type that memory keeps them under, as a term
_KINDS = {
    "color": "colour", "beverag": "drink", "movi": "film", "meal": "food", "cuisin": "food",
    "dish": "food", "eat": "food", "喝": "drink", "吃": "food", "坐": "seat", "听": "music",
    "看": "film", "穿": "cloth", "玩": "activ", "颜色": "colour", "饮料": "drink", "音乐": "music",
    "电影": "film", "水果": "food", "季节": "season", "食物": "food",
}  # fmt: skip
#: nouns after "which" that ask for a person or anything, not for a kind
_NO_KIND = frozenset(
    terms("thing things person people one city town country place company language")
)
#: terms with which a question asks and that no answer is about
ASKING = frozenset(
    terms(
        "tell say said know remember talk mention happen thing anything come coming 知道 告诉 记得"
    )
)
_HAN = regex.compile(r"\p{Han}")
_LATIN = regex.compile(r"[A-Za-z]{2,}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as its words read.

    `terms` are what the evidence is searched by. `claim_terms` add the words under which claims of
    the asked predicates are kept, and the counterparty for "I" and "my". `about` says that anything
    on the named ones is an answer. `past` says that what no longer holds may be told. `kinds` are
    terms for the kind of thing asked for ("which drink …"), empty when any will do. `topic` are the
    terms left when words like "promised" and "deadline" are taken away: what a promise or a rule is
    to be about. `specific` are the terms that are no predicate's: a claim that answers has one.
    """

    query: str
    language: Language
    terms: tuple[str, ...]
    claim_terms: tuple[str, ...]
    predicates: frozenset[str]
    commitments: bool
    constraints: bool
    past: bool
    about: bool
    kinds: frozenset[str]
    topic: frozenset[str]
    specific: frozenset[str]
    counterparty: tuple[str, ...]
    kind_words: frozenset[str] = frozenset()
    of_any_kind: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    tie: Tie | None = None
    hop: Tie | None = None
    tied: tuple[str, ...] = ()
    whether: bool = False
    denying: bool = False
    when: bool = False
    promised: bool = False
    alike: Mapping[str, regex.Pattern[str]] = field(default_factory=dict)
    asking: frozenset[str] = ASKING

    def names(self, name: str) -> bool:
        """Whether the question names `name`: one of its words, or the counterparty by "my"."""
        own = terms(name)
        if own and _HAN.search(name):
            return name.casefold() in self.query.casefold() or self.is_counterparty(name)
        return bool(set(own).intersection(self.terms)) or self.is_counterparty(name)

    def is_counterparty(self, name: str) -> bool:
        """Whether `name` is the asker's, or another name of those that are asked about."""
        return any(terms(name) == terms(own) for own in self.counterparty)

    def is_alike(self, text: str) -> bool:
        """Whether a text says something like one of the words in `alike`."""
        return any(pattern.search(text) for pattern in self.alike.values())

    def meaning(self, names: Sequence[str]) -> Asked:
        """The question with `names` as further names of those that it is about."""
        further = [term for name in names for term in terms(name)]
        return replace(
            self,
            counterparty=tuple(dict.fromkeys([*self.counterparty, *names])),
            claim_terms=tuple(dict.fromkeys([*self.claim_terms, *further])),
            specific=self.specific.union(further),
        )

    def unanswerable(self) -> Asked:
        """The question as one that no claim answers, only what was said: nobody is known so."""
        return replace(self, predicates=frozenset(), about=False, hop=self.tie)


#: Who speaks where neither a message nor its context says so (`formation.capture`).
NAMELESS = "user"
#: Characters and distinct words of a question that are looked at.
_READ, _TERMS = 2000, 48


def read(query: str, counterparty: tuple[str, ...] = ()) -> Asked:
    """Read `query`; `counterparty` is who asks, by every name that they go by here.

    It counts only where the question says "I", or "this user".
    """
    text = " ".join(query.split()).replace("’", "'")[:_READ]
    predicates = {name for name, patterns in _LEXICON.items() if _matches(text, patterns)}
    if _matches(text, _HOW_OLD):
        predicates = {"born_on"}
    hobbies = _matches(text, _HOBBIES)
    if hobbies:
        predicates.add("prefers")
    if "prefers" in predicates:
        predicates.add("likes")
    for english, chinese, fallback in _FALLBACK:
        if not predicates and _matches(text, (english, chinese)):
            predicates.update(fallback)
    about = _matches(text, _ABOUT) and _SOMEBODY_OF.search(text) is None
    if about:
        predicates.discard("knows")
    german = _GERMAN.match(text) is not None
    kinds = _kinds(text)
    wanted = frozenset(_KINDS.get(term, term) for term in kinds)
    tie = tie_in(text)
    if tie is not None:
        predicates.add(tie.kind.predicate)
    who = counterparty if _matches(text, _FIRST_PERSON) else ()
    asking = tuple(dict.fromkeys(term for name in who for term in terms(name)))
    # a query may be a whole page; its first words say what is asked, and each costs a look-up
    own = tuple(dict.fromkeys(terms(text)))[:_TERMS]
    not_asked = ASKING | _GERMAN_ASKING if german else ASKING
    kept_under = [term for name in sorted(predicates) for term in terms(name.replace("_", " "))]
    return Asked(
        query=text,
        language="zh" if _HAN.search(text) and not _mostly_latin(text) else "en",
        terms=own,
        claim_terms=(*own, *asking, *kept_under),
        predicates=frozenset(predicates),
        commitments=_matches(text, _COMMITMENT),
        constraints=_matches(text, _CONSTRAINT),
        past=_matches(text, _PAST),
        about=about and not predicates,
        kinds=wanted | _ACTIVITIES if hobbies else wanted,
        of_any_kind=frozenset({"interested_in"}) if hobbies else frozenset(),
        named=_named(text),
        kind_words=kinds,
        specific=frozenset((*own, *asking)).difference(kept_under),
        topic=frozenset(terms(_without(text, _COMMITMENT, _CONSTRAINT, _PAST))) - not_asked,
        counterparty=who,
        tie=tie,
        whether=_WHETHER.search(text) is not None,
        denying=_matches(text, _DENYING),
        when=_matches(text, _WHEN),
        promised=_matches(text, _PROMISED),
        alike=_alike(text, predicates, german=german),
        asking=not_asked,
    )


#: words that an answer may hold and that alone ask for nothing ("Does Ana eat fish?")
_FURTHER = {
    "has_pet": rf"|{PET}",
    "born_on": r"|(?:i'm|i am|she is|he is|she's|he's|turned) \d{1,3}(?! ?(?:%|min|km|hours|days))",
}


def _alike(text: str, predicates: Collection[str], *, german: bool) -> dict[str, Any]:
    """For terms of the question, what else says nearly the same."""
    patterns = [
        regex.compile(rf"(?i)\b(?:{english}{_FURTHER.get(name, '')})\b|{chinese}")
        for name in _ALIKE
        if name in predicates
        for english, chinese in [_LEXICON[name]]
    ]
    if german:
        patterns += [regex.compile(rf"(?i)\b(?:\w*-)?(?:{words})\b") for words in _GERMAN_ALIKE]
    found: dict[str, Any] = {}
    for pattern in patterns:
        for match in pattern.finditer(text):
            found.update(dict.fromkeys(terms(match[0]), pattern))
    return found


def _matches(text: str, patterns: tuple[str, str]) -> bool:
    english, chinese = patterns
    return bool(
        regex.search(rf"\b(?:{english})\b", text, regex.IGNORECASE) or regex.search(chinese, text)
    )


_CAPITAL = regex.compile(r"(?<!^)(?<![.!?]\s)\b\p{Lu}[\p{L}\p{N}]+")


def _named(text: str) -> frozenset[str]:
    """Terms of the words with a capital, save the first of a sentence."""
    found = {term for word in _CAPITAL.findall(text) for term in terms(word)}
    return frozenset(found) - ASKING


def _kinds(text: str) -> frozenset[str]:
    found: set[str] = set()
    for match in _KIND.finditer(text):
        found.update(term for term in terms(match["kind"]) if term not in _NO_KIND)
    for match in _KIND_ZH.finditer(text):
        found.add(match["kind"] or match[0])
    return frozenset(found)


def _without(text: str, *patterns: tuple[str, str]) -> str:
    for english, chinese in patterns:
        text = regex.sub(rf"\b(?:{english})\b", " ", text, flags=regex.IGNORECASE)
        text = regex.sub(chinese, " ", text)
    return text


def _mostly_latin(text: str) -> bool:
    return len(_LATIN.findall(text)) > len(_HAN.findall(text))
