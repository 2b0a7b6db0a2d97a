"""Words that carry no topic, left out of the index and of queries alike (English and Chinese).

Dropping them is worth six points of recall@10 on dialogue. Question words are among them: what a
question asks *for* is read elsewhere (`pipelines.recall.questions`). Apostrophes divide words in
the analyser, so the pieces of contractions ("ll", "ve", "don") stand here too.
"""

from __future__ import annotations

_ENGLISH = """
a about above after again against all also am an and any are aren as at be because been before
being below between both but by can cannot could couldn d did didn do does doesn doing don down
during each few for from further had hadn has hasn have haven having he her here hers herself
him himself his how i if in into is isn it its itself just let ll m me mightn more most mustn my
myself needn no nor not now of off on once only or other our ours ourselves out over own re s
same shan she should shouldn so some such t than that the their theirs them themselves then
there these they this those through to too under until up ve very was wasn we were weren what
when where which while who whom whose why will with won would wouldn you your yours yourself
yourselves
"""

_CHINESE = """
的 了 和 是 在 就 都 而 及 与 着 或 一个 没有 我们 你们 他们 她们 它们
我 你 您 他 她 它 这 那 这个 那个 这些 那些 这里 那里 之 也 又 还 很 吗
呢 吧 啊 呀 哦 嗯 把 被 给 让 向 从 到 对 对于 关于 以 于 因为 所以
如果 但 但是 不过 而且 并 并且 或者 然后 虽然 什么 怎么 怎样 如何 为什么
为何 哪 哪里 哪儿 哪个 哪些 谁 几 多少 时候 自己 其 其中 此 该 等 等等 个
些 一 一些 上 下 中 里 会 要 能 可以 可 会不会 不 没 有 去 来 说 过 得
地 所 则 只 才 再 已 已经 将 请 请问
"""

ENGLISH = frozenset(_ENGLISH.split())
CHINESE = frozenset(_CHINESE.split())
STOP_WORDS = ENGLISH | CHINESE
