"""The page of the quizzes: nothing is told before a choice, a key chooses, and the first choice stays."""

from __future__ import annotations

import re

import pytest

import rmqlab
from tests.browser.conftest import browser, program
from tests.browser.test_playgrounds import NAMELESS
from tests.proof.site import quiz_page

ASKED = "document.querySelector('#quiz-01-lag')"
SAID = f"{ASKED}.querySelector('[role=status]').innerText"
CHOICES = f"{ASKED}.querySelectorAll('button')"


@pytest.fixture(scope="module", params=["en", "zh"])
def page(site, request):
    """The page of the built site in a browser; and its language."""
    if program() is None:
        pytest.skip("no Chromium here; on Debian and Ubuntu: apt install chromium")
    with browser() as page:
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        page.open((site / request.param / "notebooks" / "quiz.html").as_uri())
        page.until("document.readyState === 'complete' && !!document.getElementById('quiz-score')", "the page")
        yield page, request.param


def test_nothing_is_told_before_a_choice_and_the_first_one_stays(page, monkeypatch):
    page, language = page
    monkeypatch.setenv("RMQLAB_LANG", language)
    (question, *_) = rmqlab.quiz("01").questions
    assert page.evaluate("document.querySelectorAll('.quiz').length") == 45
    assert page.evaluate("[...document.querySelectorAll('.quiz [role=status]')].every((one) => !one.textContent)")
    assert question.choices[0].says not in page.evaluate("document.querySelector('article').innerText")
    page.evaluate(f"{CHOICES}[0].focus()")
    page.press("Enter")
    page.until(SAID, "what is said")
    said = page.evaluate(SAID)
    assert question.choices[0].says in said
    assert question.choices[question.answer].says in said
    page.evaluate(f"{CHOICES}[{question.answer}].click()")
    assert page.evaluate(SAID) == said
    assert page.evaluate("document.activeElement.dataset.choice") == "0"
    assert [text[0] for text in page.evaluate(f"[...{CHOICES}].map((one) => one.innerText)")] == ["✗", "b", "✓", "d"]
    assert page.evaluate("document.getElementById('quiz-score').textContent").endswith(": 0 / 1")


def test_every_button_has_a_name_and_nothing_scrolls_sideways(page):
    page, _ = page
    assert page.evaluate(f"({NAMELESS}).filter((one) => one.includes('data-choice'))") == []
    for width in (400, 1024):
        page.resize(width)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_without_scripts_the_answers_are_folded(page, tmp_path):
    _, language = page
    quiz_page.write(tmp_path / "quiz.md", language)
    text = (tmp_path / "quiz.md").read_text(encoding="utf-8")
    plain = re.findall(r"<noscript>(.*?)</noscript>", text, re.DOTALL)
    assert len(plain) == 46
    assert all("<details><summary>" in one for one in plain[1:])
