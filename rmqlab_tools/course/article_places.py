"""Where an article says what a row of the checklist is about: for learners a row is a heading, not a code."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import Final

from rmqlab.checkout import data_path
from rmqlab.language import ENGLISH, _, joined, language

ARTICLE_NAMES: Final = {
    "S": _("the article on subscriptions"),
    "F": _("the article on filters"),
    "H": _("the article on heartbeats"),
}
# The first row of each place, and the place's anchor in data/articles/README.md. Where an article says nothing (code
# that it cuts, what follows from it), the place is that of the code or claim which it belongs to.
_FIRST_ROWS: Final = {
    "S": {1: "1", 7: "2", 13: "3-1", 16: "3-2", 19: "3-3", 20: "3-4", 23: "3-5", 35: "3-6", 37: "3-8", 58: "3-10",
          76: "3-11", 82: "3-12", 89: "3-9", 90: "3-10", 91: "3-7"},
    "F": {1: "1-1", 2: "1-2-1", 7: "1-2-2", 29: "2-1", 34: "4-2-1", 47: "2-2", 50: "2-2-1", 54: "4-1-1", 59: "4-2-3",
          67: "3-2", 70: "3-3", 71: "4-1", 73: "3-4-1", 75: "4-2-3", 76: "3-4-2", 82: "3-4-3", 83: "4-2-2",
          90: "3-4-5", 93: "4-1-2", 98: "1-2"},
    "H": {1: "1", 4: "2", 11: "3", 14: "4", 16: "5", 23: "6", 26: "7", 27: "8", 29: "9", 39: "10", 40: "11", 46: "12",
          49: "13", 53: "12"},
}  # fmt: skip
_PLACE: Final = re.compile(r'<a id="([sfh]-[0-9-]+)"></a>[^|]*\|([^|]+)\|([^|]+)\|')


def place_of(letter: str, number: int) -> str:
    """The anchor of the place in the article, as `data/articles/README.md` has it.

    >>> place_of("S", 77)
    's-3-11'
    """
    places = _FIRST_ROWS[letter]
    first = [*places][bisect_right([*places], number) - 1]
    return f"{letter.lower()}-{places[first]}"


def places_in_words(rows: list[tuple[str, int]]) -> list[str]:
    """For each article that the rows are of a sentence that names its headings, in English too for who reads English.

    >>> print(*places_in_words([("S", 77), ("S", 78)]))
    See the article on subscriptions, Consumer订阅数据更新 (How a consumer's subscription is updated).
    """
    said = []
    for letter, article in ARTICLE_NAMES.items():
        anchors = dict.fromkeys(place_of(letter, number) for row_letter, number in sorted(rows) if row_letter == letter)
        if anchors:
            named = joined(", ", (_heading(anchor) for anchor in anchors))
            said.append(_("See {article}, {headings}.", article=article, headings=named))
    return said


def _heading(anchor: str) -> str:
    own, english = _headings()[anchor]
    return f"{own} ({english})" if language() == ENGLISH else own


@cache
def _headings() -> dict[str, tuple[str, str]]:
    """Each place's heading, as the article has it and in English."""
    text = (data_path("articles") / "README.md").read_text(encoding="utf-8")
    return {anchor: (own.strip(), english.strip()) for anchor, own, english in _PLACE.findall(text)}
