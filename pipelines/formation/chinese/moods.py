"""Which clauses state something: no questions, suppositions, wishes, hearsay, fiction, irony."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipelines.formation.chinese.clauses import Sentence

_ASKING = re.compile(
    r"[吗么]$|是不是|是否|有没有|能不能|可不可以|会不会|要不要|好不好|行不行|对不对"
    r"|知不知道|记不记得|喜不喜欢|需不需要"
    r"|(?<!没)(?<!没有)什么|哪[里儿个些家座天位种门本年]?|谁|(?<!不)怎么|怎样|如何|为何"
    r"|为啥|干嘛|咋|多少|几[点号个岁位月年天]|多久|多大|何时"
    r"|^(?:你|请问)?(?:还)?(?:记得|知道|猜|觉得).*(?:我|他|她)|不知道|不记得|忘了我|不确定|来着$"
)
_TAG = re.compile(
    r"^(?:是吧|对吧|是吗|对吗|是不是|对不对|没错吧|是不|你记得吗|记得吗|还记得吗|你觉得呢"
    r"|真的吗|没记错吧|好吗|行吗|可以吗|怎么样|如何|好不好|行不行|成吗|可以不|好吧)$"
)
_IF = re.compile(
    r"如果|要是|假如|假设|假定|倘若|倘使|若是|万一|设想|想象一?下|的话$|除非|即使|即便"
    r"|就算|哪怕|只要|假使|譬如|比方说|比如说?我|(?:^|[,。])若|^等(?!于)(?:我|他|她|以后"
    r"|将来|有)"
)
_ALAS = re.compile(r"就好了|该多好|多好啊?$|就太好了|要好了|不就.*了$|就完美了")
_WISH = re.compile(
    r"^(?:我)?(?:真|很|好|特别|一直|其实|也|多么?)*(?:希望|但愿|梦想|恨不得|巴不得|幻想"
    r"|盼着|盼望|渴望|羡慕|想象|宁愿我|多想|好想|想要?(?!起|到|法))"
)
_MAYBE = re.compile(
    r"可能|也许|大概|好像|似乎|或许|估计|说不定|没准|不一定|不确定|不太确定|看情况"
    r"|再说吧?$|再看吧?$|到时候看|(?<!取消)(?<!算了)吧$|我猜|我以为|我觉得我?(?:好像|可能"
    r"|应该)|应该是在|应该会|考虑"
)
_SAY = re.compile(
    r"(?<![听小传据学再话胡瞎会能想爱别可能要难在好来])(?:(?:跟|和|对|向)(?:我|大家|他|她"
    r"|你|别人)(?:们)?)?(?P<verb>说(?!起|到|实话|真|不定|错|明|法|服|得|话|好"
    r"|[^,]{0,4}[语文话]$)|告诉|提到|声称|表示|写道|透露|坚称|宣称|回复(?!我)|回答(?!我)"
    r"|问(?!题)|觉得|认为|以为|相信|怀疑|猜)"
)
_HEARSAY = re.compile(
    r"听说|据说|据称|传说|传闻|听人说|听.{1,4}说|网上说|新闻(?:上|里)?说|有人说|人家说"
    r"|都说|俗话|常言|古人|老话|谣言|所谓"
)
_SELF_SAYS = re.compile(
    r"^(?:不|不对|对不起|抱歉|是)?(?:我|本人)(?:的意思|之前|刚才|刚刚|刚|上次|早就|也|就"
    r"|先|再|都|已经|还|是|想|要|可以|得|必须|只能|跟你|和你|跟大家|向大家|不是|真的)*$|^$"
    r"|^(?:之前|刚才|刚刚|上次|上回|前面|上面|昨天|早上)$|^(?:老实|坦白|不瞒你|跟你|和你"
    r"|跟大家|简单|总的来|一般来|不得不|实话实|顺便|顺便一|也就是)$"
)
_FICTION = re.compile(
    r"角色扮演|扮演|假装|装作|(?:我们|咱们|咱|一起)来?(?:演|玩)(?:个|一个|一下|一场)"
    r"?[^,。]{0,4}(?:戏|游戏|角色)|来演|你来当|我来当|你演|我演"
    r"|(?<![看读爱听])(?:小说|剧本|故事|歌词|台词|童话|寓言)(?:里|中|的?(?:开头|结尾|主角"
    r"|主人公|片段|草稿|设定|大纲|第.{1,3}章)|是|:|叫)"
    r"|主角|主人公|旁白|(?<!喜欢)(?<!爱)(?<!感兴趣)(?:写|续写|创作|编|构思|改编)(?:了|着"
    r"|一|个|篇|段|首|部|短|的|科幻|爱情|悬疑){0,4}(?:小说|故事|剧本|诗|歌词|台词|童话"
    r"|剧情|段子|作文)"
    r"|人物设定|人设|虚构|梦[见到]|在?梦里|(?:做|作)了?(?:个|一个)?(?:怪|奇怪的|噩|美)?梦"
    r"|电影里|电视剧里|游戏里|动画里|书里|(?i:cosplay)|设定:|平行世界|穿越"
)
_ROLE_ENDS = re.compile(r"不玩了|说正经|说真的|言归正传|游戏结束|结束(?:了)?(?:扮演|游戏)")
_TRANSLATE = re.compile(
    r"(?:请|帮|麻烦|能|可以|把|将|给)[^。]{0,30}(?:翻译|译成|翻成|翻一下|译一下|润色|改写"
    r"|造句|朗读|校对)|^翻译|翻译(?:一下|成|为|这|下面|以下|上面)"
    r"|(?:怎么|如何)(?:翻译|翻|译)|[用的]?[一-鿿]{1,3}[语文](?:怎么|如何|咋)(?:说|讲|写"
    r"|表达)|怎么用.{1,4}[语文](?:说|讲|写|表达)|例句|语法(?:对|错)|这句话?(?:通顺|对吗"
    r"|什么意思)"
)
_SARCASM = re.compile(
    r"行了吧|行吧$|好了吧|满意了吧|高兴了吧|够了吧|才怪|呵呵|可真是?(?:太|会|好)|真是谢谢"
    r"|谢谢你啊|太棒了[,，!！。]?又|真棒[,，!！。]?又|太好了[,，!！。]?又"
    r"|可太(?:喜欢|爱)|最(?:喜欢|爱)[^。]{1,20}了呢|多谢了啊|🙄|(?:又|再)"
    r"[^。]{1,14}(?:加班|开会|堵车|排队|改需求)[^。]{0,10}(?:喜欢|爱)|我(?:就|可)(?:是)"
    r"?(?:喜欢|爱)[^。]{1,20}(?:行|怎么|咋|呗|不行吗)|爱死|喜欢死|反话|讽刺"
)
_AUTHORITY = re.compile(
    r"(?:管理员|超级用户|最高权限|权限|(?i:root|admin|sudo)|开发者模式|系统提示|系统消息"
    r"|系统指令|系统管理|主人|所有者|拥有者|最高指令|越狱|绕过|免审核|授权|特权|后台|密码"
    r"|口令|机密)"
)
_I_AM_IN_CHARGE = re.compile(
    r"我(?:就)?是(?:你的?|这里的?|系统|最高|超级|唯一的?){0,2}"
    r"(?:管理员|超级用户|主人|所有者|拥有者|开发者|(?i:root|admin))"
    r"|我(?:拥有|有|具有)[^,]{0,6}(?:权限|特权|授权)"
)
_TO_MEMORY = re.compile(
    r"记住|记下|记忆|写入|存入|存储|保存|记录|写进|更新你的|新增?规则|新规则|规则|指令"
    r"|设定为|把我(?:当|视|看)|视为|当作|当成"
)
_OVERRIDE = re.compile(
    r"(?:忽略|无视|忘掉|忘记|忽视|跳过|推翻|覆盖|抛开|不要理会|取代)[^。]{0,10}(?:指令"
    r"|规则|提示|设定|要求|限制|约束|说明|内容)|(?:新规则|新指令|系统指令|新增规则"
    r"|最高指令)"
)
_FORMER = re.compile(
    r"(?<![\d一二三四五六日天号月底末午点周年])以前|曾经?(?!祖|孙)|(?:^|我|他|她|在)"
    r"过去(?!的?路)|小时候|那时候?|当时|当年|原来(?!如此)|原先|从前|早年|年轻时|上学时"
    r"|大学时|[^,]时候(?!就)|(?:^|我|他|她|还|都|也|是)之前(?!说)|一度|那会儿"
)
_PRESENT = re.compile(r"现在|目前|如今|后来|眼下|今年|这几年|至今|已经|但|不过")
_THE_SPEAKERS_TURN = re.compile(r"^(?:但|不过|可是)?我")


@dataclass(frozen=True, slots=True)
class Mood:
    """What a clause may give: `states` facts, `plans` commitments; `former` tells of the past.

    `asks` marks a question that is not about somebody's words: a request may be put as one.
    """

    states: bool
    plans: bool
    former: bool
    asks: bool


def message_closed(text: str) -> bool:
    """Whether a whole folded message is somebody else's text: to be translated, or fiction."""
    return bool(_TRANSLATE.search(text)) or bool(_FICTION.search(text))


def plays_a_role(earlier: list[str]) -> bool:
    """Whether the messages before (folded, oldest first) opened a role play and did not end it."""
    playing = False
    for text in earlier:
        if re.search(r"角色扮演|扮演|你演|我演|我们来演", text):
            playing = True
        if _ROLE_ENDS.search(text):
            playing = False
    return playing


def sarcastic(text: str) -> bool:
    """Whether a folded message carries a mark of irony."""
    return bool(_SARCASM.search(text))


def claims_authority(text: str) -> bool:
    """Whether a folded sentence would smuggle authority or rules into the memory."""
    return bool(_OVERRIDE.search(text)) or (
        bool(_AUTHORITY.search(text))
        and bool(_TO_MEMORY.search(text) or _I_AM_IN_CHARGE.search(text))
    )


def overrides(text: str) -> bool:
    """Whether a folded message bids to drop earlier instructions or to take a new rule."""
    return bool(_OVERRIDE.search(text))


def hearsay(text: str) -> re.Match[str] | None:
    """Where somebody other than the speaker begins to be cited, in a folded clause."""
    match = _HEARSAY.search(text)
    if match:
        return match
    for say in _SAY.finditer(text):
        if say["verb"] in ("觉得", "认为", "相信", "以为", "怀疑", "猜", "问") and re.match(
            r"^(?:其实|说实话)?(?:我|本人)", text[: say.start()] + "  "
        ):
            if say["verb"] in ("以为", "怀疑", "猜"):
                return say
            continue
        if not _SELF_SAYS.match(text[: say.start()]):
            return say
    return None


def moods(sentence: Sentence) -> list[Mood]:
    """The mood of each clause; a supposition or a citation reaches to the end of its sentence."""
    texts = [c.text for c in sentence.clauses]
    asked = "?" in sentence.end
    conditional = any(_IF.search(t) for t in texts)
    tagged = any(_TAG.match(t) for t in texts)
    alas = any(_ALAS.search(t) for t in texts)
    found: list[Mood] = []
    closed = alas or (asked and tagged)
    former = False
    last = len(texts) - 1
    for i, text in enumerate(texts):
        asking = bool(_ASKING.search(text)) or (asked and i == last)
        if asking and _opens_question(text):
            closed = True
        if asked and "还是" in text:
            asking = True
        cited = hearsay(text)
        if _IF.search(text) or (cited is not None):
            closed = True
        wished = bool(_WISH.search(text))
        maybe = bool(_MAYBE.search(text))
        if _FORMER.search(text):
            former = True
        elif former and (_PRESENT.search(text) or _THE_SPEAKERS_TURN.match(text)):
            former = False
        open_ = not (closed or asking or wished or maybe)
        asks = asking and not (alas or wished or maybe or conditional or cited)
        found.append(Mood(open_, open_ and not conditional, former, asks))
        if asking and not asked:
            # an indirect question: what hangs on it is asked too
            closed = closed or _opens_question(text)
    return found


def _opens_question(text: str) -> bool:
    return bool(re.search(r"记得|知道|是不是|是否|有没有|你说|你是说|问|猜", text))
