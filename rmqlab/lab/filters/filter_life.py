"""The life of filter data: born, replaced, dead, alive again, loaded after a restart, removed (rows F-36, F-43..F-46).

One group on a broker with both switches on. After every moment the broker is asked what it holds; at the end the group
pulls every message, and for each it is told on what ground layer 1 decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.filter.bloom import BITS_PER_BYTE, BitsArray
from rmqlab.lab.filters.filter_bench import EPOCH_MS, FilterBench, Switches

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.filter.message_filter import ConsumerFilterData
    from rmqlab.store.consume_queue_ext import CqExtUnit

GROUP = "CID_A"
FIRST, SECOND = "a > 5", "a > 8"
DAY_MS = 24 * 3_600_000
CLEAN_MS = 10_000  # how often the broker looks for what is long dead
SECOND_MS = 1_000


@dataclass(frozen=True, slots=True)
class HeldFilter:
    """What the broker holds for the group; times in ms since the start, ``dead`` None for the living."""

    expression: str
    version: int
    born: int
    dead: int | None


@dataclass(frozen=True, slots=True)
class FilterMoment:
    """Something that happens at ``t`` ms, what the broker holds afterwards, and the message if one was stored."""

    t: int
    text: str
    held: HeldFilter | None
    message: str | None = None
    bit: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """A message when the group pulls: the ground of layer 1, whether it passed there, and where it ended."""

    message: str
    value: str
    ground: str
    passed: bool
    end: str


@dataclass(frozen=True, slots=True)
class FilterLife:
    """The whole story; ``judged`` is what the group's pull at ``pulled_at`` ms came to."""

    moments: list[FilterMoment]
    judged: list[Judged]
    pulled_at: int


def filter_life() -> FilterLife:
    """Run the story."""
    return _FilterStory().run()


def ground_of(data: ConsumerFilterData | None, unit: CqExtUnit | None, is_hit: Callable[[BitsArray], bool]) -> str:
    """Why layer 1 lets a message pass or not (rows F-59..F-62), for a group with this data."""
    if data is None or data.bloom_filter_data is None:
        return "no filter data: passes"
    if unit is None:
        return "no unit in the extension: passes"
    if not data.is_msg_in_live(unit.msg_store_time):
        return "stored before the data was born: passes"
    bitmap = unit.filter_bit_map
    if bitmap is None or len(bitmap) * BITS_PER_BYTE != data.bloom_filter_data.bit_num:
        return "no bitmap of the right length: passes"
    return "all its bits are set: passes" if is_hit(BitsArray.from_bytes(bitmap)) else "a bit of it is 0: dropped"


class _FilterStory:
    def __init__(self) -> None:
        self.bench = FilterBench(Switches(calc_bit_map=True, queue_ext=True))
        self.moments: list[FilterMoment] = []

    def run(self) -> FilterLife:
        bench = self.bench
        self._message("m0", 9, "stored before the group subscribes")
        self._moment(f"subscribes {FIRST}: born", lambda: bench.subscribe(GROUP, FIRST))
        self._message("m1", 6, "true: bits set")
        self._message("m2", 1, "false: bits stay 0")
        self._moment("heartbeat, same version: nothing", lambda: bench.beat(GROUP))
        self._moment(f"subscribes {SECOND}: born anew", lambda: bench.subscribe(GROUP, SECOND))
        self._message("m3", 6, "false now: bits stay 0")
        self._moment("leaves: dead, not forgotten", lambda: bench.leave(GROUP))
        self._message("m4", 9, "dead, yet bits set")
        version = self._version()
        self._moment("is back, same version: alive", lambda: bench.subscribe(GROUP, SECOND, version=version))
        judged = self._judged()
        pulled_at = self._t()
        self._moment("broker restarts: loaded as dead", bench.restart)
        self._message("m5", 9, "nobody back yet, bits set")
        self._moment("is back: alive", lambda: bench.subscribe(GROUP, SECOND, version=version))
        self._moment("leaves: dead", lambda: bench.leave(GROUP))
        self._moment("24 h later: removed", lambda: None, after=DAY_MS + CLEAN_MS)
        return FilterLife(self.moments, judged, pulled_at)

    def _t(self) -> int:
        return self.bench.now - EPOCH_MS

    def _version(self) -> int:
        data = self.bench.data_of(GROUP)
        return 0 if data is None else data.client_version

    def _moment(self, text: str, action: Callable[[], None], after: int = 5 * SECOND_MS) -> None:
        self.bench.pass_time(after)
        action()
        self.moments.append(FilterMoment(self._t(), text, self._held()))

    def _message(self, name: str, value: int, text: str) -> None:
        self.bench.pass_time(5 * SECOND_MS)
        offset = self.bench.send(name, a=str(value))
        unit = self.bench.entry(offset).unit
        bit = any((unit and unit.filter_bit_map) or b"")
        self.moments.append(FilterMoment(self._t(), f"{name} (a = {value}): {text}", self._held(), name, bit))

    def _held(self) -> HeldFilter | None:
        data = self.bench.data_of(GROUP)
        if data is None:
            return None
        dead = data.dead_time - EPOCH_MS if data.is_dead() else None
        version = data.client_version - EPOCH_MS
        return HeldFilter(str(data.expression), version, data.born_time - EPOCH_MS, dead)

    def _judged(self) -> list[Judged]:
        bench = self.bench
        data, bloom = bench.data_of(GROUP), bench.broker.consumer_filter_manager.bloom_filter
        positions = data.bloom_filter_data if data else None
        judged = []
        for offset, step in enumerate(bench.passage(GROUP).steps):
            unit = bench.entry(offset).unit
            ground = ground_of(data, unit, lambda bits: bloom.is_hit(positions, bits))
            end = "arrives" if step.stage is None else f"stops at {step.stage}"
            value = bench.sent[offset].properties["a"]
            judged.append(Judged(step.name, value, ground, ground.endswith("passes"), end))
        return judged
