"""The lessons in JupyterLab: the first picture stands on the first screen, and each control answers at once.

Each lesson runs as far as its controls. A control is moved as a reader does it, and the time is the page's own: from
the key or the choice until another picture stands there. The lessons on Spark are left out: each starts a session.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rmqlab.checkout import ROOT
from rmqlab_tools.show.figure import LEGIBLE_PX
from tests.browser.test_pictures import MIN_PX, measure

LESSONS = (
    "02_tags", "03_sql92", "04_two_layers", "05_bloom_profile", "06_heartbeats", "07_rebalance", "08_every_schedule",
    "09_changing_a_tag", "10_real_broker", "14_healthy", "15_five",
)  # fmt: skip
BEFORE_THE_GUESS = ("02_tags", "03_sql92", "04_two_layers", "08_every_schedule")  # their picture stands there
FIRST_SCREEN_PX = 640  # of 720: the rest is JupyterLab's
CONTROLS = "rmqlab.show.controls("
# When both members ask for all, everyone who is asked wants it; with another recording "run" makes no other picture.
FIRST, LAST = ("everyone",), ("what",)
SLOWEST_S = 3
TRIES = 3  # another core's work may hold one answer up; the best one tells what a control takes
# What is written into a field, by its label.
TEXTS = {"condition": "a > 3", "message": "a=5", "subscription": "*", "tags": "Aa, TagA", "A asks": "*", "B asks": "*"}
LABELS = """
window.controls = [...panel.node.querySelectorAll('.widget-inline-hbox')].filter(
  box => box.querySelector('select, input, [role=slider]'));
controls.map(box => box.querySelector('label').textContent)
"""
MOVE = """
(async () => {
  const control = controls[NUMBER], view = [...control.closest('.widget-vbox').querySelectorAll('.widget-html')].pop();
  const list = control.querySelector('select'), field = control.querySelector('input'), before = view.innerHTML;
  const slider = control.querySelector('[role=slider]'), began = performance.now();
  if (list) {
    list.selectedIndex = (list.selectedIndex + 1) % list.options.length;
    list.dispatchEvent(new Event('change', {bubbles: true}));
  } else if (field) {
    field.value = TEXT;
    field.dispatchEvent(new Event('input', {bubbles: true}));
    field.dispatchEvent(new Event('change', {bubbles: true}));
  } else {
    const last = slider.getAttribute('aria-valuenow') === slider.getAttribute('aria-valuemax');
    const key = last ? 'ArrowLeft' : 'ArrowRight';
    slider.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
  }
  while (view.innerHTML === before && performance.now() - began < 20000) await new Promise(go => setTimeout(go, 10));
  const error = view.querySelector('[role=alert]');
  return [view.innerHTML === before ? null : (performance.now() - began) / 1000, error && error.textContent];
})()
"""
NO_CHOICE = "controls.filter(box => box.querySelector('select')?.selectedIndex === -1).map(box => box.textContent)"
# A picture that no control draws is an image here: it is as wide as its column, or as its letters need, or as it is.
CUT = """
[...panel.node.querySelectorAll('.jp-RenderedSVG img')].filter(image =>
  image.width > Math.max(image.parentElement.clientWidth, LEGIBLE) + 1).map(image => [image.width, image.naturalWidth])
""".replace("LEGIBLE", str(LEGIBLE_PX))
TOP = "panel.node.querySelector('.jp-RenderedSVG img').getBoundingClientRect().top"


def run_to_the_controls(page, name):
    """Run the cells down to the last one with controls, and wait until the kernel has nothing to do."""
    cells = json.loads((ROOT / "notebooks" / name).read_text(encoding="utf-8"))["cells"]
    last = max(number for number, cell in enumerate(cells) if CONTROLS in "".join(cell["source"]))
    page.evaluate(f"panel.content.activeCellIndex = {last}")
    for command in ("run-all-above", "run-cell"):
        page.evaluate(f"void jupyterapp.commands.execute('notebook:{command}')")
    done = f"panel.content.widgets[{last}].model.executionCount > 0"
    page.until(f"{done} && panel.sessionContext.session.kernel.status === 'idle'", f"{name} to run", 180)
    page.until("panel.node.querySelector('.widget-html svg, .widget-html table') !== null", "the controls")


@pytest.mark.parametrize("name", LESSONS)
def test_first_picture_and_controls(name, notebook_page):
    page = notebook_page(f"{name}.ipynb")
    page.resize(1280, 720)
    run_to_the_controls(page, f"{name}.ipynb")
    page.evaluate("panel.content.activeCellIndex = 0")
    page.evaluate("panel.content.widgets[0].node.scrollIntoView()")
    top = page.evaluate(TOP)
    if folder := os.environ.get("RMQLAB_SCREENSHOTS"):
        page.picture(Path(folder) / f"lesson_{name[:2]}.png")
    labels = page.evaluate(LABELS)
    assert labels
    assert page.evaluate(NO_CHOICE) == []
    assert page.evaluate(CUT) == []
    answers = {}
    for number, label in sorted(enumerate(labels), key=lambda one: (one[1] in LAST) - (one[1] in FIRST)):
        script = MOVE.replace("NUMBER", str(number)).replace("TEXT", json.dumps(TEXTS.get(label, "")))
        for _ in range(TRIES):
            seconds, error = page.evaluate(script)
            assert seconds is not None, f"{label}: no other picture"
            assert error is None, f"{label}: {error}"
            answers[label] = min(seconds, answers.get(label, seconds))
            if answers[label] < SLOWEST_S or label in TEXTS:  # the same text again makes no other picture
                break
        assert page.evaluate(measure(MIN_PX)) == [], label
    print(name, round(top), answers)  # noqa: T201 - seconds; -s shows them
    assert top < FIRST_SCREEN_PX or name not in BEFORE_THE_GUESS
    assert max(answers.values()) < SLOWEST_S, answers
