"""What a cell shows besides our own pictures and tables, in the reader's language: frames, texts, reports, errors.

Texts stay English inside: only what is shown is translated, so `str(error)` and `lint(...).notes` are the same texts.
"""

from __future__ import annotations

import builtins
from typing import Any, Final

from rmqlab.errors import BadInput
from rmqlab.language import ENGLISH, language, translate

REPORTS: Final = {
    "Exploration": "rmqlab.search.explorer.exploration",
    "GroupLint": "rmqlab.search.lint.findings",
    "LabResult": "rmqlab.lab.results",
    "Plan": "rmqlab.search.plan.results",
    "ReplayResult": "rmqlab.lab.replay.replay",
    "Result": "rmqlab.lab.articles.experiments",
    "Sql92": "rmqlab.filter.sql92.answer",
}
"""What answers in lines of text, and where it is defined."""


def in_notebook() -> None:
    """Let IPython translate what a cell shows besides our own pictures and tables, or prints, or refuses."""
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
    for name, module in REPORTS.items():
        formatters["text/plain"].for_type_by_name(module, name, _report)
    shell.user_ns["print"] = _print
    shell.set_custom_exc((BadInput,), _refused)


def _print(*values: object, **options: Any) -> None:
    builtins.print(*(_lines(one) if _is_told(one) else one for one in values), **options)  # noqa: T201 - for cells


def _is_told(value: object) -> bool:
    return isinstance(value, str | BadInput) or REPORTS.get(type(value).__name__) == type(value).__module__


def _lines(value: object) -> str:
    """A text, line by line."""
    return "\n".join(map(translate, str(value).split("\n")))


def _report(report: object, out: Any, _cycle: object) -> None:
    out.text(_lines(report))


def _refused(shell: Any, kind: type[BadInput], error: BadInput, trace: object, tb_offset: int | None = None) -> None:
    """Show the error with its text translated; the error itself, which other code may hold, stays as it is."""
    shell.showtraceback((kind, kind.__new__(kind, _lines(error)), trace), tb_offset=tb_offset)


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
