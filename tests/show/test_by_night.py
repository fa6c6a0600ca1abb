"""Pictures on a dark page: letters can be read there as by day, and no colour of a tag changes."""

from __future__ import annotations

import json
import re

import pytest

from rmqlab.checkout import ROOT
from rmqlab_tools.show.by_night import NIGHT, ground_by_night, is_grey, letters_by_night, letters_marked
from rmqlab_tools.show.palette import BLACK, OKABE_ITO, WHITE, contrast, ink

LESSONS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))


def pictures(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if svg := "".join(output.get("data", {}).get("image/svg+xml", "")):
                yield svg


@pytest.mark.parametrize("colour", OKABE_ITO)
def test_colours_are_the_same_by_night_and_letters_on_them_too(colour):
    assert ground_by_night(colour) == colour
    assert contrast(ink(colour), ground_by_night(colour)) >= 4.5


@pytest.mark.parametrize("colour", [*OKABE_ITO, WHITE, "#6E6E6E", "#F2F2F2"])
def test_letters_on_the_ground_can_be_read(colour):
    if colour != WHITE:  # white letters stand on a colour
        assert contrast(letters_by_night(colour), NIGHT[WHITE]) >= 4.5
    if is_grey(colour) and ink(colour) == BLACK:  # a grey that turned has light letters
        assert contrast(letters_by_night(BLACK), ground_by_night(colour)) >= 4.5


def test_letters_on_a_colour_are_marked_and_those_in_a_white_box_on_it_are_not():
    svg = (
        '<rect x="0" y="0" width="90" height="90" fill="#0072B2" stroke-width="2.13" /><text x="9" y="9" font-size="6">'
        '<rect x="5" y="20" width="40" height="9" fill="#FFFFFF" stroke-width="2" /><text x="9" y="26" font-size="6">'
        '<g transform="translate(0 90)"><text x="9" y="9" font-size="6"></g>'
        '<text x="9" y="9" font-size="6" fill="#FFFFFF">'
    )
    assert re.findall("<text( class=[^ ]+)?", letters_marked(svg)) == [' class="on-colour"', "", "", ""]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_marks_change_nothing_else(path):
    for svg in pictures(path):
        assert letters_marked(svg).replace(' class="on-colour"', "") == svg
