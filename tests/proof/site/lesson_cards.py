"""The lessons as cards: number, title, question and minutes, read from the header of each notebook.

A card has a place for the reader's progress, which the browser keeps (`docs/_static/progress.js`).
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import NamedTuple

from rmqlab.checkout import ROOT
from rmqlab.language import spoken
from rmqlab_tools.course.in_language import translated
from tests.proof.notebook_files import read

TABLE = re.compile(r"^\| lesson \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"^# (?P<number>\d+\w?) (?P<title>[^·\n]+)")
_QUESTION = re.compile(r"^\*\*[^*]+[:：]\*\* (?P<question>.+?)$", re.MULTILINE)
_MINUTES = re.compile(r"^\| (?:Minutes|用时（分钟）) \| (?P<minutes>\d+)", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
WORDS = {
    "en": {"minutes": "{minutes} min", "new": "not begun", "read": "read"},
    "zh": {"minutes": "{minutes} 分钟", "new": "未开始", "read": "已读完"},
}


class Lesson(NamedTuple):
    """A lesson's card: `name` is its file without the ending, `minutes` those for reading and playing."""

    name: str
    number: str
    title: str
    question: str
    minutes: int


@cache
def lessons(language: str) -> tuple[Lesson, ...]:
    """All lessons in their order, in a language.

    Raises:
        ValueError: the header of a notebook lacks its number, question or minutes.

    Example:
        >>> lessons("en")[0].title
        'Eight messages'
    """
    return tuple(_lesson_of(path.stem, language) for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")))


def _lesson_of(name: str, language: str) -> Lesson:
    with spoken(language):
        lesson = read(ROOT / "notebooks" / f"{name}.ipynb")
        header = "".join(translated(lesson, name, language)["cells"][0]["source"])
    found = [pattern.search(header) for pattern in (_TITLE, _QUESTION, _MINUTES)]
    title, question, minutes = found
    if title is None or question is None or minutes is None:
        raise ValueError(f"notebooks/{name}.ipynb: the header has no number, question or minutes: {header[:200]}")
    return Lesson(name, title["number"], title["title"].strip(), question["question"].strip(), int(minutes["minutes"]))


def cards(language: str) -> str:
    """The lessons as a list of cards in HTML, for a page beside theirs."""
    texts = WORDS[language]
    items = []
    for lesson in lessons(language):
        question = _CODE.sub(r"<code>\1</code>", escape(lesson.question))
        minutes = texts["minutes"].format(minutes=lesson.minutes)
        items.append(
            f'<li class="card lesson-card" data-lesson="{lesson.name}">'
            f'<span class="lesson-number">{lesson.number}</span>'
            f'<h3><a href="{lesson.name}.html">{escape(lesson.title)}</a></h3><p>{question}</p>'
            f'<p class="lesson-foot"><span>{minutes}</span> <span class="lesson-progress" data-new="{texts["new"]}" '
            f'data-read="{texts["read"]}"><progress max="1" value="0" aria-label="{escape(lesson.title)}"></progress>'
            f"<output>{texts['new']}</output></span></p></li>"
        )
    return f'<ul class="cards lesson-cards">{"".join(items)}</ul>'


def with_cards(text: str, language: str) -> str:
    """The page of the lessons with cards where its table of lessons stands.

    Raises:
        ValueError: there is no such table.
    """
    page, count = TABLE.subn(lambda _: f"```{{raw}} html\n{cards(language)}\n```", text)
    if count != 1:
        raise ValueError("docs/notebooks/index.md: no table of lessons (| lesson | question |)")
    return page
