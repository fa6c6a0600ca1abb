"""The tag examples of the filter article: 60 messages with three tags (E3), and two tags with one hash code (E7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rmqlab.errors import BadInput
from rmqlab.lab.filters.filter_bench import FilterBench
from rmqlab.lab.scenario import Offsets, OutgoingMessage, Scenario, Send, Start, Step, Subscription
from rmqlab.lab.simulate import ClientSettings, simulate
from rmqlab.protocol.subscription_data import TAG

if TYPE_CHECKING:
    from rmqlab.lab.run import Run

TOPIC = "TagFilterTest"
TAGS = ("TagA", "TagB", "TagC")
BODY = "Hello world"  # every message of the article has this body; a number is added here to tell them apart
MESSAGES = 60
# Who asks for what: the two consumers of the article, and one that takes everything.
GROUPS: Mapping[str, str] = {
    "Consumer4x": "TagA || TagC",
    "Consumer5x": "TagA||TagB||TagC",
    "Everything": "*",
}
COLLIDING = ("Aa", "BB")
BETWEEN_STARTS_MS, SETTLE_MS, FINAL_MS = 500, 6_000, 26_000
MOST_MESSAGES = 2_000


@dataclass(frozen=True, slots=True)
class TagFilter:
    """The experiment's settings; ``run`` runs it.

    ``groups``: what each group subscribes; each has one consumer. ``tags`` go round over ``messages`` messages; None is
    a message without a tag.
    """

    groups: Mapping[str, str] = field(default_factory=lambda: GROUPS)
    tags: Sequence[str | None] = TAGS
    messages: int = MESSAGES
    queues: int = 4

    def sent_tags(self) -> list[str | None]:
        """The tag of each message, in sending order."""
        return [self.tags[number % len(self.tags)] for number in range(self.messages)]

    def scenario(self) -> Scenario:
        """The scenario, as a line of a scenario file would have it.

        Raises:
            BadInput: a setting that cannot be; the text names it and says what would be right.
        """
        if not self.groups or not self.tags:
            raise BadInput("groups and tags must not be empty: name a group with its subscription, and a tag")
        if not 1 <= self.messages <= MOST_MESSAGES:
            raise BadInput(f"messages is {self.messages}; it must lie between 1 and {MOST_MESSAGES}")
        if self.queues < 1:
            raise BadInput(f"queues is {self.queues}; a topic has at least one queue")
        steps: list[Step] = [
            Start(
                at * BETWEEN_STARTS_MS,
                who=group,
                group=group,
                subscribe={TOPIC: Subscription(type=TAG, expr=expression)},
            )
            for at, (group, expression) in enumerate(self.groups.items())
        ]
        at = steps[-1].at + SETTLE_MS
        messages = [OutgoingMessage(f"{BODY} {number}", tag) for number, tag in enumerate(self.sent_tags())]
        return Scenario("tag-filter", {TOPIC: self.queues}, [*steps, Send(at, TOPIC, messages), Offsets(at + FINAL_MS)])

    def run(self) -> Run:
        """Run the experiment in virtual time. Raises as ``scenario``."""
        return simulate(self.scenario(), clients=ClientSettings(plain_names=True))


def one_group(first: str, second: str, *, messages: int = MESSAGES, queues: int = 4) -> Run:
    """The same messages for two members, A and B, of one group G that write their subscription in two ways.

    Raises:
        BadInput: as ``TagFilter.scenario``.
    """
    scenario = TagFilter(groups={"A": first}, messages=messages, queues=queues).scenario()
    members: list[Step] = [
        Start(at * BETWEEN_STARTS_MS, who=who, group="G", subscribe={TOPIC: Subscription(type=TAG, expr=expression)})
        for at, (who, expression) in enumerate({"A": first, "B": second}.items())
    ]
    scenario = replace(scenario, steps=[*members, *scenario.steps[1:]])
    return simulate(scenario, clients=ClientSettings(plain_names=True))


def subscribed(expression: str, tags: Sequence[str | None]) -> FilterBench:
    """A broker with group G, which subscribed ``expression``, and one message for each tag: m0, m1, ..."""
    bench = FilterBench(topic=TOPIC)
    bench.subscribe("G", expression, TAG)
    for number, tag in enumerate(tags):
        bench.send(f"m{number}", tag)
    return bench
