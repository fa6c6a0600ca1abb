"""Controls: picture first, labels, keyboard, errors as text, nothing that changes from run to run."""

from __future__ import annotations

import ipywidgets
import pytest

from rmqlab.errors import BadInput
from rmqlab.show.chart import canvas, svg_of
from rmqlab.show.explore import WIDGET, ChoiceControl, Controls, Text, _widget, explore
from rmqlab.show.figure import Picture
from rmqlab.show.tables import Table

pytestmark = pytest.mark.slow


def draw(*, number, text):
    if text == "bad":
        raise BadInput("text is <bad>; write another")
    with canvas(1, 1) as figure:
        return Picture(svg_of(figure), title=f"{number}", alt=f"{number} {text}", table=Table("t", ("a",), [(number,)]))


CONTROLS = {
    "number": ChoiceControl("How many", {"one": 1, "two": 2}, start="two", slider=True),
    "text": Text("Which", "x"),
}


@pytest.fixture
def shown(monkeypatch):
    things = []
    monkeypatch.setattr("IPython.display.display", things.append)
    return things


def test_picture_comes_first_then_controls(shown):
    explore(draw, **CONTROLS)
    picture, controls = shown
    assert picture.alt == "2 x"
    assert isinstance(controls, Controls)


def test_the_first_picture_is_drawn_once_and_stands_in_the_view_too(shown):
    drawn = []

    def counted(**values):
        drawn.append(values)
        return draw(**values)

    explore(counted, **CONTROLS)
    picture, controls = shown
    assert drawn == [{"number": 2, "text": "x"}]
    assert controls.view.value == picture.html()
    controls.widgets["number"].value = 1
    assert drawn[1:] == [{"number": 1, "text": "x"}]


def test_static_mode_has_no_controls(shown):
    explore(draw, mode="static", **CONTROLS)
    (picture,) = shown
    assert picture.alt == "2 x"


def test_another_mode_is_refused(shown):
    with pytest.raises(BadInput, match="mode is 'lively'; it is one of live, static"):
        explore(draw, mode="lively", **CONTROLS)
    assert shown == []


def box():
    widgets = {name: _widget(control) for name, control in CONTROLS.items()}
    return Controls(draw, widgets, draw(number=2, text="x"))


def test_a_control_changes_the_view():
    controls = box()
    before = controls.view.value
    assert draw(number=2, text="x").svg in before
    controls.widgets["number"].value = 1
    assert draw(number=1, text="x").svg in controls.view.value
    controls.widgets["text"].value = "y"
    assert "1 y" in controls.view.value


def test_input_that_cannot_be_run_is_explained_and_can_be_mended():
    controls = box()
    controls.widgets["text"].value = "bad"
    assert 'role="alert"' in controls.view.value
    assert "text is &lt;bad&gt;" in controls.view.value
    controls.widgets["text"].value = "good"
    assert "<svg" in controls.view.value


def test_controls_are_plain_and_labelled():
    controls = box()
    for widget in controls.widgets.values():
        assert isinstance(widget, ipywidgets.SelectionSlider | ipywidgets.Dropdown | ipywidgets.Text)
        assert widget.description
        assert widget.tooltip
    assert not [child for child in controls.box.children if isinstance(child, ipywidgets.Output)]


def test_what_is_stored_is_the_same_every_time():
    one, other = (box()._repr_mimebundle_() for _ in range(2))
    assert one["text/plain"] == other["text/plain"]
    assert one["text/plain"] == "2\n2 x"
    assert set(one) == {WIDGET, "image/svg+xml", "text/plain"}
