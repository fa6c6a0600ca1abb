"""The HTML report: tables with both values, notebooks executed for it with their pictures inside."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.lab.articles.experiments import read_manifest, reproduce
from rmqlab.lab.lessons import report

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("nbconvert")

CELL = """
from IPython.display import SVG, display
print("six", 3 * 2)
display(SVG('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><title>a square</title></svg>'))
"""


@pytest.fixture
def notebooks(tmp_path, monkeypatch):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    cells = [nbformat.v4.new_markdown_cell("# A question"), nbformat.v4.new_code_cell(CELL)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "01_question.ipynb")
    monkeypatch.setattr(report, "folder", lambda _name: folder)


@pytest.mark.usefixtures("notebooks")
def test_tables_and_executed_notebooks(tmp_path):
    manifest = read_manifest()
    index = report.write_report(tmp_path / "deep" / "report", [reproduce(manifest[name]) for name in ("E1", "E7")])
    text = index.read_text(encoding="utf-8")
    assert "2 of 2 experiments agree" in text
    assert text.count("AC10010F00002A9F00000017038666D2") >= 2
    assert "<td>(not printed)</td>" in text
    assert "href='01_question.html'" in text
    page = (index.parent / "01_question.html").read_text(encoding="utf-8")
    assert "six 6" in page
    assert "<title>a square</title>" in page or "data:image/svg" in page


@pytest.mark.usefixtures("notebooks")
def test_a_folder_that_cannot_be_is_named(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(BadInput, match=r"--report .*file: .*; name a folder that can be written"):
        report.write_report(file, [])
