"""The page of the architecture: the wall, the picture of the rooms, and the same as a table, from the imports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT
from tests.proof.rooms.imports import PACKAGES, graph, package_of
from tests.proof.rooms.picture import rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOMS_INTRODUCTION = {
    "en": """# Two packages, and which room needs which

`rmqlab` is what the articles are about: rules, messages, protocol, store, broker, clients, virtual time, and `Lab`.
`rmqlab_tools` is its clients: search, pictures, Spark, real brokers, the doctor, the course, the verbs. Both come in
one wheel, and `import rmqlab` offers both.

![Both packages with their rooms. Every arrow points down, to a room that is imported.][rooms]{width=400px}

An arrow points at what a room imports. Arrows that follow from others are left out: `broker` imports `message` too,
since it needs `store`. `tests/test_wall.py` holds what the picture shows:

- Arrows point down only, in either package and between them.
- The kernel names its clients at one door, `rmqlab/plugins.py`, and nowhere else.
- Rules, store, broker, name server and clients read no clock, no socket and no random source. Time, transport and
  choices come in from outside, so the same code runs in virtual time and on sockets.
- The kernel needs one other package, `msgspec`.

To see the rooms at work, read [the eight messages, function by function](reading.md).

## The same as a table

The top room is the first row. This page is made from the imports and from the table of rooms in README.

| room | what lives there | imports |
|---|---|---|
""",
    "zh": """# 两个包，各模块之间的依赖

`rmqlab` 是三篇文章所讲的内容：规则、消息、协议、存储、Broker、客户端、虚拟时间和 `Lab`。`rmqlab_tools` 是它的使用者：
搜索、图表、Spark、真实 Broker、诊断、课程和命令。两者在同一个 wheel 里，`import rmqlab` 都能用到。

![两个包及其中的模块。每个箭头都向下，指向被导入的模块。下面的表格内容相同。][rooms]{width=400px}

箭头指向被导入的模块。能由其他箭头推出的箭头不画：`broker` 也导入 `message`，因为它依赖 `store`。
`tests/test_wall.py` 保证图中所示：

- 箭头只向下，包内如此，两个包之间也如此。
- 内核只在 `rmqlab/plugins.py` 这一处提到它的使用者。
- 规则、存储、Broker、NameServer 和客户端不读时钟、不用套接字、不用随机数。时间、传输和选择都从外部传入，
  因此同一份代码既能在虚拟时间里运行，也能在真实网络上运行。
- 内核只依赖一个第三方包：`msgspec`。

想看各模块如何协作，请读[八条消息，逐个函数](reading.md)。

## 同样内容的表格

最上面的模块在第一行。本页由导入语句和 README 的模块表生成。

| 模块 | 内容 | 导入 |
|---|---|---|
""",
}
PICTURE = "\n[rooms]: ../data/pictures/rooms.svg\n"
README = {"en": "README.md", "zh": "README.zh.md"}
_ROW = re.compile(r"^\| `(?:rmqlab|rmqlab_tools)/(?P<room>\w+)/` \| (?P<about>.+) \|$", re.MULTILINE)


def write(target: Path, language: str) -> None:
    """Write the page; raise `KeyError` for a room that README does not describe."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(ROOMS_INTRODUCTION[language] + "".join(_table(language)) + PICTURE, encoding="utf-8")


def _table(language: str) -> Iterator[str]:
    readme = (ROOT / README[language]).read_text(encoding="utf-8")
    about = {match["room"]: match["about"] for match in _ROW.finditer(readme)}
    arrows = graph()
    height = rows(arrows)

    def place(room: str) -> tuple[int, int, str]:
        return -PACKAGES.index(package_of(room)), -height[room], room

    for room in sorted(arrows, key=place):
        needs = ", ".join(f"`{target}`" for target in sorted(arrows[room], key=place)) or "–"
        yield f"| `{package_of(room)}/{room}` | {about[room]} | {needs} |\n"
