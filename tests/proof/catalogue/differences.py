"""What must be the same in a text and its translation: placeholders, code, links, figures, and the shape of a cell."""

from __future__ import annotations

import re
from collections import Counter

from rmqlab_tools.course.shown_texts import PLACEHOLDER

NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "ninety": 90, "hundred": 100, "thousand": 1000, "once": 1, "twice": 2, "single": 1, "first": 1, "second": 2,
    "third": 3, "fourth": 4, "fifth": 5, "half": 2, "both": 2, "a": 1, "an": 1, "each": 1, "another": 1, "every": 1,
}  # fmt: skip
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)|<(https?://[^>]+)>")
_FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)*")
_HEADING = re.compile(r"^#+ ", re.MULTILINE)
_ROW = re.compile(r"^\|", re.MULTILINE)


def differences(text: str, translated: str, *, cell: bool) -> list[str]:
    """What is not the same in both, in words; of a text that is no ``cell`` the placeholders and figures are compared.

    >>> differences("queue {n} of 4", "队列 {m}", cell=False)
    ['placeholder {n} is missing', 'placeholder {m} is not in the text', 'figure 4 is missing']
    """
    unlike = []
    if not cell:
        unlike += _sets("placeholder", PLACEHOLDER.findall(text), PLACEHOLDER.findall(translated))
        text, translated = PLACEHOLDER.sub("", text), PLACEHOLDER.sub("", translated)
    else:
        unlike += _sets("listing", _FENCE.findall(text), _FENCE.findall(translated))
        text, translated = _FENCE.sub("", text), _FENCE.sub("", translated)
        unlike += _sets("link to", _links(text), _links(translated))
        unlike += _counts("heading", _HEADING, text, translated) + _counts("row of a table", _ROW, text, translated)
        text, translated = _LINK.sub("]", text), _LINK.sub("]", translated)
    unlike += _sets("code", _CODE.findall(text), _CODE.findall(translated))
    return [*unlike, *_figures(_CODE.sub("", text), _CODE.sub("", translated))]


def _links(text: str) -> list[str]:
    return [target or other for target, other in _LINK.findall(text)]


def _sets(what: str, mine: list[str], theirs: list[str]) -> list[str]:
    lost = [f"{what} {item} is missing" for item in dict.fromkeys(mine) if item not in theirs]
    return lost + [f"{what} {item} is not in the text" for item in dict.fromkeys(theirs) if item not in mine]


def _counts(what: str, pattern: re.Pattern[str], text: str, translated: str) -> list[str]:
    mine, theirs = len(pattern.findall(text)), len(pattern.findall(translated))
    return [] if mine == theirs else [f"{mine} times a {what}, but {theirs} times in the translation"]


def _figures(text: str, translated: str) -> list[str]:
    """Figures that only one of them has; a number that is a word in the text may be a figure in the translation."""
    mine, theirs = _numbers(text), _numbers(translated)
    words = {str(NUMBERS[word]) for word in re.findall(r"[a-z]+", text.lower()) if word in NUMBERS}
    lost = [f"figure {figure} is missing" for figure in mine - theirs]
    return lost + [f"figure {figure} is not in the text" for figure in theirs - mine if figure not in words]


def _numbers(text: str) -> Counter[str]:
    return Counter(dict.fromkeys((figure.rstrip(",").replace(",", "") for figure in _FIGURE.findall(text)), 1))
