"""Notebooks in use: exercises against their solutions, other parameters, a page without a kernel."""

from __future__ import annotations

import re

import papermill
import pytest

from rmqlab.checkout import ROOT
from rmqlab.language import SETTING as LANGUAGE
from rmqlab_tools.course.in_language import translated
from rmqlab_tools.spark.session import ADDRESS_SETTING
from tests.proof.catalogue.english import left_in_english
from tests.proof.exercises import exercise_of, exercise_path, sizes_text
from tests.proof.notebook_files import execute, page, read

NOTEBOOKS = ROOT / "notebooks"
SOLUTIONS = sorted((NOTEBOOKS / "solutions").glob("*.ipynb"))
LESSONS = sorted(NOTEBOOKS.glob("*.ipynb"))
# For each lesson parameters that differ from its own, and what one of its pictures must then say.
OTHERS = {
    "01_eight_messages": ({"mode": "static", "gap_ms": 3_000, "queues": 16, "seeds": 2}, "Grid of 16 queues"),
    "01b_article": ({"mode": "static", "gap_ms": 3_000, "queues": 6, "seeds": 1}, "Grid of 6 queues"),
    "02_tags": (
        {"mode": "static", "messages": 30, "queues": 2, "subscription": "BB"},
        "of 30 messages, 10 stopped at layer 1",
    ),
    "03_sql92": (
        {"mode": "static", "messages": 20, "expression": "NOT (a > 5)", "message": {"a": "3"}},
        "For a message with a = '3': true",
    ),
    "04_two_layers": (
        {"mode": "static", "messages": 20, "error_rate": 7, "expected": 4, "groups": 6},
        "7 % accepted, 4 groups expected",
    ),
    "05_bloom_profile": (
        {"mode": "static", "groups": 64, "selectivity": 0.05, "expression": "8 tags"},
        "Cost of filtering: 5% match, 64 groups, 8 tags",
    ),
    "06_heartbeats": (
        {"mode": "static", "way": "long pause", "pause_s": 30, "moments": 4},
        "A disappears: long pause",
    ),
    "08_every_schedule": (
        {"mode": "static", "gap_s": 12, "seeds": 2},
        "2 outcomes (all there are)",
    ),
    "10_real_broker": (
        {"mode": "static", "scenario": "p-bcast-060", "sets": ["noprop"], "seeds": 2},
        "p-bcast-060: the real broker and our run",
    ),
    "11_audit": ({"mode": "static", "scenario": "p-audit-000"}, "G_p-audit-000 lost 76 of 190 messages"),
    "12_distributions": ({"mode": "static", "x": "queues"}, "share that arrives over queues, from 0 to 1."),
    "14_healthy": ({"mode": "static", "each": 1, "group": "Wider"}, "Wider, Orders: losing"),
    "15_five": (
        {"mode": "static", "version": "5.3.3", "every_ms": 7_000, "runs": 1},
        "8 messages · 4 woke nobody · 4 lost.",
    ),
    "09_changing_a_tag": (
        {"mode": "static", "new": "tagA||tagB", "schedules": 1},
        "The group's one subscription in the broker",
    ),
    "07_rebalance": (
        {"mode": "static", "queues": 4, "way": "B is killed", "largest": 4},
        "Who owns which of 4 queues",
    ),
}
# Values with which a lesson cannot run, and what it says then.
WRONG = (
    ("01_eight_messages", {"queues": 0}, "topics.T is 0; a topic has 1 to 1024 queues"),
    ("02_tags", {"messages": 1}, "messages: at least 2"),
    ("03_sql92", {"messages": 0}, "messages: at least 1"),
    ("04_two_layers", {"messages": 6}, "messages: at least 7"),
    ("05_bloom_profile", {"expression": "x"}, "expression: one of "),
    ("10_real_broker", {"scenario": "x"}, "no scenario 'x'; there are p-article-000, "),
    ("11_audit", {"scenario": "x"}, "no scenario 'x'; there are p-audit-000, "),
    ("14_healthy", {"each": 33}, "each is 1 to 32"),
    ("15_five", {"version": "4.8.0"}, "4.8.0 has no POP; use push or lite"),
)
CHECK = "rmqlab.check("
EXERCISE = re.compile(r'rmqlab\.check\("([^"]+)"')
AT_CONNECT = ("11_audit", "12_distributions")  # tests/conftest.py lets one core run both; others take local sessions


def name(path):
    return path.stem


def codes(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("solution", SOLUTIONS, ids=name)
def test_committed_exercise_is_the_generated_one(solution):
    assert read(exercise_path(solution)) == exercise_of(read(solution)), "run: ./lab notebook --exercises"


def test_the_sizes_of_our_solutions_are_those_counted():
    counted = sizes_text(ROOT / "notebooks")
    assert (ROOT / "data" / "tasks" / "sizes.json").read_text(encoding="utf-8") == counted, "./lab notebook --exercises"


@pytest.mark.parametrize("solution", SOLUTIONS, ids=name)
def test_every_stub_is_not_yet_right_and_nothing_stops(solution):
    path = exercise_path(solution)
    done = execute(read(path), path.parent)  # "Run All" goes on after an open task
    checked = [cell for cell in codes(done) if CHECK in cell["source"]]
    assert len(checked) >= 3
    for cell in checked:
        text = cell["outputs"][-1]["data"]["text/plain"]
        assert text.startswith(f"{EXERCISE.search(cell['source'])[1]}: not yet. "), cell["id"]


@pytest.mark.parametrize("solution", SOLUTIONS, ids=name)
def test_every_solution_passed_its_check(solution):
    """As committed; that it does so again is what the strict comparison of ./lab test shows."""
    checked = [cell for cell in codes(read(solution)) if CHECK in cell["source"]]
    assert len(checked) >= 3
    for cell in checked:
        exercise = EXERCISE.search(cell["source"])[1]
        assert cell["outputs"][-1]["data"]["text/plain"].startswith(f"{exercise}: right. ")


@pytest.mark.parametrize("lesson", LESSONS, ids=name)
def test_lesson_runs_with_other_parameters(lesson, request, monkeypatch, tmp_path):
    """In a folder that has nothing to do with the lesson: its data is found all the same."""
    if lesson.stem in AT_CONNECT:
        monkeypatch.setenv(ADDRESS_SETTING, request.getfixturevalue("connect"))
    parameters, words = OTHERS.get(lesson.stem, ({"mode": "static"}, ""))
    done = papermill.execute_notebook(
        str(lesson),
        None,  # else it is written anew before and after each cell
        parameters=parameters,
        cwd=str(tmp_path),
        kernel_name="python3",
        progress_bar=False,
    )
    outputs = [output for cell in codes(done) for output in cell["outputs"]]
    texts = ["".join(output.get("data", {}).get("text/plain", "")) for output in outputs]
    assert any(words in text for text in texts)
    assert not [text for text in texts if text.startswith("Controls (")]


@pytest.mark.parametrize(("lesson", "parameters", "words"), WRONG, ids=[lesson for lesson, *_ in WRONG])
def test_a_value_that_is_wrong_is_named(lesson, parameters, words):
    path = NOTEBOOKS / f"{lesson}.ipynb"
    with pytest.raises(papermill.PapermillExecutionError, match=words):
        papermill.execute_notebook(str(path), None, parameters, cwd=str(path.parent), progress_bar=False)


def test_a_lesson_that_runs_in_chinese_shows_no_english_sentence(monkeypatch):
    """As a Chinese copy's kernel runs it; lesson 02 is the quickest one with pictures, tables and controls."""
    monkeypatch.setenv(LANGUAGE, "zh")
    path = NOTEBOOKS / "02_tags.ipynb"
    done = execute(translated(read(path), path.stem, "zh"), path.parent)
    assert left_in_english(done) == []
    assert "丢弃" in str([cell["outputs"] for cell in codes(done)])


@pytest.mark.parametrize("lesson", LESSONS, ids=name)
def test_page_without_a_kernel_shows_the_pictures_and_their_words(lesson):
    notebook = read(lesson)
    text = page(notebook, name(lesson))
    committed = [
        "".join(output["data"]["image/svg+xml"])
        for cell in codes(notebook)
        for output in cell["outputs"]
        if "image/svg+xml" in output.get("data", {})
    ]
    assert len(committed) >= 2
    for svg in committed:
        assert svg in text
        assert re.search(r'role="img" aria-labelledby="t\w+ d\w+".*<desc id="d\w+">[^<]', svg, re.DOTALL)
    assert "No description" not in text
