"""Things owned and animals kept."""

from __future__ import annotations

import regex

from pipelines.formation.discourse import Discourse
from pipelines.formation.english.clauses import Clause
from pipelines.formation.english.names import NAME, is_name
from pipelines.formation.english.phrases import singular, thing, things_counted
from pipelines.formation.findings import ClaimStated, Finding
from pipelines.formation.lexicon import PETS, THINGS
from pipelines.formation.likeness import same_name

_PET = "|".join(sorted((regex.escape(p) for p in PETS), key=len, reverse=True))
_PETS = (
    rf"(?:(?:{_PET})(?:s|es|ies)?|puppies|bunnies|canaries|ponies|mice|geese|goldfish|"
    r"guinea pigs?|sheep|fish|budgies|huskies|donkeys|finches|turkeys)"
)
_HAS_PET = regex.compile(
    r"(?i)^(?P<neg>do not |does not |no longer )?(?P<verb>have|has|have got|has got|owns?|"
    r"got|adopted|have adopted|has adopted|bought|keeps?|share my home with|"
    r"share the flat with|live with|have had|rescued) "
    r"(?P<count>an?|one|two|three|four|five|six|several|some|my|any|"
    rf"\d{{1,2}}) (?P<adj>(?:[\w-]+ ){{0,4}}?)(?P<pet>{_PETS})\b(?P<rest>.*)"
)
_CALLED = regex.compile(
    rf"(?i)^(?:,? (?:a (?:\w+ ){{0,2}}\w+,? )?(?:who is |which is |that is |both |"
    r"whose name is |whose names are |and (?:his|her|its) name is )?(?:called|named|"
    rf"by the name of|goes by)?,? ?|[:,] ?)(?-i:(?P<names>{NAME}(?:(?:, | and |"
    rf", and ){NAME})*))"
)
_MY_PET_IS = regex.compile(
    r"(?i)^(?:my|our) (?:(?!sister|brother|friend|neighbour|neighbor|mum|mom|dad|wife|"
    rf"husband|boss|cousin)[\w-]+ ){{0,2}}?(?P<pet>{_PETS})(?:'s name is|'s called|"
    r" is called| is named| are called| are named| goes by|'s names are|,|"
    rf") (?-i:(?P<names>{NAME}(?:(?:, | and |, and ){NAME})*))"
)
_IS_MY_PET = regex.compile(
    rf"(?i)^(?:is|are) (?:my|our) (?:[\w-]+ ){{0,2}}?(?P<pet>{_PETS})\b(?!'s)"
)
_PET_DIED = regex.compile(
    rf"(?i)^(?:my|our) (?:[\w-]+ ){{0,2}}?(?:{_PETS}) (?-i:(?P<name>{NAME})) "
    r"(?:has )?(?:died|passed away|passed on)(?P<rest>.*)"
)
#: "Biscuit died last weekend", of an animal that the speaker is known to keep
_DIED = regex.compile(
    rf"(?<![\p{{L}}'’])(?P<name>{NAME}) (?i:has |sadly )?(?i:died|passed away|passed on|"
    r"was put down)\b"
)
#: a further animal in a list: "… and a cat named Waffle"
_AND_PET = regex.compile(
    r"(?i)^(?:, and|,| and| plus) (?:an?|one|two|three|four|my) "
    rf"(?P<adj>(?:[\w-]+ ){{0,3}}?)(?P<pet>{_PETS})\b(?P<rest>.*)"
)
_OWNS = regex.compile(
    r"(?i)^(?P<neg>do not |does not |no longer )?(?P<verb>owns?|possess(?:es)?|(?:am|"
    r"is) the (?:proud )?owner of|have owned|has owned|co-owns?) (?P<what>.+)"
)
_HAS = regex.compile(
    r"(?i)^(?P<neg>do not |does not |no longer )?(?P<verb>have got|has got|have|has|bought|"
    r"have bought|has bought|just bought|purchased|inherited|got myself|treated myself to|"
    r"got) "
    r"(?P<det>an?|one|two|three|four|five|six|\d{1,2}|several|my own|any|some) (?P<what>.+)"
)
_SOLD = regex.compile(
    r"(?i)^(?:have |has )?(?:sold|got rid of|gave away|scrapped|donated) (?:my|our|his|her|"
    r"the) (?P<what>.+)"
)


_NOT_OWNED = regex.compile(
    r"(?i)(?:up|it|this|that|the (?:place|problem|code|decision|process)|responsibility|"
    r"mistakes?)\b"
)
_ANY_MORE = regex.compile(r"(?i)\b(?:any ?more|any longer)\b")
_GAINED = regex.compile(r"(?:have |has |just )?(?:bought|purchased|inherited|got|treated)")
_BORROWED = regex.compile(
    r"(?i)(?:rented|hire|rental|borrowed|company|flat (?:tyre|tire)|dream|toy|model|lego|used to)\b"
)
_PART_OF = regex.compile(
    r"(?i)^\s*(?:appointment|meeting|key|keys|problem|issue|accident|lesson|loan|insurance|"
    r"ride|to (?:return|fix|sell)|for sale)\b"
)


def _names(raw: str) -> list[str]:
    return [n for n in regex.split(r", and |, | and ", raw) if is_name(n)]


def _is_thing(words: str) -> bool:
    last = words.lower().split()[-1]
    return last in THINGS or singular(last) in THINGS


def _when(c: Clause) -> str | None:
    date = c.date(past=True)
    return date.iso if date else None


def read(c: Clause, memory: Discourse) -> list[Finding]:
    """`has_pet` and `owns` claims of a clause."""
    if c.doubtful or c.conditional:
        return []
    found: list[Finding] = []
    speaker = memory.speaker(c.message)
    verb, low = c.verb, c.text.lower()

    def state(subject: str, predicate: str, value: str, **more: object) -> None:
        kind = "Animal" if predicate == "has_pet" else "Thing"
        found.append(ClaimStated(subject, predicate, value, kind, c.message, **more))  # type: ignore[arg-type]

    if low.startswith(("my ", "our ")):
        if m := _PET_DIED.match(c.text):
            if any(h for h in memory.earlier(speaker, speaker, "has_pet")):
                state(
                    speaker,
                    "has_pet",
                    m["name"],
                    stance="reject",
                    valid_from=_when(c),
                    change="world_change",
                )
        elif m := _MY_PET_IS.match(c.text):
            for name in _names(m["names"]):
                state(speaker, "has_pet", name)
            return found
    for died in _DIED.finditer(c.text):
        if any(
            h.claim.stance == "support" and same_name(h.claim.object, died["name"])
            for h in memory.earlier(speaker, speaker, "has_pet")
        ):
            state(
                speaker,
                "has_pet",
                died["name"],
                stance="reject",
                valid_from=_when(c),
                change="world_change",
            )
    if not c.subjects or found:
        return found
    if m := _HAS_PET.match(verb):
        rest = m["rest"]
        if regex.match(
            r"(?i)\s*(?:to|on (?:the|my) phone|in (?:the|my) (?:picture|photo)|house|food|"
            r"bed|allergy|hair|toy|show|sitter|walker|person|lover|owner|problem|flap|"
            r"sculpture|statue|costume|print|tattoo|video|picture|photo|farm|shop|shelter|"
            r"museum|race|nap)\b|'s",
            rest,
        ):
            return found
        if regex.search(
            r"(?i)\bstuffed|toy|plush|imaginary|robot|toy|hot|lucky|inflatable\b", m["adj"]
        ) or (m["verb"].lower() in ("got", "live with") and m["count"].lower() == "my"):
            return found
        pet = m["pet"].lower()
        if m["verb"].lower() in ("got", "bought") and regex.match(
            r"(?:fish|mouse|mice|snake)", pet
        ):
            return found
        negative = bool(m["neg"])
        gained = (
            regex.match(r"(?i)got|adopted|have adopted|has adopted|bought|rescued", m["verb"])
            is not None
        )
        start = _when(c) if gained else None
        named = _CALLED.match(rest)
        names = _names(named["names"]) if named else []
        if m["verb"].lower() == "live with" and not names and m["count"].lower() == "my":
            return found
        animal = (m["adj"] + m["pet"]).strip()
        animal = regex.sub(
            r"(?i)^(?:very |really |lovely |cute |little |small |big |old |new |young |"
            r"fat |lazy |grumpy |sweet |beautiful |rescue |adorable |tiny |huge )+",
            "",
            animal,
        )
        for subject in c.subjects[:1] if c.we else c.subjects:
            for name in names or [animal]:
                state(
                    subject,
                    "has_pet",
                    name,
                    stance="reject" if negative else "support",
                    valid_from=start,
                    change="world_change" if "longer" in (m["neg"] or "") else None,
                )
        more = _AND_PET.match(rest[named.end() :]) if named and names else None
        while more and not negative:
            called = _CALLED.match(more["rest"])
            further = _names(called["names"]) if called else []
            for subject in c.subjects[:1] if c.we else c.subjects:
                for name in further:
                    state(subject, "has_pet", name, valid_from=start)
            more = _AND_PET.match(more["rest"][called.end() :]) if called and further else None
        return found
    if m := _IS_MY_PET.match(verb):
        for subject in c.subjects:
            state(speaker, "has_pet", subject)
        return found
    if m := _OWNS.match(verb):
        what = m["what"]
        listed = things_counted(what)
        if listed and not _NOT_OWNED.match(listed[0]):
            negative = bool(m["neg"])
            ended = "longer" in (m["neg"] or "") or (
                negative and _ANY_MORE.search(what) is not None
            )
            for subject in c.subjects[:1] if c.we else c.subjects:
                for one in listed:
                    state(
                        subject,
                        "owns",
                        one,
                        stance="reject" if negative else "support",
                        change="world_change" if ended else None,
                    )
        return found
    if m := _HAS.match(verb):
        said = m["verb"].lower()
        what = f"{m['det']} {m['what']}"
        negative = bool(m["neg"])
        gained = _GAINED.match(said) is not None
        ended = "longer" in (m["neg"] or "") or (negative and _ANY_MORE.search(what) is not None)
        if regex.search(
            r"(?i)\b(?:as an? (?:gift|present)|for (?:my|his|her|our|a|the) \w+)", what
        ):
            return found
        for one in things_counted(what):
            if (
                not _is_thing(one)
                or _BORROWED.match(one)
                or _PART_OF.search(what[what.find(one) + len(one) :])
            ):
                continue
            if one.lower() == "watch" and said == "got":
                continue
            for subject in c.subjects[:1] if c.we else c.subjects:
                state(
                    subject,
                    "owns",
                    one,
                    stance="reject" if negative else "support",
                    valid_from=_when(c) if gained else None,
                    change="world_change" if ended else None,
                )
        return found
    if m := _SOLD.match(verb):
        sold = thing(m["what"])
        if sold:
            for subject in c.subjects[:1] if c.we else c.subjects:
                if _is_thing(sold) or any(memory.earlier(speaker, subject, "owns")):
                    state(
                        subject,
                        "owns",
                        sold,
                        stance="reject",
                        valid_from=_when(c),
                        change="world_change",
                    )
    return found
