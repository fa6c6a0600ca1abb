"""The older way to controls, which goes with the lessons that still use it: `rmqlab.show.controls` takes its place.

The first output is the picture for the first values. The second one is a box of controls with an HTML view, which holds
the picture for the values chosen. Plain controls only: `Output` and `interact` would make outputs that no strict
comparison finds again. Each control has a label and can be worked with the keyboard: Tab goes from one to the next,
arrows move a slider, Alt and the down arrow open a list (JupyterLab keeps the arrow alone for itself).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.show.widgets import LIVE, MODES, WIDGET, Controls, Live, Mode

if TYPE_CHECKING:
    from collections.abc import Callable

    from ipywidgets import ValueWidget

    from rmqlab.show.figure import Picture


__all__ = ["LIVE", "MODES", "WIDGET", "ChoiceControl", "Controls", "Live", "Mode", "Text", "explore"]


@dataclass(frozen=True, slots=True)
class ChoiceControl:
    """A control with named values: ``options`` maps what is read to what is passed on.

    It begins at the option named ``start`` (default: the first). ``slider`` shows a slider, for values in an order.
    """

    label: str
    options: Mapping[str, Any]
    start: str | None = None
    slider: bool = False

    @property
    def first(self) -> Any:
        """The value to begin with."""
        return self.options[next(iter(self.options)) if self.start is None else self.start]


@dataclass(frozen=True, slots=True)
class Text:
    """A control for a short text, ``first`` to begin with; a ``wide`` one takes the place of two."""

    label: str
    first: str
    wide: bool = False


Control = ChoiceControl | Text


def explore(draw: Callable[..., Picture], *, mode: Mode = "live", **controls: Control) -> None:
    """Show ``draw(...)`` for the first value of each control, then (``mode`` "live") the controls.

    `draw` takes the names of the controls as keywords and returns a picture.

    Raises:
        BadInput: another mode.
    """
    from IPython.display import display

    if mode not in MODES:
        raise BadInput(f"mode is {mode!r}; it is one of {', '.join(MODES)}")
    first = draw(**{name: control.first for name, control in controls.items()})
    display(first)
    if mode == LIVE:
        display(Controls(draw, {name: _widget(control) for name, control in controls.items()}, first))


def _widget(control: Control) -> ValueWidget:
    import ipywidgets

    common = {
        "description": control.label,
        "tooltip": control.label,
        "style": {"description_width": "9em"},
        "layout": {"width": "27em"},
    }
    if isinstance(control, Text):
        if control.wide:
            common["layout"] = {"width": "54em"}
        # Every key would be a run: wait until the reader is done.
        return ipywidgets.Text(value=control.first, continuous_update=False, **common)
    options = list(control.options.items())
    if control.slider:
        return ipywidgets.SelectionSlider(options=options, value=control.first, continuous_update=False, **common)
    return ipywidgets.Dropdown(options=options, value=control.first, **common)
