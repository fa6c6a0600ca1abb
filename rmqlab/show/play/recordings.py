"""The control of notebook 10: which recorded scenario, and which simulated run beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.recorded.matched_runs import AS_RECORDED, NOMINAL, matched_runs
from rmqlab.lab.recorded.run_timeline import set_of
from rmqlab.show.explore import ChoiceControl, Mode, explore
from rmqlab.show.recordings.strips import strips

if TYPE_CHECKING:
    from rmqlab.show.figure import Picture

SCENARIOS = {
    "the article's eight messages": "p-article-000",
    "B starts 3 s later": "p-loss-005",
    "both start at once": "p-loss-018",
    "A's tag beside *": "p-overlap-044",
    "TAG beside SQL92": "p-mix-047",
    "four consumers": "p-many-052",
    "another tag while it runs": "p-resub-059",
    "rolling change of a tag": "p-rolling-057",
    "broadcasting": "p-bcast-060",
    "orderly": "p-orderly-061",
    "a connection cut": "p-cut-066",
    "a connection frozen": "p-freeze-067",
    "refused SQL92": "p-badsql-070",
    "bitmap switched on": "p-bmsql-003",
    "SQL92 not allowed": "p-npmix-001",
    "lite pull consumers": "p-lite-000",
}
RUNS = {"the one that ended as recorded": AS_RECORDED, "the one with nominal times": NOMINAL}


def play_recordings(*, mode: Mode = "live", scenario: str = "p-article-000") -> None:
    """Show both strips of a recorded scenario, then a list to pick another. Raises BadInput for an unknown one."""
    set_of(scenario)
    known = SCENARIOS if scenario in SCENARIOS.values() else {scenario: scenario, **SCENARIOS}
    start = next(name for name, value in known.items() if value == scenario)
    explore(
        _draw,
        mode=mode,
        scenario=ChoiceControl("Recorded scenario", known, start=start),
        run=ChoiceControl("Our run", RUNS),
    )


def _draw(*, scenario: str, run: str) -> Picture:
    return strips(matched_runs(scenario, run))
