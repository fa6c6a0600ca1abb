"""`explore(draw, ...)`: first a picture that needs no kernel, then controls that draw it anew.

The first output is the picture for the first values. The second one is a box of controls with an HTML view, which holds
the picture for the values chosen. Plain controls only: `Output` and `interact` would make outputs that no strict
comparison finds again. Each control has a label and can be worked with the keyboard: Tab goes from one to the next,
arrows move a slider, Alt and the down arrow open a list (JupyterLab keeps the arrow alone for itself).
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from ipywidgets import ValueWidget

    from rmqlab.show.figure import Picture
    from rmqlab.show.tables import Table

WIDGET = "application/vnd.jupyter.widget-view+json"
LIVE = "live"
MODES = (LIVE, "static")
Mode = Literal["live", "static"]


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


BUSY = '<p role="status"><em>Computing ...</em></p>'


class Controls:
    """The box of controls below a picture. ``view`` is its HTML, ``widgets`` are the controls by name."""

    def __init__(
        self, draw: Callable[..., Picture], controls: Mapping[str, Control], first: Picture | None = None
    ) -> None:
        """``first`` is the picture for the first values; without it that is drawn, so that the view is never empty."""
        import ipywidgets

        self._draw = draw
        self.widgets: dict[str, ValueWidget] = {name: _widget(control) for name, control in controls.items()}
        self.view = ipywidgets.HTML()
        self.busy = ipywidgets.HTML()
        for widget in self.widgets.values():
            widget.observe(self._changed, names="value")
        side_by_side = ipywidgets.Box(list(self.widgets.values()), layout={"flex_flow": "row wrap"})
        self.box = ipywidgets.VBox([side_by_side, self.busy, self.view])
        if first is None:
            self._changed()
        else:
            self.view.value = first.html()

    def _changed(self, change: object = None) -> None:
        values = {name: widget.value for name, widget in self.widgets.items()}
        self.busy.value = BUSY
        try:
            self.view.value = self._draw(**values).html()
        except BadInput as error:
            self.view.value = f'<p role="alert"><strong>That cannot be run:</strong> {html.escape(str(error))}</p>'
        finally:
            self.busy.value = ""

    def __repr__(self) -> str:
        """What is shown where no kernel runs."""
        labels = ", ".join(widget.description for widget in self.widgets.values())
        return f"Controls ({labels}) and the picture they change appear here when the notebook runs."

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        bundle: dict[str, Any] = self.box._repr_mimebundle_()
        return {WIDGET: bundle[WIDGET], "text/plain": repr(self)}


class Live:
    """A table of what this run alone measured: shown where a kernel runs, a line of text where none does.

    Such figures differ from run to run, so no stored page keeps them and no comparison sees them.
    """

    def __init__(self, table: Table, name: str) -> None:
        """``name`` says what it is, for the line of text."""
        self.table, self.name = table, name

    def __repr__(self) -> str:
        """What is shown where no kernel runs."""
        return f"{self.name} appear here when the notebook runs."

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        import ipywidgets

        bundle: dict[str, Any] = ipywidgets.HTML(self.table.html())._repr_mimebundle_()
        return {WIDGET: bundle[WIDGET], "text/plain": repr(self)}


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
        display(Controls(draw, controls, first))


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
