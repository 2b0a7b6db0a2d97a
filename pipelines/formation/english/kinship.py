"""Persons and how they are tied to the speaker: "my sister Ana", "Paolo is a colleague of mine"."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.formation.discourse import Gender


@dataclass(frozen=True, slots=True)
class Tie:
    """What a word for a relation means; `inverse`: the other person is the claim's subject."""

    predicate: str
    gender: Gender | None = None
    inverse: bool = False


_TIES: dict[str, Tie] = {}
for _words, _tie in (
    ("sister twin-sister stepsister step-sister half-sister sis", Tie("sibling_of", "f")),
    ("brother twin-brother stepbrother step-brother half-brother bro", Tie("sibling_of", "m")),
    ("sibling twin", Tie("sibling_of")),
    ("daughter stepdaughter step-daughter", Tie("parent_of", "f")),
    ("son stepson step-son", Tie("parent_of", "m")),
    ("child kid toddler", Tie("parent_of")),
    ("mother mum mom stepmother stepmum", Tie("parent_of", "f", True)),
    ("father dad stepfather stepdad", Tie("parent_of", "m", True)),
    ("parent", Tie("parent_of", None, True)),
    ("wife girlfriend fiancée", Tie("partner_of", "f")),
    ("husband boyfriend", Tie("partner_of", "m")),
    ("partner spouse fiancé fiance fiancee other-half", Tie("partner_of")),
    ("friend mate buddy pal bestie best-friend bff", Tie("friend_of")),
    ("colleague coworker co-worker workmate teammate team-mate", Tie("colleague_of")),
    ("boss manager supervisor line-manager", Tie("reports_to")),
    (
        "aunt auntie niece grandmother grandma granny gran nan nana granddaughter mother-in-law "
        "sister-in-law daughter-in-law godmother goddaughter",
        Tie("relative_of", "f"),
    ),
    (
        "uncle nephew grandfather grandpa grandad granddad grandson father-in-law brother-in-law "
        "son-in-law godfather godson",
        Tie("relative_of", "m"),
    ),
    ("cousin grandchild godchild great-aunt great-uncle relative", Tie("relative_of")),
    (
        "neighbour neighbor roommate flatmate housemate landlord landlady teacher doctor dentist "
        "coach mentor tutor therapist classmate acquaintance",
        Tie("knows"),
    ),
):
    for _word in _words.split():
        _TIES[_word] = _tie

_PLURALS = {
    "sisters": "sister",
    "brothers": "brother",
    "siblings": "sibling",
    "twins": "child",
    "daughters": "daughter",
    "sons": "son",
    "children": "child",
    "kids": "kid",
    "parents": "parent",
    "friends": "friend",
    "mates": "mate",
    "colleagues": "colleague",
    "coworkers": "coworker",
    "co-workers": "co-worker",
    "cousins": "cousin",
    "aunts": "aunt",
    "uncles": "uncle",
    "nieces": "niece",
    "nephews": "nephew",
    "grandparents": "relative",
    "neighbours": "neighbour",
    "neighbors": "neighbor",
    "flatmates": "flatmate",
    "roommates": "roommate",
    "housemates": "housemate",
    "grandchildren": "grandchild",
}


def _pattern(words: list[str]) -> str:
    """Any of the words, longest first; a hyphen stands for a blank too ("line manager")."""
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)).replace("-", "[- ]") + ")"


#: a word for one relation, as a pattern
KIN = _pattern(list(_TIES))
#: the same in the plural
KIN_PLURAL = _pattern(list(_PLURALS))


def kin_word(word: str) -> str:
    """The one spelling under which a relation is kept."""
    low = word.lower().replace(" ", "-")
    return _PLURALS.get(low, low)


def tie_of(word: str) -> Tie | None:
    """What a word for a relation (singular or plural) means, or None."""
    return _TIES.get(kin_word(word))
