"""Short answers to a choice: 你喜欢茶还是咖啡？ – 咖啡。 says as much as 我喜欢咖啡."""

from __future__ import annotations

import re

from pipelines.formation.chinese.folding import folded
from pipelines.formation.proposal import Conversation

#: an answer is no longer than this many characters
_SHORT = 16
_HABIT = r"(?:平时|一般|通常|更|比较|最|是|现在|目前|到底|还|会|更加|倾向于?|,)*"
#: 你住在成都还是重庆: what is asked of each side stands before the first
_TAIL = r"过敏|工作|上班|上学|读书"
_CHOICE = re.compile(
    rf"(?:^|[,。!?;:\s])(?:那|请问|所以)*[^,。!?你我他她]{{0,8}}你{_HABIT}(?P<verb>喜欢(?:吃|喝|"
    rf"坐|住|看|听|玩|养)?"
    r"|爱(?:吃|喝|看|听|玩)|偏好|偏爱|住在?|家在|来自|会说|说|在|养的?是?|对|属于|老家在|老家是)"
    rf"(?P<one>[^,。!?]{{1,14}}?)(?P<tail>{_TAIL})?,?还是(?P<two>[^,。!?]{{1,16}}?)"
    rf"(?P<tail2>{_TAIL})?"
    r"(?:呢|啊|呀|多一点|多些)?[?？]\s*$"
)
#: 红茶还是绿茶，你更喜欢哪个
_WHICH = re.compile(
    rf"(?:^|[,。!?;:\s])(?P<one>[^,。!?你我]{{1,10}}?)(?P<tail>)?还是"
    rf"(?P<two>[^,。!?你我]{{1,10}}?)(?P<tail2>)?,?"
    rf"你{_HABIT}(?P<verb>喜欢)(?:哪[个种样]?|什么)(?:呢|啊|一个|一种)?[?？]\s*$"
)
_AROUND = re.compile(
    r"^(?:嗯+|哦|啊|当然|肯定|应该|是|还是|我?(?:更|比较|最)?(?:喜欢|选|爱)?|,|在|对)*"
    r"(?P<side>[^,]{1,12}?)"
    r"(?:过敏|工作|上班|上学|读书|啊|呀|啦|哦|咯|呗|吧|的|多一点|更好|,|谢谢)*$"
)
_EITHER = re.compile(r"都|随便|无所谓|不|没|谁|什么|看情况|一样")


def completed(words: str, conversation: Conversation, index: int) -> str:
    """`words` as a whole sentence where they only name one side of a choice just offered.

    The choice is another speaker's, in the message right before; anything else stays as it is.
    """
    bare = words.strip(" 。.!！~\n")
    if index == 0 or not bare or len(bare) > _SHORT or "\n" in bare:
        return words
    before = conversation.messages[index - 1]
    if before.speaker == conversation.messages[index].speaker:
        return words
    question = folded(before.text[-120:])
    asked = _CHOICE.search(question) or _WHICH.search(question)
    if asked is None or _EITHER.search(bare):
        return words
    answer = _AROUND.match(folded(bare))
    if answer is None:
        return words
    verb, tail = asked["verb"], asked["tail"] or asked["tail2"] or ""
    sides = {_side(asked["one"], verb, tail), _side(asked["two"], verb, tail)}
    side = _side(answer["side"], verb, tail)
    if side not in sides:
        return words
    start = folded(bare).find(side)
    return f"我{verb}{bare[start : start + len(side)] if start >= 0 else side}{tail}"


def _side(words: str, verb: str, tail: str) -> str:
    """One side of the choice without the words that both share."""
    words = words.strip()
    for shared in (verb, verb.removeprefix("喜欢").removeprefix("爱")):
        if shared and words.startswith(shared) and len(words) > len(shared):
            words = words[len(shared) :]
            break
    return re.sub(r"的(?:座位?|位子?)?$", "", words.removesuffix(tail) if tail else words)
