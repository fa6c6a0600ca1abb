"""The head of each lesson says how long it takes to read, by the formula, and it is a quarter of an hour at most."""

from __future__ import annotations

import pytest

from rmqlab.checkout import ROOT
from rmqlab_tools.course.minutes import APPENDIX_MINUTES, HEADER, LONGEST_PLAY, LONGEST_READ, Reading, reading, split
from rmqlab_tools.course.notebooks import read

LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ROUNDING = 1.0  # a picture more or less does not make a new header


def header_of(path):
    """What the head says: all, read and play, in minutes; for a person a line says what would be right."""
    text = read(path)["cells"][0]["source"]
    minutes = HEADER.search(text)
    assert minutes, f"{path.name}: its head has no line '| Minutes | 25 (read 15, play 10), then 30 for ...'"
    return {name: int(number) for name, number in minutes.groupdict().items()}


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_head_says_how_long_it_takes_to_read(path):
    lesson, appendix = map(reading, split(read(path)))
    said = header_of(path)
    assert said["all"] == said["read"] + said["play"]
    assert said["play"] <= LONGEST_PLAY
    assert lesson.minutes <= LONGEST_READ + ROUNDING / 2, f"{lesson}: move a part to an appendix"
    assert abs(said["read"] - lesson.minutes) <= ROUNDING, f"the head would be right with 'read {lesson.minutes:.0f}'"
    stated = [int(number) for cell in split(read(path))[1] for number in APPENDIX_MINUTES.findall(cell["source"])]
    assert abs(sum(stated) - appendix.minutes) <= ROUNDING, f"the appendix takes {appendix.minutes:.0f} minutes"


def test_each_part_takes_its_time():
    text = {"cell_type": "markdown", "source": "## Run\n\n" + "word " * 129}
    picture = {"data": {"image/svg+xml": "<svg/>", "text/plain": "A picture"}}
    table = {"data": {"text/html": "<table></table>"}}
    printed = {"text": "+---+\n| a |\n+---+\n| 1 |\n+---+\n"}
    quiet = {"data": {"text/html": "<p>no table</p>"}}
    code = {"cell_type": "code", "source": "a = 1\n\n" * 20, "outputs": [picture, table, table, printed, quiet]}
    assert reading([text, code]) == Reading(cells=2, words=130, lines=20, pictures=1, tables=2)
    assert reading([text, code]).minutes == 3.3


def test_an_appendix_is_counted_apart():
    cells = [{"cell_type": "markdown", "source": f"## {title}"} for title in ("Run", "Appendix: more", "Quiz")]
    lesson, appendix = split({"cells": [cells[0], cells[1], {"cell_type": "code", "source": "1"}, cells[2]]})
    assert [cell["source"] for cell in lesson] == ["## Run", "## Quiz"]
    assert [cell["source"] for cell in appendix] == ["## Appendix: more", "1"]
