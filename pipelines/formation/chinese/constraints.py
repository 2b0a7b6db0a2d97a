"""Standing instructions: what the assistant is to do from now on, always, or never."""

from __future__ import annotations

import re

from pipelines.formation.chinese import reference
from pipelines.formation.chinese.clauses import Sentence
from pipelines.formation.chinese.moods import claims_authority
from pipelines.formation.chinese.statement import without_connectives
from pipelines.formation.discourse import Discourse
from pipelines.formation.findings import ConstraintWithdrawn, Finding
from pipelines.formation.likeness import same_name

_FROM_NOW = (
    r"(?:从现在起|从现在开始|从今以后|从今往后|从今天起|从今天开始|从这一刻起|从此以后"
    r"|从此|此后|今后|以后|往后|日后|自此|接下来|打今儿起|之后)"
)
_ALWAYS = (
    r"(?:始终|一直|永远|总是|总要|每次|每回|每当|每一次|每一?[条个份封篇段]|一律|一概"
    r"|任何时候|不管什么时候|无论何时|无论什么时候|凡是|默认|统一|每天|每周|每月|每晚|每早"
    r"|每年|每逢|每个?(?:工作日|星期|周|月|早上|晚上)|每隔|所有(?:的)?(?:回答|回复|答案"
    r"|消息|单位|距离|价格|日期|时间|代码|邮件)|全程|都(?=用|要|请|得|给|以|按|按照|使用"
    r"|别|不要))"
)
_MARK = rf"(?:{_FROM_NOW}|{_ALWAYS})"
_POLITE = (
    r"(?:请你?|你|麻烦你?|拜托你?|烦请|(?:我)?(?:希望|想让|要求|需要|要|让|想请|请求)你"
    r"|务必|一定要?|记住|记得|还有|也|都|就|,|:|\s|千万|绝对|再也)*"
)
_DIRECTED = (
    r"(?:回答|回复|答复|应答|用|使用|采用|叫我|称呼我?|喊我|给我|写|提醒我?|发我|推荐"
    r"|列出?|说|讲|解释|翻译|输出|保持|问我|告诉我|加上?|附上?|省略|安排|总结|标注|标明"
    r"|注明|建议|提供|帮我|显示|换算|避免|遵守|按照|按(?!时)"
    r"|以(?![后前上下内外为及便来往致])|简短|简洁|直接|控制|通知我|跟我|和我|对我|称我"
    r"|管我|先(?!生)|不要|别(?!人)|不准|不许|不得|禁止|切勿|请勿|勿|只(?![是有要能好会])"
    r"|把|排除|引用|说明|检查|确认|备份|展示)"
)
#: what an assistant does with its answers; other bans (不要加糖) may be meant for this once
_OUTPUT = (
    r"(?:(?:给|跟|对|和|向)我(?:再)?(?:推荐|发|写|列|讲|说|看|推送|用|提|生成|建议|聊)"
    r"|在(?:[^,]{0,4}(?:回答|回复|消息|邮件|代码|报告|对话|聊天|文章|正文|标题|末尾|结尾|开头))"
    r"|(?:使)?用(?!我|你|他|她|这|那)|推荐|回答|回复|叫我|称呼我?|建议|输出|道歉|重复"
    r"|自作主张|翻译|省略|主动"
    r"|推送|长篇|啰嗦|讲废话)"
)
_AGAIN = (
    r"(?:给我|跟我|对我|和我|向我|叫我|问我|用|使用|写|发|推荐|提(?!了)|回复|回答|加|附|列"
    r"|称呼|建议|道歉|提醒我"
    r"|帮我|替我|省略|重复|推送|展示|输出)"
)
_BAN = re.compile(
    rf"^{_POLITE}(?:别|不要|不准|不许|不得|禁止|切勿|请勿|勿)(?:{_OUTPUT}|再{_AGAIN})[^,]*"
)
_STARTS = re.compile(rf"^{_POLITE}{_MARK}")
_ASKS_ALWAYS = re.compile(
    rf"请[^,]{{0,8}}{_MARK}|{_MARK}[^,]{{0,14}},?请|(?:你)(?:要|得|必须|应该|都要)?{_MARK}"
    rf"|{_MARK}[^,]{{0,4}}你(?:要|得|必须|都|就)"
)
_DIRECTED_FIRST = re.compile(
    rf"^(?!把){_POLITE}{_DIRECTED}[^,]{{0,30}}{_MARK}|^{_POLITE}{_DIRECTED}[^,]{{0,20}},"
    rf"(?:请)?{_MARK}"
)
_TO_ASSISTANT = re.compile(_DIRECTED)
#: 距离一律用公里: a thing of the answers, and how it is always to be
_MANNER = re.compile(
    r"^(?:距离|价格|温度|日期|时间|重量|长度|单位|金额|货币|回答|回复|答案|代码|邮件|标题"
    r"|列表|数字|结果|报告|总结|消息|文件名?|表格|注释|摘要|菜谱|食谱)"
    r"[^,我你他她]{0,6}(?:一律|统一|默认|始终|一直|永远|总是|都要?)(?:请)?(?:用|以|按|写"
    r"|别|不要|使用|采用|保持|控制|放|附|显示)"
)
#: what only the one who is spoken to can do
_TO_ME = re.compile(
    r"回答|回复|答复|叫我|称呼我|喊我|给我|提醒我|发我|告诉我|问我|推荐|解释|翻译|输出"
    r"|显示|列出|总结|标注|跟我|对我|通知我|帮我|表示|换算"
)
_ACTOR = re.compile(
    rf"^(?:{_POLITE})?(?:{_MARK})?,?(?:我(?!(?:希望|想让|要求|需要|要|让|想请|请求)你)"
    rf"(?!(?:再|每次|要是|一)?(?:问|提|发|说|写|让|要求|叫|给|找|用[^,]{{1,8}}(?:问|提问|说"
    rf"|写)|跟|和|的|需要|开始|上传|贴|没|不)[^,]*(?:时|的时候|候|,|都|请|你|什么|就|问题"
    rf"|消息|邮件|文件|代码))|我们|咱们?|他|她|大家|别人|谁|老板|妈|爸|孩子|公司|学校|老师"
    rf"|有人|人|这|那(?!就|么)|天气|服务)"
)
_SELF_ACTS = re.compile(
    rf"^我(?!(?:希望|想让|要求|需要|要|让|想请|请求)你)(?:们|家)?(?:[^,]{{0,6}}?){_MARK}"
    rf"|^我(?!希望你|要求你|想让你|需要你|要你|想请你|请求你|让你|问|说话|提问|用|给你|发)"
)
#: 每周一早上…: when an order recurs; whoever is named next does it
_RECURRING = re.compile(
    rf"^{_POLITE}{_MARK}(?:[一二三四五六日天末]?(?:[、和及到至]?[一二三四五六日天末])*|"
    rf"[^,]{{0,8}}?(?:前|后|时|的时候))"
    r"(?:(?:早上|早晨|清早|上午|中午|下午|傍晚|晚上|夜里|凌晨|睡前|饭前|饭后|起床后|下班前|下班后|"
    r"月初|月底|初|底|年底"
    r"|[\d一二两三四五六七八九十]{1,3}[点号](?:半|钟|整|[\d一二三四五六七八九十]{1,3}分?)?)"
    r"(?:之?前|之?后|左右)?)*,?"
)
#: what may stand between the time and the verb of an order to the assistant
_BETWEEN = re.compile(
    r"^(?:请|你|都|要|得|必须|记得|务必|自动|准时|按时|定时|主动|及时|先|再|统一|就|也|只|麻烦|"
    r"帮我|替我|给我|跟我|向我|对我|,)*"
    r"(?:[把将用以按向对给跟为替让]|提醒|发|推送|问|告诉|总结|汇报|列|写|整理|生成|统计|检查|回复|"
    r"回答|通知|叫我|喊我"
    r"|推荐|更新|播报|播放|念|读|翻译|备份|导出|发送|报告|提供|出|做|来|陪我|督促|监督|考我|教我)"
)
#: a person between the time and the verb: 每周一老板给我发清单
_SOMEBODY = re.compile(
    r"^(?:都|也|就|,)*(?:我|我们|咱们?|他们?|她们?|大家|老[板师妈爸公婆]|"
    r"[爸妈爷奶哥姐弟妹叔舅姑伯]{1,2}|同事|经理|客户|领导|孩子|儿子"
    r"|女儿|朋友|室友|秘书|助理|公司|学校|医生|房东|先生|太太)(?!(?:希望|想让|要求|需要|要|让|"
    r"想请|请求)你)"
)
_ONCE = re.compile(
    r"这次|这回|这一次|本次|此次|今天(?!起|开始)|今晚|明天|暂时|这封|这条|这篇|这段|这道"
    r"|这题|这张|这份|这句|这里|就这|临时|下次|这一[封条篇段次回题]|刚才那|先这样|这会儿"
)
_IDIOM = re.compile(
    r"以后再说|以后再(?:聊|看|谈|见|联系|约)|以后见|以后有(?:机会|空|时间)|以后来|(?:别"
    r"|不要)(?:担心|客气|着急|急|怕|误会|介意|闹|开玩笑|理|管|生气|难过|灰心|放弃|紧|忘)"
    r"|不要紧|不用谢|祝你?|愿你|永远(?:爱|支持|年轻|快乐|幸福|在一起|的神)|一直(?:在|很"
    r"|都在)|总是这样|说到底|每天开心|天天开心"
)
_REVEALS = re.compile(
    r"(?:透露|泄露|公开|告诉|说出|展示|交出|共享)[^,。]{0,10}(?:别人|他人|其他人|其他用户"
    r"|所有人|大家)[^,。]{0,10}|(?:别人|他人|其他人|其他用户)[^,。]{0,12}(?:透露|泄露"
    r"|告诉我|说出来|都给我)"
)
_POLITE_QUESTION = re.compile(
    rf"(?:能不能|可不可以|可以|能|麻烦)[^,]{{0,4}}{_FROM_NOW}"
    rf"|{_FROM_NOW}[^,]{{0,4}}(?:能不能|可不可以|可以|能)[^,]*(?:吗|不)?$"
)
_NO_LONGER = re.compile(
    r"(?:不用|不必|不需要|没必要|可以不用?|无需|不再需要)(?:再|继续|一直|总是|每次|都)"
    r"*(?P<about>[^,]{1,30}?)(?:了|也行|也可以)?$"
    r"|(?:取消|撤销|撤回|作废|忘掉|删掉|去掉|收回)(?:掉)?(?:我)?(?:之前|刚才|上面|上次"
    r"|前面|那条|这条|那个|说的|要求|关于|的)*(?P<about2>[^,]{0,24}?)(?:的)?(?:规则|要求"
    r"|指示|设定|约定|限制|规定|指令)"
    r"|(?:之前|刚才|上次|原来|我)(?:说|要求|让你|叫你|定)(?:过)?的?(?P<about3>[^,]{0,24}?)"
    r"(?:的)?(?:不算了|不算数了?|作废|取消了?|算了|不用了|可以停了|不作数了?)$"
    r"|(?P<normal>恢复(?:正常|默认|原样|原来|普通|之前|成?[^,]{0,6})|还是正常|照常就行"
    r"|正常(?:回答|回复)就(?:行|好|可以))"
    r"|(?:别|不要)再(?P<about4>[^,]{1,30}?)了$|(?:可以|能)停(?:止|下|了)(?:使用|用)"
    r"?(?P<about5>[^,]{0,24}?)(?:了|吧)?$"
)
_INSTEAD = re.compile(r"改用|改成|改为|换成|换用|改回|换回")


def read(sentence: Sentence, asked: bool) -> tuple[int, str] | None:
    """The standing instruction that a sentence gives, and the clause with which it begins.

    Facts may stand before it in the same sentence (我对海鲜过敏，以后别给我推荐海鲜). `asked` is
    set where the sentence is a question.
    """
    for first in range(min(len(sentence.clauses), 4)):
        rest = [without_connectives(c) for c in sentence.clauses[first:]]
        text = ",".join(c.text for c in rest)
        if _instructs(text, asked, follows=first > 0):
            start = sentence.whole.words.find(sentence.clauses[first].words)
            return first, sentence.whole.words[max(start, 0) :].strip()
    return None


def _instructs(text: str, asked: bool, *, follows: bool) -> bool:
    if claims_authority(text) or _REVEALS.search(text) or _IDIOM.search(text):
        return False
    if asked and not _POLITE_QUESTION.search(text):
        return False
    plain = re.sub(r"从今天(?:起|开始)|(?:问|提醒|告诉)我.*", "", text)
    if _ONCE.search(plain) and not re.search(_FROM_NOW, text):
        return False
    if follows and not re.search(rf"请|你|别|不要|勿|禁止|{_FROM_NOW}", text):
        return False
    return _standing(text)


def _standing(text: str) -> bool:
    if _ACTOR.match(text) or _SELF_ACTS.match(text):
        return False
    recurring = _RECURRING.match(text)
    if recurring and text[recurring.start() :].startswith(("每", "请每", "麻烦每")):
        rest = text[recurring.end() :]
        if _SOMEBODY.match(rest):
            return False
        if _BETWEEN.match(rest) and _TO_ME.search(text):
            return True
    ban = _BAN.match(text)
    if ban and not re.search(r"[吗?]$", text):
        return True
    starts = _STARTS.match(text)
    if starts:
        sure = re.search(
            rf"请|你|{_FROM_NOW}|一律|统一|默认|凡是|所有|别|不要",
            starts[0] + text[starts.end() :][:6],
        )
        if (_TO_ASSISTANT if sure else _TO_ME).search(text, starts.end()):
            return True
    if _ASKS_ALWAYS.search(text) and _TO_ASSISTANT.search(text):
        return True
    return bool(_DIRECTED_FIRST.match(text) or _MANNER.match(text))


def withdrawn(text: str, discourse: Discourse, message: int, given: list[str]) -> list[Finding]:
    """The earlier instruction that a folded sentence takes back or replaces.

    `given` are the instructions that this message gave before.
    """
    speaker = discourse.speaker(message)
    held = [
        h.constraint.text
        for h in reversed(discourse.constraints)
        if h.withdrawn_in is None and same_name(h.constraint.by, speaker)
    ]
    held = [*reversed(given), *held]
    if not held:
        return []
    for clause in re.split(r"[,;]", text):
        match = _NO_LONGER.search(clause)
        if match:
            about = next(
                (match[g] for g in ("about", "about2", "about3", "about4", "about5") if match[g]),
                "",
            )
            if about and reference.has_content(about):
                target = reference.best(about, held)
                if target and not (match["about4"] and re.search(r"别|不要", target)):
                    return [ConstraintWithdrawn(message, target)]
            elif match["normal"] or match["about2"] is not None or match["about3"] is not None:
                return [ConstraintWithdrawn(message, held[0])]
    if _INSTEAD.search(text):
        target = reference.best(text, held)
        if target:
            return [ConstraintWithdrawn(message, target)]
    return []


def opens(text: str) -> bool:
    """Whether a folded sentence opens with the mark of a standing instruction."""
    return bool(_STARTS.match(text))
