"""Takes out of a message what nobody says in it: code, addresses, log lines, mail quoted by `>`.

What is quoted inside a sentence is somebody's words, not the speaker's statement: a quotation
becomes the single character `QUOTED`. Short names in quotation marks ('everyone calls me "Kit"')
stay, without their marks. Newlines stay where they were.
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
#: opening mark, closing mark
_PAIRS = (("“", "”"), ("「", "」"), ("『", "』"), ("«", "»"), ("‘", "’"))
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
    return _QUOTES.sub(_quotation, "\n".join(lines))
