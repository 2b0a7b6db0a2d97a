"""Takes out of a message what nobody says in it: code, addresses, log lines, mail quoted by `>`.

What is quoted inside a sentence is somebody's words, not the speaker's statement: a quotation
becomes the single character `QUOTED`. Short names in quotation marks ('everyone calls me "Kit"')
stay, without their marks. Newlines stay where they were.

What a speaker hands over to be translated claims nothing either, whatever its language: behind
"请翻译成中文：" or "Translate to Chinese:" the rest of the message goes; where nothing stands
behind such words, what stands before them.
"""

from __future__ import annotations

import regex

#: stands where a quotation was; no letter, so that no word rule matches over it
QUOTED = "￼"
#: stands where code or an address was
GONE = "␣"
#: characters of a message that rules look at; a longer message is read up to here
EXAMINED = 60_000

_FENCE = regex.compile(r"(?s)(?:```|~~~).*?(?:```|~~~|\Z)")
_INLINE_CODE = regex.compile(r"`[^`\n]{1,300}`")
_ADDRESS = regex.compile(
    r"(?i)\b(?:https?|ftp|file|mailto|wss?)://[^\s<>，。；！？、]{1,2000}|\bmailto:\S{1,300}"
    r"|\bwww\.[^\s<>，。；！？、]{1,2000}|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"
)
_MAIL_HEADER = regex.compile(
    r"(?i)^(?:from|to|cc|bcc|sent|date|subject|reply-to|发件人|收件人|抄送|主题|发送时间)[:：] ?\S"
)
_QUOTED_LINE = regex.compile(r"^[ \t]{0,8}(?:>|\|>|&gt;)")
_FORWARD = regex.compile(
    r"(?i)^[ \t]*-{2,20} ?(?:original message|forwarded message|begin forwarded message)"
    r"|^[ \t]*begin forwarded message|^[ \t]*-{2,20} ?(?:原始邮件|转发的?邮件|转发邮件|转发消息)"
)
_LOG_LINE = regex.compile(
    r"(?i)^[ \t]*\[?(?:\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d)\S{0,30}.{0,20}"
    r"\b(?:debug|info|warn(?:ing)?|error|trace|fatal|critical)\b"
    r"|^[ \t]*\[?(?:debug|info|warn(?:ing)?|error|trace|fatal|critical)\]?:? |^[ \t]*Traceback \("
)
_DATA_LINE = regex.compile(r"^[ \t]*[{\[<].{0,4000}[}\]>],?[ \t]*$")
_ROLE_LINE = regex.compile(
    r"(?i)^[ \t]*[\[<(*#]{0,3}(?:system|assistant|developer|tool|系统|助手)(?: (?:message|prompt|"
    r"note|override|消息|提示))?[\])>*]{0,3}[ \t]*[:：]"
)
_TONGUE_ZH = "[中汉英日法德韩俄意葡泰荷外西文言粤越][语文]?"
#: an order to translate or polish a text; no trade ("我做翻译工作"), no skill ("我能翻译法语")
_ORDER_ZH = regex.compile(
    r"(?:请|帮|麻烦|劳驾|求|(?<!我)能|(?<!我)可以|[把将给](?=[^。\n]{0,30}(?:译|润色|改写))|需要|"
    r"想要?|"
    r"(?:^|[。！？!?.;；:：,，\n])\s*)(?:(?<=[把将给请帮烦驾求能以要想])[^。\n]{0,30}?)?"
    r"(?:翻译(?=$|一下|[\s:：,，。.!！?？为下这以上到吧吗\"“「\p{Latin}\ufffc]|成(?!了))"
    r"|译[成为](?!了)|翻成(?!了)|[翻译]一下|润色|改写|校对)"
    rf"(?:一下|成|为|到|把|吧)*(?:{_TONGUE_ZH}|西班牙[语文]|葡萄牙[语文])?"
    rf"|(?<![\p{{Han}}]){_TONGUE_ZH}[译翻]{_TONGUE_ZH}"
    r"|(?:怎么|如何|咋)(?:翻译|翻|译)"
    r"|(?:用|的)?[一-鿿]{1,3}[语文](?:怎么|如何|咋)(?:说|讲|写|表达)"
)
#: an order with nothing to be translated beside it: the text comes in the next message
_BARE_ORDER = regex.compile(r"[\s:：,，。.!！?？一下吧这个句段话谢了好的]*")
_ORDER_EN = regex.compile(
    r"(?i)\btranslat(?:e|ion|ing)\b|\bhow (?:do|would|can|should) (?:you|i|we|one) (?:say|put|"
    r"write)\b"
    r"|\bhow to say\b|\b(?:say|put|write) (?:this|that|it|the following) in(?:to)? \p{Lu}\p{L}+"
    r"|\bin (?:french|german|spanish|italian|chinese|mandarin|japanese|korean|english)(?: please)?:"
)
_BACK_REFERENCE = regex.compile(r"(?i)\b(?:that|this|it|above|previous|last)\b")
_SAYING = regex.compile(r"[\p{L}\p{N}\ufffc]")
_HAN = regex.compile(r"[㐀-鿿]")
_LATIN = regex.compile(r"[A-Za-z]{2}")
_QUOTES = regex.compile(
    r'"[^"\n]{0,2000}"|“[^“”\n]{0,2000}”|「[^「」\n]{0,2000}」|『[^『』\n]{0,2000}』|«[^«»\n]{0,2000}»'
    r"|(?<![\w'’])'[^'\n]{1,2000}'(?![\w'])|(?<![\w'’])‘[^’\n]{1,2000}’(?!\w)"
    r"|(?<![\w'’])‘(?:[^’\n]|(?<=\w)’(?=\w)){1,500}’(?!\w)"
)
#: words that make a quotation a statement of somebody
_STATEMENT = regex.compile(
    r"(?i)\b(?:i|i'm|im|i’m|i'll|i’ll|my|me|we|we're|our|you|your|is|are|was|were|am|he|she|they|"
    r"always|never|don't|please|will)\b|[我你您他她咱们]|[是在会要请别不]|[.!?。！？]."
)


def _quotation(match: regex.Match[str]) -> str:
    inner = match[0][1:-1].strip()
    short = len(inner.split()) <= 4 and len(inner) <= 40
    if short and inner and not _STATEMENT.search(inner):
        return inner
    return QUOTED


def awaits_material(text: str) -> bool:
    """Whether a masked Chinese message is an order to translate what comes in the next one."""
    order = _ORDER_ZH.search(text)
    return (
        order is not None
        and GONE not in text
        and _BARE_ORDER.fullmatch(text, order.end()) is not None
        and not _LATIN.search(text[: order.start()])
    )


def _without_material(text: str) -> str:
    """`text` less what it hands over to be translated; only texts that hold Han can need it here.

    In a text of English alone the English rules stop at the order by themselves.
    """
    if not _HAN.search(text):
        return text
    order = _ORDER_ZH.search(text)
    english = _ORDER_EN.search(text)
    if english is not None and (order is None or english.start() < order.start()):
        order = english
    if order is None:
        return text
    if not _SAYING.search(text, order.end()):
        chinese = order is not english
        before = text[: order.start()]
        if (chinese and _LATIN.search(text)) or (
            english is not None and (_BACK_REFERENCE.search(text) or _HAN.search(before))
        ):
            return GONE + text[order.start() :] if _SAYING.search(before) else text
        return text
    rest = text[order.end() :]
    return text[: order.end()] + "\n".join(GONE if x.strip() else x for x in rest.split("\n"))


def readable(text: str) -> str:
    """`text` as rules may read it; at most `EXAMINED` characters of it."""
    text = text[:EXAMINED].replace("\r\n", "\n").replace("\r", "\n")
    if "```" in text or "~~~" in text:
        text = _FENCE.sub(GONE, text)
    if "`" in text:
        text = _INLINE_CODE.sub(GONE, text)
    if "://" in text or "@" in text or "www." in text or "mailto:" in text:
        text = _ADDRESS.sub(GONE, text)
    lines: list[str] = []
    injected = header = False
    for line in text.split("\n"):
        if _FORWARD.match(line):
            break
        if _MAIL_HEADER.match(line):
            if header:
                lines.pop()
                break  # two header lines: the rest is a mail that somebody else wrote
            header = True
        else:
            header = False
        if not line.strip():
            injected = False
        elif _ROLE_LINE.match(line):
            injected = True
        if (
            injected
            or _QUOTED_LINE.match(line)
            or _LOG_LINE.match(line)
            or _DATA_LINE.match(line)
            or (
                line.startswith(("    ", "\t"))
                and line.rstrip().endswith((";", "{", "}", ")", ":"))
            )
        ):
            line = GONE
        lines.append(line)
    return _without_material(_QUOTES.sub(_quotation, "\n".join(lines)))
