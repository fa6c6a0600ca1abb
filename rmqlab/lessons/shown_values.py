"""What a cell shows besides our own pictures and tables, in the reader's language: frames, texts, what is printed."""

from __future__ import annotations

import builtins
from typing import Any

from rmqlab.language import ENGLISH, language, translate


def in_notebook() -> None:
    """Let IPython translate what a cell shows besides our own pictures and tables: frames, texts, what is printed."""
    if language() == ENGLISH:
        return
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        return
    formatters = shell.display_formatter.formatters
    for module in ("pandas", "pandas.core.frame"):  # where pandas says that it is defined differs by its version
        formatters["text/html"].for_type_by_name(module, "DataFrame", _frame_html)
        formatters["text/plain"].for_type_by_name(module, "DataFrame", _frame_text)
    formatters["text/plain"].for_type(str, _text)
    shell.user_ns["print"] = _print


def _print(*values: object, **options: Any) -> None:
    builtins.print(*(translate(one) if isinstance(one, str) else one for one in values), **options)  # noqa: T201 - for cells


def _text(text: str, out: Any, _cycle: object) -> None:
    out.text(repr(translate(text)))


def _frame_html(frame: Any) -> str:
    return str(_frame(frame)._repr_html_())


def _frame_text(frame: Any, out: Any, _cycle: object) -> None:
    out.text(repr(_frame(frame)))


def _frame(frame: Any) -> Any:
    """A pandas frame with its words translated: names of columns stay, for code uses them."""
    shown = frame.copy()
    shown.columns = [_label(one) for one in frame.columns] if frame.columns.nlevels == 1 else frame.columns
    for position, kind in enumerate(frame.dtypes):
        if kind == "object":
            shown.isetitem(position, frame.iloc[:, position].map(_cell))
    if frame.index.nlevels == 1 and frame.index.dtype == "object":
        shown.index = frame.index.map(_cell)
    shown.columns.name, shown.index.name = frame.columns.name, frame.index.name
    return shown


def _label(name: object) -> object:
    return name if isinstance(name, str) and name.isidentifier() else _cell(name)


def _cell(value: object) -> object:
    return translate(value) if isinstance(value, str) else value
