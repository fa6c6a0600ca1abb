"""The tree beside each page is the one that Sphinx and furo would make for it, to the letter."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rmqlab.checkout import ROOT
from tests.proof.site.navigation import Navigation

# Furo's own tree is made too, and compared when a page is written.
SETTINGS = """
from furo import _compute_navigation_tree
from tests.proof.site.navigation import connect

html_theme = "furo"
html_sidebars = {"**": ["sidebar/navigation.html"]}
pages = []


def compare(app, page, template, context, doctree):
    pages.append(page)
    assert context["furo_navigation_tree"] == _compute_navigation_tree(context), page
    assert 'class="current' in context["furo_navigation_tree"] or page in OUTSIDE, page


def setup(app):
    connect(app)
    app.connect("html-page-context", compare, priority=700)
    app.connect("build-finished", lambda app, error: print("compared", *sorted(pages)))


OUTSIDE = {"index", "search", "genindex", "alone"}
"""
TREE = ".. toctree::\n   :hidden:\n   :caption: {0}\n\n   "
PAGES = {
    "index": TREE.format("One & all") + "top\n   folder/index\n\n" + TREE.format("<Two>") + "other/deep/page\n   WWW <https://w.example>",
    "top": "",
    "folder/index": ".. toctree::\n\n   one\n   two\n   below/index",
    "folder/one": "Part\n----\n\nText.",
    "folder/two": "",
    "folder/below/index": ".. toctree::\n\n   leaf\n   again <leaf2>",
    "folder/below/leaf": "",
    "folder/below/leaf2": "",
    "other/deep/page": "",
    "alone": ":orphan:",
}  # fmt: skip


def test_each_page_has_the_tree_that_furo_makes(tmp_path):
    (tmp_path / "conf.py").write_text(SETTINGS)
    for name, text in PAGES.items():
        path = tmp_path / f"{name}.rst"
        path.parent.mkdir(parents=True, exist_ok=True)
        title = f"{name} & <b>"
        path.write_text(f"{title}\n{'=' * len(title)}\n\n{text}\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(tmp_path), str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["compared", *sorted([*PAGES, "genindex", "search"])]


def test_a_page_that_stands_twice_is_named():
    entry = '<li class="toctree-l1"><a class="reference internal" href="a.html">A</a></li>'
    with pytest.raises(ValueError, match=r"a\.html stands twice in the tree of pages"):
        Navigation(f"<ul>{entry}{entry}</ul>")
