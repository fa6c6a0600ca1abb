"""A sweep: one function over many rows of parameters, each row with a seed of its own.

`rmqlab.sweep(function, grid)` runs one. The function is called with a row's parameters by their names, and with `seed`
if it takes that, in this process or in a Spark task; it returns its figures by name: a dict, a struct, a dataclass or a
named tuple. A row's seed comes from the sweep's seed and the row's own parameters, never from its place: whatever is
run before it, beside it or in the same task, `run_row` gives the same figures again. An axis that the function ignores
(`replica`, say) gives several runs of the same setting.
"""

from __future__ import annotations

import inspect
import itertools
import json
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import inf
from typing import Any, NamedTuple

import msgspec

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined

Scalar = int | float | str | bool | None
Run = Callable[..., Any]

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
    version: int | str = 1

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

    def parameters_of(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of one of its kept rows.

        Raises:
            BadInput: the row is one of another sweep.
        """
        names = list(self.parameters[0])
        if missing := [name for name in (*names, SEED) if name not in record]:
            raise BadInput(
                _(
                    "this is no row of sweep {name}: it has no {missing}",
                    name=f"{self.name!r}",
                    missing=joined(", ", missing),
                )
            )
        return {name: record[name] for name in names}

    def rerun(self, record: Mapping[str, Any]) -> list[RerunFigure]:
        """Run a kept row here, with its seed and parameters; every figure beside the one kept.

        Raises:
            BadInput: as `parameters_of`, or the row fails now.
        """
        parameters, row = self.parameters_of(record), record.get(ROW_COLUMN, "")
        outcome = run_row(self.run, SweepRow(row, record[SEED], parameters))
        if outcome.error is not None:
            raise BadInput(_("sweep {name}, row {row}: {error}", name=f"{self.name!r}", row=row, error=outcome.error))
        known = [figure for figure in record if figure not in _RESERVED and figure not in parameters]
        names = dict.fromkeys((*known, *outcome.figures))
        return [RerunFigure(figure, record.get(figure), outcome.figures.get(figure)) for figure in names]


class RerunFigure(NamedTuple):
    """A figure of a row: as it is kept, and as it came out now."""

    name: str
    kept: Any
    now: Any

    @property
    def same(self) -> bool:
        """Whether it came out as it is kept."""
        return bool(self.kept == self.now)


@dataclass(frozen=True, slots=True)
class NamedSweep:
    """A sweep that has a name: `rows` gives its usual grid for a number of `runs` a row.

    `check` takes the parameters of a row and raises `BadInput` for values that its axes cannot have.
    `version` is raised when a row's figures change their meaning. `rows_a_task`: quick rows share a task.
    """

    about: str
    run: Run
    rows: Callable[[int], list[dict[str, Scalar]]]
    check: Callable[..., object]
    runs: int
    seed: int = 0
    version: int = 1
    rows_a_task: int = 1

    def sweep(
        self,
        name: str,
        *,
        seed: int | None = None,
        runs: int | None = None,
        axes: Mapping[str, Sequence[Scalar]] | None = None,
    ) -> Sweep:
        """The sweep, ready for `run_sweep`; `axes` gives some axes other values than the usual grid has.

        Raises:
            BadInput: an axis that there is not, or a value that it cannot have.
        """
        rows = self.rows(self.runs if runs is None else runs)
        for axis, values in (axes or {}).items():
            if axis not in rows[0]:
                meant = did_you_mean(axis, rows[0]) or _("; there are {names}", names=joined(", ", rows[0]))
                raise BadInput(
                    _("sweep {name} has no axis {axis}{meant}", name=f"{name!r}", axis=f"{axis!r}", meant=meant)
                )
            changed = [{**row, axis: value} for row in rows for value in values]
            rows = list({tuple(row.items()): row for row in changed}.values())
        for row in rows:
            try:
                self.check(**row)
            except BadInput as error:
                raise BadInput(_("sweep {name}: {error}", name=f"{name!r}", error=error)) from error
        return Sweep(name, self.run, rows, seed=self.seed if seed is None else seed, version=self.version)


def takes_seed(run: Run) -> bool:
    """Whether a function is given the row's seed: it names it, takes any name, or does not say what it takes."""
    try:
        parameters = inspect.signature(run).parameters
    except (TypeError, ValueError):
        return True
    return SEED in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


def run_row(run: Run, row: SweepRow) -> RowOutcome:
    """Call `run` for one row; an exception, or figures that cannot be kept, becomes the outcome's error."""
    try:
        figures = _figures(run(**({SEED: row.seed} if takes_seed(run) else {}), **row.parameters))
        if taken := (_RESERVED | set(row.parameters)) & set(figures):
            return RowOutcome(
                row, {}, f"ValueError: the run returns {', '.join(sorted(taken))}, which the row has itself"
            )
        return RowOutcome(row, json.loads(json.dumps(figures, default=_plain)))
    except Exception as error:  # noqa: BLE001 - a row that fails is a result, and the others go on
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return RowOutcome(row, {}, f"{type(error).__name__}: {error} (in {frame.name}, line {frame.lineno})")


def _figures(returned: Any) -> dict[str, Any]:
    """What a function returns, by name."""
    if hasattr(returned, "_asdict"):
        returned = returned._asdict()
    elif not isinstance(returned, Mapping):
        returned = msgspec.to_builtins(returned, enc_hook=_plain)
    if not isinstance(returned, Mapping):
        raise TypeError(f"the function returns a {type(returned).__name__}; it must be a dict or a struct of figures")
    return dict(returned)


def _plain(value: Any) -> Any:
    """A number of numpy's, or an array, as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a figure is a {type(value).__name__}; it must be a number, text, boolean or None, or a list")


def _hash(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=_SEED_BYTES).digest()


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"
