"""How alike two short texts are, for finding what a later message refers back to.

Words of Latin script count by a crude stem without stop words; Han text counts by its character
pairs (and single characters when only one is there).
"""

from __future__ import annotations

import re
import unicodedata

from pipelines.formation.lexicon import word_set

_LATIN = re.compile(r"[^\W\d_㐀-鿿]{2,40}(?:'[a-z]{1,3})?|\d+")
_HAN = re.compile(r"[㐀-鿿]+")
#: how much of a text is looked at; references are short
_BOUND = 400

_STOP = word_set(
    "the an and or but of to in on at for from by with about into over as is are was were be been "
    "am do did does done have has had will would shall should can could may might must not no it "
    "its this that these those there here i'm i'll i've i'd we you he she they me my our your his "
    "her their them him us mine yours so then than also just really very please already actually "
    "sorry anymore any more some now it's that's don't didn't won't can't i"
)


def plain(text: str) -> str:
    """`text` without differences of case, width and accents."""
    folded = unicodedata.normalize("NFKC", text[:_BOUND]).casefold()
    if folded.isascii():
        return folded
    bare = "".join(c for c in unicodedata.normalize("NFD", folded) if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", bare)


def _stem(word: str) -> str:
    word = word.split("'")[0]
    for ending in ("ings", "ing", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def terms(text: str) -> frozenset[str]:
    """The content words of `text` in a form that survives inflection."""
    folded = plain(text).replace("’", "'")
    found = {_stem(w) for w in _LATIN.findall(folded) if w not in _STOP}
    for run in _HAN.findall(folded):
        found.update(run[i : i + 2] for i in range(len(run) - 1))
        if len(run) == 1:
            found.add(run)
    return frozenset(found)


def overlap(hint: str, text: str) -> float:
    """Which share of the content words of `hint` occur in `text` (0 when `hint` has none)."""
    wanted = terms(hint)
    return len(wanted & terms(text)) / len(wanted) if wanted else 0.0


def same_name(one: str, other: str) -> bool:
    """Whether two names or objects agree but for case, accents, articles and a final -s."""

    def bare(text: str) -> str:
        words = plain(text).strip(" .,;:!?\"'“”‘’「」。，；：！？、").split()
        if len(words) > 1 and words[0] in {"the", "a", "an", "my", "our"}:
            words = words[1:]
        joined = " ".join(words)
        return joined[:-1] if len(joined) > 3 and joined.endswith("s") else joined

    return bare(one) == bare(other)


def names_part_of(words: str, name: str) -> bool:
    """Whether `words` is `name` or a run of whole words of it ("Brightwater", "靠窗")."""
    if same_name(words, name):
        return True
    part, whole = plain(words).strip(" .,;:!?'\"。，！？"), plain(name)
    if not part:
        return False
    if _HAN.search(part):
        return part in whole or whole in part
    return re.search(rf"(?<!\w){re.escape(part)}(?!\w)", whole) is not None
