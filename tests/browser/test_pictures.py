"""Every lesson's page in Chromium: letters of 13 pixels or more, no two words over each other, pictures with names.

Measured as a reader sees it, in the browser, on a window of 1280 pixels and on one of 1024, as a projector has it. On a
telephone a picture that is wider scrolls in its cell.
"""

from __future__ import annotations

import pytest

from rmqlab.checkout import ROOT
from tests.browser.conftest import browser, program
from tests.proof.notebook_files import page, read

LESSONS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
MIN_PX, MIN_ON_A_TELEPHONE_PX = 13, 11
WIDTHS = (1280, 1024)
TELEPHONE = 400
# Words of a picture: how large they are shown, and which of them cover each other by more than two pixels.
MEASURE = """
(() => {
  const found = [];
  document.querySelectorAll('svg[role=img]').forEach((svg, number) => {
    const name = svg.querySelector('title').textContent;
    const words = /[\\p{L}\\p{N}]/u;  // a mark may lie on another mark
    const texts = [...svg.querySelectorAll('text')].filter(text => words.test(text.textContent));
    const boxes = texts.map(text => {  // of its letters: blanks that hold a place cover nothing
      const box = text.getBoundingClientRect(), all = text.textContent, letter = box.width / all.length;
      const before = all.length - all.trimStart().length, after = all.length - all.trimEnd().length;
      const left = box.left + before * letter, right = box.right - after * letter;
      return {left, right, top: box.top, bottom: box.bottom, height: box.height};
    });
    texts.forEach((text, n) => {
      const scale = text.getScreenCTM();
      const size = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(scale.a, scale.b);
      const says = text.textContent.trim();
      if (size < LEAST - 0.05) found.push(`${name}: "${says}" has ${size.toFixed(1)} px`);
      for (let m = 0; m < n; m++) {
        const a = boxes[n], b = boxes[m];
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 2 && high > 0.35 * Math.min(a.height, b.height))
          found.push(`${name}: "${says}" covers "${texts[m].textContent.trim()}"`);
      }
    });
    const box = svg.getBoundingClientRect();
    boxes.forEach((word, n) => {
      if (word.left < box.left - 1 || word.right > box.right + 1)
        found.push(`${name}: "${texts[n].textContent.trim()}" runs out of the picture`);
    });
    if (box.right > document.documentElement.clientWidth) found.push(`${name}: wider than the page`);
  });
  return found;
})()
"""


def measure(least):
    """The script, for letters of so many pixels."""
    return MEASURE.replace("LEAST", str(least))


@pytest.fixture(scope="module")
def window():
    if program() is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with browser() as tab:
        yield tab


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_words_in_pictures_can_be_read(lesson, window, tmp_path):
    target = tmp_path / "page.html"
    target.write_text(page(read(lesson), lesson.stem), encoding="utf-8")
    window.open(target.as_uri())
    window.until(f"document.readyState == 'complete' && location.href == {target.as_uri()!r}", "the page")
    assert window.evaluate("document.querySelectorAll('svg[role=img]').length") >= 2
    for width in WIDTHS:
        window.resize(width)
        assert window.evaluate("innerWidth") == width
        assert window.evaluate(measure(MIN_PX)) == []
    window.resize(TELEPHONE)
    found = window.evaluate(measure(MIN_ON_A_TELEPHONE_PX))
    assert [one for one in found if not one.endswith("wider than the page")] == []  # it scrolls
    assert window.evaluate("document.documentElement.scrollWidth") <= TELEPHONE


def test_pictures_have_names_for_a_screen_reader(window, tmp_path):
    target = tmp_path / "page.html"
    target.write_text(page(read(LESSONS[0]), LESSONS[0].stem), encoding="utf-8")
    window.open(target.as_uri())
    window.until(f"document.readyState == 'complete' && location.href == {target.as_uri()!r}", "the page")
    window.call("Accessibility.enable")
    nodes = window.call("Accessibility.getFullAXTree")["nodes"]
    images = [node for node in nodes if node.get("role", {}).get("value") in {"image", "img", "graphics-document"}]
    names = [node["name"]["value"] for node in images if not node.get("ignored")]
    drawn = window.evaluate(
        "[...document.querySelectorAll('svg[role=img]')].map(s => s.querySelector('desc').textContent)"
    )
    assert all(any(words in name for name in names) for words in drawn)
