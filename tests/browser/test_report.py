"""The pages of the report on a telephone: nothing is wider than the screen."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("nbconvert")

from rmqlab_tools.course.articles.experiments import read_manifest, reproduce
from tests.proof import notebook_files, report

WIDTH = 420
FILES = ("notebooks/01_eight_messages.ipynb", "notebooks/05_bloom_profile.ipynb", "notebooks/glossary.md",
         "data/articles/README.md")  # fmt: skip
WIDER = """[...document.querySelectorAll('body *')].filter(one => {
  if (one.getBoundingClientRect().right <= innerWidth + 1) return false
  for (let outer = one.parentElement; outer !== document.body; outer = outer.parentElement)
    if (getComputedStyle(outer).overflowX !== 'visible') return false
  return true
}).map(one => one.outerHTML.slice(0, 80))"""


def test_the_report_fits_a_telephone(tmp_path, monkeypatch, root, empty_page):
    """Two lessons as they are committed stand for executed ones, with pictures, wide tables and long lines of code."""
    for name in FILES:
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / "tree" / name)
    monkeypatch.setattr(report, "checkout_path", (tmp_path / "tree").joinpath)
    monkeypatch.setattr(notebook_files, "execute", lambda notebook, folder: notebook)
    report.write_report(tmp_path / "out", [reproduce(read_manifest()["E1"])], ["one line"])
    pages = sorted((tmp_path / "out").rglob("*.html"))
    assert len(pages) == len(FILES) + 1
    empty_page.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=900, deviceScaleFactor=1, mobile=True)
    for path in pages:
        empty_page.open(path.as_uri())
        empty_page.until(f"location.href == {path.as_uri()!r} && document.readyState == 'complete'", "the page")
        empty_page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert empty_page.evaluate("document.documentElement.scrollWidth") <= WIDTH, path.name
        assert empty_page.evaluate(WIDER) == [], path.name
