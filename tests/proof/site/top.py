"""The header of every page of the site, for `docs/_templates/top.html`: one markup for pages, lessons and playgrounds.

A page of Sphinx is in one language and says its words at once. A playground is in both: its words are filled in by the
page (`docs/playgrounds/words.js`), and its links to the site get the language there.
"""

from __future__ import annotations

import json
from functools import cache
from html import escape
from typing import NamedTuple

from rmqlab.checkout import ROOT

LANGUAGES = {"en": "English", "zh": "中文"}
PLAYGROUND = "playgrounds/loss.html"
# Word and first page of each part of the site.
PLACES = (
    ("top_start", "start/index.html"),
    ("top_lessons", "notebooks/index.html"),
    ("top_playgrounds", PLAYGROUND),
    ("top_how_to", "how-to/index.html"),
    ("top_explanation", "explanation/index.html"),
    ("top_reference", "reference/index.html"),
    ("top_workshop", "instructors/index.html"),
)


class Place(NamedTuple):
    """A link of the header: its attributes, its words as HTML, whether the reader is there."""

    link: str
    text: str
    current: bool


class Language(NamedTuple):
    """A language of the site and where this page is in it."""

    code: str
    name: str
    link: str
    current: bool


@cache
def words() -> dict[str, dict[str, dict[str, str]]]:
    """Language, page, key: the words of the playgrounds, among them those of the header and of the home page."""
    known: dict[str, dict[str, dict[str, str]]] = json.loads(
        (ROOT / "docs" / "playgrounds" / "words.json").read_text(encoding="utf-8")
    )
    return known


class PageTop:
    """The header of a page of Sphinx: `page` is its name, "how-to/index" for example."""

    main = "furo-main-content"

    def __init__(self, page: str, language: str) -> None:
        """`language` is the page's."""
        self._page, self._language = page, language
        self._up = "../" * page.count("/")
        self.static = f"{self._up}_static/"
        self.drawers = page not in {"index", "search"}
        self.action = f'action="{self._up}search.html"'
        self.languages = [
            Language(code, name, f'href="{self._up}../{code}/{page}.html"', code == language)
            for code, name in LANGUAGES.items()
        ]

    def word(self, key: str) -> str:
        """A word as HTML."""
        return escape(words()[self._language]["page"][key])

    def attribute(self, name: str, key: str) -> str:
        """An attribute with a word."""
        return f'{name}="{self.word(key)}"'

    def data(self, key: str) -> str:
        """A word for the script of the header."""
        return self.attribute(f"data-{key}", key)

    def link(self, path: str) -> str:
        """The attribute that leads to a page of the site."""
        if path.startswith("playgrounds/"):
            return f'href="{self._up}../{path}?lang={self._language}"'
        return f'href="{self._up}{path}"'

    @property
    def places(self) -> list[Place]:
        """The parts of the site."""
        part = self._page.partition("/")[0]
        return [
            Place(self.link(path), self.word(key), "/" in self._page and path.partition("/")[0] == part)
            for key, path in PLACES
        ]


class PlaygroundTop:
    """The header of a playground: what it says stands there in English until the page knows the reader's language."""

    main = "main"
    drawers = False
    static = ""
    action = 'action="../en/search.html" data-site="search.html"'

    def __init__(self) -> None:
        """The same for each playground."""
        self.languages = [
            Language(code, name, f'href="?lang={code}" data-language="{code}"', current=False)
            for code, name in LANGUAGES.items()
        ]

    def word(self, key: str) -> str:
        """A word as HTML, and its key for the page."""
        return f'<span data-word="{key}">{escape(words()["en"]["page"][key])}</span>'

    def attribute(self, name: str, key: str) -> str:
        """An attribute with a word, and its key for the page."""
        return f'{name}="{escape(words()["en"]["page"][key])}" data-word-{name}="{key}"'

    def data(self, key: str) -> str:
        """A word for the script of the header."""
        return self.attribute(f"data-{key}", key)

    def link(self, path: str) -> str:
        """The attribute that leads to a page of the site; the page puts its language into it."""
        if path.startswith("playgrounds/"):
            return f'href="{path.removeprefix("playgrounds/")}" data-page'
        return f'href="../en/{path}" data-site="{path}"'

    @property
    def places(self) -> list[Place]:
        """The parts of the site."""
        return [Place(self.link(path), self.word(key), path == PLAYGROUND) for key, path in PLACES]
