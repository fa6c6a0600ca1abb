"""The HTML report: tables with both values, lessons executed for it with their pictures inside, no dead link."""

from __future__ import annotations

import re

import pytest

from rmqlab.errors import BadInput
from rmqlab_tools.course.articles.experiments import read_manifest, reproduce
from rmqlab_tools.course.articles.report_text import summary
from tests.proof import report

pytestmark = pytest.mark.slow

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("nbconvert")

CELL = """
from IPython.display import SVG, display
print("six", 3 * 2)
display(SVG('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><title>a square</title></svg>'))
"""
LINKS = """# 01 A question · 问题
[tasks](exercises/01_tasks.ipynb), [a word](glossary.md#word), [no word](glossary.md#gone), [code](../rmqlab/x.py),
[section](../data/articles/README.md#s-3-1), [far](https://github.com/apache/rocketmq)
"""


@pytest.fixture
def notebooks(tmp_path, monkeypatch):
    """A source tree with one lesson, its tasks and the two texts."""
    tree = tmp_path / "tree"
    cells = [nbformat.v4.new_markdown_cell(LINKS), nbformat.v4.new_code_cell(CELL)]
    task = [nbformat.v4.new_markdown_cell("# 01 Tasks\n[lesson](../01_question.ipynb)")]
    for folder in ("notebooks/exercises", "data/articles"):
        (tree / folder).mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tree / "notebooks" / "01_question.ipynb")
    nbformat.write(nbformat.v4.new_notebook(cells=task), tree / "notebooks" / "exercises" / "01_tasks.ipynb")
    (tree / "notebooks" / "glossary.md").write_text('# Glossary\n<a id="word"></a>word\n')
    (tree / "data" / "articles" / "README.md").write_text('# Articles\n<a id="s-3-1"></a>S 3.1\n')
    monkeypatch.setattr(report, "checkout_path", tree.joinpath)


@pytest.mark.usefixtures("notebooks")
def test_tables_and_executed_notebooks(tmp_path, capfd):
    manifest = read_manifest()
    results = [reproduce(manifest[name]) for name in ("E1", "E7")]
    lines = []
    index = report.write_report(tmp_path / "deep" / "report", results, summary(results), lines.append)
    text = index.read_text(encoding="utf-8")
    assert "2 of 2 experiments agree" in text
    assert text.count("AC10010F00002A9F00000017038666D2") >= 2
    assert "<td>(not printed)</td>" in text
    assert "<li>93 of 93 figures that the articles print are equal here</li>" in text
    assert 'href="notebooks/01_question.html">01 A question · 问题</a>' in text
    assert "消费者消费消息情况" in text
    page = (index.parent / "notebooks" / "01_question.html").read_text(encoding="utf-8")
    assert "six 6" in page
    assert "<title>01 A question · 问题</title>" in page
    assert "<title>a square</title>" in page or "data:image/svg" in page
    assert lines == ["report: lesson 1 of 1, 01_question"]
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("notebooks")
def test_links_lead_to_pages_of_the_report_or_out_of_it_and_the_others_are_text(tmp_path):
    index = report.write_report(tmp_path, [], [])
    links = {
        path.relative_to(tmp_path).as_posix(): re.findall(r'<a\b[^>]*\shref="([^"]*)"[^>]*>([^<¶]+)<', path.read_text())
        for path in index.parent.rglob("*.html")
    }
    assert links["notebooks/01_question.html"] == [
        ("../notebooks/exercises/01_tasks.html", "tasks"),
        ("../notebooks/glossary.html#word", "a word"),
        ("../data/articles/README.html#s-3-1", "section"),
        ("https://github.com/apache/rocketmq", "far"),
    ]
    assert links["notebooks/exercises/01_tasks.html"] == [("../../notebooks/01_question.html", "lesson")]
    local = [link for pairs in links.values() for link, _ in pairs if not link.startswith("https://")]
    assert len(local) >= 8
    for page, pairs in links.items():
        for link, _ in pairs:
            path, _, place = link.partition("#")
            if not link.startswith("https://"):
                target = (tmp_path / page).parent / path if path else tmp_path / page
                assert place == "" or re.search(rf"""id=['"]{place}['"]""", target.read_text()), (page, link)
                assert target.is_file(), (page, link)


@pytest.mark.usefixtures("notebooks")
def test_a_folder_that_cannot_be_is_named(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(BadInput, match=r"--report .*file: .*; name a folder that can be written"):
        report.write_report(file, [], [])
