"""Where a person's name stands, without a segmenter: surname and given name, 小X, 果果, Latin.

A name is taken only where a grammatical word or the end follows; ordinary words that begin like a
surname (方便, 高兴, 白天) are no names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipelines.formation.chinese.folding import folded

_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖萧田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭"
    "陆汪范金石廖贾夏韦付傅方白邹孟熊秦邱江尹薛闫阎段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤温康施文牛樊葛邢安齐"
    "易乔伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳"
    "管柴蒙鲍华喻祁蒲房滕屈饶解牟艾尤阳时穆农司卓古吉缪简车项连芦麦褚娄窦戚岑景党宫费卜冷晏席卫米柏宗瞿桂全佟应臧闵苟"
    "邬边卞姬师和仇栾隋商刁沙荣巫寇桑郎甄丛仲虞敖巩明佘池查麻苑迟邝"
)
_COMPOUND = "欧阳|司马|上官|诸葛|慕容|司徒|令狐|东方|皇甫|尉迟|公孙|长孙|宇文|夏侯|南宫|端木"
_GIVEN = r"(?:(?![的了是在和跟与对我你他她它这那们吗呢吧很也都就不没会要把给被])[㐀-鿿])"
#: one person's name; the second given character is taken only when the first does not end it
_NAME = (
    rf"(?:(?:{_COMPOUND}){_GIVEN}{{1,2}}?|[{_SURNAMES}]{_GIVEN}{{1,2}}?"
    rf"|[小阿老大]{_GIVEN}|(?P<twin>{_GIVEN})(?P=twin)"
    r"|[A-Z][A-Za-z'’.-]{1,20}(?: [A-Z][A-Za-z'’.-]{1,20}){0,2})"
)
#: what may follow a name in a sentence
_AFTER = (
    r"(?=\s*(?:$"
    r"|[在是住对喜爱讨叫有养也都就已刚最常来去从搬说讲没不很想要会能和跟与、给把被将到做当的了过出生读学工吃喝买开考拿换写画唱跳跑走坐站用玩得病辞转退升租卖借修拍演参怀订嫁娶爬正叮"
    r"以每曾更超非特比今明昨后前上下这那,;:?!()0-9]|目前|现在|毕业|因为|觉得|感觉|经常"
    r"|一直|认识|负责|担任|入职|加入|离职|辞职|离开"
    r"|比较|非常|特别|真的|其实|平时|周[一二三四五六日末]|星期|打算|准备|答应|昨|老家|家"
    r"|母语|时区|热爱|偏爱|宁|"
    r"嫁|娶|结婚|向|为|姓|同时|可能|快|还|先|又|应该|只|才|带|帮|约|生病|和|以前|之前|原来"
    r"|移居|定居|跳槽|任职|就职|就读|小名|外号|绰号|昵称|网名|英文名|人称|又名|别名))"
)
_ORDINARY_WORDS = (
    "方便 高兴 安全 安静 安排 平时 平常 明白 明天 明年 明显 明明 周末 周围 周到 周年 "
    "时常 时候 时间 时区 常常 经常 马上 马虎 黄昏 毛病 毛衣 白天 白领 "
    "双方 金额 金鱼 金钱 成功 成年 成天 成为 成都 任何 任职 任性 应该 应届 连续 连忙 "
    "连夜 温柔 温暖 高大 高考 高中 高烧 高层 高级 高管 严重 严肃 严格 严厉 "
    "全部 全家 全职 全都 单身 单独 单位 宁愿 宁可 宁静 宁波 向来 向往 冷静 冷淡 关心 "
    "关于 何时 何必 何况 江湖 江南 江苏 和平 和气 和睦 和我 计划 纪念 解决 解释 "
    "居然 康复 雷雨 凌晨 路上 路过 鲁莽 满意 梅雨 年轻 牛奶 牛肉 钱包 曲折 容易 沙发 "
    "商量 商人 尚未 申请 盛大 施工 石头 史上 水果 舒服 宋朝 孙子 孙女 唐突 陶醉 "
    "田里 童年 万一 万分 王国 危险 文静 文员 文科 武术 武汉 席间 夏天 项目 谢谢 熊猫 "
    "许多 许久 颜色 杨树 叶子 易怒 于是 余下 余生 元旦 曾经 曾是 张口 郑重 钟头 "
    "朱红 祝福 庄重 卓越 古典 古怪 吉他 车上 车里 车站 边上 师傅 师兄 师姐 师弟 师妹 "
    "小名 小说 小时 小心 小学 小区 小组 小声 小孩 小吃 小病 小事 小气 老师 老板 老家 "
    "老公 老婆 老实 老是 老人 老年 老爸 老妈 老乡 老外 老友 大家 大学 大概 大约 大人 "
    "大哥 大姐 大叔 大妈 大爷 大部 大多 大一 大二 大三 大四 大声 大方 大夫 阿姨 "
    "天天 刚刚 常常 偏偏 渐渐 慢慢 往往 明明 仅仅 爸爸 妈妈 爷爷 奶奶 哥哥 姐姐 弟弟 "
    "妹妹 叔叔 舅舅 姑姑 伯伯 公公 婆婆 宝宝 太太 人人 年年 月月 处处 "
    "哈哈 呵呵 嘿嘿 嘻嘻 谢谢 拜拜 乖乖 好好 多多 早早 偷偷 默默 幸好 包括 包子 米饭 "
    "麦子 游戏 游泳 管理 房东 房子 房间 文章 章节 景点 党员 宫里 费用 "
    "甘肃 兰州 安徽 广东 石家 柳州 桂林 温州 贺州 毕业 毕竟 国庆 司机 师范 农民 农村 "
    "农业 龙虾 华人 华为 关系 齐全 路由 蓝色 商店 项链 边境 车间 查询"
)
_ORDINARY = frozenset(_ORDINARY_WORDS.split())
_STRICT = re.compile(_NAME + _AFTER)
#: after 叫 any short word is a name
_LOOSE = re.compile(
    rf"(?:{_NAME}{_AFTER}|(?:(?![的了是在我你他她它这那们吗呢吧不什么])[㐀-鿿·]){{1,5}}(?=$"
    rf"|[,。;()、的])"
    r"|[A-Za-z][A-Za-z'’.-]{1,20}(?: [A-Z][A-Za-z'’.-]{1,20}){0,2})"
)
_FUNCTION = re.compile(r"[的了是在我你他她它这那们吗呢吧]|[谁哪]|什么|怎么")


def _known_at(text: str, start: int, known: Iterable[str]) -> int | None:
    best = None
    for name in known:
        form = folded(name)
        if len(form) >= 2 and text.startswith(form, start):
            end = start + len(form)
            latin = form[-1].isascii() and text[end : end + 1].isascii()
            if not (latin and text[end : end + 1].isalnum()) and (best is None or end > best):
                best = end
    return best


def name_end(
    text: str, start: int, known: Iterable[str] = (), *, loose: bool = False
) -> int | None:
    """Where the name that begins at `start` of a folded text ends; None when none begins there.

    `known` are names already met, taken wherever they stand. `loose` takes any short word (for
    the place after 叫); otherwise the word must look like a name.
    """
    end = _known_at(text, start, known)
    if end is not None:
        return end
    match = (_LOOSE if loose else _STRICT).match(text, start)
    if not match:
        return None
    name = match[0]
    if not loose and (name in _ORDINARY or name[:2] in _ORDINARY):
        return None
    if _FUNCTION.search(name):
        return None
    return match.end()


def is_name(text: str, known: Iterable[str] = ()) -> bool:
    """Whether the whole folded text is one person's name."""
    return bool(text) and name_end(text, 0, known) == len(text)
