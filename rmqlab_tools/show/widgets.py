"""`controls(draw, ...)`: one picture, and sliders, lists and fields that draw it anew.

Plain widgets only: `Output` and `interact` would make outputs that no strict comparison finds again. Where no kernel
runs, the cell shows the picture for the first values. Each control has a label and can be worked with the keyboard: Tab
goes from one to the next, arrows move a slider, Alt and the down arrow open a list.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined, translate
from rmqlab_tools.show.figure import SVG_MIME, Picture
from rmqlab_tools.show.goals import GoalSearch

if TYPE_CHECKING:
    from collections.abc import Callable

    from ipywidgets import ValueWidget

    from rmqlab_tools.show.tables import Table

WIDGET_VIEW_MIME = "application/vnd.jupyter.widget-view+json"
LIVE = "live"
WIDGET_MODES = (LIVE, "static")
Mode = Literal["live", "static"]
Choices = Mapping[str, Any] | Sequence[Any] | str
BUSY = "Computing ..."
REFUSED_WORDS = _("That cannot be run:")
Goals = Mapping[str, "Callable[[Any], bool]"]
"""What is worth finding, in words, and whether something has it."""


class Controls:
    """A picture and the controls that draw it anew. `view` is its HTML, `widgets` are the controls by name."""

    def __init__(
        self, draw: Callable[..., Any], widgets: Mapping[str, ValueWidget], first: Any, goals: Goals | None = None
    ) -> None:
        """`first` is what `draw` gave for the first values; `goals` are looked for whenever it gives something."""
        import ipywidgets

        self._draw = draw
        self._first, facts = _parts(first)
        self.search = GoalSearch(goals or {})
        self.goals = ipywidgets.HTML()
        self._look(facts)
        self.widgets = dict(widgets)
        self.view = ipywidgets.HTML(_html(self._first))
        self.busy = ipywidgets.HTML()
        for widget in self.widgets.values():
            widget.observe(self._changed, names="value")
        side_by_side = ipywidgets.Box(list(self.widgets.values()), layout={"flex_flow": "row wrap"})
        goals_view = [self.goals] if goals else []
        self.box = ipywidgets.VBox([side_by_side, *goals_view, self.busy, self.view])

    def _changed(self, change: object = None) -> None:
        values = {name: widget.value for name, widget in self.widgets.items()}
        self.busy.value = f'<p role="status"><em>{_(BUSY)}</em></p>'
        try:
            shown, facts = _parts(self._draw(**values))
            self.view.value = _html(shown)
            self._look(facts)
        except BadInput as error:
            self.view.value = _alert(str(error))
        except Exception as error:  # noqa: BLE001 - a reader's own code may raise anything, and a widget hides it
            self.view.value = _alert(f"{type(error).__name__}: {error}")
        finally:
            self.busy.value = ""

    def _look(self, facts: Any) -> None:
        """Look for goals in what is shown, and say which are found."""
        if self.search.goals:
            self.search.look(facts)
            self.goals.value = self.search.html()

    def __repr__(self) -> str:
        """The words of the first picture."""
        return repr(self._first)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """The controls where a kernel runs, the first picture elsewhere."""
        view: dict[str, Any] = {
            WIDGET_VIEW_MIME: self.box._repr_mimebundle_()[WIDGET_VIEW_MIME],
            "text/plain": repr(self),
        }
        if isinstance(self._first, Picture):
            return view | {SVG_MIME: self._first.svg}
        return view | {"text/html": _html(self._first)}

    def _ipython_display_(self) -> None:
        """The controls, and for a page without a kernel the first picture's words and table below it."""
        import ipywidgets
        from IPython.display import display

        display(self._repr_mimebundle_(), raw=True)
        if isinstance(self._first, Picture):
            nothing = ipywidgets.HTML()._repr_mimebundle_()[
                WIDGET_VIEW_MIME
            ]  # with a kernel the words are in the view above
            to_find = self.search.html() if self.search.goals else ""
            words = {"text/html": to_find + self._first.words(), "text/plain": self._first.table.text()}
            display({WIDGET_VIEW_MIME: nothing, **words}, raw=True)


class Live:
    """A table of what this run alone measured: shown where a kernel runs, a line of text where none does.

    Such figures differ from run to run, so no stored page keeps them and no comparison sees them.
    """

    def __init__(self, table: Table, name: str) -> None:
        """`name` says what it is, for the line of text."""
        self.table, self.name = table, name

    def __repr__(self) -> str:
        """What is shown where no kernel runs."""
        return str(_("{name} appear here when the notebook runs.", name=self.name))

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        import ipywidgets

        bundle: dict[str, Any] = ipywidgets.HTML(_html(self.table))._repr_mimebundle_()
        return {WIDGET_VIEW_MIME: bundle[WIDGET_VIEW_MIME], "text/plain": repr(self)}


def controls(
    draw: Callable[..., Any],
    *,
    mode: Mode = "live",
    start: Mapping[str, Any] | None = None,
    goals: Goals | None = None,
    **values: Choices,
) -> Any:
    """What `draw(...)` gives for the first values, with a control for each name that draws it anew.

    `draw` takes the names as keywords and returns a picture, a table, records, or a pandas frame. A range is a slider,
    a list a list to choose from, a dict named choices, a text a field to write in. `start` names other first values.
    With `mode` "static" there are no controls. `goals` says what is worth finding: words, and a function that says of
    what was drawn whether it is found (where `draw` returns a picture and something else, of that). The reader sees
    how many are found. This line gives a slider and a field::

        rmqlab.show.controls(draw, queues=range(1, 9), expression="a > 3", start={"queues": 4})

    Raises:
        BadInput: another mode, no control, or a start that is no choice.
    """
    if mode not in WIDGET_MODES:
        raise BadInput(_("mode is {mode}; it is one of {modes}", mode=f"{mode!r}", modes=joined(", ", WIDGET_MODES)))
    if not values:
        raise BadInput(_("controls: nothing to choose; give values, such as queues=range(1, 9)"))
    begins = dict(start or {})
    for name in begins:
        if name not in values:
            raise BadInput(
                _(
                    "controls: start names {name}{near}; there are {values}",
                    name=f"{name!r}",
                    near=did_you_mean(name, values),
                    values=joined(", ", values),
                )
            )
    options = {name: _options(name, choices) for name, choices in values.items()}
    for name, known in options.items():
        begins.setdefault(name, values[name] if known is None else next(iter(known.values())))
        if known is None and not isinstance(begins[name], str):
            raise BadInput(
                _(
                    "controls: {name} is a field to write in; it starts with a text, not {begins}",
                    name=name,
                    begins=f"{begins[name]!r}",
                )
            )
        if known is not None and begins[name] not in list(known.values()):
            raise BadInput(
                _(
                    "controls: {name} starts at {begins}; there are {known}",
                    name=name,
                    begins=f"{begins[name]!r}",
                    known=joined(", ", known),
                )
            )
    first = draw(**{name: begins[name] for name in values})
    if mode != LIVE:
        return _parts(first)[0]
    widgets = {name: _widget(name, values[name], options[name], begins[name]) for name in values}
    return Controls(draw, widgets, first, goals)


def live(caption: str, rows: object, **options: Any) -> Live:
    """A table of figures that differ from run to run: shown where a kernel runs, and never stored.

    `caption`, `rows` and `options` are those of `rmqlab.show.table`.
    """
    from rmqlab_tools.show.tables import table

    return Live(table(caption, rows, **options), caption)


def _parts(drawn: Any) -> tuple[Any, Any]:
    """What is shown, and what goals are looked for in: the second of two, else the same."""
    if isinstance(drawn, tuple):
        shown, facts = drawn
        return shown, facts
    return drawn, drawn


def _options(name: str, choices: Choices) -> dict[str, Any] | None:
    """Words and values of a control; None for a field to write in."""
    if isinstance(choices, str):
        return None
    options = dict(choices) if isinstance(choices, Mapping) else {_words(choice): choice for choice in choices}
    if not options:
        raise BadInput(_("controls: {name} has no values to choose from", name=name))
    return options


def _words(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _widget(name: str, choices: Choices, options: Mapping[str, Any] | None, first: Any) -> ValueWidget:
    import ipywidgets

    label = translate(name.replace("_", " "))
    common = {
        "description": label,
        "tooltip": label,
        "style": {"description_width": "9em"},
        "layout": {"width": "27em" if options is not None else "54em"},
    }
    if options is None:
        # Every key would be a run: wait until the reader is done.
        return ipywidgets.Text(value=first, continuous_update=False, **common)
    kind = ipywidgets.SelectionSlider if isinstance(choices, range) else ipywidgets.Dropdown
    given = {"continuous_update": False} if kind is ipywidgets.SelectionSlider else {}
    return kind(
        options=[(translate(words), choice) for words, choice in options.items()], value=first, **given, **common
    )


def _html(shown: Any) -> str:
    """What `draw` gave as HTML."""
    if hasattr(shown, "html"):
        return str(shown.html())
    if hasattr(shown, "_repr_html_"):
        return str(shown._repr_html_())
    return f"<pre>{html.escape(str(shown))}</pre>"


def _alert(text: str) -> str:
    return f'<p role="alert"><strong>{_(REFUSED_WORDS)}</strong> {html.escape(translate(text))}</p>'
