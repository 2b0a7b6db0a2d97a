"""What can be the name of a place, and what is only a spot (公司, 三楼, 梦里).

The list of well-known places serves three ends: to tell a town from an employer (在上海工作), to
trust 我是…人, and to cut a spot off a town (成都市区 is in 成都). Any other name still counts as a
place after 住在.
"""

from __future__ import annotations

import re

_KNOWN_WORDS = (
    "北京 上海 天津 重庆 香港 澳门 台湾 河北 山西 辽宁 吉林 黑龙江 江苏 浙江 安徽 福建 "
    "江西 山东 河南 湖北 湖南 广东 广西 海南 四川 贵州 云南 西藏 陕西 甘肃 青海 宁夏 "
    "新疆 内蒙古 "
    "石家庄 唐山 秦皇岛 邯郸 邢台 保定 张家口 承德 沧州 廊坊 衡水 太原 大同 阳泉 长治 "
    "晋城 朔州 晋中 运城 忻州 临汾 吕梁 呼和浩特 包头 乌海 赤峰 通辽 鄂尔多斯 呼伦贝尔 "
    "沈阳 大连 鞍山 抚顺 本溪 丹东 锦州 营口 阜新 辽阳 盘锦 铁岭 朝阳 葫芦岛 长春 四平 "
    "辽源 通化 白山 松原 白城 延边 延吉 哈尔滨 齐齐哈尔 鸡西 鹤岗 双鸭山 大庆 伊春 "
    "佳木斯 七台河 牡丹江 "
    "黑河 绥化 漠河 南京 无锡 徐州 常州 苏州 南通 连云港 淮安 盐城 扬州 镇江 泰州 宿迁 "
    "昆山 江阴 宜兴 张家港 常熟 杭州 宁波 温州 嘉兴 湖州 绍兴 金华 衢州 舟山 台州 丽水 "
    "义乌 乌镇 慈溪 "
    "合肥 芜湖 蚌埠 淮南 马鞍山 淮北 铜陵 安庆 黄山 滁州 阜阳 宿州 六安 亳州 池州 宣城 "
    "福州 厦门 莆田 三明 泉州 漳州 南平 龙岩 宁德 晋江 南昌 景德镇 萍乡 九江 新余 鹰潭 "
    "赣州 吉安 宜春 抚州 上饶 婺源 "
    "济南 青岛 淄博 枣庄 东营 烟台 潍坊 济宁 泰安 威海 日照 临沂 德州 聊城 滨州 菏泽 "
    "曲阜 郑州 开封 洛阳 平顶山 安阳 鹤壁 新乡 焦作 濮阳 许昌 漯河 三门峡 南阳 商丘 信阳 "
    "周口 驻马店 "
    "武汉 黄石 十堰 宜昌 襄阳 鄂州 荆门 孝感 荆州 黄冈 咸宁 随州 恩施 长沙 株洲 湘潭 "
    "衡阳 邵阳 岳阳 常德 张家界 益阳 郴州 永州 怀化 娄底 湘西 凤凰 广州 韶关 深圳 珠海 "
    "汕头 佛山 江门 湛江 茂名 肇庆 "
    "惠州 梅州 汕尾 河源 阳江 清远 东莞 中山 潮州 揭阳 云浮 顺德 南宁 柳州 桂林 梧州 "
    "北海 防城港 钦州 贵港 玉林 百色 贺州 河池 来宾 崇左 阳朔 海口 三亚 三沙 儋州 成都 "
    "自贡 攀枝花 泸州 德阳 绵阳 "
    "广元 遂宁 内江 乐山 南充 眉山 宜宾 广安 达州 雅安 巴中 资阳 都江堰 贵阳 六盘水 遵义 "
    "安顺 毕节 铜仁 昆明 曲靖 玉溪 保山 昭通 丽江 普洱 临沧 大理 西双版纳 香格里拉 拉萨 "
    "日喀则 昌都 林芝 山南 那曲 "
    "西安 铜川 宝鸡 咸阳 渭南 延安 汉中 榆林 安康 商洛 兰州 嘉峪关 金昌 白银 天水 武威 "
    "张掖 平凉 酒泉 庆阳 定西 陇南 敦煌 西宁 海东 格尔木 银川 石嘴山 吴忠 固原 中卫 "
    "乌鲁木齐 克拉玛依 吐鲁番 哈密 "
    "喀什 伊犁 伊宁 台北 高雄 台中 台南 新竹 基隆 花莲 嘉义 桃园 新北 九龙 新界 浦东 "
    "朝阳区 海淀 徐汇 中国 大陆 美国 日本 韩国 朝鲜 英国 法国 德国 意大利 西班牙 葡萄牙 "
    "荷兰 比利时 瑞士 瑞典 挪威 芬兰 "
    "丹麦 冰岛 奥地利 波兰 捷克 匈牙利 希腊 土耳其 俄罗斯 乌克兰 加拿大 墨西哥 巴西 "
    "阿根廷 智利 秘鲁 澳大利亚 澳洲 新西兰 新加坡 马来西亚 泰国 越南 印度尼西亚 印尼 "
    "菲律宾 柬埔寨 老挝 缅甸 印度 巴基斯坦 "
    "尼泊尔 斯里兰卡 以色列 伊朗 伊拉克 沙特 迪拜 阿联酋 埃及 南非 肯尼亚 尼日利亚 "
    "摩洛哥 爱尔兰 苏格兰 蒙古 哈萨克斯坦 欧洲 非洲 亚洲 北美 南美 东京 大阪 京都 横滨 "
    "名古屋 神户 福冈 札幌 冲绳 奈良 首尔 "
    "釜山 济州 曼谷 清迈 河内 胡志明市 吉隆坡 槟城 雅加达 巴厘岛 马尼拉 孟买 新德里 德里 "
    "伦敦 巴黎 柏林 慕尼黑 法兰克福 汉堡 科隆 罗马 米兰 威尼斯 佛罗伦萨 马德里 巴塞罗那 "
    "里斯本 波尔图 阿姆斯特丹 鹿特丹 "
    "布鲁塞尔 苏黎世 日内瓦 维也纳 布拉格 布达佩斯 华沙 雅典 斯德哥尔摩 奥斯陆 赫尔辛基 "
    "哥本哈根 都柏林 爱丁堡 曼彻斯特 利物浦 牛津 剑桥 莫斯科 圣彼得堡 伊斯坦布尔 纽约 "
    "洛杉矶 旧金山 芝加哥 波士顿 西雅图 "
    "休斯顿 华盛顿 费城 拉斯维加斯 硅谷 加州 多伦多 温哥华 蒙特利尔 渥太华 悉尼 墨尔本 "
    "布里斯班 珀斯 奥克兰 惠灵顿 开罗 开普敦 内罗毕 约翰内斯堡 圣保罗 里约热内卢 "
    "布宜诺斯艾利斯 圣地亚哥 利马 墨西哥城"
)
_KNOWN = frozenset(_KNOWN_WORDS.split())
_LONGEST = max(map(len, _KNOWN))
_ADMINISTRATIVE = re.compile(r"[㐀-鿿]{2,10}(?:省|市|县|自治区|自治州|[州盟旗]|区|镇|乡|村|岛|国)")
#: what only says where in the town
_SPOT = re.compile(
    r"(?:市|省)?(?:的)?(?:市区|郊区|近郊|城区|老城区?|新区|市中心|城[东南西北]"
    r"|[东南西北](?:边|部|面|郊)|附近|周边|这边|那边|这里|那里|这儿|那儿|里|边上|旁边|本地"
    r"|一带)+$"
)
_NEARBY = re.compile(r"(?:的)?(?:附近|这边|那边|一带|周边|这里|那里|这儿|那儿|旁边|边上)$")
_NO_PLACE = re.compile(
    r"[我你他她它谁哪什这那□￼␣]|[一二三四五六七八九十\d]+[楼层室号栋单天年晚周]|次$"
    r"|^[一那这某][个座家所条]|^(?:公司|单位|办公室|医院|酒店|宾馆|旅馆|民宿|学校|宿舍|校外|校内|"
    r"家里?|家中|老家"
    r"|父母家|梦里|心里|隔壁|对面|楼[上下]|一起|同一.*|外面|外地|国外|海外|国内|乡下|农村"
    r"|城里|城市|市区|郊区|"
    r"房子|房间|里面|山上|海边|附近|市中心|.{0,3}大房子|云端|云上|过去|现在|当下|.*(?:时代"
    r"|世界|里|中|下)|.*宿舍|.*酒店|.*医院|.*公司)$"
    r"|装修|翻修|施工|聚会|拆迁|停[电水]|吵|新[家房]|房子|公寓$|出租屋|学区房|工作|上班"
    r"|读书|上学|旅游|出差|开会|租房|[买卖吃喝]|[很挺太真]|[!?]|以[前后]|时候|方便|舒服"
    r"|习惯"
)
_NAME = re.compile(r"[㐀-鿿·]{2,14}|[A-Za-zÀ-ɏ][\wÀ-ɏ'’., -]{1,40}|[㐀-鿿A-Za-z ·]{2,24}")


def known_prefix(text: str) -> str | None:
    """The longest well-known place that `text` begins with."""
    for length in range(min(_LONGEST, len(text)), 1, -1):
        if text[:length] in _KNOWN:
            return text[:length]
    return None


def is_known(text: str) -> bool:
    """Whether `text` is a well-known place, or carries the suffix of one (江阴市, 朝阳区)."""
    bare = _SPOT.sub("", text)
    if bare in _KNOWN or bare.removesuffix("市") in _KNOWN or bare.removesuffix("省") in _KNOWN:
        return True
    first = known_prefix(bare)
    if first is None:
        return False
    rest = bare[len(first) :].removeprefix("市").removeprefix("省").removeprefix("的")
    return rest in _KNOWN or bool(rest and _ADMINISTRATIVE.fullmatch(rest))


def is_town(text: str) -> bool:
    """Whether `text` is a well-known place or ends like the name of one (乌有镇)."""
    return is_known(text) or _ADMINISTRATIVE.fullmatch(text) is not None


def place(words: str, text: str) -> str | None:
    """The place that the words name, without what only says where in it; None for a mere spot.

    `text` is the folded form of `words`.
    """
    while text and text[-1] in "了的啊呀哦呢啦哈嘛~":
        text, words = text[:-1], words[:-1]
    if text.startswith(("在", "到", "于")):
        text, words = text[1:], words[1:]
    town = known_prefix(text)
    if town == text:
        return words
    if town:
        rest = text[len(town) :]
        if _SPOT.fullmatch(rest) or rest.startswith(("的", "市的")):
            return words[: len(town)]
    nearby = _NEARBY.search(text)
    if nearby:
        text, words = text[: nearby.start()], words[: nearby.start()]
    if len(text) < 2 or "的" in text or _NO_PLACE.search(text) or not _NAME.fullmatch(text):
        return None
    return words.strip() or None
