"""Docstrings of this project as Markdown: paragraphs, `Raises:` as a list, examples and indented lines as code."""

from __future__ import annotations

import re
import textwrap

_BLOCKS = re.compile(r"\n\s*\n")


def markdown(doc: str) -> str:
    r"""A docstring, its first line without indent, as Markdown.

    >>> print(markdown("One rule.\n\nRaises:\n    BadInput: why."))
    One rule.
    <BLANKLINE>
    Raises:
    <BLANKLINE>
    - `BadInput`: why.
    """
    return "\n\n".join(_block(block) for block in _BLOCKS.split(doc.strip()) if block.strip())


def _block(block: str) -> str:
    first, _, rest = block.partition("\n")
    if block.lstrip().startswith(">>>"):
        return f"```pycon\n{textwrap.dedent(block)}\n```"
    if first.rstrip() in {"Raises:", "Example:"} and rest:
        inner = textwrap.dedent(rest)
        if inner.startswith(">>>"):
            return f"```pycon\n{inner}\n```"
        items = re.split(r"\n(?=\S)", inner)
        shown = [" ".join(item.split()) for item in items]
        return f"{first.rstrip()}\n\n" + "\n".join(re.sub(r"^(\w+): ", r"- `\1`: ", item) for item in shown)
    lines = block.split("\n")
    if all(line.startswith("    ") for line in lines):
        return f"```text\n{textwrap.dedent(block)}\n```"
    at = next((n for n, line in enumerate(lines) if line.lstrip().startswith(">>>")), None)
    if at:
        return _block("\n".join(lines[:at])) + "\n\n" + _block("\n".join(lines[at:]))
    return "\n".join(_plain(line) for line in lines)


def _plain(line: str) -> str:
    """A line in which Markdown sees code in backticks and nothing else."""
    line = line.replace("``", "`")
    parts = re.split(r"(`[^`]*`)", line)
    marks = "*_<>[]#$"
    return "".join(
        part if part.startswith("`") else "".join(f"\\{c}" if c in marks else c for c in part) for part in parts
    )
