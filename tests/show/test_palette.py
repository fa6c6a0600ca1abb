"""Colours that everybody can tell apart, and text that can be read on them."""

from __future__ import annotations

import pytest

from rmqlab.run.fates import Fate
from rmqlab_tools.course.articles.eight_messages import EightMessages
from rmqlab_tools.show import palette
from rmqlab_tools.show.palette import LOOKS, OKABE_ITO, contrast, ink, luminance

READABLE = 4.5


def test_contrast_is_the_one_of_the_web():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.478, abs=0.001)
    assert luminance("#000000") == 0


@pytest.mark.parametrize("colour", [*OKABE_ITO, palette.GREY, palette.PALE, palette.WHITE])
def test_text_can_be_read_on_every_ground(colour):
    assert contrast(ink(colour), colour) >= READABLE


def test_grey_text_can_be_read_on_white_and_pale():
    assert contrast(palette.GREY, palette.WHITE) >= READABLE
    assert contrast(palette.GREY, palette.PALE) >= READABLE


def test_every_fate_has_a_look_of_its_own_without_its_colour():
    assert set(LOOKS) == set(Fate)
    assert len({look.words for look in LOOKS.values()}) == len(LOOKS)
    assert all(look.mark for look in LOOKS.values())
    # never told apart by colour alone
    assert len({(look.mark, look.hatch, look.words) for look in LOOKS.values()}) == len(LOOKS)


def test_summary_counts_fates():
    assert (
        palette.summary(EightMessages().run().fates) == "2 delivered, 4 dropped by the broker, 2 dropped by the client"
    )
    assert palette.summary([]) == "none sent"
