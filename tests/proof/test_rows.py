"""The matrix of mission rows: what counts as showing one, and what a wrong id does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rmqlab_tools.cli import cli
from tests.proof.commands import rows as verb
from tests.proof.rows import RowError, collect, read_rows, select

ROOT = Path(__file__).resolve().parents[2]
ROWS = {"S-01": "one", "S-02": "two", "S-03": "three", "F-01": "four", "H-01": "five"}


@pytest.fixture
def tree(tmp_path):
    for name in ("tests/filter", "notebooks/.ipynb_checkpoints", "data/mission"):
        (tmp_path / name).mkdir(parents=True)
    table = "".join(f"{row}\t{text}\n" for row, text in ROWS.items())
    (tmp_path / "data/mission/rows.tsv").write_text(f"id\ttext\n{table}", encoding="utf-8")
    return tmp_path


def write_test(tree, text):
    (tree / "tests/filter/test_tags.py").write_text(text, encoding="utf-8")


def write_notebook(tree, *cells, name="01.ipynb"):
    (tree / "notebooks" / name).write_text(json.dumps({"cells": cells, "nbformat": 4}), encoding="utf-8")


def test_the_checklist_is_whole():
    rows = read_rows(ROOT / "data/mission/rows.tsv")
    assert {chapter: sum(row[0] == chapter for row in rows) for chapter in "SFH"} == {"S": 97, "F": 100, "H": 53}
    assert [row for row in rows if row[0] == "S"] == [f"S-{number:02}" for number in range(1, 98)]


@pytest.mark.parametrize("line", ["S-1 no tab", "X-01\ttext", "S-01\t", "S-01\ta\nS-01\tb"])
def test_a_broken_checklist_is_named_with_its_line(tree, line):
    path = tree / "data/mission/rows.tsv"
    path.write_text(f"id\ttext\n{line}\n", encoding="utf-8")
    with pytest.raises(RowError, match=r"rows\.tsv:[23]: "):
        read_rows(path)


@pytest.mark.parametrize(
    ("which", "chosen"),
    [
        ("S", ["S-01", "S-02", "S-03"]),
        ("H, S-02", ["S-02", "H-01"]),
        ("S-02..S-03", ["S-02", "S-03"]),
        ("S-2..9,F", ["S-02", "S-03", "F-01"]),
    ],
)
def test_selection(which, chosen):
    assert select(ROWS, which) == chosen


@pytest.mark.parametrize("which", ["X", "S-04", "S-9..S-12", "S-01..F-01"])
def test_selection_of_nothing_is_refused(which):
    with pytest.raises(RowError, match="no such row"):
        select(ROWS, which)


def test_marks_on_functions_classes_parameters_and_modules(tree):
    write_test(
        tree,
        """
import pytest
pytestmark = [pytest.mark.row("H-01")]
@pytest.mark.row("S-01", "S-02")
def test_any(): ...
class TestTags:
    @pytest.mark.row("S-01")
    async def test_more(self): ...
@pytest.mark.parametrize("tag", [pytest.param("a", marks=pytest.mark.row("F-01"))])
@pytest.mark.row("S-01")
@pytest.mark.row("S-01")
def test_each(tag): ...
""",
    )
    file = "tests/filter/test_tags.py"
    assert collect(tree, ROWS) == {
        "S-01": [f"{file}::test_any", f"{file}::TestTags::test_more", f"{file}::test_each"],
        "S-02": [f"{file}::test_any"],
        "S-03": [],
        "F-01": [f"{file}::test_each"],
        "H-01": [file],
    }


def test_tags_of_notebook_cells(tree):
    cells = [
        {"id": "abc", "metadata": {"tags": ["row:S-01", "parameters"]}},
        {"metadata": {"tags": ["row:S-01"]}},
        {"id": "no-tags", "metadata": {}},
    ]
    write_notebook(tree, *cells)
    write_notebook(tree, *cells, name=".ipynb_checkpoints/01-checkpoint.ipynb")
    assert collect(tree, ROWS)["S-01"] == ["notebooks/01.ipynb#abc", "notebooks/01.ipynb#1"]


@pytest.mark.parametrize("mark", ["'S-99'", "'S-1'", "ROW"])
def test_a_wrong_id_is_refused_with_its_place(tree, mark):
    write_test(tree, f"ROW = 'S-01'\n@pytest.mark.row({mark})\ndef test_any(): ...")
    with pytest.raises(RowError, match=r"^tests/filter/test_tags\.py:"):
        collect(tree, ROWS)


def test_a_wrong_tag_is_refused_with_its_cell(tree):
    write_notebook(tree, {"id": "abc", "metadata": {"tags": ["row:S-99"]}})
    with pytest.raises(RowError, match=r"notebooks/01\.ipynb#abc: row 'S-99'"):
        collect(tree, ROWS)


@pytest.fixture
def verb_in(tree, monkeypatch):
    monkeypatch.setattr(verb, "ROOT", tree)
    monkeypatch.setattr(verb, "checkout_path", tree.joinpath)
    return tree


def test_status_says_whether_a_row_that_counts_is_missing(verb_in, capsys):
    write_test(verb_in, "@pytest.mark.row('S-01', 'S-03')\ndef test_any(): ...")
    assert cli.main(["rows"]) == 1
    assert "S-02  - two" in capsys.readouterr().out
    assert cli.main(["rows", "--only", "S-01,S-03"]) == 0
    assert capsys.readouterr().out.endswith("2 of 2 rows of S-01,S-03 are shown\n")
    write_test(verb_in, "@pytest.mark.row('S-01', 'S-02', 'S-03')\ndef test_any(): ...")
    assert cli.main(["rows"]) == 1
    assert "F-01  - four" in capsys.readouterr().out
    write_test(verb_in, "@pytest.mark.row('S-01', 'S-02', 'S-03', 'F-01')\ndef test_any(): ...")
    assert cli.main(["rows"]) == 1
    assert "H-01  - five" in capsys.readouterr().out
    write_test(verb_in, "@pytest.mark.row('S-01', 'S-02', 'S-03', 'F-01', 'H-01')\ndef test_any(): ...")
    assert cli.main(["rows"]) == 0


def test_missing_prints_only_the_missing(verb_in, capsys):
    write_test(verb_in, "@pytest.mark.row('S-01', 'S-03')\ndef test_any(): ...")
    assert cli.main(["rows", "--missing", "--only", "S", "--json", "-"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["missing"] == ["S-02"]
    assert printed.err == "S-02  - two\n2 of 3 rows of S are shown\n"
