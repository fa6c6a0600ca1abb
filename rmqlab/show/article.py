"""Tables that set the article's figures beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.articles.printed_e1 import (
    Figure,
    FigureKind,
)
from rmqlab.lab.recorded.races import SETS, recorded_races
from rmqlab.lab.run_view import seconds
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


def real_races() -> Table:
    """Who won the slot when two real consumers met, by the gap between their starts."""
    races = recorded_races(*SETS)
    by_gap = {seconds(gap): [one for one in races if one.gap_ms == gap] for gap in sorted({r.gap_ms for r in races})}
    rows = []
    for gap, mine in [*by_gap.items(), ("all", races)]:
        last, both = sum(race.won_by_last for race in mine), sum(race.winner is None for race in mine)
        rows.append((gap, len(mine), last, len(mine) - last - both, both))
    headers = ("gap", "runs", "the last one won", "the first one won", "it flipped while messages came")
    return Table("Recorded on a real broker 4.8.0: whose tag held the slot", headers, rows)
