"""Knowing erased words again where they were used and nothing says whose they were.

Who asks "did Ana say that the key is under the stone?" has put the words into records that cite no
memory. So that they are found when nobody has the words any more, digests of short stretches of
them are taken before they go: every twenty characters that a text has in common with what was
erased are noticed, and none fewer than sixteen. Of claims, and of short messages, it is the whole
text. The digests live as long as there is something to be looked for: overlapping ones come close
to being the words themselves.
"""

from __future__ import annotations

import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from zlib import crc32

from storage.database import Scope, Transaction

#: Characters of a stretch, and from one to the next: a run of `_LONG + _STEP - 1` holds one whole.
_LONG, _STEP = 16, 5
#: Shorter texts (in characters) are known as a whole, unless they are so short (in UTF-8 bytes)
#: that anybody may have said them.
_RUN, _TELLING = _LONG + _STEP - 1, 12
#: Characters of the longest text that is known as a whole.
_WHOLE = 4096
#: Stretches that are known at most; of more text, they lie further apart.
_MOST = 500_000
_STRETCH, _TEXT = struct.Struct(">Q"), struct.Struct(">BQHQ")


@dataclass(frozen=True, slots=True)
class Words:
    """Marks of words: `stretches`, and texts as (length of the start, its mark, length, mark)."""

    stretches: frozenset[int] = frozenset()
    texts: frozenset[tuple[int, int, int, int]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.stretches or self.texts)

    def joined(self, other: Words) -> Words:
        """What either knows."""
        return Words(self.stretches | other.stretches, self.texts | other.texts)

    def as_json(self) -> dict[str, str]:
        """As a plan keeps them."""
        stretches = b"".join(map(_STRETCH.pack, sorted(self.stretches)))
        texts = b"".join(_TEXT.pack(*text) for text in sorted(self.texts))
        return {"stretches": b64encode(stretches).decode(), "texts": b64encode(texts).decode()}

    @classmethod
    def of(cls, kept: Mapping[str, str] | None) -> Words:
        """As a plan kept them."""
        if not kept:
            return cls()
        stretches, texts = b64decode(kept["stretches"]), b64decode(kept["texts"])
        return cls(
            frozenset(mark for (mark,) in _STRETCH.iter_unpack(stretches)),
            frozenset(_TEXT.iter_unpack(texts)),  # type: ignore[arg-type]
        )

    @classmethod
    def said(cls, words: Iterable[str], claims: Iterable[str] = ()) -> Words:
        """The marks of what was said, stretch by stretch, and of claims, each as a whole."""
        folded = [_folded(text) for text in words]
        step = max(_STEP, sum(map(len, folded)) // _MOST)
        stretches: set[int] = set()
        whole = [_folded(text) for text in claims]
        for text in folded:
            if len(text) < _RUN:
                whole.append(text)
                continue
            data = _bytes(text)
            ends = range(0, len(data) - 4 * _LONG + 1, 4 * step)
            stretches.update(_mark(data[at : at + 4 * _LONG]) for at in ends)
        return cls(frozenset(stretches), frozenset(map(_text, filter(_tells, whole))))


NO_WORDS = Words()


@dataclass(slots=True)
class Reader:
    """Reads texts for words that are known by their marks."""

    words: Words
    _starts: dict[int, tuple[set[int], dict[int, set[tuple[int, int]]]]] = field(init=False)

    def __post_init__(self) -> None:
        self._starts = {}
        marks = [(_LONG, mark, _LONG, mark) for mark in self.words.stretches]
        for size, start, length, mark in (*marks, *self.words.texts):
            checks, known = self._starts.setdefault(size, (set(), {}))
            checks.add(start >> 32)
            known.setdefault(start, set()).add((length, mark))

    def finds(self, value: Any) -> bool:
        """Whether any string in a JSON value has the words in it."""
        return bool(self._starts) and any(self._quoted(text) for text in _strings(value))

    def _quoted(self, text: str) -> bool:
        data = _bytes(_folded(text))
        for size, (checks, known) in self._starts.items():
            wide = 4 * size
            for at in range(0, len(data) - wide + 1, 4):
                # the cheap half of a mark first: nearly every place ends here
                if crc32(data[at : at + wide]) not in checks:
                    continue
                for length, mark in known.get(_mark(data[at : at + wide]), ()):
                    found = data[at : at + 4 * length]
                    if len(found) == 4 * length and _mark(found) == mark:
                        return True
        return False


def read(
    tx: Transaction,
    scope: Scope,
    elements: Collection[str],
    sources: Collection[str],
    going: Collection[str],
) -> Words:
    """The marks of what elements and staged sources say, before they go.

    Of all that is `going`; what something says that stays is no mark of these.
    """
    values = {
        "space": scope.space_id,
        "ids": sorted(elements),
        "sources": sorted(sources),
        "going": sorted(going),
    }
    said = tx.execute(
        """
        select e.payload -> 'inline' from evidence e
         where e.space_id = %(space)s and e.id = any(%(ids)s) and not exists (
           select from evidence o where o.space_id = %(space)s and o.fingerprint = e.fingerprint
              and o.id not in (select unnest(%(going)s::text[])))
        union all
        select m.message from staged_source s
         cross join lateral jsonb_array_elements(s.messages) as m(message)
         where s.space_id = %(space)s and s.ref = any(%(sources)s) and not exists (
           select from evidence o where o.space_id = %(space)s
              and o.fingerprint = message_fingerprint(m.message)
              and o.id not in (select unnest(%(going)s::text[])))
        """,
        values,
    ).fetchall()
    claims = tx.execute(
        """
        select d.text from search_document d
          left join assertion a on a.space_id = d.space_id and a.id = d.element_id
         where d.space_id = %(space)s and d.element_id = any(%(ids)s)
           and (d.kind = 'proposition' or (d.kind = 'claim'
                and a.proposition_id in (select unnest(%(going)s::text[]))))
        """,
        values,
    ).fetchall()
    contents = (
        payload["content"] if isinstance(payload, dict) and "content" in payload else payload
        for (payload,) in said
    )
    return Words.said((text for one in contents for text in _strings(one)), (t for (t,) in claims))


def _folded(text: str) -> str:
    """A text as it is compared: without regard to case and to how its words are set apart."""
    return " ".join(text.casefold().split())


def _bytes(text: str) -> bytes:
    """Four bytes a character, so that every stretch of characters is one of bytes."""
    return text.encode("utf-32-le", "surrogatepass")


def _tells(text: str) -> bool:
    return len(text.encode("utf-8", "surrogatepass")) >= _TELLING


def _text(text: str) -> tuple[int, int, int, int]:
    data = _bytes(text[:_WHOLE])
    start = data[: 4 * _LONG]
    return len(start) // 4, _mark(start), len(data) // 4, _mark(data)


def _mark(data: bytes) -> int:
    """Eight bytes: a sum that is quick to compare, and a digest."""
    return crc32(data) << 32 | int.from_bytes(blake2b(data, digest_size=4).digest())


def _strings(value: Any) -> Iterator[str]:
    """The strings of a JSON value, also of JSON that is kept as a string."""
    if isinstance(value, str):
        if value[:1] in ("{", "["):
            try:
                yield from _strings(json.loads(value))
                return
            except (ValueError, RecursionError):
                pass
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
