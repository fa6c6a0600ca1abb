"""What the lessons say: a test names the sentences that it proves, and they must stand in the lesson, word for word.

A file ``test_claims_NN.py`` has ``LESSON``, the notebook's name without ending, and tests marked with the sentences
that they prove: ``@pytest.mark.claim("A starts first, B a minute later.")``. A sentence is written as a reader sees it:
without links, the Chinese beside a term, asterisks, backticks and line ends; a part of it is enough. ``SETTING`` holds
sentences that claim nothing: what is set, asked, or to be done. The fixture ``unproved`` gives every sentence with a
number or a word such as "always" that is neither proved nor set, in the lesson and in its tasks' solutions:
``assert unproved == []`` keeps them from saying more than they show. ``shown`` has the outputs as committed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest
from IPython.display import display

from rmqlab.checkout import ROOT

NOTEBOOKS = ROOT / "notebooks"
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)(?:\s\((?:POP )?[\u4e00-\u9fff]+\))?")
LISTING = re.compile(r"```.*?```", re.DOTALL)
HEADING = re.compile(r"^#.*$", re.MULTILINE)
MARKS = re.compile(r"`([^`]*)`|\*+")  # what stands in backticks stays as it is
# A sentence ends where the next begins, at an empty line, and where a point of a list begins.
END = re.compile(r"(?<=[.!?:])\s+(?=[^a-z\s])|\n\s*\n|\n- ")
STRONG = re.compile(
    r"\d|\b(always|never|every\w*|all|none|nobody|nothing|no one|only|equal|same|at once|exactly|neither|certainly|"
    r"whatever|whoever|most|nearly|usually|both|alone|any|twice|half|quarter|third|"
    r"three|four|five|six|seven|eight|nine|ten|twenty|thirty|sixty|ninety|hundreds?|thousands?|minutes?)\b",
    re.IGNORECASE,
)

# Of the first cell of tasks; tests/course has the proof.
HOW_TASKS_WORK = ("A wrong one gets a case in which it goes wrong, what 4.8.0 does there, and a hint.",)


def _prose(name: str) -> list[str]:
    """The text cells of a lesson and of its tasks with solutions, without the header cells."""
    cells = []
    for path in (NOTEBOOKS / f"{name}.ipynb", NOTEBOOKS / "solutions" / f"{name}_tasks.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"cells": []}
        cells += ["".join(cell["source"]) for cell in notebook["cells"][1:] if cell["cell_type"] == "markdown"]
    return cells


def _plain(text: str) -> str:
    return " ".join(MARKS.sub(r"\1", LINK.sub(r"\1", text)).split())


def sentences(name: str) -> list[str]:
    """What a lesson and its tasks say, sentence by sentence."""
    parts = [part for cell in _prose(name) for part in END.split(HEADING.sub("", LISTING.sub("", cell)))]
    return [plain for part in parts if (plain := _plain(part).removeprefix("- "))]


def _claims_of(module: object) -> list[str]:
    """The sentences that the tests of a module prove."""
    marks = [mark for test in vars(module).values() for mark in getattr(test, "pytestmark", ())]
    cases = [case for mark in marks if mark.name == "parametrize" for case in mark.args[1]]
    marks += [mark for case in cases for mark in getattr(case, "marks", ())]
    return [sentence for mark in marks if mark.name == "claim" for sentence in mark.args]


@pytest.fixture(autouse=True)
def _claims_stand_in_the_lesson(request):
    """A test proves what the lesson says, not what it once said."""
    claims = [sentence for marker in request.node.iter_markers("claim") for sentence in marker.args]
    if claims:
        _must_stand(claims, request.module.LESSON)


def _must_stand(told: Iterable[str], name: str) -> None:
    text = " ".join(sentences(name))
    for one in told:
        assert one in text, f"notebook {name} or its tasks do not say: {one}"


@pytest.fixture(scope="module")
def shown(request):
    """What the lesson's code cells show as committed, as text by the cell's id: what a cell itself computes, and whose
    strict comparison is made by ``./lab test``, need not be computed once more.
    """
    return {
        cell["id"]: "\n".join("".join(out.get("text") or out["data"]["text/plain"]) for out in cell["outputs"])
        for cell in _code_cells(f"{request.module.LESSON}.ipynb")
    }


@pytest.fixture(scope="module")
def lesson(request):
    """What the lesson's code cells make when they are run here: all its names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(NOTEBOOKS)
        return _names_made_by(f"{request.module.LESSON}.ipynb")


@pytest.fixture(scope="module")
def lab(lesson):
    """The lab of a lesson that calls it `lab`."""
    return lesson["lab"]


@pytest.fixture(scope="module")
def tasks(request):
    """What the code cells of the solutions make: all their names."""
    return _names_made_by(f"solutions/{request.module.LESSON}_tasks.ipynb")


def _names_made_by(path: str) -> dict[str, Any]:
    names: dict[str, Any] = {"display": display}  # as in a notebook
    for cell in _code_cells(path):
        exec("".join(cell["source"]), names)  # noqa: S102 - our own lesson
    return names


def _code_cells(path: str) -> list[dict[str, Any]]:
    notebook = json.loads((NOTEBOOKS / path).read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.fixture
def unproved(request):
    """Sentences of the module's ``LESSON`` with a strong word that no test of it proves and ``SETTING`` has not."""
    module = request.module
    setting = getattr(module, "SETTING", ())
    _must_stand(setting, module.LESSON)
    known = [*setting, *HOW_TASKS_WORK, *_claims_of(module)]
    strong = [one for one in sentences(module.LESSON) if STRONG.search(one)]
    return [one for one in strong if not any(part in one or one in part for part in known)]
