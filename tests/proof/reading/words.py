"""The words around the source, in both languages."""

from __future__ import annotations

READING_INTRODUCTION = {
    "en": """# The eight messages, function by function

This page is made by running the eight messages: seven lines of Python, a cluster in virtual time. Each function stands
where it first runs, as it is in the source: {functions} functions, {lines} lines, {hops} hops. A hop is a stay at one
place: a client's thread, the network, the broker, the store. Open a hop to read its functions. Beside each function
stand its class and method in RocketMQ 4.8.0 and its row of the checklist, if its docstring names them, and what it was
called with and returned at that moment. Times are seconds since the run began.

""",
    "zh": """# 八条消息，逐个函数

本页由实际运行八条消息生成：七行 Python，一个虚拟时间里的集群。每个函数出现在它第一次执行的位置，内容就是源代码：
共 {functions} 个函数、{lines} 行、{hops} 站。一站是在一处的停留：某个客户端的线程、网络、Broker 或存储。
展开一站即可阅读其中的函数。函数旁边写明它在 RocketMQ 4.8.0 里对应的类和方法、清单里的条目（文档字符串写了才有），
以及当时的参数和返回值。时间是从运行开始算起的秒数。源代码和文档字符串保持英文。

""",
}
# What each line of the story does.
ACTS = {
    "en": (
        "Name server and broker start, the producer creates the topic.",
        "A joins the group: its heartbeat brings its subscription to the broker.",
        "A gets all four queues, stamps its subscription anew and pulls. The pulls find nothing and are held.",
        "B joins the same group with another tag. The broker keeps one for the group: the newer version wins.",
        "Both rebalance and stamp their subscriptions anew. The broker keeps the newest.",
        "Eight messages are stored, dispatched, and filtered twice.",
        "The committed offsets pass what was dropped.",
    ),
    "zh": (
        "NameServer 和 Broker 启动，生产者创建 Topic。",
        "A 加入消费者组：它的心跳把订阅关系带给 Broker。",
        "A 分到全部四个队列，更新订阅关系的版本，然后拉取。没有消息，拉取请求被挂起。",
        "B 以另一个 Tag 加入同一个组。Broker 对一个组只保存一份订阅关系，版本新的覆盖旧的。",
        "两个客户端各自重平衡，更新订阅关系的版本。Broker 保留最新的一份。",
        "八条消息写入存储、分发，然后过滤两次。",
        "提交的位点越过了被丢弃的消息。",
    ),
}
WORDS = {
    "en": {
        "size": "{functions} functions, {lines} lines",
        "one": "1 function, {lines} lines",
        "again": "No function runs here for the first time.",
        "row": "Row",
        "rows": "Rows",
        "around": "Rows of its class or module:",
        "with": "With",
        "gave": "gave",
        "holds": "The broker holds for the group: ",
        "none": "no subscription yet",
        "version": "version",
        "ends": "ends of the queues",
        "committed": "committed",
        "changed": ". Now the broker holds: ",
        "open": "Open all hops",
        "close": "Close all hops",
    },
    "zh": {
        "size": "{functions} 个函数，{lines} 行",
        "one": "1 个函数，{lines} 行",
        "again": "这里没有首次执行的函数。",
        "row": "条目",
        "rows": "条目",
        "around": "所在类或模块的条目：",
        "with": "参数",
        "gave": "返回",
        "holds": "Broker 为该组保存的订阅关系：",
        "none": "还没有订阅关系",
        "version": "版本",
        "ends": "各队列末尾",
        "committed": "已提交位点",
        "changed": "。此时 Broker 保存的订阅关系：",
        "open": "展开全部",
        "close": "全部折叠",
    },
}
