"""The articles' headings, read from the page that names them: they came to us without title, author or date."""

from __future__ import annotations

import re
from typing import NamedTuple

from rmqlab.checkout import carried

_ROW = re.compile(
    r'^\| <a id="(?P<anchor>[^"]+)"></a>(?P<place>[^|]+) \| (?P<text>[^|]+) \| (?P<english>[^|]+) \|$', re.MULTILINE
)


class Heading(NamedTuple):
    """A heading: its anchor on the page ("s-3-1"), its place ("S 3.1"), the article's own words, and in English."""

    anchor: str
    place: str
    text: str
    english: str

    def __str__(self) -> str:
        """As it is cited."""
        return f"{self.place} {self.text} ({self.english})"


def headings() -> dict[str, Heading]:
    """All headings by place."""
    page = (carried("articles") / "README.md").read_text(encoding="utf-8")
    return {row["place"]: Heading(*row.group("anchor", "place", "text", "english")) for row in _ROW.finditer(page)}
