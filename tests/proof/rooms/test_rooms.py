"""The picture of the rooms is what the imports are, shows every room and every arrow, and can be read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from rmqlab.checkout import ROOT
from tests.proof.rooms.imports import ROOMS, below, essential, graph, package_of
from tests.proof.rooms.picture import BOX_WIDTH, COLUMNS, PICTURE, WIDTH, crossed, picture, places, rows, way
from tests.proof.site import rooms_page

SVG = "{http://www.w3.org/2000/svg}"


def test_the_committed_picture_is_what_the_imports_are():
    assert PICTURE.read_text(encoding="utf-8") == picture(), "`python -m tests.proof.rooms.picture` draws it anew"
    assert PICTURE.relative_to(ROOT).as_posix() in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_what_is_left_out_follows_from_what_is_drawn():
    arrows = graph()
    drawn = essential(arrows)
    assert {room: below(drawn, room) for room in arrows} == {room: below(arrows, room) for room in arrows}
    assert all(drawn[room] < arrows[room] for room in ("broker", "cli"))


def test_every_room_is_drawn_and_every_arrow_points_down():
    arrows, drawn = graph(), ET.fromstring(picture())
    assert {text.text for text in drawn.iter(f"{SVG}text")} == {*ROOMS, "rmqlab", "rmqlab_tools"}
    assert COLUMNS.keys() == ROOMS
    height = rows(arrows)
    assert all(height[room] > height[target] for room in arrows for target in arrows[room])
    tools, kernel = (
        [height[room] for room in ROOMS if package_of(room) == name] for name in ("rmqlab_tools", "rmqlab")
    )
    assert min(tools) > max(kernel)


def test_no_arrow_goes_through_a_box_and_no_two_boxes_meet():
    arrows = graph()
    centres = places(arrows)
    through = {
        (room, target): boxes
        for room, targets in essential(arrows).items()
        for target in targets
        if (boxes := crossed(way(room, target, centres), centres, {room, target}))
    }
    assert through == {}
    assert len(set(centres.values())) == len(centres)


def test_letters_fit_their_boxes_and_can_be_read_on_a_telephone():
    svg = picture()
    assert [float(size) * 343 / WIDTH for size in re.findall(r'font-size="(\d+)"', svg)] >= [13.0]
    assert max(map(len, ROOMS)) * 14 * 0.62 < BOX_WIDTH


def test_the_table_says_the_same_in_both_languages(tmp_path):
    for language in ("en", "zh"):
        rooms_page.write(tmp_path / language, language)
        text = (tmp_path / language).read_text(encoding="utf-8")
        table = {
            line.split("`")[1].partition("/")[2]: set(re.findall(r"`(\w+)`", line.rpartition(" | ")[2]))
            for line in re.findall(r"^\| `rmqlab.+$", text, re.MULTILINE)
        }
        assert table == graph()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_contrast(scheme):
    style = ET.fromstring(picture()).find(f"{SVG}style").text
    light, dark = style.split("@media")
    text = light if scheme == "light" else dark
    fills = r"\.?([\w-]+) \{ (?:fill: none; )?(?:fill|stroke): (#\w{6})"
    colour = dict(re.findall(fills, text))
    for ink, ground in (("text", "package"), ("room-name", "room"), ("arrow", "package")):
        assert contrast(colour[ink], colour[ground]) >= 4.5


def contrast(first, second):
    """As WCAG reckons it."""

    def light(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        r, g, b = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((light(first), light(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)
