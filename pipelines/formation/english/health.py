"""Allergies and diets."""

from __future__ import annotations

import regex

from pipelines.formation.discourse import Discourse
from pipelines.formation.english.clauses import Clause
from pipelines.formation.english.names import NAME
from pipelines.formation.english.phrases import singular, things
from pipelines.formation.findings import ClaimStated, Finding
from pipelines.formation.lexicon import DIETS, NO_SUBSTANCES, word_set

_ALLERGIC = regex.compile(
    r"(?i)^(?P<verb>(?:am|is|are|have been|has been|became|have become|"
    r"has become) (?P<neg>not |no longer )?)(?:\w+ly )?(?:allergic|"
    r"hypersensitive) to (?P<what>.+)"
)
_HAS_ALLERGY = regex.compile(
    r"(?i)^(?P<neg>do not |does not |no longer )?(?:have got|has got|have|has|"
    r"suffers? from|developed|have developed|has developed|got) "
    r"(?:(?:an?|the|my|this|any|some) )?(?:(?:severe|bad|serious|nasty|mild|terrible|"
    r"strong|slight|known|big|really bad|life-threatening|massive|food) )*"
    r"(?:allergy to (?P<to>.+)|allergies to (?P<tos>.+)|"
    r"(?P<kind>(?:[a-z]+ ){0,2}?[a-z]+)(?: allergy| allergies)(?P<rest>.*))"
)
_ALLERGY_IS = regex.compile(
    r"(?i)^(?:my (?:only |main |worst |food )?allerg(?:y|ies)(?: is| are|:)(?: to)?) (?P<what>.+)"
)
_ALLERGY_OF = regex.compile(
    r"(?i)^my (?:\w+ )?allergy to (?P<what>[\w -]{2,30}?) (?:is|has|gets|got|flares|acts|"
    r"makes|means)\b"
)
_NO_KINDS = word_set(
    "food bad severe an a no any the my skin seasonal other nasty strong many more weird some drug"
)
_DIET_NAME = "|".join(
    regex.escape(d).replace(r"\ ", "[ -]") for d in sorted(DIETS, key=len, reverse=True)
)
_DIET = regex.compile(
    r"(?i)^(?P<verb>(?:am|is|are|have been|has been|became|have become|has become|went|"
    r"have gone|has gone|turned|have turned|has turned|go|stay|keep|keeps) (?P<neg>not |"
    r"no longer )?)"
    r"(?:an? |on an? |on the |now an? |a strict |a lifelong )?(?:strict |lifelong |"
    rf"committed |ethical )?(?P<diet>{_DIET_NAME})s?(?: diet)?(?:[,.]|$| (?P<rest>(?:since|"
    r"for|and|now|these|so|by|again|in|but|as|too|because|anymore|any more|from|last|on|"
    r"these days|at|who)\b.*))"
)
_EATS = regex.compile(
    r"(?i)^(?P<neg>do not |does not |no longer )?(?:eats?|follows?|keeps?|"
    r"am following|is following|am eating|am doing|observes?|have eaten|has eaten) (?:a |"
    rf"an |only |strictly )?(?:strict |strictly )?(?P<diet>{_DIET_NAME})(?: food|"
    r" diet| meals?)?(?:$|[,.]| (?P<rest>(?:since|for|and|now|at|so|but|only|these|"
    r"because|any ?more|from)\b.*))"
)
_NOT_DIETS = word_set("raw carnivore mediterranean")
_POSSESSIVE = regex.compile(rf"(?i)^(?P<who>my|(?-i:{NAME})'s) ")
_DIET_IS = regex.compile(rf"(?i)^my diet (?:is|:) (?:strictly )?(?P<diet>{_DIET_NAME})\b")


def _substances(text: str) -> list[str]:
    found = []
    text = regex.sub(
        r"(?i)^(?:both|all|all kinds of|most|any|any kind of|the|certain|some|"
        r"most kinds of|all sorts of) ",
        "",
        text,
    )
    for one in things(text):
        words = [w.lower() for w in one.split()]
        if (
            words[-1] in NO_SUBSTANCES
            or words[0] in NO_SUBSTANCES
            or singular(words[-1]) in NO_SUBSTANCES
        ):
            return []
        found.append(one)
    return found


def read(c: Clause, memory: Discourse) -> list[Finding]:
    """`allergic_to` and `follows_diet` claims of a clause."""
    if c.doubtful or c.conditional or (c.ironic and "allerg" not in c.text):
        return []
    found: list[Finding] = []
    speaker = memory.speaker(c.message)
    low = c.text.lower()
    if "allerg" in low or "hypersensitive" in low:
        if c.subjects and (m := _ALLERGIC.match(c.verb)):
            negative, ended = (
                bool(m["neg"]),
                "no longer" in (m["neg"] or "")
                or regex.search(r"(?i)\bany ?more\b", m["what"]) is not None,
            )
            what = m["what"]
            for subject in c.subjects:
                for one in _substances(what):
                    found.append(
                        ClaimStated(
                            subject,
                            "allergic_to",
                            one,
                            "Substance",
                            c.message,
                            stance="reject" if negative else "support",
                            change="world_change" if ended and negative else None,
                        )
                    )
            but = regex.search(r"(?i),? (?:but )?not (?:to )?(?P<no>[\w -]{3,30})$", what)
            if but and not negative:
                for one in _substances(but["no"]):
                    found.append(
                        ClaimStated(
                            c.subjects[0],
                            "allergic_to",
                            one,
                            "Substance",
                            c.message,
                            stance="reject",
                        )
                    )
        elif c.subjects and (m := _HAS_ALLERGY.match(c.verb)):
            negative = bool(m["neg"])
            if m["kind"]:
                kind = m["kind"].strip()
                listed = (
                    []
                    if kind.lower().split()[-1] in _NO_KINDS
                    or kind.lower().split()[0] in ("no", "any")
                    else _substances(kind)
                )
            else:
                listed = _substances(m["to"] or m["tos"])
            for subject in c.subjects:
                for one in listed:
                    found.append(
                        ClaimStated(
                            subject,
                            "allergic_to",
                            one,
                            "Substance",
                            c.message,
                            stance="reject" if negative else "support",
                        )
                    )
        elif m := _ALLERGY_IS.match(c.text) or _ALLERGY_OF.match(c.text):
            for one in _substances(m["what"]):
                found.append(ClaimStated(speaker, "allergic_to", one, "Substance", c.message))
        return found
    m = _DIET_IS.match(c.text)
    owners = (speaker,) if m else c.subjects
    if m is None and c.subjects:
        m = _DIET.match(c.verb) or _EATS.match(c.verb)
    if m and owners:
        diet = DIETS.get(m["diet"].lower()) or DIETS.get(
            m["diet"].lower().replace("-", " "), m["diet"].lower()
        )
        groups = m.groupdict()
        negative = bool(groups.get("neg"))
        head = (groups.get("verb") or "").lower()
        if m.re is _DIET and diet in _NOT_DIETS and " diet" not in c.verb.lower():
            return found
        if m.re is _DIET and head.startswith(("go", "stay", "keep")) and diet != "kosher":
            return found
        rest = groups.get("rest") or ""
        ended = "no longer" in (groups.get("neg") or "") or (
            negative and regex.search(r"(?i)\bany ?more\b", rest) is not None
        )
        change = (
            regex.match(
                r"(?:became|have become|has become|went|have gone|has gone|turned|"
                r"have turned|has turned)",
                head,
            )
            is not None
        )
        when = c.date(past=True)
        start = None
        if when is not None:
            phrase = c.verb[when.start : when.end] if c.verb[when.start : when.end] else c.opening
            if (
                change
                or ended
                or regex.match(r"(?i)(?:since|from|as of)\b", phrase.strip())
                or c.opening
            ):
                start = when.iso
        for owner in owners:
            found.append(
                ClaimStated(
                    owner,
                    "follows_diet",
                    diet,
                    "string",
                    c.message,
                    stance="reject" if negative else "support",
                    valid_from=start,
                    change="world_change"
                    if ended or (not negative and (change or c.now))
                    else None,
                )
            )
    return found
