"""`rmqlab.matrix`: what a group of two members with different expressions loses, cell by cell, recorded runs beside.

Every cell is measured alone and from nothing but its names, so that a row can be made again (`matrix_cell`).
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rmqlab.errors import BadInput
from rmqlab.language import N_, _, joined
from rmqlab.run.fates import FATE_WORDS, Fate
from rmqlab.run.results import Records
from rmqlab_tools.spark.matrix.cells import ORDERS, RECEIVERS, Cell, check_names, is_possible
from rmqlab_tools.spark.matrix.measure import BUDGET, RUNS, matrix_cell
from rmqlab_tools.spark.matrix.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rmqlab.rules import Rules
    from rmqlab_tools.show.figure import Picture
    from rmqlab_tools.show.tables import Table

NOT_KNOWN = "–"
_WHOSE = {
    "own": N_("the asker's own expression"),
    "other": N_("the other member's expression"),
    "nobody": N_("nobody's expression"),
}


class MatrixRow(NamedTuple):
    """A cell, what was measured (None: not simulated), and what was recorded of the real broker and clients.

    `low`, `mean`, `high`, `unfinished`, `twice`, `foreign` are messages of eight; `by` names fate and whose
    expression of the messages lost, as means; `recorded` is the loss of each recorded run, in words.
    """

    receiver: str
    order: str
    filter: str
    settled: bool
    failed: bool
    version: str
    same: bool
    runs: int
    explored: bool
    low: int | None
    mean: float | None
    high: int | None
    unfinished: float | None
    twice: float | None
    foreign: float | None
    by: str
    recorded: str
    recorded_mean: float | None

    @property
    def cell(self) -> Cell:
        """The cell it is a row of."""
        return Cell(self.receiver, self.order, self.filter, self.settled, self.failed, self.version, self.same)

    @property
    def share(self) -> float | None:
        """The share of the messages that is lost, 0 to 1."""
        return None if self.mean is None else self.mean / 8


class Matrix(Records[MatrixRow]):
    """The rows of a matrix: a table, `grids()`, `picture()`, `as_json()`."""

    def __init__(self, rows: Iterable[MatrixRow]) -> None:
        """Of these rows."""
        super().__init__(_("Lost of eight messages"), MatrixRow, rows)

    def as_json(self) -> dict[str, Any]:
        """The rows for programs; `share` is the share lost, `recorded` the losses of recorded runs by set."""
        return {"rows": [row._asdict() | {"share": row.share, "recorded": _recorded_of(row)} for row in self]}

    def grids(self) -> list[Table]:
        """Receivers downwards, orders to the right: a table for each filter, age, failure and version that occurs."""
        from rmqlab_tools.show.tables import Table

        grids: dict[tuple[object, ...], list[MatrixRow]] = {}
        for row in self:
            grids.setdefault((row.version, row.filter, row.settled, row.failed, row.same), []).append(row)
        return [
            Table(
                _title(rows[0]),
                [_("receiver"), *(_(ORDERS[order][0]) for order in orders)],
                [
                    [_(RECEIVERS[name].words), *(_cell_words(rows, name, order) for order in orders)]
                    for name in dict.fromkeys(row.receiver for row in rows)
                ],
            )
            for rows in grids.values()
            for orders in [list(dict.fromkeys(row.order for row in rows))]
        ]

    def picture(self, title: str | None = None) -> Picture:
        """Receivers downwards, orders of the tags to the right: the mean lost of eight, and the recorded mean.

        Raises:
            BadInput: the rows differ in more than receiver, version and order.
        """
        from rmqlab_tools.show.charts import heat_map

        fixed = {(row.filter, row.settled, row.failed, row.same) for row in self}
        if len(fixed) > 1:
            raise BadInput(
                _("picture: rows differ in filter, settled, failed or same; choose one of each with where(...)")
            )
        several = len({row.version for row in self}) > 1
        cells = [
            {
                "order": _(ORDERS[row.order][0]),
                "receiver": f"{_(RECEIVERS[row.receiver].words)}" + (f" {row.version}" if several else ""),
                "lost": _Lost(row),
            }
            for row in self
            if row.mean is not None or row.recorded_mean is not None
        ]
        return heat_map(
            cells,
            x="order",
            y="receiver",
            value="lost",
            title=title or _("Lost of eight messages: mean (recorded mean)"),
            text=lambda lost: lost.words,
        )


def _recorded_of(row: MatrixRow) -> dict[str, list[int]]:
    return recorded().get(row.cell, {})


def _title(row: MatrixRow) -> str:
    """What the rows of a grid have in common, in words."""
    common = [
        row.version,
        row.filter,
        _("the group has settled") if row.settled else _("the second member is new"),
        *([_("each message fails once")] if row.failed else []),
        *([_("both members ask for both tags")] if row.same else []),
    ]
    return _("Lost of eight messages: {common}", common=joined(", ", common))


def _cell_words(rows: list[MatrixRow], receiver: str, order: str) -> str:
    row = next((row for row in rows if (row.receiver, row.order) == (receiver, order)), None)
    if row is None:
        return ""
    ours = NOT_KNOWN if row.mean is None else f"{row.mean:.1f}"
    if row.mean is not None and row.low != row.high:
        ours += " " + _("({low} to {high})", low=row.low, high=row.high)
    if row.recorded_mean is None:
        return ours
    return ours + "; " + _("recorded {mean}", mean=f"{row.recorded_mean:.1f}")


class _Lost(float):
    """The mean loss of a cell, with its words."""

    words: str

    def __new__(cls, row: MatrixRow) -> Self:
        mean = row.recorded_mean if row.mean is None else row.mean
        value = super().__new__(cls, mean or 0)
        ours = NOT_KNOWN if row.mean is None else f"{row.mean:.1f}"
        value.words = ours if row.recorded_mean is None else f"{ours} ({row.recorded_mean:.1f})"
        return value

    __slots__ = ("words",)


def matrix(
    receivers: Sequence[str] | None = None,
    orders: Sequence[str] | None = None,
    *,
    filters: Sequence[str] = ("TAG",),
    settled: Sequence[bool] = (False,),
    failed: Sequence[bool] = (False,),
    versions: Sequence[str] = ("5.5.0",),
    same: Sequence[bool] = (False,),
    runs: int = RUNS,
    budget: int = BUDGET,
    rules: Rules | None = None,
) -> Matrix:
    """What two members that differ lose of eight messages, by receiver, order of the tags, filter, version.

    Cells that there are not (a receiver that a version has not) are left out. `runs`, `budget` and `rules` are those
    of `matrix_cell`.

    >>> [(row.mean, row.recorded) for row in matrix(["push"], ["burst_blocks"], versions=["4.8.0"], runs=2)]
    [(6.0, 'base-2: 6 6 6 6 6 6 6 6; base: 6 6 6 6 6 6')]

    Raises:
        BadInput: an unknown name, or no cell is left.
    """
    receivers = tuple(RECEIVERS) if receivers is None else receivers
    orders = tuple(ORDERS) if orders is None else orders
    cells = [Cell(*names) for names in product(receivers, orders, filters, settled, failed, versions, same)]
    for cell in cells:
        check_names(cell)
    possible = [cell for cell in cells if is_possible(cell)]
    if not possible:
        raise BadInput(_("matrix: there is no cell with all of these; a receiver needs a version that has it"))
    return Matrix(row_of(cell, runs=runs, budget=budget, rules=rules) for cell in possible)


def row_of(cell: Cell, *, runs: int = RUNS, budget: int = BUDGET, rules: Rules | None = None) -> MatrixRow:
    """One row: the cell measured, unless it is only recorded, and what was recorded of it.

    Raises:
        BadInput: there is no such cell.
    """
    losses = recorded().get(cell, {}) if rules is None else {}
    every = [lost for runs_of_set in losses.values() for lost in runs_of_set]
    measured: dict[str, Any] = dict.fromkeys(("low", "mean", "high", "unfinished", "twice", "foreign"))
    measured |= {**cell._asdict(), "runs": 0, "explored": False, "by": {}}
    if RECEIVERS[cell.receiver].simulated:
        measured = matrix_cell(*cell, runs=runs, budget=budget, rules=rules)
    by = joined(", ", (_words_of(name, count) for name, count in measured["by"].items()))
    return MatrixRow(
        **measured | {"by": by},
        recorded="; ".join(f"{name}: {' '.join(map(str, lost))}" for name, lost in losses.items()),
        recorded_mean=round(sum(every) / len(every), 2) if every else None,
    )


def _words_of(fate_and_whose: str, count: float) -> str:
    """How many a fate took, and by whose expression."""
    fate, whose = fate_and_whose.split()
    return f"{count:g} {_(FATE_WORDS[Fate(fate)])} ({_(_WHOSE[whose])})"
