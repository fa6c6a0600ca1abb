"""An incident of one's own making: a group that works, one member that gets other tags, and the store it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.filter import filter_api
from rmqlab.lab.cluster import ClusterConfig
from rmqlab.lab.scenario import Offsets, OutgoingMessage, Scenario, Send, Start, Step, Subscribe, Subscription
from rmqlab.lab.simulate import Simulation
from rmqlab.lab.written_store import SMALL_FILES, write_store

if TYPE_CHECKING:
    from pathlib import Path

    from rmqlab.lab.run import Run

GROUP, TOPIC, QUEUES = "ORDERS", "order", 4
TAGS = ("tagA", "tagB")
FIRST_MS, EVERY_MS, MESSAGES = 30_000, 250, 160
CHANGE_MS = FIRST_MS + EVERY_MS * MESSAGES // 2
ENDS_MS = 30_000
EPOCH_MS = 1_630_810_800_000  # 2021-09-05 03:00:00 UTC
STORE, EVENTS = "store", "events.jsonl"


@dataclass(frozen=True)
class Incident:
    """A group of two, A and B, on four queues; messages of two tags in turn, four a second, for 40 s.

    ``before``: what each asks for when it starts. ``change``: what some ask for anew when half of the messages are
    sent, in this order. Times in ms of virtual time.
    """

    before: dict[str, str] = field(default_factory=lambda: dict.fromkeys("AB", "tagA || tagB"))
    change: dict[str, str] = field(default_factory=dict)

    def scenario(self) -> Scenario:
        """The incident as a scenario.

        Raises:
            BadInput: somebody else than A and B, or tags that no client can subscribe.
        """
        if sorted(self.before) != ["A", "B"] or not set(self.change) <= set(self.before):
            raise BadInput(f"before is {self.before}, change {self.change}; A and B are the members, both in before")
        for tags in (*self.before.values(), *self.change.values()):
            try:
                filter_api.build(TOPIC, tags, None)
            except (BadInput, AttributeError, TypeError) as error:
                raise BadInput(f"no client can subscribe {tags!r} ({error}); right would be 'tagA || tagB'") from None
        steps: list[Step] = [
            Start(number * 1_000, who=who, group=GROUP, subscribe={TOPIC: Subscription(type="TAG", expr=tags)})
            for number, (who, tags) in enumerate(sorted(self.before.items()))
        ]
        for number in range(MESSAGES):
            if number == MESSAGES // 2:
                steps += [Subscribe(CHANGE_MS, who=who, topic=TOPIC, expr=tags) for who, tags in self.change.items()]
            message = OutgoingMessage(f"order {number}", TAGS[number % len(TAGS)], keys=f"o{number}")
            steps.append(Send(FIRST_MS + number * EVERY_MS, topic=TOPIC, messages=[message]))
        steps.append(Offsets(FIRST_MS + MESSAGES * EVERY_MS + ENDS_MS))
        return Scenario("incident", {TOPIC: QUEUES}, steps)

    def run(self, folder: Path | None = None) -> Run:
        """Run it in virtual time; with a `folder`, leave the broker's store and the events there.

        They lie in `folder`/store and `folder`/events.jsonl.

        Raises:
            BadInput: as ``scenario``; or a folder that cannot be written.
        """
        simulation = Simulation(self.scenario(), cluster=ClusterConfig(epoch_ms=EPOCH_MS, store=SMALL_FILES))
        run = simulation.run()
        if folder is not None:
            write_store(simulation.cluster.broker, folder / STORE)
            (folder / EVENTS).write_text(run.lines(), encoding="utf-8")
        return run
