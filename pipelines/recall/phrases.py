"""Claims, promises and quotations as sentences, in the language of the question."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache

from pipelines.formation.lexicon import LANGUAGES
from pipelines.recall.questions import Language
from storage.graph.claims import ClaimView, CommitmentView, ConstraintView
from storage.graph.validity import Bound, End

#: predicate -> (English holds, English does not hold, Chinese holds, Chinese does not hold)
_SENTENCES: dict[str, tuple[str, str, str, str]] = {
    "lives_in": ("{s} lives in {o}", "{s} does not live in {o}", "{s}住在{o}", "{s}不住在{o}"),
    "located_in": ("{s} is in {o}", "{s} is not in {o}", "{s}位于{o}", "{s}不在{o}"),
    "works_for": (
        "{s} works for {o}",
        "{s} does not work for {o}",
        "{s}在{o}工作",
        "{s}不在{o}工作",
    ),
    "works_as": ("{s} works as {o}", "{s} does not work as {o}", "{s}的职业是{o}", "{s}不是{o}"),
    "member_of": (
        "{s} is a member of {o}",
        "{s} is not a member of {o}",
        "{s}是{o}的成员",
        "{s}不是{o}的成员",
    ),
    "knows": ("{s} knows {o}", "{s} does not know {o}", "{s}认识{o}", "{s}不认识{o}"),
    "timezone": (
        "{s}'s time zone is {o}",
        "{s}'s time zone is not {o}",
        "{s}的时区是{o}",
        "{s}的时区不是{o}",
    ),
    "speaks": ("{s} speaks {o}", "{s} does not speak {o}", "{s}会说{o}", "{s}不会说{o}"),
    "interested_in": (
        "{s} is interested in {o}",
        "{s} is not interested in {o}",
        "{s}对{o}感兴趣",
        "{s}对{o}不感兴趣",
    ),
    "prefers": ("{s} likes {o}", "{s} does not like {o}", "{s}喜欢{o}", "{s}不喜欢{o}"),
    "likes": ("{s} likes {o}", "{s} does not like {o}", "{s}喜欢{o}", "{s}不喜欢{o}"),
    "allergic_to": (
        "{s} is allergic to {o}",
        "{s} is not allergic to {o}",
        "{s}对{o}过敏",
        "{s}对{o}不过敏",
    ),
    "owns": ("{s} owns {o}", "{s} does not own {o}", "{s}有{o}", "{s}没有{o}"),
    "has_pet": (
        "{s} has a pet: {o}",
        "{s} does not have the pet {o}",
        "{s}养着{o}",
        "{s}没有养{o}",
    ),
    "sibling_of": (
        "{s} and {o} are siblings",
        "{s} and {o} are not siblings",
        "{s}和{o}是兄弟姐妹",
        "{s}和{o}不是兄弟姐妹",
    ),
    "partner_of": (
        "{s} and {o} are partners",
        "{s} and {o} are not partners",
        "{s}和{o}是伴侣",
        "{s}和{o}不是伴侣",
    ),
    "friend_of": (
        "{s} and {o} are friends",
        "{s} and {o} are not friends",
        "{s}和{o}是朋友",
        "{s}和{o}不是朋友",
    ),
    "colleague_of": (
        "{s} and {o} are colleagues",
        "{s} and {o} are not colleagues",
        "{s}和{o}是同事",
        "{s}和{o}不是同事",
    ),
    "relative_of": (
        "{s} and {o} are related",
        "{s} and {o} are not related",
        "{s}和{o}是亲戚",
        "{s}和{o}不是亲戚",
    ),
    "parent_of": (
        "{s} is a parent of {o}",
        "{s} is not a parent of {o}",
        "{o}是{s}的孩子",
        "{o}不是{s}的孩子",
    ),
    "reports_to": (
        "{s} reports to {o}",
        "{s} does not report to {o}",
        "{s}的上司是{o}",
        "{s}的上司不是{o}",
    ),
    "born_on": (
        "{s} was born on {o}",
        "{s} was not born on {o}",
        "{s}的生日是{o}",
        "{s}的生日不是{o}",
    ),
    "comes_from": (
        "{s} comes from {o}",
        "{s} does not come from {o}",
        "{s}来自{o}",
        "{s}不是{o}人",
    ),
    "studies_at": (
        "{s} studies at {o}",
        "{s} does not study at {o}",
        "{s}就读于{o}",
        "{s}不在{o}就读",
    ),
    "follows_diet": (
        "{s}'s diet is {o}",
        "{s}'s diet is not {o}",
        "{s}的饮食是{o}",
        "{s}的饮食不是{o}",
    ),
    "also_known_as": (
        "{s} is also known as {o}",
        "{s} is not known as {o}",
        "{s}又叫{o}",
        "{s}不叫{o}",
    ),
}


def claim(view: ClaimView, language: Language) -> str:
    """What the claim says, as a clause without an end: `Ana lives in Lisbon since 2026-03-01`."""
    subject, object = view.subject, view.object
    if view.predicate == "born_on":
        object = object.removeprefix("--")
    if view.predicate == "speaks":
        object = _languages(language).get(object, object)
    forms = _SENTENCES.get(view.predicate)
    denied = view.stance == "reject"
    if forms is None:
        words = view.predicate.replace("_", " ")
        clause = f"{subject} {words} {object}"
        if denied:
            clause += "：并非如此" if language == "zh" else " (denied)"
    else:
        clause = forms[(2 if language == "zh" else 0) + denied].format(s=subject, o=object)
    return clause + _since(view.valid.start, language) + _until(view.valid.until, language)


@cache
def _languages(language: Language) -> dict[str, str]:
    """BCP 47 tags, by which memory keeps languages, and their names; the commonest name first."""
    named: dict[str, str] = {}
    for name, tag in LANGUAGES.items():
        if name.isascii() == (language == "en"):
            named.setdefault(tag, name.title() if name.isascii() else name)
    return named


def said(view: ClaimView, language: Language) -> str:
    """Who said so and when."""
    day = view.asserted_at.date().isoformat()
    if language == "zh":
        return f"（{view.asserted_by}于{day}说）"
    return f" (said by {view.asserted_by} on {day})"


def earlier(view: ClaimView, language: Language) -> str:
    """A claim that held and holds no longer, told as past."""
    clause = claim(view, language)
    return f"过去：{clause}" if language == "zh" else f"Earlier, not any more: {clause}"


def contested(clauses: list[str], language: Language) -> str:
    """Claims that contradict each other, none of them taken for true."""
    if language == "zh":
        return "说法不一：" + "；".join(clauses)
    return "Contested: " + "; ".join(clauses)


def commitment(view: CommitmentView, language: Language) -> str:
    """A promise with who owes it, its due time and its state."""
    status = {
        "pending": ("", ""),
        "blocked": (" (blocked)", "（受阻）"),
        "fulfilled": (" (done)", "（已完成）"),
        "cancelled": (" (cancelled)", "（已取消）"),
        "expired": (" (expired)", "（已过期）"),
    }.get(view.status, ("", ""))
    due = f"{view.due_at:%Y-%m-%d}" if view.due_at else None
    if language == "zh":
        who = f"{view.by}要做的事：" if view.by else "待办："
        return who + view.summary + (f"，截止{due}" if due else "") + status[1]
    who = f"{view.by} is to do this: " if view.by else "To do: "
    return who + view.summary + (f", due {due}" if due else "") + status[0]


def constraint(view: ConstraintView, language: Language) -> str:
    """A standing instruction in its giver's words."""
    return ("长期要求：" if language == "zh" else "Standing instruction: ") + view.text


def quotation(speaker: str | None, at: datetime | None, words: str, language: Language) -> str:
    """What somebody said, word for word."""
    day = at.date().isoformat() if at else None
    if language == "zh":
        return f"{speaker or '有人'}{f'于{day}' if day else ''}说：“{words}”"
    return f"{speaker or 'Somebody'} said{f' on {day}' if day else ''}: “{words}”"


def nothing(language: Language) -> str:
    """The honest answer when nothing answers."""
    if language == "zh":
        return "记忆中没有找到与此有关的内容。"
    return "Nothing about this was found in memory."


def sentence(clause: str, numbers: list[int], language: Language) -> str:
    """A clause with its end and the numbers of its sources."""
    cited = "".join(f"[{n}]" for n in numbers)
    end = "" if clause.endswith(("”", ".", "。", "!", "?")) else "。" if language == "zh" else "."
    return f"{clause}{f' {cited}' if cited else ''}{end}"


def _since(start: End, language: Language) -> str:
    time = _time(start, language)
    if not time:
        return ""
    return f"，{time[0]}自{time[1]}起" if language == "zh" else f" since {time[1]}{time[0]}"


def _until(end: End, language: Language) -> str:
    time = _time(end, language)
    if not time:
        return ""
    return f"，{time[0]}到{time[1]}为止" if language == "zh" else f" until {time[1]}{time[0]}"


def _time(end: End, language: Language) -> tuple[str, str] | None:
    """How sure a time is, and the time as exactly as it is known; None where nothing is."""
    chinese = language == "zh"
    match end:
        case datetime():
            return "", end.date().isoformat()
        case Bound(earliest=datetime() as first, latest=datetime() as last):
            if named := _named(first, last):
                return "", named
            span = first.date().isoformat(), last.date().isoformat()
            return "", f"{span[0]}至{span[1]}间" if chinese else "some time from {} to {}".format(
                *span
            )
        case Bound(latest=datetime() as last):
            return "最晚" if chinese else " at the latest", last.date().isoformat()
        case Bound(earliest=datetime() as first):
            return "最早" if chinese else " at the earliest", first.date().isoformat()
    return None


def _named(first: datetime, last: datetime) -> str | None:
    """The month or the year that two limits lie in, as it was named: both begin with it.

    One that had not ended when it was told of has the time of telling for its other limit.
    """
    after = last - timedelta(milliseconds=1)
    if first != first.replace(day=1, hour=0, minute=0, second=0, microsecond=0):
        return None
    if (after.year, after.month) == (first.year, first.month):
        return first.strftime("%Y-%m")
    return first.strftime("%Y") if first.month == 1 and after.year == first.year else None
