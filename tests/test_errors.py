"""What a wrong word is answered with."""

from __future__ import annotations

import pytest

from rmqlab.errors import did_you_mean

KNOWN = ["enablePropertyFilter", "enableCalcFilterBitMap", "listenPort"]


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("enableProprtyFilter", "; did you mean enablePropertyFilter?"),
        ("enablepropertyfilter", "; did you mean enablePropertyFilter?"),
        ("listen_port", "; did you mean listenPort?"),
        ("nix", ""),
        ("", ""),
    ],
)
def test_the_nearest_known_word_or_none(word, told):
    assert did_you_mean(word, KNOWN) == told
    assert did_you_mean(word, []) == ""
