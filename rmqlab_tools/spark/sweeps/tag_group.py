"""A group whose members each ask for a tag of their own, and for some tags that all ask for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.scenario.scenario import (
    MAX_SCENARIO_QUEUES,
    Offsets,
    OutgoingMessage,
    Scenario,
    Send,
    Start,
    Step,
    Subscription,
)
from rmqlab.sim.simulate import simulate
from rmqlab_tools.spark.sweeps.sweep import require_within

if TYPE_CHECKING:
    from rmqlab.run.run import Run

SWEPT_TOPIC, SWEPT_GROUP = "T", "G"
STARTS_APART_MS, CALM_AFTER_MS = 1_000, 5_000
SWEEP_ENDS_MS = 25_000  # a hold of 15 s, a check every 5 s, a commit every 5 s
MAX_MEMBERS, MAX_SHARED = 32, 16
SWEPT_FATES = ("delivered", "dropped_by_broker_tag", "dropped_by_client", "waiting")


@dataclass(frozen=True, slots=True)
class TagGroup:
    """`members` on a topic of `queues` queues, with `shared` tags that all ask for.

    Members start in the order of their client ids.

    Raises:
        BadInput: no member, no queue, or more than can be; the text names the range.
    """

    members: int
    queues: int
    shared: int = 0

    def __post_init__(self) -> None:
        """Look at the numbers."""
        require_within(1, MAX_MEMBERS, members=self.members)
        require_within(1, MAX_SCENARIO_QUEUES, queues=self.queues)
        require_within(0, MAX_SHARED, shared=self.shared)

    def tag(self, number: int) -> str:
        """The text of tag `number`: `tag0` is the first member's own, `all0` the first that all ask for."""
        return f"tag{number}" if number < self.members else f"all{number - self.members}"

    def start(self, number: int, at_ms: int) -> Start:
        """The step that starts member `number`."""
        shared = [self.tag(self.members + number_shared) for number_shared in range(self.shared)]
        subscription = Subscription(type="TAG", expr=" || ".join([self.tag(number), *shared]))
        return Start(at_ms, who=f"C{number:02}", group=SWEPT_GROUP, subscribe={SWEPT_TOPIC: subscription})

    @staticmethod
    def number_of(expression: str) -> int:
        """Whose tag an expression of `start` begins with: the member's number."""
        return int(expression.partition(" ")[0].removeprefix("tag"))

    def messages(self) -> list[OutgoingMessage]:
        """One message of every tag for every queue, queue by queue."""
        tags = [self.tag(number) for number in range(self.members + self.shared)]
        return [OutgoingMessage(f"{tag}-{queue}", tag, queue=queue) for queue in range(self.queues) for tag in tags]

    def scenario(self, name: str, gap_ms: int, settle_ms: int) -> Scenario:
        """Everybody starts, `gap_ms` apart; `settle_ms` later, one message of every tag goes into every queue."""
        steps: list[Step] = [self.start(number, number * gap_ms) for number in range(self.members)]
        at = (self.members - 1) * gap_ms + settle_ms
        steps += [Send(at, topic=SWEPT_TOPIC, messages=self.messages()), Offsets(at + SWEEP_ENDS_MS)]
        return Scenario(name, {SWEPT_TOPIC: self.queues}, steps)

    def shares(self) -> dict[str, float]:
        """Shares of the messages by fate once the group stands still, from a run through the whole core."""
        by_fate = counts(simulate(self.scenario("tag-group", STARTS_APART_MS, CALM_AFTER_MS)))
        total = sum(by_fate.values())
        return {fate: count / total for fate, count in by_fate.items()}


def counts(run: Run) -> dict[str, int]:
    """Messages by fate, in the words of `SWEPT_FATES`; any other fate under its own name."""
    by_fate: Counter[str] = Counter(fate.fate.value for fate in run.fates)
    return {name: by_fate.pop(name, 0) for name in SWEPT_FATES} | dict(by_fate)
