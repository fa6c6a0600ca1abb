"""The page of what differs between versions, made from `RULES`: rule by rule, with class and method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _, spoken
from rmqlab.rules import DEFAULT_VERSION, RULES, Rules
from rmqlab_tools.show.rule_differences import DECIDES, method_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rmqlab.protocol.wire import Wire

VERSIONS_INTRODUCTION = {
    "en": """# What differs between versions

`rmqlab` has the rules of {versions}. Each is {first} with some fields replaced, in `rmqlab/rules.py`. This page is
made from that file, and so is `rmqlab rules --between {first} {last}`. Say `version="{last}"` (on the command line
`--version {last}`) to `Lab`, `simulate`, `explore`, `plan`, `lint`, `audit` or `serve`. `replay` reads the version from
the recording. What is not in the tables is the same in all of them: [the rules of {first}](rules.md).

What was proved: every answer of the recorded brokers of 5.3.3 and 5.5.0 is that of these rules
(`rmqlab replay data/golden/broker-5.5.0/base`), those to POP among them (`broker-5.5.0/pop`). Not here are lite
topics and priority topics, orderly POP, POP's buffer merge, batch acks and NOTIFICATION, its stores in RocksDB
and key-value files, the tiered store and the controller: [what differs in 5.x](five-x.md) says what is known of
them.

""",
    "zh": """# 各版本之间的差异

`rmqlab` 有 {versions} 这几个版本的规则。每个版本都是 {first} 替换若干字段，见 `rmqlab/rules.py`。本页由该文件生成，
`rmqlab rules --between {first} {last}` 也是。`Lab`、`simulate`、`explore`、`plan`、`lint`、`audit`、`serve`
都可以指定 `version="{last}"`（命令行用 `--version {last}`）；`replay` 从录制数据里读出版本。
表里没有的规则，各版本都一样：见 [{first} 的规则](rules.md)。

已验证：录制下来的 5.3.3 与 5.5.0 Broker 的每一个应答，都与这些规则给出的一致
（`rmqlab replay data/golden/broker-5.5.0/base`），对 POP 请求的应答也在其中（`broker-5.5.0/pop`）。
轻量 Topic、优先级 Topic、顺序 POP、POP 的 buffer merge、批量 ack、NOTIFICATION、RocksDB 与 KV 存储的 POP、
分层存储和 Controller 不在此列：已知的情况见 [5.x 有哪些不同](five-x.md)。

""",
}
HEADS = {
    "en": ("## What is decided otherwise", "## What is seen in frames and in the store"),
    "zh": ("## 判定不同的规则", "## 在帧和存储里能看到的差异"),
}


def write(target: Path, language: str) -> None:
    """Write the page in a language."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with spoken(language):
        target.write_text("".join(_parts(language)), encoding="utf-8")


def _parts(language: str) -> Iterator[str]:
    others = [version for version in RULES if version != DEFAULT_VERSION]
    yield VERSIONS_INTRODUCTION[language].format(versions=", ".join(RULES), first=DEFAULT_VERSION, last=others[-1])
    names = [name for name in DECIDES if not name.startswith("wire.")]
    for head, wire in zip(HEADS[language], (False, True), strict=True):
        headers = [_("rule"), _("what it decides"), *RULES, _("class and method")]
        yield f"{head}\n\n| {' | '.join(headers)} |\n"
        yield "|---|---|" + "---|" * len(RULES) + "---|\n"
        for rule in [rule_name for rule_name in DECIDES if rule_name not in names] if wire else names:
            yield _row(rule)
        yield "\n"


def _row(rule: str) -> str:
    name = rule.removeprefix("wire.")
    holders: list[Rules | Wire] = [
        rules_of_version.wire if rule != name else rules_of_version for rules_of_version in RULES.values()
    ]
    values = " | ".join(_(shown(getattr(holder, name))) for holder in holders)
    methods = ", ".join(f"`{method}`" for method in method_of(holders[-1], name).split(", "))
    return f"| `{rule}` | {_(DECIDES[rule])} | {values} | {methods} |\n"
