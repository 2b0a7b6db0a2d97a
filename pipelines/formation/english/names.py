"""Names of persons, places and organisations as English text spells them: by their capitals.

Without capitals nothing is taken for a name; a rule-based reader cannot know better.
"""

from __future__ import annotations

import regex

from pipelines.formation.chinese.names import is_name as is_chinese_name
from pipelines.formation.chinese.names import name_end
from pipelines.formation.discourse import Gender
from pipelines.formation.lexicon import (
    CLUB_NOUNS,
    LANGUAGES,
    ORGANISATION_NOUNS,
    SCHOOL_NOUNS,
    word_set,
)

#: a capitalised word; digits glued to its end ("Sector7", not "Q3") belong to it
_UPPER = (
    r"\p{Lu}[\p{L}\p{M}]*(?:(?:['’](?!s\b)|-)\p{Lu}?[\p{L}\p{M}]+)*"
    r"(?:(?<=\p{L}{3})\p{N}[\p{L}\p{N}]*)?"
)
_PARTICLE = r"(?:de|van|von|der|den|del|della|di|da|dos|la|le|al|el|bin|ibn|af|av|zu|ter|ten|y)"
#: a person's name in Latin letters: one to three capitalised words, with particles between
_LATIN_NAME = (
    rf"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{_UPPER}(?:(?: {_PARTICLE}){{1,2}} {_UPPER}| {_UPPER}){{0,2}}"
)
#: a person's name; in an English sentence a short run of Han characters can be one too
NAME = rf"(?:{_LATIN_NAME}|[㐀-鿿]{{2,4}}(?![㐀-鿿]))"
_PLACE_WORD = rf"(?:St\.? |Mt\.? |Ft\.? )?{_UPPER}"
#: a place's name: capitalised words with their little words, or Han characters
PLACE = (
    rf"(?:{_PLACE_WORD}(?:(?:[ -](?:of|upon|de|de la|la|las|los|del|do|da|dos|sur|en|le|"
    r"an der|am|im|bei|ob|"
    r"op|aan|sous|les)[ -](?:the )?|-(?:on|in|le|by|under|next)-(?:the-)?|"
    rf"[ -]){_PLACE_WORD}){{0,3}}|[㐀-鿿]{{2,12}})"
)
_ORG_WORD = r"(?:\p{Lu}[\p{L}\p{M}\p{N}'’.&+-]*|\d+\p{Lu}?[\p{L}]*|[㐀-鿿]{2,20})"
#: an organisation's name
ORGANISATION = (
    rf"(?:{_ORG_WORD}(?:(?: (?:&|and|of the|of|for|the|de|der|y)){{0,1}} {_ORG_WORD}){{0,5}})"
)

#: capitalised words that are nobody's name
_NO_NAMES = word_set(
    "i the a an this that these those my your our his her their its he she it we they you who what "
    "when where why how which there here yes no yeah nope ok okay oh ah well so and but or if then "
    "thanks thank hi hello hey dear sorry please everyone everybody someone somebody nobody anyone "
    "anybody people most some many few all both none each every another other others one two three "
    "monday tuesday wednesday thursday friday saturday sunday "
    "january february march april may june "
    "july august september october november december today tomorrow yesterday tonight christmas "
    "easter halloween mum mom dad mother father grandma grandpa granny grandad mama papa mommy "
    "daddy sister brother uncle aunt auntie son daughter wife husband baby boss god jesus santa "
    "english french german spanish italian not never always sometimes often just also still now "
    "only even maybe perhaps please remember remind call let do does did is are was were be been "
    "have has had can could will would should may might must great good nice cool right sure fine "
    "actually honestly anyway lol haha wow omg btw fyi asap pm am tv pc usa uk eu us api sql json "
    "http https url faq server data team work home life love time day night week month year music "
    "coffee tea water food milk bread rain snow summer winter spring autumn fall morning evening "
    "sounds looks seems feels thinks set try keep hope glad happy sorry excited themes plus yay "
    "wow guess check take make sure wish send bring tell ask see let's lets hoping thinking ours "
    "from to in on at by for with without about of as like since until before after because "
    "although though while during between among over under up down out off into than too very "
    "much more less first second third last next new old new dogs cats pandas birds children kids "
    "students teachers doctors men women man woman boy girl guys folks friends family parents "
    "neighbours neighbors colleagues customers users staff management nothing something everything "
    "anything noone neither either half part whatever wherever note correction update edit ps nb "
    "re fwd fw subject date internet google kit's everyone's python java docker linux windows "
    "excel word zoom slack teams email mail wifi wi-fi covid"
)
_NO_NAMES = _NO_NAMES - {"may", "april", "june", "august", "kit's"} | {"may"}

_FEMALE = word_set(
    "ada adele agnes agnieszka aino alice amelia amy ana anna anne annie anita astrid aya beatrice "
    "bella beth betty bianca birgit bridget camille carla carmen carol caroline catherine cathy "
    "charlotte chiara chloe christina christine claire clara claudia daisy dana daniela denise "
    "diana dora dorothy edith eleanor elena elisa elise elizabeth ella ellen elsa emily emma erica "
    "esther eva eve fatima fiona flora frances freya gabriela georgia gina giulia grace greta hana "
    "hanna hannah heather heidi helen helena holly ida "
    "ines ingrid irene irina iris isabel isabella "
    "ivana jane janet jasmine jenny jessica joan joanna johanna josephine judith judy julia julie "
    "karen karin kate katherine kathy katja kerstin kirsten kristina laura lea leila lena leonie "
    "lilian lily linda lisa lola lotte louise lucia lucy luisa lydia madeleine magda maja mara "
    "margaret maria marie marina marit marta martha mary matilda maya megan mia michelle mila mina "
    "miriam molly monica nadia nancy naomi natalie natasha ngozi nicole nina noor nora olga olivia "
    "ottilie paula pauline petra priya rachel rebecca renata rita rosa rose ruth sabine sally "
    "samantha sandra sara sarah selin sofia sonia sophia sophie stella susan susanne sylvia tamara "
    "tanja tara teresa theresa tina ursula valentina vera veronica victoria violet wendy yael yara "
    "yasmin yuki yvonne zara zoe"
)
_MALE = word_set(
    "aaron adam adrian ahmed alan albert alejandro alex alexander alfred ali andrea andreas andrew "
    "anthony antonio arthur bartek ben benjamin bernard bill bob boris brian bruno carl carlos cem "
    "charles charlie chris christian christoffer christopher claus colin dan daniel david dennis "
    "devin diego dimitri dirk dmitri dominic donald doug douglas ed eduardo edward emeka emil eric "
    "erik ernest felix fernando finn francis francisco frank fred frederick gabriel gary george "
    "gerald giovanni glenn gordon graham greg gustav hans harald harold harry hassan hector heinz "
    "henrik henry herbert hugo ian igor isaac ivan ivo jack "
    "jacob jakob james jan jason javier jens "
    "jeremy jim joe joel johan johannes john jonas jonathan jorge jorn jose joseph josh juan kai "
    "karl keith ken kenneth kevin klaus kurt lars larry leo leon leonard liam lorenzo louis luca "
    "lucas luis lukas luke magnus malik manuel marc marco marcus mario mark markus martin mateo "
    "matt matteo matthew max michael miguel mike mikhail "
    "miklos mohamed mohammed moritz nathan neil "
    "nicholas nick niels nils noah norman oleg olek oliver "
    "omar oscar otto owen pablo paolo patrick "
    "paul pavel pedro peter phil philip pierre piet pietro rafael ralph ramon rashad raul ray "
    "richard rob robert roberto rodrigo roger roland roman ron rune ryan sam samuel scott sean "
    "sebastian sergei sergio simon sorin stefan stephen steve steven stuart sven tam teo theo "
    "thomas tim timothy tobias todd tom tomas tony ulrich umar vik victor viktor vincent vladimir "
    "walter werner wiktor will william wolfgang xavier yusuf zoltan"
)

_MENTION = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}.'’-])(?:(?P<before>\p{{Ll}}+) )?(?P<name>{_LATIN_NAME})"
)
_HAN = regex.compile(r"[㐀-鿿]")
_NOT_BEFORE = word_set("in at from near of on to into by the a an for since until")
_UNNAMED = regex.compile(
    r"(?i)(?<!\b(?:is|am|are|was|were|be|as|not) )\b(?:a|an|the|another|some|my|his|her|"
    r"our|their|this|that) (?:\w+ ){0,2}(?P<noun>"
    r"(?P<f>girl|woman|lady|mother|mum|mom|sister|daughter|wife|girlfriend|aunt|niece|grandmother|"
    r"grandma|waitress|landlady)|(?P<m>boy|man|guy|father|dad|brother|son|husband|boyfriend|uncle|"
    r"nephew|grandfather|grandpa|waiter|landlord)|friend|colleague|boss|manager|doctor|neighbour|"
    r"neighbor|cousin|teacher|nurse|partner|client|customer|candidate|dentist|roommate|flatmate)\b"
    r"(?!'s name\b)(?!,? (?:called |named |is called |is )?(?-i:\p{Lu}))"
)


#: single capitalised words with these endings begin a sentence: "Hoping", "Excited"
_NO_NAME_END = regex.compile(r"^\w{3,}(?:ing|ed|tion|ness|ously|tely|ally|fully|ment|ity)$")


def gender_of(name: str) -> Gender | None:
    """The gender that a well-known first name suggests; None where it says nothing."""
    first = name.split()[0].lower()
    return "f" if first in _FEMALE else "m" if first in _MALE else None


def is_name(words: str) -> bool:
    """Whether capitalised words can be a person's name."""
    if _HAN.match(words):
        return name_end(words, 0, loose=True) == len(words)
    parts = [part.rstrip("0123456789") for part in words.lower().split()]
    if not parts or parts[0] in _NO_NAMES or parts[0] in LANGUAGES:
        return False
    if len(parts) == 1 and _NO_NAME_END.search(parts[0]) and gender_of(words) is None:
        return False
    last = parts[-1]
    if len(parts) > 1 and (
        last in ORGANISATION_NOUNS or last in CLUB_NOUNS or last in SCHOOL_NOUNS
    ):
        return False
    return not (words.isupper() and len(words) > 4) and not any(p in _NO_NAMES for p in parts)


def is_evident_name(words: str) -> bool:
    """Whether words are a person's name even where nothing beside them ("my brother") says so."""
    return is_chinese_name(words) if _HAN.match(words) else is_name(words)


def is_organisation(words: str) -> bool:
    """Whether the last word of a name tells that it is an employer, a club or a school."""
    last = words.lower().split()[-1].rstrip(".")
    return last in ORGANISATION_NOUNS or last in CLUB_NOUNS or last in SCHOOL_NOUNS


def persons_in(text: str) -> list[tuple[str, Gender | None]]:
    """Everybody named or meant in a clause, in order; unnamed ones ("a friend") begin with "?".

    Only for telling whom a pronoun can mean: a word too many makes it ambiguous, which is safe.
    """
    found: list[tuple[int, str, Gender | None]] = []
    for m in _MENTION.finditer(text):
        name, before = m["name"], m["before"]
        if before in _NOT_BEFORE or not is_name(name):
            continue
        found.append((m.start("name"), name, gender_of(name)))
    for m in _UNNAMED.finditer(text):
        gender: Gender | None = "f" if m["f"] else "m" if m["m"] else None
        found.append((m.start(), f"?{m['noun'].lower()}", gender))
    return [(name, gender) for _, name, gender in sorted(found, key=lambda x: x[0])]
