"""How often the last starter won, by the time between two starts, of several kinds of runs side by side."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab_tools.show.canvas import WIDTH, Canvas
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import BLACK, GREY, PALE, SKY, VERMILLION
from rmqlab_tools.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rmqlab.run.races import RaceRecord
    from rmqlab_tools.show.canvas import Shape

# Gaps (ms) that are counted together, from the first that is at least so long on.
CLASSES = (0, 100, 600, 5_000)
NAMES = (_("below 0.1 s"), _("0.1 to 0.6 s"), _("0.6 to 5 s"), _("5 s and more"))
COLOURS = (BLACK, VERMILLION, SKY)
SHAPES: tuple[Shape, ...] = ("round", "diamond", "square")
Z = 1.96  # of a normal distribution: 95 of 100 lie within
LEFT, RIGHT, TOP, ROW, TEXT = 2.3, 1.7, 0.75, 0.72, 13.5


class Odds(NamedTuple):
    """Of `races` in one class the last starter won `won`; `low` and `high` hold its share in 95 of 100 cases."""

    kind: str
    gap: str
    races: int
    won: int
    low: float
    high: float


def wilson(won: int, races: int) -> tuple[float, float]:
    """The interval of Wilson that holds the share in 95 of 100 cases.

    >>> [round(end, 2) for end in wilson(9, 10)]
    [0.6, 0.98]
    """
    share, spread = won / races, Z * Z / races
    middle = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / races + spread / (4 * races)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def odds(races: Mapping[str, Iterable[RaceRecord]]) -> list[Odds]:
    """The odds of each kind of runs in each class of gaps; a class without a race is left out."""
    rows = []
    for kind, mine in races.items():
        by_class: dict[int, list[bool]] = {}
        for race in mine:
            number = max(n for n, limit in enumerate(CLASSES) if race.gap >= limit)
            by_class.setdefault(number, []).append(race.got == race.last)
        for number, wins in sorted(by_class.items()):
            rows.append(Odds(kind, NAMES[number], len(wins), sum(wins), *wilson(sum(wins), len(wins))))
    return rows


def race_odds(races: Mapping[str, Iterable[RaceRecord]]) -> Picture:
    """A line for each class of gaps and kind of runs: the share of races that the last starter won, with its interval.

    Raises:
        BadInput: there is no race.
    """
    rows = odds(races)
    if not rows:
        raise BadInput(_("race_odds: there is no race"))
    kinds = list(dict.fromkeys(row.kind for row in rows))
    classes = [name for name in NAMES if any(row.gap == name for row in rows)]
    canvas = Canvas(WIDTH, TOP + ROW * len(classes) + 0.6)
    bottom = TOP + ROW * len(classes)
    for number, kind in enumerate(kinds):
        x = LEFT + 2.4 * number
        canvas.spot(x, 0.2, 12, COLOURS[number % 3], shape=SHAPES[number % 3])
        canvas.text(x + 0.2, 0.2, kind, size=TEXT, ha="left")
    canvas.text(0.1, 0.55, _("between the starts"), size=TEXT, ha="left", bold=True)
    for share in (0, 0.25, 0.5, 0.75, 1):
        canvas.line((_x(share), _x(share)), (TOP, bottom), GREY if share == 0.5 else PALE, 1.5)
        canvas.text(_x(share), bottom + 0.18, f"{share:.0%}", size=TEXT)
    canvas.text(_x(0.5), bottom + 0.43, _("races that the last starter won"), size=TEXT)
    for place, name in enumerate(classes):
        middle = TOP + ROW * (place + 0.5)
        canvas.text(0.1, middle, name, size=TEXT, ha="left")
        for row in (row for row in rows if row.gap == name):
            number = kinds.index(row.kind)
            y = middle + 0.28 * (number - (len(kinds) - 1) / 2)
            colour = COLOURS[number % 3]
            with canvas.saying(_said(row)):
                canvas.polyline([(_x(row.low), y), (_x(row.high), y)], colour, width=2.5)
                canvas.spot(_x(row.won / row.races), y, 12, colour, shape=SHAPES[number % 3])
            canvas.text(
                WIDTH - RIGHT + 0.2, y, _("{won} of {races}", won=row.won, races=row.races), size=TEXT, ha="left"
            )
    title = _("How often the last starter won")
    alt = _("{title}: {said}.", title=title, said=joined("; ", map(_said, rows)))
    return Picture(canvas.svg(), title=title, alt=alt, table=_table(rows))


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _said(row: Odds) -> str:
    return _("{kind}, {gap}: {won} of {races}", kind=row.kind, gap=row.gap, won=row.won, races=row.races)


def _table(rows: list[Odds]) -> Table:
    headers = (_("between the starts"), _("runs"), _("races"), _("the last starter won"), _("share, 95 of 100 cases"))
    cells = [(row.gap, row.kind, row.races, row.won, f"{row.low:.0%} – {row.high:.0%}") for row in rows]
    return Table(_("How often the last starter won"), headers, cells)
