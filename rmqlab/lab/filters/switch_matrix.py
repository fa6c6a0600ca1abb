"""The two switches of layer 1, all four ways: same messages, same groups, same result, other costs (experiment E6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.lab.filter_funnel import Passage, Stage
from rmqlab.lab.filters.filter_bench import FilterBench, Switches

if TYPE_CHECKING:
    from collections.abc import Mapping

TAGS = ("TagA", "TagB", "TagC")
GROUPS: Mapping[str, str] = {"CID_A": "a > 5", "CID_B": "TAGS = 'TagA'"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One of the four: the two switches, evaluations at write and on pull, drops by layer 1, bytes of the extension.

    ``bench`` is the broker it ran on.
    """

    calc_bit_map: bool
    queue_ext: bool
    at_write: int
    on_pull: int
    dropped_by_layer_1: int
    ext_bytes: int
    passages: list[Passage]
    bench: FilterBench

    @property
    def evaluations(self) -> int:
        """At write and on pull together."""
        return self.at_write + self.on_pull

    def matching(self, name: str) -> dict[str, bool]:
        """For each group whether it got the message with this name."""
        return {group: name in names for group, names in self.delivered.items()}

    @property
    def delivered(self) -> dict[str, list[str]]:
        """Names of the messages that each group got."""
        return {passage.group: passage.delivered for passage in self.passages}


def switch_matrix(messages: int = 10, groups: Mapping[str, str] = GROUPS) -> list[Cell]:
    """Off/off, off/on, on/off, on/on, where the first is `enableCalcFilterBitMap`.

    Messages are those of the article: tags in turn, and a property a that counts. Raises what ``passage`` raises.
    """
    return [_cell(calc, ext, messages, groups) for calc in (False, True) for ext in (False, True)]


def _cell(calc: bool, ext: bool, messages: int, groups: Mapping[str, str]) -> Cell:
    bench = FilterBench(Switches(calc_bit_map=calc, queue_ext=ext))
    for group, expression in groups.items():
        bench.subscribe(group, expression)
    bench.pass_time(1)  # a message of the same millisecond would be too old for its bits to count
    for number in range(messages):
        bench.send(f"m{number}", TAGS[number % len(TAGS)], a=str(number))
    passages = [bench.passage(group) for group in groups]
    queue = bench.store.find_consume_queue(bench.topic, 0)
    ext_bytes = queue.consume_queue_ext.mapped_file_queue.max_offset if queue.consume_queue_ext else 0
    dropped = sum(len(passage.stops(Stage.LAYER_1)) for passage in passages)
    return Cell(calc, ext, bench.counts.at_write, bench.counts.on_pull, dropped, ext_bytes, passages, bench)
