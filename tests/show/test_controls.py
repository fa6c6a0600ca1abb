"""`rmqlab.show.controls`: one picture in a cell, plain widgets, errors as text, the same output every time."""

from __future__ import annotations

import re

import ipywidgets
import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.show.widgets import WIDGET_VIEW_MIME, Controls


def draw(*, queues, order="AB", text="x"):
    if text == "bad":
        raise BadInput("text is <bad>; write another")
    if text == "odd":
        raise ZeroDivisionError("division by zero")
    return rmqlab.show.bars([{"q": f"{order}{text}", "n": queues}], x="q", value="n", title="t")


def box(**more):
    return rmqlab.show.controls(draw, queues=range(1, 9), order={"A first": "AB", "B first": "BA"}, text="x", **more)


def test_a_cell_has_one_output_with_the_first_picture():
    controls = box(start={"queues": 4})
    bundle = controls._repr_mimebundle_()
    assert isinstance(controls, Controls)
    assert set(bundle) == {WIDGET_VIEW_MIME, "image/svg+xml", "text/plain"}
    assert bundle["text/plain"] == "t\nt: ABx 4."
    assert bundle["image/svg+xml"] in controls.view.value
    assert "x0" not in bundle["text/plain"]  # no address


def test_static_mode_is_the_picture_alone():
    assert box(mode="static").alt == "t: ABx 1."


def test_what_is_chosen_is_drawn():
    controls = box()
    controls.widgets["queues"].value = 8
    controls.widgets["order"].value = "BA"
    assert "BAx 8" in controls.view.value
    controls.widgets["text"].value = "y"
    assert "BAy 8" in controls.view.value
    assert controls.busy.value == ""


@pytest.mark.parametrize(("text", "words"), [("bad", "text is &lt;bad&gt;"), ("odd", "ZeroDivisionError: division")])
def test_what_cannot_be_drawn_is_said_and_can_be_mended(text, words):
    controls = box()
    controls.widgets["text"].value = text
    assert 'role="alert"' in controls.view.value
    assert words in controls.view.value
    controls.widgets["text"].value = "good"
    assert "<svg" in controls.view.value


def test_goals_are_counted_and_stay_found():
    goals = {"more than six": lambda found: found > 6, "B <first>": lambda found: found == 1}
    controls = rmqlab.show.controls(
        lambda *, queues: (draw(queues=queues), queues), queues=range(2, 9), goals=goals, start={"queues": 2}
    )
    assert "Found 0 of 2" in controls.goals.value
    assert controls.view.value.startswith("<figure")
    controls.widgets["queues"].value = 7
    assert "Found 1 of 2" in controls.goals.value
    assert "✓ <strong>more than six</strong>" in controls.goals.value
    controls.widgets["queues"].value = 3
    assert "Found 1 of 2" in controls.goals.value
    assert "✓ more than six" in controls.goals.value
    assert "☐ B &lt;first&gt;" in controls.goals.value


def test_goals_are_looked_for_in_what_is_drawn_and_named_without_a_kernel(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, **_: shown.append(bundle))
    controls = box(goals={"four queues": lambda picture: "4" in picture.alt})
    controls._ipython_display_()
    assert "Found 0 of 1" in shown[1]["text/html"]
    assert "☐ four queues" in shown[1]["text/html"]
    controls.widgets["queues"].value = 4
    assert "Found 1 of 1" in controls.goals.value
    assert box(mode="static", goals={"x": lambda _: True}).alt == "t: ABx 1."
    assert controls.goals in controls.box.children
    assert box().goals not in box().box.children


def test_widgets_are_plain_and_labelled():
    widgets = box().widgets
    assert [type(one) for one in widgets.values()] == [
        ipywidgets.SelectionSlider, ipywidgets.Dropdown, ipywidgets.Text,
    ]  # fmt: skip
    assert [one.description for one in widgets.values()] == ["queues", "order", "text"]


def test_tables_records_and_frames_can_be_drawn_too():
    lab = rmqlab.Lab(topics={"T": 1})
    lab.send("T", ["a"])
    controls = rmqlab.show.controls(lambda n: lab.messages() if n else [1], n=[1, 0])
    assert set(controls._repr_mimebundle_()) == {WIDGET_VIEW_MIME, "text/html", "text/plain"}
    controls.widgets["n"].value = 0
    assert controls.view.value == "<pre>[1]</pre>"


def test_a_live_table_stores_no_figure():
    shown = rmqlab.show.live("Times of this run", [{"ns": 12.5}])
    assert repr(shown) == "Times of this run appear here when the notebook runs."
    assert set(shown._repr_mimebundle_()) == {WIDGET_VIEW_MIME, "text/plain"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "nothing to choose; give values, such as queues=range(1, 9)"),
        ({"queues": [1], "mode": "lively"}, "mode is 'lively'; it is one of live, static"),
        ({"queues": []}, "queues has no values to choose from"),
        ({"queues": [1, 2], "start": {"queue": 2}}, "start names 'queue'; did you mean queues"),
        ({"queues": [1, 2], "start": {"queues": 3}}, "queues starts at 3; there are 1, 2"),
        ({"a": "b", "start": {"a": 3}}, "a is a field to write in; it starts with a text, not 3"),
    ],
)
def test_bad_calls_name_what_would_be_right(arguments, words):
    with pytest.raises(BadInput, match=re.escape(words)):
        rmqlab.show.controls(draw, **arguments)


def test_the_forms_of_the_room_can_be_found():
    assert dir(rmqlab.show) == sorted(rmqlab.show.PICTURE_FORMS)
    assert all(callable(getattr(rmqlab.show, name)) and getattr(rmqlab.show, name).__doc__ for name in dir(rmqlab.show))
    with pytest.raises(AttributeError, match="no attribute 'pie'"):
        _ = rmqlab.show.pie


def test_a_page_without_a_kernel_has_the_words_and_the_table_too(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: shown.append(bundle))
    box()._ipython_display_()
    picture, words = shown
    assert set(picture) == {WIDGET_VIEW_MIME, "image/svg+xml", "text/plain"}
    assert set(words) == {WIDGET_VIEW_MIME, "text/html", "text/plain"}
    assert words[WIDGET_VIEW_MIME] != picture[WIDGET_VIEW_MIME]  # where a kernel runs, an empty view
    assert "t: ABx 1." in words["text/html"]
