"""A kept row once more: its figures beside what is kept, and single runs of it as scenario and schedule.

A row alone is enough: its seed, its parameters and, for the whole core, the choices of its worst and best run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.lab.cluster import default_settings
from rmqlab.lab.simulate import simulate
from rmqlab.runtime.schedule import Schedule, ScheduledChooser
from rmqlab.search.explorer.timings import RACE_TIMING, RaceChooser
from rmqlab.spark.sweeps.catalogue import CATALOGUE, LOSS_WHOLE, SCHEDULES, STORMS, storm_scenario
from rmqlab.spark.sweeps.searched_group import SAMPLED, SHORTENING, first_seed, searched_scenario
from rmqlab.spark.sweeps.sweep import ERROR, ROW, SEED, SweepRow, run_row
from rmqlab.spark.sweeps.whole_group import MESSAGES, ChosenBefore, group_start, whole_run_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.lab.run import Run

    Record = Mapping[str, Any]

WORST, BEST = "worst", "best"


class RerunFigure(NamedTuple):
    """A figure of a row: as it is kept, and as it came out now."""

    name: str
    kept: Any
    now: Any

    @property
    def same(self) -> bool:
        """Whether it came out as it is kept."""
        return bool(self.kept == self.now)


def row_of(records: Sequence[Record], wanted: str) -> Record:
    """The row with this id, or with this number in the order kept (from 0 on).

    Raises:
        BadInput: there is none.
    """
    for number, record in enumerate(records):
        if wanted in (record[ROW], str(number)):
            return record
    raise BadInput(f"row {wanted}: none of the {len(records)} rows has this id, and they are numbered from 0")


def parameters_of(name: str, record: Record) -> dict[str, Any]:
    """The parameters of a row of the sweep ``name``.

    Raises:
        BadInput: no such sweep, or the row is one of another.
    """
    if name not in CATALOGUE:
        raise BadInput(f"sweep {name!r} is not known; there are {', '.join(CATALOGUE)}")
    names = list(CATALOGUE[name].rows(1)[0])
    if missing := [one for one in (*names, SEED) if one not in record]:
        raise BadInput(f"this is no row of sweep {name!r}: it has no {', '.join(missing)}")
    return {one: record[one] for one in names}


def rerun_row(name: str, record: Record) -> list[RerunFigure]:
    """Run a row here, with its seed and parameters; every figure beside the one kept.

    Raises:
        BadInput: as `parameters_of`, or the row fails now.
    """
    parameters = parameters_of(name, record)
    outcome = run_row(CATALOGUE[name].run, SweepRow(record.get(ROW, ""), record[SEED], parameters))
    if outcome.error is not None:
        raise BadInput(f"sweep {name!r}, row {record.get(ROW, '')}: {outcome.error}")
    known = [figure for figure in record if figure not in parameters and figure not in (ROW, SEED, ERROR)]
    names = dict.fromkeys((*known, *outcome.figures))
    return [RerunFigure(figure, record.get(figure), outcome.figures.get(figure)) for figure in names]


def run_of_row(name: str, record: Record, which: str) -> Run:
    """One run of a row of the whole core: "worst", "best", or of `loss_whole` and `storms` a number from 0 on.

    Raises:
        BadInput: the sweep has no such runs (the reduced models have neither frames nor schedules).
    """
    parameters = parameters_of(name, record)
    if name == LOSS_WHOLE:
        runs = parameters.pop("runs")
        start = group_start(**parameters, messages=MESSAGES)
        if which in (WORST, BEST):
            return whole_run_of(start, record[SEED], record[f"{which}_run"], ChosenBefore(record[f"{which}_choices"]))
        return whole_run_of(start, record[SEED], _number(which, runs))
    if name == SCHEDULES and which in (WORST, BEST):
        schedule = Schedule.from_json(record[f"{which}_schedule"])
        parameters.pop("lag_ms")
        parameters.pop("budget")
        scenario = searched_scenario(**parameters)
        chooser = ScheduledChooser(schedule)
        return simulate(scenario, chooser=chooser, timing=schedule.timing, cluster=default_settings())
    if name == STORMS:
        _number("0" if which in (WORST, BEST) else which, 1)
        chosen = RaceChooser(record[SEED])
        return simulate(storm_scenario(**parameters), chooser=chosen, timing=RACE_TIMING, cluster=default_settings())
    whole = f"{LOSS_WHOLE}, {SCHEDULES} ({WORST}, {BEST}), {STORMS} (0)"
    raise BadInput(f"sweep {name!r} has no run {which!r} that could be taken out of its rows; there are {whole}")


def explore_options(record: Record) -> list[str]:
    """The options of `rmqlab explore` that search a row of `schedules` again."""
    given = {
        "--budget": record["budget"], "--seed": first_seed(record[SEED]), "--samples": record["budget"] // SAMPLED,
        "--shorten": SHORTENING, "--lag": record["lag_ms"],
    }  # fmt: skip
    return [word for name, value in given.items() for word in (name, str(value))]


def _number(which: str, runs: int) -> int:
    if not which.isdecimal() or int(which) >= runs:
        raise BadInput(f"run {which}: give {WORST}, {BEST}, or a number from 0 to {runs - 1}")
    return int(which)
