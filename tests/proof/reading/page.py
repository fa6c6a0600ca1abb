"""The page of the reading edition, and its outline: what runs, in which order, without the source."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT
from tests.proof.reading.words import ACTS, READING_INTRODUCTION, WORDS
from tests.proof.rows import read_rows, select

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.proof.reading.known import Held
    from tests.proof.reading.walk import Act, Entry, Stay

OUTLINE = ROOT / "tests" / "proof" / "reading" / "outline.txt"


def outline(acts: Sequence[Act]) -> str:
    """What runs: each line of the story, its hops with their times left out, the functions of each."""
    lines = []
    for act in acts:
        lines.append(act.code)
        for stay in act.stays:
            lines.append(f"  {stay.hop.title('en')}" + ("" if stay.entries else f": {_held(stay.held, 'en')}"))
            lines += (f"    {entry.function.path} {entry.function.name}" for entry in stay.entries)
    return "\n".join(lines) + "\n"


def page(acts: Sequence[Act], language: str) -> str:
    """The page as Markdown."""
    entries = [entry for act in acts for stay in act.stays for entry in stay.entries]
    hops = sum(bool(stay.entries) for act in acts for stay in act.stays)
    text = READING_INTRODUCTION[language].format(functions=len(entries), lines=sum(map(_lines, entries)), hops=hops)
    return text + _buttons(language) + "".join(_acts(acts, language))


def _buttons(language: str) -> str:
    words = WORDS[language]
    return (
        f'<p class="reading-fold" hidden><button type="button" data-open="1">{words["open"]}</button> '
        f'<button type="button">{words["close"]}</button></p>\n<script src="../_static/reading.js" defer></script>\n\n'
    )


def _acts(acts: Sequence[Act], language: str) -> Iterator[str]:
    number = 0
    rows = read_rows(ROOT / "data" / "mission" / "rows.tsv")
    for place, (act, about) in enumerate(zip(acts, ACTS[language], strict=True), 1):
        yield f"## {place}. `{act.code}`\n\n{about}\n\n"
        if not any(stay.entries for stay in act.stays):
            yield f"{WORDS[language]['again']}\n\n"
        for stay in act.stays:
            number += bool(stay.entries)
            yield _hop(stay, number, language, rows) if stay.entries else _change(stay, language)


def _change(stay: Stay, language: str) -> str:
    return (
        f'<p class="reading-change"><span>{_seconds(stay)}</span> {escape(stay.hop.title(language))}'
        f"{WORDS[language]['changed']}{_shown_held(stay.held, language)}</p>\n\n"
    )


def _hop(stay: Stay, number: int, language: str, rows: dict[str, str]) -> str:
    count = len(stay.entries)
    size = WORDS[language]["one" if count == 1 else "size"].format(
        functions=count, lines=sum(map(_lines, stay.entries))
    )
    functions = "".join(_function(entry, language, rows) for entry in stay.entries)
    text = f"{WORDS[language]['holds']}{_shown_held(stay.held, language)}"
    return (
        f'<details class="reading-hop" id="hop-{number}"><summary><b>{number}</b> {escape(stay.hop.title(language))} '
        f"<small>{_seconds(stay)} · {size}</small></summary>\n\n"
        f'<p class="reading-held">{text}</p>\n\n{functions}</details>\n\n'
    )


def _function(entry: Entry, language: str, rows: dict[str, str]) -> str:
    function, words = entry.function, WORDS[language]
    java = " · ".join(f"<code>{escape(name)}</code>" for name in function.java)
    shown = [f"<code>{escape(function.path)}</code>" + (f" · Java {java}" if java else "")]
    for part in function.rows:
        shown += [f"{words['row']} {row}: {escape(rows[row])}" for row in select(rows, part) if ".." not in part]
        shown += [f"{words['rows']} {part}"] if ".." in part else []
    if not function.rows and function.rows_around:
        shown.append(f"{words['around']} {', '.join(function.rows_around)}")
    if entry.arguments or entry.outcome:
        values = [
            f"{words[name]} <code>{escape(text)}</code>"
            for name, text in (("with", entry.arguments), ("gave", entry.outcome))
            if text
        ]
        shown.append(", ".join(values))
    about = "<br>".join(shown)
    return (
        f'<p class="reading-function"><b>{escape(function.name)}</b><br>{about}</p>\n\n'
        f"```python\n{function.source}\n```\n\n"
    )


def _shown_held(known: Held, language: str) -> str:
    return f"<code>{escape(text)}</code>" if (text := _held(known, language)) else WORDS[language]["none"]


def _held(known: Held, language: str) -> str:
    words = WORDS[language]
    parts = [f"{known.subscription}, {words['version']} {known.version}"] if known.version else []
    parts += [f"{words['ends']} {list(known.ends)}"] if known.ends else []
    parts += [f"{words['committed']} {list(known.committed)}"] if known.committed else []
    return "; ".join(parts)


def _seconds(stay: Stay) -> str:
    return f"{stay.at_ms / 1000:.3f} s"


def _lines(entry: Entry) -> int:
    return entry.function.last - entry.function.first + 1
