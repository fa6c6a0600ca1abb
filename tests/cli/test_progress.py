"""The line of progress: where it is shown, what it says, and that nothing goes to standard output."""

from __future__ import annotations

import re
import sys

import pytest

from rmqlab_tools.cli import output as module
from rmqlab_tools.cli.output import Progress


@pytest.fixture
def no_clock(monkeypatch):
    """Only what the work itself reports is written."""
    monkeypatch.setattr(module, "EVERY_S", 3_600.0)


def test_nothing_is_written_where_standard_error_is_no_terminal(capsys):
    with Progress("loss", 6, unit="rows") as line:
        line.to(3)
        line.now("more")
    assert capsys.readouterr() == ("", "")


def test_what_is_done_what_is_left_and_a_bar(capsys, no_clock):
    with Progress("loss", 6, unit="rows", shown=True) as line:
        line.to(3, "1 failed")
        line.to(6)
    out, err = capsys.readouterr()
    assert out == ""
    begin, half, all_, end = err.split("\r")[1:]
    assert re.match(r"loss: 0 of 6 rows, \d+ s \[-{20}\]", begin)
    assert re.match(r"loss: 3 of 6 rows, \d+ s, about \d+ s left, 1 failed \[#{10}-{10}\]", half)
    assert re.match(r"loss: 6 of 6 rows, \d+ s \[#{20}\]", all_)
    assert end == f"{all_}\n"


def test_what_was_there_before_is_not_counted_as_fast_work(capsys, no_clock, monkeypatch):
    times = iter([0.0, 0.0, 0.0, 10.0, 10.0])
    monkeypatch.setattr(module, "monotonic", lambda: next(times))
    with Progress("loss", 100, unit="rows", shown=True) as line:
        line.to(91, kept=90)
    assert "91 of 100 rows, 10 s, about 90 s left" in capsys.readouterr().err


def test_without_a_total_there_is_no_bar(capsys, no_clock):
    with Progress("reading", shown=True) as line:
        line.now("counting")
    with Progress("exploring", unit="runs", shown=True) as line:
        line.to(200)
    told = capsys.readouterr().err
    assert "[" not in told.replace(module.WIPE, "")
    assert re.search(r"\rcounting: \d+ s", told)
    assert re.search(r"\rexploring: 200 runs, \d+ s", told)


def test_the_line_ends_after_an_interruption(capsys, no_clock):
    with pytest.raises(KeyboardInterrupt), Progress("loss", 6, shown=True):
        raise KeyboardInterrupt
    assert capsys.readouterr().err.endswith("\n")


def test_a_terminal_is_asked_for(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert Progress("loss").shown
