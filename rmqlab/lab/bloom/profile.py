"""The bloom profile, measured again: the article's load test on our broker, stage by stage, with and without.

Two phases, as in the broker: dispatch (commit log to consume queue) and pull. In 4.8.0 dispatch decodes a message's
properties with the switch and without it, since it needs tag and keys (`CommitLog.checkMessageAndReturnSize`); the
bitmap is computed from that map (`CommitLogDispatcherCalcBitMap.dispatch`). Layer 2 decodes once more, from the record
(`ExpressionMessageFilter.isMatchedByCommitLog`).

Measured are CPU seconds of whole phases without a profiler, in turns, and ticks of a sampler by stage; a stage's time
is its share of the ticks times the phase's seconds. Calls are counted exactly (row F-91, experiment E8).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from rmqlab.broker.commit_log_dispatcher_calc_bit_map import CommitLogDispatcherCalcBitMap
from rmqlab.errors import BadInput
from rmqlab.filter.bloom import BloomFilter
from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.filter.sql92.compiler import CompiledSql92
from rmqlab.lab.bench.core import timed
from rmqlab.lab.bloom.sampler import REST, StageSampler, calls, code_of
from rmqlab.lab.bloom.workload import ARTICLE, BloomBroker, Workload
from rmqlab.message import properties as properties_module
from rmqlab.message import record as record_module
from rmqlab.store.consume_queue import ConsumeQueue
from rmqlab.store.consume_queue_ext import ConsumeQueueExt

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence
    from types import CodeType

DISPATCH, PULL = "dispatch", "pull"
DECODE, EVALUATE, BITMAP = "decode properties", "evaluate", "set bits"
EXT_WRITE, EXT_READ, CHECK = "write extension", "read extension", "check bits"
LAYER_2 = "layer 2 around it"
# The stages of each phase in their order; what they share with every broker, filter or not, is the rest.
STAGES: Final = {
    DISPATCH: (DECODE, EVALUATE, BITMAP, EXT_WRITE),
    PULL: (EXT_READ, CHECK, DECODE, EVALUATE, LAYER_2),
}
# The article's percentages of CPU: layer 2 without the switch, building the index and layer 2 with it.
ARTICLE_WITHOUT, ARTICLE_BUILD, ARTICLE_WITH = 5.28, 4.2, 2.66
ARTICLE_RATIO: Final = (ARTICLE_BUILD + ARTICLE_WITH) / ARTICLE_WITHOUT
RUNS: Final = 10
SAMPLINGS: Final = 4
COUNTED_MESSAGES: Final = 200
# The article's load test in a size of ours: one group, since it names none.
LOAD_TEST: Final = replace(ARTICLE, messages=10_000)

_CODES: Final[dict[str, dict[CodeType, str]]] = {
    DISPATCH: {
        code_of(properties_module.string_to_properties): DECODE,
        code_of(CompiledSql92.evaluate): EVALUATE,
        code_of(CommitLogDispatcherCalcBitMap.dispatch): BITMAP,
        code_of(ConsumeQueueExt.put): EXT_WRITE,
    },
    PULL: {
        code_of(ConsumeQueue.get_ext): EXT_READ,
        code_of(ExpressionMessageFilter.is_matched_by_consume_queue): CHECK,
        code_of(record_module.decode_properties): DECODE,
        code_of(CompiledSql92.evaluate): EVALUATE,
        code_of(ExpressionMessageFilter.is_matched_by_commit_log): LAYER_2,
    },
}
_COUNTED: Final[tuple[Any, ...]] = (
    properties_module.string_to_properties,
    CommitLogDispatcherCalcBitMap.dispatch,
    CompiledSql92.evaluate,
    BloomFilter.hash_to,
    ConsumeQueueExt.put,
    ConsumeQueueExt.get,
    BloomFilter.is_hit,
    ExpressionMessageFilter.is_matched_by_consume_queue,
    ExpressionMessageFilter.is_matched_by_commit_log,
)


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase with the switch on or off: µs of CPU for a message (median, low, high) and ticks by stage."""

    name: str
    switch: bool
    us: float
    low: float
    high: float
    ticks: dict[str, int]

    def stage_us(self, stage: str) -> float:
        """µs of a message in one stage (`REST` too)."""
        total = sum(self.ticks.values())
        return self.us * self.ticks.get(stage, 0) / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Profile:
    """What was measured on a workload: four phases, and calls for each message, exact.

    Keys of `calls` are (phase, switch), then the function's qualified name.
    """

    workload: Workload
    phases: dict[tuple[str, bool], Phase]
    calls: dict[tuple[str, bool], dict[str, float]]
    runs: int

    def stage_us(self, phase: str, switch: bool, stage: str) -> float:
        """µs of CPU for a message."""
        return self.phases[phase, switch].stage_us(stage)

    def layer_2(self, switch: bool) -> float:
        """µs of layer 2 for a message, all groups together."""
        return sum(self.stage_us(PULL, switch, stage) for stage in (DECODE, EVALUATE, LAYER_2))

    def build(self, *, decode: bool = False) -> float:
        """µs of the bitmap for a message; `decode` charges it with the properties it reads."""
        stages = (EVALUATE, BITMAP, DECODE) if decode else (EVALUATE, BITMAP)
        return sum(self.stage_us(DISPATCH, True, stage) for stage in stages)

    def as_the_article(self, *, decode: bool = False) -> float:
        """(building the bitmap + layer 2 with it) / layer 2 without: what the article's three figures make."""
        return (self.build(decode=decode) + self.layer_2(True)) / self.layer_2(False)

    def all_stages(self) -> float:
        """The same with what the article leaves out: writing and reading the extension, checking the bits."""
        extra = self.stage_us(DISPATCH, True, EXT_WRITE) + sum(
            self.stage_us(PULL, True, stage) for stage in (EXT_READ, CHECK)
        )
        return (self.build() + extra + self.layer_2(True)) / self.layer_2(False)

    def whole(self) -> float:
        """Dispatch and pulls with the switch / without it, everything included; from whole phases, no sampler."""
        on, off = (sum(self.phases[phase, switch].us for phase in (DISPATCH, PULL)) for switch in (True, False))
        return on / off

    def as_json(self) -> dict[str, Any]:
        """Everything, for files: workload, phases with stages in µs, calls a message, ratios."""
        workload = {name: getattr(self.workload, name) for name in Workload.__dataclass_fields__}
        phases = [
            {
                "phase": one.name,
                "switch": one.switch,
                "us": round(one.us, 3),
                "low": round(one.low, 3),
                "high": round(one.high, 3),
                "ticks": one.ticks,
                "calls": self.calls[one.name, one.switch],
            }
            for one in self.phases.values()
        ]
        return {"workload": workload, "runs": self.runs, "phases": phases, "ratios": self.ratios()}

    def ratios(self) -> dict[str, float]:
        """The ratios with / without by name, beside the article's."""
        return {
            "article": round(ARTICLE_RATIO, 3),
            "as_the_article": round(self.as_the_article(), 3),
            "as_the_article_decode_charged": round(self.as_the_article(decode=True), 3),
            "all_stages": round(self.all_stages(), 3),
            "whole": round(self.whole(), 3),
        }

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Profile:
        """Read what `as_json` wrote."""
        phases = {
            (one["phase"], one["switch"]): Phase(
                one["phase"], one["switch"], one["us"], one["low"], one["high"], one["ticks"]
            )
            for one in told["phases"]
        }
        counted = {(one["phase"], one["switch"]): one["calls"] for one in told["phases"]}
        return cls(Workload(**told["workload"]), phases, counted, told["runs"])


def phases_of(broker: BloomBroker) -> dict[str, Callable[[], int]]:
    """The two phases as functions that tell how many messages they handled; `PULL` needs `DISPATCH` before it."""
    groups = broker.workload.group_names()
    return {DISPATCH: broker.dispatch, PULL: lambda: sum(broker.pull(group) for group in groups)}


def counted_calls(workload: Workload = ARTICLE) -> dict[tuple[str, bool], dict[str, float]]:
    """Calls of each stage's function for a message, by phase and switch: exact, no clock."""
    found = {}
    for switch in (False, True):
        broker = BloomBroker(workload, switch=switch)
        for name, work in phases_of(broker).items():
            counted = calls(work, _COUNTED)
            found[name, switch] = {function: number / workload.messages for function, number in counted.items()}
    return found


def profile(workload: Workload = LOAD_TEST, runs: int = RUNS, samplings: int = SAMPLINGS) -> Profile:
    """Measure a workload in ``runs`` turns of off and on: once by the clock, ``samplings`` times with the sampler.

    A turn before them warms up. Raises `BadInput` where the sampler cannot work or has seen too little.
    """
    brokers = {switch: BloomBroker(workload, switch=switch) for switch in (False, True)}
    seconds: dict[tuple[str, bool], list[float]] = {(name, switch): [] for name in STAGES for switch in brokers}
    samplers = {key: StageSampler(_CODES[key[0]]) for key in seconds}
    for turn in range(runs + 1):
        for switch, broker in brokers.items():
            for name, work in phases_of(broker).items():
                _, spent = timed(work)
                if turn:
                    seconds[name, switch].append(spent)
            broker.forget()
            for _ in range(samplings if turn else 0):
                for name, work in phases_of(broker).items():
                    with samplers[name, switch].sampling():
                        work()
                broker.forget()
    phases = {
        key: _phase(key, [1e6 * one / workload.messages for one in spent], samplers[key].ticks)
        for key, spent in seconds.items()
    }
    layer_2 = sum(samplers[PULL, False].ticks[stage] for stage in (DECODE, EVALUATE, LAYER_2))
    if not layer_2:
        raise BadInput(
            f"{workload.messages} messages in {runs} turns are too few: the sampler has not seen layer 2 once in "
            f"{sum(seconds[PULL, False]) * samplings:.3f} s of pulls; take more messages"
        )
    few = replace(workload, messages=min(workload.messages, COUNTED_MESSAGES))
    return Profile(workload, phases, counted_calls(few), runs)


def _phase(key: tuple[str, bool], us: Sequence[float], ticks: Counter[str]) -> Phase:
    name, switch = key
    ordered = {stage: ticks[stage] for stage in (*STAGES[name], REST) if ticks[stage]}
    return Phase(name, switch, median(us), min(us), max(us), ordered)
