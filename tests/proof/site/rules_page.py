"""The page of the rules, made from `rmqlab/rules.py`: what each says, where it comes from, which rows, its source."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import TYPE_CHECKING, Any

from rmqlab import rules
from rmqlab.checkout import ROOT
from rmqlab.rule_table import entry_of
from rmqlab_tools.show.rule_differences import shown
from tests.proof.rows import read_rows, select
from tests.proof.site.docstrings import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES_INTRODUCTION = {
    "en": """# The rules of 4.8.0

Every rule that the articles are about is a small function or a constant in `rmqlab/rules.py`. Broker, store and clients
call it there. This page is made from that file. Each rule names the Java method that does the same in RocketMQ 4.8.0,
and the rows of the checklist that are about it. You can
[replace a rule](../tutorials/own-rule.md) and see what changes. [What differs between versions](versions.md) has those
that 5.x replaces.

""",
    "zh": """# 4.8.0 的规则

三篇文章讲的每条规则，都是 `rmqlab/rules.py` 里的一个小函数或常量，Broker、存储和客户端都从那里调用。本页由该文件生成，
说明取自源代码的英文文档字符串。每条规则写明 RocketMQ 4.8.0 里做同样事情的 Java 方法，以及清单里的相关条目。
你可以[替换一条规则](../tutorials/own-rule.md)，看看什么会变。5.x 替换了哪些规则，见[各版本之间的差异](versions.md)。

""",
}
SECTION = re.compile(r"^# (.+)\.$", re.MULTILINE)
POP = "POP, which 5.x has besides"
ORIGIN = re.compile(
    r"(?P<version>4\.8\.0|5\.3\.3) (?P<java>`[^`]+`(?:[^;`]*`[^`]+`)*[^;`]*)"
    r"(?:; (?P<rows>[SFH]-[\d.,\sSFH-]+?))?\.(?=\s|$)"
)
ROW = re.compile(r", (?P<row>[SFH]-\d+)$")


def write(target: Path, language: str) -> None:
    """Write the page: the rules are told in English, as their docstrings are, and the Chinese page says so."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(RULES_INTRODUCTION[language] + "".join(_parts()), encoding="utf-8")


def _parts() -> Iterator[str]:
    rows = read_rows(ROOT / "data" / "mission" / "rows.tsv")
    known = rules.DEFAULT_RULES
    values = {field.name: getattr(known, field.name) for field in dataclasses.fields(known)[1:]}
    yield _constants({name: value for name, value in values.items() if not callable(value)}, rows)
    text = inspect.getsource(rules)
    heads = [(text[: match.start()].count("\n") + 1, match[1]) for match in SECTION.finditer(text)]
    section = ""
    functions = sorted((rule for rule in values.values() if callable(rule)), key=_place)
    for rule in functions:
        here = [name for line, name in heads if line < _line(rule)][-1] if _is_old(rule) else POP
        if here != section:
            section = here
            yield f"## {section}\n\n"
        yield _function(rule, rows)


def _place(rule: Any) -> tuple[bool, int]:
    return not _is_old(rule), _line(rule)


def _is_old(rule: Any) -> bool:
    return bool(rule.__module__ == rules.__name__)


def _line(rule: Any) -> int:
    return int(rule.__code__.co_firstlineno)


def _constants(values: dict[str, Any], rows: dict[str, str]) -> str:
    lines = ["## Periods, times and other constants\n", "| rule | value | in 4.8.0 | row |", "|---|---|---|---|"]
    for name, value in values.items():
        entry = entry_of(rules.Rules, name)
        if not entry:
            raise ValueError(f"rules.py: the docstring of Rules does not say where {name} comes from")
        match = ROW.search(entry)
        row = "" if match is None else f"{match['row']}: {rows[match['row']]}"
        lines.append(f"| [`{name}`]{{#rule-{name}}} | {_value(name, value)} | {ROW.sub('', entry)} | {row} |")
    return "\n".join(lines) + "\n\n"


def _value(name: str, value: Any) -> str:
    return f"{value} ms" if name.endswith("_ms") else shown(value)


def _function(rule: Any, rows: dict[str, str]) -> str:
    name = rule.__name__
    doc = inspect.getdoc(rule) or ""
    match = ORIGIN.search(doc)
    if match is None:
        raise ValueError(f"rules.py: the docstring of {name} does not say where in RocketMQ it comes from")
    about = markdown(doc.replace(match[0], ""))
    shown = "".join(f"- **{row}** {rows[row]}\n" for row in _named(match["rows"] or "", rows))
    source = rules.DEFAULT_RULES.source(name)
    java = " ".join(match["java"].split())
    return (
        f"(rule-{name})=\n### `{name}`\n\n{about}\n\nIn {match['version']}: {java}\n\n{shown}\n"
        f"<details><summary>Source</summary>\n\n```python\n{source}\n```\n\n</details>\n\n"
    )


def _named(text: str, rows: dict[str, str]) -> list[str]:
    return select(rows, ",".join(part.strip() for part in text.split(",") if part.strip())) if text else []
