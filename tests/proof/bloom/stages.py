"""What filtering costs, stage by stage, in our classes: the stages, how they are timed, and how often each is called.

Dispatch decodes a message's properties with the switch and without (4.8.0 `CommitLog.checkMessageAndReturnSize` needs
tag and keys), so the bitmap gets them for nothing; `decode` says what it would be if they were charged to it. Layer 2
decodes once more, from the record (`ExpressionMessageFilter.isMatchedByCommitLog`). Rows F-91, F-92, experiment E8.
"""

from __future__ import annotations

import cProfile
import gc
from dataclasses import astuple, dataclass, fields
from statistics import median
from time import thread_time_ns
from typing import TYPE_CHECKING, Any, Final

from rmqlab.broker.consumer_filter_manager import CommitLogDispatcherCalcBitMap
from rmqlab.errors import BadInput
from rmqlab.filter.bloom import BloomFilter
from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.filter.sql92.compiler import CompiledSql92
from rmqlab.message import properties as properties_module
from rmqlab.message.record import decode_properties
from rmqlab.store.consume_queue_ext import ConsumeQueueExt, CqExtUnit
from rmqlab.store.dispatch_request import DispatchRequest
from tests.proof.bloom.rates import theory
from tests.proof.bloom.workload import ARTICLE, TOPIC, BloomBroker, Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DISPATCH, PULL = "dispatch", "pull"
# The article's percentages of CPU: layer 2 without the switch, building the index and layer 2 with it.
ARTICLE_WITHOUT, ARTICLE_BUILD, ARTICLE_WITH = 5.28, 4.2, 2.66
ARTICLE_RATIO: Final = (ARTICLE_BUILD + ARTICLE_WITH) / ARTICLE_WITHOUT
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
class Stages:
    """CPU ns for a message, all groups together.

    `decode` is the properties once, as dispatch does it anyway; `build` the bitmap from decoded properties; `layer_2`
    of every message (what the switch off costs), `layer_2_passed` of those that layer 1 lets pass.
    """

    decode: float
    build: float
    write_extension: float
    read_extension: float
    check: float
    layer_2: float
    layer_2_passed: float

    @classmethod
    def of_rounds(cls, rounds: Sequence[Sequence[float]], messages: int) -> Stages:
        """The medians of ns by stage, each of so many messages."""
        return cls(*(median(times) / messages for times in zip(*rounds, strict=True)))

    def with_switch(self) -> float:
        """Filtering with both switches on."""
        return self.build + self.write_extension + self.read_extension + self.check + self.layer_2_passed

    def ratio(self) -> float:
        """With the switch / without it: below 1 it pays."""
        return self.with_switch() / self.layer_2

    def ratio_charged(self) -> float:
        """The same if dispatch's decoding were charged to the switch."""
        return (self.with_switch() + self.decode) / self.layer_2

    def as_the_article(self) -> float:
        """(bitmap + layer 2 with it) / layer 2 without: the article's three figures, and nothing else."""
        return (self.build + self.layer_2_passed) / self.layer_2

    def layer_2_ratio(self) -> float:
        """Layer 2 alone, with the switch / without it."""
        return self.layer_2_passed / self.layer_2

    def as_json(self) -> list[float]:
        """The times in their order, to a tenth of a ns."""
        return [round(ns, 1) for ns in astuple(self)]


STAGES: Final = tuple(one.name for one in fields(Stages))


@dataclass(frozen=True, slots=True)
class StageCounts:
    """What can be counted without a clock: pairs of message and group that match, that layer 1 lets pass.

    `theory_rate` is the share of false hits among the pairs that do not match, by the textbook's formula for each
    message's number of matching groups; None where every pair matches.
    """

    matched: int
    passed: int
    theory_rate: float | None


class OurStages:
    """A workload in our classes: a broker that has dispatched it with the switch on, and a filter for each group."""

    def __init__(self, workload: Workload) -> None:
        """Store and dispatch the messages, build the filters."""
        self.workload = workload
        broker = BloomBroker(workload, switch=True)
        broker.dispatch()
        self.records = broker.records()
        self._stored_at = broker.now
        self._filters = [broker.filter_of(group) for group in workload.group_names()]
        self._manager = broker.broker.consumer_filter_manager
        self._dispatcher = CommitLogDispatcherCalcBitMap(broker.broker.config, self._manager)
        extension = broker.store.find_consume_queue(TOPIC, 0).consume_queue_ext
        if extension is None:
            raise BadInput("the broker has no extension: the switch must be on")
        self._extension = extension
        self._matched: list[list[bool]] = []
        self._passed: list[list[bool]] = []

    def round(self, number: int = 0) -> list[int]:
        """Every stage once: CPU ns of this thread by stage, in the order of `Stages`.

        Layer 2 of all messages and of those that pass change places from round to round, for the second one finds the
        records at hand.
        """
        records, filters, extension = self.records, self._filters, self._extension
        extension.destroy()
        # The first unit makes the file, which is no cost of a message.
        extension.put(CqExtUnit(0, self._stored_at, bytes(self._manager.bloom_filter.m // 8)))
        decode, properties = _timed(lambda: [decode_properties(record) for record in records])
        requests = [
            DispatchRequest(TOPIC, store_timestamp=self._stored_at, consume_queue_offset=at, properties_map=values)
            for at, values in enumerate(properties)
        ]
        build, _ = _timed(lambda: list(map(self._dispatcher.dispatch, requests)))
        write, addresses = _timed(
            lambda: [extension.put(CqExtUnit(0, self._stored_at, request.bit_map)) for request in requests]
        )
        read, units = _timed(lambda: [[extension.get(address) for address in addresses] for _ in filters])
        check, self._passed = _timed(
            lambda: [
                [message_filter.is_matched_by_consume_queue(0, unit) for unit in mine]
                for message_filter, mine in zip(filters, units, strict=True)
            ]
        )
        passing = [[record for record, passes in zip(records, mine, strict=True) if passes] for mine in self._passed]

        def layer_2_passed() -> list[list[bool]]:
            return [
                [message_filter.is_matched_by_commit_log(record) for record in mine]
                for message_filter, mine in zip(filters, passing, strict=True)
            ]

        def layer_2() -> list[list[bool]]:
            return [
                [message_filter.is_matched_by_commit_log(record) for record in records] for message_filter in filters
            ]

        first = _timed(layer_2_passed)[0] if number % 2 else None
        all_read, self._matched = _timed(layer_2)
        passed_read = _timed(layer_2_passed)[0] if first is None else first
        return [decode, build, write, read, check, all_read, passed_read]

    def counts(self) -> StageCounts:
        """What is counted; after a round."""
        matching = [sum(column) for column in zip(*self._matched, strict=True)]
        groups, bloom = self.workload.groups, self._manager.bloom_filter
        expected = sum(theory(bloom, number) * (groups - number) for number in matching)
        others = len(self.records) * groups - sum(matching)
        return StageCounts(sum(matching), sum(map(sum, self._passed)), expected / others if others else None)


def counted(workload: Workload) -> StageCounts:
    """Count a workload, without a clock."""
    stages = OurStages(workload)
    stages.round()
    return stages.counts()


def timed_stages(workloads: Sequence[Workload], rounds: int) -> Iterator[tuple[StageCounts, list[list[int]]]]:
    """The counts of each workload and ns by stage of each round; a round goes through all of them, one comes before."""
    all_stages = [OurStages(stages) for stages in workloads]
    for stages in all_stages:
        stages.round()
    spent = [[stages.round(number) for stages in all_stages] for number in range(rounds)]
    for at, stages in enumerate(all_stages):
        yield stages.counts(), [each[at] for each in spent]


def _timed(work: Callable[[], Any]) -> tuple[int, Any]:
    """CPU ns of this thread and what ``work`` gives, without pauses of the garbage collector, as in Java."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        begin = thread_time_ns()
        given = work()
        return thread_time_ns() - begin, given
    finally:
        if enabled:
            gc.enable()


def counted_calls(workload: Workload = ARTICLE) -> dict[tuple[str, bool], dict[str, float]]:
    """Calls of each stage's function for a message, by phase and switch: exact, no clock.

    The whole path: dispatch from the commit log, pulls by requests. Names are qualified (`ConsumeQueueExt.put`).
    """
    calls = {}
    for switch in (False, True):
        broker = BloomBroker(workload, switch=switch)
        phases: dict[str, Callable[[], object]] = {
            DISPATCH: broker.dispatch,
            PULL: lambda broker=broker: [broker.pull(group) for group in workload.group_names()],  # type: ignore[misc]
        }
        for name, work in phases.items():
            counts = _calls(work)
            calls[name, switch] = {function: number / workload.messages for function, number in counts.items()}
    return calls


def _calls(work: Callable[[], object]) -> dict[str, int]:
    """How often each counted function is called while ``work`` runs, by Python's own `cProfile`."""
    names = {function.__code__: function.__qualname__ for function in _COUNTED}
    profiler = cProfile.Profile()
    profiler.runcall(work)
    counts = dict.fromkeys(names.values(), 0)
    for entry in profiler.getstats():
        if not isinstance(entry.code, str) and entry.code in names:
            counts[names[entry.code]] += entry.callcount
    return counts
