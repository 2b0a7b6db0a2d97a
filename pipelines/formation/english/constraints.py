"""Standing instructions to the assistant, and their end."""

from __future__ import annotations

import regex

from pipelines.formation.discourse import Discourse
from pipelines.formation.english.sentences import Sentence
from pipelines.formation.findings import ConstraintGiven, ConstraintWithdrawn, Finding
from pipelines.formation.lexicon import LANGUAGES
from pipelines.formation.likeness import overlap

#: what an assistant can be told to do, or not, in general
_STYLE = (
    r"(?:answer|reply|respond|use|write|call me|address|give|keep|speak|talk|format|"
    r"include|cite|show|put|quote|ask|tell|mention|"
    r"suggest|recommend|translate|explain|summari[sz]e|sign|spell|start|end|begin|avoid|"
    r"assume|convert|check|list|stick to|refer to|"
    r"round|provide|add|book|schedule|offer|propose|state|say|begin|finish|open|close|"
    r"greet|send|read|double-check|verify|confirm|"
    r"warn|contact|message|text|email|ping|share|repeat|apologi[sz]e|interrupt|correct|"
    r"remind|print|return|output|describe|name|"
    r"express|measure|report|present|order|choose|pick|plan|consider|treat|respect|leave|"
    r"make|be|do|let|save|remove|round|wake|disturb|notify|count|capitali[sz]e|abbreviate|"
    r"hyphenate|swear|flatter|joke|chat)"
)
_CORE = (
    r"(?:answer|reply|respond|use|write|call me|address me|give me|keep (?:it|your|the|all|"
    r"every)|speak|talk to me|format|include|cite|show me|quote|suggest|recommend|explain|"
    r"summari[sz]e|sign|assume|convert|list|stick to|avoid|add|tell me|book|schedule|"
    r"send me|mention|share|contact me|message me|text me|email me|ping me|repeat|"
    r"apologi[sz]e|start|end|translate|ask me|spell|put|"
    r"wake me|disturb me|notify me|interrupt me|round|state|offer|propose|treat me|flatter|"
    r"swear|provide|print|refer to)"
)
_PLEASE = (
    r"(?:(?:and|so|also|but|ok|okay|oh|hey|hi|well|thanks|btw|yes|no|right|great|please|kindly|"
    r"could you|can you|would you|will you|just|hi there|aide|remember(?: to)?|remember[:,]|"
    r"note[:,]|rule[:,]|new rule[:,]|standing rule[:,]|one more thing[:,]|important[:,])[, ]+)*"
)
_ALWAYS = regex.compile(
    rf"(?i)(?:^|[,;:] (?:and |but |so )?|\b(?:and|but|so) ){_PLEASE}(?:always|never|"
    r"do not ever|only ever|at all times|under no circumstances|"
    rf"without exception,?) (?:please )?(?P<verb>{_STYLE})\b(?P<rest>.*)"
)
_AT_END = regex.compile(
    rf"(?i)^{_PLEASE}(?P<neg>do not |never |"
    rf"stop )?(?P<verb>{_STYLE})(?:ing)?\b.* (?:always|every (?:single )?time|each time|"
    r"from now on|from here on(?: out)?|in (?:the )?future|going forward|at all times|"
    r"from this point on|henceforth|by default|in (?:all|every one of) your (?:answers|"
    r"replies|responses|messages)|"
    r"in every (?:answer|reply|response|message|recipe|mail|email|summary|report)|"
    r"for (?:all|every) (?:answers?|repl(?:y|ies)|future \w+)|ever again|ever|(?:whenever|"
    r"every time|each time) (?:you|i) .+|whatever (?:language )?i .*)$"
)
_FROM_NOW = regex.compile(
    r"(?i)(?:^|[,;:] |\band )(?:from now on|from here on(?: out)?|from this point on|"
    r"going forward|in (?:the )?future|henceforth|from today(?: on)?|starting (?:now|"
    r"today|tomorrow)|as of (?:now|today)|for all future \w+|by default|"
    r"as a (?:standing )?rule|in general)(?:[,:]? |$)(?:please |always |never |only |"
    r"just |do not |don't |kindly |i would like you to |i want you to |i expect you to |"
    r"i need you to |i prefer (?:that )?you |can you |could you |you should |you must |"
    r"you will |i would like |i want |all |no |stop )*(?P<verb>\p{L}+)(?P<rest>.*)"
)
_WHENEVER = regex.compile(
    r"(?i)(?:^|[,;:] |\band )(?:whenever|every time|each time|any time|anytime|"
    rf"when) (?:you|i|we|my|somebody|someone|a|the) [^,;:]{{3,80}}[,:] (?:please |always |"
    r"never |only |just |do not |can you |you should |"
    rf"you must )*(?P<verb>{_STYLE})\b(?P<rest>.*)"
)
_MUST_ALWAYS = regex.compile(
    r"(?i)(?:^|[,;:] )(?:you (?:should|must|are to|have to|need to)|i (?:want|need|expect|"
    rf"would like|prefer) you to) (?:always|never|only(?: ever)?) {_STYLE}\b"
)
_DO_NOT = regex.compile(
    rf"(?i)^{_PLEASE}(?:do not|never|stop|no more) (?:please )?(?:ever )?(?P<verb>{_CORE}|"
    r"using|giving|calling me|addressing me|adding|ending|starting|apologi[sz]ing|"
    r"suggesting|recommending|writing|replying|answering|sending me|asking me|telling me|"
    r"repeating|summari[sz]ing|quoting|signing|including|emojis?|exclamation marks|"
    r"bullet points)\b(?P<rest>.*)"
)
_WANT = regex.compile(
    rf"(?i)(?:^|[,;:] ){_PLEASE}(?:i (?:want|need|expect|would like|prefer|"
    r"would prefer) (?:you to|that you|your (?:answers|replies|responses)(?: to be)?|"
    r"all (?:your )?(?:answers|replies|responses|messages|recipes|summaries|units|"
    r"distances|prices|times|dates)(?: to be)?)|you (?:should|must|are to|have to|shall)|"
    r"make sure (?:to|you|that you)|be sure to|remember to|"
    r"(?:all|every one of) (?:of )?your (?:answers|replies|responses|messages|summaries|"
    r"recipes) (?:should|must|have to|need to|are to) (?:always )?(?:be)?|your (?:answers|"
    r"replies|responses) (?:should|must|have to|need to) (?:always |"
    r"never )?(?:be)?) ?(?P<rest>.*)"
)
_ANSWERS = regex.compile(
    rf"(?i)^{_PLEASE}(?:keep (?:all |every one of )?(?:of )?(?:your|the) (?:answers|"
    r"replies|responses|messages|summaries|explanations)|only (?:ever )?(?:answer|reply|"
    r"respond|write|speak|talk|use|give)|(?:always )?(?:answer|reply|respond|speak|"
    r"write)(?: to)?(?: me)? only in|(?:no|fewer) (?:emojis?|exclamation marks|"
    r"bullet points|jargon|small talk|spoilers)(?: in your (?:answers|replies|messages)|"
    r",? please|$)) ?(?P<rest>.*)"
)
#: what recurs: "every Monday morning", "on Mondays", "once a week", "at the end of each month"
_UNIT = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|day|week|weekday|weekend|month|quarter|year|"
    r"hour|"
    r"morning|evening|afternoon|night|lunchtime|noon|workday|working day|fortnight)"
)
_RECURRING = (
    rf"(?:(?:every|each) (?:other |second |third |single |\d+ |two |three |four )?{_UNIT}s?"
    rf"(?: (?:and|or) {_UNIT})?(?: (?:morning|afternoon|evening|night|noon|lunchtime))?"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)days(?: (?:and|or) (?:mon|tues|wednes|thurs|fri|"
    r"satur|sun)days)?|(?:once|twice|three times) (?:a|every|each|per) (?:day|week|month|quarter|"
    r"year)"
    r"|daily|weekly|monthly|(?:on|at|by) the (?:first|last|end|start|beginning|\d+(?:st|nd|rd|th))"
    rf"(?: (?:day|{_UNIT}))? of (?:each|every) (?:week|month|quarter|year)"
    r"|(?:before|after) (?:every|each) [\w' -]{2,30}?)"
)
_CLOCK_WORDS = (
    r"(?:,? (?:at|by|around|before|after|from) (?:\d{1,2}(?:[:.]\d\d)?(?: ?[ap]\.?m\.?)?|noon|"
    r"midnight|breakfast|lunch|dinner|work|(?:one|two|three|four|five|six|seven|eight|nine|ten|"
    r"eleven|"
    r"twelve)(?: o'clock)?)(?: sharp)?)?"
)
#: what an assistant can be told to do again and again
_ERRAND = (
    r"(?:send|give|tell|show|email|e-mail|mail|message|text|ping|notify|remind|ask|wake|warn|alert|"
    r"summari[sz]e|list|check|report|post|update|prepare|draft|compile|review|brief|quiz|fetch|"
    r"collect|"
    r"generate|write|back up|forward|share|read me|call me|suggest|recommend|provide|produce|"
    r"create|"
    r"make me|put together|let me know|run|look up|propose|plan|pick|forward|print|export)"
)
_ORDER_OPENING = (
    r"(?:(?:please|kindly|also|and|so|ok|okay|hey|hi|hello|aide|could you|can you|would you|will "
    r"you|"
    r"i want you to|i need you to|i would like you to|you should|you must|you are to|always|just|"
    r"do)"
    r"[, ]+)*"
)
_RECURS_FIRST = regex.compile(
    rf"(?i)^{_ORDER_OPENING}{_RECURRING}{_CLOCK_WORDS}[,:]? {_ORDER_OPENING}"
    rf"(?P<verb>{_ERRAND})\b(?P<rest> .+)"
)
_RECURS_LAST = regex.compile(
    rf"(?i)^{_ORDER_OPENING}(?P<verb>{_ERRAND})\b(?P<rest> .*?\b{_RECURRING}\b.*)"
)
#: what is good for everybody to do every day is an order to nobody
_EVERYBODY = regex.compile(
    r"(?i)\b(?:yourself|your (?:family|friends|kids|teeth|heart|parents|mum|mom|dad|loved ones)|"
    r"someone|"
    r"somebody|thanks|gratitude|a hug|hugs|i|we|he|she|they)\b"
)
_FOR_ME = regex.compile(r"(?i)\b(?:me|us|my|our)\b")
_OWN_HABIT = regex.compile(
    r"(?i)[,;–—-] ?(?:that's|that is|this is|it's|it is) (?:just |simply )?(?:me|my \w+|how i|"
    r"what i|"
    r"why i|the way i|our \w+)\b|\bmyself\b|, (?:i do|we do|me)$"
    rf"|^(?:always|never) (?!(?:please |ever |again )?{_STYLE}\b)\w+\b.*\b(?:always|never)\b"
)
_STANDING_WORD = regex.compile(
    r"(?i)\b(?:always|never|ever|every|each|from now on|in (?:the )?future|going forward|"
    r"at all times|whenever|any ?time|by default|only|all|without exception|again)\b"
)
_ONCE = regex.compile(
    r"(?i)\b(?:just (?:for )?(?:this|now|today|once|the)|only (?:for )?(?:this|now|today|"
    r"once)|for (?:this|the|that) (?:one |next )?(?:mail|email|message|answer|reply|"
    r"question|time|letter|text|task|chat|call|report|summary|meeting|trip|session|"
    r"conversation|document|draft|post|"
    r"recipe|translation|week|evening|morning|day)|this time|this once|for now|right now|"
    r"for the moment|today only|tonight|for today|in this (?:mail|email|message|answer|"
    r"reply|letter|text|case|draft|document|one|chat|conversation|session)|"
    r"until (?:tomorrow|later|monday|then)|yet|"
    r"this (?:mail|email|answer|reply|message|letter|week|one)|once|next (?:answer|message|"
    r"mail|reply)|the next one|before (?:the|our) (?:meeting|call)|temporarily|"
    r"for a (?:minute|moment|while|bit|change))\b"
)
_SAYINGS = regex.compile(
    r"(?i)\bnever (?:mind|say never|know|ever|say die|fear)|\balways (?:look on|"
    r"be yourself|be prepared|welcome|glad|happy|nice)|\bdo not (?:worry|mind me|"
    r"get me wrong|ask me why|ask me how|tell me(?: that|$| you| it)|let me (?:down|forget|"
    r"stop)|give up|"
    r"mention it|forget|be (?:silly|sorry|afraid|shy|late|sad)|make me|keep me waiting|"
    r"call me (?:crazy|stupid|late|names)|quote me|count on)|\bnever (?:a dull|in my life|"
    r"again will i|have i|did i|been|mind|thought|knew|heard|seen)|\btell me (?:about it|"
    r"more)\b|"
    r"\buse your (?:head|imagination)\b|\bkeep (?:it up|going|calm|in touch)\b|"
    r"\bbe (?:good|well|safe|careful|kind|nice)\b"
)
_STOPPING = regex.compile(
    r"(?i)^(?:(?:and|so|ok|okay|hey|actually|please|well|thanks|alright|no|yes|great|"
    r"sorry)[, ]+)*(?:you (?:can|may|could|should) (?:now |please |just )?(?:stop|drop|"
    r"forget|ignore|skip|lose|end|quit|leave out|go back to|return to|revert to)|"
    r"you (?:no longer (?:need|have) to|do not (?:need|have) to|need not|"
    r"are free to)|(?:there is )?no (?:longer (?:a )?)?need (?:to|for)|no more|stop|drop|"
    r"forget|lift|cancel|remove|undo|scrap|ignore|revoke|delete|disregard|never mind|"
    r"go back to|back to|let's (?:stop|drop|go back to|forget)|i (?:no longer|"
    r"do not) (?:want|need) (?:you to|your|the|to)?|"
    r"i take back|enough (?:with|of)) (?P<what>.+)"
)
_FINE_AGAIN = regex.compile(
    r"(?i)^(?:(?:and|so|ok|okay|well|actually|now)[, ]+)*(?P<what>[\w' -]{3,60}?) (?:is|"
    r"are) (?:fine|ok|okay|allowed|good|welcome|alright) (?:again|now|too|after all)\b"
)
_RULE_WORD = regex.compile(r"(?i)\b(?:rule|instruction|standing order|preference|request)\b")
_THAT_RULE = regex.compile(
    r"(?i)^(?:(?:and|so|ok|okay|please|actually|you can)[, ]+)*(?:forget|drop|cancel|"
    r"ignore|lift|undo|scrap|remove|delete) (?:about )?(?:that|the|this|"
    r"my) (?:\w+ ){0,4}(?:rule|instruction|standing order|request)s?\b"
)
#: takes back what was ordered just before
_JUST_SAID = regex.compile(
    r"(?i)^(?:(?:ok|okay|no|oh|actually|sorry|wait|please|hm+)[,. ]+)*(?:forget|scratch|cancel|"
    r"drop|"
    r"strike|undo) (?:that|it|what i (?:just )?said)(?=$|[,.;])"
)
_TONGUE = regex.compile(r"(?i)\b(" + "|".join(w for w in LANGUAGES if w.isascii()) + r")\b")
_REPLYING = regex.compile(r"(?i)\b(?:answer|reply|replies|respond|response|speak|write|talk)\w*\b")
_BASE_VERB = regex.compile(rf"(?i)^(?:{_STYLE})$")
_SUBJECT = regex.compile(
    r"(?i)^(?:i|he|she|they|we|it|there|that|this|my|our|his|her|their|the|these|"
    r"those)\b(?! (?:want|need|expect|would like|prefer|would prefer) (?:you|your|all|"
    r"that you))(?!.{0,12}\bcall me\b)"
)


def _humans_only(memory: Discourse) -> bool:
    """Whether several people talk and no assistant is there: then orders go to each other."""
    known = memory.scratch.get("humans_only")
    if known is None:
        roles = {m.role for m in memory.conversation.messages}
        people = {m.speaker for m in memory.conversation.messages if m.role == "user"}
        known = int("assistant" not in roles and len(people) > 1)
        memory.scratch["humans_only"] = known
    return bool(known)


def read(s: Sentence, message: int, memory: Discourse) -> list[Finding]:
    """Standing instructions given or withdrawn in a sentence; only users give them."""
    text = s.text
    taken_back = _THAT_RULE.match(text) is not None
    if memory.conversation.messages[message].role != "user" or not (s.ordered or taken_back):
        return []
    speaker = memory.speaker(message)
    held = [h for h in memory.constraints if h.withdrawn_in is None and h.constraint.by == speaker]
    if held and not s.question:
        ended = _withdrawn(text, message, [h.constraint.text for h in held])
        if (
            not ended
            and _JUST_SAID.match(text)
            and held[-1].constraint.message == _before(message, memory)
        ):
            ended = [ConstraintWithdrawn(message)]
        if ended:
            return ended
    if taken_back:
        return []
    if s.question and not regex.match(
        r"(?i)(?:\W*(?:please|hi|hey|and|also|so)[, ]+)*(?:can|could|would|will) you\b", text
    ):
        return []
    if not s.stated and not s.question:
        if not regex.match(r"(?i)(?:whenever|every time|each time|if)\b", text):
            return []
        if text.lower().startswith("if") and not regex.search(
            r"(?i)\b(?:always|never|from now on)\b", text
        ):
            return []
    if _OWN_HABIT.search(text) or text.strip() == "\ufffc":
        return []
    recurs = _recurs(text, memory)
    if not recurs and (_ONCE.search(text) or _SAYINGS.search(text)):
        return []
    if not (recurs or _standing(text, memory)):
        return []
    found: list[Finding] = []
    tongue = _TONGUE.search(text)
    if tongue and _REPLYING.search(text) and not regex.search(r"(?i)\bnot\b|\bnever\b", text):
        # a new language of reply takes the place of the old one
        for h in held:
            old = _TONGUE.search(h.constraint.text)
            if old and old[1].lower() != tongue[1].lower() and _REPLYING.search(h.constraint.text):
                found.append(ConstraintWithdrawn(message, h.constraint.text))
    given = regex.sub(
        r"(?i)^(?:and|but|so|also|ok|okay|btw|by the way|oh|hey|hi|hello|well|thanks)[, ]+",
        "",
        s.spoken.strip(),
    )
    found.append(ConstraintGiven(given.rstrip(), message))
    return found


def _before(message: int, memory: Discourse) -> int:
    """The speaker's own message before this one; -1 when there is none."""
    speaker = memory.speaker(message)
    return next((i for i in range(message - 1, -1, -1) if memory.speaker(i) == speaker), -1)


def _recurs(text: str, memory: Discourse) -> bool:
    """Whether the text orders the assistant to do something again and again."""
    m = _RECURS_FIRST.match(text) or _RECURS_LAST.match(text)
    if m is None or _EVERYBODY.search(m["rest"]) or _humans_only(memory):
        return False
    return _FOR_ME.search(m["rest"]) is not None or m.re is _RECURS_FIRST


def _standing(text: str, memory: Discourse) -> bool:
    humans = _humans_only(memory)
    if m := _FROM_NOW.search(text):
        body = text[m.start() :]
        own = regex.search(
            r"(?i)\b(?:i|we) (?:will|am|are|have|work|live|jog|go|eat|get|do|try)\b", body
        )
        addressed = (
            m["verb"].lower() == "call"
            or _BASE_VERB.match(m["verb"])
            or regex.search(r"(?i)\byou(?:r)?\b", body)
            or m["verb"].lower() in ("replies", "answers", "responses", "units")
        )
        if (
            not own
            and addressed
            and not regex.match(r"(?i)(?:is|are|was|will|the|it|he|she|they|my)$", m["verb"])
        ):
            return not humans or _assistant_work(text)
    if m := _WHENEVER.search(text):
        plain_when = regex.search(
            r"(?i)\bwhen (?:you|i|we|my|some|a|the)", m[0]
        ) and not regex.search(r"(?i)\b(?:always|never)\b", m[0])
        if not plain_when:
            return not humans or _assistant_work(text)
    if _MUST_ALWAYS.search(text):
        return not humans or _assistant_work(text)
    if _SUBJECT.match(text) and not _WANT.search(text):
        return False
    if (m := _ALWAYS.search(text)) and not regex.match(
        r"(?i) (?:been|was|had|a|the|it|that)\b(?=.*\bby\b)", m["rest"]
    ):
        before = text[: m.start()]
        if regex.search(r"(?i)\b(?:i|he|she|they|we|who|you|people|it|that)$", before.strip()):
            return False
        return not humans or _assistant_work(text)
    if _AT_END.match(text):
        return not humans or _assistant_work(text)
    if m := _WANT.search(text):
        rest = m["rest"]
        general = _STANDING_WORD.search(text) or regex.search(
            r"(?i)\byour (?:answers|replies|responses)|all (?:your )?(?:answers|replies|"
            r"responses|units|distances|prices)",
            m[0],
        )
        return general is not None and _assistant_work(text) and bool(rest)
    if _ANSWERS.match(text):
        return True
    if not humans and (m := _DO_NOT.match(text)):
        return bool(m["rest"].strip()) and not regex.match(
            r"(?i) (?:it|that|this|the \w+ (?:yet|now)|them|those)\b", m["rest"]
        )
    return False


def _assistant_work(text: str) -> bool:
    return (
        regex.search(
            r"(?i)\b(?:answers?|reply|replies|respond|responses?|format|bullet points?|units?|"
            r"metric|emojis?|english|french|german|spanish|chinese|language|words|sentences?|"
            r"cite|sources?|summar\w+|address me|call me|concise|brief|short|formal|informal|"
            r"tone|spelling|prices?|distances?|recipes?|temperatures?|celsius|fahrenheit|"
            r"kilomet\w+|miles|markdown|tables?|code|examples?|links?|24-hour|currency|euros?|"
            r"dollars?|suggest\w*|recommend\w*|remind|meetings?|calls?)\b",
            text,
        )
        is not None
    )


def _withdrawn(text: str, message: int, held: list[str]) -> list[Finding]:
    m = _STOPPING.match(text)
    fine = None if m else _FINE_AGAIN.match(text)
    if not (m or fine):
        return []
    what = (m or fine)["what"]  # type: ignore[index]
    if (
        fine is None
        and _RULE_WORD.search(what)
        and regex.match(
            r"(?i)(?:that|the|this|my|your|the last|my last) (?:last )?(?:rule|instruction|"
            r"standing order|request)s?\W*$",
            what,
        )
    ):
        return [ConstraintWithdrawn(message)]
    best = max(held, key=lambda h: max(overlap(what, h), overlap(h, what)))
    share = max(overlap(what, best), overlap(best, what))
    negative = (
        regex.search(r"(?i)\b(?:never|do not|don't|no|stop|avoid|without)\b", best) is not None
    )
    if fine is not None and not negative:
        return []
    if share >= 0.3:
        return [ConstraintWithdrawn(message, best)]
    return []
