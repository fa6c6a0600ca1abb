"""Lessons in another language: the same code cells; texts, and what the cells showed, by the catalogues.

Nothing is run: every text of an output was made by an entry or a template of a catalogue, or is a code word.
"""

from __future__ import annotations

import copy
import html
import re
from functools import cache
from typing import TYPE_CHECKING

from rmqlab.checkout import lessons
from rmqlab.lab import records
from rmqlab.lab.fates import Fate
from rmqlab.lab.records import columns_of
from rmqlab.language import ENGLISH, read_catalogue, words_of

if TYPE_CHECKING:
    from rmqlab.lessons.notebooks import Notebook

# What marks up: an element's text is between two of these. Lists of code and styles stay as they are.
_NODE = re.compile(r"(?P<tag><[^<>]*>)(?P<text>[^<>]*)")
_HEADERS = re.compile(r"<thead>.*?</thead>", re.DOTALL)
_HEADER = re.compile(r"<th[^>]*>([^<]*)</th>")
_FATES = {fate.value for fate in Fate}
_NAMES = {columns_of(one) for one in vars(records).values() if isinstance(one, type) and hasattr(one, "_fields")}


def translated(lesson: Notebook, name: str, language: str) -> Notebook:
    """A copy of a lesson, or of its tasks, in ``language``: its text cells and what its cells showed.

    ``name`` is the lesson's, such as "01_eight_messages", for its tasks and their solutions too. Code cells, ids and
    tags are the same; a text without an entry stays English, and `./lab catalogue --check` names it.

    >>> from rmqlab.lessons.notebooks import read
    >>> lesson = read(lessons() / "01_eight_messages.ipynb")
    >>> translated(lesson, "01_eight_messages", "en") == lesson
    True
    """
    told = copy.deepcopy(lesson)
    if language == ENGLISH:
        return told
    cells = cells_of(name, language)
    for cell in told["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = cells.get("".join(cell["source"]), cell["source"])
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = lines("".join(output["text"]), language)
            for kind, shown in output.get("data", {}).items():
                text = "".join(shown) if isinstance(shown, list) else shown
                if kind in {"text/html", "image/svg+xml"}:
                    output["data"][kind] = marked_up(text, language)
                elif kind == "text/plain":
                    output["data"][kind] = lines(text, language)
    return told


@cache
def cells_of(name: str, language: str) -> dict[str, str]:
    """The text cells of a lesson and its tasks: English to ``language``."""
    return read_catalogue(lessons() / "locale" / language / f"{name}.po")


def lines(text: str, language: str) -> str:
    """Plain text, line by line; a text in quotes is what a cell's last line gave."""
    words = words_of(language)
    quoted = re.fullmatch(r"(['\"])(.*)\1", text)
    if quoted:
        return f"{quoted[1]}{words.of(quoted[2])}{quoted[1]}"
    return "\n".join(line if line.startswith(("def ", "    ", "@")) else words.of(line) for line in text.split("\n"))


def marked_up(text: str, language: str) -> str:
    """HTML or SVG with the texts of its elements translated; names of columns and fates stay in tables."""
    names = {header for head in _HEADERS.findall(text) for header in _names(head, frame='class="dataframe"' in text)}
    words = words_of(language)

    def told(node: re.Match[str]) -> str:
        tag, said = node["tag"], html.unescape(node["text"])
        is_cell = tag.startswith(("<td", "<th"))
        if tag.startswith(("<style", "<code")) or (is_cell and (said in _FATES or said in names)):
            return node[0]
        other = words.of(said)
        return node[0] if other == said else tag + html.escape(other, quote=False)

    return _NODE.sub(told, text)


def _names(head: str, *, frame: bool) -> list[str]:
    """The headers of a table that are names, as code uses them: of a frame's columns, of the fields of records."""
    headers = _HEADER.findall(head)
    if tuple(headers) in _NAMES:
        return headers
    return [one for one in headers if frame and one.isidentifier()]
