"""What a learner sees names no rows of our own matrix, as "S-76" or "F-95": tags of cells and tests keep them."""

from __future__ import annotations

import json
import re
from dataclasses import fields

import pytest

import rmqlab
from rmqlab.checkout import ROOT
from rmqlab.rules import Rules
from rmqlab_tools.course.check import explained, task_texts

CODE = re.compile(r"\b[SFH]-\d\d\b")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("**/*.ipynb"))
QUIZZES = sorted(path.stem for path in (ROOT / "data" / "quiz").glob("*.json"))
SHOWN_IN_CHINESE = sorted((ROOT / "notebooks" / "locale").glob("*/outputs/*.json"))


def codes(text):
    return sorted({*CODE.findall(text)})


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_and_what_they_show(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    shown = {cell["id"]: codes("".join(cell["source"]) + json.dumps(cell.get("outputs", []))) for cell in cells}
    assert not {name: shown_codes for name, shown_codes in shown.items() if shown_codes}


@pytest.mark.parametrize("path", SHOWN_IN_CHINESE, ids=lambda path: path.stem)
def test_what_cells_show_in_another_language(path):
    assert not codes(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("number", QUIZZES)
def test_quiz(number):
    for question in rmqlab.quiz(number).questions:
        assert not codes(question.html() + str(question) + question.rule)


def test_rules_as_they_are_shown():
    for rules in rmqlab.RULES.values():
        assert not {field.name: codes(rules.source(field.name)) for field in fields(Rules) if field.name != "version"
                    and codes(rules.source(field.name))}  # fmt: skip


def test_a_rule_of_a_learner_is_shown_as_it_stands():
    def is_latest(held_version, pull_version):
        """My own, after H-41."""
        return True

    assert "H-41" in rmqlab.RULES["4.8.0"].replace(is_latest=is_latest).source("is_latest")


def test_what_judges_say_of_a_task():
    numbers = sorted(path.stem for path in (ROOT / "data" / "tasks").glob("*.toml"))
    said = [text for number in numbers for task in task_texts(number).values() for text in _texts(task)]
    assert len(said) > 100
    assert not [text for text in said if codes(explained(text))]


def _texts(part):
    if isinstance(part, str):
        return [part]
    return [text for inner in (part.values() if isinstance(part, dict) else part) for text in _texts(inner)]


def test_the_glossary():
    assert not codes((ROOT / "notebooks" / "glossary.md").read_text(encoding="utf-8"))
