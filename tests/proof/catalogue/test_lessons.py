"""Lessons in Chinese: nothing that a reader sees is left in English.

What cells show in Chinese is kept from a run in Chinese (`./lab catalogue --run`). That a kernel that speaks Chinese
does so is shown for one lesson, with its pictures, tables and controls, in tests/notebooks/test_running.py.
"""

from __future__ import annotations

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from rmqlab.checkout import ROOT
from rmqlab_tools.course.in_language import translated
from tests.proof.catalogue.english import left_in_english
from tests.proof.notebook_files import read

NOTEBOOKS = ROOT / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("*.ipynb"))
KNOWN = {
    "03_sql92": {"compare-tree"}, "08_every_schedule": {"rare", "paste-picture"}, "09_changing_a_tag": {"conditions"},
    "12_distributions": {"c12-changes-picture"}, "14_healthy": {"evidence", "lost-given"},
    "16_your_own_broker": {"break-text"},
}  # fmt: skip
"""Cells that still show an English phrase: they put texts together themselves, or show names of JSON or of code."""


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_no_sentence_of_a_lesson_is_left_in_english(path):
    left = []
    for notebook in (path, NOTEBOOKS / "solutions" / f"{path.stem}_tasks.ipynb"):
        if not notebook.exists():  # a lesson without tasks
            continue
        lesson = read(notebook)
        chinese = translated(lesson, path.stem, "zh")
        left += left_in_english(chinese)
    assert {cell for cell, _ in left} <= KNOWN.get(path.stem, set())


def test_a_sentence_that_was_not_translated_is_found():
    shown = [
        new_output(
            "display_data", data={"text/html": "<p>丢失了 <b>and this is left here</b></p>", "text/plain": "x y z"}
        ),
        new_output("stream", text="nobody has told this\n真的\n"),
        new_output("execute_result", data={"text/plain": "def allocate(who):\n    return all of the queues"}),
    ]
    cells = [
        new_code_cell("1", id="shown", outputs=shown),
        new_markdown_cell("这里是 `some code of mine` 和 dropped_by_client。", id="fine"),
    ]
    left = left_in_english(new_notebook(cells=cells))
    assert left == [("shown", "and this is left here"), ("shown", "nobody has told this")]
