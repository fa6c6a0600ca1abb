"""Two groups and six messages: one group subscribes tags from the beginning, the other SQL92, and comes late."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.lab.filters.filter_bench import FilterBench, Switches
from rmqlab.protocol.subscription_data import SQL92, TAG

if TYPE_CHECKING:
    from rmqlab.lab.filter_funnel import Passage

BY_TAG, BY_SQL = "BY_TAG", "BY_SQL"
STEP_MS = 1_000

# Name, tag, property a.
Message = tuple[str, str | None, str]


class LateGroup(NamedTuple):
    """The two subscriptions, and the messages stored before and after the SQL92 group comes."""

    tags: str
    expression: str
    early: tuple[Message, ...]
    late: tuple[Message, ...]

    def passages(self) -> list[Passage]:
        """Store everything with both switches on, then pull for both groups."""
        bench = FilterBench(Switches(calc_bit_map=True, queue_ext=True))
        bench.subscribe(BY_TAG, self.tags, TAG)
        for name, tag, a in self.early:
            bench.send(name, tag, a=a)
        bench.pass_time(STEP_MS)
        bench.subscribe(BY_SQL, self.expression, SQL92)
        bench.pass_time(STEP_MS)
        for name, tag, a in self.late:
            bench.send(name, tag, a=a)
        return [bench.passage(BY_TAG), bench.passage(BY_SQL)]


LESSON = LateGroup(
    "Aa || TagA", "a > 5",
    early=(("m0", "TagA", "1"), ("m1", "BB", "9")),
    late=(("m2", "TagA", "9"), ("m3", None, "1"), ("m4", "Aa", "6"), ("m5", "TagB", "5.5")),
)  # fmt: skip
TASK = LateGroup(
    "BB || TagC", "a BETWEEN 3 AND 7 OR TAGS = 'TagC'",
    early=(("m0", "Aa", "5"), ("m1", "TagB", "9"), ("m2", None, "x")),
    late=(("m3", "TagC", "8"), ("m4", "TagC", "4.0"), ("m5", "BB", "7")),
)  # fmt: skip
