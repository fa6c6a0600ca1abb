"""A sweep: one function over many rows of parameters, each row with a seed of its own.

A sweep is written down in three lines and run by `rmqlab_tools.spark.sweeps.runner.run_sweep`::

    def loss(seed: int, gap_ms: int, queues: int) -> dict[str, float]: ...

    sweep = Sweep("loss", loss, grid(gap_ms=[0, 500, 1_000], queues=[4, 8], replica=range(10)), seed=1)
    result = run_sweep(sweep, folder, session=open_session())

The function is called as `run(seed=..., **parameters)`, in this process or in a Spark task, and returns its figures
by name. A row's seed comes from the sweep's seed and the row's own parameters, never from its place: whatever is run
before it, beside it or in the same task, `run_row` gives the same figures again. An axis that the function
ignores (`replica` above, if it is in the signature as `**_`) gives several runs of the same setting.
"""

from __future__ import annotations

import itertools
import json
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import inf
from typing import Any, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.language import _, joined

Scalar = int | float | str | bool | None
Figures = Mapping[str, Scalar | Sequence[Scalar]]
Run = Callable[..., Figures]

# Columns of every result besides the parameters and the figures.
ROW_COLUMN, SEED, ERROR_COLUMN = "row", "seed", "error"
_RESERVED = frozenset({ROW_COLUMN, SEED, ERROR_COLUMN})
_SEED_BYTES = 8


def grid(**axes: Iterable[Scalar]) -> list[dict[str, Scalar]]:
    """Every combination of the axes' values, the last axis fastest; no axis gives one row without parameters."""
    names = list(axes)
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*axes.values())]


def require_within(low: float, high: float = inf, **values: float) -> None:
    """Raise `BadInput` naming the first of these values that lies outside the limits, both included.

    >>> require_within(1, 8, members=9)
    Traceback (most recent call last):
    rmqlab.errors.BadInput: members is 9; it lies between 1 and 8
    """
    for name, value in values.items():
        if not low <= value <= high:
            limits = _("the least is {low}", low=low)
            if high != inf:
                limits = _("it lies between {low} and {high}", low=low, high=high)
            raise BadInput(_("{name} is {value}; {limits}", name=name, value=value, limits=limits))


class SweepRow(NamedTuple):
    """One run of a sweep: `id` names it in the results, `seed` (63 bits) and `parameters` are all it depends on."""

    id: str
    seed: int
    parameters: dict[str, Scalar]


class RowOutcome(NamedTuple):
    """What became of a row: figures by name, or the error that took their place."""

    row: SweepRow
    figures: dict[str, Any]
    error: str | None = None

    def record(self) -> dict[str, Any]:
        """The row of the result: id, seed, parameters, figures, error (None: it went well)."""
        return {
            ROW_COLUMN: self.row.id,
            SEED: self.row.seed,
            **self.row.parameters,
            **self.figures,
            ERROR_COLUMN: self.error,
        }


@dataclass(frozen=True)
class Sweep:
    """A function and its rows. `version` distinguishes results of an older function: raise it when `run` changes.

    `run` must be importable by the workers or be picklable by value (a function of a notebook is).
    """

    name: str
    run: Run
    parameters: Sequence[Mapping[str, Scalar]]
    seed: int = 0
    version: int = 1

    def rows(self) -> list[SweepRow]:
        """Every row in the order given.

        Raises:
            BadInput: no row, rows with other names than the first, equal rows, or a name that results use themselves.
        """
        if not self.parameters:
            raise BadInput(_("sweep {name} has no rows: nothing would be run", name=f"{self.name!r}"))
        rows: dict[str, SweepRow] = {}
        names = list(self.parameters[0])
        if taken := _RESERVED & set(names):
            raise BadInput(
                _(
                    "sweep {name}: no parameter can be called {taken}",
                    name=f"{self.name!r}",
                    taken=joined(", ", sorted(taken)),
                )
            )
        for number, parameters in enumerate(self.parameters):
            if set(parameters) != set(names):
                raise BadInput(
                    _(
                        "sweep {name}, row {number}: it has {names}, the first {first}",
                        name=f"{self.name!r}",
                        number=number,
                        names=_listed(parameters),
                        first=_listed(names),
                    )
                )
            row = self._row({name: parameters[name] for name in names})
            if row.id in rows:
                raise BadInput(
                    _(
                        "sweep {name}, row {number}: {parameters} is there twice; add an axis, say replica",
                        name=f"{self.name!r}",
                        number=number,
                        parameters=parameters,
                    )
                )
            rows[row.id] = row
        return list(rows.values())

    def _row(self, parameters: dict[str, Scalar]) -> SweepRow:
        try:
            text = json.dumps(parameters, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise BadInput(
                _(
                    "sweep {name}: {parameters} is no row: {error}; numbers, texts, booleans",
                    name=f"{self.name!r}",
                    parameters=parameters,
                    error=error,
                )
            ) from error
        seed = int.from_bytes(_hash(f"{self.seed}\n{text}")) >> 1
        return SweepRow(_hash(f"{self.name}\n{self.version}\n{self.seed}\n{text}").hex(), seed, parameters)


def run_row(run: Run, row: SweepRow) -> RowOutcome:
    """Call `run` for one row; an exception, or figures that cannot be kept, becomes the outcome's error."""
    try:
        figures = dict(run(seed=row.seed, **row.parameters))
        if taken := (_RESERVED | set(row.parameters)) & set(figures):
            return RowOutcome(
                row, {}, f"ValueError: the run returns {', '.join(sorted(taken))}, which the row has itself"
            )
        return RowOutcome(row, json.loads(json.dumps(figures, default=_plain)))
    except Exception as error:  # noqa: BLE001 - a row that fails is a result, and the others go on
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return RowOutcome(row, {}, f"{type(error).__name__}: {error} (in {frame.name}, line {frame.lineno})")


def _plain(value: Any) -> Any:
    """A number of numpy's, or an array, as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a figure is a {type(value).__name__}; it must be a number, text, boolean or None, or a list")


def _hash(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=_SEED_BYTES).digest()


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"
