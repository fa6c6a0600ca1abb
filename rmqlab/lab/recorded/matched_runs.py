"""A recorded run of the real broker beside the simulated one that ended as it did, and what differs between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.lab.gc_tuning import gc_tuning
from rmqlab.lab.recorded.run_timeline import (
    Mark,
    RunTimeline,
    recorded_timeline,
    scenarios_of,
    set_folder,
    set_of,
    simulated_timeline,
)
from rmqlab.lab.simulate import simulate
from rmqlab.runtime.schedule import ScheduledChooser
from rmqlab.search.explorer.recorded_outcomes import (
    SEEDS,
    RecordedComparison,
    RecordedVerdict,
    compare,
    settings_beside,
)
from rmqlab.search.explorer.timings import race_timing

if TYPE_CHECKING:
    from collections.abc import Iterable

NOMINAL, AS_RECORDED = "nominal times", "ended as recorded"


class Pair(NamedTuple):
    """One thing looked at in both runs; ``exact``: it decides whether the runs ended alike."""

    what: str
    recorded: object
    simulated: object
    exact: bool = False

    @property
    def differs(self) -> bool:
        """Whether the two are not the same."""
        return self.recorded != self.simulated


@dataclass(frozen=True, slots=True)
class MatchedRuns:
    """Two strips of one scenario, and how the recorded outcome stands to those that were reached."""

    recorded: RunTimeline
    simulated: RunTimeline
    comparison: RecordedComparison

    def agrees(self, who: str) -> bool:
        """Whether a consumer got the same messages in both runs."""
        return self.recorded.bodies(who) == self.simulated.bodies(who)

    @property
    def names(self) -> list[str]:
        """The consumers, sorted."""
        return self.recorded.names

    def pairs(self) -> list[Pair]:
        """What both runs show, side by side: first what must agree, then what may move with the clock."""
        one, other = self.recorded, self.simulated
        found = [Pair(f"consumed by {who}", one.bodies(who), other.bodies(who), exact=True) for who in self.names]
        if one.ended or other.ended:
            found.append(Pair("committed offsets", one.ended, other.ended, exact=True))
        found.append(Pair("in the group's slot when the first message came", _last_slot(one), _last_slot(other)))
        found.append(Pair("values of the slot, in order", _values(one), _values(other)))
        for what, name in (("heartbeats", "beats"), ("notices (code 40)", "told"), ("answered pulls", "pulls")):
            counts = [x.count(_marks(x, name)) for x in (one, other)]
            found += [Pair(f"{what} of {who}", counts[0][who], counts[1][who]) for who in self.names]
        return found


def _marks(strip: RunTimeline, name: str) -> list[Mark]:
    marks: list[Mark] = getattr(strip, name)
    return marks


def _values(strip: RunTimeline) -> list[str | None]:
    return [slot.expression for slot in strip.slots]


def _last_slot(strip: RunTimeline) -> str | None:
    return strip.slot_at(strip.sent[0].t if strip.sent else strip.end)


@lru_cache
def compared(scenario_id: str, seeds: int = SEEDS) -> RecordedComparison:
    """One recorded scenario against its simulations. Raises BadInput for an unknown one."""
    name = set_of(scenario_id)
    return next(iter(compare(set_folder(name), [scenarios_of(name)[scenario_id]], seeds=seeds)))


def matched_runs(scenario_id: str, run: str = AS_RECORDED) -> MatchedRuns:
    """The recorded run and a simulated one: the first that ended as recorded, or the one with nominal times.

    Where no run ended so the nominal one stands in, and the pairs say what differs. Raises BadInput for an unknown
    scenario.
    """
    name = set_of(scenario_id)
    scenario, cluster, result = (
        scenarios_of(name)[scenario_id],
        settings_beside(set_folder(name)),
        compared(scenario_id),
    )
    found = None if result.survey is None else result.survey.reached.get(result.recorded)
    if run == NOMINAL or found is None:
        simulated = simulate(scenario, timing=race_timing(scenario), cluster=cluster)
    else:
        simulated = simulate(
            scenario, chooser=ScheduledChooser(found.schedule), timing=found.schedule.timing, cluster=cluster
        )
    return MatchedRuns(recorded_timeline(scenario_id), simulated_timeline(simulated), result)


@lru_cache
def agreement(names: tuple[str, ...], seeds: int) -> dict[str, list[RecordedComparison]]:
    """Every scenario of these recorded sets against its simulations. Raises BadInput for an unknown set."""
    with gc_tuning():
        return {name: list(compare(set_folder(name), seeds=seeds)) for name in names}


def tally(comparisons: Iterable[RecordedComparison]) -> dict[RecordedVerdict, int]:
    """How many scenarios met which verdict."""
    verdicts = [one.verdict for one in comparisons]
    return {verdict: verdicts.count(verdict) for verdict in RecordedVerdict}
