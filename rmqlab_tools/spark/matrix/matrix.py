"""`rmqlab.matrix`: what a group of two members with different expressions loses, cell by cell, recorded runs beside.

Every cell is measured alone and from nothing but its names, so that a row can be made again (`matrix_cell`).
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from rmqlab.errors import BadInput
from rmqlab.language import N_, _, joined
from rmqlab.run.fates import FATE_WORDS, Fate
from rmqlab.run.results import Records
from rmqlab_tools.spark.matrix.cells import MESSAGES, NEWEST, ORDERS, RECEIVERS, Cell, check_names, is_possible
from rmqlab_tools.spark.matrix.measure import BUDGET, FIGURES, RUNS, matrix_cell
from rmqlab_tools.spark.matrix.recorded import recorded
from rmqlab_tools.spark.matrix.stored import measured

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from rmqlab.rules import Rules
    from rmqlab_tools.show.figure import Picture
    from rmqlab_tools.show.tables import Table
    from rmqlab_tools.spark.sweeps.sweep import Sweep

NAME: Final = "matrix"
VERSION: Final = 1  # raised when a figure changes its meaning: kept rows of another version are not used
ROWS_A_TASK: Final = 8
_WHOSE = {
    "own": N_("the asker's own expression"),
    "other": N_("the other member's expression"),
    "nobody": N_("nobody's expression"),
}


class MatrixRow(NamedTuple):
    """A cell, what was measured, and what was recorded of the real broker and clients.

    `low`, `mean`, `high`, `unfinished`, `twice`, `foreign` are messages of eight, as `matrix_cell` has them; `by` says
    what became of the messages lost, and by whose expression, as means; `recorded` is the loss of each recorded run.
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
    low: int
    mean: float
    high: int
    unfinished: float
    twice: float
    foreign: float
    by: str
    recorded: str
    recorded_mean: float | None

    @property
    def cell(self) -> Cell:
        """The cell it is a row of."""
        return Cell(self.receiver, self.order, self.filter, self.settled, self.failed, self.version, self.same)

    @property
    def share(self) -> float:
        """The share of the messages that is lost, 0 to 1."""
        return self.mean / MESSAGES

    @property
    def losses(self) -> dict[str, list[int]]:
        """What each recorded run lost of eight, by set."""
        return recorded().get(self.cell, {}) if self.recorded else {}


class Matrix(Records[MatrixRow]):
    """The rows of a matrix: a table, `grids()`, `picture()`, `as_json()`."""

    def __init__(self, rows: Iterable[MatrixRow]) -> None:
        """Of these rows."""
        super().__init__(_("Lost of eight messages"), MatrixRow, rows)

    def as_json(self) -> dict[str, Any]:
        """The rows for programs; `share` is the share lost, `recorded` the losses of recorded runs by set."""
        return {"rows": [row._asdict() | {"share": row.share, "recorded": row.losses} for row in self]}

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
        from rmqlab_tools.show.heat_maps import heat_map

        fixed = {(row.filter, row.settled, row.failed, row.same) for row in self}
        if len(fixed) > 1:
            raise BadInput(
                _("picture: rows differ in filter, settled, failed or same; choose one of each with where(...)")
            )
        several = len({row.version for row in self}) > 1
        cells = [
            {
                "order": _(ORDERS[row.order][0]),
                "": f"{_(RECEIVERS[row.receiver].words)}" + (f" {row.version}" if several else ""),
                "lost": _Lost(row),
            }
            for row in self
        ]
        return heat_map(
            cells,
            x="order",
            y="",
            value="lost",
            title=title or _("Lost of eight messages: mean (recorded mean); slow: one each 2.5 s"),
            text=lambda lost: lost.words,
        )


def _title(row: MatrixRow) -> str:
    """What the rows of a grid have in common, in words."""
    common = [
        row.version,
        row.filter,
        _("the group has settled") if row.settled else _("the second member is new"),
        *([_("each message fails once")] if row.failed else []),
        *([_("both members ask for both tags")] if row.same else []),
    ]
    return _("Lost of eight messages: {common}; slow: one each 2.5 s", common=joined(", ", common))


def _cell_words(rows: list[MatrixRow], receiver: str, order: str) -> str:
    row = next((row for row in rows if (row.receiver, row.order) == (receiver, order)), None)
    if row is None:
        return ""
    ours = f"{row.mean:.1f}"
    if row.low != row.high:
        ours += " " + _("({low} to {high})", low=row.low, high=row.high)
    if row.recorded_mean is None:
        return ours
    return ours + "; " + _("recorded {mean}", mean=f"{row.recorded_mean:.1f}")


class _Lost(float):
    """The mean loss of a cell, with its words."""

    __slots__ = ("words",)
    words: str

    def __new__(cls, row: MatrixRow) -> Self:
        value = super().__new__(cls, row.mean)
        recorded_words = "" if row.recorded_mean is None else f" ({row.recorded_mean:.1f})"
        value.words = f"{row.mean:.1f}{recorded_words}"
        return value


def matrix(
    receivers: Sequence[str] | None = None,
    orders: Sequence[str] | None = None,
    *,
    filters: Sequence[str] = ("TAG",),
    settled: Sequence[bool] = (False,),
    failed: Sequence[bool] = (False,),
    versions: Sequence[str] = (NEWEST,),
    same: Sequence[bool] = (False,),
    runs: int = RUNS,
    budget: int = BUDGET,
    rules: Rules | None = None,
    stored: bool = False,
    folder: Path | str | None = None,
    session: SparkSession | None = None,
) -> Matrix:
    """What two members that differ lose of eight messages, by receiver, order of the tags, filter, version.

    Cells that there are not (a receiver that a version has not) are left out. `runs`, `budget` and `rules` are those
    of `matrix_cell`. With `stored` nothing is measured: these are the rows that come with rmqlab, 20 runs each. With a
    `folder` each row is kept there when it is measured, and what is there is not measured again; with a `session` rows
    are measured in Spark tasks.

    >>> [(row.mean, row.recorded) for row in matrix(["push"], ["burst_blocks"], versions=["5.3.3"], runs=2)]
    [(6.0, 'base: 6 6 6 6 6')]

    Raises:
        BadInput: an unknown name, no cell is left, or a folder with rules of one's own.
    """
    possible = cells_of(receivers, orders, filters, settled, failed, versions, same)
    if stored:
        return stored_matrix(possible)
    if runs < 1:
        raise BadInput(_("matrix: runs is {runs}; at least one is needed", runs=runs))
    if folder is None and session is None:
        measured = [matrix_cell(*cell, runs=runs, budget=budget, rules=rules) for cell in possible]
        return Matrix(
            _row_of(cell, figures | {"runs": runs}, with_recorded=rules is None)
            for cell, figures in zip(possible, measured, strict=True)
        )
    if rules is not None:
        raise BadInput(_("matrix: rules of your own are measured here; give no folder and no session"))
    from rmqlab_tools.spark.sweeps.runner import sweep

    rows = [_parameters(cell, runs, budget) for cell in possible]
    result = sweep(
        matrix_cell, rows, folder=folder, session=session, name=NAME, version=VERSION, rows_a_task=ROWS_A_TASK
    )
    for row in result.failed:
        raise BadInput(_("matrix: row {row}: {error}", row=row["row"], error=row["error"]))
    return Matrix(_row_of(Cell(*(row[name] for name in Cell._fields)), row) for row in result.good)


def cells_of(
    receivers: Sequence[str] | None,
    orders: Sequence[str] | None,
    filters: Sequence[str],
    settled: Sequence[bool],
    failed: Sequence[bool],
    versions: Sequence[str],
    same: Sequence[bool],
) -> list[Cell]:
    """The cells that there are with these names; None: all of an axis.

    Raises:
        BadInput: an unknown name, or there is no cell.
    """
    receivers = tuple(RECEIVERS) if receivers is None else receivers
    orders = tuple(ORDERS) if orders is None else orders
    cells = [Cell(*names) for names in product(receivers, orders, filters, settled, failed, versions, same)]
    for cell in cells:
        check_names(cell)
    possible = [cell for cell in cells if is_possible(cell)]
    if not possible:
        raise BadInput(_("matrix: there is no cell with all of these; a receiver needs a version that has it"))
    return possible


def _parameters(cell: Cell, runs: int = RUNS, budget: int = BUDGET) -> dict[str, Any]:
    return {**cell._asdict(), "runs": runs, "budget": budget}


def stored_matrix(cells: Iterable[Cell] | None = None) -> Matrix:
    """The rows that come with rmqlab, every cell that there is or only these `cells`; recorded losses beside.

    >>> stored_matrix([Cell("push", "burst_turn", version="4.8.0")])[0].mean
    6.0
    """
    rows = measured()
    return Matrix(_row_of(cell, rows[cell]) for cell in (rows if cells is None else cells) if cell in rows)


def kept_row(folder: Path, row: str) -> tuple[Sweep, Mapping[str, Any]]:
    """The sweep that measures a row again, and one row of a folder: its id, or its number from 0.

    Raises:
        BadInput: there are no rows, or no such row.
    """
    from rmqlab_tools.spark.sweeps.results import row_of, rows_in
    from rmqlab_tools.spark.sweeps.sweep import Sweep

    return Sweep(NAME, matrix_cell, [_parameters(Cell())], version=VERSION), row_of(rows_in(folder, NAME), row)


def _row_of(cell: Cell, measured: Mapping[str, Any], *, with_recorded: bool = True) -> MatrixRow:
    """One row: the cell as it was measured, and what was recorded of it."""
    losses = recorded().get(cell, {}) if with_recorded else {}
    recorded_losses = [lost for runs_of_set in losses.values() for lost in runs_of_set]
    return MatrixRow(
        *cell,
        **{name: measured[name] for name in ("runs", *FIGURES)},
        by=_by_in_words(measured["by"]),
        recorded="; ".join(f"{name}: {' '.join(map(str, lost))}" for name, lost in losses.items()),
        recorded_mean=round(sum(recorded_losses) / len(recorded_losses), 2) if recorded_losses else None,
    )


def _by_in_words(by: str) -> str:
    """How many each fate took, and by whose expression."""
    parts = (part.split() for part in by.split(", ") if part)
    return joined(", ", (f"{mean} {_(FATE_WORDS[Fate(fate)])} ({_(_WHOSE[whose])})" for mean, fate, whose in parts))
