"""How verbs print for people: as wide as the terminal, in colours where they are wanted, and nothing that acts.

`printer(args)` is where a verb's text goes; `warn` says what stands beside it. A pipe gets plain lines, as long as they
are. `rich` draws tables and colours, and is loaded when a terminal shall show them, so that a start costs nothing.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, TextIO

from rmqlab.errors import BadInput
from rmqlab.language import ENGLISH, columns, language, translate
from rmqlab_tools.program import program
from rmqlab_tools.styled import BAD, Line, parts_of
from rmqlab_tools.visible import in_line, own_stream, visible
from rmqlab_tools.wrapping import broken

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from rich.console import Console
    from rich.table import Table as Drawn

    from rmqlab_tools.show.tables import Table
    from rmqlab_tools.styled import Part

NARROWEST: Final = 20  # columns; a terminal that says less is not believed
USUAL_COLUMNS: Final = 80  # columns of a terminal that does not say
DEEPEST_INDENT: Final = 28  # columns that the later lines of a broken one are indented at most
DUMB: Final = ("", "dumb", "unknown")
# Where the later lines of a broken one begin: behind its indent, its mark or number, or its name and two blanks.
_HANGING: Final = re.compile(r"\s*(?:[-*•✓✗] |\d+[.)]? +|\S.{0,20}?(?:  +))?")


def width_of(stream: TextIO, environ: Mapping[str, str] = os.environ) -> int | None:
    """The columns there are: `COLUMNS`, else the terminal's; None for a pipe, whose lines are never broken."""
    setting = environ.get("COLUMNS", "")
    if setting.isdecimal() and int(setting) >= NARROWEST:
        return int(setting)
    if not stream.isatty():
        return None
    try:
        return max(NARROWEST, os.get_terminal_size(stream.fileno()).columns or USUAL_COLUMNS)
    except (OSError, ValueError):
        return USUAL_COLUMNS


def has_colours(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether colours are wanted there: not with `NO_COLOR`, always with `FORCE_COLOR`, else on a terminal.

    A dumb terminal has none. Source: no-color.org, force-color.org, and what `rich` does with both.
    """
    if environ.get("NO_COLOR") or find_spec("rich") is None:
        return False
    if environ.get("FORCE_COLOR"):
        return environ["FORCE_COLOR"] != "0"
    return stream.isatty() and environ.get("TERM", "") not in DUMB


class Printer:
    """Where a verb's text for people goes.

    Each line is broken at `width` columns (None: never), and the parts of a `Line` have their styles, if `colours`.
    """

    def __init__(
        self, stream: TextIO, *, width: int | None = None, colours: bool = False, translated: bool = True
    ) -> None:
        self.stream, self.width, self.colours, self._translated = stream, width, colours, translated

    @classmethod
    def on(cls, stream: TextIO, *, translated: bool = True) -> Printer:
        """One for this stream, as the environment wants it; not `translated`: lines are translated here."""
        return cls(
            stream, width=width_of(stream), colours=has_colours(stream), translated=translated or language() == ENGLISH
        )

    def say(self, *lines: str) -> None:
        """Print lines; one with line feeds in it is several."""
        for line in lines:
            for part in _split(line):
                self._write(part if self._translated else translate(part))
        self.stream.flush()

    def table(self, table: Table) -> None:
        """Print a table: on a terminal as wide as it is, with its marked rows in colour; on a pipe plain columns."""
        if self.width is None or find_spec("rich") is None:
            self.say(table.text())
            return
        self.console().print(_drawn(table))

    def console(self, width: int | None = None) -> Console:
        """`rich`'s console on this stream, for what is made of `visible` texts; `width` is that of a pipe.

        Markup is never read.
        """
        from rich.console import Console

        return Console(
            file=own_stream(self.stream), width=self.width or width, force_terminal=self.stream.isatty(),
            color_system="standard" if self.colours else None, markup=False, highlight=False, emoji=False,
        )  # fmt: skip

    def _write(self, line: str) -> None:
        parts = [(visible(text), style) for text, style in parts_of(line)]
        text = "".join(text for text, _ in parts)
        hanging = _indent(text)
        for number, (begin, end) in enumerate(broken(text, self.width, hanging)):
            indent = " " * (hanging if number else 0)
            if not self.colours:
                self.stream.write(f"{indent}{text[begin:end]}\n")
                continue
            # what is styled was made visible above: the escapes are ours
            own_stream(self.stream).write(f"{indent}{_coloured(parts, begin, end)}\n")


def printer(args: Namespace, *, translated: bool = False) -> Printer:
    """The printer of a verb: on standard output, or on standard error when standard output carries the JSON.

    What it prints is translated into the reader's language, line by line, unless it is `translated` in it already.
    """
    return Printer.on(sys.stderr if args.json == "-" else sys.stdout, translated=translated)


def warn(verb: str, text: str) -> None:
    """Say something beside the result, on standard error, in the verb's name."""
    Printer.on(sys.stderr).say(f"{program()} {verb}: {_in_words(text)}")


def _in_words(text: str) -> str:
    try:
        return translate(text)
    except BadInput:  # the language is what is wrong
        return text


def _split(line: str) -> list[str]:
    """The lines of a text; the parts of a `Line` keep their styles."""
    if not isinstance(line, Line):
        return str(line).split("\n")
    rows: list[list[Part]] = [[]]
    for text, style in line.parts:
        first, *others = text.split("\n")
        rows[-1].append((first, style))
        rows += [[(other, style)] for other in others]
    return [Line(*row) for row in rows]


def _indent(text: str) -> int:
    hanging = _HANGING.match(text)
    return min(columns(hanging[0]), DEEPEST_INDENT) if hanging else 0


def _coloured(parts: list[Part], begin: int, end: int) -> str:
    """A stretch of a line's text, each part in its style."""
    from rich.style import Style

    coloured, at = "", 0
    for text, style in parts:
        shown = text[max(0, begin - at) : max(0, end - at)]
        coloured += Style.parse(style).render(shown) if style and shown else shown
        at += len(text)
    return coloured


def _drawn(table: Table) -> Drawn:
    """A table as `rich` draws it; each cell is visible text."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(title=Text(in_line(table.title())), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    headers, *rows = table.cells()
    for header in headers:
        drawn.add_column(Text(in_line(header)), overflow="fold")
    for number, row in enumerate(rows):
        drawn.add_row(*(Text(in_line(cell)) for cell in row), style=BAD if number in table.marked else "")
    return drawn
