"""Whether a message says what an encoder took from it.

A model's proposal is untrusted. These checks need no understanding: they ask whether the words are
there. They can refuse something true, and that is the side to err on (design section 5.1).
"""

from __future__ import annotations

import calendar
import functools
import itertools
import unicodedata
import zoneinfo
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

import regex

from pipelines.formation.lexicon import LANGUAGES, TIME_ZONES
from pipelines.formation.likeness import terms
from storage.clock import parse_text
from storage.errors import InvalidInput

_TOKEN = regex.compile(r"(?V1)\p{Han}|[[\p{L}\p{M}\p{N}]--\p{Han}]+")
_HAN = regex.compile(r"\p{Han}")
_SPACE = regex.compile(r"\s+")
_SENTENCE_END = regex.compile(r"[.!?。！？…]+[\s\"'”’」)]*|\n+")
_QUESTION = regex.compile(r"[?？]\s*[\"'”’」)]*\s*$")
#: words of a name that may be missing from the text
_FUNCTION = frozenset(
    ["a", "an", "her", "his", "its", "my", "of", "our", "s", "the", "their", "your"]
)

FIRST_PERSON = regex.compile(
    r"(?i)(?<![\w])(?:i|me|my|mine|myself|we|us|our|ours|im|ive)(?![\w])|[我俺咱]"
)
THIRD_PERSON = regex.compile(
    r"(?i)(?<!\w)(?:he|she|they|him|her|his|hers|them|their|theirs|it|its|who|my|our)(?!\w)|[他她它]|[我咱]"
)
SECOND_PERSON = regex.compile(r"(?i)(?<!\w)(?:you|your|yours|u)(?!\w)|[你您]")
NEGATION = regex.compile(
    r"(?i)(?<!\w)(?:not|no|never|nor|neither|none|without|cannot|hates?|hated|dislikes?|disliked|"
    r"detests?|loathes?|avoids?|left|leave|leaving|quit|quits|stopped|stops|resigned|retired|"
    r"rather than|instead of|over|former|formerly|ex|used to|anymore|any more|gave up|given up|"
    r"sold|lost|divorced|broke up|moved|dropped|can't|sick of|fed up)(?!\w)|n['’]t\b"
    r"|[不没非未别]|讨厌|离开|离职|辞|以前|曾|戒|卖|而不是|烦"
)
ADDITION = regex.compile(
    r"(?i)(?<!\w)(?:also|too|as well|besides|in addition|additionally|another|second|both|plus|"
    r"on top of)(?!\w)|另外|还有|也|还|同时|兼"
)
#: words by which speakers mend what they said; the weak ones say other things as well
CORRECTION = regex.compile(
    r"(?i)(?<!\w)(?:mis(?:typed|spoke|said|remembered|wrote)|typo|mistake|mistaken|mixed up|"
    r"meant|i mean|correction|correcting|scratch that|strike that|"
    r"should have (?:been|said|read|written))(?!\w)"
    r"|说错|写错|打错|记错|弄错|搞错|口误|笔误|更正|纠正|我是说"
)
WEAK_CORRECTION = regex.compile(
    r"(?i)(?:^|(?<=[.!?\n]\s*))no\b|(?<!\w)(?:no,|nope|sorry|oops|my bad|wrong|wasn['’]t|isn['’]t|"
    r"should be|actually|rather|instead)(?!\w)|不是|不对|应该是|其实|抱歉|不好意思"
)
#: words by which they say that something became different
CHANGE = regex.compile(
    r"(?i)(?<!\w)(?:no longer|any ?more|left|quit|stopped|resigned|retired|moved|moving|switched|"
    r"changed|became|become|promoted|replaced|instead|used to|until|sold|swapped|transferred|"
    r"gave up|now|these days|nowadays|new|since|from now|converted|renamed|broke up|divorced|"
    r"divorce|remarried|turned|took over|started|starting|joined)(?!\w)"
    r"|不再|离开|离职|辞|搬|换|改|转|现在|如今|目前|以前|曾经|新|升|卖|戒|分手|离婚|开始|起|加入|调"
)
#: of those, the ones that say that the earlier state is over, whatever the predicate
ENDING = regex.compile(
    r"(?i)(?<!\w)(?:no longer|any ?more|left|quit|stopped|resigned|retired|moved|switched|changed|"
    r"promoted|replaced|instead|used to|until|sold|swapped|transferred|gave up|converted|renamed|"
    r"broke up|divorced|divorce|remarried|took over from)(?!\w)"
    r"|不再|已经不|不在|离开|离职|入职|跳槽|辞|搬|换|改|转|以前|曾经|升|卖|戒|分手|离婚|调"
)
RETRACTION = regex.compile(
    r"(?i)(?<!\w)(?:jok(?:e|ed|es|ing)|kidding|forget|ignore|disregard|scratch|strike|never mind|"
    r"nevermind|nothing of|not true|untrue|made (?:that|it|this) up|take (?:that|it|this) back|"
    r"didn['’]t mean|wasn['’]t (?:true|serious|right)|wrong|delete|remove|retract|withdraw)(?!\w)"
    r"|玩笑|当我没说|忘掉|忘了|收回|别当真|瞎说|乱说|不算|不是真的|假的|删"
)
STANDING = regex.compile(
    r"(?i)(?<!\w)(?:always|never|from now on|from here on|going forward|in (?:the )?future|"
    r"henceforth|every time|each time|whenever|when(?:ever)? you|by default|at all times|"
    r"do(?:n['’]t| not)|stop \w+ing|unless i|only ever|any time|for all|in all|all (?:my|your)|"
    r"every|each)(?!\w)|以后|今后|从现在|一直|总是|永远|始终|每次|每当|都|不要|别|务必|必须|一律|默认"
)
WITHDRAWAL = regex.compile(
    r"(?i)(?<!\w)(?:no longer|any ?more|forget|drop|again|need(?:n['’]t| not)|never mind|cancel|"
    r"don['’]t (?:have|need) to|lift(?:ed)?|undo|not necessary|back to|can stop|may stop|"
    r"stop)(?!\w)|不用|不必|取消|恢复|不再|算了|别再|忘"
)
#: words by which a commitment is done, given up or moved
FULFILMENT = regex.compile(
    r"(?i)(?<!\w)(?:done|did|have|has|already|finished|sent|paid|made|bought|wrote|gave|took|met|"
    r"went|got|brought|told|\w{3,24}ed)(?!\w)|['’]ve\b|了|已|完|过|好"
)
UNFULFILLED = regex.compile(
    r"(?i)(?<!\w)(?:not|never|still|yet|will|going to)(?!\w)|n['’]t\b|['’]ll\b|没|还要|会|将"
)
CANCELLATION = regex.compile(
    r"(?i)(?<!\w)(?:cancel\w*|call(?:ed|ing)? off|off|no longer|any ?more|forget|no need|"
    r"need(?:n['’]t| not)|never mind|won['’]t|can['’]t|cannot|not|drop\w*|skip\w*|instead)(?!\w)"
    r"|n['’]t\b|不|取消|算了|别|没法"
)
MOVING = regex.compile(
    r"(?i)(?<!\w)(?:instead|mov\w+|postpon\w+|reschedul\w+|push\w*|delay\w*|later|earlier|"
    r"forward|chang\w+|rather|not|now|shift\w*|put off|make it|extend\w*|until)(?!\w)"
    r"|n['’]t\b|改|推|提前|延|换|不是|挪"
)
#: what nobody may lay down through a conversation: authority, secrets, how to treat instructions
AUTHORITY = regex.compile(
    r"(?i)(?<!\w)(?:admin(?:istrator)? (?:rights?|access|role|mode|privileges?)|root|sudo|"
    r"superuser|privileges?|permissions?|authori[sz](?:ed|ation)|credentials?|passwords?|"
    r"passphrase|api keys?|secret keys?|access (?:rights?|tokens?|level)|"
    r"system prompt|developer (?:mode|message)|"
    r"jailbreak|(?:ignore|disregard|override|bypass)(?: \w+){0,4} "
    r"(?:instructions?|rules?|polic(?:y|ies)|restrictions?|safety|prompts?|guardrails?|filters?))(?!\w)"
    r"|管理员|权限|超级用户|密码|口令|密钥|系统提示|忽略.{0,8}(?:指令|规则|限制|提示)"
)
_DATE_WORD = regex.compile(
    r"(?i)\d|(?<!\w)(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)(?:s|nes|rs|ur)?(?:day)?s?(?!\w)"
    r"|(?<!\w)(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)(?:uary|ruary|ch|il|e|y|ust|"
    r"tember|ober|ember)?(?!\w)|(?<!\w)(?:today|tonight|tomorrow|yesterday|week|weeks|weekend|month|"
    r"months|year|years|day|days|morning|noon|afternoon|evening|midnight|spring|summer|autumn|fall|"
    r"winter|christmas|easter|fortnight|next|last|end|birthday|now|hours?|minutes?)(?!\w)"
    r"|[日号天周月年春夏秋冬晚午]|星期|礼拜|今|明|昨|后天|底|现在|小时"
)
_DAY = regex.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", regex.ASCII)
_BIRTHDAY = regex.compile(r"(?:(\d{4})|-)-(\d{2})-(\d{2})", regex.ASCII)
_TAG = regex.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}", regex.ASCII)
_OFFSET = regex.compile(r"[+-](0\d|1[0-4]):[0-5]\d", regex.ASCII)
_HAN_NUMBER = regex.compile(r"[一二三四五六七八九十]")


def folded(text: str) -> str:
    """`text` without differences of case, width, accents, apostrophes and white space."""
    low = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    if not low.isascii():
        low = "".join(c for c in unicodedata.normalize("NFD", low) if not unicodedata.combining(c))
        low = unicodedata.normalize("NFC", low)
    return _SPACE.sub(" ", low).strip()


def _stem(word: str) -> str:
    for ending in ("es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


class Said:
    """What one text says, prepared for many questions. `text` is masked (`masking.readable`)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded = folded(text)
        tokens = _TOKEN.findall(self._folded)
        self._words = frozenset(_stem(t) for t in tokens)
        self.numbers = frozenset(t.lstrip("0") or "0" for t in tokens if t.isdigit())
        # `terms` looks at the start of a text only, so a long one is given to it in pieces
        pieces = [self._folded[i : i + 360] for i in range(0, len(self._folded), 330)]
        self.terms: frozenset[str] = frozenset().union(*(terms(p) for p in pieces))

    def names(self, name: str) -> bool:
        """Whether every word of a name is here; articles, possessives and a plural do not count."""
        low = folded(name)
        words = [t for t in _TOKEN.findall(low) if not _HAN.match(t) and t not in _FUNCTION]
        runs = regex.findall(r"\p{Han}+", low)
        if not words and not runs:
            return bool(low) and low in self._folded
        return all(_stem(w) in self._words for w in words) and all(
            r in self._folded or (r[:-1] in self._folded and len(r) > 2 and r[-1] in "市省县区")
            for r in runs
        )

    def quotes(self, quote: str) -> bool:
        """Whether `quote` stands here word for word."""
        wanted = folded(quote).strip(" .,;:!?\"'。，；！？…")
        return bool(wanted) and wanted in self._folded

    def sentence(self, quote: str) -> str:
        """The sentence that `quote` begins in, with its closing mark; the text when not found."""
        start = folded(quote).strip(" .,;:!?\"'。，；！？…")[:24]
        return next((s for s, low in self._sentences if start in low), self.text)

    @functools.cached_property
    def _sentences(self) -> list[tuple[str, str]]:
        ends = [0, *(m.end() for m in _SENTENCE_END.finditer(self.text)), len(self.text)]
        sentences = [self.text[i:j] for i, j in itertools.pairwise(ends)]
        return [(s, folded(s)) for s in sentences if s]

    def share(self, text: str) -> float:
        """Which share of the content words of `text` is here; 0 when it has none."""
        return share(text, [self])

    @property
    def asks(self) -> bool:
        """Whether the text ends as a question."""
        return _QUESTION.search(self.text) is not None

    @property
    def dated(self) -> bool:
        """Whether any word here can be part of a date."""
        return _DATE_WORD.search(self.text) is not None


def share(text: str, said: Iterable[Said]) -> float:
    """Which share of the content words of `text` is in any of the texts; 0 when it has none."""
    wanted = terms(text)
    found = wanted.intersection(frozenset().union(*(s.terms for s in said)))
    return len(found) / len(wanted) if wanted else 0.0


def is_question(sentence: str) -> bool:
    """Whether a sentence closes with a question mark."""
    return _QUESTION.search(sentence) is not None


def stated_period(text: str) -> str | None:
    """`text` if it is a real YYYY, YYYY-MM or YYYY-MM-DD between 1900 and 2200, else None."""
    match = _DAY.fullmatch(text)
    if match is None or not 1900 <= int(match[1]) <= 2200:
        return None
    try:
        date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return None
    return text


def due_instant(text: str) -> datetime | None:
    """The instant that a due date names, or None when it is none.

    A day, month or year means its last millisecond in UTC; an RFC 3339 time is itself.
    """
    period = stated_period(text)
    if period is None:
        try:
            return parse_text(text)
        except InvalidInput:
            return None
    parts = [int(p) for p in period.split("-")]
    year = parts[0]
    month = parts[1] if len(parts) > 1 else 12
    day = parts[2] if len(parts) > 2 else calendar.monthrange(year, month)[1]
    return datetime(year, month, day, tzinfo=UTC) + timedelta(days=1) - timedelta(milliseconds=1)


def spoken_language(value: str, said: Said) -> str | None:
    """The BCP 47 tag of a language that the text names, from a tag or a name; else None."""
    tag = LANGUAGES.get(folded(value), value if _TAG.fullmatch(value) else None)
    if tag is None:
        return None
    primary = tag.split("-")[0]
    named = any(t.split("-")[0] == primary and said.names(n) for n, t in LANGUAGES.items())
    return tag if named else None


def time_zone(value: str, said: Said) -> str | None:
    """A time zone (IANA name or offset) that the text names, else None."""
    spoken = [n for n, zone in TIME_ZONES.items() if zone == value and said.names(n)]
    if match := _OFFSET.fullmatch(value):
        hours = str(int(match[1]))
        return value if spoken or hours in said.numbers else None
    try:
        known = value in zoneinfo.available_timezones()
    except OSError:
        known = False
    if not known or "/" not in value:
        return None
    return value if spoken or said.names(value.rsplit("/", 1)[1].replace("_", " ")) else None


def birthday(value: str, said: Said) -> str | None:
    """A date of birth whose day and year the text gives in figures (or its day in Chinese)."""
    match = _BIRTHDAY.fullmatch(value)
    if match is None:
        return None
    try:
        date(int(match[1] or 2000), int(match[2]), int(match[3]))
    except ValueError:
        return None
    figures = {n for word in said.numbers for n in (word, *regex.findall(r"\d+", word))}
    joined = regex.findall(r"\d+", said.text)
    figures |= {n.lstrip("0") or "0" for n in joined}
    day = str(int(match[3])) in figures
    if not day and not joined and _HAN_NUMBER.search(said.text):
        day = True
    return value if day and (not match[1] or match[1] in figures) else None
