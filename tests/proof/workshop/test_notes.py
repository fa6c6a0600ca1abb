"""What the instructors' pages say of lessons, quizzes, minutes and seconds is what those say themselves."""

from __future__ import annotations

import json
import re

import pytest

import rmqlab
from rmqlab.checkout import ROOT

PAGES = ROOT / "docs" / "instructors"
LESSONS = {path.stem[:2]: path for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")}
LETTERS = "abcd"


def page(name):
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def header(number):
    return "".join(json.loads(LESSONS[number].read_text(encoding="utf-8"))["cells"][0]["source"])


def minutes(number):
    """The minutes of a lesson, and of its tasks, by the lesson's head."""
    return tuple(map(int, re.search(r"Minutes \| (\d+) .*?then (\d+) for", header(number)).groups()))


def test_each_lesson_has_its_page_and_each_page_is_short():
    assert {path.stem for path in PAGES.glob("[0-9]*.md")} == set(LESSONS)
    assert all(len(path.read_text(encoding="utf-8").splitlines()) < 60 for path in PAGES.glob("*.md"))


@pytest.mark.parametrize("number", sorted(LESSONS))
def test_minutes_cells_and_answers_are_those_of_the_lesson(number):
    text = page(number)
    lesson, tasks = minutes(number)
    assert f"{lesson} minutes; [the tasks]" in text
    assert f"_tasks.ipynb), {tasks} minutes" in text
    ids = {cell["id"] for cell in json.loads(LESSONS[number].read_text(encoding="utf-8"))["cells"]}
    named = re.findall(r"^- `([a-z0-9-]+)`", text, re.MULTILINE) + re.findall(r"\(`([a-z0-9-]+)`\)", text)
    assert named
    assert set(named) <= ids
    questions = rmqlab.quiz(number).questions
    wrong = re.findall(r'^- ".+" Question (\d), right is (\w): (.+)$', text, re.MULTILINE)
    expected = [
        (str(at), LETTERS[question.answer], question.choices[question.answer].says)
        for at, question in enumerate(questions, 1)
    ]
    assert wrong == expected


def test_routes_add_up_and_use_the_lessons_minutes():
    parts = [part for name in ("routes", "day") for part in page(name).split("\n## ")[1:]]
    sums = []
    for part in parts:
        rows = re.findall(r"^\| (\d+) \| (.+?) \|", part, re.MULTILINE)
        assert sum(int(time) for time, _ in rows) == int(re.search(r"^Sum: (\d+) minutes", part, re.MULTILINE)[1])
        sums.append(sum(int(time) for time, _ in rows))
        for time, what in rows:
            whole = re.fullmatch(r"\[(\d\d) [^\]]+\]\(\d\d\.md\)", what)
            assert whole is None or int(time) == minutes(whole[1])[0], what
    assert sums[:3] == [45, 210, 120]
    assert max(sums) <= 8 * 60


def test_seconds_are_those_that_were_measured():
    stored = json.loads((ROOT / "data" / "workshop" / "times.json").read_text(encoding="utf-8"))
    assert set(stored["lessons"]) == {path.stem for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    assert all(lesson["seconds"] > 0 and lesson["cpu"] > 0 for lesson in stored["lessons"].values())
    assert "{literalinclude} ../data/workshop/times.txt" in page("times")


def test_what_the_room_types_is_a_verb():
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES.glob("*.md"))
    from rmqlab_tools.cli import VERBS

    assert set(re.findall(r"`(?:\./lab|rmqlab) (\w+)", text)) <= set(VERBS)
