"""Tables that set the article's figures beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.articles.printed_e1 import (
    Figure,
    FigureKind,
)
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable


EQUAL, DIFFERENT = "=", "differs"
AGREES = {
    FigureKind.PRINTED: EQUAL,
    FigureKind.GIVEN: "given",
    FigureKind.FOLLOWS: "follows",
    FigureKind.EXPECTED: "expected",
    FigureKind.OURS: "",
}


def beside(caption: str, figures: Iterable[Figure], *, folded: bool = False) -> Table:
    """Article's value beside ours; rows that differ are marked, and only what the article printed counts as equal."""
    figures = list(figures)
    rows = [(one.what, one.article, one.here, DIFFERENT if one.differs else AGREES[one.kind]) for one in figures]
    differing = frozenset(number for number, one in enumerate(figures) if one.differs)
    printed_ones = [one for one in figures if one.kind is FigureKind.PRINTED]
    text = f"{caption}: {sum(one.equal for one in printed_ones)} of {len(printed_ones)} equal"
    if len(printed_ones) < len(figures):
        text += f"; not printed there and not counted: {len(figures) - len(printed_ones)}"
    return Table(text, ("figure", "article", "here", ""), rows, differing, folded)
