"""A learner's copy: guesses open, nothing written over, tracked files as they were; the guess stops what is below."""

from __future__ import annotations

import ast
import doctest
import html
import json
import os
import re
import shutil
import subprocess

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab_tools.course import learner_copy
from rmqlab_tools.course.learner_copy import (
    INDEX_NOTEBOOK,
    folder_in,
    index_lesson,
    install_kernels,
    learners,
    make_copy,
    open_guess,
)
from rmqlab_tools.course.progress import GuessFirst
from tests.proof.notebook_files import execute, read, tags, write

HEADER = """# 01 Eight · 八
**Question:** Who gets what?

| | |
|---|---|
| Minutes | 20, then 10 for the [tasks](exercises/01_tasks.ipynb) |"""
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
GUESSED = [path for path in LESSONS if any("guess" in tags(cell) for cell in read(path)["cells"])]


@pytest.fixture
def tree(tmp_path):
    """One lesson that asks for a guess, and its task."""
    cells = [
        new_markdown_cell(HEADER, id="header"),
        new_code_cell("import rmqlab\nprint('before')", id="before", execution_count=1),
        new_code_cell("mine = rmqlab.guess(A=4, B=4)", id="guess", metadata={"tags": ["guess"]}, execution_count=2),
        new_code_cell("print('the answer')", id="run", outputs=[new_output("stream", text="the answer\n")]),
    ]
    write(tmp_path / "notebooks" / "01_eight.ipynb", new_notebook(cells=cells))
    task = new_code_cell('answer = ...\nrmqlab.check("01-predict", answer)', id="task")
    write(tmp_path / "notebooks" / "exercises" / "01_eight_tasks.ipynb", new_notebook(cells=[task]))
    (tmp_path / "notebooks" / "glossary.md").write_text("words")
    return tmp_path


def test_a_copy_has_open_guesses_and_no_outputs(tree):
    copied = make_copy(tree / "notebooks", tree / "my-lessons")
    assert [path.name for path in copied.written] == ["01_eight.ipynb", "01_eight_tasks.ipynb"]
    mine = read(tree / "my-lessons" / "01_eight.ipynb")
    assert mine["cells"][2]["source"] == "mine = rmqlab.guess(A=..., B=...)"
    assert not any(cell.get("outputs") for cell in mine["cells"])
    assert (tree / "my-lessons" / "glossary.md").exists()


def test_lesson_01_begins_with_a_picture_of_its_setting_that_tells_no_outcome(tmp_path):
    (tmp_path / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "01_eight_messages.ipynb", tmp_path / "notebooks")
    for language in ("en", "zh"):
        folder = folder_in(language, tmp_path / "mine")
        make_copy(tmp_path / "notebooks", folder, language)
        mine = read(folder / "01_eight_messages.ipynb")
        assert not any(cell.get("outputs") for cell in mine["cells"])
        words, name = re.search(r"^!\[([^]]+)\]\(([^)]+)\)$", mine["cells"][0]["source"], re.MULTILINE).groups()
        file = (folder / name).read_bytes()
        assert file.isascii(), "JupyterLite takes its bytes for Latin-1"
        assert b"&#215;" in file
        svg = html.unescape(file.decode("ascii"))
        assert f">{words}</desc>" in svg
        assert {"tagA", "tagB"} <= set(re.findall(r">([^<]+)</text>", svg))
        assert not re.search("lost|delivered|drop|丢|送达", svg)


def test_what_a_learner_has_is_never_written_over(tree):
    path = tree / "my-lessons" / "01_eight.ipynb"
    make_copy(tree / "notebooks", path.parent)
    write(path, new_notebook(cells=[new_code_cell("my own", id="own")]))
    (path.parent / "exercises" / "01_eight_tasks.ipynb").unlink()
    copied = make_copy(tree / "notebooks", path.parent)
    assert [written.name for written in copied.written] == ["01_eight_tasks.ipynb"]
    assert read(path)["cells"][0]["source"] == "my own"


def test_the_index_leads_to_lessons_and_says_what_is_done(tree):
    folder = tree / "my-lessons"
    make_copy(tree / "notebooks", folder)
    text = read(folder / INDEX_NOTEBOOK)["cells"][0]["source"]
    row = "| [01 Eight · 八](01_eight.ipynb) | Who gets what? | 20, then 10 for the tasks | "
    assert row + "[1 task](exercises/01_eight_tasks.ipynb) | 0 of 1 |" in text
    task = read(folder / "exercises" / "01_eight_tasks.ipynb")
    right = new_output("execute_result", data={"text/plain": "01-predict: right. All."})
    task["cells"][0]["outputs"] = [right]
    write(folder / "exercises" / "01_eight_tasks.ipynb", task)
    make_copy(tree / "notebooks", folder)
    index = read(folder / INDEX_NOTEBOOK)
    assert "| all |" in index["cells"][0]["source"]
    assert "1 of 1" in str(execute(index, folder)["cells"][2]["outputs"])


def called_in(source):
    """What code calls, reads and assigns, without the texts in it."""
    nodes = list(ast.walk(ast.parse(source)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def test_a_copy_in_chinese_has_the_same_code_but_for_texts_and_each_leads_to_the_other(tmp_path):
    folder = tmp_path / "mine"
    chinese = folder_in("zh", folder)
    english = make_copy(ROOT / "notebooks", folder).written
    assert [path.name for path in make_copy(ROOT / "notebooks", chinese, "zh").written] == [
        lesson.name for lesson in english
    ]
    for path in english:
        mine, theirs = read(path), read(chinese / path.relative_to(folder))
        codes = [[cell["source"] for cell in book["cells"] if cell["cell_type"] == "code"] for book in (mine, theirs)]
        for ours, chinese_code in zip(*codes, strict=True):
            assert called_in(ours) == called_in(chinese_code)
        assert theirs["metadata"]["kernelspec"]["name"] == "rmqlab-zh"
        for book, here in ((mine, path), (theirs, chinese / path.relative_to(folder))):
            link = re.search(r"\]\((\.\./[^)]*)\)(?: · 中文)?$", book["cells"][0]["source"])
            assert (here.parent / link[1]).resolve() in {path, chinese / path.relative_to(folder)} - {here}
    index = read(chinese / INDEX_NOTEBOOK)["cells"][0]["source"]
    assert index.count("\n| [") == len(LESSONS)
    assert "中文" in index.splitlines()[-1]


def test_a_kernel_of_a_language_speaks_it(tmp_path):
    """The kernel that the Chinese copies ask for is found below the prefix, and its Python translates."""
    (path,) = install_kernels(tmp_path)
    assert path == tmp_path / "share/jupyter/kernels/rmqlab-zh/kernel.json"
    spec = json.loads(path.read_text(encoding="utf-8"))
    assert spec["display_name"] == "Python 3 (中文)"
    code = "from rmqlab.language import language; print(language())"
    said = subprocess.check_output([spec["argv"][0], "-c", code], env=os.environ | spec["env"], text=True)
    assert said == "zh\n"


def test_an_index_with_notes_of_ones_own_stays(tree):
    folder = tree / "my-lessons"
    make_copy(tree / "notebooks", folder)
    index = read(folder / INDEX_NOTEBOOK)
    index["cells"][1]["source"] = "note"
    write(folder / INDEX_NOTEBOOK, index)
    make_copy(tree / "notebooks", folder)
    assert read(folder / INDEX_NOTEBOOK)["cells"][1]["source"] == "note"


def test_a_lesson_that_changed_since_is_marked(tree):
    folder, source = tree / "my-lessons", tree / "notebooks" / "01_eight.ipynb"
    make_copy(tree / "notebooks", folder)
    lesson = read(source)
    lesson["cells"][1]["source"] = "print('anew')"
    write(source, lesson)
    assert "(01_eight.ipynb)\\*" in index_lesson(tree / "notebooks", folder)["cells"][0]["source"]


def test_running_all_stops_at_the_guess_and_goes_on_after_it(tree):
    mine = learners(read(tree / "notebooks" / "01_eight.ipynb"))
    with pytest.raises(CellExecutionError, match="Enter your guess first: A, B"):
        execute(mine, tree)
    mine["cells"][2]["source"] = "mine = rmqlab.guess(A=2, B=0)"
    assert execute(mine, tree)["cells"][3]["outputs"][0]["text"] == "the answer\n"


@pytest.mark.parametrize("path", GUESSED, ids=lambda path: path.stem)
def test_a_fresh_copy_of_a_lesson_shows_nothing_below_its_guess(path, monkeypatch):
    """Cell after cell in this process; that an error ends "Run All" in a kernel is shown above."""
    monkeypatch.chdir(path.parent)
    cells = [cell for cell in learners(read(path))["cells"] if cell["cell_type"] == "code"]
    scope = {}

    def run_all():
        for cell in cells:
            exec(compile(cell["source"], cell["id"], "exec"), scope)  # noqa: S102 - our own lessons

    with pytest.raises(GuessFirst, match="Enter your guess first"):
        run_all()


def test_tracked_files_stay_clean(tmp_path):
    """git sees nothing of a copy in its usual place; in a repository made here, for an sdist has none."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    shutil.copy2(ROOT / ".gitignore", tmp_path)
    ran = subprocess.run(["git", "check-ignore", "-q", "my-lessons/x.ipynb"], cwd=tmp_path, check=False)
    assert ran.returncode == 0


def test_a_copy_ignores_itself(tree):
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    make_copy(tree / "notebooks", tree / "class")
    ran = subprocess.run(["git", "status", "--porcelain"], cwd=tree, capture_output=True, text=True, check=True)
    assert "class" not in ran.stdout


@pytest.mark.parametrize(
    ("source", "opened"),
    [
        ("rmqlab.guess(A=4)", "rmqlab.guess(A=...)"),
        ("x = 1\nmine = rmqlab.guess(\n    A=[1, 2],  # 消息\n    B={'x': 5},\n)", None),
        ("mine = guess_of(4)", "mine = guess_of(4)"),
    ],
)
def test_guesses_are_opened(source, opened):
    expected = "x = 1\nmine = rmqlab.guess(\n    A=...,  # 消息\n    B=...,\n)" if opened is None else opened
    assert open_guess(source) == expected
    assert doctest.testmod(learner_copy).failed == 0


def test_a_copy_that_was_stopped_half_way_is_gone_on_with(tree, monkeypatch):
    folder = tree / "my-lessons"

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(learner_copy, "switchable", stopped)
        with pytest.raises(KeyboardInterrupt):
            make_copy(tree / "notebooks", folder)
    assert (folder / ".gitignore").read_text() == "*\n"
    assert learner_copy.learner_folder(tree) == folder
    assert len(make_copy(tree / "notebooks", folder).written) == 2
    (folder / INDEX_NOTEBOOK).unlink()
    make_copy(tree / "notebooks", learner_copy.learner_folder(tree))
    assert (folder / INDEX_NOTEBOOK).is_file()
    (tree / ".cache").mkdir()
    (tree / ".cache" / ".gitignore").write_text("# Automatically created by a tool.\n*\n")
    with pytest.raises(BadInput, match="holds something else"):
        learner_copy.learner_folder(tree, ".cache")


def test_links_of_a_folder_with_a_space_are_whole(tree):
    folder = tree / "my lessons 课程"
    make_copy(tree / "notebooks", folder)
    text = read(folder / "exercises" / "01_eight_tasks.ipynb")["cells"][0]["source"]
    assert "中文" not in text, "its first cell is code"
    text = read(folder / "01_eight.ipynb")["cells"][0]["source"]
    assert text.endswith("[中文](../my%20lessons%20%E8%AF%BE%E7%A8%8B-zh/01_eight.ipynb)")
