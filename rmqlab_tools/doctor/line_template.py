"""A text that a program prints, as a template: fixed parts in their order, and values between them."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORT_TEXT_WEIGHT: Final = 11
"""Fixed characters up to which a text has too few words of its own."""
SHORT: Final = 20
"""A text with fewer fixed characters and no value must be the whole message: other programs say such words too."""
_VALUE: Final = re.compile(r"\{(\w+)\}")
_OBJECT: Final = re.compile(r" \[\w+=")
_FIELD: Final = re.compile(r"\w+=")
_BEFORE_A_MESSAGE: Final = frozenset(":-]\"'|>)=,}")
_BEHIND_A_MESSAGE: Final = frozenset("\"'.,;:([{<|!")


class TextTemplate(NamedTuple):
    """A text to look for: its fixed parts in their order, and the names of the values around and between them."""

    entry: str
    """Id of the entry that it belongs to."""
    text: str
    parts: tuple[str, ...]
    names: tuple[str, ...]
    """One name before each part and one behind the last; "" where nothing is."""
    weight: int
    """Characters that are fixed: of two texts that fit, the heavier one is meant."""

    @property
    def is_loose(self) -> bool:
        """Whether it has too few words of its own to be known by: other texts would fit it."""
        between_values = bool(self.names[0]) and bool(self.names[-1])
        return self.weight <= (SHORT if between_values else SHORT_TEXT_WEIGHT)

    def values_in(self, line: str) -> dict[str, str] | None:
        """The values that `line` has, by name; None when it is another text.

        Example: "A [b=1 c=2] 7" has for "{object} {number}" the object "A [b=1 c=2]": brackets are not cut.
        """
        spots: list[tuple[int, int]] = []
        at = 0
        for part in self.parts:
            start = _outside_brackets(line, part, at) if spots else _at_a_word(line, part)
            if start < 0:
                return None
            at = start + len(part)
            spots.append((start, at))
        if self.weight < SHORT and not any(self.names) and not _is_whole(line, spots[0][0], at):
            return None
        # a value in front of the text is one word, since time and thread stand before it
        before = (line[: spots[0][0]].rsplit(None, 1) or [""])[-1]
        between = [line[end:start] for (_, end), (start, _) in pairwise(spots)]
        values = [before, *between, line[at:].rstrip()]
        return {name: value for name, value in zip(self.names, values, strict=True) if name}

    def filled(self, values: dict[str, str]) -> str:
        """The text with these values, and "?" for one that is not among them."""
        return _VALUE.sub(lambda name: values.get(name[1], "?"), self.text)


def template(entry: str, text: str) -> TextTemplate:
    """The template of one of an entry's texts.

    Example: the parts of "group: {group} {topic}" are "group: " and " ".
    """
    text = text.strip()
    pieces = _VALUE.split(text)  # text, name, text, name, ..., text
    fixed, names = pieces[::2], ["", *pieces[1::2], ""]
    if not fixed[0]:
        del fixed[0], names[0]
    if not fixed[-1]:
        del fixed[-1], names[-1]
    return TextTemplate(entry, text, tuple(fixed), tuple(names), sum(map(len, fixed)))


def _at_a_word(line: str, part: str) -> int:
    """Where the first part begins: not in the middle of a word."""
    start = line.find(part)
    while start > 0 and part[0].isalpha() and line[start - 1].isalpha():
        start = line.find(part, start + 1)
    return start


def _outside_brackets(line: str, part: str, at: int) -> int:
    """Where a part begins after a value that starts `at`: the first place where the value's brackets are closed.

    The blank between an object's name and its bracket, as in "PullRequest [group=G]", is no place.
    """
    start = first = line.find(part, at)
    depth, seen = 0, at
    while start >= 0:
        depth += sum(line.count(sign, seen, start) for sign in "[({") - sum(
            line.count(sign, seen, start) for sign in "])}"
        )
        if depth <= 0 and not (part == " " and _OBJECT.match(line, start)):
            return start
        seen, start = start, line.find(part, start + 1)
    return first


def _is_whole(line: str, start: int, end: int) -> bool:
    """Whether nothing but time, level, names, an exception's class and fields stand around a text."""
    before, behind = line[:start].rstrip(), line[end:].lstrip()
    ends = not behind or behind[0] in _BEHIND_A_MESSAGE or _FIELD.match(behind) is not None
    return ends and (not before or before[-1] in _BEFORE_A_MESSAGE)


class LineIndex:
    """The templates by one word of each, so that a line is compared with the few texts whose word it has."""

    _WORD: Final = re.compile(r"[A-Za-z]{4,}")

    def __init__(self, templates: Sequence[TextTemplate]) -> None:
        """Choose for each template the word that the fewest others have; one without a whole word is always tried."""
        words = [_whole_words(each, self._WORD) for each in templates]
        often: dict[str, int] = {}
        for word in (word for those in words for word in those):
            often[word] = often.get(word, 0) + 1
        self._by_word: dict[str, list[TextTemplate]] = {}
        self._always: list[TextTemplate] = []
        for each, those in zip(templates, words, strict=True):
            if those:
                self._by_word.setdefault(min(those, key=lambda word: (often[word], -len(word), word)), []).append(each)
            else:
                self._always.append(each)
        self._keys = frozenset(self._by_word)

    def candidates(self, line: str) -> list[TextTemplate]:
        """The templates that the line can be, the heaviest first."""
        words = self._keys.intersection(self._WORD.findall(line))
        possible = [each for word in words for each in self._by_word[word]] + self._always if words else self._always
        return sorted(possible, key=lambda each: (-each.weight, each.text)) if len(possible) > 1 else possible


def _whole_words(of: TextTemplate, word: re.Pattern[str]) -> set[str]:
    """The words that stand whole in a line with this text, whatever its values are."""
    words = set()
    for place, part in enumerate(of.parts):
        for match in word.finditer(part):
            from_value = match.start() == 0 and bool(of.names[place])
            to_value = match.end() == len(part) and bool(of.names[place + 1])
            if not from_value and not to_value:
                words.add(match[0])
    return words
