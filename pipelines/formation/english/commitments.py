"""Promises, obligations, appointments, reminders and own plans; and what becomes of them.

Only what somebody takes upon themselves: turns of speech ("I'll see", "let me think"), wishes,
conditions and habits are none (README of the cases, point 8).
"""

from __future__ import annotations

from dataclasses import dataclass

import regex

from pipelines.formation.dates_english import When, find_date
from pipelines.formation.discourse import Discourse, HeldCommitment
from pipelines.formation.english.clauses import Clause
from pipelines.formation.english.sentences import Sentence
from pipelines.formation.findings import CommitmentChanged, CommitmentMade, Finding
from pipelines.formation.lexicon import word_set
from pipelines.formation.likeness import overlap, terms
from pipelines.formation.proposal import CommitmentStatus

_WILL = regex.compile(
    r"(?i)^(?:will|shall|(?:am|are) going to(?! (?-i:[\p{Lu}])| (?:the|that|this|these|those|"
    r"an?|my|our|his|her|their|some|one|work|school|bed|church|town)\b)|promise (?:you |"
    r"\p{L}+ )?(?:to|that (?:i|we) will|(?:i|we) will)|(?:have )?promised (?:you |"
    r"\p{L}+ )?(?:to|that (?:i|we) (?:will|would))|"
    r"swear (?:i|we) will|(?:plan|intend|mean) to|(?:am|are) planning (?:to|on)|"
    r"(?:have )?agreed to|(?:am|are) (?:supposed|meant|due|scheduled|booked|obliged|"
    r"required|set|committed) to|"
    r"(?:have )?volunteered to|(?:have )?committed to|(?:am|are) to|"
    r"guarantee (?:that )?(?:i|we) will|will make sure to|"
    r"vow to) (?P<act>.+)"
)
_MUST = regex.compile(
    r"(?i)^(?:need to|have to|has to|have got to|must|(?:will|am going to|"
    r"are going to) (?:need|have) to|must not forget to|can not forget to|"
    r"need to remember to|"
    r"have to remember to|must remember to|should not forget to|better not forget to|"
    r"owe it to \w+ to|am obliged to) (?P<act>.+)"
)
_GOING = regex.compile(r"(?i)^(?:am|are) (?P<act>(?P<verb>\p{L}+ing)\b.*)")
_PRESENT = regex.compile(
    r"(?i)^(?P<act>(?:fly|leave|start|travel|depart|return|arrive|move|meet|check in|"
    r"present|land|sit|fly out|begin|hand in|take|have) .+)"
)
_APPOINTMENT = regex.compile(
    r"(?i)^(?:(?:have|has) (?:got )?|booked |made |scheduled |(?:am|are) (?:booked|"
    r"scheduled|down|due) (?:in )?for )(?P<act>(?:an?|my|our|another|the|two|"
    r"tickets for) (?:[\w'-]+ ){0,5}?(?:appointment|meeting|interview|exam|test|call|"
    r"flight|"
    r"check-?up|surgery|operation|reservation|lesson|viewing|deadline|audition|"
    r"presentation|hearing|consultation|"
    r"session|date|lunch|dinner|rehearsal|concert|shift|class|talk|workshop|inspection|"
    r"train|ferry|visit|party|wedding|match|game|race|recital|standup|review|demo|defence|"
    r"defense|physio|dentist|haircut|table|slot)\b.*)"
)
_MY_EVENT = regex.compile(
    r"(?i)^(?:my|our) (?P<act>(?:[\w'-]+ ){0,4}?(?:appointment|meeting|interview|exam|test|"
    r"flight|check-?up|surgery|operation|reservation|lesson|"
    r"viewing|deadline|audition|presentation|hearing|consultation|session|rehearsal|"
    r"concert|train|report|essay|thesis|assignment|homework|tax return|rent|"
    r"dentist appointment)\b(?: (?:to|with|for|at|in|about) [\w' ]{2,30}?)?) "
    r"(?:is|are|leaves|starts|begins|departs|takes place|comes up)(?: due| scheduled|"
    r" booked| set| planned)?(?P<when> .*)"
)
_REMIND = regex.compile(
    r"(?i)\b(?:remind me(?: again)?(?P<early>[ ,](?:on|at|by|in|next|this|tomorrow|tonight|"
    r"later|the day)\b.{0,40}?)?,? (?:to|about|of|that i (?:need|have|want|should|"
    r"must)(?: to)?|i (?:need|have) to|that) |"
    r"do not let me forget (?:to |about |that i (?:need|have) to |that )?|(?:set|create|"
    r"add|make) (?:me )?a reminder (?:for me )?(?P<early2>(?:for|on|at) .{2,40}? )?(?:to|"
    r"about|that i (?:need|have) to|for) |"
    r"note to self[:,]? (?:to )?|to-?do[:,] |can you nudge me (?:to|about) |(?:nudge|"
    r"ping) me (?:to|about) )(?P<act>.{3,})"
)
_REMIND_NOT = regex.compile(
    r"(?i)\b(?:remind(?:s|ed|ing)? me (?:of|what|how|who|why|where|when|which|that you|"
    r"that the|that we|that it)|no need to remind|not? remind me|stop reminding|"
    r"did(?: not)? (?:i|you) .{0,30}remind|not (?:have|need) to remind|"
    r"you (?:always|never|often|keep|kept) remind|never remind|reminds me)\b"
)
#: what may stand before "remind me" when it is asked, not told
_ASKING = regex.compile(
    r"(?i)(?:^|[,;:.!–—-]\s*)(?:(?:please|can|could|will|would|you|kindly|also|and|so|then|"
    r"just|hey|hi|ok|okay|oh|"
    r"thanks|\p{L}+,|(?:on|at|in|by|next|this|tomorrow|tonight|later|the) .{0,30}|"
    r"i want you to|i need you to|"
    r"i would like you to|maybe)\s*)*$|[,;:.!–—-]$"
)
#: acts that bind nobody, however dated
_IDLE = regex.compile(
    r"(?i)^(?:never|always|not\b|run\b,? ?(?:bye|now)?$|make (?:my|our|the|a (?:difference|"
    r"change|positive|plan|move)|this|it|that|time|some|sure i stay|memories|do)\b|"
    r"get (?:through|'em|them|him|her)\b|"
    r"give (?:it|that|this|these|those|them)\b.* (?:try|shot|go)|take (?:you up|the bet|"
    r"a (?:chance|shot|break)|care of myself|time|good care)|stay\b|stick up|catch (?:you|up)|"
    r"continue|reach (?:my|our)|look after|rock\b|spread|savou?r|"
    r"start thinking|add (?:it|that|this|them) to|pursue|achieve|overcome|chase|follow (?:my|"
    r"your)|support (?:you|each)|conquer|push (?:myself|through)|cheer|root for|crush|nail|"
    r"be (?:fine|ok|okay|right|honest|brief|happy|glad|sure|"
    r"careful|good|great|ready|grateful|there for|able|frank|quick|damned|a |an |the |so|"
    r"very|more|less|thrilled|delighted|proud|missed|sad|sorry|late|busy|"
    r"with you|in touch|on time|here for)|bet\b|say\b|admit|pass\b|miss\b|need\b|know\b|"
    r"believe|live\b|manage\b|survive|see (?:you|what|how|if|about|whether|it|that|then|"
    r"soon|if)|see$|think\b|try\b|consider|wait\b|"
    r"keep (?:that|it|you|this|in mind|my fingers|an eye|calm|going|trying|quiet)|"
    r"leave (?:it|that|you|the rest)|give (?:it|that|up|you that)|do my best|stick (?:to|"
    r"with)|skip\b|go with|forget\b|remember\b(?! to)|love\b|like\b|enjoy\b|hate\b|"
    r"get (?:over|used|there|it|better|going|old|the hang|fat|lost)|assume|guess|die\b|"
    r"kill\b|sleep on|explode|cry\b|laugh|scream|lose (?:my|it)|regret|understand|agree\b|"
    r"disagree|confess|stop (?:here|there|you|now)|hold (?:on|off|my)|"
    r"rest my|spare you|let it|let that|let (?:him|her|them) (?:be|know that)|treasure|"
    r"cherish|appreciate|trust|want\b|feel\b|look forward|figure|worry|pretend|win\b|"
    r"become\b|make do|have (?:the|a|an|some|to say|to go|to admit|another|one|it|fun|none|"
    r"no)\b(?! (?:look|chat|word|call|meeting|.* (?:ready|done|finished)$))|"
    r"take (?:it|that|your word|the blame|my chances|a nap|two|one|your advice)|go ahead|"
    r"go mad|go crazy|eat my hat|cross that bridge|buy that|play it by ear|second that|"
    r"join the club|sound\b|mean\b|own\b|hope|ask (?:again|you)|"
    r"just\b|do (?:so|that|it|anything|whatever|what i can|nothing|without)$|talk$|vent|"
    r"focus|relax|breathe|eat$|sleep|rest$|go$|run$|leave$|work$|head (?:out|off)$|"
    r"use (?:it|that)|speak (?:from|for)|stay (?:calm|positive|strong|tuned)|lose weight|"
    r"grow up|get out more|find (?:out|myself)|"
    r"wear|get up|deal with|put up with|suffer|learn to|move on|accept|face it|calm|"
    r"be\b(?! (?:there|here|at|in|on|home|back|done|out|away)))"
)
#: acts that bind only with a date
_WITH_DATE = regex.compile(
    r"(?i)^(?:find\b|spend\b|explore|get\b|use\b|check out|read that|watch\b|relax|enjoy|"
    r"experience|discover|practi[cs]e|focus|be\b|let you know|let (?:him|her|them|"
    r"everyone) know|get back|come back|"
    r"have\b|take a look|look (?:at|into)|check\b|do\b|come\b|go\b|stay\b|stop by|drop by|"
    r"work\b|sleep\b|see\b|talk\b|speak\b|call you|ping\b|keep\b|get (?:to|back)|"
    r"start$|move$|leave\b|arrive|return$|wait|make it|know\b|tell you|show you|update you|"
    r"explain|handle it|sort it|take it|take care|join\b|head\b|help\b)"
)
_HABIT = regex.compile(
    r"(?i)\b(?:every|each|weekly|daily|monthly|yearly|always|usually|often|sometimes|"
    r"normally|typically|most (?:days|weeks|mornings|evenings|weekends)|"
    r"on (?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:mon|tues|wednes|thurs|fri|satur|"
    r"sun)days|twice a|once a|three times a|on weekends|at weekends|in the mornings?$)\b"
)
_CONDITION = regex.compile(
    r"(?i)\b(?:if|unless|provided|assuming|depending|in case|whether|as long as|should you|"
    r"when(?:ever)? (?:i|we) (?:have|get|find) (?:the )?time|one day|some ?day|eventually|"
    r"at some point(?! (?:in|on|next|this|before|during)\b)|sooner or later|in theory|weather "
    r"permitting|"
    r"maybe|perhaps|probably|possibly|might|hopefully|not sure|i guess|i suppose|i think)\b"
)
_STATES = word_set(
    "keeping living staying studying feeling looking thinking wondering "
    "trying hoping learning reading being having "
    "going considering wishing enjoying loving using getting wearing struggling suffering "
    "waiting planning asking saying telling talking counting "
    "dying starving freezing kidding joking "
    "doing missing interesting amazing boring owning based becoming"
)
_MOVE_CUE = regex.compile(
    r"(?i)\b(?:instead|resched\w+|postpon\w+|push(?:ed|ing)? (?:it|that|this|the|my|our|"
    r"back)|(?:move|moved|moving|shift\w*|delay\w*|bump\w*|bring|bringing|brought) (?:it|"
    r"that|this|the|my|our|forward)|rather than|"
    r"make (?:it|that)|change of plans?|not (?:on )?(?:mon|tues|wednes|thurs|fri|satur|"
    r"sun)day|can not (?:do|make) (?:it )?(?:on )?(?:mon|tues|wednes|thurs|fri|satur|"
    r"sun)day)\b"
)
_RESCHEDULED = regex.compile(
    r"(?i)^(?:(?:have|need|had) to |will (?:have to )?|must |am (?:moving|postponing|"
    r"pushing|rescheduling|delaying|shifting) |let's |can we |please |"
    r"we )?(?:have )?(?:move|moved|postpone|postponed|push|pushed|reschedule|rescheduled|"
    r"delay|delayed|shift|shifted|bring forward|make|change|changed|bump)? ?"
    r"(?P<what>.*?)(?: forward| back)? ?(?:to|until|till|for)?$"
)
_MOVED_PASSIVE = regex.compile(
    r"(?i)^(?:the|my|our|that|this) (?P<what>[\w' -]{2,40}?) (?:is|has been|got|was|"
    r"will be|is now|has|needs to be|had to be) (?:now )?(?:moved|postponed|"
    r"pushed(?: back)?|rescheduled|delayed|shifted|brought forward|on|"
    r"going to be on) ?(?:to|until|till|for|on)? "
)
_CANCEL = regex.compile(
    r"(?i)^(?:(?:please |then |so |let's |let us |we (?:have|need) to |i (?:have|need|"
    r"had) to |i am |we are |i |can you |you can |could you |i am going to |"
    r"i will )*)(?:cancel(?:led|ling|ed|ing)?|scrap(?:ping|ped)?|drop(?:ping|ped)?|"
    r"call(?:ed|ing)? off|forget(?: about)?|never mind(?: about)?|scratch|"
    r"delete the reminder(?: to| about| for)?|abandon(?:ed)?|skip(?:ping)?|ditch(?:ed|"
    r"ing)?|remove the reminder(?: to| about| for)?|nevermind) (?P<what>.+)"
)
_CANCELLED_PASSIVE = regex.compile(
    r"(?i)^(?:the|my|our|that|this|it) ?(?P<what>[\w' -]{0,50}?) ?(?:is|has been|was|got|"
    r"are|were|have been) (?:now |just |already |all )*(?:cancelled|canceled|called off|"
    r"off|off the table|no longer (?:happening|needed|necessary)|not happening|"
    r"not going to happen)\b(?P<rest>.*)"
)
_CANCELLED_BY = regex.compile(
    r"(?i)^(?:(?:the|my|our) [\w' -]{2,30}?|they|he|she|\p{Lu}\p{L}+) (?:has |have |"
    r"had to |just )*(?:cancel(?:led|ed)?|call(?:ed)? off) (?:the|my|our|on) (?P<what>.+)"
)
_NOT_DOING = regex.compile(
    r"(?i)^(?:will not|shall not|(?:am|are) not going to|can not|will no longer|"
    r"am no longer going to|will not be able to|am not able to|can no longer|"
    r"(?:have )?decided not to|(?:have )?decided against|no longer (?:need|have|plan|"
    r"intend|want) to|do not (?:need|have|plan|want) to|"
    r"will not need to|(?:am|are) not|(?:am|are) no longer|could not|changed my mind about|"
    r"have changed my mind about|(?:do not|no longer) need|am not planning to|"
    r"do not plan to any more) (?:be able to |need to |have to )?(?P<what>.+)"
)
_NO_NEED = regex.compile(
    r"(?i)^(?:there is )?(?:no (?:longer (?:a |any )?)?(?:need|reason) (?:for you )?to|"
    r"you (?:do not|need not|no longer) (?:need to|have to)?|no need for|do not bother|"
    r"do not (?=remind)|forget the reminder|you can forget|please do not) ?(?P<what>.+)"
)
_DONE = regex.compile(
    r"(?i)^(?:(?:and |it is |that is |this is |all |already |now |everything is |yes |"
    r"i have |i am |i |just |have |am )*)(?:done|finished|completed|sorted|taken care of|"
    r"did it|did that|did|handled|ticked off|mission accomplished|over and done with)"
    r"(?: (?:it|that|this|already|now|today|yesterday|just now|this morning|last night|"
    r"as promised|all|everything))*(?: (?:with )(?P<what>.+))?$"
)
_FINISHED = regex.compile(
    r"(?i)^(?:have |has )?(?:finished|completed|done|did|got|took care of|taken care of|"
    r"sorted out|sorted|wrapped up|handled|got done with|am done with|am finished with|"
    r"dealt with|managed to|remembered to|finally got (?:round|around) to) (?P<what>.+)"
)
_PASSIVE = regex.compile(
    r"(?i)^(?:the|my|our|your|that|this|all the|both|it|everything|"
    r"an?)? ?(?P<what>[\w' -]{0,60}?) ?(?:is|are|was|were|has been|have been|got|"
    r"has now been) (?:now |already |finally |all |safely |just |"
    r"both )*(?P<verb>\p{L}+)(?P<rest>.*)"
)
_HEADLINE = regex.compile(
    r"(?i)^(?P<what>(?:the |my )?[\w' -]{2,50}?) (?P<verb>\p{L}+ed|paid|sent|brought|"
    r"bought|written|given|taken|made|done|met|lent|built|sold|kept|fed|booked|sorted|"
    r"ready)(?: (?:already|now|today|yesterday|this morning|just now|as promised))?$"
)
_ACKNOWLEDGED = regex.compile(
    r"(?i)(?:i )?(?:have )?(?:got (?:it|that|you|this)|made it|did (?:great|well|good|not))\b"
)
_DO_IT = regex.compile(r"(?i)do (?:it|that|this)\b")
_GENERIC = word_set("done finished completed sorted handled ready")
_IRREGULAR = {
    "paid": "pay",
    "sent": "send",
    "brought": "bring",
    "bought": "buy",
    "wrote": "write",
    "written": "write",
    "gave": "give",
    "given": "give",
    "took": "take",
    "taken": "take",
    "made": "make",
    "told": "tell",
    "went": "go",
    "gone": "go",
    "met": "meet",
    "did": "do",
    "done": "do",
    "got": "get",
    "gotten": "get",
    "left": "leave",
    "found": "find",
    "lent": "lend",
    "built": "build",
    "sold": "sell",
    "spoke": "speak",
    "spoken": "speak",
    "saw": "see",
    "seen": "see",
    "came": "come",
    "flew": "fly",
    "drove": "drive",
    "driven": "drive",
    "chose": "choose",
    "chosen": "choose",
    "drew": "draw",
    "drawn": "draw",
    "swept": "sweep",
    "kept": "keep",
    "held": "hold",
    "fed": "feed",
    "rang": "ring",
    "hung": "hang",
    "dug": "dig",
    "dealt": "deal",
    "taught": "teach",
    "ran": "run",
    "sang": "sing",
    "began": "begin",
    "caught": "catch",
    "fixed": "fix",
    "booked": "book",
    "mowed": "mow",
    "mown": "mow",
    "read": "read",
    "put": "put",
    "cut": "cut",
    "set": "set",
    "submitted": "submit",
    "returned": "return",
    "cleaned": "clean",
    "baked": "bake",
    "ate": "eat",
    "forgot": "forget",
    "shown": "show",
    "showed": "show",
    "thrown": "throw",
    "threw": "throw",
    "woke": "wake",
    "carried": "carry",
    "tried": "try",
    "applied": "apply",
    "copied": "copy",
    "dried": "dry",
    "planned": "plan",
    "dropped": "drop",
    "shipped": "ship",
    "posted": "post",
    "mailed": "mail",
}
_PRONOUN_OBJECT = regex.compile(
    r"(?i)^(?:it|that|this|them|those|these|one|all of it|everything|so)?(?:$| (?:already|"
    r"yesterday|today|now|just|this|last|on|in|at|for you|to you|off|over)\b)"
)
_PAST_START = regex.compile(r"(?i)^(?:have |has )?(?P<verb>\p{L}+) ?(?P<rest>.*)")


def _lemma(word: str) -> str:
    low = word.lower()
    return _IRREGULAR.get(low, low)


def _covers(words: str, summary: str) -> float:
    """How well two phrases speak of the same thing, by the smaller of the two."""
    if not terms(words):
        return 0.0
    return max(overlap(words, summary), overlap(summary, words))


def _best(held: list[HeldCommitment], words: str, *, least: float = 0.5) -> HeldCommitment | None:
    ranked = sorted(held, key=lambda h: _covers(words, h.commitment.summary), reverse=True)
    return ranked[0] if ranked and _covers(words, ranked[0].commitment.summary) >= least else None


def _last(memory: Discourse, speaker: str) -> HeldCommitment | None:
    """The speaker's latest open commitment of this conversation."""
    own = [h for h in memory.open_commitments(speaker) if not h.known]
    return own[0] if own else None


@dataclass(frozen=True, slots=True)
class _Act:
    words: str
    due: When | None


def _act(act: str, c: Clause) -> _Act | None:
    """What is to be done, without its date; None for a turn of speech."""
    when = find_date(act, c.at)
    words = act
    if when is not None:
        words = (act[: when.start].rstrip(" ,") + act[when.end :]).strip(" ,")
    elif c.opening:
        when = find_date(c.opening, c.at)
    words = regex.sub(
        r"(?i)[ ,]+(?:instead|then|please|promise|i promise|for sure|too|as well|again|"
        r"at the latest|latest|though|or so|definitely|after all|anyway|"
        r"as promised|no worries|okay|ok|thanks|i swear|really|honest|cross my heart|"
        r"no problem|don't worry|do not worry)$",
        "",
        words,
    )
    words = regex.sub(
        r"(?i)^(?:also|just|definitely|certainly|then|finally|gladly|happily|make sure to|"
        r"be sure to|remember to|quickly|really|personally|actually|still) ",
        "",
        words,
    ).strip(" ,:")
    if not words or _IDLE.match(words):
        return None
    if when is None and (_WITH_DATE.match(words) or len(words.split()) < 2):
        return None
    return _Act(words, when)


def _other(memory: Discourse, speaker: str, words: str) -> str | None:
    """To whom it is owed: the one other user, when the words say "you"."""
    if not regex.search(r"(?i)\byou(?:r)?\b", words):
        return None
    others = {m.speaker for m in memory.conversation.messages if m.role == "user"} - {speaker}
    return next(iter(others)) if len(others) == 1 else None


def reminders(s: Sentence, message: int, memory: Discourse) -> list[Finding]:
    """Reminders asked for, also in the form of a question ("can you remind me to …?")."""
    if (
        "remind" not in s.text.lower()
        and "forget" not in s.text.lower()
        and "to-do" not in s.text.lower()
        and "todo" not in s.text.lower()
        and "note to self" not in s.text.lower()
        and "nudge me" not in s.text.lower()
        and "ping me" not in s.text.lower()
    ):
        return []
    m = _REMIND.search(s.text)
    if (
        not m
        or _REMIND_NOT.search(s.text)
        or _HABIT.search(s.text)
        or regex.search(r"(?i)\bif\b|\bunless\b|\bwhenever\b", s.text)
    ):
        return []
    if not s.stated and not (
        s.question
        and regex.search(
            r"(?i)\b(?:can|could|would|will) you (?:please |kindly |also |"
            r"maybe )*(?:remind|set|nudge|ping|create|make|add)",
            s.text,
        )
    ):
        return []
    before = s.text[: m.start()].strip()
    if before and not _ASKING.search(before):
        return []
    if before and regex.search(
        r"(?i)\b(?:he|she|they|tom|did|does|asked|told|said|always|never|used to|will|"
        r"would not|going to)$",
        before,
    ):
        return []
    at, speaker = memory.at(message), memory.speaker(message)
    act = m["act"].strip(" .!?")
    when = find_date(act, at)
    if when is not None:
        act = (act[: when.start].rstrip(" ,") + act[when.end :]).strip(" ,")
    else:
        early = m["early"] or m["early2"] or ""
        when = find_date(early, at) if early else find_date(before, at) if before else None
    act = regex.sub(
        r"(?i)[ ,]+(?:please|thanks|thank you|ok|okay|would you|will you|will ya)$", "", act
    ).strip(" ,")
    if not act:
        return []
    return [CommitmentMade(act, speaker, message, when.due if when else None)]


def read(c: Clause, s: Sentence, memory: Discourse) -> list[Finding]:
    """Commitments made, moved, cancelled and fulfilled in a clause of a stating sentence."""
    speaker = memory.speaker(c.message)
    assistant = memory.conversation.messages[c.message].role == "assistant"
    if (c.doubtful and not _NOT_DOING.match(c.verb)) or s.ironic:
        return []
    ended = _ended(c, s, memory, speaker)
    if ended is not None or "remind" in c.text.lower()[:60]:
        return ended or []
    if _CONDITION.search(s.text) or _HABIT.search(c.text):
        return []
    if not c.first:
        if not assistant and (m := _MY_EVENT.match(c.text)):
            when = find_date(m["when"], c.at)
            if when is not None and when.due >= c.at:
                return [CommitmentMade(m["act"], speaker, c.message, when.due)]
        return []
    moves = _MOVE_CUE.search(s.text) is not None
    act: _Act | None = None
    if m := _WILL.match(c.verb):
        again = find_date(m["act"], c.at) if _DO_IT.match(m["act"]) else None
        if again is not None and (last := _last(memory, speaker)) is not None:
            about = last.commitment
            return [CommitmentChanged(c.message, about.by, about.summary, due=again.due)]
        act = _act(m["act"], c)
        if act and act.due is None and regex.match(r"(?i)(?:mean|am|are) to\b", c.verb):
            act = None
        # what an assistant says of itself binds it only when it names the day
        if assistant and act and (act.due is None or regex.match(r"(?i)remind", act.words)):
            act = None
    elif assistant:
        act = None
    elif m := _MUST.match(c.verb):
        if not regex.match(
            r"(?i)(?:say|go$|run$|be\b|ask$|warn|move (?:that|it|this)$|cancel|postpone|"
            r"reschedule|push|talk$)",
            m["act"],
        ):
            act = _act(m["act"], c)
    elif m := _APPOINTMENT.match(c.verb):
        when = c.date(past=False)
        if (when is not None and when.due >= c.at) or (
            when is None
            and "appointment" in c.verb.lower()
            and not c.verb.lower().startswith(("made", "booked"))
        ):
            words = m["act"]
            inner = find_date(words, c.at)
            if inner is not None:
                words = (words[: inner.start].rstrip(" ,") + words[inner.end :]).strip(" ,")
            act = _Act(regex.sub(r"(?i)^(?:an?|my|our|the) ", "", words), when)
    elif m := _GOING.match(c.verb):
        when = c.date(past=False)
        going_there = m["verb"].lower() == "going" and regex.match(
            r"(?i)going (?:to|on|away|home|out|back|for)\b", m["act"]
        )
        having = regex.match(
            r"(?i)having (?:an?|my|the|dinner|lunch|breakfast|people|friends|guests|surgery)\b",
            m["act"],
        )
        if (
            when is not None
            and when.due >= c.at
            and (m["verb"].lower() not in _STATES or going_there or having)
            and regex.match(
                r"(?i)(?:since|until|till|for|from|today$|this (?:week|month|year)$|these)",
                c.verb[when.start : when.end],
            )
            is None
        ):
            act = _act(m["act"], c)
    elif m := _PRESENT.match(c.verb):
        when = c.date(past=False)
        if (
            when is not None
            and when.due >= c.at
            and len(when.iso) >= 7
            and not regex.match(r"(?i)have ", m["act"])
            and not regex.match(r"(?i)(?:since|until|in|from)\b", c.verb[when.start : when.end])
        ):
            act = _act(m["act"], c)
    if act is None:
        return []
    due = act.due.due if act.due else None
    return [
        CommitmentMade(
            act.words,
            speaker,
            c.message,
            due,
            owed_to=_other(memory, speaker, act.words),
            moves=moves,
        )
    ]


def _ended(c: Clause, s: Sentence, memory: Discourse, speaker: str) -> list[Finding] | None:
    """What a clause does to an open commitment; None when it does nothing to any."""
    own = memory.open_commitments(speaker)
    everyones = own or memory.open_commitments(None)
    if not everyones:
        return None
    text, verb = c.text, c.verb

    def change(
        h: HeldCommitment, status: CommitmentStatus | None, when: When | None = None
    ) -> list[Finding]:
        return [
            CommitmentChanged(
                c.message,
                h.commitment.by,
                h.commitment.summary,
                status=status,
                due=when.due if when else None,
            )
        ]

    # cancelled
    if m := _CANCEL.match(text):
        what = m["what"]
        if regex.match(
            r"(?i)(?:that|it|this|my promise|the plan|the whole thing|the reminder|"
            r"all that|what i said|those plans|our plans?|the plans)\b",
            what,
        ):
            held = _best(own, what) or _last(memory, speaker)
        else:
            held = _best(everyones, what)
        if held is not None and not regex.match(r"(?i)(?:in|off|by) ", what):
            return change(held, "cancelled")
    if m := _CANCELLED_PASSIVE.match(text):
        held = _best(everyones, m["what"]) if terms(m["what"]) else _last(memory, speaker)
        if held is not None:
            return change(held, "cancelled")
    if m := _CANCELLED_BY.match(text):
        held = _best(everyones, m["what"])
        if held is not None:
            return change(held, "cancelled")
    if (m := _NO_NEED.match(text)) and not c.first:
        about = regex.sub(
            r"(?i)^(?:remind me(?: (?:about|to|of))?|to remind me|worry about) ?", "", m["what"]
        )
        held = (
            _best(everyones, about)
            if terms(about)
            else (_last(memory, speaker) if "remind" in text.lower() else None)
        )
        if held is not None:
            return change(held, "cancelled")
    if c.first and (m := _NOT_DOING.match(verb)):
        when = find_date(verb, c.at)
        what = m["what"]
        if when is not None:
            what = (
                (verb[m.start("what") : when.start] + " " + verb[when.end :]).strip()
                if when.start >= m.start("what")
                else what
            )
        held = _best(
            own,
            regex.sub(r"(?i)\b(?:after all|any ?more|any longer|anymore|now|wait)\b", "", what),
            least=0.6,
        )
        if held is None and regex.match(r"(?i)(?:make it|come|do it|do that|manage)\b", what):
            held = _last(memory, speaker)
        if (
            held is not None
            and not regex.search(r"(?i)\b(?:forget|wait|miss)\b", what)
            and not _another_day(s, when, held, c)
        ):
            return change(held, "cancelled")
        return None
    # moved
    if _MOVE_CUE.search(s.text) or _MOVED_PASSIVE.match(text):
        when = find_date(text, c.at) if not c.first else find_date(verb, c.at)
        later = None
        if when is not None:
            rest = text[when.end :]
            later = (
                find_date(rest, c.at)
                if regex.search(r"(?i)\bnot\b", text[: when.start][-12:])
                else None
            )
        target = later or when
        bare = regex.match(
            r"(?i)(?:(?:let's|let us|i will|we will|can we|i have to|i need to|we need to|"
            r"please|i had to|i am|we are|i) )*(?:make|move|push|pushing|moving|reschedule|"
            r"rescheduling|postpone|postponing|shift|delay|bring|bump|change|moved|"
            r"postponed|rescheduled|pushed)(?:ing|ed|d)? (?P<what>.*)",
            text,
        )
        passive = _MOVED_PASSIVE.match(text)
        if target is not None and (bare or passive):
            what = bare["what"] if bare else passive["what"] if passive else ""
            words = find_date(what, c.at)
            if words is not None:
                what = what[: words.start]
            held = (
                _best(everyones, what)
                if terms(regex.sub(r"(?i)\b(?:forward|back)\b", "", what))
                else _last(memory, speaker)
            )
            if held is not None:
                return change(held, None, target)
        elliptical = regex.match(
            r"(?i)(?:rather |make (?:it|that) |it will (?:have to )?be |"
            r"better )?(?:on )?(?P<d>.{3,30}?)(?: instead| then)?$",
            text,
        )
        if (
            target is not None
            and elliptical
            and not c.first
            and target.end - target.start >= len(elliptical["d"]) - 2
        ):
            held = _last(memory, speaker)
            if held is not None:
                return change(held, None, target)
    # fulfilled
    if regex.search(
        r"(?i)\bnot\b|\bnever\b|\balmost\b|\bnearly\b|\bhalf\b|\bwill\b|\bgoing to\b", text
    ):
        return None
    if _ACKNOWLEDGED.match(text):
        return None
    if m := _DONE.match(text):
        if m["what"]:
            held = _best(own, m["what"])
            return change(held, "fulfilled") if held else None
        open_here = [h for h in own if not h.known]
        if len(open_here) == 1:
            return change(open_here[0], "fulfilled")
        return None
    if c.first and own:
        if m := _FINISHED.match(verb):
            held = _best(
                own, regex.sub(r"(?i) (?:yesterday|today|this morning|last night)$", "", m["what"])
            )
            if held is not None:
                return change(held, "fulfilled")
        if (m := _PAST_START.match(verb)) and _is_past(m["verb"], verb):
            lemma = terms(_lemma(m["verb"]))
            fitting = [h for h in own if lemma and lemma <= terms(h.commitment.summary)]
            rest = m["rest"]
            if _PRONOUN_OBJECT.match(rest):
                if len(fitting) == 1:
                    return change(fitting[0], "fulfilled")
            else:
                when = find_date(rest, c.at, past=True)
                if when is not None:
                    rest = rest[: when.start] + rest[when.end :]
                held = _best(fitting, rest, least=0.3)
                if held is not None and (overlap(rest, held.commitment.summary) >= 0.5):
                    return change(held, "fulfilled")
    elif own:
        m = _PASSIVE.match(text) or _HEADLINE.match(text)
        if m:
            word = m["verb"].lower()
            if not (word.endswith("ed") or word in _IRREGULAR or word in _GENERIC or word == "in"):
                return None
            lemma = terms(_lemma(word))
            for h in own:
                named = (
                    overlap(m["what"], h.commitment.summary) >= 0.5
                    if terms(m["what"])
                    else len(own) == 1
                )
                if named and (
                    word in _GENERIC
                    or (lemma and lemma <= terms(h.commitment.summary))
                    or (m["verb"].lower() == "in" and "mail" in text)
                ):
                    return change(h, "fulfilled")
    return None


def _is_past(word: str, verb: str) -> bool:
    low = word.lower()
    return low.endswith("ed") or low in _IRREGULAR or verb.lower().startswith(("have ", "has "))


def _another_day(s: Sentence, when: When | None, held: HeldCommitment, c: Clause) -> bool:
    """Whether "I can't do it on Thursday" only makes way for another day in the same sentence."""
    if when is None:
        return False
    rest = s.text[s.text.lower().find(c.text.lower()[-12:]) + 12 :]
    return find_date(rest, c.at) is not None
