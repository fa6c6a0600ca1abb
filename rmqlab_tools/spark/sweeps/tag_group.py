"""A group whose members each ask for a tag of their own, and for some tags that all ask for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.scenario.scenario import MAX_QUEUES, Offsets, OutgoingMessage, Scenario, Send, Start, Step, Subscription
from rmqlab.sim.simulate import simulate
from rmqlab_tools.spark.sweeps.sweep import require_within

if TYPE_CHECKING:
    from rmqlab.run.run import Run

TOPIC, GROUP = "T", "G"
STARTS_APART_MS, SETTLED_MS = 1_000, 5_000
LAST_LOOK_MS = 25_000  # a hold of 15 s, a check every 5 s, a commit every 5 s
MAX_MEMBERS, MAX_SHARED = 32, 16
FATES = ("delivered", "dropped_by_broker_tag", "dropped_by_client", "waiting")


@dataclass(frozen=True, slots=True)
class TagGroup:
    """``members`` on a topic of ``queues`` queues, with ``shared`` tags that all ask for.

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
        require_within(1, MAX_QUEUES, queues=self.queues)
        require_within(0, MAX_SHARED, shared=self.shared)

    def tag(self, number: int) -> str:
        """The text of tag ``number``: ``tag0`` is the first member's own, ``all0`` the first that all ask for."""
        return f"tag{number}" if number < self.members else f"all{number - self.members}"

    def start(self, number: int, at_ms: int) -> Start:
        """The step that starts member ``number``."""
        shared = [self.tag(self.members + one) for one in range(self.shared)]
        wants = Subscription(type="TAG", expr=" || ".join([self.tag(number), *shared]))
        return Start(at_ms, who=f"C{number:02}", group=GROUP, subscribe={TOPIC: wants})

    @staticmethod
    def number_of(expression: str) -> int:
        """Whose tag an expression of `start` begins with: the member's number."""
        return int(expression.partition(" ")[0].removeprefix("tag"))

    def messages(self) -> list[OutgoingMessage]:
        """One message of every tag for every queue, queue by queue."""
        tags = [self.tag(number) for number in range(self.members + self.shared)]
        return [OutgoingMessage(f"{tag}-{queue}", tag, queue=queue) for queue in range(self.queues) for tag in tags]

    def scenario(self, name: str, gap_ms: int, settle_ms: int) -> Scenario:
        """Everybody starts, ``gap_ms`` apart; ``settle_ms`` later, one message of every tag goes into every queue."""
        steps: list[Step] = [self.start(number, number * gap_ms) for number in range(self.members)]
        at = (self.members - 1) * gap_ms + settle_ms
        steps += [Send(at, topic=TOPIC, messages=self.messages()), Offsets(at + LAST_LOOK_MS)]
        return Scenario(name, {TOPIC: self.queues}, steps)

    def shares(self) -> dict[str, float]:
        """Shares of the messages by fate once the group stands still, from a run through the whole core."""
        found = counts(simulate(self.scenario("tag-group", STARTS_APART_MS, SETTLED_MS)))
        total = sum(found.values())
        return {fate: count / total for fate, count in found.items()}


def counts(run: Run) -> dict[str, int]:
    """Messages by fate, in the words of ``FATES``; any other fate under its own name."""
    found: Counter[str] = Counter(fate.fate.value for fate in run.fates)
    return {name: found.pop(name, 0) for name in FATES} | dict(found)
