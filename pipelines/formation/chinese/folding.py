"""One form for the rules to read: half-width signs, and simplified for the characters they use.

Every character maps to exactly one, so that a span found in the folded text is the same span of
the speaker's own words.
"""

from __future__ import annotations

_TRADITIONAL = (
    "對說會歡討厭愛寧願過敏養隻條輛臺買從開始結婚媽個幾號點週後請別們這裡裏書學讀業務職離辭應約記還車認識動員興無問聽據當歲"
    "歷間東時區語國際專趣種貓魚鳥鴿狗龍龜兒爾爺嬸親繼續將預訂單辦訪談體檢寫發給錢轉寄帳賬運進遠邊麼樣嗎為與幹實確現經貫歸"
    "銀師護藝術編輯導產設計劃資電腦網絡機場廠館園團隊協聯門閘關於隨處總規則則禮場廣華萬聖誕節陽陰熱涼壓氣飲飯麵雞鴨蝦蟹鵝"
    "豬羊膩鹹辣醬湯蘋蘭薑蔥鄉縣鎮島灣灘漢濱瀋陽遼寧瀘滬蘇雲貴陝甘肅賓館樓鄰許張陳趙黃吳劉孫楊錢鄭馮葉蕭鄧羅範賴鍾譚韓盧謝"
    "塊雙顆張棟處艘紅綠藍銀銅鐵靠窗戶長齡髮頭臉頸傷醫藥療詢詞課題練習樂歌聲畫攝影視劇戲雖卻沒樣決變換改換選擇準備該須著"
    "剛纔才義憶夢講錯誤滿賣丟掙燈懷價頓層舊簡繁譯英話歐亞獨夠讓慣擔滿稱呼答復複簽證護照誰邏輯報帶領導閨蜜嶽"
)
_SIMPLIFIED = (
    "对说会欢讨厌爱宁愿过敏养只条辆台买从开始结婚妈个几号点周后请别们这里里书学读业务职离辞应约记还车认识动员兴无问听据当岁"
    "历间东时区语国际专趣种猫鱼鸟鸽狗龙龟儿尔爷婶亲继续将预订单办访谈体检写发给钱转寄账账运进远边么样吗为与干实确现经贯归"
    "银师护艺术编辑导产设计划资电脑网络机场厂馆园团队协联门闸关于随处总规则则礼场广华万圣诞节阳阴热凉压气饮饭面鸡鸭虾蟹鹅"
    "猪羊腻咸辣酱汤苹兰姜葱乡县镇岛湾滩汉滨沈阳辽宁泸沪苏云贵陕甘肃宾馆楼邻许张陈赵黄吴刘孙杨钱郑冯叶萧邓罗范赖钟谭韩卢谢"
    "块双颗张栋处艘红绿蓝银铜铁靠窗户长龄发头脸颈伤医药疗询词课题练习乐歌声画摄影视剧戏虽却没样决变换改换选择准备该须着"
    "刚才才义忆梦讲错误满卖丢挣灯怀价顿层旧简繁译英话欧亚独够让惯担满称呼答复复签证护照谁逻辑报带领导闺蜜岳"
)
_WIDE = {c: c - 0xFEE0 for c in range(0xFF01, 0xFF5F) if chr(c - 0xFEE0).isalnum() or c == 0xFF0B}
_SIGNS = {"：": ":", "；": ";", "，": ",", "？": "?", "！": "!", "（": "(", "）": ")", "　": " "}
_TABLE = (
    {ord(a): b for a, b in zip(_TRADITIONAL, _SIMPLIFIED, strict=True)}
    | _WIDE
    | {ord(a): b for a, b in _SIGNS.items()}
    | {ord("您"): "你", ord("俺"): "我", ord("妳"): "你", ord("－"): "-", ord("～"): "~", 0xA0: " "}
)


def folded(text: str) -> str:
    """`text` character by character in the form the rules are written in; same length."""
    return text.translate(_TABLE)
