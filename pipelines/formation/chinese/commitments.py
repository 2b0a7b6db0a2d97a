"""Promises, plans, appointments and reminders, and what becomes of them later."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pipelines.formation.chinese import reference
from pipelines.formation.chinese.phrase import Phrase
from pipelines.formation.chinese.statement import without_adverbs
from pipelines.formation.dates_chinese import DatePhrase
from pipelines.formation.discourse import Discourse
from pipelines.formation.findings import CommitmentChanged, CommitmentMade, Finding

_ACT = (
    "(?:把|将|给|帮|替|为|去|尽快|尽早|按时|准时|及时|马上|立刻|亲自|负责|记得|寄|归还|还"
    "|交|订|定|发|带|买|付|转|送|联系|通知|打电话|打|修|整理|准备|完成|安排|回复|处理"
    "|告诉|预约|提交|确认|检查|更新|写|做|取|拿|接|找|搬|印|打印|打扫|清理|收拾"
    "|参加|签|办|报名|填|洗|喂|浇|装|换|退|存|缴|申请|汇|问|催|核对|测试|部署|上线|翻译"
    "|审|盯|跟进|提醒|陪|照顾|看望|拜访|请|借|抄|贴|上传|下载|传|递|挂|出|开|搞定|弄|解决"
    "|制作|设计|录|拍|画|起草|跑|到|上|结|清|配|调|查|约|见|回|来|飞|出差|搬家|卖|拆|种"
    "|剪|烤|煮|炖|烧|做饭|布置|采购|组织|主持|演示|汇报|讲|教|学|考|面试|复查|体检|打疫苗"
    "|打针|看牙|看病|值班|加班|开会|结婚|入职|报到|开始|毕业|出发|回国|返程|登机|动身"
    "|启程|播|发布|公布|宣布|归档|复印|扫描|快递|邮寄|退货|退房|续|延|缝|钉|刷|涂|漆|铺"
    "|接种|捐|献血|投|递交|面谈|谈|聊|碰|聚|唱|跳|练|排练|比赛|演|听|看|读|背|复习|预习"
    "|补|赶|熬|吃|喝|逛|玩|爬|游|骑|钓|滑|露营|旅|度假)"
)
_HEAD = re.compile(
    r"^(?:就|也|还(?![你给清钱款书债他她])|再|先|一定|肯定|保证|尽量|一会儿?|马上|这就|稍后|等下|"
    r"待会儿?|回头"
    r"|到时候?|绝对|必定|亲自|自己|顺便|顺路|另外|然后|最晚|最迟|最多|大约|正好|刚好|务必"
    r"|可以|争取|说好了?|说定了|跟你说好|确定|已经|都|今天|改|重新|要|会|,|\s)*"
)
_INTENDS = re.compile(
    rf"^(?:(?:会|要|来|得|必须|需要|该|一定要|一定会|肯定会)(?:再|先|尽快|马上|去|来|自己"
    rf"|亲自|记得|负责|准时|按时|及时)*{_ACT}|(?:打算|准备|计划|决定|约定|保证|答应(?:了)"
    rf"?(?:你|他|她|妈妈|爸爸|[^,]{{0,4}}?)?(?:会|要)?|负责|承诺|发誓)(?!好|了$|是|得|充分"
    rf"|的)[^,]{{2,}})"
)
_ALSO = re.compile(r"^(?:(?:还|也|就|都|那|今天|,)(?=要|得|需要|会|必须|打算|准备|计划))+")
_ABILITY = re.compile(
    r"^会(?:游|骑|钓|滑|爬|玩|听|看|读|背|吃|喝|演|练|弹|种|飞|刷|涂|缝|写|做|修|打|翻译|换|装|洗|"
    r"开|画|教|讲|唱|跳|烤|煮|剪|拍|种|上|出|到|设计|弄)"
    r"(?!好|完|给|一份|一下|个)[^,]{0,5}$"
)
_STATIC = re.compile(
    r"^(?:不|没|有空|没空|忙|休息|放假|在(?!线)|有事|没事|没课|生日|过生日|空闲?|是|很|挺"
    r"|太|可以$|能$|行|方便|喜欢|爱|讨厌|觉得|感觉|认为|出生|住|对|有(?!个?约|会|面试|考试"
    r"|手术|体检|一)|满|就满|[\d一二三四五六七八九十]+岁|希望|想|可能|应该|的|和|跟你|刚"
    r"|怎么|还没|还有|也没|一直|总是|每|吃素|只|醒|困|累|病|梦|听|看到|知道|发现|记得|忘"
    r"|等|心情|状态|天气|收到|到了|迟到|失眠|头疼|会(?:很|有|是|不|没|更|比较|想|好)"
    r"|要(?:是|不|么|求|命|好|紧|很|[一两三半]|了$))"
)
_IDLE = re.compile(
    r"考虑|想想|想一想|看看(?:再|吧|情况|$)|再说|努力|加油|注意|小心|试试|尽力|看情况"
    r"|睡觉?了?$|^要?回[家去]了?$|^(?:再|明天)?(?:告诉|跟)你|走了$|挂了$|下线|先忙|去忙"
    r"|吃饭了$|会好的|保重|想你|等你|等着|支持|陪着|理解|明白|记住了?$|说一(?:下|句)"
    r"|问一?(?:下|句)(?:你|大家)?$|请教|猜|告诉你(?:一个|个|件|吧)|强调|承认|道歉|说明|疯"
    r"|死|哭|笑"
)
_DONE = re.compile(r"(?:了|过了?|完了?|好了)(?:[啊呀哦啦])?$")
_SOON_DONE = re.compile(r"(?:要|快|该)[^,]+了$")
_APPOINTMENT = re.compile(
    r"^(?:还|也|又|刚|已经|就)*(?:(?:跟|和|与|同)(?P<with>[^,]{1,10}?))?(?:预约了?|约了"
    r"|约好了?|约在|约定|约的|挂了|挂号|订了|定了|预订了|有(?:一?[个场次节趟顿台])"
    r"?(?P<what>[^,]{0,12}?(?:会议|例会|电话会|会|面试|考试|手术|体检|聚会|约会|约|航班"
    r"|飞机|火车|门诊|复诊|演出|比赛|答辩|饭局|婚礼|预约|培训|讲座|演讲|汇报|牙医|课|聚餐"
    r"|访谈|活动|排练|值班))$|要(?:开会|面试|考试|体检|做手术|复诊|答辩))"
)
_REMIND = re.compile(
    r"^(?:请|你|记得|麻烦|拜托|到时候?|别忘了?|务必|帮我|要|能|可以|可不可以|能不能|一定"
    r"|再|也|还|就|顺便|设(?:个|一个)?提醒|,)*(?:提醒|提示)(?:一下|下)?我(?:一下|一声|下)"
    r"?(?:要|去|别忘(?:了|记)?|不要忘(?:了|记)?|记得|得|,)*(?P<what>[^,]{2,60}?)(?:好吗"
    r"|可以吗|行吗|吗)?$"
    r"|^(?:别让我忘(?:了|记)?|不要让我忘(?:了|记)?|帮我记着|帮我设(?:个|一个)?提醒)(?:要"
    r"|去)?(?P<what2>[^,]{2,60})$"
)
_RECURS = re.compile(
    r"每(?!个人|人|位)|经常|总是|一直|以后|今后|从现在起|通常|平时|一般都|天天|周周|月月|定期"
)
_TO_YOU = re.compile(
    r"给你|发你|还你|带给你|告诉你|帮你|找你|联系你|通知你|寄你|转你|跟你说|回复你|答复你|陪你|接你"
)
_MOVED = re.compile(
    r"(?:改|推迟|推|延|延期|延后|提前|挪|顺延|改期|换|调|移|往后推|后延)(?:到|至|成|为|在"
    r"|约)|改约|改(?=周|星期|明|后天|下|今|\d)|推迟|提前(?=[\d一两三])"
)
_CANCELS = re.compile(
    r"取消|作罢|泡汤|作废|去不了|来不了|做不了|办不了|不成了|(?:不用|不必|不需要|没必要)"
    r"[^,]*了$|(?:不|没法|没办法|不能|无法|没打算|不打算|不准备|不想|不会)(?!好意思|过|是"
    r"|见|客气|对|用谢|知道|如|得不|急|起|行了$)[^,]{1,20}了$|计划(?:变|取消|改|有变)"
    r"|行程(?:变|取消)|改主意|算了吧?,?不"
)
_CANCEL_ONLY = re.compile(
    r"^(?:那|这|这个|那个|这件事|那件事|这事|那事|它|就|还是|已经|先|我|全部|都|都给我|把"
    r"|请|帮我|刚才|刚刚|之前|上次|的|约|安排|计划|行程|提醒|承诺|约定|预约|说)"
    r"*(?:取消(?:了|掉|吧|一下)*|作罢了?|泡汤了?|作废了?|去不了了?|来不了了?|不去了|不来了"
    r"|不做了|不弄了|不办了|不用了|计划(?:变|取消|改|有变化?)了?|改主意了?)$"
)
_DONE_ONLY = re.compile(
    r"^(?:我|那|这|这个|那个|这件事|那件事|事情|任务|它|已经|都|刚刚?|刚才|终于|全部|也"
    r"|早就)*(?:搞定|办好|弄好|办完|做完|完成|做好|弄完|办妥|处理好|处理完|解决)(?:了|啦)$"
)
_NOT_YET = re.compile(r"还没|没有?|未|差点|快要|就要|准备|打算|不")
_FILLER = re.compile(
    r"已经|都|就|刚刚?|刚才|终于|早就|全部|也|我|了|啦|把|将|不|没法|没办法|取消|还是|算了"
    r"|先|再|要|会|去(?=[^年])|来(?=[^自])"
)


@dataclass(slots=True)
class Diary:
    """The open commitments while one message is read, this message's own included.

    `fresh` are those made in the sentence being read, which it cannot yet change.
    """

    discourse: Discourse
    message: int
    made: list[str] = field(default_factory=list)
    fresh: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)

    @property
    def speaker(self) -> str:
        """Who speaks the message."""
        return self.discourse.speaker(self.message)

    def open_of(self, by: str | None) -> list[str]:
        """Summaries of open commitments, the latest first."""
        held = [h.commitment.summary for h in self.discourse.open_commitments(by)]
        own = list(reversed(self.made)) if by is None or by == self.speaker else []
        return [s for s in [*own, *held] if s not in self.closed]

    def others(self) -> list[str]:
        """Summaries of open commitments of anybody but the speaker."""
        return [
            h.commitment.summary
            for h in self.discourse.open_commitments(None)
            if h.commitment.by != self.speaker and h.commitment.summary not in self.closed
        ]


@dataclass(frozen=True, slots=True)
class Plan:
    """A clause as these rules read it: `body` lacks connectives, dates and subject."""

    body: Phrase
    clause: Phrase
    dates: tuple[DatePhrase, ...]
    own: bool
    implied: bool
    addressed: bool


def _due(plan: Plan) -> DatePhrase | None:
    ahead = [d for d in plan.dates if d.ahead]
    return ahead[0] if ahead else None


def changes(plan: Plan, diary: Diary) -> list[Finding]:
    """What the clause says about an earlier commitment: moved, cancelled or done."""
    text = plan.clause.text
    mine = [m for m in diary.open_of(diary.speaker) if m not in diary.fresh]
    if plan.addressed and re.search(r"不用|不必|不需要", text) and text.endswith("了"):
        target = reference.best(_FILLER.sub("", plan.body.text), diary.others())
        return [_set(diary, target, "cancelled", by=None)] if target else []
    if not mine:
        return []
    moved = _MOVED.search(text)
    if moved and plan.dates and not _NOT_YET.search(text[: moved.start()]):
        after = [d for d in plan.dates if d.end > moved.start() and d.ahead]
        if after:
            about = _MOVED.sub("", plan.body.text)
            target = reference.best(about, mine)
            rest = _FILLER.sub("", about)
            if target is None and (
                len(rest) <= 3 or re.search(r"时间|日子|约|安排|计划|那个|这个", rest)
            ):
                target = mine[0]
            if target:
                return [CommitmentChanged(diary.message, diary.speaker, target, due=after[-1].last)]
    if _CANCELS.search(text) and not (
        plan.own and _due(plan) and "取消" not in text and "了" not in text
    ):
        if _CANCEL_ONLY.match(plan.clause.text) or _CANCEL_ONLY.match(plan.body.text):
            return [_set(diary, mine[0], "cancelled")]
        target = reference.best(_FILLER.sub("", plan.body.text), mine)
        return [_set(diary, target, "cancelled")] if target else []
    if moved:
        return []
    done_body = plan.body.text
    if _DONE_ONLY.match(text):
        return [_set(diary, mine[0], "fulfilled")]
    if (
        _DONE.search(done_body)
        and not _NOT_YET.search(done_body)
        and not _SOON_DONE.search(done_body)
    ):
        if any(
            d.ahead and d.iso and len(d.iso) == 10 and not _is_today(d, diary) for d in plan.dates
        ):
            return []
        target = reference.best(_FILLER.sub("", done_body), mine)
        return [_set(diary, target, "fulfilled")] if target else []
    return []


def _is_today(d: DatePhrase, diary: Diary) -> bool:
    return d.iso == diary.discourse.at(diary.message).date().isoformat()


def _set(diary: Diary, target: str, status: str, by: str | None = "") -> CommitmentChanged:
    diary.closed.add(target)
    who = diary.speaker if by == "" else by
    return CommitmentChanged(
        diary.message, who, target, status="cancelled" if status == "cancelled" else "fulfilled"
    )


def reminder(plan: Plan, diary: Diary) -> list[Finding] | None:
    """提醒我后天带身份证: a commitment of the speaker; None when no reminder is asked for."""
    match = _REMIND.match(plan.body.text)
    if not match:
        return None
    group = "what" if match["what"] else "what2"
    empty = match[group] in ("一下", "一声", "一下下")
    if empty or _RECURS.search(plan.clause.text) or plan.body.text.endswith("了吗"):
        return []
    return [_made(plan, diary, plan.body.said(match, group))]


def read(plan: Plan, diary: Diary) -> list[Finding]:
    """The commitment that the clause makes, if it makes one."""
    text = plan.body.text
    if _RECURS.search(plan.clause.text) or _IDLE.search(text) or "取消" in text or len(text) < 2:
        return []
    due = _due(plan)
    appointment = _APPOINTMENT.match(text)
    if (
        appointment
        and (plan.own or plan.implied)
        and (due or re.match(r"^.{0,12}(?:约了|预约了)[^,]{2,}", text))
    ) and not (text.startswith(("订了", "定了", "挂了", "预订了")) and due is None):
        return [_made(plan, diary, plan.body.words)]
    if not (plan.own or (plan.implied and due)):
        return _promise_to_you(plan, diary, due)
    head = _HEAD.match(text)
    act = without_adverbs(plan.body.part(head.end() if head else 0))[0].text
    if plan.dates and due is None:
        return []
    if due is not None and due.iso and len(due.iso) == 4 and not _INTENDS.match(text):
        return []
    sure = due is not None and not _is_today(due, diary)
    if not sure and _DONE.search(text) and not _SOON_DONE.search(text):
        return []
    if not sure and re.match(r"^[㐀-鿿]{1,3}了[^,]", text):
        return []
    intent = _ALSO.sub("", text)
    if _INTENDS.match(intent) and not (due is None and _ABILITY.match(intent)):
        if _STATIC.match(intent) and due is None and not intent.startswith(("会", "要")):
            return []
        return [_made(plan, diary, plan.body.words)]
    if due is None or _STATIC.match(act) or _STATIC.match(text):
        return []
    if _is_today(due, diary) and not re.match(rf"^{_ACT}", act):
        return []
    if not re.match(rf"^(?:会|要|得|再|先)*{_ACT}", act) and not (plan.own and len(act) >= 3):
        return []
    return [_made(plan, diary, plan.body.words)]


def _promise_to_you(plan: Plan, diary: Diary, due: DatePhrase | None) -> list[Finding]:
    """明天把发票寄给你: said without 我, but to whom it is done shows who does it."""
    text = plan.body.text
    if plan.addressed or due is None or not _TO_YOU.search(text) or _DONE.search(text):
        return []
    if re.match(r"^(?:请|别|不|让|叫|他|她|有|是|没|会有)", text) or not re.match(
        rf"^(?:就|再|会|先|一定)*{_ACT}", text
    ):
        return []
    return [_made(plan, diary, plan.body.words)]


def _made(plan: Plan, diary: Diary, words: str) -> CommitmentMade:
    due = _due(plan)
    summary = re.sub(r"^的|(?<=[约了订])的", "", words.strip(" ,，。"))
    diary.made.append(summary)
    diary.fresh.add(summary)
    moves = bool(re.search(r"改(?!变)|推迟|提前|延", plan.clause.text))
    return CommitmentMade(
        summary, diary.speaker, diary.message, due=due.last if due else None, moves=moves
    )
