"""How long a lesson takes to read, from what stands in it: words, lines of code, pictures and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab_tools.course.notebooks import Notebook

WORDS_A_MINUTE: Final = 130
LINES_A_MINUTE: Final = 20
MINUTES_A_PICTURE: Final = 0.7
MINUTES_A_TABLE: Final = 0.3
LONGEST_READ: Final = 15
LONGEST_PLAY: Final = 15
APPENDIX: Final = "## Appendix"
"""With these words a part begins that a lesson does not need; it lasts to the next heading of that level."""
HEADER: Final = re.compile(r"^\| Minutes \| (?P<all>\d+) \(read (?P<read>\d+), play (?P<play>\d+)\)", re.MULTILINE)
"""What the header of a lesson says, in English."""
APPENDIX_MINUTES: Final = re.compile(r"^## Appendix.*\b(\d+) minutes?\b", re.MULTILINE)
"""An appendix says its own in its heading."""
_FENCED = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"\]\([^)]*\)|<[^>]*>")
_RULER = re.compile(r"^\|[-:| ]+\|$", re.MULTILINE)
_PRINTED_TABLE = re.compile(r"(?<!\|\n)^\+-[-+]*\+\n\|", re.MULTILINE)
_SVG, _HTML = "image/svg+xml", "text/html"


@dataclass(frozen=True, slots=True)
class Reading:
    """What is to be read in some cells."""

    cells: int
    words: int
    lines: int
    pictures: int
    tables: int

    @property
    def minutes(self) -> float:
        """The time that it takes.

        >>> Reading(cells=30, words=650, lines=100, pictures=4, tables=4).minutes
        14.0
        """
        shown = MINUTES_A_PICTURE * self.pictures + MINUTES_A_TABLE * self.tables
        return round(self.words / WORDS_A_MINUTE + self.lines / LINES_A_MINUTE + shown, 2)


def split(notebook: Notebook) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The cells of the lesson, and those of its appendices."""
    parts: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    in_appendix = False
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).lstrip()
        if cell["cell_type"] == "markdown" and source.startswith("## "):
            in_appendix = source.startswith(APPENDIX)
        parts[in_appendix].append(cell)
    return parts


def reading(cells: Sequence[dict[str, Any]]) -> Reading:
    r"""What is to be read in `cells`, of a notebook that was run.

    A table that says a picture's words once more is not counted, nor is the table of the header.

    >>> text = {"cell_type": "markdown", "source": "# 02 Tags\n\nSee [the glossary](glossary.md#tag)."}
    >>> code = {"cell_type": "code", "source": "x = 1\n\nx", "outputs": []}
    >>> reading([text, code])
    Reading(cells=2, words=5, lines=2, pictures=0, tables=0)
    """
    words = lines = pictures = tables = 0
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            fenced = "\n".join(_FENCED.findall(source))
            words += _words(_FENCED.sub("", source))
            lines += _lines(fenced)
            tables += 0 if source.startswith("# ") else len(_RULER.findall(source))
        elif cell["cell_type"] == "code":
            lines += _lines(source)
            drawn, tabled = _shown(cell["outputs"])
            pictures, tables = pictures + drawn, tables + tabled
    return Reading(len(cells), words, lines, pictures, tables)


def _words(text: str) -> int:
    return sum(any(letter.isalnum() for letter in word) for word in _TARGET.sub("] ", text).split())


def _lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def _shown(outputs: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """How many pictures and how many tables a cell shows."""
    pictures = tables = 0
    after_picture = False
    for output in outputs:
        kinds = output.get("data", {})
        if _SVG in kinds:
            pictures += 1
        elif "<table" in "".join(kinds.get(_HTML, "")):
            tables += not after_picture
        tables += len(_PRINTED_TABLE.findall("".join(output.get("text", ""))))
        after_picture = _SVG in kinds
    return pictures, tables
