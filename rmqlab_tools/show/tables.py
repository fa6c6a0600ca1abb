"""Tables: the twin of every picture, and what a notebook prints beside an article's figure."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from rmqlab.errors import BadInput
from rmqlab.language import ENGLISH, _, columns, joined, language, translate
from rmqlab_tools.visible import in_line, visible

# Of a page that shows tables, on a wide screen and on a telephone.
PAGE_STYLE = """
body { font: 16px/1.5 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }
body { overflow-wrap: break-word }
table { border-collapse: collapse; margin: 0.5em 0 1.5em; display: block; overflow-x: auto }
caption { text-align: left; font-weight: bold; padding: 0.3em 0 }
th, td { border: 1px solid #bbb; padding: 0.2em 0.6em; text-align: left; font-size: 14px; min-width: 3em }
details { border-top: 1px solid #bbb; padding: 0.3em 0 } summary { cursor: pointer }
.yes { color: #005a3c } .no { color: #8c2d04; font-weight: bold }
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headers. `caption` says what the table is; the first column heads its row.

    `marked` holds the numbers of rows that stand out (a difference, a loss); they get a mark as well as a ground.
    A `folded` table shows its caption until the reader opens it. Headers that are `names`, which code uses, are the
    same in every language.
    """

    caption: str
    headers: Sequence[str]
    rows: Sequence[Sequence[object]]
    marked: frozenset[int] = field(default_factory=frozenset)
    folded: bool = False
    names: bool = False

    def __post_init__(self) -> None:
        """Every row has as many cells as there are headers."""
        for number, row in enumerate(self.rows):
            if len(row) != len(self.headers):
                raise ValueError(
                    f"table {self.caption!r}: row {number} has {len(row)} cells for {len(self.headers)} headers"
                )

    def html(self) -> str:
        """HTML with caption and header scopes."""
        headers, *rows = self.cells()
        head = "".join(f'<th scope="col" style="text-align:left">{html.escape(text)}</th>' for text in headers)
        body = "".join(self._row(number, row) for number, row in enumerate(rows))
        text = html.escape(self.title())
        caption = f'<caption style="caption-side:top;text-align:left;white-space:nowrap">{text}</caption>'
        content = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        if self.folded:
            return f"<details><summary>{text}</summary><table>{content}</details>"
        return f"<table>{caption}{content}"

    def title(self) -> str:
        """The caption in the reader's language."""
        return in_line(translate(self.caption))

    def cells(self) -> list[list[str]]:
        """The headers, then the cells of each row, as texts in the reader's language."""
        headers = map(str, self.headers) if self.names else (translate(str(header)) for header in self.headers)
        return [[in_line(cell) for cell in line] for line in (headers, *(map(_shown, row) for row in self.rows))]

    def _row(self, number: int, row: Sequence[str]) -> str:
        marked = number in self.marked
        style = ' style="background:#FFF3D6;color:#000"' if marked else ""
        cells = list(map(html.escape, row))
        if marked:
            cells[0] = f"▸ {cells[0]}"
        first = f'<th scope="row" style="text-align:left">{cells[0]}</th>'
        rest = "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells[1:])
        return f"<tr{style}>{first}{rest}</tr>"

    def text(self) -> str:
        """Plain text in columns; a marked row ends in "<"."""
        lines = self.cells()
        widths = [max(columns(line[column]) for line in lines) for column in range(len(self.headers))]
        shown = [
            "  ".join(cell + " " * (width - columns(cell)) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        shown[1:] = [line + ("  <" if number in self.marked else "") for number, line in enumerate(shown[1:])]
        return "\n".join(map(str, [self.title(), *shown]))

    def markdown(self) -> str:
        """A table of Markdown under its caption; a marked row is bold.

        >>> print(Table("Queues", ["queue", "owner"], [[0, "A"]]).markdown())
        **Queues**
        <BLANKLINE>
        | queue | owner |
        |---|---|
        | 0 | A |
        """
        headers, *rows = [[cell.replace("|", "\\|") for cell in line] for line in self.cells()]
        bold = [[f"**{cell}**" if n in self.marked else cell for cell in row] for n, row in enumerate(rows)]
        lines = [f"| {' | '.join(line)} |" for line in (headers, *bold)]
        return "\n".join([f"**{self.title()}**", "", lines[0], "|---" * len(headers) + "|", *lines[1:]])

    def __repr__(self) -> str:
        """The plain text."""
        return self.text()

    def _repr_html_(self) -> str:
        return self.html()


def table(
    caption: str,
    rows: object,
    *,
    headers: Sequence[str] | None = None,
    marked: Callable[[Mapping[str, Any]], bool] | None = None,
    folded: bool = False,
) -> Table:
    """A table of `rows`: dicts, a pandas frame, the records of a lab, or tuples under `headers`.

    Rows for which `marked` (a function of a row as a dict) is true stand out.

    >>> table("Queues", [(0, "A"), (1, "B")], headers=("queue", "owner"), marked=lambda row: row["owner"] == "B")
    Queues
    queue  owner
    0      A
    1      B  <

    Raises:
        BadInput: these are no rows.
    """
    records = as_rows(rows, headers)
    columns = list(headers or dict.fromkeys(name for row in records for name in row))
    stand_out = frozenset(number for number, row in enumerate(records) if marked is not None and marked(row))
    cells = [[row.get(name) for name in columns] for row in records]
    names = headers is None and all(str(name).isidentifier() for name in columns)
    return Table(caption, columns, cells, stand_out, folded, names)


def page_of(title: str, summary: str, parts: Iterable[str], *, is_fine: bool) -> str:
    """A page of its own that loads nothing: the title, what it comes to in a line, and parts in HTML."""
    head = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        f"<title>{html.escape(title)}</title><style>{PAGE_STYLE}</style></head><body>",
        f"<h1>{html.escape(title)}</h1><p class='{'yes' if is_fine else 'no'}'>{summary}</p>",
    ]
    return visible("\n".join(map(str, [*head, *parts, "</body></html>\n"])))


def as_rows(rows: Any, headers: Sequence[str] | None = None) -> list[Mapping[str, Any]]:
    """Rows as dicts: of dicts, of a pandas frame, of the records of a lab, or of tuples with `headers`.

    >>> as_rows([(1, 2)], ("a", "b")), as_rows({"x": [1]})
    Traceback (most recent call last):
    rmqlab.errors.BadInput: rows are a dict; right is a list of dicts, a pandas frame, or tuples with headers=

    Raises:
        BadInput: these are no rows.
    """
    columns = getattr(rows, "columns", headers)
    if hasattr(rows, "to_dict"):
        return list(rows.reset_index(drop=True).to_dict("records"))
    if isinstance(rows, Iterable) and not isinstance(rows, Mapping | str):
        listed = list(rows)
        if all(isinstance(row, Mapping) for row in listed):
            return listed
        if columns is not None and all(isinstance(row, Sequence) and not isinstance(row, str) for row in listed):
            for row in listed:
                if len(row) != len(columns):
                    raise BadInput(
                        _(
                            "rows: {row} does not fit the headers {columns}",
                            row=f"{row!r}",
                            columns=joined(", ", columns),
                        )
                    )
            return [dict(zip(columns, row, strict=True)) for row in listed]
    right = _("a list of dicts, a pandas frame, or tuples with headers=")
    raise BadInput(_("rows are a {name}; right is {right}", name=type(rows).__name__, right=right))


def number_text(value: object) -> str:
    """A value for a label: numbers from 10,000 up in groups of three, at most three places after the point."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _text(value)
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{round(value, 3):g}"


def _shown(value: object) -> str:
    """A cell in the reader's language; a fate's name stays, for code asks for it."""
    from rmqlab.run.fates import Fate

    text = _text(value)
    return text if language() == ENGLISH or text in {fate.value for fate in Fate} else translate(text)


def _text(value: object) -> str:
    match value:
        case None:
            return "–"
        case float() if isnan(value):  # a frame says so that there is none
            return "–"
        case float():
            return f"{value:.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:g}"
        case dict():
            return joined("; ", (f"{key}: {_text(item)}" for key, item in value.items()))
        case list() if any(isinstance(item, list) for item in value):
            return joined("; ", map(_text, value))
        case list():
            return joined(", ", map(_text, value)) or _("none")
        case _:
            return str(value)
