"""One colour a tag whatever else is shown; a subscription looks like the set of its tags."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rmqlab
from rmqlab.protocol.subscription_data import build_subscription_data
from rmqlab.run.fates import LOSING, Fate
from rmqlab_tools.show.palette import LOOKS, OKABE_ITO, PALE, contrast, ink
from rmqlab_tools.show.tag_colours import (
    EVERYTHING,
    NOTHING,
    TAG_COLOURS,
    css_paint,
    ink_on,
    paint,
    tag_colour,
)

TAGS = st.text(st.characters(exclude_categories=["Z", "C"], exclude_characters="|*"), min_size=1, max_size=8)
BLANKS = st.sampled_from(["", " ", "  "])


@st.composite
def two_spellings(draw):
    """Two texts of one set of tags: other orders, blanks, and tags written twice."""
    tags = draw(st.lists(TAGS, min_size=1, max_size=5, unique=True))
    spellings = []
    for _ in range(2):
        written = [*draw(st.permutations(tags)), *draw(st.lists(st.sampled_from(tags), max_size=2))]
        spellings.append("||".join(f"{draw(BLANKS)}{tag}{draw(BLANKS)}" for tag in written))
    return tags, *spellings


@given(two_spellings())
def test_equal_sets_look_equal(found):
    tags, first, second = found
    sets = [build_subscription_data("G", "T", text).tags_set for text in (first, second)]
    assert sets[0] == sets[1] == set(tags)
    assert paint(first) == paint(second)
    assert paint(first) == tuple(map(tag_colour, sorted(tags)))


@given(TAGS)
def test_other_tags_never_look_like_the_two_of_the_lessons(tag):
    if tag[1:] not in {"agA", "agB"}:
        assert tag_colour(tag) not in {tag_colour("tagA"), tag_colour("tagB")}
    assert tag_colour(tag) in TAG_COLOURS
    assert paint(tag) != EVERYTHING


@given(st.lists(TAGS, min_size=1, max_size=4))
def test_letters_can_be_read_on_every_paint(tags):
    ground = paint("||".join(tags))
    colour = ink_on(ground)
    if colour is not None:
        assert all(contrast(colour, stripe) >= 4.5 for stripe in ground)
    assert len(ground) > 1 or colour is not None


def test_the_tags_of_the_lessons_are_okabe_and_itos():
    series = [tag_colour(f"tag{letter}") for letter in "ABCDEFG"]
    assert series == list(TAG_COLOURS) == [tag_colour(f"Tag{letter}") for letter in "ABCDEFG"]
    assert len(set(series)) == len(series)
    assert set(series[:4]) <= set(OKABE_ITO)
    assert all(contrast(ink(colour), colour) >= 4.5 for colour in TAG_COLOURS)


def test_tags_do_not_look_like_what_happens_to_messages():
    loss = {LOOKS[fate].colour for fate in (Fate.DELIVERED, Fate.DROPPED_BY_BROKER_TAG, Fate.DROPPED_BY_CLIENT)}
    assert loss.isdisjoint({*TAG_COLOURS, *EVERYTHING})


@pytest.mark.parametrize(("text", "ground"), [("*", EVERYTHING), ("", EVERYTHING), (None, NOTHING), ("||", NOTHING)])
def test_everything_and_nothing_have_colours_of_their_own(text, ground):
    assert paint(text) == ground
    assert not {*EVERYTHING, *NOTHING} & set(TAG_COLOURS)


def test_a_page_gets_colours_as_css():
    assert css_paint(paint("tagA")) == tag_colour("tagA")
    assert css_paint(("#000000",) * 4).count("%") == 8


def drawn(asks: dict[str, str], tags: list[str]) -> rmqlab.Lab:
    lab = rmqlab.Lab(topics={"T": 4})
    for who, expression in asks.items():
        lab.consumer(who, group="G", subscribe={"T": expression})
        lab.run(seconds=30)
    lab.send("T", tags)
    lab.run(seconds=25)
    return lab


@pytest.mark.parametrize("tags", [["tagA", "tagB", "x"], ["x", "tagB", "tagA"]])
def test_a_tag_keeps_its_colour_in_a_grid(tags):
    svg = drawn({"A": "*", "B": "*"}, tags).grid().svg
    found = [svg.index(f' fill="{tag_colour(tag)}"') for tag in tags]
    assert found == sorted(found)


def test_two_members_with_one_set_are_the_same_in_every_picture():
    lab = drawn({"A": "tagA || tagB", "B": "tagB||tagA"}, ["tagA", "tagB"] * 2)
    stripes = "stripes-0072B2-E69F00"
    for picture in (lab.grid(), lab.timeline(), lab.swimlane()):
        assert set(re.findall(r"url\(#(stripes[^)]*)\)", picture.svg)) == {stripes}


def test_what_nobody_asked_for_is_not_red():
    lab = drawn({"A": "tagA"}, ["tagA", "tagB"] * 4)
    run = lab.finish().run
    unasked = [fate for fate in run.fates if not fate.asked]
    assert len(unasked) == 4
    assert all(fate.fate in LOSING for fate in unasked)
    for picture in (lab.grid(), lab.swimlane()):
        assert LOOKS[Fate.DROPPED_BY_BROKER_TAG].colour not in picture.svg
        assert "4 that nobody asked for" in picture.alt
    assert lab.grid().svg.count(f'fill="{PALE}"') >= 4
