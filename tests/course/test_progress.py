"""Progress: what a learner did in a copy of the lessons, and nothing written anywhere else."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.course import progress as module
from rmqlab_tools.course.progress import GuessFirst


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A learner's copy of lessons 01 and 02, with the tasks of 02."""
    (tmp_path / "exercises").mkdir()
    for name in ("00_index.ipynb", "01_eight_messages.ipynb", "02_tags.ipynb"):
        (tmp_path / name).write_text("{}")
    cells = [{"source": [f'rmqlab.check("02-{name}", answer)']} for name in ("collide", "client")]
    (tmp_path / "exercises" / "02_tags_tasks.ipynb").write_text(json.dumps({"cells": cells}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(module.SESSION, str(tmp_path / "01_eight_messages.ipynb"))
    return tmp_path


def rows():
    return [tuple(row) for row in rmqlab.progress().rows]


def test_guess_tasks_and_quiz_stand_in_one_table(copy):
    assert rows() == [
        ("01_eight_messages", None, "0 of 0", "0 of 1", None),
        ("02_tags", None, "0 of 2", "0 of 3", None),
    ]
    with pytest.raises(GuessFirst):
        rmqlab.guess(A=...)
    assert rows()[0][1] is None
    rmqlab.guess(A=4)
    os.chdir(copy / "exercises")
    rmqlab.check("02-collide", ("a", "b"))
    assert rows()[1][2] == "0 of 2"
    rmqlab.check("02-collide", ("Ab", "BC"))
    rmqlab.check("02-collide", ("a", "b"))  # what was right once stays
    mine = rmqlab.quiz("02")
    mine.answer(1, 2)
    mine.answer(2, 1)
    rmqlab.quiz("02").answer(2, 2)  # the first answer counts
    assert rows() == [
        ("01_eight_messages", "✓", "0 of 0", "0 of 1", None),
        ("02_tags", None, "1 of 2", "0 of 3", "1 of 2 right"),
    ]


def client_keeps(subscription, tag):
    return subscription.class_filter_mode or not subscription.tags_set or tag in subscription.tags_set


def test_the_ladder_stands_beside_the_tasks(copy):
    os.chdir(copy / "exercises")
    assert "It stands in my_rules.py now." in repr(rmqlab.check("02-client", client_keeps))
    assert rows()[1][2:4] == ("1 of 2", "1 of 3")
    file = copy / "exercises" / "my_rules.py"
    file.write_text(file.read_text(encoding="utf-8").replace("not subscription", "subscription"), encoding="utf-8")
    assert rows()[1][3] == "0 of 3"
    os.chdir(copy)


@pytest.mark.parametrize("in_the_folder", [True, False])
def test_vs_code_names_its_notebook_among_the_cells_names(copy, tmp_path_factory, monkeypatch, in_the_folder):
    monkeypatch.delenv(module.SESSION)
    rmqlab.guess(A=4)
    assert rows()[1][1] is None
    shell = SimpleNamespace(user_ns={module.VS_CODE: str(copy / "02_tags.ipynb")})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    if not in_the_folder:  # its setting jupyter.notebookFileRoot
        monkeypatch.chdir(tmp_path_factory.mktemp("workspace"))
    rmqlab.guess(A=4)
    assert [row[1] for row in rows()] == [None, "✓"]


def test_nothing_is_written_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rmqlab.guess(A=4)
    rmqlab.check("02-collide", ("a", "b"))
    rmqlab.quiz("02").answer(1, 1)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BadInput, match=r"in your own copy of the lessons: \./lab notebook makes one"):
        rmqlab.progress()


def test_broken_lines_and_a_file_that_cannot_be_written_stop_nobody(copy):
    (copy / module.FILE).write_text('{"kind": "task", "name": 3}\nnonsense\n[1]\n\n')
    mine = rmqlab.quiz("02")
    mine.answer(1, 2)
    assert rows()[1][4] == "1 of 1 right"
    with (copy / module.FILE).open("a") as file:
        file.write('{"kind": "task", "name": "02-cli')  # its disk was full
    rmqlab.check("02-collide", ("Ab", "BC"))
    assert rows()[1][2] == "1 of 2"
    (copy / module.FILE).unlink()
    (copy / module.FILE).mkdir()
    assert "Right" in rmqlab.quiz("02").answer(1, 2)
    assert rows()[1][4] is None


def test_a_guess_in_a_notebook_without_a_known_name_is_not_noted(copy, monkeypatch):
    monkeypatch.setenv(module.SESSION, "Untitled.ipynb")
    rmqlab.guess(A=4)
    assert not (copy / module.FILE).exists()
