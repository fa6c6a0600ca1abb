"""Who calls whom: watches chosen functions while something runs, and gives their calls as a tree.

The figures of the filter article that show call hierarchies (rows F-33, F-69) are drawn from such trees: they are what
runs here, not what somebody remembered.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.broker.consumer_filter_manager import CommitLogDispatcherCalcBitMap, ConsumerFilterManager
from rmqlab.broker.consumer_group_info import ConsumerGroupInfo
from rmqlab.broker.consumer_manage_processor import ClientManageProcessor
from rmqlab.broker.consumer_manager import ConsumerGroupEvent, ConsumerIdsChangeListener, ConsumerManager
from rmqlab.broker.pull_check import subscription_in_force
from rmqlab.broker.pull_message_processor import PullMessageProcessor
from rmqlab.filter.bloom import BloomFilter
from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.filter.sql92.compiler import CompiledSql92, ParseCache
from rmqlab.store.commit_log import CommitLog
from rmqlab.store.consume_queue import ConsumeQueue
from rmqlab.store.consume_queue_ext import ConsumeQueueExt
from rmqlab.store.message_store import MessageStore
from tests.proof.filter_bench import FilterBench, Switches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType, FrameType

REGISTRATION = (
    ClientManageProcessor.heart_beat, ConsumerManager.register_consumer, ConsumerGroupInfo.update_channel,
    ConsumerGroupInfo.update_subscription, ConsumerIdsChangeListener.handle, ConsumerFilterManager.register,
    ConsumerFilterManager.register_topic, BloomFilter.generate, ConsumerFilterManager.build, ParseCache.compile,
)  # fmt: skip
PULL = (
    PullMessageProcessor.process, subscription_in_force, ConsumerManager.find_subscription_data,
    ConsumerFilterManager.get, MessageStore.get_message, ExpressionMessageFilter.is_matched_by_consume_queue,
    BloomFilter.is_hit, CommitLog.get_message, ExpressionMessageFilter.is_matched_by_commit_log, CompiledSql92.evaluate,
)  # fmt: skip
WRITE = (
    MessageStore.async_put_message, CommitLog.put_message, CommitLogDispatcherCalcBitMap.dispatch,
    CompiledSql92.evaluate, BloomFilter.hash_to, ConsumeQueue.put_message_position_info, ConsumeQueueExt.put,
)  # fmt: skip


@dataclass(slots=True)
class Call:
    """A call of a watched function and those made within it; ``times`` counts equal neighbours taken together."""

    name: str
    times: int = 1
    calls: list[Call] = field(default_factory=list)

    def same_as(self, other: Call) -> bool:
        """Whether both have the same name and made the same calls."""
        return (
            self.name == other.name
            and len(self.calls) == len(other.calls)
            and all(mine.same_as(theirs) and mine.times == theirs.times
                    for mine, theirs in zip(self.calls, other.calls, strict=True))
        )  # fmt: skip

    def lines(self, depth: int = 0) -> list[str]:
        """The tree as indented text."""
        times = f" x{self.times}" if self.times > 1 else ""
        return ["  " * depth + self.name + times, *(line for call in self.calls for line in call.lines(depth + 1))]


def trace(action: Callable[[], object], watched: Iterable[Callable[..., object]]) -> list[Call]:
    """Run ``action`` and return the calls of the watched functions, outermost first."""
    names: dict[CodeType, str] = {function.__code__: _name(function) for function in watched}
    root = Call("")
    stack: list[tuple[FrameType, Call]] = []

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code in names:
            call = Call(names[frame.f_code] + _event(frame))
            (stack[-1][1] if stack else root).calls.append(call)
            stack.append((frame, call))
        elif event == "return" and stack and stack[-1][0] is frame:
            stack.pop()

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(before)
    _fold(root)
    return root.calls


def _name(function: Callable[..., object]) -> str:
    return str(function.__qualname__)


def _event(frame: FrameType) -> str:
    """The event that a listener is told, for its calls differ by nothing else."""
    event = frame.f_locals.get("event")
    return f" {event.name}" if isinstance(event, ConsumerGroupEvent) else ""


def _fold(call: Call) -> None:
    """Take equal neighbours together."""
    kept: list[Call] = []
    for inner in call.calls:
        _fold(inner)
        if kept and kept[-1].same_as(inner):
            kept[-1].times += 1
        else:
            kept.append(inner)
    call.calls = kept


def traced_filtering() -> dict[str, list[Call]]:
    """The three moments at which the broker filters by SQL92: "registration", "write" and "pull"."""
    bench = FilterBench(Switches(calc_bit_map=True, queue_ext=True))
    moments = {"registration": trace(lambda: bench.subscribe("CID_A", "a > 5"), REGISTRATION)}
    bench.pass_time(1)
    moments["write"] = trace(lambda: bench.send("m0", a="6"), WRITE)
    bench.send("m1", a="1")
    moments["pull"] = trace(lambda: bench.passage("CID_A"), PULL)
    return moments
