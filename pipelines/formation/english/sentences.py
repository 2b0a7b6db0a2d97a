"""Divides a message into sentences and tells which of them state nothing.

What a sentence is under (a question, a supposition, play, irony, text to be translated, an order
to the memory) decides before any rule looks at its words (README of the cases, points 3 and 4).
"""

from __future__ import annotations

from dataclasses import dataclass

import regex

from pipelines.formation.english.spelling import capitalised, mended

#: characters of one sentence that rules look at
_LONGEST = 600
#: sentences of one message that are read
_MOST = 400

_BREAK = regex.compile(r"[.!?…]+(?=[\s)\]]|$)|[。！？]+|\n+")
#: full-width marks in an English sentence -> plain ones
_MARKS = str.maketrans(
    {
        "，": ", ",
        "、": ", ",
        "；": "; ",
        "：": ": ",
        "。": ".",
        "！": "!",
        "？": "?",
        "（": " (",
        "）": ") ",
    }
)
#: Chinese words of grammar that stand alone in an English clause: "我 live in 杭州"
_SWITCHED = {
    "我": "I",
    "我也": "I also",
    "我的": "my",
    "以后": "from now on",
    "以后请": "from now on please",
    "请": "please",
    "请以后": "please from now on",
    "今后": "from now on",
    "从现在起": "from now on",
    "但是": "but",
    "但": "but",
    "因为": "because",
    "所以": "so",
    "和": "and",
    "而且": "and",
    "现在": "now",
    "不": "do not",
    "我不": "I do not",
}
_SWITCH = regex.compile(
    r"(?<![\p{Han}\p{L}])(?:"
    + "|".join(sorted(_SWITCHED, key=len, reverse=True))
    + r")(?![\p{Han}]) ?"
)
_ABBREVIATION = regex.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|mt|ft|sr|jr|no|vs|e\.g|i\.e|approx|dept|jan|feb|mar|apr|jun|jul"
    r"|aug|sept?|oct|nov|dec|a\.m|p\.m|inc|ltd|co|u\.s|u\.k)|(?<![\w])[A-Z])$",
    regex.I,
)
_BULLET = regex.compile(r"^\s*(?:[-*•·–+]|\(?\d{1,2}[.):]|\(?[a-h][.)])\s+|^\s*\[[ x]\]\s*")
_EMPHASIS = regex.compile(r"(?<!\w)(\*\*|__|\*|_|~~)(?=\S)([^*_~\n]{1,200}?)\1(?!\w)")
_TYPOS = {
    "im": "I'm",
    "ive": "I've",
    "dont": "don't",
    "cant": "can't",
    "wont": "won't",
    "doesnt": "doesn't",
    "didnt": "didn't",
    "isnt": "isn't",
    "arent": "aren't",
    "wasnt": "wasn't",
    "havent": "haven't",
    "hasnt": "hasn't",
    "couldnt": "couldn't",
    "alergic": "allergic",
    "allergick": "allergic",
    "alergy": "allergy",
    "alergies": "allergies",
    "allways": "always",
    "alwasy": "always",
    "alwyas": "always",
    "nver": "never",
    "pls": "please",
    "plz": "please",
    "favorite": "favourite",
    "favrite": "favourite",
    "fav": "favourite",
    "fave": "favourite",
    "vegitarian": "vegetarian",
    "vegeterian": "vegetarian",
    "prefere": "prefer",
    "preffer": "prefer",
    "perfer": "prefer",
    "liev": "live",
    "wrok": "work",
    "i": "I",
    "tommorow": "tomorrow",
    "tomorow": "tomorrow",
    "tmrw": "tomorrow",
    "teh": "the",
    "gonna": "going to",
    "gotta": "have to",
    "wanna": "want to",
    "cannot": "can not",
    "collegue": "colleague",
    "coleague": "colleague",
    "neice": "niece",
    "brithday": "birthday",
    "bday": "birthday",
    "b-day": "birthday",
    "remeber": "remember",
    "adress": "address",
    "recieve": "receive",
    "speek": "speak",
    "freind": "friend",
    "remined": "remind",
    "timezone": "time zone",
    "time-zone": "time zone",
    "hafta": "have to",
    "ill": "ill",
}
_TYPO = regex.compile(
    r"(?<![\w'’-])(?:" + "|".join(map(regex.escape, _TYPOS)) + r")(?![\w'’-])", regex.I
)
_MISSPELT_ILL = regex.compile(r"^ill(?= [a-z]+ )|(?<=[,;] )ill(?= [a-z]+ )")
_CONTRACTIONS = (
    (regex.compile(r"(?i)\b(I)'m\b"), r"\1 am"),
    (regex.compile(r"(?i)\b(you|we|they|who)'re\b"), r"\1 are"),
    (regex.compile(r"(?i)\b(I|you|we|they|who)'ve\b"), r"\1 have"),
    (regex.compile(r"(?i)\b(I|you|he|she|it|we|they|that|there|who|this)'ll\b"), r"\1 will"),
    (regex.compile(r"(?i)\b(I|you|he|she|it|we|they|who)'d\b"), r"\1 would"),
    (regex.compile(r"(?i)\bcan't\b"), "can not"),
    (regex.compile(r"(?i)\bwon't\b"), "will not"),
    (regex.compile(r"(?i)\bshan't\b"), "shall not"),
    (regex.compile(r"(?i)\bain't\b"), "am not"),
    (
        regex.compile(
            r"(?i)\b(do|does|did|is|are|was|were|have|has|had|would|could|should|must|need|"
            r"might)n't\b"
        ),
        r"\1 not",
    ),
    (
        regex.compile(
            r"(?i)\b(he|she|it|who|that)'s (?=(?:now |just |already |recently |always |also )*"
            r"(?:been|lived|got|worked|moved|had|gone|started|left|joined|quit|become|turned)\b)"
        ),
        r"\1 has ",
    ),
    (
        regex.compile(r"(?i)\b(he|she|it|who|that|there|name|here|what|where|everyone)'s\b"),
        r"\1 is",
    ),
    (
        regex.compile(
            r"(\b\p{Lu}[\p{L}-]+)'s (?=(?:a|an|the|my|our|not|from|into|in|with|based|allergic|"
            r"living|working|called|married|also|really|now|vegan|vegetarian|originally)\b)"
        ),
        r"\1 is ",
    ),
    (regex.compile(r"(?i)\blet us\b"), "let's"),
)

_QUESTION_OPENING = regex.compile(
    r"(?i)^(?:(?:and|but|so|or|hey|hi|hello|ok|okay|well|oh|sorry|also|btw|please)[, ]+)*"
    r"(?:(?!what i (?:just |once )?(?:said|told|wrote)\b)(?:what|where|when|who|whom|whose|why|"
    r"how|which)(?:'s| (?:[\w'-]+ ){0,3}?(?:is|"
    r"are|am|do|does|did|was|were|can|could|will|would|"
    r"should|shall|has|have|had|to|about)\b)(?![^,?]*, (?:please |always |never |do not |"
    r"use |reply |answer |i ))|(?:do|does|did|is|are|was|"
    r"were|can|could|will|would|should|shall|has|have|had|am|may|might|isn't|aren't|don't|"
    r"didn't|won't"
    r"|wouldn't) (?:not )?(?:you|i|he|she|they|we|it|there|that|this|the|my|your|anyone|anybody|"
    r"someone|somebody)\b)"
)
_SUPPOSED = regex.compile(
    r"(?i)^(?:(?:and|but|so|or|well|oh|ok|okay|hey|hm+|also|then|yes|no|haha|lol|hi|sure)[, ]+)*"
    r"(?:(?:only |even |what |as )?if\b|suppos(?:e|ing)\b|imagine\b|assum(?:e|ing)\b|let's (?:say|"
    r"pretend|assume|imagine|suppose|play)\b|pretend\b|say (?:i|we|you|he|she)\b|unless\b|had i\b|"
    r"were i\b|in case\b|whether\b|maybe\b|perhaps\b|possibly\b|probably\b|hopefully\b|some ?day\b|"
    r"one day\b|hypothetical|in (?:theory|another life|my dreams?|a dream)\b|"
    r"for (?:example|instance)"
    r"\b|e\.g\.|example\b|last night i dreamt|i (?:dream|dreamt|dreamed|wish|hope|wonder|doubt|"
    r"fantasi[sz]e|pretend)\b|it (?:would|might|could) be\b|wish\b|no idea\b|i (?:have )?no idea\b|"
    r"guess\b|apparently\b|allegedly\b|supposedly\b|rumou?r|according to\b|"
    r"(?:most |some |many )?(?:people|everybody|everyone)\b(?!(?: \w+){0,3}? (?:calls?|knows?) "
    r"(?:me|him|her)\b)|"
    r"nobody\b|no one\b|they say\b|"
    r"in (?:the|my|this|our|a) (?:game|novel|story|book|film|movie|play|script|song|dream|poem|"
    r"series|show|episode|scenario|role)\b)"
)
_IRONY = regex.compile(
    r"(?i)\byeah,? right\b|\b(?:oh|ah),? (?:great|joy|wonderful|fantastic|perfect|lovely|"
    r"goody|good|"
    r"brilliant|super|yay|sure|yes|how)\b(?! news| idea| point| question| job| to)|\bas if\b|"
    r"\bsure,? (?:because|and i)|(?<!\S)/s(?!\S)|🙄|\bhow (?:lovely|wonderful|delightful)\b|"
    r"\bwhat (?:a|an) (?:joy|treat|delight|pleasure)\b|\bbecause (?:of course|that is exactly|"
    r"that's exactly|who does)|\bsaid no one\b|\bnot!|\bjust what i (?:needed|wanted)|"
    r"\bexactly what i (?:needed|wanted)|\b(?:lucky|poor) me\b|"
    r"\bmy favou?rite thing in the world\b|"
    r"\bi'm (?:so |totally |really )?thrilled\b|\bnothing (?:beats|better than)\b|\bthanks a lot\b|"
    r"\bwho (?:doesn't|does not) (?:love|like|enjoy)\b|\bdream come true\b|\b(?:i|"
    r"I) (?:live|lived) to\b"
)
_IRONY_CAPITALS = regex.compile(
    r"\b(?:just|so|really|totally) (?:LOVE|ADORE|ENJOY|LIKE)\b|\bLOVE (?:those|it when|that|when)\b"
)
_UNPLEASANT = regex.compile(
    r"(?i)\b(?:just|simply|so|absolutely|totally|really) (?:love|adore|"
    r"enjoy)\b.{0,60}\b(?:wait|queu|traffic|"
    r"jam|paperwork|tax|reject|ignored|[456] ?am|early meeting|delay|bug|stuck|cleaning|woken|spam|"
    r"mosquito|overtime|deadline|crash|being|getting|pointless|broken|cancelled|late again|another)"
)
_PLAY = regex.compile(
    r"(?i)\brole[- ]?play|\blet's (?:play|pretend)\b(?! (?:football|tennis|chess|cards|soccer|golf|"
    r"again|on |at |tomorrow|some))|\bpretend (?:to be|you|i|we|that|this)\b|\bact as\b|"
    r"\bin character\b|\byou are now (?:a|an|the|my)\b|\bplay the (?:role|part)\b|"
    r"\b(?:imagine|say|suppose) (?:you are|you're|i am|i'm|we are|we're)\b"
)
_PLAY_ENDS = regex.compile(
    r"(?i)\bout of character\b|\b(?:end|stop|quit|leave|finish|enough)\b.{0,20}\b(?:role|play|game|"
    r"story|character|scene|pretend)|\bback to (?:reality|real life|normal|work)\b|\bOOC\b|"
    r"\bgame over\b|\bfor real\b|\bin real life\b|\bseriously now\b"
)
_FICTION = regex.compile(
    r"(?i)\b(?:write|draft|tell|compose|continue|invent|make up|give)\b.{0,40}\b(?:story|"
    r"stories|poem|"
    r"novel|scene|song|dialogue|limerick|monologue|lyrics|haiku|fairy ?tale|fable|screenplay|rap|"
    r"ballad|fan ?fic\w*|joke)\b|\bin (?:my|our|the|this|her|his) (?:novel|story|book|"
    r"screenplay|game|"
    r"campaign|fan ?fic\w*|dream|script|play|short story|film|movie)\b|\bmy (?:character|"
    r"protagonist|"
    r"avatar|alter ego|villain|hero|heroine)\b|\bthe (?:narrator|protagonist|hero|heroine|villain|"
    r"main character)\b|\bonce upon a time\b|\bchapter (?:\d+|one|two)\b|\bthe song goes\b|"
    r"\b(?:short|bedtime) story\b|\bopening line\b|\bi dream(?:t|ed)\b|\bin (?:my|a) dream\b|"
    r"\b(?:quest|dungeon master|wizard|npc)\b|\bthe lyrics\b"
)
_MATERIAL = regex.compile(
    r"(?i)\btranslat(?:e|ion|ing)\b|\bhow (?:do|would|can|should) (?:you|i|we|one) (?:say|"
    r"write|put|"
    r"phrase|spell)\b|\bhow to say\b|\bproof-?read\b|\b(?:re-?write|re-?phrase|paraphrase|"
    r"shorten|polish|"
    r"spell-?check|summari[sz]e|transcribe|parse|classify|annotate|"
    r"conjugate)\b.{0,40}(?:this|these|"
    r"following|sentence|text|paragraph|line|:|￼)|\b(?:correct|fix|check|improve|"
    r"edit)\b (?:this|the|my|"
    r"these)(?: \w+)? (?:sentence|text|grammar|english|spelling|paragraph|essay|translation|phrase|"
    r"german|french|spanish)|\bwhat does\b.{0,80}\bmean\b|\bcomplete (?:the|this) sentence\b|"
    r"\bin a sentence\b|\b(?:example|sample|test|dummy|placeholder|"
    r"template)(?: \w+)?(?: sentences?| text"
    r"| phrase| data| message| input| bio| letter| email)?s?:|\bis (?:this|it|"
    r"the following)(?: sentence)?"
    r" (?:correct|right|grammatical)|\bthe following(?: \w+)? (?:text|sentence|paragraph|"
    r"mail|email|"
    r"message|passage)|\bdictation\b|\bsay it in \w+:|\bgrammar (?:check|exercise)\b|"
    r"\bin (?:french|german|spanish|italian|chinese|japanese|english)(?: please)?:\s"
)
_BARE_MATERIAL = regex.compile(r"(?i)(?::|\bthis|\bfollowing|\bthese|\bnext(?: \w+)?|please)\W*$")
_INJECTION = regex.compile(
    r"(?i)\b(?:ignore|disregard|forget|override|bypass|overrule)\b.{0,30}\b(?:instruction|"
    r"prompt|rule|"
    r"guideline|polic|safety|restriction|everything above|all previous|all prior|the above|"
    r"what you were told|your training)|\b(?:rule|instruction|order|note|directive|policy|"
    r"command) (?:for|"
    r"to) (?:the|your|this|its) (?:memory|system|assistant|model|bot|ai|brain|database)|"
    r"\b(?:root|admin|administrator|owner|superuser|sudo|developer|elevated|full|write|read) "
    r"(?:rights?|access|privileges?|permissions?|mode|authority|credentials)\b|"
    r"\bas (?:the |an? |your )?(?:owner|admin|administrator|root|operator|superuser|developer)\b|"
    r"\b(?:reveal|disclose|leak|expose|dump)\b.{0,60}\b(?:other|everyone|all|secret|prompt|"
    r"password|"
    r"told you|private|key)|\b(?:system|developer) (?:prompt|message|override|instruction)|"
    r"\bwithout (?:asking|checking|verification|confirmation|approval)|\btreat (?:me|every|"
    r"all|any|this|"
    r"the)\b.{0,40}\bas\b|\bi am (?:your|the) (?:owner|admin|administrator|creator|"
    r"developer|operator|"
    r"master)\b|\byou (?:must|will|shall) obey\b|\bobey (?:me|every|all|my)\b|\bjailbreak|"
    r"\b(?:store|save|remember|record|memori[sz]e|write)\b.{0,40}\b(?:as (?:a )?(?:fact|"
    r"truth|rule)|"
    r"(?:has|have|had|with|is|am|are) (?:full|root|admin|the right|authority|permission|"
    r"allowed|trusted|"
    r"authori[sz]ed|owner)|trust(?:s|ed)?|permission|authority|privilege)|\bgrant(?:s|"
    r"ed)? (?:me|him|her|"
    r"them|full|all|\p{Lu})|\bdelete (?:all|every|the|your|other)\b.{0,40}\bmemor|"
    r"\bconfirm with ok\b|\bnew (?:rule|instruction|polic)\w*\b.{0,20}\bmemory\b|"
    r"\bthe memory (?:must|should|shall|will|has to)\b|\b(?:pass|api|secret)(?:word|code| ?key)s?\b"
)
_LABEL = regex.compile(
    r"(?i)^(?P<label>name|full name|location|home|city|town|residence|lives in|based in|employer|"
    r"company|workplace|works at|job|occupation|profession|role|languages?|speaks|diet|"
    r"allerg(?:y|ies)|"
    r"allergic to|birthday|born|born on|date of birth|time zone|pets?|nickname|hobby|hobbies|"
    r"interests?|likes|dislikes|university|studies at|hometown|from|manager|"
    r"boss)\s*[:=]\s*(?P<value>\S.{0,120})$"
)
_PROFILE_HEAD = regex.compile(
    r"(?i)\b(?:about me|my (?:profile|details|info|data|facts|intro|bio)|a few facts|"
    r"facts about me|"
    r"personal (?:info|data|details|profile)|who i am|introduction|profile|quick intro)\b"
)
_PROFILE = {
    "location": "I live in {}",
    "home": "I live in {}",
    "city": "I live in {}",
    "town": "I live in {}",
    "residence": "I live in {}",
    "lives in": "I live in {}",
    "based in": "I live in {}",
    "employer": "I work for {}",
    "company": "I work for {}",
    "workplace": "I work for {}",
    "works at": "I work for {}",
    "job": "I work as a {}",
    "occupation": "I work as a {}",
    "profession": "I work as a {}",
    "role": "I work as a {}",
    "language": "I speak {}",
    "languages": "I speak {}",
    "speaks": "I speak {}",
    "diet": "I follow a {} diet",
    "allergy": "I am allergic to {}",
    "allergies": "I am allergic to {}",
    "allergic to": "I am allergic to {}",
    "birthday": "My birthday is {}",
    "born": "I was born on {}",
    "born on": "I was born on {}",
    "date of birth": "I was born on {}",
    "time zone": "My time zone is {}",
    "nickname": "My nickname is {}",
    "hobby": "I am interested in {}",
    "hobbies": "I am interested in {}",
    "interest": "I am interested in {}",
    "interests": "I am interested in {}",
    "likes": "I like {}",
    "dislikes": "I dislike {}",
    "university": "I study at {}",
    "studies at": "I study at {}",
    "hometown": "I come from {}",
    "from": "I come from {}",
    "manager": "My manager is {}",
    "boss": "My boss is {}",
}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence in a normal form: contractions opened, common misspellings put right.

    `stated` is False for questions, suppositions and the like: then only an explicit request
    ("can you remind me to …") may be read from it. `ironic` sentences tell no likes.
    """

    text: str
    spoken: str
    stated: bool = True
    question: bool = False
    ironic: bool = False
    ordered: bool = True


@dataclass(frozen=True, slots=True)
class Frame:
    """What a whole message is under."""

    play: bool
    play_ends: bool
    material_follows: bool
    sentences: tuple[Sentence, ...]


_WIDE = regex.compile(r"[，、；：。！？（）]|\p{Han}")


def _typo(match: regex.Match[str]) -> str:
    word = match[0]
    fixed = _TYPOS[word.lower()]
    return fixed[0].upper() + fixed[1:] if word[0].isupper() else fixed


def _normal(text: str) -> str:
    if not text.isascii() and _WIDE.search(text):
        text = regex.sub(r" +", " ", text.translate(_MARKS)).strip()
        text = _SWITCH.sub(lambda m: f"{_SWITCHED[m[0].strip()]} ", text)
    text = text.replace("’", "'").replace("‘", "'").replace("`", "'")
    text = capitalised(mended(_MISSPELT_ILL.sub("I'll", _TYPO.sub(_typo, text))))
    if "'" in text:
        for pattern, plain in _CONTRACTIONS:
            text = pattern.sub(plain, text)
    return text


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    start = 0
    for m in _BREAK.finditer(text):
        mark = m[0]
        if mark == "." and _ABBREVIATION.search(text[max(start, m.start() - 8) : m.start()]):
            continue
        piece = text[start : m.end()].strip()
        start = m.end()
        if piece:
            pieces.append(piece)
            if len(pieces) >= _MOST:
                return pieces
    rest = text[start:].strip()
    if rest:
        pieces.append(rest)
    return pieces


def read_frame(text: str) -> Frame:
    """The sentences of a masked message, each with what it is under."""
    flat = regex.sub(r"[ \t]+", " ", text)
    play = _PLAY.search(flat) is not None
    fiction = play or _FICTION.search(flat) is not None
    injected = _INJECTION.search(flat) is not None
    ironic = any(p.search(flat) for p in (_IRONY, _IRONY_CAPITALS, _UNPLEASANT))
    profile = _PROFILE_HEAD.search(flat) is not None
    found: list[Sentence] = []
    material = False
    for piece in _pieces(flat):
        if material:
            break
        spoken = _EMPHASIS.sub(r"\2", _BULLET.sub("", piece)).strip()[:_LONGEST]
        if not spoken:
            continue
        if _MATERIAL.search(spoken):
            material = True
            continue
        normal = _normal(spoken)
        label = _LABEL.match(normal.rstrip(" .")) if profile else None
        if label and label["label"].lower() in _PROFILE:
            normal = _PROFILE[label["label"].lower()].format(label["value"].rstrip(". "))
        question = "?" in normal[-4:] or _QUESTION_OPENING.match(normal) is not None
        supposed = _SUPPOSED.match(normal) is not None
        own_injection = _INJECTION.search(normal) is not None
        found.append(
            Sentence(
                text=normal.rstrip(" .!?…"),
                spoken=spoken,
                stated=not (question or supposed or fiction or own_injection),
                question=question and not fiction,
                ironic=ironic,
                ordered=not (injected or fiction),
            )
        )
    waits = material and _BARE_MATERIAL.search(flat.strip()) is not None
    return Frame(play, _PLAY_ENDS.search(flat) is not None, waits, tuple(found))
