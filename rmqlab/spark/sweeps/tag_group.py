"""A group whose members each ask for a tag of their own, and for some tags that all ask for; and how it starts.

`GroupStart` has the parameters that the reduced model and the whole core take.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.lab.scenario import MAX_QUEUES, Offsets, OutgoingMessage, Scenario, Send, Start, Step, Subscription
from rmqlab.lab.simulate import simulate
from rmqlab.spark.sweeps.sweep import require_within

if TYPE_CHECKING:
    from rmqlab.lab.run import Run

TOPIC, GROUP = "T", "G"
STARTS_APART_MS, SETTLED_MS = 1_000, 5_000
LAST_LOOK_MS = 25_000  # a hold of 15 s, a check every 5 s, a commit every 5 s
MAX_MEMBERS, MAX_SHARED, MAX_STARTING_QUEUES = 32, 16, 64
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
        require_within(self, members=(1, MAX_MEMBERS), queues=(1, MAX_QUEUES), shared=(0, MAX_SHARED))

    def tags(self) -> list[str]:
        """All tags: the members' own, in starting order, then the shared ones."""
        return [self.tag(number) for number in range(self.members + self.shared)]

    def tag(self, number: int) -> str:
        """The text of tag ``number``: ``tag0`` is the first member's own, ``all0`` the first that all ask for."""
        return f"tag{number}" if number < self.members else f"all{number - self.members}"

    def start(self, number: int, at_ms: int) -> Start:
        """The step that starts member ``number``."""
        shared = [self.tag(self.members + one) for one in range(self.shared)]
        wants = Subscription(type="TAG", expr=" || ".join([self.tag(number), *shared]))
        return Start(at_ms, who=f"C{number:02}", group=GROUP, subscribe={TOPIC: wants})

    def scenario(self, name: str, gap_ms: int, settle_ms: int) -> Scenario:
        """Everybody starts, ``gap_ms`` apart; ``settle_ms`` later, one message of every tag goes into every queue."""
        steps: list[Step] = [self.start(number, number * gap_ms) for number in range(self.members)]
        at = (self.members - 1) * gap_ms + settle_ms
        messages = [
            OutgoingMessage(f"{tag}-{queue}", tag, queue=queue) for queue in range(self.queues) for tag in self.tags()
        ]
        steps += [Send(at, topic=TOPIC, messages=messages), Offsets(at + LAST_LOOK_MS)]
        return Scenario(name, {TOPIC: self.queues}, steps)

    def settled(self) -> Scenario:
        """The scenario whose messages come when nothing moves any more."""
        return self.scenario("tag-group", STARTS_APART_MS, SETTLED_MS)

    def shares(self) -> dict[str, float]:
        """Shares of the messages by fate once the group stands still, from a run through the whole core."""
        found = counts(simulate(self.settled()))
        total = sum(found.values())
        return {fate: count / total for fate, count in found.items()}


@dataclass(frozen=True, slots=True)
class GroupStart:
    """Parameters of a run.

    ``members`` start ``gap_ms`` after one another, in the order of their client ids. Each asks for a tag of its own
    and for ``shared`` tags that all ask for. ``messages`` are sent ``every_ms`` from ``first_ms`` after the first start
    on, one queue after the other, with tags drawn evenly. A frame takes ``delay_us``, and up to ``jitter`` times as
    much again, drawn evenly. The broker's check of held pulls comes every 5 s, ``check_phase_ms`` after the first
    start, drawn if negative.

    Raises:
        BadInput: a parameter out of its range; the text names it and the range.
    """

    members: int = 2
    queues: int = 4
    shared: int = 0
    gap_ms: float = 1_000.0
    delay_us: int = 1_000
    jitter: float = 0.0
    messages: int = 64
    every_ms: float = 100.0
    first_ms: float = 5_000.0
    check_phase_ms: float = -1.0

    def __post_init__(self) -> None:
        """Look at the numbers."""
        require_within(
            self, members=(1, MAX_MEMBERS), queues=(1, MAX_STARTING_QUEUES), shared=(0, MAX_SHARED),
            gap_ms=(0, 600_000), delay_us=(1, 10_000_000), jitter=(0, 1_000), messages=(0, 1_000_000),
            every_ms=(0, 600_000), first_ms=(0, 86_400_000), check_phase_ms=(-1, 5_000),
        )  # fmt: skip

    @property
    def group(self) -> TagGroup:
        """The members and their tags."""
        return TagGroup(self.members, self.queues, self.shared)


def counts(run: Run) -> dict[str, int]:
    """Messages by fate, in the words of ``FATES``; any other fate under its own name."""
    found: Counter[str] = Counter(fate.fate.value for fate in run.fates)
    return {name: found.pop(name, 0) for name in FATES} | dict(found)
