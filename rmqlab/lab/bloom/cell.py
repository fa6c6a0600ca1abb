"""One cell of the bloom map: what filtering costs with the switch and without, for one setting, on a broker of ours.

Three passes over the same stored messages: without the switch, with it, and a *floor*: the same reading with answers
known beforehand. What a pass costs above the floor is filtering. Dispatch decodes a message's properties in all three
(4.8.0 `CommitLog.checkMessageAndReturnSize` needs tag and keys), so the bitmap gets them for nothing; `decode` says
what it would be if they were charged to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rmqlab.lab.bench.core import timed
from rmqlab.lab.bloom.rates import theory
from rmqlab.lab.bloom.workload import TOPIC, BloomBroker, Workload
from rmqlab.message.record import decode_properties
from rmqlab.store.consume_queue_ext import is_ext_addr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.filter.message_filter import CqExtUnit, Record

TURNS: Final = 3
PAIRS: Final = 3_000
LEAST_MESSAGES, MOST_MESSAGES = 60, 2_000


def messages_for(groups: int) -> int:
    """So many messages that messages times groups is about `PAIRS`."""
    return max(LEAST_MESSAGES, min(MOST_MESSAGES, PAIRS // groups))


class KnownFilter:
    """A filter that knows every answer: layer 1 lets pass, layer 2 reads the next answer from the list."""

    __slots__ = ("_answers",)

    def __init__(self, answers: Sequence[bool]) -> None:
        """`answers` for the messages from offset 0 on."""
        self._answers = iter(answers)

    def is_matched_by_consume_queue(self, tags_code: int | None, cq_ext_unit: CqExtUnit | None = None) -> bool:
        """Layer 1."""
        return True

    def is_matched_by_commit_log(self, record: Record | None, properties: Mapping[str, str] | None = None) -> bool:
        """Layer 2."""
        return next(self._answers)


def counted_cell(on: BloomBroker) -> tuple[dict[str, Any], list[list[bool]]]:
    """What can be counted without a clock, on a broker that has dispatched with the switch on; and who matches what.

    Pairs of message and group; those that match; those that layer 1 lets pass; false hits, their share of the pairs
    that do not match, and that share by theory (the textbook's for each message's number of matching groups).
    """
    workload = on.workload
    queue = on.store.find_consume_queue(TOPIC, 0)
    entries = [queue.entry(number) for number in range(workload.messages)]
    units = [queue.get_ext(one[2]) if one and is_ext_addr(one[2]) else None for one in entries]
    properties = [decode_properties(record) for record in on.records()]
    filters = [on.filter_of(group) for group in workload.group_names()]
    answers = [[one.is_matched_by_commit_log(None, each) for each in properties] for one in filters]
    passes = [[one.is_matched_by_consume_queue(0, unit) for unit in units] for one in filters]
    matched, passed = sum(map(sum, answers)), sum(map(sum, passes))
    pairs = workload.messages * workload.groups
    matching = [sum(column) for column in zip(*answers, strict=True)]
    bloom = on.broker.consumer_filter_manager.bloom_filter
    expected = sum(theory(bloom, number) * (workload.groups - number) for number in matching)
    others = pairs - matched
    figures = {
        "messages": workload.messages,
        "matched": matched,
        "passed": passed,
        "false_hits": passed - matched,
        "false_rate": (passed - matched) / others if others else None,
        "theory_rate": expected / others if others else None,
    }
    return figures, answers


def measured_cell(workload: Workload, turns: int = TURNS) -> dict[str, Any]:
    """Count a cell and time it: CPU ns for a message, all its groups together, the least of ``turns`` turns.

    `off` and `on` are filtering above the floor; `floor` is everything else (dispatch and reading); `decode` is the
    properties of one message once.
    """
    on, off = BloomBroker(workload, switch=True), BloomBroker(workload, switch=False)
    on.dispatch()
    figures, answers = counted_cell(on)
    groups = workload.group_names()
    records = on.records()
    least: dict[str, float] = {}

    def keep(name: str, work: Any) -> None:
        _, seconds = timed(work)
        least[name] = min(seconds, least.get(name, seconds))

    for _ in range(turns):
        on.forget()
        off.forget()
        keep("off dispatch", off.dispatch)
        keep("on dispatch", on.dispatch)
        known = [KnownFilter(one) for one in answers]
        keep("floor", lambda known=known: sum(off.read(one, each) for one, each in zip(groups, known, strict=True)))
        keep("off", lambda: sum(off.read(one) for one in groups))
        keep("on", lambda: sum(on.read(one) for one in groups))
        keep("decode", lambda: len([decode_properties(record) for record in records]))
    ns = {name: 1e9 * seconds / workload.messages for name, seconds in least.items()}
    times = {
        "floor": ns["off dispatch"] + ns["floor"],
        "off": ns["off"] - ns["floor"],
        "on_dispatch": ns["on dispatch"] - ns["off dispatch"],
        "on_pull": ns["on"] - ns["floor"],
        "decode": ns["decode"],
    }
    return {**figures, **{name: round(value, 1) for name, value in times.items()}}
