"""Notebook 01 as a reader uses it: opened in JupyterLab, run, its controls moved by keyboard."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NAME = "01_eight_messages.ipynb"
VIEW = "document.querySelector('.widget-html svg')"
WORDS = f"({VIEW}?.querySelector('desc')?.textContent ?? '')"


@pytest.fixture(scope="module")
def page(notebook_page):
    page = notebook_page(NAME)
    assert page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')") is True
    page.until(f"{VIEW} !== null", "the controls and their picture", 120)
    page.until("panel.sessionContext.session.kernel.status === 'idle'", "the last cell")
    page.evaluate("document.querySelector('.widget-html').closest('.jp-Cell').scrollIntoView()")
    yield page
    # Look at it: RMQLAB_SCREENSHOTS=somewhere ./lab test tests/browser
    if folder := os.environ.get("RMQLAB_SCREENSHOTS"):
        page.picture(Path(folder) / "notebook_01.png")


def focus(page, label, inner):
    """Put the focus on the control with this label."""
    found = page.evaluate(
        "(() => { const label = [...document.querySelectorAll('.jupyter-widgets label')]"
        f".find(l => l.textContent === {label!r});"
        f" const control = label.parentElement.querySelector({inner!r}); control.focus(); control.select?.();"
        " return document.activeElement === control })()"
    )
    assert found, f"no {inner} beside the label {label!r} takes the focus"


def test_every_cell_ran_without_error(page):
    assert page.evaluate("panel.content.widgets.length") == 30
    errors = "[...document.querySelectorAll('.jp-RenderedText[data-mime-type$=error], .jp-OutputArea-error')].length"
    assert page.evaluate(errors) == 0


def test_pictures_are_shown(page):
    images = "[...document.querySelectorAll('.jp-RenderedSVG img')].map(i => i.complete && i.naturalWidth > 400)"
    shown = page.evaluate(images)
    assert len(shown) >= 5
    assert all(shown)


def test_picture_above_the_controls_is_the_first_one_below_them(page):
    assert page.evaluate(WORDS).startswith("2 of 8 delivered, 6 lost, lag 0. 8 sent; the broker")


def test_a_slider_changes_the_picture(page):
    before = page.evaluate(f"{VIEW}.outerHTML")
    focus(page, "queues", "[role=slider]")
    page.press("ArrowLeft")
    page.until(f"{WORDS}.includes('Grid of 3 queues')", "a picture of three queues")
    assert page.evaluate(f"{VIEW}.outerHTML") != before
    assert page.evaluate(WORDS).startswith("1 of 8 delivered, 7 lost")


def test_a_list_changes_the_picture(page):
    focus(page, "order", "select")
    choose = "(list => { list.selectedIndex = 1; list.dispatchEvent(new Event('change', {bubbles: true})) })"
    page.evaluate(f"{choose}(document.activeElement)")
    page.until(f"{WORDS}.includes('the broker lets through tagA')", "A in the slot")


def test_text_is_taken_with_enter_and_refused_with_a_reason(page):
    focus(page, "A asks", "input")
    page.type("||")
    page.press("Enter")
    alert = "document.querySelector('.widget-html [role=alert]')?.textContent ?? ''"
    page.until(f"({alert}).includes('no client can subscribe')", "the reason")
    focus(page, "A asks", "input")
    page.type("*")
    page.press("Enter")
    page.until(f"{WORDS}.includes('delivered')", "the picture again")


def test_every_control_has_a_label(page):
    controls = ", ".join(f".jupyter-widgets {kind}" for kind in ("select", "input", "[role=slider]"))
    label = "c => c.closest('.jupyter-widgets').querySelector('label')?.textContent ?? ''"
    named = f"[...document.querySelectorAll({controls!r})].map({label})"
    labels = page.evaluate(named)
    assert len(labels) == 8
    assert all(labels)


def test_every_list_shows_what_is_chosen(page):
    chosen = "list => list.selectedOptions[0]?.label ?? ''"
    shown = page.evaluate(f"[...document.querySelectorAll('.jupyter-widgets select')].map({chosen})")
    assert shown
    assert all(shown), shown
