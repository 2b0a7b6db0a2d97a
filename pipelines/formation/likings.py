"""Liking something is not preferring it to others of its kind.

`prefers` holds one option of a kind at a time (the object's type partitions it): a newer preference
ends the older one, and two of one time contradict each other. "I love pizza and sushi" says nothing
of the sort. So what is merely liked beside another of its kind is kept as `likes`, which holds any
number. Encoders need not tell the two apart; the words of the message do.
"""

from __future__ import annotations

import regex

PREFERS, LIKES = "prefers", "likes"

_PREFERRED = regex.compile(
    r"(?i)\b(?:prefer\w*|favou?rites?|rather|instead|more than|better than|most of all|above all"
    r"|go-to|of choice|best|switched|any ?more|no longer)\b"
    r"|更喜欢|最喜欢|最爱|偏好|偏爱|偏向|宁愿|宁可|首选|比起|比较喜欢|改成|改喝|改吃|换成"
)
_SENTENCE = regex.compile(r"[^.!?;。！？；\n]+")


def merely_liked(message: str, object: str) -> bool:
    """Whether a message says of `object` only that it is liked."""
    named = object.casefold()
    sentences = [s[0] for s in _SENTENCE.finditer(message) if named in s[0].casefold()]
    return not any(_PREFERRED.search(sentence) for sentence in sentences or [message])


def told(predicate: str) -> str:
    """The predicate by which encoders know what is kept under `predicate`."""
    return PREFERS if predicate == LIKES else predicate
