"""The page of the verbs, made from the table of verbs and from the parsers of their arguments."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING
from unittest.mock import patch

from rmqlab_tools.cli import VERBS
from rmqlab_tools.cli.cli import STATUSES, parser_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VERBS_INTRODUCTION = {
    "en": """# Verbs

`./lab VERB` in a checkout, `rmqlab VERB` where the package is installed. This page is made from what
`rmqlab VERB --help` prints. Every verb takes `--json FILE`. With `-` for FILE, standard output
holds one JSON value and nothing else.

""",
    "zh": """# 命令

在源码树里写 `./lab VERB`，装好的包写 `rmqlab VERB`。本页由 `rmqlab VERB --help` 的英文帮助生成，命令行只说英文。
每个命令都接受 `--json FILE`；FILE 写 `-` 时，标准输出里只有一个 JSON 值。

""",
}


def write(target: Path, language: str) -> None:
    """Write the page; what the verbs print is English, so the Chinese page says so."""
    # the width of this terminal is not the page's
    with patch.dict(os.environ, COLUMNS="100"):
        text = VERBS_INTRODUCTION[language] + _table() + "".join(map(_verb, VERBS))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def _table() -> str:
    lines = ["| verb | does | needs |", "|---|---|---|"]
    for name, verb in VERBS.items():
        extras = ", ".join(f"`{extra}`" for extra in verb.extras) or "the core"
        where = f"a checkout, {extras}" if verb.checkout else extras
        lines.append(f"| [`{name}`](#verb-{name}) | {verb.help.replace('|', chr(92) + '|')} | {where} |")
    return "\n".join(lines) + "\n\n"


def _verb(name: str) -> str:
    verb, parser = VERBS[name], parser_of(name)
    # a parser keeps its arguments where it prints them from, and nowhere else
    rows = [row for action in parser._actions if action.dest not in {"help", "json"} for row in _row(parser, action)]  # noqa: SLF001
    statuses = "".join(f"- {number}: {text}\n" for number, text in sorted({**STATUSES, **verb.statuses}.items()))
    table = "| argument | meaning |\n|---|---|\n" + "".join(rows) + "\n" if rows else ""
    words = (parser.epilog or "").partition("exit status:")[0].strip()
    return (
        f"(verb-{name})=\n## {name}\n\n{verb.help[0].upper()}{verb.help[1:]}.\n\n{table}"
        + (f"```text\n{words}\n```\n\n" if words else "")
        + f"Exit status:\n\n{statuses}\n```console\n$ rmqlab {verb.example}\n```\n\n"
    )


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> Iterator[str]:
    if action.help is argparse.SUPPRESS:
        return
    formatter = parser._get_formatter()  # noqa: SLF001 - as argparse itself prints it
    shown = formatter._format_action_invocation(action)  # noqa: SLF001
    meaning = formatter._expand_help(action) if action.help else ""  # noqa: SLF001
    yield f"| `{_cell(shown)}` | {_cell(_escaped(meaning))} |\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _escaped(text: str) -> str:
    """Text in which Markdown sees no marks."""
    return "".join(f"\\{letter}" if letter in "*_<>[]`#$" else letter for letter in text)
