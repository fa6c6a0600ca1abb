"""How verbs print: widths, colours, tables; on terminals that are, and on pipes."""

from __future__ import annotations

import io
import itertools
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from rmqlab.checkout import ROOT
from rmqlab.language import columns
from rmqlab_tools.cli.printing import Printer, has_colours, width_of
from rmqlab_tools.show.tables import Table
from rmqlab_tools.styled import BAD, Line
from rmqlab_tools.visible import VisibleStream
from rmqlab_tools.wrapping import broken, wrapped

WORDS = st.text(st.sampled_from("ab  ，。订阅关系xyz-("), max_size=120)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_pipe_gets_lines_as_long_as_they_are():
    assert width_of(io.StringIO(), {}) is None
    assert width_of(io.StringIO(), {"COLUMNS": "60"}) == 60
    assert width_of(io.StringIO(), {"COLUMNS": "no"}) is None


def test_a_long_refusal_in_a_pipe_is_one_line():
    """In a process of its own, and nothing here (pytest loads readline) gives that one a width."""
    told = subprocess.run(
        [sys.executable, "-m", "rmqlab", "simulate", "no such file of scenarios " * 9],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 2
    assert len(told.stderr.splitlines()) == 1
    assert len(told.stderr) > 200


def test_colours_are_where_rich_has_them():
    """`NO_COLOR` before `FORCE_COLOR` before what the stream is; a dumb terminal has none."""
    choices = {"NO_COLOR": (None, "", "1"), "FORCE_COLOR": (None, "1"), "TERM": (None, "dumb", "xterm-256color")}
    for values in itertools.product(*choices.values()):
        environ = {name: value for name, value in zip(choices, values, strict=True) if value is not None}
        for stream in (io.StringIO(), Terminal()):
            console = Console(file=stream, _environ=environ)
            theirs = console.color_system is not None and not console.no_color
            if environ.get("FORCE_COLOR") or environ.get("TERM"):  # without a TERM rich takes a terminal for a good one
                assert has_colours(stream, environ) == theirs or environ.get("TERM") == "dumb", environ
    assert not has_colours(Terminal(), {})


@given(WORDS, st.integers(8, 40), st.integers(0, 4))
def test_broken_lines_fit_and_nothing_but_blanks_is_lost(text, width, indent):
    pieces = [text[slice(*place)] for place in broken(text, width, indent)]
    assert all(columns(piece) <= width - (indent if number else 0) for number, piece in enumerate(pieces))
    assert re.sub(r"\s", "", "".join(pieces)) == re.sub(r"\s", "", text)


def test_chinese_is_broken_between_characters_and_marks_cling():
    assert wrapped("每个消费者组，都一样。", 10) == ["每个消费者", "组，都一", "样。"]


@pytest.mark.parametrize("width", [30, 60])
def test_later_lines_stand_below_the_text(width):
    out = io.StringIO()
    Printer(out, width=width).say(
        "  12. a step that has more words than one line of a narrow terminal has room for, by far"
    )
    first, *others = out.getvalue().splitlines()
    assert first.startswith("  12. a step")
    assert others
    assert all(line.startswith("      ") and not line.startswith("       ") for line in others)


def test_styles_are_on_a_terminal_alone_and_survive_a_break():
    line = Line("a group is ", ("inconsistent and more", BAD), " x")
    plain, coloured = io.StringIO(), io.StringIO()
    Printer(plain).say(line)
    assert plain.getvalue() == "a group is inconsistent and more x\n"
    Printer(coloured, width=25, colours=True).say(line)
    told = coloured.getvalue()
    assert re.sub(r"\x1b\[[\d;]*m", "", told) == "a group is inconsistent\nand more x\n"
    assert told.count("\x1b[1;31m") == 2


@pytest.mark.parametrize("colours", [False, True])
def test_outside_text_cannot_act_nor_be_markup(colours):
    below = io.StringIO()
    out = Printer(VisibleStream(below), width=60, colours=colours)
    hostile = "[red]x[/red] \x1b[2J\u202e"
    out.say(hostile, Line("in ", (hostile, BAD)))
    out.table(Table(hostile, (hostile,), [(hostile,)], names=True))
    told = below.getvalue()
    assert re.sub(r"\x1b\[[\d;]*m", "", told).count("\x1b") == 0
    assert "\u202e" not in told
    assert re.sub(r"\x1b\[[\d;]*m", "", told).count(r"[red]x[/red] \x1b[2J\u202e") == 5


def test_a_table_fits_its_terminal():
    cells = [("MsgStr0", "dropped by the broker, which held another subscription"), ("订单", "已投递")]
    for width in (30, 50, 120):
        out = Terminal()
        Printer(out, width=width).table(Table("Messages", ("body", "fate"), cells))
        assert max(map(columns, out.getvalue().splitlines())) <= width
    pipe = io.StringIO()
    Printer(pipe).table(Table("Messages", ("body", "fate"), cells))
    assert pipe.getvalue() == Table("Messages", ("body", "fate"), cells).text() + "\n"
