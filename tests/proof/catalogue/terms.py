"""The words of the Chinese texts: one name for one thing, and what a word-by-word translation would write.

The playgrounds, the lessons, the pages, README and the package use the same words, those of engineers in China. What an
article says is quoted as it stands.
"""

from __future__ import annotations

import re

TERMS = {
    r"(?<!业务)(?<!一个)标签(?!）)": "Tag",
    r"(?<![浅深]色)(?<!两种)主题(?!）)": "Topic",
    r"代理服务器": "Broker",
    r"名字服务(?!器)": "NameServer",
    r"实验室": "Lab",
    r"笔记本(?!电脑)": "Notebook",
    r"实验页|试验页": "实验台",
    r"(?:客户端|消费者)标识": "客户端 ID",
    r"消费组": "消费者组",
    r"返回码": "响应码",
    r"活的?集群|活的集群": "线上集群",
    r"检查单": "检查清单",
}
"""A pattern of a word that is not ours, and the one that is."""
HABITS = {
    r"忘掉|忘得": "移除",
    r"沉默": "没有心跳，或失联",
    r"不声不响|不作声": "静默，或不报错",
    r"没有谁|谁[也都](?!不是)": "没有成员，或没有消费者",
    r"归谁|归(?:它|他)?们?所有|归 \S+ 所有": "队列的归属，或分配给",
    r"(?:没有)?有?人要(?:它|的消息|这)|有人想要": "有成员订阅",
    r"要的是(?= ?`?[tT]ag)|要 (?=`?tag[AB])|要(?:两个)?不同的(?:标签|Tag)": "订阅",
    r"往[前后]走|往[前回]调|往[前回]重置": "越过，调大或调小：“往前”可以有两种读法",
    r"只要内核|内核自己": "核心",
    r"词条目录|gettext 目录|空的目录": "翻译文件",
    r"药方": "正确做法",
    r"小偷": "丢弃的环节",
    r"愿望": "订阅关系",
    r"只提问": "只发查询请求，不做任何修改",
    r"到任何人手里|没有任何东西(?:报告|会报告)": "没有任何消费者收到，没有告警",
    r"B 的更新": "B 的版本更新",
    r"顺序分发|队列分发": "分配",
    r"保不住命|没了(?:，|之后)": "被移除，断电",
    r"同样的字节|一个字节不差": "逐字节相同",
    r"略过": "跳过，或忽略",
    r"换了手|换手": "变更归属",
    r"想要 ?(?=`?tag|这条|它)": "订阅",
}
"""A pattern of an English habit, and what an engineer in China writes."""
_ALLOWED = re.compile(r"\[[^\[\]]*\]\([^)\s]*articles/README\.md[^)]*\)|`[^`]*`")


def foreign(text: str) -> list[str]:
    """What is not said as it is said here, each with the word that is.

    >>> foreign("没有谁订阅这个标签")
    ['says 标签, which is Tag here', 'says 没有谁, which is 没有成员，或没有消费者 here']
    """
    bare = _ALLOWED.sub(" ", text)
    return [
        f"says {match[0]}, which is {right} here"
        for pattern, right in (TERMS | HABITS).items()
        if (match := re.search(pattern, bare))
    ]
