"""Corrections that name only the right or the wrong word, and what is taken back."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from pipelines.formation.dates_english import find_date
from pipelines.formation.discourse import Discourse
from pipelines.formation.english.names import ORGANISATION, PLACE, is_name, is_organisation
from pipelines.formation.english.phrases import kind_of, thing
from pipelines.formation.english.sentences import Sentence
from pipelines.formation.findings import (
    ClaimCorrected,
    ClaimRetracted,
    ClaimStated,
    CommitmentChanged,
    Finding,
)
from pipelines.formation.lexicon import DIETS, LANGUAGES, OCCUPATIONS, TIME_ZONES
from pipelines.formation.likeness import names_part_of, same_name

#: words with which a speaker owns up to having said something wrong
CUE = regex.compile(
    r"(?i)^(?:(?:oh|ah|oops|whoops|argh|ugh|hm+|er+m?|uh|well|and|but|so|haha|lol|hang on|"
    r"hold on|wait|sorry|apologies|my bad|damn|eh)[,.! -]+)*(?:no\b(?! (?:idea|problem|"
    r"worries|need|way|one|longer|more))|nope|sorry|correction|wait|oops|actually|"
    r"my mistake|my bad|i (?:meant|mean|misspoke|mistyped|miswrote|"
    r"mixed|got (?:that|it|the|my) \w* ?wrong|was wrong|made a mistake|said|must correct|"
    r"have to correct|need to correct|stand corrected|confused)|typo|i should have said|"
    r"that (?:was|is|should|should have)(?: be| been)? (?:wrong|a typo|not right|incorrect|"
    r"a mistake)|make that|scratch that|strike that|not \p{L}|to correct myself|"
    r"let me correct|rather|\*\p{L}|it is actually|edit:)"
)
_TWO = (
    regex.compile(
        r"(?i)^(?:.*?[,.:;] )?(?:(?:it|that|this|he|she|the (?:name|place|city|date|right \w+|"
        r"correct \w+)) (?:is|was|should (?:be|have been|read)) |i (?:meant|mean|said|"
        r"should have said|live in|work (?:for|at)|wanted to say|was going to say) |make that |"
        r"rather |actually )?(?:in |at |on |to |for |"
        r"with )?(?P<right>[^,;.]{2,50}?),? (?:and )?(?:not|instead of|rather than) (?:in |at |"
        r"on |to |for |with |the )?(?P<wrong>[^,;.]{2,50}?)(?:[,.]? (?:sorry|of course|"
        r"obviously|i (?:mistyped|misspoke|mixed .*)|my (?:mistake|bad)))?$"
    ),
    regex.compile(
        r"(?i)^(?:.*?[,.:;] )?(?:it is |that is |that was |i meant |i am |it was )?not (?:in |"
        r"at |on |to |for |with |the )?(?P<wrong>[^,;.]{2,50}?)(?:,| but|;| -|\.|"
        r":)+ ?(?:(?:but|it is|i meant|i mean|rather|actually|it was|it should be|"
        r"that is) )*(?:in |at |on |to |for |with )?(?P<right>[^,;.]{2,50})$"
    ),
    regex.compile(
        r"(?i)^(?:i )?(?:said|wrote|typed|put) (?P<wrong>[^,;.]{2,50}?),? (?:but )?(?:i "
        r")?(?:meant|mean|should have (?:said|written|been)|it is|the right one is) (?:in |at |"
        r"on )?(?P<right>[^,;.]{2,50})$"
    ),
    regex.compile(
        r"(?i)^(?:please )?(?:replace|change|swap) (?P<wrong>[^,;.]{2,40}?) (?:with|by|to|"
        r"for) (?P<right>[^,;.]{2,40})$"
    ),
)
_ONE = (
    regex.compile(
        r"(?i)^(?:(?:no|nope|sorry|oops|wait|actually|correction|ah|oh|well|my mistake|my bad|"
        r"typo|i misspoke|i mistyped|scratch that|strike that|hang on|hold on|apologies|er+m?|"
        r"edit|damn|whoops)[,.:! -]+)+(?:(?:it|that) (?:is|was|should (?:be|have been|read)) |"
        r"i (?:meant|mean|should have said) (?:to say )?|make that |rather |in |at |"
        r"on )*(?P<right>[^,;.:!?]{2,50}?)(?:[,.]? (?:sorry|of course|obviously|i (?:mistyped|"
        r"misspoke|mixed .*|meant)|my (?:mistake|bad)|that is|typo))?$"
    ),
    regex.compile(
        r"(?i)^(?:i (?:meant|should have said|meant to (?:say|write|type))|make that|it (?:is|"
        r"should be) actually|it should (?:be|have been|read)) (?:in |at |on |"
        r"to )?(?P<right>[^,;.:!?]{2,50}?)(?:[,.]? (?:sorry|of course|obviously))?$"
    ),
    regex.compile(
        r"(?i)^(?P<right>[^,;.:!?]{2,40}?)[,;:.-]+ (?:sorry|i (?:mistyped|misspoke|meant|"
        r"mixed (?:it|them|that) up)|typo|my (?:mistake|bad)|not what i (?:wrote|said)|i mean)$"
    ),
    regex.compile(
        r"^\*(?P<right>\p{L}[^,;.:!?*]{1,40})\*?$|^(?P<right>\p{Lu}[^,;.:!?* ]{1,40})\*$"
    ),
)
#: "that about the van", "the bit with the boat", "what I told you about my job"
_SAID = (
    r"(?:(?:that|this|it|none of (?:that|it|this)|all (?:of )?(?:that|this)|everything i (?:just "
    r")?said|"
    r"what i (?:just )?(?:said|wrote|told (?:you|everyone|everybody))|"
    r"(?:the|that|this|my) (?:thing|bit|part|line|story|claim|comment|remark|sentence|message|one|"
    r"joke))"
    r"(?: (?:earlier|before|above|just now))?(?: (?:about|with|on|regarding|concerning|where|that|"
    r"of) .{2,60}?)?|"
    r"(?:the|that|this|my) (?P<thing>[\w' -]{2,40}?)(?: (?:thing|bit|part|story|line|claim|"
    r"comment|business|"
    r"remark|stuff))?|that)"
)
_UNTRUE = (
    r"(?:(?:was|is|were) (?:(?:just|only|of course|all|actually|totally|completely|really|"
    r"obviously|"
    r"simply) )*(?:a (?:bad |silly |stupid )?joke|a lie|not true|untrue|not serious|not real|"
    r"false|nonsense|"
    r"made[- ]up|invented|a prank|a test|rubbish|not meant seriously|an april fool|in jest|fiction|"
    r"bullshit|me (?:joking|kidding|teasing))\b(?! (?:to me|for)\b)"
    r"|(?:was|is) (?:just |only |of course |all |actually )?wrong\b(?! of\b))"
)
_TO_FORGET = (
    r"(?:forget|ignore|disregard|delete|erase|discard|scratch|strike|remove|drop|unsay|"
    r"cancel)(?: about)?"
)
_KIDDING = (
    r"(?:kidding|joking|pulling your leg|teasing|messing with you|winding you up|fooling around)"
)
_RETRACT = regex.compile(
    r"(?i)^(?:(?:oh|ah|ok|okay|no|wait|sorry|haha|ha|lol|and|but|well|actually|hm+|please|just|"
    r"relax|fine|alright|right|you can|could you|can you|so|hey|honestly|truth is|anyway)[,.! "
    r"]+)*(?:"
    r"(?:scratch|strike|unsay) that\b"
    rf"|{_TO_FORGET} (?:that|this|what i (?:just )?(?:said|wrote|told you)|everything i said|"
    r"my (?:last|previous) (?:message|line|remark|statement)|i said (?:that|anything)|"
    r"(?:the|that|my) (?:thing|bit|part|line|story|claim|comment|remark) (?:about|with|on)|"
    r"(?:the|that|my) [\w' -]{2,30} (?:thing|bit|part|story|line|claim|comment|business|stuff))\b"
    rf"|{_TO_FORGET} (?:the|that|my) (?P<named>[\w' -]{{2,40}}?)(?: from my profile| again)?$"
    r"|(?<!\bno )(?<!\bno, )(?:just |only |i (?:was|am) (?:just |only |obviously )?|was (?:just |"
    rf"only )?){_KIDDING}\b"
    rf"|(?<!\bno )(?<!\bno, ){_KIDDING}(?= about\b|$|[.,!])|jk\b"
    r"|i (?:was|am) (?:just |only )?(?:being silly|lying|making (?:that|it|this) up|not serious)\b"
    rf"|{_SAID} {_UNTRUE}"
    r"|i (?:hereby )?(?:withdraw|retract|unsay) (?:that|it|this|what i said|my (?:claim|statement|"
    r"remark))\b"
    r"|(?:i )?take (?:(?:that|it|this|all (?:of )?that) )?back\b"
    r"|i (?:did not|do not) (?:really |actually )?mean (?:that|it|what)\b"
    r"|never mind what i (?:said|wrote|told you)\b"
    r"|(?:the|that|my) (?P<never>[\w' -]{2,30}?) (?:does not|do not|did not|never) (?:really |"
    r"actually )?"
    r"exist(?:ed)?\b|i should not have said that\b"
    r"|i (?:just |only )?(?:made|make) (?:up\b|(?:that|it|this|all|the)\b(?=.*\bup\b))"
    r"|(?:wait|ha|haha|actually|oh|sorry)[, ]+no[, ]+i (?:do|am|have) not$"
    r"|none of (?:that|it|this|what i said) (?:is|was) (?:true|real|serious|meant)"
    r"|(?:that|it) is not true\b|it is not (?:actually |really )?true that\b|not really$|i lied\b"
    r"|(?:please )?do not (?:take|believe) (?:the|that|what i said|my)\b"
    r"(?:.*\b(?:seriously|said|thing)\b|$)"
    r"|there is no (?P<no>[\w' -]{2,30}?)(?: at all)?$"
    r")(?P<rest>.*)"
)
_ABOUT = regex.compile(
    r"(?i)\b(?:about|regarding|concerning|on|with|that(?= (?:i|my|we)\b)) "
    r"(?P<about>(?:the |my |that |having |owning |being )?[\w' -]{2,60})"
)
#: what a speaker calls a claim -> words of its predicate, for "forget what I said about my job"
_TOPICS = {
    "works for": "job|work|employer|company|working|boss",
    "works as": "job|profession|occupation|trade|working",
    "lives in": "home|town|city|address|living|live|moving|move|moved|flat|house",
    "allergic to": "allergy|allergies|allergic",
    "follows diet": "diet|vegan|vegetarian|eating",
    "has pet": "pet|pets|dog|cat|dogs|cats|animal|animals|puppy|kitten|horse|parrot|rabbit|hamster",
    "speaks": "language|languages|speaking|speak|tongue",
    "sibling of": "sister|brother|sisters|brothers|siblings|twin",
    "parent of": "son|daughter|child|children|kids|kid|baby",
    "partner of": "wife|husband|partner|girlfriend|boyfriend|marriage|fiancé|fiancée",
    "born on": "birthday|birth",
    "studies at": "studies|university|degree|studying|school|college",
    "also known as": "nickname|name",
    "interested in": "hobby|hobbies|interest|interests",
    "member of": "club|membership|choir|band|team",
    "time zone": "zone",
    "reports to": "boss|manager",
}
_TOPIC_OF: dict[str, list[str]] = {}
for _predicate, _words in _TOPICS.items():
    for _word in _words.split("|"):
        _TOPIC_OF.setdefault(_word, []).append(_predicate.replace(" ", "_"))


#: predicates of which a person has one value: a second one said after "sorry" replaces the first
SINGLE = frozenset(
    {
        "lives_in",
        "located_in",
        "timezone",
        "born_on",
        "comes_from",
        "works_for",
        "works_as",
        "reports_to",
        "partner_of",
        "studies_at",
        "follows_diet",
    }
)
#: says that something has changed since, so that the earlier claim was right in its time
CHANGED = regex.compile(
    r"(?i)\b(?:now|these days|nowadays|any ?more|any longer|no longer|moved|joined|left|"
    r"since|recently|lately|became|switched|changed)\b"
)
DENIED = regex.compile(
    r"(?i),? (?:and )?not (?:in |at |for |to |with |the )?(?P<wrong>[\p{L}\d' -]{2,40}?)(?=$|[,.;])"
)
STRONG = regex.compile(
    r"(?i)\b(?:no|sorry|correction|meant|mistyped|misspoke|mixed|typo|wrong|mistake|oops)\b"
)
_AFTERTHOUGHT = regex.compile(
    r"(?i)[,;–—-]+ ?(?:er+m? |uh |no,? )*(?:no,? wait|wait,? no|wait|no|sorry|i mean|"
    r"i meant|or rather|rather|correction|make that|scratch that|"
    r"actually)[,:!.]* (?:no[, ]+|sorry[, ]+|i mean[, ]+|it is |in |at |to |on |"
    r"for )*(?P<right>[^,;.:!?]{2,40})$"
)


def afterthought(s: Sentence, message: int, claims: list[Finding]) -> list[Finding]:
    """A word put right within the sentence that said it: "I live in Oslo, no wait, Bergen"."""
    stated = [f for f in claims if isinstance(f, ClaimStated)]
    m = _AFTERTHOUGHT.search(s.text)
    if not stated or m is None:
        return []
    right = _bare(m["right"])
    last = stated[-1]
    if not right or right.lower() == last.object.lower() or recast(last.predicate, right) is None:
        return []
    return [ClaimCorrected(right, message, last.object, recast)]


def _bare(words: str) -> str:
    return regex.sub(
        r"(?i)^(?:the|a|an|my|in|at|for|with|to|on|it is|it's|that is|i said|said|still|"
        r"from|as|i am|i live in|i work for|i work at|called|actually|rather|really) ",
        "",
        words.strip(" .,'\"*!-"),
    ).strip()


def recast(predicate: str, words: str) -> tuple[str, str] | None:
    """A word put right, as an object of `predicate`; None when it cannot be one."""
    words = _bare(words)
    low = words.lower()
    if not words or len(words) > 60 or len(words.split()) > 6:
        return None
    match predicate:
        case "lives_in" | "located_in" | "comes_from":
            m = regex.match(PLACE, words)
            return (
                (m[0], "Place")
                if m and m.end() == len(words) and not is_organisation(words)
                else None
            )
        case "works_for" | "member_of" | "studies_at":
            m = regex.match(ORGANISATION, words)
            return (words, "Organization") if m and m.end() == len(words) else None
        case (
            "knows"
            | "sibling_of"
            | "partner_of"
            | "friend_of"
            | "colleague_of"
            | "relative_of"
            | "parent_of"
            | "reports_to"
        ):
            return (words, "Person") if words[0].isupper() and is_name(words) else None
        case "speaks":
            return (LANGUAGES[low], "string") if low in LANGUAGES else None
        case "timezone":
            if m := regex.fullmatch(r"(?i)(?:(?:utc|gmt) ?)?([+-]) ?(\d{1,2})(?::?(\d\d))?", words):
                return f"{m[1]}{int(m[2]):02d}:{m[3] or '00'}", "string"
            if regex.fullmatch(r"[A-Z]\w+/\w+", words):
                return words, "string"
            return (TIME_ZONES[low], "string") if low in TIME_ZONES else None
        case "follows_diet":
            return (DIETS[low], "string") if low in DIETS else None
        case "works_as":
            return (words, "string") if low.split()[-1] in OCCUPATIONS else None
        case "also_known_as":
            return (words, "string") if words[0].isupper() and is_name(words) else None
        case "has_pet":
            return (words, "Animal")
        case "allergic_to":
            one = thing(words)
            return (one, "Substance") if one and not one[0].isupper() else None
        case _:
            one = thing(words)
            return (one, kind_of(one)) if one else None


def _believable(right: str, text: str) -> bool:
    """Whether a bare word after "no" or "sorry" is meant to replace one: "Sorry, hazelnuts".

    "Sorry to hear that" and "No problem" are not; a name or a number may follow any cue.
    """
    if _MEANT.search(text) or text.startswith("*") or text.endswith("*"):
        return True
    if _NO_VALUE.search(right) or len(right.split()) > 3:
        return False
    return right[0].isupper() or right[0].isdigit() or _PAUSE.match(text) is not None


_MEANT = regex.compile(
    r"(?i)\b(?:meant|i mean|correction|typo|mistyped|misspoke|should (?:be|have)|make that|mixed|"
    r"wrong|mistake|it is actually)\b"
)
_PAUSE = regex.compile(r"(?i)^(?:(?:no|sorry|oops|whoops|wait|actually|nope)[,.:!-]+ ?)+")
_NO_VALUE = regex.compile(
    r"(?i)\b(?:prob|probs|problem|worries|worry|idea|way|doubt|rush|pressure|thanks|thank|hear|"
    r"to|sure|"
    r"kidding|joke|matter|need|clue|chance|luck|biggie|big|deal|good|great|nice|cool|right|"
    r"wrong|too|"
    r"really|yet|more|sweat|fun|one|harm|stress|bother|late|early|busy|yes|no|ok|okay|agreed|"
    r"exactly|"
    r"awesome|wow|haha|lol|man|dude|guys|mate|everyone|all|today|now|though|so|very|quite|pretty|"
    r"interesting|funny|true|false|fair|enough|bye|hello|hi|hey|please|again|never|always|what|"
    r"how)\b"
)


def read(
    s: Sentence,
    message: int,
    memory: Discourse,
    *,
    whole_claims: bool,
    fresh: Sequence[ClaimStated] = (),
) -> list[Finding]:
    """Elliptical corrections and retractions in a sentence.

    `whole_claims` is True when the sentence also states a fact in full: then only what is taken
    back is looked for. `fresh` are the claims of the sentences before in the same message.
    """
    if s.question:
        return []
    text = s.text.strip(" \"'")
    speaker, at = memory.speaker(message), memory.at(message)
    held = [h for h in memory.claims if h.state == "active" and h.claim.asserted_by == speaker]
    pending = [h for h in memory.open_commitments(speaker) if not h.known]
    if not held and not pending and not fresh:
        return []
    objects = [*(h.claim.object for h in held), *(f.object for f in fresh)]
    starred = s.spoken.startswith("*") or s.spoken.rstrip(".!").endswith("*")
    cued = (
        CUE.match(text) is not None
        or starred
        or regex.search(
            r"(?i)\b(?:mistyped|misspoke|typo|my mistake|mixed up|sorry|i meant)\b", text
        )
        is not None
    )
    if not whole_claims:
        correct_by = recast

        def by_date(predicate: str, words: str) -> tuple[str, str] | None:
            if predicate == "born_on":
                date = find_date(words, at, past=True)
                if date is None or len(date.iso) != 10:
                    return None
                exact = regex.search(r"(?:19|20)\d\d", words[date.start : date.end])
                return (date.iso if exact else f"--{date.iso[5:]}"), "string"
            return correct_by(predicate, words)

        for pattern in _TWO:
            if m := pattern.match(text):
                wrong, right = _bare(m["wrong"]), _bare(m["right"])
                if wrong and right and wrong.lower() != right.lower():
                    moved = _moved(pending, held, right, message, memory)
                    if moved:
                        return moved
                    if any(names_part_of(wrong, one) for one in objects):
                        return [ClaimCorrected(right, message, wrong, by_date)]
        if cued:
            spoken = s.spoken.strip(" .!?") if starred else text
            for pattern in _ONE:
                if m := pattern.match(spoken):
                    right = _bare(m["right"])
                    if not right or not _believable(right, spoken):
                        continue
                    if regex.match(
                        r"(?i)(?:i|he|she|it|we|you|they|not|the same|that|this|what|there|"
                        r"thanks|no|yes|ok|all|just)\b(?!')",
                        right,
                    ):
                        continue
                    moved = _moved(pending, held, right, message, memory)
                    return moved or [ClaimCorrected(right, message, None, by_date)]
    said = [(h.claim.predicate, h.claim.object) for h in held]
    recent = [(h.claim.predicate, h.claim.object) for h in memory.own_claims(speaker, message)]
    others = [
        (h.claim.predicate, h.claim.object)
        for h in held
        if not same_name(h.claim.subject, speaker) and _names(text, h.claim.subject)
    ]
    said = others or said
    now = [(f.predicate, f.object) for f in fresh]
    return _taken_back(text, message, [*said, *now], [*recent, *now], others)


def in_jest(s: Sentence) -> bool:
    """Whether a sentence takes its own claim back at its end: "I own a castle, just kidding"."""
    pieces = [p for p in _PIECE.split(s.text) if p]
    return len(pieces) > 1 and _RETRACT.match(pieces[-1]) is not None


_PIECE = regex.compile(r"\s*(?:[,;:]|\s[-–—]\s|—)\s*")
#: how a sentence may go on after it took something back; "that's a lie Tom told" takes back nothing
_GOES_ON = regex.compile(
    r"(?i)\s*(?:$|[,.;!()]|(?:about|of course|though|actually|sorry|haha|lol|and|but|so|obviously|"
    r"again|at all|really|either|from|that i|that my|on|with|regarding|concerning|i|what|where|how|"
    r"earlier|before|just now|part|bit|up|seriously|the|my|it|by the way|anyway|please|out)\b)"
)
#: "the castle is a joke, so draughty": an opinion on a thing, not on what was said of it
_OPINION = regex.compile(
    r"(?i)^(?:the|my|this|that) [\w' -]{2,40}? is (?:such |just )?(?:a|an) joke\b"
)


def _taken_back(
    text: str,
    message: int,
    said: list[tuple[str, str]],
    recent: list[tuple[str, str]],
    others: list[tuple[str, str]],
) -> list[Finding]:
    """What a sentence takes back of the speaker's earlier claims (predicate, object).

    `recent` are those of the last message, `others` those about another person whom it names.
    """
    pieces = [p for p in _PIECE.split(text) if p][:6]
    for piece in pieces:
        m = _RETRACT.match(piece)
        if m is None or _OPINION.match(piece) or not _GOES_ON.match(m["rest"]):
            continue
        groups = m.groupdict()
        named = dict.fromkeys(name for _, name in said if _names(text, name))
        named = named or dict.fromkeys(name for _, name in others)
        if named:
            return [ClaimRetracted(message, one) for one in named]
        about = _ABOUT.search(piece, max(m.start("rest") - 60, 0))
        words = (
            about["about"]
            if about
            else groups["thing"] or groups["named"] or groups["no"] or groups["never"]
        )
        if words is not None and regex.fullmatch(
            r"(?i)(?:that|it|this|all|you|purpose|my own|what i said|last message|previous "
            r"message)",
            words.strip(),
        ):
            words = None
        if words is not None:
            topics = {p for w in words.lower().split() for p in _TOPIC_OF.get(w, ())}
            fitting = dict.fromkeys(name for predicate, name in said if predicate in topics)
            if fitting:
                return [ClaimRetracted(message, one) for one in fitting]
            if any(groups[g] for g in ("named", "no", "thing", "never")):
                continue  # something else is meant
            return [ClaimRetracted(message, words)]
        return [ClaimRetracted(message)] if recent else []
    return []


def _names(text: str, object_: str) -> bool:
    """Whether a sentence names the object of a claim, or its last word ("the Acme thing")."""
    low, name = text.lower(), object_.lower()
    if any(tag == object_ and regex.search(rf"\b{word}\b", low) for word, tag in LANGUAGES.items()):
        return True
    for words in (name, name.split()[-1], name.split()[0]):
        if len(words) > 2 and regex.search(rf"(?<!\w){regex.escape(words)}(?:s|es)?(?!\w)", low):
            return True
    return len(name) <= 2 and regex.search(rf"(?<!\w){regex.escape(name)}(?!\w)", low) is not None


def _moved(pending: list, held: list, right: str, message: int, memory: Discourse) -> list[Finding]:  # type: ignore[type-arg]
    """A corrected date of the last promise ("sorry, Saturday")."""
    date = find_date(
        right if regex.match(r"(?i)(?:on|at|by|in|next|this)\b", right) else f"on {right}",
        memory.at(message),
    )
    if date is None or not pending:
        return []
    last = pending[0]
    latest_claim = max((h.claim.message for h in held), default=-1)
    if last.commitment.message < latest_claim:
        return []
    return [CommitmentChanged(message, last.commitment.by, last.commitment.summary, due=date.due)]
