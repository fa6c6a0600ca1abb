"""The letters of the lessons' pictures, as saved: 18 pixels for what a room must read, 13 elsewhere; nothing is cut."""

from __future__ import annotations

import pytest

from rmqlab.checkout import ROOT
from tests.proof.text_sizes import COLUMN_PX, pictures, text_sizes

LESSONS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
LEAST, OF_A_ROOM = 13, 18
WIDEST = 1.02  # of the column: so little is shrunk that letters stay large
# Grid, slot, truth table, clock lanes, tree of outcomes: what is shown to a room, by how their titles begin.
FOR_A_ROOM = (
    "What became of each message", "The group's one subscription", "Left side: the row",
    "With the guard", "One value, three literals", "A's process is killed", "A's machine is gone", "A disappears",
    "Every order", "Cost with the switch",
)  # fmt: skip
EXCEPTIONS = 0.15  # long expressions in narrow boxes


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_letters_are_large_enough_with_the_list_of_files_open(lesson):
    shown = list(pictures(lesson))
    assert shown
    for picture in shown:
        assert picture.least >= LEAST, picture
        assert picture.wide <= COLUMN_PX * WIDEST, picture
        if picture.title.startswith(FOR_A_ROOM):
            assert picture.share(OF_A_ROOM) >= 1 - EXCEPTIONS, picture


def test_what_a_room_must_read_is_there():
    titles = [picture.title for lesson in LESSONS for picture in pictures(lesson)]
    assert all(any(title.startswith(beginning) for title in titles) for beginning in FOR_A_ROOM)


def test_parts_of_a_stacked_picture_are_measured_as_shown():
    head = '<svg xmlns="x" width="400" height="9" viewBox="0 0 400 9"><text font-size="14">a</text>'
    svg = f'{head}<g transform="translate(0 26) scale(0.5)"><text x="1" font-size="20">b</text></g></svg>'
    assert text_sizes(svg) == [10, 14]
    assert text_sizes(svg, column=200) == [5, 7]
