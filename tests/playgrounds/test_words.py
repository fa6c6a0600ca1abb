"""The words of the pages: the same texts in each language, with the same values in them, and none that is missing."""

from __future__ import annotations

import re

import pytest

from rmqlab.checkout import checkout_path

PAGES = {
    "loss": ("loss.js", "parts.js", "loss.py"),
    "match": ("match.js", "parts.js", "match.py"),
    "group": ("group.js", "parts.js", "group.py"),
}


def values_of(text):
    return sorted(set(re.findall(r"\{(\w+)\}", text)))


def test_each_language_has_the_same_texts_with_the_same_values(words):
    english, chinese = words["en"], words["zh"]
    assert {page: set(texts) for page, texts in english.items()} == {
        page: set(texts) for page, texts in chinese.items()
    }
    for page, texts in english.items():
        for key, text in texts.items():
            other = chinese[page][key]
            assert text.strip(), f"{page}.{key}"
            assert other.strip(), f"{page}.{key}"
            assert values_of(text) == values_of(other), f"{page}.{key}"


@pytest.mark.parametrize("page", PAGES)
def test_every_word_that_a_page_asks_for_is_there(words, page):
    place = checkout_path("docs") / "playgrounds"
    html = (place / f"{page}.html").read_text(encoding="utf-8")
    code = "\n".join((place / name).read_text(encoding="utf-8") for name in PAGES[page])
    asked = set(re.findall(r'data-word(?:-[\w-]+)?="([\w-]+)"', html))
    asked |= set(re.findall(r'(?<!\w)say\("([\w-]+)"', code))
    asked |= set(re.findall(r'"((?:entry|client|sql|hint|name|message|differ)_[a-z_]+)"', code))
    assert len(asked) > 40
    assert not asked - set(words["en"]["page"]) - set(words["en"][page])
