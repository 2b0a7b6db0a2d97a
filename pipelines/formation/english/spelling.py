"""Slips of the keyboard in the words that tell what is stated: "i liv in", "im alergic too".

Only where the cue is beyond doubt: behind "I" (or "I'm"), one letter left out, doubled or swapped
with its neighbour, no word of its own, and before a word with which the cue goes. Whoever writes a
whole sentence without capitals also means names by lower-case words; `capitalised` gives them back
where their last word tells that they name an employer.
"""

from __future__ import annotations

import regex

from pipelines.formation.lexicon import LANGUAGES, ORGANISATION_NOUNS, word_set

_ANY = r"(?!(?:in|at|for|to|on|as|with)$)\p{L}+"
_TONGUES = "|".join(sorted((w for w in LANGUAGES if w.isascii()), key=len, reverse=True))
#: cue -> what may follow it
_CUES = {
    "live": "in|at|near",
    "living": "in|at|near",
    "work": "for|fro|at|as|in|with",
    "working": "for|fro|at|as|in|with",
    "study": "at|law|medicine|physics|history|biology|chemistry|music|art",
    "moved": "to|from",
    "speak": _TONGUES,
    "prefer": _ANY,
    "love": _ANY,
    "hate": _ANY,
    "like": _ANY,
    "dislike": _ANY,
    "enjoy": _ANY,
    "joined": "the|a",
    "allergic": "to|too",
    "vegetarian": _ANY,
}
#: slips that are words of their own
_WORDS = word_set(
    "lie ive wok ate hat hte lover loves like lake ike lie peak stud refer lave live lived liked "
    "love loved hate hated heat ant hare lier worked works studied study working living loving ove "
    "like likes prefer preferred join enjoys move mover oved"
)


def _slips(word: str) -> set[str]:
    left_out = {word[:i] + word[i + 1 :] for i in range(len(word))}
    swapped = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)}
    doubled = {word[:i] + word[i] + word[i:] for i in range(len(word))}
    found = left_out | swapped | doubled
    if len(word) > 6:  # a long word stays recognisable with two slips
        for one in left_out:
            found |= {one[:i] + one[i + 1 :] for i in range(1, len(one))}
            found |= {one[:i] + one[i + 1] + one[i] + one[i + 2 :] for i in range(1, len(one) - 1)}
    return found - {word} - _WORDS - set(_CUES)


_MEANT: dict[str, list[str]] = {}
for _cue in _CUES:
    for _slip in _slips(_cue):
        _MEANT.setdefault(_slip, []).append(_cue)
_FOLLOWS = {cue: regex.compile(rf"(?i)(?:{after})$") for cue, after in _CUES.items()}
_SLOT = regex.compile(
    r"(?i)(?<![\w'])(?P<who>(?:i|i'm|im|i am|and|but)"
    r"(?: (?:also|really|now|currently|just|still|do not|don't|dont|am|not))*) "
    r"(?P<word>[a-z]{3,14}) (?P<next>[a-z]+)(?![\w'])"
)
_PREPOSITIONS = {"fro": "for", "too": "to"}


def _mended(m: regex.Match[str]) -> str:
    word, after = m["word"].lower(), m["next"]
    fitting = [cue for cue in _MEANT.get(word, ()) if _FOLLOWS[cue].match(after)]
    exact = word in _CUES and after.lower() in _PREPOSITIONS
    if len(fitting) != 1 and not exact:
        return m[0]
    cue = fitting[0] if fitting else word
    if _FOLLOWS[cue].match(after):
        after = _PREPOSITIONS.get(after.lower(), after)
    return f"{m['who']} {cue} {after}"


def mended(text: str) -> str:
    """`text` with the slips in its cue words put right."""
    return _SLOT.sub(_mended, text)


#: lower-case words before the noun of an organisation that make no name of it
_GENERIC = word_set(
    "home head front back post customer local public social night private state city town big "
    "small "
    "old new my our his her their its the a an some any this that various several different one "
    "two "
    "many high law primary secondary middle grammar medical dental digital mass main central "
    "general "
    "good bad great national international nice whole large little busy video paper software tech "
    "web "
    "it and or in on at for with young family regional foreign human news media music art food "
    "retail "
    "hotel nursing care boarding language driving research school steel power police fire train "
    "book "
    "coffee grocery department health mental life"
)
_EMPLOYER = regex.compile(
    r"(?<=\bwork (?:for|at) |\bworking (?:for|at) )(?P<name>[a-z][a-z'&-]+(?: "
    r"[a-z][a-z'&-]+){1,3}?)"
    r"(?=$|[,.;!]| (?:and|as|in|since|but|now|so)\b)"
)


def capitalised(text: str) -> str:
    """`text` with capitals for an employer's name in a sentence that has no capitals at all."""
    if regex.search(r"\p{Lu}", text.replace("I", "")):
        return text

    def name(m: regex.Match[str]) -> str:
        words = m["name"].split()
        if words[-1] not in ORGANISATION_NOUNS or words[0] in _GENERIC:
            return m[0]
        return " ".join(w.capitalize() for w in words)

    return _EMPLOYER.sub(name, text)
