"""Divides a sentence into clauses, each with its subject and a verb phrase in a normal form."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import regex

from pipelines.formation.dates_english import When, find_date
from pipelines.formation.discourse import Discourse
from pipelines.formation.english.kinship import KIN, KIN_PLURAL, kin_word
from pipelines.formation.english.names import NAME, is_evident_name, is_name, is_organisation
from pipelines.formation.english.sentences import Sentence
from pipelines.formation.lexicon import word_set

#: clauses of one sentence that are read
_MOST = 12

_VERBS = (
    r"(?:am|is|are|was|were|have|has|had|do|does|did|will|would|can|could|live|lives|lived|"
    r"work|works|"
    r"worked|speak|speaks|love|loves|like|likes|hate|hates|dislike|dislikes|prefer|prefers|"
    r"enjoy|enjoys|"
    r"study|studies|moved|joined|left|quit|own|owns|started|grew|come|comes|belong|belongs|"
    r"adore|adores|"
    r"detest|detests|loathe|loathes|teach|teaches|report|reports|eat|eats|go by|goes by|"
    r"resigned|sold|"
    r"bought|got|retired|became|need|know|settled|relocated|sing|sings|play|plays|attend|attends)"
)
_ADVERB = (
    r"(?:now|currently|also|still|actually|really|just|always|never|no longer|recently|mostly|both|"
    r"originally|absolutely|definitely|finally|already|personally|usually|then|only)"
)
_START = regex.compile(
    r"(?:(?:(?:now|these days|nowadays|currently|today|tomorrow|lately|recently|instead|"
    r"please|then|also|so) )?"
    rf"(?:i|he|she|we|they|it|you|this|that|these|those|there)\b(?! (?:and|or)\b)"
    rf"|(?:my|our|your|his|her|their) \p{{L}}"
    rf"|(?:please |{_ADVERB} ){{0,2}}(?:{_VERBS})\b"
    rf"|(?:please )?(?:always|never|do not|remind|call me|from now on|stop)\b"
    rf"|(?-i:{NAME})(?:,? (?:my|our) \w+,?)? (?:is|was|has|lives|works|speaks|loves|likes|"
    r"hates|prefers|owns|moved|joined|left|"
    r"studies|comes|reports|can|does|will|teaches|said|says|told|wrote|thinks|brings|"
    r"takes|makes|gets|sends|goes|"
    rf"needs|wants|knows|plays|runs|cooks|buys|calls|drives)\b"
    rf"|(?:the|a|an) \w+ (?:is|was|are|were|has|have)\b"
    r"|(?:everyone|everybody|people|friends|they)(?: \w+){0,3}? (?:calls?|knows?) (?:me|him|"
    r"her)\b)",
    regex.I,
)
_CUT = regex.compile(
    rf"(?P<hard>;|(?<!\b{KIN_PLURAL}):(?=\s)|\s[-–—]+\s|—|\s?\.\.\.\s?|…)\s*(?:(?:and|but|so|yet|plus|then)\s+)?"
    r"|(?P<comma>,)\s*(?P<conj>(?:(?:and|but|so|because|though|although|while|yet|or|plus|"
    r"then|since|as|"
    r"whereas|only|except)\s+){0,2})"
    r"|\s+(?P<bare>and|but|so|because|though|although|while|whereas|plus|yet)\s+"
    r"|(?P<rel>,?\s+)(?=(?:who|whose)\s)"
    r"|(?P<which>,\s*)(?=(?:which|where)\s)"
    r"|\s*(?P<open>[()])\s*"
    r"|\s+(?P<sub>(?:even )?if|unless|in case|whether|provided|as long as|depending on)\s+",
    regex.I,
)
_FILLER = regex.compile(
    r"(?i)^(?:(?:well|so|oh|ah+|hm+|yes|yeah|yep|yup|no(?! (?:need|longer|more|one|idea|"
    r"way|problem|reason)\b)|nope|nah|ok|okay|hi all|hi|hey all|hey|hello|thanks|"
    r"thank you|cheers|sorry|honestly|actually|anyway|anyways|also|and|but|by the way|btw|fyi|ps|"
    r"p\.s\.|for the record|just so you know|just to let you know|to answer your question|"
    r"as i said|"
    r"like i said|as mentioned|i (?:already )?told you(?: that)?|i said|you know|fun fact|"
    r"in fact|frankly|"
    r"personally|besides|plus|then|though|because|although|while|as for me|for me|look|"
    r"listen|great|"
    r"perfect|cool|sure|right|good|fine|of course|obviously|nowadays|unfortunately|luckily|"
    r"happily|sadly|"
    r"finally|lol|haha|true|funny|news|big news|good news|small update|update|quick update|"
    r"note that|"
    r"please note(?: that)?|note|remember(?: that)?|please remember(?: that)?|"
    r"don't forget(?: that)?|"
    r"do not forget that|keep in mind(?: that)?|you should know(?: that)?|just|correction|"
    r"better not|"
    r"i mean|i meant|i am afraid(?: that)?|the thing is|the truth is|turns out|"
    r"it turns out(?: that)?|"
    r"reminder|guys|folks|all|everyone|dear all|hm|erm|um|uh|wait|hold on|oops|ouch|nice|"
    r"good morning|good evening|morning|evening|and yes|i confess(?: that)?|i admit(?: that)?)"
    r"(?=$|[\s,.!:;-])[\s,.!:;-]*)+"
)
_TIME_FILLER = regex.compile(
    r"(?i)^(?P<now>now|currently|right now|at the moment|these days|at present|presently|meanwhile|"
    r"lately|as of today|nowadays)\b,? ?"
)
_VOCATIVE = regex.compile(rf"^(?P<name>{NAME}), ?(?=I\b|we\b|my\b|I'|please\b|remind\b)")
_DATE_OPENING = regex.compile(
    r"(?i)^(?:on|since|in|last|this|next|from|as of|until|yesterday|today|by|at|before|"
    r"starting|the day|"
    r"two|three|four|five|six|a (?:week|month|year|few)|\d|(?:mon|tues|wednes|thurs|fri|"
    r"satur|sun)day|"
    r"effective|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec|tomorrow|tonight|back in)"
)
#: "For long trips I prefer …": when or for what a taste holds; a single occasion is none
_FRONTED = regex.compile(
    r"(?i)^(?!.{0,50}\b(?:this|that|today|tonight|tomorrow|yesterday|once|past|childhood|youth|"
    r"dreams?|"
    r"theory|book|novel|story|game|film|ago|was|were)\b)"
    r"(?:for|on|in|at|with|during|after|before|between|over|when|whenever|while|given|as|to)\s"
    r"(?!if\b|it\b)[^,;:()]{2,50}?,? "
    r"(?=(?:(?:I|we)(?: (?:always|usually|generally|normally|much|really|still|also|would|"
    r"absolutely|definitely|do))*"
    r"|(?:my|our) [^,;:()]{2,30}?) (?:(?:do |does )?not )?"
    r"(?:prefers?|rather|likes?|loves?|enjoys?|hates?|dislikes?|detests?|adores?|can not stand)\b)"
)
_ADVERBS = word_set(
    "now currently still also actually really just recently already both presently mostly mainly "
    "finally only personally honestly basically officially originally usually generally absolutely "
    "truly quite very super so totally completely severely "
    "deathly highly mildly terribly seriously "
    "violently definitely slightly long happily simply much far permanently temporarily extremely "
    "incredibly badly strictly strongly quite pretty sadly genuinely hugely "
    "obviously certainly indeed newly freshly deeply particularly especially secretly luckily "
    "unfortunately therefore incurably lately nowadays "
    "proudly part-time full-time"
)
_AUXILIARY = word_set("am is are was were have has had been do does did not will can being to")
_DOUBT = regex.compile(
    r"(?i)\b(?:maybe|perhaps|possibly|probably|might|(?-i:may)|could|would|should|ought|"
    r"hopefully|supposedly|"
    r"allegedly|apparently|not sure|unsure|rumou?rs?|seems?|seemingly|presumably|likely|reportedly|"
    r"i (?:think|guess|believe|suppose|assume|suspect|heard|hear|read|bet|imagine|thought|"
    r"hope|wish|"
    r"wonder|doubt|dream|dreamt|expect|fear|figured|gather)|as though|pretend(?:ed|ing)?|"
    r"joking|kidding|"
    r"in (?:my|your|his|her) dreams?|almost|nearly|practically|virtually)\b"
)
_REPORT = regex.compile(
    rf"(?i)(?:^|\b)(?:(?-i:(?!I\b){NAME})|he|she|they|(?:my|our|his|her|the|a|"
    rf"some) (?:\w+ ){{0,2}}\w+|people|"
    r"someone|somebody|everyone|everybody|you|it) (?:(?:just|also|once|always|still|has|"
    r"have|had|kept|keeps) )?"
    r"(?:says?|said|tells?|told|writes?|wrote|thinks?|thought|claims?|claimed|mentions?|mentioned|"
    r"believes?|believed|reckons?|heard|insists?|insisted|swears?|swore|reports? that|"
    r"announced|replied|"
    r"replies|answered|texted|emailed|posted|asks?|asked|wonders?|wondered|hopes?|wants?|"
    r"wanted|suggests?|"
    r"suggested|noted that|notes that|states|stated|saying|telling|lied|dreams?|pretends?|"
    r"assumes?|assumed|feels?|guesses|guessed)\b"
)
_OWN_REPORT = regex.compile(
    r"(?i)^(?:i|we) (?:(?:also|already|just) )?(?:said|told|mentioned|wrote)\b"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause: who does what.

    `subjects` are names (the speaker's for I and we); empty where nobody can be named. `verb` is
    the verb phrase with contractions opened and adverbs before the verb taken out (they are in
    `adverbs`). `text` is the clause as the sentence has it. `doubtful` clauses state nothing:
    maybe, I think, somebody says.
    """

    text: str
    subjects: tuple[str, ...]
    first: bool
    we: bool
    verb: str
    adverbs: frozenset[str]
    opening: str
    doubtful: bool
    conditional: bool
    ironic: bool
    message: int
    at: datetime
    imperative: bool = False

    def date(self, *, past: bool) -> When | None:
        """The date said in this clause; offsets count in `verb` (or the opening phrase)."""
        text = self.verb
        found = find_date(text, self.at, past=past)
        if found is None and self.opening:
            text = self.opening
            found = find_date(text, self.at, past=past)
        if past and found is not None and _EITHER_WAY.match(text, found.start):
            ahead = find_date(text, self.at)
            if ahead is not None and abs(ahead.due - self.at) < abs(found.due - self.at):
                return ahead
        return found

    @property
    def now(self) -> bool:
        """Whether the clause says that this is the state of today, as against earlier."""
        return bool(self.adverbs & {"now", "currently", "these days", "nowadays", "recently"}) or (
            _NOW.search(self.verb) is not None
        )


#: "as of 1 December" may lie ahead as well as behind, whatever the tense: the nearer one is meant
_EITHER_WAY = regex.compile(r"(?i)(?:as of|as from|from|effective) ")
_NOW = regex.compile(r"(?i)\b(?:now|these days|nowadays|as of today|at the moment)$")


_LIVE_AND_WORK = regex.compile(
    r"(?i)(?P<live>\bliv(?:e|es|ed|ing)) and (?:work|study|stud)(?:s|ies|ed|ied|ing|ying)?(?= in\b)"
)
_ONLY_NAMES = regex.compile(rf"{NAME}(?:, {NAME})*|(?i:me|my \w+)")
_RELATIVE = regex.compile(r"(?i)(?:who|which|where|whose) ")
_APPOSITION = regex.compile(
    rf"(?<!\p{{L}})(?P<name>{NAME}), (?P<my>(?i:my|our) (?:[a-z-]+ ){{0,2}}?(?i:{KIN})),(?= )"
)
_NAMED_AFTER = regex.compile(
    rf"(?P<my>\b(?i:my|our) (?:[a-z-]+ ){{0,2}}?(?i:{KIN})), (?P<name>{NAME}),(?= )"
)


def _cuts(text: str) -> list[tuple[str, str]]:
    """Pieces of a sentence, each with what joins it to the one before."""
    pieces: list[tuple[str, str]] = []
    start, joint = 0, ""
    for m in _CUT.finditer(text):
        if m.start() < start:
            continue
        kind = "hard"
        if m["comma"] or m["bare"]:
            if m["bare"] and _ONLY_NAMES.fullmatch(text, start, m.start()):
                continue
            relative = _RELATIVE.match(text, m.end()) if m["comma"] else None
            if relative is None and not _START.match(text, m.end()):
                continue
            kind = ((m["conj"] or m["bare"]) or ",").strip().lower() or ","
            if relative is not None:
                kind = "who" if relative[0].lower() == "who " else "which"
        elif m["rel"] is not None:
            kind = "who"
        elif m["which"] is not None:
            kind = "which"
        elif m["sub"]:
            kind = "if"
        piece = text[start : m.start()].strip(" ,")
        if piece:
            pieces.append((joint, piece))
        elif not pieces:
            kind = joint or kind
        start, joint = m.end(), kind
        if len(pieces) >= _MOST:
            return pieces
    rest = text[start:].strip(" ,")
    if rest:
        pieces.append((joint, rest))
    return pieces


_I = regex.compile(r"(?i)^(?P<who>i|we|me and my \w+|my \w+ and i)\b ?(?:both |all )?")
_PRONOUN = regex.compile(r"(?i)^(?P<who>he|she)\b ?")
_OTHER = regex.compile(
    r"(?i)^(?:it|they|you|this|that|these|those|there|someone|somebody|everyone)\b ?"
)
_KIN_SUBJECT = regex.compile(
    rf"(?i)^(?:my|our) (?:\w+ ){{0,2}}?(?P<kin>{KIN})\b(?:,? (?:called |"
    rf"named )?(?-i:(?P<name>{NAME}))(?!'s))?"
    r"(?P<rest>,? |$)"
)
_POSSESSOR = regex.compile(rf"(?:,? {NAME})?'s\b")
_NAME_KIN = regex.compile(rf"^(?P<name>{NAME}), (?:my|our) (?:\w+ ){{0,2}}?(?P<kin>{KIN}),? ")
_NAMES = regex.compile(
    rf"^(?P<one>{NAME})(?:(?:, (?P<mid>{NAME}))? and (?P<two>{NAME}|I|me))?(?: |$)"
)
_IS_KIN = regex.compile(rf"(?i)(?:is|was) (?:my|our) (?:\w+ ){{0,2}}?{KIN}\b")


def _normal_verb(verb: str) -> tuple[str, frozenset[str]]:
    words = verb.split(" ")
    kept: list[str] = []
    dropped: set[str] = set()
    for place, word in enumerate(words):
        low = word.lower().strip(",")
        if low in _ADVERBS and place < 8:
            dropped.add(low)
            continue
        kept.append(word)
        if low not in _AUXILIARY and not (
            low == "no" and words[place + 1 : place + 2] == ["longer"]
        ):
            if low == "longer" and kept[-2:-1] == ["no"]:
                continue
            kept.extend(words[place + 1 :])
            break
    if kept and kept[0].lower() == "do" and len(kept) > 1 and kept[1].lower() != "not":
        kept = kept[1:]
    if len(kept) > 2 and kept[1].lower() in ("now", "also", "currently", "still", "mostly"):
        dropped.add(kept.pop(1).lower())
    return " ".join(kept), frozenset(dropped)


def clauses_of(sentence: Sentence, message: int, memory: Discourse) -> list[Clause]:
    """The clauses of a sentence in order; subjects are carried over where a verb has none."""
    speaker, at = memory.speaker(message), memory.at(message)
    found: list[Clause] = []
    carried: tuple[tuple[str, ...], bool, bool] = ((), False, False)
    reported = conditional = False
    whole = _LIVE_AND_WORK.sub(r"\g<live>", sentence.text)
    if "my " in whole or "My " in whole or "our " in whole or "Our " in whole:
        whole = _NAMED_AFTER.sub(r"\g<my> \g<name>", _APPOSITION.sub(r"\g<my> \g<name>", whole))
    for place, (joint, piece) in enumerate(_cuts(whole)):
        text = piece
        if joint == "if":
            conditional = True
        if joint in ("hard", "but", ",", "and", "so") and reported and joint != "and":
            reported = joint == "hard" and reported
        text = _FILLER.sub("", text) or text
        vocative = _VOCATIVE.match(text)
        if vocative and is_name(vocative["name"]):
            text = text[vocative.end() :]
        text = _FILLER.sub("", text) or text
        adverbs: set[str] = set()
        opening = ""
        time_word = _TIME_FILLER.match(text)
        if time_word:
            adverbs.add("now")
            text = text[time_word.end() :]
        elif _DATE_OPENING.match(text):
            date = find_date(text, at)
            if date is not None and date.start == 0 and date.end < len(text):
                after = regex.match(r"(?:,? (?:on|this year|now))?,? ?", text[date.end :])
                cut = date.end + (after.end() if after else 0)
                if _START.match(text, cut) or regex.match(r"(?:remind|we|I)\b", text[cut:]):
                    opening, text = text[: date.end], text[cut:]
        if (fronted := _FRONTED.match(text)) is not None:
            text = text[fronted.end() :]
        if joint == "which" and regex.match(r"(?i)where (?:i|we|he|she) ", text):
            text, joint = text[6:], ","
        subjects: tuple[str, ...] = ()
        first = we = imperative = False
        rest = text
        if joint == "who":
            subjects = _ended_by(found[-1].text if found else "", memory, message)
            rest = regex.sub(r"(?i)^who ", "", text)
        elif m := _I.match(text):
            subjects, first, rest = (speaker,), True, text[m.end() :]
            we = m["who"].lower() != "i"
        elif m := _PRONOUN.match(text):
            name = memory.antecedent(message, "f" if m["who"].lower() == "she" else "m")
            subjects = (name,) if name and not name.startswith("?") else ()
            rest = text[m.end() :]
        elif m := _OTHER.match(text):
            rest = text[m.end() :]
        elif (m := _NAME_KIN.match(text)) and is_name(m["name"]):
            subjects, rest = (m["name"],), text[m.end() :]
        elif m := _KIN_SUBJECT.match(text):
            name = m["name"]
            if name and regex.match(r"(?:'s)\b", text[m.end("name") :]):
                name = None
            if not name:
                name = memory.kin.get((speaker, kin_word(m["kin"])))
            if _POSSESSOR.match(text, m.end("kin")):
                name = None  # "my sister Ana's husband": neither of the two
            subjects = (name,) if name and (is_name(name) or not m["name"]) else ()
            rest = text[m.end() :]
        elif place == 0 and _DROPPED_I.match(text):
            subjects, first = (speaker,), True
            if regex.match(r"(?i)(?:living|based|working|allergic|going)\b", text):
                rest = f"am {text}"
            elif regex.match(r"(?i)born\b", text):
                rest = f"was {text}"
        elif (
            (m := _NAMES.match(text))
            and (is_evident_name(m["one"]) or (is_name(m["one"]) and _IS_KIN.match(text, m.end())))
            and not is_organisation(m["one"])
        ):
            names = [m["one"], m["mid"], m["two"]]
            if m["two"] in ("I", "me"):
                subjects, first, we = (speaker, m["one"]), True, True
            else:
                subjects = tuple(n for n in names if n and is_name(n))
            rest = text[m.end() :]
        elif (
            joint
            and joint not in ("hard", "which")
            and regex.match(rf"(?i)(?:{_ADVERB} ){{0,2}}{_VERBS}\b", text)
            and not (joint == "," and _NO_VERB_AFTER_COMMA.match(text))
        ):
            subjects, first, we = carried
        else:
            imperative = True
        if joint not in ("who", "which") and (subjects or not imperative):
            carried = (subjects, first, we)
        verb, dropped = _normal_verb(rest)
        if not first and len(subjects) == 1 and joint != "who" and _BASE_FORM.match(verb):
            subjects = ()  # "Sounds like fun": no person does this
        own = _OWN_REPORT.match(text) is not None
        if _REPORT.search(text) and not own and not first:
            reported = True
        doubtful = reported or _DOUBT.search(text) is not None or "\ufffc" in text
        found.append(
            Clause(
                text=text,
                subjects=subjects,
                first=first,
                we=we,
                verb=verb,
                adverbs=frozenset(adverbs) | dropped,
                opening=opening,
                doubtful=doubtful,
                conditional=conditional,
                ironic=sentence.ironic,
                message=message,
                at=at,
                imperative=imperative,
            )
        )
    return found


#: ", like yoga", ", love and peace": no verbs
_NO_VERB_AFTER_COMMA = regex.compile(r"(?i)(?:like|love|work|study|play|need|hate|report)\b")
#: what one person other than the speaker cannot be said to do in this form
_BASE_FORM = regex.compile(
    r"(?i)(?:do not|have|like|love|hate|dislike|enjoy|prefer|live|work|speak|own|study|belong|know|"
    r"report|adore|come|teach|need|want|am|go|eat|sing|play|detest|loathe)\b"
)
#: a verb with which people begin when they leave "I" out
_DROPPED_I = regex.compile(
    r"(?i)^(?:(?:just|finally|recently|already|also|still|currently|now|"
    r"have) ){0,2}(?:moved|relocated|joined|quit|resigned|"
    r"started (?:working|at|a new|my new|studying)|got (?:a new job|the job|hired|laid off|"
    r"promoted|a job)|bought|sold|adopted|"
    r"booked|sent|paid|finished|submitted|returned|ordered|picked up|called|mailed|posted|"
    r"ordered|delivered|cleaned|fixed|"
    r"(?:living in|based in|working (?:at|for|as))(?!.*\b(?:must|is|was|are|would|can|has|"
    r"sounds?|helps?|makes?)\b)|allergic to|born (?:in|on)|left my job|"
    r"can not stand|can't stand|(?:love|hate|prefer)(?! and\b| is\b)|"
    r"need to|have to|will|going to (?!(?:the|that|this|these|those|a|an|my|our|his|her|their|some|"
    r"\w+ing|\w+s)\b)(?!.*\b(?:is|has|was|are|were)\b)|speak|live in|work (?:at|for|as)|"
    r"can not (?:do|make|"
    r"come|manage)|will not)\b"
    r"|^(?:(?:just|finally|already|also) )?(?:(?!used |need|red |bed |wed |fred|ted |ned |"
    r"ed |alfred|jared|ahmed|mohamm|excited|tired)\p{L}{3,}ed"
    r"|paid|sent|brought|bought|wrote|gave|took|made|told|met|left|lent|built|kept|held|"
    r"fed|did|got) (?!(?:is|was|has|lives|works|"
    r"and|or|to be|by|with)\b)\p{L}"
)
_LAST_NAME = regex.compile(rf"(?P<name>{NAME}),?$")


def _ended_by(text: str, memory: Discourse, message: int) -> tuple[str, ...]:
    """The person named at the end of a clause, whom a following "who" means."""
    m = _LAST_NAME.search(text[-60:])
    if m and is_name(m["name"]):
        return (m["name"],)
    kin = regex.search(rf"(?i)\b(?:my|our) (?:\w+ )?(?P<kin>{KIN})$", text[-40:])
    if kin:
        name = memory.kin.get((memory.speaker(message), kin_word(kin["kin"])))
        return (name,) if name else ()
    return ()
