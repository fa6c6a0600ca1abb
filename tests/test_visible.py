"""Text from outside, shown as what it is."""

from __future__ import annotations

import io
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab_tools.visible import VisibleStream, in_line, own_stream, visible, visible_streams

ACTS = [
    "\x1b[2J",
    "\r",
    "\b",
    "\x07",
    "\x7f",
    "\x9b31m",
    "\u202e",
    "\u2066",
    "\u200f",
    "\u061c",
    "\u2028",
    "\ufeff",
    "\ud800",
]


@pytest.mark.parametrize("text", ACTS)
def test_what_acts_or_hides_is_an_escape(text):
    assert visible(f"a{text}b") == f"a{ascii(text[0])[1:-1]}{text[1:]}b"


def test_what_is_only_read_stays():
    for text in ("Orders", "订单，Tag", "naïve", "a\tb\nc", "👩\u200d🔧", "├─ │ ✓"):
        assert visible(text) == text
    assert in_line("a\tb\nc") == "a\\tb\\nc"


@given(st.text(st.characters(codec=None)))
def test_no_control_and_no_mark_of_direction_is_left(text):
    shown = visible(text)
    acting = {char for char in shown if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}} - {"\n", "\t"}
    turning = {
        char
        for char in shown
        if unicodedata.bidirectional(char) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    }
    assert (acting, turning) == (set(), set())
    assert visible(shown) == shown


def test_what_an_encoding_lacks_is_an_escape():
    raw = io.BytesIO()
    stream = VisibleStream(io.TextIOWrapper(raw, encoding="ascii"))
    stream.write("订 \x1b")
    stream.flush()
    assert raw.getvalue() == b"\\u8ba2 \\x1b"


def test_whoever_writes_while_a_verb_runs_is_visible(capsys):
    before = sys.stdout
    with visible_streams():
        sys.stdout.write("\x1b[2J\n")
        sys.stderr.write("\u202e\n")
        own_stream(sys.stdout).write("\x1b[0m")
    assert sys.stdout is before
    assert capsys.readouterr() == ("\\x1b[2J\n\x1b[0m", "\\u202e\n")
